//! Looking through a whole log: the file itself, the boundaries of appends, references and payloads.

use rusqlite::Connection;
use sha2::{Digest as _, Sha256};
use windlass_core::{Fact, InputKind, RunId, SessionId};

use super::rows::{self, Fault};
use super::{body, chain};
use crate::opening::{self, Opening};
use crate::payload::{self, Digest};

/// Maximum number of faults listed per kind.
const NAMED: usize = 20;

/// The findings of a check of a log's file. It does not fold the events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The file's format.
    pub format: u32,
    /// Number of runs.
    pub runs: u64,
    /// Number of appends.
    pub appends: u64,
    /// Number of events.
    pub events: u64,
    /// Number of payloads.
    pub payloads: u64,
    /// Their bytes.
    pub payload_bytes: u64,
    /// Number of unreferenced payloads: `runs prune` removes them an hour after they were stored.
    pub unnamed: u64,
    /// The faults, in words; at most 20 of each kind.
    pub faults: Vec<String>,
}

/// Looks through the file, as of one moment.
pub(super) fn check(connection: &Connection, format: u32) -> Result<Checked, Fault> {
    let transaction = connection.unchecked_transaction()?;
    let number = |sql: &str| -> rusqlite::Result<u64> {
        transaction.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
    };
    let mut checked = Checked {
        format,
        runs: number("SELECT count(*) FROM runs")?,
        appends: number("SELECT count(*) FROM appends")?,
        events: number("SELECT coalesce(sum(count), 0) FROM appends")?,
        payloads: number("SELECT count(*) FROM payloads")?,
        payload_bytes: number("SELECT coalesce(sum(bytes), 0) FROM payloads")?,
        unnamed: number(
            "SELECT count(*) FROM payloads WHERE NOT EXISTS (SELECT 1 FROM run_payloads WHERE payload = payloads.no)",
        )?,
        faults: Vec::new(),
    };
    let faults = &mut checked.faults;
    pages(&transaction, faults)?;
    boundaries(&transaction, faults)?;
    let changed = chain::look(&transaction, None, NAMED)?;
    faults.extend(changed.iter().map(|(run, last)| {
        format!("run {run}: the append that ends with event {last} is not what was written")
    }));
    listed(&transaction, faults)?;
    posts(&transaction, faults)?;
    references(&transaction, faults)?;
    hashes(&transaction, faults)?;
    Ok(checked)
}

/// The database's own look at its pages and indexes.
fn pages(connection: &Connection, faults: &mut Vec<String>) -> Result<(), Fault> {
    let mut query = connection.prepare(&format!("PRAGMA integrity_check({NAMED})"))?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let line: String = row.get(0)?;
        if line != "ok" {
            faults.push(format!("the file: {line}"));
        }
    }
    Ok(())
}

/// Each append must begin where the one before it ended, hold as many events as it says, and be one that we can read.
fn boundaries(connection: &Connection, faults: &mut Vec<String>) -> Result<(), Fault> {
    let sql = format!(
        "SELECT runs.run, appends.last, appends.count, appends.schema,
           appends.last - appends.count
             - coalesce((SELECT max(before.last) FROM appends AS before
                         WHERE before.run = appends.run AND before.last < appends.last), 0) AS gap,
           CASE WHEN json_valid(appends.body) THEN json_array_length(appends.body) ELSE -1 END AS there
         FROM appends LEFT JOIN runs ON runs.no = appends.run
         WHERE gap <> 0 OR there <> appends.count OR runs.no IS NULL OR appends.schema > {} LIMIT {NAMED}",
        Fact::SCHEMA
    );
    let mut query = connection.prepare(&sql)?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let (last, count, schema): (i64, i64, i64) = (row.get(1)?, row.get(2)?, row.get(3)?);
        let (gap, there): (i64, i64) = (row.get(4)?, row.get(5)?);
        let Ok(run) = rows::run_id(row, 0) else {
            faults.push(format!("an append that ends with event {last} belongs to no run"));
            continue;
        };
        faults.push(if gap != 0 {
            format!("run {run}: {gap} events are missing before event {}", last - count + 1)
        } else if there == -1 {
            format!("run {run}: the append that ends with event {last} is no JSON")
        } else if there != count {
            format!("run {run}: the append that ends with event {last} has {there} events, expected {count}")
        } else {
            let known = Fact::SCHEMA;
            format!("run {run}: event {last} has schema {schema}; this version reads schemas up to {known}")
        });
    }
    Ok(())
}

