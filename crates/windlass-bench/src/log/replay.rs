//! The space of a long run on the disk and in memory, and how fast it is read, folded and resumed.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use windlass::SqliteLog;
use windlass::runtime::read::load;
use windlass::store::{Durability, Log, SqliteOptions};
use windlass_core::{Event, State, evolve};

use super::{Options, Outcome, Place, file_bytes, one_run, status_kb};

/// How often a figure is taken; the best one counts.
const TIMES: usize = 5;
/// How many events one read brings.
const READ_AT_ONCE: usize = 1_000;

/// A log without syncs, for what is about other things.
pub(super) fn open(place: &Place) -> Outcome<Arc<SqliteLog>> {
    let durability = Durability::Normal { flush_ms: None };
    Ok(Arc::new(SqliteLog::open_with(
        place.file("log.db"),
        SqliteOptions { durability, ..Default::default() },
    )?))
}

/// The bytes of the log beside those of the messages, after a checkpoint.
pub(super) async fn bytes(options: &Options) -> Outcome<Value> {
    let (turns, place) = (options.number("--turns", 1_000), options.place()?);
    let log = open(&place)?;
    let (_, messages) = one_run(log.clone(), turns).await?;
    log.checkpoint().await?;
    let file = file_bytes(&place.file("log.db"));
    let ratio = file as f64 / messages as f64;
    Ok(json!({ "turns": turns, "message_bytes": messages, "file_bytes": file, "ratio": ratio, "must": 2.0 }))
}

/// How long it takes to open a log and load one run from it, and the memory that the run takes beside its context.
pub(super) async fn resume(options: &Options) -> Outcome<Value> {
    let (turns, place) = (options.number("--turns", 1_000), options.place()?);
    let log = open(&place)?;
    let (run, messages) = one_run(log.clone(), turns).await?;
    drop(log);
    let before = status_kb("VmRSS:");
    let (mut best, mut opened, mut state) = (f64::MAX, f64::MAX, None);
    for _ in 0..TIMES {
        drop(state.take());
        let begun = Instant::now();
        let log = open(&place)?;
        opened = opened.min(begun.elapsed().as_secs_f64());
        let loaded = load(&*log, run).await?;
        best = best.min(begun.elapsed().as_secs_f64());
        state = Some(loaded);
    }
    let events = state.as_ref().map_or(0, State::version);
    let grown_kb = status_kb("VmRSS:").saturating_sub(before);
    Ok(json!({
        "turns": turns, "events": events, "open_ms": opened * 1e3, "open_and_load_ms": best * 1e3, "must_ms": 10,
        "context_kb": messages / 1_024, "memory_grown_kb": grown_kb,
    }))
}

/// Events folded in a second, in memory and from SQLite.
pub(super) async fn fold(options: &Options) -> Outcome<Value> {
    let (turns, place) = (options.number("--turns", 5_000), options.place()?);
    let log = open(&place)?;
    let (run, _) = one_run(log.clone(), turns).await?;
    let events: Vec<Event> = {
        let batches = log.read(run, 1, usize::MAX).await?;
        batches.iter().flat_map(|batch| batch.events.iter().cloned()).collect()
    };
    let (mut memory, mut sqlite) = (0.0_f64, 0.0_f64);
    for _ in 0..TIMES {
        let begun = Instant::now();
        let state = events.iter().fold(State::new(run), evolve);
        memory = memory.max(state.version() as f64 / begun.elapsed().as_secs_f64());
        let begun = Instant::now();
        let mut state = State::new(run);
        loop {
            let batches = log.read(run, state.version() + 1, READ_AT_ONCE).await?;
            if batches.is_empty() {
                break;
            }
            state = batches.iter().flat_map(|batch| batch.events.iter()).fold(state, evolve);
        }
        sqlite = sqlite.max(state.version() as f64 / begun.elapsed().as_secs_f64());
    }
    Ok(json!({
        "events": events.len(), "memory_events_a_s": memory, "must_memory": 1_000_000, "sqlite_events_a_s": sqlite,
        "must_sqlite": 200_000,
    }))
}
