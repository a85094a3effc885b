//! Very many runs that wait for a person, in one file.

use std::sync::Arc;
use std::time::Instant;
use windlass_core::event::RunFact;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde_json::{Value, json};
use windlass::models::{Delta, Deltas, ModelRequest};
use windlass::runtime::read::load;
use windlass::store::{
    Append, Batch, Durability, Fence, Index, Leases, Log, RunFilter, RunStatus, SqliteOptions, StoreError,
};
use windlass::tools::builtin::Ask;
use windlass::{Agent, MemoryLog, Model, SqliteLog, Store};
use windlass_core::{Answer, Event, Fact, RunId, RunState};

use super::{Options, Outcome, file_bytes, status_kb};

/// How many runs are written at a time.
const AT_ONCE: usize = 512;
/// How many runs are woken and answered.
const WOKEN: u64 = 200;

/// Asks a person first, and answers once it has been told.
#[derive(Debug)]
struct Asks;

impl Model for Asks {
    fn provider(&self) -> &str {
        "bench"
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        let delta = if request.messages.len() > 1 {
            Delta::Text("done".to_owned())
        } else {
            let args = json!({ "question": "Which colour?", "suggestions": ["red", "blue"] }).to_string();
            Delta::Call { index: Some(0), id: None, name: Some("ask".to_owned()), args }
        };
        Box::pin(stream::iter([Ok(delta)]))
    }
}

/// An agent whose runs wait for a person, as the name `parked`.
pub(crate) fn agent(log: Arc<dyn Store>) -> Outcome<Agent> {
    let builder = Agent::builder("parked").instructions("You paint what you are told to paint.");
    Ok(builder.model(("asks", Arc::new(Asks))).tool(Ask::new()).log(log).build()?)
}

/// One run that waits, as its log has it.
async fn sample() -> Outcome<Vec<Batch>> {
    let log = Arc::new(MemoryLog::new());
    let run = agent(log.clone())?.run("Paint the shed, please.").await?;
    Ok(log.read(run.id(), 1, usize::MAX).await?)
}

/// The same events as those of another run.
fn as_run(run: RunId, events: &Arc<[Event]>) -> Arc<[Event]> {
    let each = |event: &Event| {
        if let Fact::Run(RunFact::Started(start)) = &event.fact {
            let mut start = start.clone();
            start.run = run;
            Event { at: event.at, fact: Fact::Run(RunFact::Started(start)) }
        } else {
            event.clone()
        }
    };
    events.iter().map(each).collect()
}

fn id(number: u64) -> RunId {
    RunId::from_number((7_u128 << 76) + u128::from(number + 1))
}

/// Writes the runs, then finds, wakes and answers some of them as another process would.
pub(super) async fn parked(options: &Options) -> Outcome<Value> {
    let (runs, place) = (options.number("--runs", 100_000), options.place()?);
    let path = place.file("log.db");
    let begun = Instant::now();
    write(&path, runs).await?;
    let written = begun.elapsed().as_secs_f64();
    let file = file_bytes(&path);

    let before = status_kb("VmRSS:");
    let begun = Instant::now();
    let log = Arc::new(SqliteLog::open(&path)?);
    let opened = begun.elapsed();
    let filter = || RunFilter { status: Some(RunStatus::Suspended), limit: 100, ..RunFilter::default() };
    let begun = Instant::now();
    let page = log.list(filter()).await?;
    let listed = begun.elapsed();
    let begun = Instant::now();
    log.list(RunFilter { after: page.next.clone(), ..filter() }).await?;
    let listed_within = begun.elapsed();
    let memory_kb = status_kb("VmRSS:").saturating_sub(before);
    let woken = wake(&log, runs).await?;
    Ok(json!({
        "runs": runs, "listed": page.len(), "written_s": written, "file_bytes_a_run": file as f64 / runs as f64,
        "memory_kb_after_open_and_list": memory_kb,
        "memory_bytes_a_run": memory_kb as f64 * 1_024.0 / runs as f64,
        "open_ms": opened.as_secs_f64() * 1e3, "list_100_ms": listed.as_secs_f64() * 1e3,
        "list_100_within_ms": listed_within.as_secs_f64() * 1e3, "woken": woken,
    }))
}

/// Writes so many runs that wait.
pub(crate) async fn write(path: &std::path::Path, runs: u64) -> Outcome<()> {
    let durability = Durability::Normal { flush_ms: None };
    let log = SqliteLog::open_with(path, SqliteOptions { durability, ..Default::default() })?;
    let sample = sample().await?;
    let (log, sample) = (&log, &sample);
    stream::iter(0..runs)
        .map(|number| async move {
            let run = id(number);
            let fence = Fence { holder: windlass::store::Holder("bench".into()), epoch: 1 };
            for batch in sample {
                let batch = Batch { events: as_run(run, &batch.events), ..batch.clone() };
                log.append(Append::of(run, batch, fence.clone(), RunState::Running)).await?;
            }
            log.park(run, &fence, None).await
        })
        .buffer_unordered(AT_ONCE)
        .try_collect::<Vec<()>>()
        .await
        .map_err(|error: StoreError| error.to_string())?;
    log.checkpoint().await?;
    Ok(())
}

/// Looks at runs all over the file, then answers them and drives them to their ends.
async fn wake(log: &Arc<SqliteLog>, runs: u64) -> Outcome<Value> {
    let chosen: Vec<RunId> =
        (0..WOKEN.min(runs)).map(|place| id(place * (runs / WOKEN).max(1) % runs)).collect();
    let begun = Instant::now();
    for run in &chosen {
        load(&**log, *run).await?;
    }
    let loaded = begun.elapsed().as_secs_f64() * 1e3 / chosen.len() as f64;
    let agent = agent(Arc::clone(log) as Arc<dyn Store>)?;
    let begun = Instant::now();
    for run in &chosen {
        agent.answer(*run, "q1", Answer::Text("red".into())).await?;
        let ended = agent.resume(*run).with_changed_agent().await?;
        if ended.text() != Some("done") {
            return Err(format!("run {run} did not end: {:?}", ended.run_state()).into());
        }
    }
    let answered = begun.elapsed().as_secs_f64() * 1e3 / chosen.len() as f64;
    Ok(json!({ "runs": chosen.len(), "load_ms": loaded, "answer_and_end_ms": answered }))
}