/// Checks that the columns for listings match the run's first event.
fn listed(connection: &Connection, faults: &mut Vec<String>) -> Result<(), Fault> {
    let mut query = connection.prepare(
        "SELECT runs.run, agent, session, parent, base, title, started_at, last, count, at, schema, cause, body, owner FROM runs \
         JOIN appends ON appends.run = runs.no AND last = count",
    )?;
    let (mut rows, mut bad) = (query.query([])?, 0);
    while let Some(row) = rows.next()? {
        let run = rows::run_id(row, 0)?;
        let [last, count, at] = [row.get::<_, i64>(7)?, row.get(8)?, row.get(9)?].map(i64::cast_unsigned);
        let head = body::Head { last, count, at, schema: row.get(10)? };
        // One that cannot be read is said elsewhere.
        let text = |column| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
        let Ok(batch) = body::read(run, head, text(11)?, text(12)?) else { continue };
        let (first, opening) = (batch.events.first(), Opening::of(batch.events.first()));
        let id = |run: Option<RunId>| run.map(|run| run.0.as_bytes().to_vec());
        let differ = [
            ("agent", row.get::<_, String>(1)? != *opening.agent),
            (
                "session",
                row.get::<_, Option<String>>(2)?.as_deref()
                    != opening.session.as_ref().map(SessionId::as_str),
            ),
            ("owner", row.get::<_, String>(13)? != opening.owner.as_str()),
            ("parent", row.get::<_, Option<Vec<u8>>>(3)? != id(opening.parent)),
            ("base", row.get::<_, Option<Vec<u8>>>(4)? != id(opening::base(first))),
            ("title", row.get::<_, String>(5)? != *opening.title),
            ("start", first.is_some_and(|first| row.get(6).ok() != Some(first.at.cast_signed()))),
        ];
        for (what, _) in differ.into_iter().filter(|(_, differs)| *differs) {
            bad += 1;
            if bad <= NAMED {
                faults.push(format!(
                    "run {run}: its {what} is listed as another one than its first event says"
                ));
            }
        }
    }
    Ok(())
}

/// Bases, parents, posts, heads and references to payloads must lead somewhere.
fn references(connection: &Connection, faults: &mut Vec<String>) -> Result<(), Fault> {
    for (column, what) in [("base", "is based on"), ("parent", "was started by")] {
        let sql = format!(
            "SELECT run, {column} FROM runs WHERE {column} IS NOT NULL \
             AND {column} NOT IN (SELECT run FROM runs) LIMIT {NAMED}"
        );
        let mut query = connection.prepare(&sql)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let (run, other): (RunId, RunId) = (rows::run_id(row, 0)?, rows::run_id(row, 1)?);
            faults.push(format!("run {run} {what} run {other}, which is not there"));
        }
    }
    for (table, what) in [
        ("inbox", "posts"),
        ("post_keys", "keys of posts"),
        ("run_payloads", "references to payloads"),
        ("heads", "heads of sessions"),
    ] {
        let sql = format!("SELECT count(*) FROM {table} WHERE run NOT IN (SELECT no FROM runs)");
        let lost: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
        if lost > 0 {
            faults.push(format!("{lost} {what} belong to no run"));
        }
    }
    let sql = format!(
        "SELECT runs.run FROM run_payloads JOIN runs ON runs.no = run_payloads.run \
         WHERE payload NOT IN (SELECT no FROM payloads) LIMIT {NAMED}"
    );
    let mut query = connection.prepare(&sql)?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        faults.push(format!("run {} refers to a payload that is not there", rows::run_id(row, 0)?));
    }
    Ok(())
}

/// Each post must be one that its run's holder can read.
fn posts(connection: &Connection, faults: &mut Vec<String>) -> Result<(), Fault> {
    let mut query = connection
        .prepare("SELECT runs.run, inbox.id, inbox.body FROM inbox JOIN runs ON runs.no = inbox.run")?;
    let (mut rows, mut bad) = (query.query([])?, 0);
    while let Some(row) = rows.next()? {
        let read = row.get_ref(2)?.as_str().map(serde_json::from_str::<InputKind>);
        if matches!(read, Ok(Ok(_))) {
            continue;
        }
        bad += 1;
        if bad <= NAMED {
            let (run, post): (RunId, i64) = (rows::run_id(row, 0)?, row.get(1)?);
            faults.push(format!("run {run}: the posted input {post} cannot be read"));
        }
    }
    Ok(())
}

/// Each payload must have the bytes and the digest that it is kept under. One piece is in memory at a time.
fn hashes(connection: &Connection, faults: &mut Vec<String>) -> Result<(), Fault> {
    let mut payloads = connection.prepare("SELECT no, sha256, bytes FROM payloads")?;
    let mut pieces = connection.prepare("SELECT data FROM chunks WHERE payload = ?1 ORDER BY place")?;
    let (mut all, mut bad) = (payloads.query([])?, 0);
    while let Some(row) = all.next()? {
        let (no, digest, bytes): (i64, Digest, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (mut hash, mut found) = (Sha256::new(), 0_u64);
        let mut each = pieces.query([no])?;
        while let Some(piece) = each.next()? {
            let data = piece.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
            hash.update(data);
            found += data.len() as u64;
        }
        let name = payload::name(&digest);
        let fault = if found != bytes.cast_unsigned() {
            format!("payload {name} has {found} bytes, expected {bytes}")
        } else if Digest::from(hash.finalize()) != digest {
            format!("payload {name} holds other bytes than its digest says")
        } else {
            continue;
        };
        bad += 1;
        if bad <= NAMED {
            faults.push(fault);
        }
    }
    Ok(())
}
