//! Payloads in SQLite: stored once, in pieces, so that a range is read without the rest.

use rusqlite::{Connection, OptionalExtension, params};
use windlass_core::RunId;

use super::holders::now_ms;
use super::rows::Fault;
use crate::error::StoreError;
use crate::payload::{self, Digest};

/// Bytes of a piece.
pub(super) const PIECE: usize = 262_144;

/// A payload's number and size, if it is there.
fn find(connection: &Connection, digest: &Digest) -> rusqlite::Result<Option<(i64, u64)>> {
    connection
        .prepare_cached("SELECT no, bytes FROM payloads WHERE sha256 = ?1")?
        .query_row([digest], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned())))
        .optional()
}

/// The size of a payload that an event of the run refers to.
pub(super) fn size_in(connection: &Connection, run: RunId, digest: &Digest) -> rusqlite::Result<Option<u64>> {
    connection
        .prepare_cached(
            "SELECT payloads.bytes FROM payloads JOIN runs JOIN run_payloads \
             ON run_payloads.run = runs.no AND run_payloads.payload = payloads.no \
             WHERE payloads.sha256 = ?1 AND runs.run = ?2",
        )?
        .query_row(params![digest, run.0.as_bytes()], |row| Ok(row.get::<_, i64>(0)?.cast_unsigned()))
        .optional()
}

/// Stores a payload, or refreshes an existing one. Returns its number.
pub(super) fn put(connection: &Connection, digest: &Digest, bytes: &[u8]) -> rusqlite::Result<i64> {
    let now = now_ms().cast_signed();
    if let Some((no, _)) = find(connection, digest)? {
        connection.prepare_cached("UPDATE payloads SET stored_at = ?2 WHERE no = ?1")?.execute([no, now])?;
        return Ok(no);
    }
    connection
        .prepare_cached("INSERT INTO payloads(sha256, bytes, stored_at) VALUES (?1, ?2, ?3)")?
        .execute(params![digest, (bytes.len() as u64).cast_signed(), now])?;
    let no = connection.last_insert_rowid();
    let mut piece =
        connection.prepare_cached("INSERT INTO chunks(payload, place, data) VALUES (?1, ?2, ?3)")?;
    for (place, data) in bytes.chunks(PIECE).enumerate() {
        piece.execute(params![no, (place as u64).cast_signed(), data])?;
    }
    Ok(no)
}

/// Up to `max` bytes from `from` on.
pub(super) fn read(
    connection: &Connection,
    digest: &Digest,
    from: u64,
    max: usize,
) -> Result<Vec<u8>, Fault> {
    let (no, bytes) = find(connection, digest)?.ok_or_else(|| unknown(digest))?;
    let from = from.min(bytes);
    let to = from.saturating_add(max as u64).min(bytes);
    if from == to {
        return Ok(Vec::new());
    }
    let (first, last) = (from / PIECE as u64, (to - 1) / PIECE as u64);
    let mut found = Vec::with_capacity((to - from) as usize);
    let mut pieces = connection.prepare_cached(
        "SELECT place, data FROM chunks WHERE payload = ?1 AND place BETWEEN ?2 AND ?3 ORDER BY place",
    )?;
    let mut rows = pieces.query([no, first.cast_signed(), last.cast_signed()])?;
    while let Some(row) = rows.next()? {
        let begins = row.get::<_, i64>(0)?.cast_unsigned() * PIECE as u64;
        let data = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        let skip = from.saturating_sub(begins) as usize;
        let end = data.len().min(to.saturating_sub(begins) as usize);
        found.extend_from_slice(data.get(skip..end).unwrap_or_default());
    }
    if found.len() as u64 == to - from { Ok(found) } else { Err(unknown(digest).into()) }
}

/// The numbers of payloads that must be there.
pub(super) fn numbers(connection: &Connection, needed: &[Digest]) -> Result<Vec<i64>, Fault> {
    needed
        .iter()
        .map(|digest| Ok(find(connection, digest)?.map(|(no, _)| no).ok_or_else(|| unknown(digest))?))
        .collect()
}

/// Takes note that a run's events refer to these payloads.
pub(super) fn need(connection: &Connection, run: i64, payloads: &[i64]) -> rusqlite::Result<()> {
    for payload in payloads {
        connection
            .prepare_cached("INSERT OR IGNORE INTO run_payloads(run, payload) VALUES (?1, ?2)")?
            .execute([run, *payload])?;
    }
    Ok(())
}

fn unknown(digest: &Digest) -> StoreError {
    StoreError::UnknownPayload { sha256: payload::name(digest).to_string() }
}
