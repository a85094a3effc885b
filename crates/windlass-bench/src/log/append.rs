//! The cost of an append, and of a durable run beside one in memory.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use windlass::store::{Append, Batch, Fence, Holder};
use windlass::{MemoryLog, SqliteLog, Store};
use windlass_core::event::Cause;
use windlass_core::{Event, Fact, RunId, RunState};

use super::{Options, Outcome, agent, cpu_s};

/// Bytes that an append of two events with 1 KB of text writes to the write-ahead file.
const PAGES: usize = 3 * 4_096;
/// How many bare syncs are measured.
const SYNCS: u32 = 1_000;

/// Turns of a durable run: what a short conversation with tools takes.
const TURNS: u64 = 10;

/// Appends of two events with 1 KB of text, of many runs at once.
pub(super) async fn append(options: &Options) -> Outcome<Value> {
    let (appends, runs) = (options.number("--appends", 50_000), options.number("--runs", 64).max(1));
    let place = options.place()?;
    let log = Arc::new(SqliteLog::open(place.file("log.db"))?);
    let each = (appends / runs).max(1);
    let (cpu, begun, before) = (cpu_s(), Instant::now(), log.commits());
    let tasks: Vec<_> =
        (0..runs).map(|run| tokio::spawn(appending(Arc::clone(&log) as Arc<dyn Store>, run, each))).collect();
    for task in tasks {
        task.await?.map_err(|error| error.to_string())?;
    }
    let count = (each * runs) as f64;
    let (cpu, wall) = (cpu_s() - cpu, begun.elapsed().as_secs_f64());
    let sync = sync_alone(&place.file("bare"))?;
    Ok(json!({
        "appends": count, "runs": runs, "cpu_us_an_append": cpu * 1e6 / count, "appends_a_s": count / wall,
        "syncs_an_append": (log.commits() - before) as f64 / count, "cpu_us_a_bare_sync": sync,
        "must_cpu_us_beside_the_sync": 60,
    }))
}

/// CPU of the kernel for one write of three pages and its sync, without any database: the part of an append that no code
/// of ours can save, only share.
fn sync_alone(path: &std::path::Path) -> Outcome<f64> {
    let mut file = std::fs::File::create(path)?;
    let pages = [7_u8; PAGES];
    let cpu = cpu_s();
    for _ in 0..SYNCS {
        file.write_all(&pages)?;
        file.sync_all()?;
    }
    Ok((cpu_s() - cpu) * 1e6 / f64::from(SYNCS))
}

async fn appending(
    log: Arc<dyn Store>,
    number: u64,
    appends: u64,
) -> Result<(), windlass::store::StoreError> {
    let body = json!({ "text": "x".repeat(1_024) }).to_string();
    let run = RunId::from_number(u128::from(number) + 1);
    let fence = Fence { holder: Holder("bench".into()), epoch: 1 };
    let failed = |error| windlass::store::StoreError::Failed(Box::new(error));
    let facts = [
        Fact::from_body("Steered", &body).map_err(failed)?,
        Fact::from_body("CancelRequested", "{}").map_err(failed)?,
    ];
    for step in 0..appends {
        let events: Arc<[Event]> = facts.iter().map(|fact| Event { at: step, fact: fact.clone() }).collect();
        let batch = Batch { first: step * 2 + 1, cause: Cause::Steer, events };
        log.append(Append::of(run, batch, fence.clone(), RunState::Running)).await?;
    }
    Ok(())
}

/// Runs per CPU-second with the log in memory and in SQLite. With a model within the process, which costs nothing, the
/// log's share is the largest there can be; `shared/bench` has the same over HTTP (`--log FILE`).
pub(super) async fn durable(options: &Options) -> Outcome<Value> {
    let (runs, at_once) = (options.number("--runs", 2_000), options.number("--concurrency", 64).max(1));
    let place = options.place()?;
    if let Some(url) = options.text("--base-url") {
        return over_http(options, &place, url).await;
    }
    let memory = measure(Arc::new(MemoryLog::with_max_ended_runs(256)), runs, at_once).await?;
    let sqlite = measure(Arc::new(SqliteLog::open(place.file("log.db"))?), runs, at_once).await?;
    Ok(json!({
        "runs": runs, "concurrency": at_once, "turns": TURNS, "model": "in process",
        "memory_runs_a_cpu_s": memory, "sqlite_runs_a_cpu_s": sqlite, "share": sqlite / memory,
    }))
}

async fn measure(log: Arc<dyn Store>, runs: u64, at_once: u64) -> Outcome<f64> {
    let agent = agent(log, TURNS)?;
    let each = (runs / at_once).max(1);
    let cpu = cpu_s();
    let tasks: Vec<_> = (0..at_once)
        .map(|_| {
            let agent = agent.clone();
            tokio::spawn(async move {
                for _ in 0..each {
                    agent.run("Go").await.map_err(|error| error.to_string())?;
                }
                Ok::<(), String>(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok((each * at_once) as f64 / (cpu_s() - cpu))
}

async fn over_http(options: &Options, place: &super::Place, url: &str) -> Outcome<Value> {
    let (runs, at_once) = (options.number("--runs", 2_000), options.number("--concurrency", 64).max(1));
    let model = options.text("--model").unwrap_or("script-n10-k1-l0-c1");
    let mut shares = Vec::new();
    for log in [None, Some(place.file("http.db").display().to_string())] {
        let args = crate::Args::scripted(url, model, log);
        let agent = crate::agent(&args)?;
        let cpu = cpu_s();
        let seen = crate::batch(&agent, false, runs as usize, at_once as usize).await;
        if let Some(error) = seen.first_error() {
            return Err(error.into());
        }
        shares.push(runs as f64 / (cpu_s() - cpu));
    }
    let (memory, sqlite) = (shares.first().copied().unwrap_or(1.0), shares.last().copied().unwrap_or(0.0));
    Ok(json!({
        "runs": runs, "concurrency": at_once, "model": model, "memory_runs_a_cpu_s": memory,
        "sqlite_runs_a_cpu_s": sqlite, "share": sqlite / memory, "must_share": 0.5,
    }))
}
