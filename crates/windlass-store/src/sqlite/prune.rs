//! Pruning: which runs may go, and taking them out a few at a time, so that others can write in between.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params_from_iter};
use windlass_core::RunId;
use windlass_core::event::CLOCK_JUMP_MS;

use super::holders::{self, now_ms};
use super::rows::{self, Fault};
use super::{heads, pins};
use crate::pruning::{Prunable, Prune, Reclaimed};

/// Time that an unreferenced payload is kept after it was last stored, in milliseconds: an hour. Live processes pin their
/// payloads; this covers the append of a sleeping process elsewhere.
pub(super) const UNNAMED_MS: u64 = 3_600_000;

/// Selects the matching runs, and of those the removable ones: no kept run may be based on them or have been started by them.
pub(super) fn choose(connection: &Connection, prune: &Prune) -> Result<Prunable, Fault> {
    let transaction = connection.unchecked_transaction()?;
    transaction.execute_batch(
        "CREATE TEMP TABLE IF NOT EXISTS going(no INTEGER PRIMARY KEY, run BLOB); DELETE FROM temp.going;",
    )?;
    let (condition, values) = condition(prune);
    let sql = format!("INSERT INTO temp.going SELECT no, run FROM runs WHERE {condition}");
    let fitting = transaction.execute(&sql, params_from_iter(values))? as u64;
    let held: Vec<(i64, i64)> = {
        let mut query = transaction.prepare(
            "SELECT no, held FROM runs WHERE held IS NOT NULL AND no IN (SELECT no FROM temp.going)",
        )?;
        query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?
    };
    for (no, holder) in held {
        if holders::alive(&transaction, holder)? {
            transaction.execute("DELETE FROM temp.going WHERE no = ?1", [no])?;
        }
    }
    for run in &prune.keep {
        transaction.execute("DELETE FROM temp.going WHERE run = ?1", [run.0.as_bytes()])?;
    }
    // What stays needs its base and its parent, those need theirs, and so on.
    transaction.execute_batch(
        "WITH RECURSIVE needed(run) AS (
           SELECT base FROM runs WHERE base IS NOT NULL AND no NOT IN (SELECT no FROM temp.going)
           UNION SELECT parent FROM runs WHERE parent IS NOT NULL AND no NOT IN (SELECT no FROM temp.going)
           UNION SELECT runs.base FROM needed JOIN runs ON runs.run = needed.run WHERE runs.base IS NOT NULL
           UNION SELECT runs.parent FROM needed JOIN runs ON runs.run = needed.run WHERE runs.parent IS NOT NULL)
         DELETE FROM temp.going WHERE run IN (SELECT run FROM needed)",
    )?;
    let mut runs = Vec::new();
    {
        let mut query = transaction.prepare("SELECT no, run FROM temp.going ORDER BY no DESC")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            runs.push(rows::run_id(row, 1)?);
        }
    }
    let kept = fitting.saturating_sub(runs.len() as u64);
    // Nothing was written but the table of this connection alone.
    transaction.commit()?;
    Ok(Prunable { runs, kept })
}

fn condition(prune: &Prune) -> (String, Vec<Value>) {
    let mut values: Vec<Value> =
        prune.statuses.iter().map(|status| Value::Text(status.name().to_owned())).collect();
    let mut sql = if values.is_empty() {
        "status NOT IN ('running', 'suspended')".to_owned()
    } else {
        format!("status IN ({})", vec!["?"; values.len()].join(", "))
    };
    if let Some(before) = prune.before {
        sql.push_str(
            " AND coalesce((SELECT at FROM appends WHERE appends.run = no ORDER BY last DESC LIMIT 1), started_at) < ?",
        );
        values.push(Value::Integer(before.min(i64::MAX as u64).cast_signed()));
    }
    if !prune.sessions.is_empty() {
        sql.push_str(" AND run IN (WITH RECURSIVE family(run) AS (SELECT run FROM runs WHERE session IN (");
        sql.push_str(&vec!["?"; prune.sessions.len()].join(", "));
        sql.push_str(") UNION SELECT runs.run FROM family JOIN runs ON runs.parent = family.run) SELECT run FROM family)");
        values.extend(prune.sessions.iter().map(|session| Value::Text(session.as_str().to_owned())));
    }
    (sql, values)
}

/// Removes the given runs that are not needed and have no holder now. Returns which.
pub(super) fn remove(connection: &Connection, runs: &[RunId]) -> Result<Vec<RunId>, Fault> {
    let mut removed = Vec::new();
    for run in runs {
        let found: Option<(i64, Option<i64>)> = connection
            .prepare_cached(
                "SELECT no, held FROM runs WHERE run = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE base = ?1) \
                 AND NOT EXISTS (SELECT 1 FROM runs WHERE parent = ?1)",
            )?
            .query_row([run.0.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((no, held)) = found else { continue };
        if let Some(holder) = held
            && holders::alive(connection, holder)?
        {
            continue;
        }
        heads::leave(connection, no)?;
        for table in ["appends", "inbox", "post_keys", "run_payloads"] {
            connection.prepare_cached(&format!("DELETE FROM {table} WHERE run = ?1"))?.execute([no])?;
        }
        connection.prepare_cached("DELETE FROM runs WHERE no = ?1")?.execute([no])?;
        removed.push(*run);
    }
    Ok(removed)
}

/// Takes out up to so many payloads that nothing refers to and that were stored long enough ago.
pub(super) fn reclaim(connection: &Connection, most: usize) -> rusqlite::Result<Reclaimed> {
    pins::forget_dead(connection)?;
    let now = now_ms();
    let before = now.saturating_sub(UNNAMED_MS).cast_signed();
    let mut query = connection.prepare_cached(
        "SELECT no, bytes FROM payloads WHERE (stored_at < ?1 OR stored_at > ?2) \
         AND NOT EXISTS (SELECT 1 FROM run_payloads WHERE payload = payloads.no) \
         AND NOT EXISTS (SELECT 1 FROM pins WHERE payload = payloads.no) LIMIT ?3",
    )?;
    let values =
        [before, now.saturating_add(CLOCK_JUMP_MS).cast_signed(), i64::try_from(most).unwrap_or(i64::MAX)];
    let found: Vec<(i64, i64)> =
        query.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    let mut reclaimed = Reclaimed::default();
    for (no, bytes) in found {
        connection.prepare_cached("DELETE FROM chunks WHERE payload = ?1")?.execute([no])?;
        connection.prepare_cached("DELETE FROM payloads WHERE no = ?1")?.execute([no])?;
        reclaimed.payloads += 1;
        reclaimed.bytes += bytes.cast_unsigned();
    }
    Ok(reclaimed)
}
