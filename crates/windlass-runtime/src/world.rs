//! The outside world that the core must not see: time, fresh ids, chance.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_core::future::BoxFuture;
use windlass_core::{Millis, RunId};

/// Time, fresh ids and chance. Programs use [`SystemWorld`]; tests and scripted conversations bring their own.
pub trait World: Send + Sync + std::fmt::Debug {
    /// The time, in milliseconds since the Unix epoch.
    fn now(&self) -> Millis;

    /// Ends when that time has come.
    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()>;

    /// A fresh run id.
    fn new_run(&self) -> RunId;

    /// A number from 0 to 1000: how much of a wait's random part to take.
    fn chance(&self) -> u16;
}

/// The world as the operating system shows it. Sleeping needs a tokio runtime with time enabled.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemWorld;

impl World for SystemWorld {
    fn now(&self) -> Millis {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as Millis)
    }

    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()> {
        let wait = Duration::from_millis(at.saturating_sub(self.now()));
        Box::pin(tokio::time::sleep(wait))
    }

    fn new_run(&self) -> RunId {
        RunId(uuid::Uuid::now_v7())
    }

    fn chance(&self) -> u16 {
        // The random bits of a fresh UUIDv7 (RFC 9562, 5.7).
        (uuid::Uuid::now_v7().as_u128() % 1_001) as u16
    }
}
