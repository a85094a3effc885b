use rusqlite::{Params, StatementStatus};

use super::*;
use crate::{Claim, Holder};

/// The time that is asked for.
const NOW: u64 = 1_000_000;

/// A log in which a living process holds so many runs that are due, as many wait for people, and some are free.
fn log(held: i64) -> (Connection, i64) {
    let log = crate::sqlite::file::in_memory();
    let living = holders::register(&log, &"maker".into()).unwrap();
    let add = |no: i64, status: &str, detail: Option<i64>, from: Option<i64>, held: Option<i64>| {
        let detail = detail.map(|at| at.to_string());
        let run = RunId::from_number(no.cast_unsigned().into());
        log.prepare_cached(
            "INSERT INTO runs(no, run, agent, owner, started_at, title, status, detail, suspended_at, epoch, holder, held, \
             claim) VALUES (?1, ?2, 'a', 'local', 1, '', ?3, ?4, ?5, 1, 'maker', ?6, ?1)",
        )
        .unwrap()
        .execute(params![no, run.0.as_bytes(), status, detail, from, held])
        .unwrap();
    };
    let (dead, now) = (living + 1, NOW.cast_signed());
    for no in 0..held {
        add(100 + no, "running", None, None, Some(living));
        add(100_000 + no, "suspended", None, None, None);
        add(200_000 + no, "suspended", Some(2 * now), Some(now), None);
    }
    add(1, "suspended", None, None, None);
    add(50, "suspended", Some(now), Some(1), None);
    add(90_000, "running", None, None, None);
    add(300_000, "suspended", Some(9 * now), Some(8 * now), None);
    add(300_001, "running", None, None, Some(dead));
    log.execute("INSERT INTO inbox(run, at, body) VALUES (1, 1, '{}')", []).unwrap();
    (log, dead)
}

fn request(limit: usize) -> Due {
    Due {
        holder: Holder("next".into()),
        claim: Claim(7),
        agents: Vec::new(),
        without_owners: Vec::new(),
        without: Vec::new(),
        now: NOW,
        limit,
    }
}

fn plan(log: &Connection, sql: &str, values: impl Params) -> String {
    let mut query = log.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let lines = query.query_map(values, |row| row.get::<_, String>(3)).unwrap();
    lines.collect::<Result<Vec<_>, _>>().unwrap().join("\n")
}

/// The steps of the virtual machine that a query takes.
fn steps(log: &Connection, sql: &str, values: impl Params) -> i32 {
    let mut query = log.prepare(sql).unwrap();
    let mut rows = query.query(values).unwrap();
    while rows.next().unwrap().is_some() {}
    drop(rows);
    query.get_status(StatementStatus::VmStep)
}

fn all_steps(log: &Connection, dead: i64, due: &Due) -> Vec<i32> {
    let mut all = vec![steps(log, HOLDING, []), steps(log, CLAIMED, params!["next", 7])];
    all.extend(
        queries(due, &[dead]).into_iter().map(|(sql, values)| steps(log, &sql, params_from_iter(values))),
    );
    all
}

#[test]
fn the_runs_that_others_hold_and_those_that_wait_are_not_read() {
    let ((few, _), (many, dead)) = (log(20), log(2_000));
    for limit in [1, 3, 100] {
        let (fewer, more) = (all_steps(&few, dead, &request(limit)), all_steps(&many, dead, &request(limit)));
        assert_eq!(fewer, more, "limit {limit}: steps with 20 and with 2,000 held runs");
        assert!(more.iter().sum::<i32>() < 400, "limit {limit}: {more:?}");
    }
    let of_agents = Due { agents: vec!["a".into(), "b".into()], ..request(3) };
    assert_eq!(all_steps(&few, dead, &of_agents), all_steps(&many, dead, &of_agents), "of some agents");
    for (sql, values) in queries(&of_agents, &[dead]).into_iter().chain(queries(&request(3), &[dead])) {
        let plan = plan(&many, &sql, params_from_iter(values));
        let reads = plan.lines().filter(|line| line.contains(" runs"));
        assert!(reads.clone().count() == 1, "{sql}\n{plan}");
        let by_index = |line: &str| {
            ["runs_free", "runs_by_timer", "runs_by_clock", "runs_by_process", "INTEGER PRIMARY KEY"]
                .iter()
                .any(|index| line.contains(index))
        };
        assert!(reads.clone().all(by_index), "{sql}\n{plan}");
    }
    assert!(
        plan(&many, CLAIMED, params!["next", 7]).contains("runs_by_claim"),
        "the runs of a claim are searched"
    );
}

#[test]
fn free_runs_are_found_in_their_order_whatever_makes_them_due() {
    let (log, _) = log(2_000);
    let found = |limit| -> Vec<u128> {
        let runs = due(&log, &request(limit)).unwrap_or_else(|fault| panic!("{fault:?}"));
        runs.into_iter().map(|run| run.0.as_u128()).collect()
    };
    assert_eq!(found(9), [1, 50, 90_000, 300_000, 300_001]);
    assert_eq!(found(2), [1, 50]);
    assert_eq!(found(0), [0; 0]);
}
