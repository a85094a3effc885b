//! The heads of sessions: the run that the next message of a session continues.

use rusqlite::{Connection, OptionalExtension, params};
use windlass_core::{Owner, RunId, SessionId};

use super::rows::{self, Fault};
use crate::error::StoreError;
use crate::opening::Opening;

/// The head of a session, if there is one.
pub(super) fn of(
    connection: &Connection,
    owner: &Owner,
    session: &SessionId,
) -> rusqlite::Result<Option<RunId>> {
    connection
        .prepare_cached(
            "SELECT runs.run FROM heads JOIN runs ON runs.no = heads.run WHERE heads.owner = ?1 AND heads.session = ?2",
        )?
        .query_row([owner.as_str(), session.as_str()], |row| rows::run_id(row, 0))
        .optional()
}

/// Refuses a run whose session has another head than the one that it continues.
pub(super) fn check(
    connection: &Connection,
    run: RunId,
    opening: &Opening,
    from: Option<RunId>,
) -> Result<(), Fault> {
    let Some(session) = &opening.session else { return Ok(()) };
    let head = of(connection, &opening.owner, session)?;
    if head == from { Ok(()) } else { Err(StoreError::HeadMoved { run, head }.into()) }
}

/// Makes a run the head of its session.
pub(super) fn put(connection: &Connection, no: i64, opening: &Opening, queued: bool) -> rusqlite::Result<()> {
    let Some(session) = &opening.session else { return Ok(()) };
    connection
        .prepare_cached("INSERT OR REPLACE INTO heads(owner, session, run, queued) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![opening.owner.as_str(), session.as_str(), no, queued])
        .map(drop)
}

/// Says of a head whether messages are queued in its session.
pub(super) fn set_queued(connection: &Connection, no: i64, queued: bool) -> rusqlite::Result<()> {
    let mut update = connection.prepare_cached("UPDATE heads SET queued = ?2 WHERE run = ?1")?;
    update.execute(params![no, queued]).map(drop)
}

/// A run that goes leaves its session to the run that it continued, if that is of the same session. Messages that were queued then
/// have been answered by the run that goes, or went with it.
pub(super) fn leave(connection: &Connection, no: i64) -> rusqlite::Result<()> {
    let base_no: Option<i64> = connection
        .prepare_cached(
            "SELECT base.no FROM runs JOIN runs AS base ON base.run = runs.base \
             WHERE runs.no = ?1 AND base.owner = runs.owner AND base.session = runs.session",
        )?
        .query_row([no], |row| row.get(0))
        .optional()?;
    match base_no {
        Some(base_no) => connection
            .prepare_cached("UPDATE heads SET run = ?2, queued = 0 WHERE run = ?1")?
            .execute([no, base_no])
            .map(drop),
        None => connection.prepare_cached("DELETE FROM heads WHERE run = ?1")?.execute([no]).map(drop),
    }
}
