//! A turn under each view. The input is so large that all requests have nearly the same size, whatever the view leaves out.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass::models::{HttpModel, HttpModelConfig};
use windlass::policy::LimitKind;
use windlass::runtime::DriveOptions;
use windlass::{Agent, MemoryLog};

use super::{Options, Outcome, median};
use crate::cpu_s;

/// The first is what the others are compared with.
const VIEWS: [&str; 5] = ["full", "progressive", "minimal", "kitchen_sink", "blackboard"];

fn agent(url: &str, view: &str, rounds: u64) -> Outcome<Agent> {
    let mut config = HttpModelConfig::openai_chat("openai", url);
    config.key = Some("benchmark".into());
    // More rounds than the limit allows: under views of the last round the mock never sees enough results to end.
    let model = format!("script-n{}-k1-l0-c1", rounds + 2);
    let never = json!({ "view": view, "repetition": "off", "at_limit": "none" });
    Ok(Agent::builder("bench")
        .instructions("You are a helpful agent. Use the echo tool when asked.")
        .model((model.as_str(), Arc::new(HttpModel::new(config)?)))
        .tool(crate::echo)
        .settings(&never)
        .limit(LimitKind::ModelCalls, rounds as f64)
        .log(Arc::new(MemoryLog::with_max_ended_runs(4)))
        .build()?)
}

/// One run: CPU of a turn in µs.
async fn one_run(agent: &Agent, input: &str, rounds: u64) -> Outcome<f64> {
    let cpu = cpu_s();
    let run = agent.prepare(input, DriveOptions::default()).await?.drive().await?;
    let used = cpu_s() - cpu;
    let turns = run.state().counters().model_calls;
    if turns != rounds {
        return Err(format!("{turns} turns, not {rounds}: {:?} {:?}", run.status(), run.error()).into());
    }
    Ok(used * 1e6 / rounds as f64)
}

pub(super) async fn measure(options: &Options) -> Outcome<Value> {
    let url = options.text("--base-url").ok_or("views needs --base-url URL, a mock of shared/bench")?;
    let (rounds, times) = (options.number("--rounds", 20), options.number("--times", 41));
    let input = "word ".repeat(options.number("--input", 32_768) as usize / 5);
    let agents: Vec<Agent> =
        VIEWS.iter().map(|view| agent(url, view, rounds)).collect::<Outcome<Vec<Agent>>>()?;
    let mut figures = vec![Vec::new(); VIEWS.len()];
    // One view after the other each time, so that what else the machine does meets all of them.
    for time in 0..=times {
        for (agent, figures) in agents.iter().zip(&mut figures) {
            let figure = one_run(agent, &input, rounds).await?;
            if time > 0 {
                figures.push(figure);
            }
        }
    }
    let medians: Vec<f64> = figures.into_iter().map(median).collect();
    let base = medians.first().copied().unwrap_or(1.0);
    let row =
        |(view, us): (&&str, &f64)| ((*view).to_owned(), json!({ "us_a_turn": us, "of_full": us / base }));
    let rows: Map<String, Value> = VIEWS.iter().zip(&medians).map(row).collect();
    Ok(json!({ "rounds": rounds, "input_bytes": input.len(), "views": rows, "must_of_full": 1.3 }))
}
