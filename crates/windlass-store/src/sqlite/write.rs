//! Writes: what can be asked of the writer, and what each brings.

use std::sync::Arc;

use rusqlite::Connection;
use windlass_core::RunId;

use super::changes::{Left, NewEvents, WriterState};
use super::inbox::NewPost;
use super::rows::Fault;
use super::{holders, prune};
use crate::payload::Digest;
use crate::{Claim, Due, Fence, Holder, PostId, Reclaimed, RunSummary};

/// A write to the log.
#[derive(Debug)]
pub(super) enum Write {
    Append(Box<NewEvents>),
    Post(Box<NewPost>),
    Lease {
        run: RunId,
        holder: Holder,
        claim: Claim,
    },
    /// Leases runs that are due.
    LeaseDue(Box<Due>),
    /// Writes nothing; the heartbeat that may be due goes before it.
    Renew {
        run: RunId,
        fence: Fence,
    },
    Release {
        run: RunId,
        fence: Fence,
        /// The run's state in listings after this.
        left: Left,
    },
    /// Takes a refused post out.
    Discard {
        run: RunId,
        post: PostId,
        fence: Fence,
    },
    /// Stores a payload.
    Put {
        digest: Digest,
        bytes: Arc<[u8]>,
    },
    /// Removes unneeded runs without a holder.
    Remove {
        runs: Vec<RunId>,
    },
    /// Takes note of the heartbeats of these holders.
    Sight {
        holders: Vec<i64>,
    },
    /// Takes up to so many payloads out that nothing refers to.
    Reclaim {
        most: usize,
    },
    /// Tries whether there is room, and writes what is there already.
    Probe,
    /// Moves everything from the write-ahead log into the file.
    Checkpoint,
}

/// Result of a write.
#[derive(Debug)]
pub(super) enum Written {
    Nothing,
    Post(PostId),
    Lease(Fence),
    LeasesDue(Vec<(RunSummary, Fence)>),
    Removed(Vec<RunId>),
    Reclaimed(Reclaimed),
}

/// Does a write within the group's transaction. A refused one has written nothing.
pub(super) fn perform(
    state: &mut WriterState,
    connection: &Connection,
    write: &Write,
) -> Result<Written, Fault> {
    match write {
        Write::Append(new) => state.append(connection, new).map(|()| Written::Nothing),
        Write::Post(new) => state.post(connection, new).map(Written::Post),
        Write::Lease { run, holder, claim } => {
            state.acquire(connection, *run, holder, *claim).map(Written::Lease)
        }
        Write::LeaseDue(due) => state.acquire_due(connection, due).map(Written::LeasesDue),
        Write::Renew { run, fence } => state.renew(connection, *run, fence).map(|()| Written::Nothing),
        Write::Release { run, fence, left } => {
            state.release(connection, *run, fence, *left).map(|()| Written::Nothing)
        }
        Write::Discard { run, post, fence } => {
            state.discard(connection, *run, *post, fence).map(|()| Written::Nothing)
        }
        Write::Put { digest, bytes } => {
            Ok(state.put(connection, digest, bytes).map(|()| Written::Nothing)?)
        }
        Write::Remove { runs } => {
            state.forget(runs);
            Ok(Written::Removed(prune::remove(connection, runs)?))
        }
        Write::Sight { holders } => {
            holders.iter().try_for_each(|id| holders::sight(connection, *id))?;
            Ok(Written::Nothing)
        }
        Write::Reclaim { most } => Ok(prune::reclaim(connection, *most).map(Written::Reclaimed)?),
        Write::Probe => Ok(probe(connection).map(|()| Written::Nothing)?),
        Write::Checkpoint => Ok(Written::Nothing),
    }
}

/// The room that a probe asks for: that of a large append.
const PROBE_BYTES: u32 = 64 * 1024;

/// Asks for room and gives it back, and writes the header as it is, so that a page goes to the disk.
fn probe(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("SAVEPOINT probe")?;
    // No payload has that number.
    connection
        .execute("INSERT INTO chunks(payload, place, data) VALUES (-1, 0, zeroblob(?1))", [PROBE_BYTES])?;
    connection.execute_batch("ROLLBACK TO probe; RELEASE probe")?;
    let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    connection.pragma_update(None, "user_version", version)
}
