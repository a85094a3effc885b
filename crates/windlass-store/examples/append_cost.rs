//! What an append costs: CPU time and wall time an append, in memory and in SQLite, for one run and for 64 at once,
//! and how fast a log is read back. Run it with `cargo run --release -p windlass-store --example append_cost [APPENDS [RUNS]]`.

#![expect(clippy::print_stdout, reason = "the figures are what it is run for")]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::try_join_all;
use windlass_core::event::Cause;
use windlass_core::{Event, Fact, RunId, RunState};
use windlass_store::{Append, Batch, Fence, Holder, Log, MemoryLog, SqliteLog, Store, StoreError};

/// Bytes of text in each appended event.
const TEXT: usize = 1_024;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Outcome<()> {
    let appends = std::env::args().nth(1).map_or(Ok(20_000), |count| count.parse())?;
    let folder = tempfile::tempdir()?;
    println!("{appends} appends of two events, {TEXT} bytes of text each time");
    let at_once: Option<u64> = std::env::args().nth(2).map(|runs| runs.parse()).transpose()?;
    for runs in at_once.map_or_else(|| vec![1, 64], |runs| vec![runs]) {
        measure("memory", Arc::new(MemoryLog::new()), runs, appends).await?;
        let path = folder.path().join(format!("{runs}.db"));
        let start = Instant::now();
        drop(SqliteLog::open(&path)?);
        let made = start.elapsed();
        let start = Instant::now();
        let log = SqliteLog::open(&path)?;
        println!("sqlite: made in {made:?}, opened in {:?}", start.elapsed());
        let log = Arc::new(log);
        measure("sqlite", Arc::clone(&log) as Arc<dyn Store>, runs, appends).await?;
        read_back(&log, runs).await?;
        log.checkpoint().await?;
        println!("        {} bytes in the file", std::fs::metadata(&path)?.len());
    }
    Ok(())
}

async fn measure(name: &str, log: Arc<dyn Store>, runs: u64, appends: u64) -> Outcome<()> {
    let (cpu, start) = (cpu_ms()?, Instant::now());
    let each = appends / runs;
    let tasks = (0..runs).map(|run| tokio::spawn(one_run(Arc::clone(&log), run, each)));
    for result in try_join_all(tasks).await? {
        result?;
    }
    let (cpu, wall) = ((cpu_ms()? - cpu) as f64, start.elapsed());
    let count = (each * runs) as f64;
    println!(
        "{name:>6}: {runs:>2} at once: {:6.1} µs of CPU an append, {:7.1} µs of time, {:7.0} appends/s",
        cpu * 1e3 / count,
        wall.as_secs_f64() * 1e6 / count,
        count / wall.as_secs_f64(),
    );
    Ok(())
}

async fn one_run(log: Arc<dyn Store>, number: u64, appends: u64) -> Result<(), StoreError> {
    let run = RunId::from_number(u128::from(number));
    let text = "x".repeat(TEXT);
    let bodies =
        [("Steered", serde_json::json!({ "text": text })), ("CancelRequested", serde_json::json!({}))];
    let facts = bodies.map(|(kind, body)| Fact::from_body(kind, &body.to_string()));
    let facts: Result<Vec<_>, _> = facts.into_iter().collect();
    let facts = facts.map_err(|error| StoreError::Failed(Box::new(error)))?;
    let fence = Fence { holder: Holder("example".into()), epoch: 1 };
    for step in 0..appends {
        let events: Arc<[Event]> = facts.iter().map(|fact| Event { at: step, fact: fact.clone() }).collect();
        let batch = Batch { first: step * 2 + 1, cause: Cause::Steer, events };
        log.append(Append::of(run, batch, fence.clone(), RunState::Running)).await?;
    }
    Ok(())
}

async fn read_back(log: &SqliteLog, runs: u64) -> Outcome<()> {
    let start = Instant::now();
    let mut events = 0;
    for run in 0..runs {
        let batches = log.read(RunId::from_number(u128::from(run)), 1, usize::MAX).await?;
        events += batches.iter().map(|batch| batch.events.len()).sum::<usize>();
    }
    println!("        {:.0} events/s read back", events as f64 / start.elapsed().as_secs_f64());
    Ok(())
}

/// User and system time of this process so far, in milliseconds (proc(5), `stat`, fields 14 and 15, 100 a second).
fn cpu_ms() -> Outcome<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or("no /proc/self/stat")?;
    let ticks = |index| fields.split_ascii_whitespace().nth(index).unwrap_or_default().parse::<u64>();
    Ok((ticks(11)? + ticks(12)?) * 10)
}
