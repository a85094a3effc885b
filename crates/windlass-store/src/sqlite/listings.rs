//! Listings: runs and sessions, newest first, a page at a time.

use std::collections::HashMap;
use std::fmt::Write as _;

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};
use windlass_core::event::Millis;
use windlass_core::{Owner, RunId, RunState, SessionId};

use super::due::is_due;
use super::rows::{self, Fault};
use super::{holders, usage};
use crate::error::StoreError;
use crate::{
    Cursor, DEFAULT_LISTED, Headline, Holder, Page, RunFilter, RunSummary, SessionFilter, SessionSummary,
};

/// The columns of a summary, in the order in which [`summary_of`] reads them.
const SUMMARY: &str = "SELECT no, runs.run, agent, session, parent, status, detail, started_at, title, holder, held, \
     latest.last, latest.at, owner, question, latest.cost, \
     coalesce((SELECT queued FROM heads WHERE heads.run = no), 0), \
     input, output, cached, cache_write, reasoning, own_cost, unpriced";
/// Where they come from: a run and its last append, which a damaged log may lack.
const LATEST: &str = "LEFT JOIN appends AS latest ON latest.id = \
     (SELECT id FROM appends WHERE appends.run = no ORDER BY last DESC LIMIT 1)";
/// The first column of what it has used.
const SPEND_AT: usize = 17;
/// The number of columns.
const COLUMNS: usize = SPEND_AT + usage::SPEND.len();
/// The condition of the indexes of runs that wait with a question.
const ASKS: &str = "question IS NOT NULL AND status IN ('running', 'suspended')";

pub(super) fn summary(connection: &Connection, run: RunId) -> Result<RunSummary, Fault> {
    let mut query =
        connection.prepare_cached(&format!("{SUMMARY} FROM runs {LATEST} WHERE runs.run = ?1"))?;
    let mut rows = query.query([run.0.as_bytes()])?;
    let row = rows.next()?.ok_or(StoreError::UnknownRun { run })?;
    Lives::default().line(connection, row).map(|(_, summary)| summary)
}

/// Result of a listing of runs.
pub(super) struct Listed {
    pub(super) page: Page<RunSummary>,
    /// Holders whose heartbeat this process has not seen yet, if only heartbeats show whether they are alive.
    pub(super) unseen: Vec<i64>,
}

/// The conditions of a listing, as SQL and its parameters.
#[derive(Default)]
pub(super) struct Conditions {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

impl Conditions {
    /// A condition whose parameter comes last, if there is a value.
    pub(super) fn and(&mut self, condition: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.values.push(value);
            // Writing to a string cannot fail.
            let _ = write!(self.sql, " AND {condition} ?{}", self.values.len());
        }
    }

    pub(super) fn owner(&mut self, column: &str, owner: Option<&Owner>) {
        self.and(&format!("{column} ="), owner.map(|owner| Value::Text(owner.as_str().to_owned())));
    }

    /// Runs that began at or after a time, and before another one.
    pub(super) fn began(&mut self, since: Option<Millis>, until: Option<Millis>) {
        self.and("started_at >=", since.map(number));
        self.and("started_at <", until.map(number));
    }

    /// Lines after a cursor: those with lower numbers.
    fn after(&mut self, column: &str, cursor: Option<&Cursor>) -> Result<(), StoreError> {
        let Some(cursor) = cursor else { return Ok(()) };
        let bad = |_| StoreError::BadCursor { cursor: cursor.as_str().to_owned() };
        let no: i64 = cursor.as_str().parse().map_err(bad)?;
        self.and(&format!("{column} <"), Some(Value::Integer(no)));
        Ok(())
    }
}

fn number(at: Millis) -> Value {
    Value::Integer(at.min(i64::MAX as u64).cast_signed())
}

fn limit(limit: usize) -> usize {
    if limit == 0 { DEFAULT_LISTED } else { limit.min(i32::MAX as usize) }
}

/// Cuts the line that was read to see whether there is a next page. A cursor is the number of the last line before it.
fn page<T>(mut lines: Vec<(i64, T)>, limit: usize) -> Page<T> {
    let more = lines.len() > limit;
    lines.truncate(limit);
    let next = lines.last().filter(|_| more).map(|(no, _)| no.to_string().into());
    Page { items: lines.into_iter().map(|(_, line)| line).collect(), next }
}

