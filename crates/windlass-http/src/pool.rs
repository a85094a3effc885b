//! Owns the idle connections of the process, shared by all clients.
//!
//! A connection belongs to the tokio runtime whose reactor it was made with and is used only there. An idle connection is not
//! polled: whether its server has closed it is detected when it is taken.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::runtime::{Handle, Id};
use tokio::time::Instant;

use super::addresses::Reach;
use super::connection::Connection;

/// Time that an idle connection is kept: below the 60 s after which many servers close it.
const IDLE: Duration = Duration::from_secs(50);

/// Maximum number of idle connections per server.
const MAX_IDLE: usize = 256;

/// Key of a connection: an address, and how it was reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// `scheme://host:port`.
    pub(crate) origin: String,
    /// How it was reached: what one reach connects to, another may have to refuse.
    pub(crate) reach: Reach,
}

/// The idle connections to one place.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    idle: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The oldest first.
    connections: Vec<Idle>,
    /// Whether a task closes connections that were idle for too long.
    swept: bool,
}

#[derive(Debug)]
struct Idle {
    connection: Box<Connection>,
    since: Instant,
    runtime: Id,
}

impl Pool {
    /// The pool of a place: one a process.
    pub(crate) fn of(place: Place) -> Arc<Self> {
        static POOLS: Mutex<Option<HashMap<Place, Arc<Pool>>>> = Mutex::new(None);
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        let pools = pools.get_or_insert_default();
        if let Some(pool) = pools.get(&place) {
            return pool.clone();
        }
        // A place that no client names and that has no connection is forgotten.
        pools.retain(|_, pool| Arc::strong_count(pool) > 1 || !pool.state().connections.is_empty());
        pools.entry(place).or_default().clone()
    }

    /// The connection that was used last and is still open.
    pub(crate) fn take(&self, context: &mut Context<'_>) -> Option<Box<Connection>> {
        let runtime = Handle::try_current().ok()?.id();
        loop {
            let mut state = self.state();
            let at = state.connections.iter().rposition(|idle| idle.runtime == runtime)?;
            let Idle { mut connection, since, .. } = state.connections.remove(at);
            drop(state);
            if since.elapsed() < IDLE && connection.is_open(context) {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection whose last reply was read to its end.
    pub(crate) fn put(self: &Arc<Self>, mut connection: Box<Connection>) {
        let Ok(handle) = Handle::try_current() else { return };
        // Its last user must no longer be woken by it.
        if !connection.is_open(&mut Context::from_waker(Waker::noop())) {
            return;
        }
        let mut state = self.state();
        if state.connections.len() >= MAX_IDLE {
            return;
        }
        state.connections.push(Idle { connection, since: Instant::now(), runtime: handle.id() });
        if !std::mem::replace(&mut state.swept, true) {
            drop(state);
            let sweep = Sweep { pool: Arc::downgrade(self), runtime: handle.id(), done: false };
            handle.spawn(sweep.run());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends what was idle for too long, and says when the next one is due.
    fn sweep(&self) -> Option<Instant> {
        let mut state = self.state();
        let due = state.connections.iter().take_while(|idle| idle.since.elapsed() >= IDLE).count();
        let over: Vec<_> = state.connections.drain(..due).collect();
        let next = state.connections.first().map(|idle| idle.since + IDLE);
        state.swept = next.is_some();
        drop(state);
        drop(over);
        next
    }
}

/// A task that ends idle connections. It ends itself when there is none, or with its runtime.
struct Sweep {
    pool: Weak<Pool>,
    runtime: Id,
    done: bool,
}

impl Sweep {
    async fn run(mut self) {
        while let Some(due) = self.pool.upgrade().and_then(|pool| pool.sweep()) {
            tokio::time::sleep_until(due).await;
        }
        self.done = true;
    }
}

impl Drop for Sweep {
    /// The runtime ends, so its connections become unusable.
    fn drop(&mut self) {
        let Some(pool) = self.pool.upgrade().filter(|_| !self.done) else { return };
        let mut state = pool.state();
        state.swept = false;
        let gone: Vec<_> = state.connections.extract_if(.., |idle| idle.runtime == self.runtime).collect();
        drop(state);
        drop(gone);
    }
}
