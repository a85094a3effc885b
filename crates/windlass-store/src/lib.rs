//! The event log of Windlass: what it promises, in memory and in SQLite, and the suite that holds every store to it.
mod clock;
pub mod conformance;
mod error;
mod forward;
mod inbox;
mod index;
mod leases;
mod log;
mod memory;
mod opening;
mod payload;
mod pruning;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;

pub use clock::up_ms;
pub use error::{LockHolder, Locking, StoreError, Taken};
pub use inbox::{INBOX_POSTS, Inbox, PostId, Posted};
pub use index::{DEFAULT_LISTED, Index, RunFilter, RunNumber, RunSummary};
pub use leases::{Fence, Holder, Leases, Wake};
pub use log::{Append, Batch, Batches, Log};
pub use memory::{MAX_ENDED_RUNS, MemoryLog};
pub use payload::{PAYLOAD_BYTES, Payloads};
pub use pruning::{Prune, Pruned, Pruning};
#[cfg(feature = "sqlite")]
pub use sqlite::{Checked, Durability, SqliteLog, SqliteOptions};
pub use store::{Answer, Store};
#[doc(hidden)]
pub use windlass_core::{InputKind, Millis, RunId, Text};
