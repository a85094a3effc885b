//! Owns the work that is counted.

use std::sync::Arc;

use futures_util::stream;
use serde_json::json;
use windlass::models::{Deltas, ModelRequest};
use windlass::policy::LimitKind;
use windlass::runtime::host::{Host, Position, Start};
use windlass::runtime::{Admitted, DriveOptions};
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
/// Runs one after another, of which the first so many fill what a process holds once.
const ENDED: usize = 256;

/// Echo the text back.
#[tool]
fn echo(text: String) -> String {
    format!("echo: {text}")
}

fn agent(model: impl Model + 'static) -> Outcome<Agent> {
    agent_on(model, Arc::new(MemoryLog::with_max_ended_runs(4)))
}

fn agent_on(model: impl Model + 'static, log: Arc<dyn Store>) -> Outcome<Agent> {
    Ok(Agent::builder("bench")
        .instructions("You are a helpful agent. Use the echo tool when asked.")
        .model(("script", Arc::new(model)))
        .tool(echo)
        .limit(LimitKind::ModelCalls, 1_000.0)
        .log(log)
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

/// A run that the first reply ends, from its preparation on: what each run pays once, with the log in memory.
pub(crate) async fn short_run() -> Outcome<Vec<Figure>> {
    let runs = |number| {
        let agent = agent(Playback::rounds(0))?;
        Ok(async move {
            for _ in 0..number {
                run(agent.clone(), false).await?;
            }
            Ok(())
        })
    };
    Ok(step(runs).await?.figures("run"))
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
    let body = json!({ "text": "x".repeat(1_024) }).to_string();
    let facts = [Fact::from_body("Steered", &body)?, Fact::from_body("CancelRequested", "{}")?];
    let fence = Fence { holder: Holder("bench".into()), epoch: 1 };
    let run = RunId::from_number(1);
    for step in 0..appends as u64 {
        let events: Arc<[Event]> = facts.iter().map(|fact| Event { at: step, fact: fact.clone() }).collect();
        let batch = Batch { first: step * 2 + 1, cause: Cause::Steer, events };
        log.append(Append::of(run, batch, fence.clone(), RunState::Running)).await?;
    }
    Ok(())
}

/// The future that drives a run, in its box.
pub(crate) async fn future() -> Outcome<Figure> {
    let driven = agent(Silent)?.prepare("Wait.", DriveOptions::default()).await?.drive();
    Ok(Figure::new("size_of.drive", size_of_val(&*driven) as f64))
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

/// The whole bytes that a run leaves in its host once it has ended (E69): with a session, an idempotency key and a follower, on SQLite.
pub(crate) async fn ended() -> Outcome<Figure> {
    let folder = tempfile::tempdir()?;
    let log: Arc<dyn Store> = Arc::new(SqliteLog::open(folder.path().join("log.db"))?);
    let agent = agent_on(Playback::rounds(1), log.clone())?;
    let host = Host::builder(log).keeps_pieces().build();
    let _profiler = dhat::Profiler::builder().testing().build();
    let mut held_after = Vec::new();
    for stretch in 0..4 {
        for number in stretch * ENDED..(stretch + 1) * ENDED {
            end(&host, &agent, number).await?;
        }
        held_after.push(held());
    }
    // Buffers are a little larger at one moment than at another; what a run leaves is left in each stretch.
    let grown = held_after.windows(2).map(|ends| ends[1] - ends[0]);
    let left = grown.fold(f64::INFINITY, f64::min).max(0.0);
    Ok(Figure::new("ended_run.bytes", (left / ENDED as f64).floor()))
}

async fn end(host: &Host, agent: &Agent, number: usize) -> Outcome<()> {
    let options = DriveOptions {
        session: Some(format!("session{number}").as_str().into()),
        key: Some(format!("key{number}").as_str().into()),
        ..DriveOptions::default()
    };
    let start = Start::new(agent, "Call the echo tool, then answer.").options(options);
    let Admitted::Started(run) = host.start(start).await? else {
        return Err(format!("run {number} was not begun").into());
    };
    let mut follower = host.follow(run.id(), Position::default()).await?;
    while follower.next().await?.is_some() {}
    match run.end().await? {
        run if run.text().is_some_and(|text| text.starts_with("done")) => Ok(()),
        run => Err(format!("unexpected end: {:?} {:?}", run.status(), run.error()).into()),
    }
}