/// The query of a page, with its parameters. It reads one line more than the page has.
fn query_of(filter: &RunFilter) -> Result<(String, Vec<Value>), StoreError> {
    let mut conditions = Conditions::default();
    let blob = |run: &RunId| Value::Blob(run.0.as_bytes().to_vec());
    conditions.owner("owner", filter.owner.as_ref());
    let session = filter.session.as_ref().map(|session| Value::Text(session.as_str().to_owned()));
    conditions.and("session =", session);
    conditions.and("agent =", filter.agent.as_ref().map(|agent| Value::Text(agent.as_ref().to_owned())));
    conditions.and("status =", filter.status.map(|status| Value::Text(status.name().to_owned())));
    conditions.and("parent =", filter.parent.as_ref().map(blob));
    conditions.began(filter.since, filter.until);
    conditions.after("no", filter.after.as_ref())?;
    if filter.queued {
        // The plus keeps the query to the heads that have a queue, which are few.
        conditions.sql.push_str(
            " AND +status NOT IN ('running', 'suspended') AND no IN (SELECT run FROM heads WHERE queued = 1)",
        );
    }
    if filter.asks {
        // Writing to a string cannot fail.
        let _ = write!(conditions.sql, " AND {ASKS}");
    }
    if let Some(due) = filter.due {
        conditions.values.push(number(due));
        let _ = write!(conditions.sql, " AND {}", is_due(conditions.values.len()));
    }
    let Conditions { sql, values } = conditions;
    let limit = limit(filter.limit) + 1;
    let index = index_of(filter);
    Ok((format!("{SUMMARY} FROM runs{index} {LATEST} WHERE 1{sql} ORDER BY no DESC LIMIT {limit}"), values))
}

/// The index that a listing must take. SQLite would take that of a status or of an agent for runs that ask: it does not know how few
/// they are.
fn index_of(filter: &RunFilter) -> &'static str {
    match (filter.asks, &filter.owner) {
        (true, Some(_)) => " INDEXED BY runs_that_ask_by_owner",
        (true, None) => " INDEXED BY runs_that_ask",
        (false, _) => "",
    }
}

pub(super) fn list(connection: &Connection, filter: &RunFilter) -> Result<Listed, Fault> {
    let (sql, values) = query_of(filter)?;
    // One transaction, so that runs, events and holders are seen as of one moment.
    let transaction = connection.unchecked_transaction()?;
    let mut query = transaction.prepare_cached(&sql)?;
    let mut rows = query.query(params_from_iter(values))?;
    let (mut lives, mut lines) = (Lives::default(), Vec::new());
    while let Some(row) = rows.next()? {
        lines.push(lives.line(&transaction, row)?);
    }
    Ok(Listed { page: page(lines, limit(filter.limit)), unseen: lives.unseen(&transaction)? })
}

pub(super) fn sessions(
    connection: &Connection,
    filter: &SessionFilter,
) -> Result<Page<SessionSummary>, Fault> {
    let mut conditions = Conditions::default();
    conditions.owner("heads.owner", filter.owner.as_ref());
    let agent = filter.agent.as_ref().map(|agent| Value::Text(agent.as_ref().to_owned()));
    conditions.and("head.agent =", agent);
    conditions.after("heads.run", filter.after.as_ref())?;
    let Conditions { sql, values } = conditions;
    let limit = limit(filter.limit);
    let of = "FROM runs AS own WHERE own.session = heads.session AND own.owner = heads.owner";
    let sql = format!(
        "SELECT head.*, heads.session, (SELECT count(*) {of}), (SELECT min(own.started_at) {of}) \
         FROM heads JOIN ({SUMMARY} FROM runs {LATEST}) AS head ON head.no = heads.run \
         WHERE 1{sql} ORDER BY heads.run DESC LIMIT {}",
        limit + 1
    );
    let transaction = connection.unchecked_transaction()?;
    let mut query = transaction.prepare_cached(&sql)?;
    let mut rows = query.query(params_from_iter(values))?;
    let (mut lives, mut lines) = (Lives::default(), Vec::new());
    while let Some(row) = rows.next()? {
        let (no, head) = lives.line(&transaction, row)?;
        let session = SessionId::from(row.get::<_, String>(COLUMNS)?);
        let [runs, started_at] =
            [row.get::<_, i64>(COLUMNS + 1)?, row.get(COLUMNS + 2)?].map(i64::cast_unsigned);
        lines.push((no, SessionSummary { session, head, runs, started_at }));
    }
    Ok(page(lines, limit))
}

/// Which holders are alive, looked up once each.
#[derive(Default)]
struct Lives(HashMap<i64, bool>);

