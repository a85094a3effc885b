//! The waits of an agent's assembly, for people who watch it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The tool servers that an assembly is waiting for. Clones share the list.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    servers: Arc<Mutex<Vec<WaitedFor>>>,
}

/// A tool server that is starting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitedFor {
    /// Its name.
    pub server: String,
    /// Its timeout (`start_ms`), in milliseconds.
    pub start_ms: u64,
}

impl Waits {
    /// The servers that are starting now, in the order in which they began.
    pub fn now(&self) -> Vec<WaitedFor> {
        self.lock().clone()
    }

    /// Adds a server until the guard is dropped.
    #[cfg(feature = "mcp")]
    pub(super) fn begin(&self, server: &str, start_ms: u64) -> Waiting {
        let one = WaitedFor { server: server.to_owned(), start_ms };
        self.lock().push(one.clone());
        Waiting { waits: self.clone(), one }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<WaitedFor>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a server from the list when it is dropped.
#[cfg(feature = "mcp")]
#[derive(Debug)]
pub(super) struct Waiting {
    waits: Waits,
    one: WaitedFor,
}

#[cfg(feature = "mcp")]
impl Drop for Waiting {
    fn drop(&mut self) {
        let mut servers = self.waits.lock();
        if let Some(at) = servers.iter().position(|other| *other == self.one) {
            servers.remove(at);
        }
    }
}
