//! Owns the work that is counted.

use std::sync::Arc;

use futures_util::stream;
use serde_json::json;
use windlass::models::{Deltas, ModelRequest};
use windlass::policy::LimitKind;
use windlass::runtime::DriveOptions;
use windlass::store::{Append, Batch, Fence, Holder};
use windlass::{Agent, MemoryLog, Model, SqliteLog, Store, tool};
use windlass_core::event::Cause;
use windlass_core::{Event, Fact, RunId, RunState};

use crate::heap::{Counts, count, held};
use crate::playback::Playback;
use crate::{Figure, Outcome};

/// The shorter of two runs whose difference is counted, and the steps that the longer one has besides.
const STEPS: usize = 32;
/// Runs in flight at once.
const RUNS: usize = 64;

/// Echo the text back.
#[tool]
fn echo(text: String) -> String {
    format!("echo: {text}")
}

fn agent(model: impl Model + 'static) -> Outcome<Agent> {
    Ok(Agent::builder("bench")
        .instructions("You are a helpful agent. Use the echo tool when asked.")
        .model(("script", Arc::new(model)))
        .tool(echo)
        .limit(LimitKind::ModelCalls, 1_000.0)
        .log(Arc::new(MemoryLog::with_max_ended_runs(4)))
        .build()?)
}

/// A run to its end, with one subscriber if it streams.
async fn run(agent: Agent, streamed: bool) -> Outcome<()> {
    let prepared = agent.prepare("Call the echo tool, then answer.", DriveOptions::default()).await?;
    let run = if streamed {
        let mut updates = prepared.updates();
        let follow = async { while updates.next().await.is_some() {} };
        tokio::join!(prepared.drive(), follow).0?
    } else {
        prepared.drive().await?
    };
    match run.text() {
        Some(text) if text.starts_with("done") => Ok(()),
        text => Err(format!("unexpected end: {:?} {text:?} {:?}", run.status(), run.error()).into()),
    }
}

/// The costs of a step: those of `2 * STEPS` beside those of `STEPS`.
async fn step<F: Future<Output = Outcome<()>>>(of: impl Fn(usize) -> Outcome<F>) -> Outcome<Counts> {
    // What is made once a process is no part of a step.
    of(1)?.await?;
    let (fewer, more) = (count(of(STEPS)?).await?, count(of(2 * STEPS)?).await?);
    Ok(more.per_step(fewer, STEPS))
}

/// A turn with one call of a tool (S1): the request, the reply, the call and its result, with the log in memory.
pub(crate) async fn turn() -> Outcome<Vec<Figure>> {
    let counts = step(|rounds| Ok(run(agent(Playback::rounds(rounds))?, false))).await?;
    Ok(counts.figures("turn"))
}

/// A piece of a streamed answer (S5), with one subscriber.
pub(crate) async fn piece() -> Outcome<Vec<Figure>> {
    let counts = step(|pieces| Ok(run(agent(Playback::pieces(pieces))?, true))).await?;
    Ok(counts.figures("piece"))
}

/// An append of two events with 1 KB of text.
pub(crate) async fn append() -> Outcome<Vec<Figure>> {
    let memory = step(|appends| Ok(appending(Arc::new(MemoryLog::new()), appends))).await?;
    let folder = tempfile::tempdir()?;
    let open = |appends| {
        let log = SqliteLog::open(folder.path().join(format!("{appends}.db")))?;
        Ok(appending(Arc::new(log), appends))
    };
    let sqlite = step(open).await?;
    Ok([memory.figures("append.memory"), sqlite.figures("append.sqlite")].into_iter().flatten().collect())
}

async fn appending(log: Arc<dyn Store>, appends: usize) -> Outcome<()> {
    let said = json!({ "text": "x".repeat(1_024) }).to_string();
    let facts = [Fact::from_body("Steered", &said)?, Fact::from_body("CancelRequested", "{}")?];
    let fence = Fence { holder: Holder("bench".into()), epoch: 1 };
    let run = RunId::from_number(1);
    for step in 0..appends as u64 {
        let events: Arc<[Event]> = facts.iter().map(|fact| Event { at: step, fact: fact.clone() }).collect();
        let batch = Batch { first: step * 2 + 1, cause: Cause::Steer, events };
        log.append(Append::of(run, batch, fence.clone(), RunState::Running)).await?;
    }
    Ok(())
}

/// The future that drives a run.
pub(crate) fn future() -> Outcome<Figure> {
    fn size<F: Future>(_: impl FnOnce(windlass::runtime::Prepared) -> F) -> usize {
        size_of::<F>()
    }
    Ok(Figure::new("size_of.drive", size(windlass::runtime::Prepared::drive) as f64))
}

/// A model that never answers.
#[derive(Debug)]
struct Silent;

impl Model for Silent {
    fn provider(&self) -> &str {
        "silent"
    }

    fn call(&self, _: ModelRequest) -> Deltas {
        Box::pin(stream::pending())
    }
}

/// The bytes that a run holds while it waits for its model.
pub(crate) async fn in_flight() -> Outcome<Figure> {
    let agent = agent(Silent)?;
    let _profiler = dhat::Profiler::builder().testing().build();
    let mut held_after = Vec::new();
    let mut tasks = Vec::new();
    for _ in 0..2 {
        for _ in 0..RUNS {
            let prepared = agent.prepare("Wait.", DriveOptions::default()).await?;
            tasks.push(tokio::spawn(prepared.drive()));
        }
        // Each task is polled until it waits for its model.
        for _ in 0..RUNS {
            tokio::task::yield_now().await;
        }
        held_after.push(held());
    }
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    let held = held_after.last().zip(held_after.first()).map_or(0.0, |(last, first)| last - first);
    Ok(Figure::new("run_in_flight.bytes", held / RUNS as f64))
}
