//! Reading a log: events and inbox, as queries on one connection.

use rusqlite::{Connection, OptionalExtension, Row};
use windlass_core::{RunId, RunState, Status};

use super::body;
use crate::error::StoreError;
use crate::payload::Digest;
use crate::{Batch, PostId, Posted};

/// A query's failure: what the database said, or what we think of what it holds.
#[derive(Debug)]
pub(super) enum Fault {
    Database(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A run's id from its stored form.
pub(super) fn run_id(row: &Row<'_>, column: usize) -> rusqlite::Result<RunId> {
    row.get::<_, [u8; 16]>(column).map(|bytes| RunId::from_number(u128::from_be_bytes(bytes)))
}

/// A run's short number, and whether it has ended.
pub(super) fn find(connection: &Connection, run: RunId) -> Result<(i64, bool), Fault> {
    connection
        .prepare_cached("SELECT no, status FROM runs WHERE run = ?1")?
        .query_row([run.0.as_bytes()], |row| {
            let run_state = row.get_ref(1)?;
            Ok((row.get(0)?, !matches!(run_state.as_str()?, "running" | "suspended")))
        })
        .optional()?
        .ok_or_else(|| StoreError::UnknownRun { run }.into())
}

/// Number of events of a run.
pub(super) fn version(connection: &Connection, no: i64) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT max(last) FROM appends WHERE run = ?1")?
        .query_row([no], |row| row.get::<_, Option<i64>>(0))
        .map(|last| last.unwrap_or_default().cast_unsigned())
}

/// Number of events of a run, and the hash of its last append; zeros before the first.
pub(super) fn last(connection: &Connection, no: i64) -> rusqlite::Result<(u64, Digest)> {
    connection
        .prepare_cached("SELECT last, chain FROM appends WHERE run = ?1 ORDER BY last DESC LIMIT 1")?
        .query_row([no], |row| Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?)))
        .optional()
        .map(Option::unwrap_or_default)
}

/// The batches with events from `from` on, about `max` events.
pub(super) fn read(connection: &Connection, run: RunId, from: u64, max: usize) -> Result<Vec<Batch>, Fault> {
    let (no, _) = find(connection, run)?;
    read_of(connection, run, no, from, max)
}

fn read_of(connection: &Connection, run: RunId, no: i64, from: u64, max: usize) -> Result<Vec<Batch>, Fault> {
    let from = from.max(1);
    let mut query = connection.prepare_cached(
        "SELECT last, count, at, schema, cause, body FROM appends WHERE run = ?1 AND last >= ?2 ORDER BY last",
    )?;
    let mut rows = query.query([no, from.min(i64::MAX as u64).cast_signed()])?;
    let (mut batches, mut count) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let (last, held, at): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let [last, held, at] = [last, held, at].map(i64::cast_unsigned);
        let head = body::Head { last, count: held, at, schema: row.get(3)? };
        let text = |column| row.get_ref(column)?.as_str().map_err(as_sql);
        let batch = body::read(run, head, text(4)?, text(5)?)?.starting_at(from);
        count += batch.events.len();
        batches.push(batch);
        if count >= max {
            break;
        }
    }
    Ok(batches)
}

pub(super) fn as_sql(error: rusqlite::types::FromSqlError) -> rusqlite::Error {
    error.into()
}

/// The next event for a follower at `from`.
pub(super) enum Next {
    Batches(Vec<Batch>),
    Nothing,
    Ended,
}

pub(super) fn next(connection: &Connection, run: RunId, from: u64, max: usize) -> Result<Next, Fault> {
    // How it stands is read first: if it has ended, all events are there.
    let (no, ended) = find(connection, run)?;
    let batches = read_of(connection, run, no, from, max)?;
    Ok(match (batches.is_empty(), ended) {
        (false, _) => Next::Batches(batches),
        (true, true) => Next::Ended,
        (true, false) => Next::Nothing,
    })
}

pub(super) fn inbox(
    connection: &Connection,
    run: RunId,
    after: Option<PostId>,
) -> Result<Vec<Posted>, Fault> {
    let (no, _) = find(connection, run)?;
    let mut query =
        connection.prepare_cached("SELECT id, at, body FROM inbox WHERE run = ?1 AND id > ?2 ORDER BY id")?;
    let mut rows = query.query([no, after.map_or(0, |post| post.0).cast_signed()])?;
    let mut posted = Vec::new();
    while let Some(row) = rows.next()? {
        let what = serde_json::from_str(row.get_ref(2)?.as_str().map_err(as_sql)?)
            .map_err(|error| StoreError::Failed(Box::new(error)))?;
        posted.push(Posted {
            id: PostId(row.get::<_, i64>(0)?.cast_unsigned()),
            at: row.get::<_, i64>(1)?.cast_unsigned(),
            what,
        });
    }
    Ok(posted)
}

/// The given posts that the run's appends have used.
pub(super) fn used(connection: &Connection, run: RunId, posts: &[PostId]) -> Result<Vec<PostId>, Fault> {
    let (no, _) = find(connection, run)?;
    let mut query = connection.prepare_cached("SELECT 1 FROM appends WHERE uses = ?1 AND run = ?2")?;
    let mut used = Vec::new();
    for post in posts {
        if query.exists([post.0.cast_signed(), no])? {
            used.push(*post);
        }
    }
    Ok(used)
}

/// The name and the detail under which a run state is stored.
pub(super) fn columns(run_state: RunState) -> (&'static str, Option<&'static str>) {
    let detail = match run_state {
        RunState::Ended(Status::Limit(limit)) => Some(limit.name()),
        RunState::Ended(Status::Failed(kind)) => Some(kind.name()),
        RunState::Running | RunState::Suspended | RunState::Ended(_) => None,
    };
    (run_state.name(), detail)
}

/// Reads what [`columns`] wrote.
pub(super) fn run_state(name: &str, detail: Option<String>) -> Result<RunState, StoreError> {
    match name {
        "running" => return Ok(RunState::Running),
        "suspended" => return Ok(RunState::Suspended),
        _ => {}
    }
    let status = match detail {
        Some(detail) => serde_json::json!({ name: detail }),
        None => serde_json::Value::from(name),
    };
    serde_json::from_value(status).map(RunState::Ended).map_err(|error| StoreError::Failed(Box::new(error)))
}
