//! The memory that a long run takes whose context stays short.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde_json::{Value, json};
use windlass::message::Message;
use windlass::models::{Delta, Deltas, ModelRequest};
use windlass::policy::LimitKind;
use windlass::runtime::DriveOptions;
use windlass::runtime::read::load;
use windlass::store::{Durability, SqliteOptions};
use windlass::{Agent, Model, SqliteLog, Store};

use super::{Options, Outcome};
use crate::status_kb;

/// Asks for the tool `echo` so many times, then answers at once.
#[derive(Debug)]
struct Counting {
    left: AtomicU64,
}

impl Model for Counting {
    fn provider(&self) -> &str {
        "bench"
    }

    fn call(&self, _request: ModelRequest) -> Deltas {
        let left = self.left.fetch_sub(1, Relaxed);
        let delta = if left == 0 {
            Delta::Text("done".to_owned())
        } else {
            let args = json!({ "text": format!("{left:01024}") }).to_string();
            Delta::Call { index: Some(0), id: None, name: Some("echo".to_owned()), args }
        };
        Box::pin(futures_util::stream::iter([Ok(delta)]))
    }
}

/// An agent for one run of so many turns, which keeps only the last messages.
pub(crate) fn agent(name: &str, log: Arc<dyn Store>, turns: u64, keep: usize) -> Outcome<Agent> {
    Ok(Agent::builder(name)
        .model(("counting", Arc::new(Counting { left: AtomicU64::new(turns) })))
        .tool(crate::echo)
        .settings(&json!({ "repetition": "off" }))
        .limit(LimitKind::ModelCalls, turns as f64 + 2.0)
        .on_step(move |mut step| {
            step.keep_last(keep);
            Ok(step)
        })
        .log(log)
        .build()?)
}

/// One run of many turns whose hook keeps only the last messages: the process's memory while it runs, beside the context
/// that is left, and the same once more for loading the run.
pub(super) async fn long(options: &Options) -> Outcome<Value> {
    let (turns, place) = (options.number("--turns", 25_000), options.place()?);
    let keep = options.number("--keep", 40) as usize;
    let durability = Durability::Normal { flush_ms: None };
    let settings = SqliteOptions { durability, ..Default::default() };
    let log = Arc::new(SqliteLog::open_with(place.file("log.db"), settings)?);
    let agent = agent("bench", log.clone(), turns, keep)?;
    let before = status_kb("VmRSS:");
    let run = agent.prepare("Go", DriveOptions::default()).await?.drive().await?;
    if run.text() != Some("done") {
        return Err(format!("unexpected end: {:?} {:?}", run.status(), run.error()).into());
    }
    let context: u64 = run.messages().map(|message| Message::bytes(message)).sum();
    let (events, id) = (run.state().version(), run.id());
    let peak = status_kb("VmHWM:").saturating_sub(before);
    drop(run);
    let rested = status_kb("VmRSS:");
    let state = load(&*log, id).await?;
    let loaded = status_kb("VmHWM:").saturating_sub(before);
    Ok(json!({
        "turns": turns, "events": events, "kept_messages": state.history().len(), "context_kb": context / 1_024,
        "peak_grown_kb": peak, "rested_grown_kb": rested.saturating_sub(before), "peak_with_loading_kb": loaded,
    }))
}
