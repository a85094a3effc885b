//! Finding runs that can go on: those that nobody holds, found by indexes that list no others.

use std::collections::HashMap;

use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use windlass_core::RunId;
use windlass_core::event::CLOCK_JUMP_MS;

use super::holders;
use super::rows::{self, Fault};
use crate::{Due, RunCounts};

/// Whether a run can continue at the parameter's time. A suspended run's detail is the time at which it continues by itself. If
/// its timer was set later than now, the clock was set back since, and the next holder sets the timer anew.
pub(super) fn is_due(parameter: usize) -> String {
    format!(
        "(status = 'running' OR status = 'suspended' AND EXISTS (SELECT 1 FROM inbox WHERE inbox.run = no) \
         OR status = 'suspended' AND detail IS NOT NULL AND \
         (CAST(detail AS INTEGER) <= ?{parameter} OR suspended_at > ?{parameter} + {CLOCK_JUMP_MS}))"
    )
}

/// Each process that holds runs, once, however many it holds.
const HOLDING: &str = "WITH RECURSIVE holding(id) AS (SELECT min(held) FROM runs WHERE held IS NOT NULL UNION ALL \
     SELECT (SELECT min(held) FROM runs WHERE held > id) FROM holding WHERE id IS NOT NULL) \
     SELECT id FROM holding WHERE id IS NOT NULL";

/// The runs that a claim of a holder has acquired and that it still holds.
const CLAIMED: &str = "SELECT run FROM runs WHERE claim = ?2 AND holder = ?1 AND held IS NOT NULL \
     AND status IN ('running', 'suspended') ORDER BY no";

/// The runs that may go on, as conditions that have an index each. `dead`: processes that hold runs and live no more.
fn wanted(dead: &[i64]) -> Vec<String> {
    let suspended = "status = 'suspended' AND held IS NULL";
    let free = [
        "status = 'running' AND held IS NULL".to_owned(),
        format!("{suspended} AND detail IS NOT NULL AND CAST(detail AS INTEGER) <= ?1"),
        format!("{suspended} AND detail IS NOT NULL AND suspended_at > ?1 + {CLOCK_JUMP_MS}"),
        // The plus keeps the query from the index of all suspended runs: few of them have posts.
        format!("+{suspended} AND no IN (SELECT inbox.run FROM inbox)"),
    ];
    let left = dead.iter().map(|holder| format!("held = {holder} AND {}", is_due(1)));
    free.into_iter().chain(left).collect()
}

/// A query for each of them, with its parameters: the time, which some do not look at, and the agents.
fn queries(due: &Due, dead: &[i64]) -> Vec<(String, Vec<Value>)> {
    let now = Value::Integer(due.now.min(i64::MAX as u64).cast_signed());
    let limit = most(due).min(i64::MAX as usize);
    let among = |column: &str, count: usize| match count {
        0 => String::new(),
        count => format!(" AND +{column} IN ({})", vec!["?"; count].join(", ")),
    };
    let of_agents = among("agent", due.agents.len());
    let of_others = among("owner NOT", due.without_owners.len());
    let query = |condition: String| {
        let sql = format!(
            "SELECT no, run FROM runs WHERE parent IS NULL AND {condition} AND ?1 IS NOT NULL{of_agents}{of_others} \
             ORDER BY no LIMIT {limit}"
        );
        let agents = due.agents.iter().map(|agent| Value::Text(agent.as_ref().to_owned()));
        let owners = due.without_owners.iter().map(|owner| Value::Text(owner.as_str().to_owned()));
        (sql, [now.clone()].into_iter().chain(agents).chain(owners).collect())
    };
    wanted(dead).into_iter().map(query).collect()
}

/// The most runs that are looked at: those that are left alone are among them.
fn most(due: &Due) -> usize {
    due.limit.saturating_add(due.without.len())
}

/// Runs that are due for this request and have no live holder, the ones that began first first.
pub(super) fn due(connection: &Connection, due: &Due) -> Result<Vec<RunId>, Fault> {
    let mut found: Vec<(i64, RunId)> = Vec::new();
    for (sql, values) in queries(due, &dead(connection)?) {
        let mut query = connection.prepare_cached(&sql)?;
        let runs =
            query.query_map(params_from_iter(values), |row| Ok((row.get(0)?, rows::run_id(row, 1)?)))?;
        for run in runs {
            found.push(run?);
        }
    }
    found.sort_unstable_by_key(|(no, _)| *no);
    found.dedup();
    Ok(found.into_iter().take(most(due)).map(|(_, run)| run).collect())
}

/// Since when a run that is due can go on.
const SINCE: &str = "CASE status WHEN 'running' THEN \
     coalesce((SELECT at FROM appends WHERE appends.run = no ORDER BY last DESC LIMIT 1), ?1) \
     ELSE min(coalesce((SELECT min(at) FROM inbox WHERE inbox.run = no), ?1), coalesce(CAST(detail AS INTEGER), ?1)) END";

/// How many runs there are, and since when the one waits that has waited longest to be taken up.
pub(super) fn counts(connection: &Connection, now: u64) -> Result<RunCounts, Fault> {
    let transaction = connection.unchecked_transaction()?;
    let mut dead = Vec::new();
    for holder in holding(&transaction)? {
        if !holders::alive(&transaction, holder)? {
            dead.push(holder);
        }
    }
    let now = now.min(i64::MAX as u64).cast_signed();
    let mut since: HashMap<i64, i64> = HashMap::new();
    for condition in wanted(&dead) {
        let sql =
            format!("SELECT no, {SINCE} FROM runs WHERE parent IS NULL AND {condition} AND ?1 IS NOT NULL");
        let mut query = transaction.prepare_cached(&sql)?;
        let mut rows = query.query([now])?;
        while let Some(row) = rows.next()? {
            since.insert(row.get(0)?, row.get(1)?);
        }
    }
    let count = |sql| transaction.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned);
    let running = count("SELECT count(*) FROM runs WHERE status = 'running'")?;
    let suspended = count("SELECT count(*) FROM runs WHERE status = 'suspended'")?;
    let all = count("SELECT count(*) FROM runs")?;
    Ok(RunCounts {
        running,
        suspended,
        ended: all.saturating_sub(running + suspended),
        due: since.len() as u64,
        due_since: since.into_values().min().map(|since| since.min(now).cast_unsigned()),
    })
}

/// The processes that hold runs.
fn holding(connection: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut query = connection.prepare_cached(HOLDING)?;
    query.query_map([], |row| row.get(0))?.collect()
}

/// The processes that hold runs and live no more. Those that only their heartbeats tell of are watched from here on.
fn dead(connection: &Connection) -> Result<Vec<i64>, Fault> {
    let mut dead = Vec::new();
    for holder in holding(connection)? {
        if holders::alive(connection, holder)? {
            holders::sight(connection, holder)?;
        } else {
            dead.push(holder);
        }
    }
    Ok(dead)
}

/// The runs that an earlier request under the same claim has acquired and that its holder still holds.
pub(super) fn claimed(connection: &Connection, due: &Due) -> Result<Vec<RunId>, Fault> {
    let mut query = connection.prepare_cached(CLAIMED)?;
    let found = query
        .query_map(params![due.holder.0.as_ref(), due.claim.0.cast_signed()], |row| rows::run_id(row, 0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests;
