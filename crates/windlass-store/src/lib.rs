//! The event log of Windlass: what it promises, in memory and in SQLite, and the suite that holds every store to it.
mod clock;
pub mod conformance;
mod error;
mod forward;
mod log;
mod memory;
mod opening;
mod payload;
mod pruning;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use clock::up_ms;
pub use error::{LockHolder, Locking, StoreError, Taken};
pub use log::*;
pub use memory::{MAX_ENDED_RUNS, MemoryLog};
pub use pruning::{Prune, Pruned};
#[cfg(feature = "sqlite")]
pub use sqlite::{Checked, Durability, SqliteLog, SqliteOptions};
#[doc(hidden)]
pub use windlass_core::{InputKind, Millis, RunId, Text};
