//! Stores of runs: the parts of a store, one in memory and one in SQLite, and the suite that checks any other.
//!
//! A [`Store`] has five parts. A function takes the narrowest part that it needs: `&dyn Store` and `Arc<dyn Store>` coerce
//! to each of them.
//!
//! | part | does |
//! |---|---|
//! | [`Log`] | appends events to runs, reads and follows them |
//! | [`Inbox`] | keeps inputs that other processes post for a run's holder |
//! | [`Leases`] | says which process may append to a run, with fencing |
//! | [`Payloads`] | keeps bytes that are too large for events |
//! | [`Index`] | lists runs, and [prunes](Pruning) them where the store can |
//!
//! To write a store, implement the parts and run [`store_conformance!`] on it. [`forward_store!`] hands parts on to a store
//! within. [`docs/stores.md`](https://github.com/windlass-rs/windlass/blob/main/docs/stores.md) is the guide.
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
pub use error::{Answer, LockHolder, Locking, StoreError, Taken};
pub use inbox::{INBOX_POSTS, Inbox, KeyedPost, Post, PostId, PostKey, Posted};
pub use index::usage::{DEFAULT_USAGE_LINES, DailyUsage, UsageFilter};
pub use index::{
    Cursor, DEFAULT_LISTED, HEADLINE_BYTES, Headline, Index, Page, RunCounts, RunFilter, RunSummary,
    SessionFilter, SessionSummary,
};
pub use leases::{Claim, Due, Fence, Holder, Leases, Wake};
pub use log::{Append, Batch, Batches, Head, Log};
pub use memory::{MAX_ENDED_RUNS, MemoryLog};
pub use payload::{PAYLOAD_BYTES, Payloads, payload_name};
pub use pruning::{PRUNE_CHUNK, Prunable, Prune, Pruned, Pruning, Reclaimed, prune};
#[cfg(feature = "sqlite")]
pub use sqlite::{Checked, Durability, SqliteLog, SqliteOptions};
pub use store::Store;
pub use windlass_core::budget::Spend;
pub use windlass_core::event::Millis;
pub use windlass_core::run::RunStatus;
#[doc(hidden)]
pub use windlass_core::{InputKind, Owner, RunId, SessionId, Text};

#[doc = include_str!("../../../docs/stores.md")]
#[cfg(doctest)]
struct StoresGuide;
