//! The usage of runs, summed up by the database.

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};
use windlass_core::Owner;
use windlass_core::budget::Spend;

use super::listings::Conditions;
use super::rows::{self, Fault};
use crate::index::usage::DAY_MS;
use crate::{DailyUsage, UsageFilter};

/// The columns of a [`Spend`], in the order in which [`spend_of`] reads them.
pub(super) const SPEND: [&str; 7] =
    ["input", "output", "cached", "cache_write", "reasoning", "own_cost", "unpriced"];
/// The columns before the sums.
const BEFORE: usize = 5;

/// A run's spend from so many columns of a row; `None`: its last append is of format 1.
pub(super) fn spend_of(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<Spend>> {
    if row.get::<_, Option<i64>>(first)?.is_none() {
        return Ok(None);
    }
    spend(|place| {
        row.get::<_, Option<i64>>(first + place).map(|value| value.unwrap_or_default().cast_unsigned())
    })
    .map(Some)
}

/// The values of a run's columns.
pub(super) fn values_of(spend: Option<Spend>) -> [Option<i64>; SPEND.len()] {
    let Some(spend) = spend else { return [None; SPEND.len()] };
    let Spend { input, output, cached, cache_write, reasoning, cost, unpriced } = spend;
    [input, output, cached, cache_write, reasoning, cost, unpriced]
        .map(|value| Some(value.min(i64::MAX as u64).cast_signed()))
}

fn spend(of: impl Fn(usize) -> rusqlite::Result<u64>) -> rusqlite::Result<Spend> {
    Ok(Spend {
        input: of(0)?,
        output: of(1)?,
        cached: of(2)?,
        cache_write: of(3)?,
        reasoning: of(4)?,
        cost: of(5)?,
        unpriced: of(6)?,
    })
}

/// The sum of a column in two parts: SQLite refuses a sum beyond 64 bits, and such a one is the most here.
fn halves(column: &str) -> String {
    format!("sum(latest.{column} >> 32), sum(latest.{column} & 4294967295)")
}

fn query_of(filter: &UsageFilter) -> (String, Vec<Value>) {
    let mut conditions = Conditions::default();
    conditions.owner("owner", filter.owner.as_ref());
    conditions.and("agent =", filter.agent.as_ref().map(|agent| Value::Text(agent.as_ref().to_owned())));
    conditions.began(filter.since, filter.until);
    let Conditions { sql, values } = conditions;
    let owner = if filter.by_owner { "owner" } else { "NULL" };
    let agent = if filter.by_agent { "agent" } else { "NULL" };
    let sums = SPEND.map(halves).join(", ");
    // The index has all that is asked of a run; its use is in its last append.
    let query = format!(
        "SELECT started_at / {DAY_MS} AS day, {owner} AS of_owner, {agent} AS of_agent, count(*), \
         sum(latest.input IS NULL OR latest.unpriced > 0), {sums} FROM runs INDEXED BY runs_by_start JOIN appends AS latest \
         ON latest.id = (SELECT id FROM appends WHERE appends.run = runs.no ORDER BY last DESC LIMIT 1) \
         WHERE 1{sql} GROUP BY day, of_owner, of_agent ORDER BY day DESC, of_owner, of_agent LIMIT {}",
        filter.lines()
    );
    (query, values)
}

/// The sums that a filter asks for.
pub(super) fn usage(connection: &Connection, filter: &UsageFilter) -> Result<Vec<DailyUsage>, Fault> {
    let (sql, values) = query_of(filter);
    let mut query = connection.prepare_cached(&sql)?;
    let mut rows = query.query(params_from_iter(values))?;
    let mut lines = Vec::new();
    while let Some(row) = rows.next()? {
        lines.push(line(row)?);
    }
    Ok(lines)
}

fn line(row: &Row<'_>) -> Result<DailyUsage, Fault> {
    let number =
        |column| row.get::<_, Option<i64>>(column).map(|value| value.unwrap_or_default().cast_unsigned());
    let text = |column: usize| row.get_ref(column)?.as_str_or_null().map_err(rows::as_sql);
    let spend = spend(|place| {
        let (high, low) = (number(BEFORE + 2 * place)?, number(BEFORE + 2 * place + 1)?);
        Ok(high.saturating_mul(1 << 32).saturating_add(low))
    })?;
    Ok(DailyUsage {
        day: number(0)?.saturating_mul(DAY_MS),
        owner: text(1)?.map(Owner::from),
        agent: text(2)?.map(Into::into),
        runs: number(3)?,
        spend,
        unpriced_runs: number(4)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::file::in_memory;

    #[test]
    fn a_days_use_is_found_by_the_index_of_days() {
        let log = in_memory();
        let days = UsageFilter { since: Some(DAY_MS), until: Some(3 * DAY_MS), ..UsageFilter::default() };
        let own = UsageFilter { owner: Some(Owner::from("ada")), agent: Some("a".into()), ..days.clone() };
        let told_apart = UsageFilter { by_owner: true, by_agent: true, ..days.clone() };
        for filter in [days, own, told_apart] {
            let (sql, values) = query_of(&filter);
            let mut query = log.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let lines = query.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
            let plan = lines.collect::<Result<Vec<_>, _>>().unwrap().join("\n");
            let days = "SEARCH runs USING COVERING INDEX runs_by_start (started_at>? AND started_at<?)";
            assert!(plan.contains(days), "{plan}");
            assert!(plan.contains("SEARCH latest USING INTEGER PRIMARY KEY"), "{plan}");
            assert!(!plan.contains("SCAN"), "{plan}");
        }
    }

    #[test]
    fn a_sum_that_is_too_large_is_the_most() {
        let log = in_memory();
        for no in 0..3_i64 {
            log.execute_batch(&format!(
                "INSERT INTO runs(no, run, agent, owner, started_at, title, status, epoch, holder) \
                 VALUES ({no}, x'0{no}', 'a', 'ada', 5, '', 'answered', 1, ''); \
                 INSERT INTO appends(run, last, count, at, schema, cause, body, chain, input, output, own_cost) \
                 VALUES ({no}, 1, 1, 5, 1, '', '', '', {}, {}, 4294967295)",
                i64::MAX,
                i64::from(u32::MAX),
            ))
            .unwrap();
        }
        let lines = usage(&log, &UsageFilter::default()).unwrap_or_else(|fault| panic!("{fault:?}"));
        let spend =
            Spend { input: u64::MAX, output: 3 * 4_294_967_295, cost: 3 * 4_294_967_295, ..Spend::default() };
        assert_eq!(lines, [DailyUsage { runs: 3, spend, ..DailyUsage::default() }]);
    }
}
