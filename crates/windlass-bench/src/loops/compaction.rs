//! A run of many rounds with one compaction near its end, beside the same run without any.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass::models::{Delta, Deltas, ModelRequest};
use windlass::policy::LimitKind;
use windlass::runtime::DriveOptions;
use windlass::{Agent, MemoryLog, Model};

use super::{Options, Outcome, median};
use crate::cpu_s;

/// Asks for the tool `echo` in each turn; a request without tools gets a summary.
#[derive(Debug)]
struct Instantly;

impl Model for Instantly {
    fn provider(&self) -> &str {
        "bench"
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        let delta = if request.tools.is_empty() {
            Delta::Text("The tool was asked again and again.".to_owned())
        } else {
            let args = json!({ "text": "x".repeat(200) }).to_string();
            Delta::Call { index: Some(0), id: None, name: Some("echo".to_owned()), args }
        };
        Box::pin(futures_util::stream::iter([Ok(delta)]))
    }
}

fn agent(rounds: u64, compact: &str) -> Outcome<Agent> {
    let context = json!({ "compact": compact, "every": rounds - 1, "keep_last": 2 });
    Ok(Agent::builder("bench")
        .model(("instantly", Arc::new(Instantly)))
        .tool(crate::echo)
        .settings(&json!({ "repetition": "off", "at_limit": "none", "context": context }))
        .limit(LimitKind::ModelCalls, rounds as f64)
        .log(Arc::new(MemoryLog::with_max_ended_runs(4)))
        .build()?)
}

/// One run: its CPU in ms, and how many messages it kept.
async fn one_run(agent: &Agent) -> Outcome<(f64, usize)> {
    let cpu = cpu_s();
    let run = agent.prepare("Go", DriveOptions::default()).await?.drive().await?;
    Ok(((cpu_s() - cpu) * 1e3, run.messages().count()))
}

pub(super) async fn measure(options: &Options) -> Outcome<Value> {
    let (rounds, times) = (options.number("--rounds", 500), options.number("--times", 41));
    let ways = ["off", "drop_results", "summarise"];
    let agents: Vec<Agent> = ways.iter().map(|way| agent(rounds, way)).collect::<Outcome<Vec<Agent>>>()?;
    let mut figures = vec![Vec::new(); ways.len()];
    let mut kept = vec![0; ways.len()];
    for _ in 0..times {
        for ((agent, figures), kept) in agents.iter().zip(&mut figures).zip(&mut kept) {
            let (ms, messages) = one_run(agent).await?;
            figures.push(ms);
            *kept = messages;
        }
    }
    let medians: Vec<f64> = figures.into_iter().map(median).collect();
    let off = medians.first().copied().unwrap_or(0.0);
    let more = |place: usize| medians.get(place).map_or(0.0, |ms| ms - off);
    Ok(json!({
        "rounds": rounds, "messages_kept": kept, "run_ms": off, "drop_results_ms": more(1), "summarise_ms": more(2),
        "must_ms": 5,
    }))
}