impl Lives {
    /// The number and the summary of a row, without a holder that is not alive.
    fn line(&mut self, connection: &Connection, row: &Row<'_>) -> Result<(i64, RunSummary), Fault> {
        let (mut summary, held) = summary_of(row)?;
        if let Some(held) = held {
            let alive = match self.0.get(&held) {
                Some(alive) => *alive,
                None => *self.0.entry(held).or_insert(holders::alive(connection, held)?),
            };
            summary.holder = summary.holder.filter(|_| alive);
        }
        Ok((row.get(0)?, summary))
    }

    fn unseen(self, connection: &Connection) -> rusqlite::Result<Vec<i64>> {
        let mut unseen = Vec::new();
        for holder in self.0.into_keys() {
            if holders::unseen(connection, holder)? {
                unseen.push(holder);
            }
        }
        Ok(unseen)
    }
}

fn summary_of(row: &Row<'_>) -> Result<(RunSummary, Option<i64>), Fault> {
    let run = rows::run_id(row, 1)?;
    let parent: Option<[u8; 16]> = row.get(4)?;
    let held: Option<i64> = row.get(10)?;
    let holder: String = row.get(9)?;
    let (name, detail): (String, Option<String>) = (row.get(5)?, row.get(6)?);
    let wake_at = detail.as_ref().filter(|_| name == "suspended").and_then(|at| at.parse().ok());
    let run_state = rows::run_state(&name, detail)?;
    let updated_at = row.get::<_, Option<i64>>(12)?.unwrap_or_default().cast_unsigned();
    let summary = RunSummary {
        run,
        agent: row.get::<_, String>(2)?.into(),
        owner: Owner::from(row.get_ref(13)?.as_str().map_err(rows::as_sql)?),
        session: row.get::<_, Option<String>>(3)?.map(SessionId::from),
        parent: parent.map(|bytes| RunId::from_number(u128::from_be_bytes(bytes))),
        run_state,
        wake_at,
        version: row.get::<_, Option<i64>>(11)?.unwrap_or_default().cast_unsigned(),
        started_at: row.get::<_, i64>(7)?.cast_unsigned(),
        updated_at,
        ended_at: matches!(run_state, RunState::Ended(_)).then_some(updated_at),
        headline: Headline {
            cost: row.get::<_, Option<i64>>(15)?.map(i64::cast_unsigned),
            spend: usage::spend_of(row, SPEND_AT)?,
            question: row.get::<_, Option<String>>(14)?.map(Into::into),
            queued: row.get(16)?,
        },
        title: row.get::<_, String>(8)?.into(),
        holder: held.map(|_| Holder(holder.into())),
    };
    Ok((summary, held))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunStatus;
    use crate::sqlite::file::in_memory;

    fn plan(log: &Connection, filter: &RunFilter) -> String {
        let (sql, values) = query_of(filter).unwrap();
        let mut query = log.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let lines = query.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
        lines.collect::<Result<Vec<_>, _>>().unwrap().join("\n")
    }

    #[test]
    fn runs_that_ask_are_found_without_reading_others() {
        let log = in_memory();
        let after = RunFilter { after: Some(Cursor::from("7")), ..RunFilter::default() };
        let agents =
            RunFilter { agent: Some("a".into()), status: Some(RunStatus::Suspended), ..after.clone() };
        let due = RunFilter { due: Some(5), session: Some("s".into()), ..RunFilter::default() };
        for filter in [RunFilter::default(), after, agents, due] {
            let filter = RunFilter { asks: true, ..filter };
            let (all, own) = (plan(&log, &filter), RunFilter { owner: Some("ada".into()), ..filter });
            assert!(all.contains("runs USING INDEX runs_that_ask"), "{all}");
            let own = plan(&log, &own);
            assert!(own.contains("SEARCH runs USING INDEX runs_that_ask_by_owner (owner=?"), "{own}");
            assert!(![all, own].iter().any(|plan| plan.contains("TEMP B-TREE")), "the order is the index's");
        }
    }

    #[test]
    fn queues_are_found_by_the_heads_that_have_one() {
        let log = in_memory();
        let own =
            RunFilter { owner: Some(Owner::from("ada")), agent: Some("a".into()), ..RunFilter::default() };
        for filter in [RunFilter::default(), own] {
            let plan = plan(&log, &RunFilter { queued: true, ..filter });
            assert!(plan.contains("rowid=?)"), "{plan}");
            assert!(plan.contains("SEARCH heads USING COVERING INDEX heads_with_queue"), "{plan}");
            assert!(!plan.contains("SCAN runs"), "{plan}");
        }
    }
}
