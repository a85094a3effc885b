//! Reading a log: events, inbox and listings, as queries on one connection.

use std::collections::HashMap;
use std::fmt::Write as _;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use windlass_core::event::CLOCK_JUMP_MS;
use windlass_core::{Owner, RunId, RunState, SessionId, Status};

use super::{body, holders};
use crate::error::StoreError;
use crate::payload::Digest;
use crate::{Batch, DEFAULT_LISTED, Holder, PostId, Posted, RunFilter, RunNumber, RunSummary};

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
    read_of(connection, (run, no), from, max)
}

fn read_of(
    connection: &Connection,
    (run, no): (RunId, i64),
    from: u64,
    max: usize,
) -> Result<Vec<Batch>, Fault> {
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
        let batch = body::read(run, head, (text(4)?, text(5)?))?.starting_at(from);
        count += batch.events.len();
        batches.push(batch);
        if count >= max {
            break;
        }
    }
    Ok(batches)
}

fn as_sql(error: rusqlite::types::FromSqlError) -> rusqlite::Error {
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
    let batches = read_of(connection, (run, no), from, max)?;
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

/// Whether a run can continue at the parameter's time. A suspended run's detail is the time at which it continues by itself. If
/// its timer was set later than now, the clock was set back since, and the next holder sets the timer anew.
fn is_due(parameter: usize) -> String {
    format!(
        "(status = 'running' OR status = 'suspended' AND EXISTS (SELECT 1 FROM inbox WHERE inbox.run = no) \
         OR status = 'suspended' AND detail IS NOT NULL AND \
         (CAST(detail AS INTEGER) <= ?{parameter} OR suspended_at > ?{parameter} + {CLOCK_JUMP_MS}))"
    )
}

const SUMMARY: &str = "SELECT no, run, agent, session, parent, status, detail, started_at, title, holder, held, \
     (SELECT max(last) FROM appends WHERE appends.run = no) AS version, \
     (SELECT at FROM appends WHERE appends.run = no ORDER BY last DESC LIMIT 1) AS updated_at, owner \
     FROM runs";

pub(super) fn summary(connection: &Connection, run: RunId) -> Result<RunSummary, Fault> {
    let sql = format!("{SUMMARY} WHERE run = ?1");
    let found = summaries(connection, &sql, vec![Value::Blob(run.0.as_bytes().to_vec())])?;
    found.runs.into_iter().next().ok_or_else(|| StoreError::UnknownRun { run }.into())
}

/// Result of a listing.
pub(super) struct Listed {
    pub(super) runs: Vec<RunSummary>,
    /// Holders whose heartbeat this process has not seen yet, if only heartbeats show whether they are alive.
    pub(super) unseen: Vec<i64>,
}

pub(super) fn list(connection: &Connection, filter: &RunFilter) -> Result<Listed, Fault> {
    let mut sql = format!("{SUMMARY} WHERE 1");
    let mut values = Vec::new();
    let mut and = |condition: &str, value: Option<Value>| {
        if let Some(value) = value {
            values.push(value);
            // Writing to a string cannot fail.
            let _ = write!(sql, " AND {condition} ?{}", values.len());
        }
    };
    let blob = |run: &RunId| Value::Blob(run.0.as_bytes().to_vec());
    let number = |at: u64| Value::Integer(at.min(i64::MAX as u64).cast_signed());
    and("owner =", filter.owner.as_ref().map(|owner| Value::Text(owner.as_str().to_owned())));
    and("session =", filter.session.as_ref().map(|session| Value::Text(session.as_str().to_owned())));
    and("agent =", filter.agent.as_ref().map(|agent| Value::Text(agent.as_ref().to_owned())));
    and("status =", filter.status.map(|status| Value::Text(status.name().to_owned())));
    and("parent =", filter.parent.as_ref().map(blob));
    and("started_at >=", filter.since.map(number));
    and("started_at <", filter.until.map(number));
    and("no <", filter.before.map(|before| number(before.0)));
    if let Some(due) = filter.due {
        values.push(number(due));
        let _ = write!(sql, " AND {}", is_due(values.len()));
    }
    let limit = if filter.limit == 0 { DEFAULT_LISTED } else { filter.limit.min(i32::MAX as usize) };
    let _ = write!(sql, " ORDER BY no DESC LIMIT {limit}");
    summaries(connection, &sql, values)
}

fn summaries(connection: &Connection, sql: &str, values: Vec<Value>) -> Result<Listed, Fault> {
    // One transaction, so that runs, events and holders are seen as of one moment.
    let transaction = connection.unchecked_transaction()?;
    let mut query = transaction.prepare_cached(sql)?;
    let mut rows = query.query(params_from_iter(values))?;
    let mut lives = HashMap::new();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (mut summary, held) = summary_of(row)?;
        if let Some(held) = held {
            let alive = match lives.get(&held) {
                Some(alive) => *alive,
                None => *lives.entry(held).or_insert(holders::alive(&transaction, held)?),
            };
            summary.holder = summary.holder.filter(|_| alive);
        }
        found.push(summary);
    }
    let mut unseen = Vec::new();
    for holder in lives.into_keys() {
        if holders::unseen(&transaction, holder)? {
            unseen.push(holder);
        }
    }
    Ok(Listed { runs: found, unseen })
}

fn summary_of(row: &Row<'_>) -> Result<(RunSummary, Option<i64>), Fault> {
    let run = run_id(row, 1)?;
    let parent: Option<[u8; 16]> = row.get(4)?;
    let held: Option<i64> = row.get(10)?;
    let holder: String = row.get(9)?;
    let (name, detail): (String, Option<String>) = (row.get(5)?, row.get(6)?);
    let wake_at = detail.as_ref().filter(|_| name == "suspended").and_then(|at| at.parse().ok());
    let summary = RunSummary {
        run,
        number: RunNumber(row.get::<_, i64>(0)?.cast_unsigned()),
        agent: row.get::<_, String>(2)?.into(),
        owner: Owner::from(row.get_ref(13)?.as_str().map_err(as_sql)?),
        session: row.get::<_, Option<String>>(3)?.map(SessionId::from),
        parent: parent.map(|bytes| RunId::from_number(u128::from_be_bytes(bytes))),
        run_state: run_state(&name, detail)?,
        wake_at,
        version: row.get::<_, Option<i64>>(11)?.unwrap_or_default().cast_unsigned(),
        started_at: row.get::<_, i64>(7)?.cast_unsigned(),
        updated_at: row.get::<_, Option<i64>>(12)?.unwrap_or_default().cast_unsigned(),
        title: row.get::<_, String>(8)?.into(),
        holder: held.map(|_| Holder(holder.into())),
    };
    Ok((summary, held))
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
