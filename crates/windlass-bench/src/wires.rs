//! `windlass-bench wires`: what a turn and a piece of a stream cost on each wire, beside the Chat wire in the same run.
//!
//! The scenarios are S1, S2 and S5 of `shared/bench`. The server is this program again in a process of its own (`wires serve`),
//! so that the CPU which is counted is the client's alone. Prints one JSON object; it is no test.

mod script;
pub(crate) mod server;
mod shapes;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use windlass::Agent;
use windlass::models::wires::{WIRES, Wire};

use crate::log::{Options, Outcome};
use crate::{Args, agent, batch, cpu_s, middle};

pub(crate) use server::serve;

/// The commands, for people.
const USAGE: &str = "windlass-bench wires [--times N] [--wire NAME] [--scenario S1|S2|S5] | wires serve";

/// One scenario of the benchmark.
struct Scenario {
    name: &'static str,
    model: &'static str,
    rounds: usize,
    concurrency: usize,
    /// Runs of one measurement.
    runs: usize,
    stream: bool,
    /// How many turns, or pieces of a stream, a run has: CPU is told for each.
    parts: usize,
}

/// S1: overhead of a turn. S2: throughput. S5: 200 pieces of a stream.
const SCENARIOS: [Scenario; 3] = [
    Scenario {
        name: "S1",
        model: "script-n10-k1-c1",
        rounds: 10,
        concurrency: 1,
        runs: 40,
        stream: false,
        parts: 11,
    },
    Scenario {
        name: "S2",
        model: "script-n3-k1-c1",
        rounds: 3,
        concurrency: 64,
        runs: 640,
        stream: false,
        parts: 4,
    },
    Scenario {
        name: "S5",
        model: "script-n0-k1-c200",
        rounds: 0,
        concurrency: 1,
        runs: 60,
        stream: true,
        parts: 200,
    },
];

/// Carries out the command.
pub(crate) async fn run(given: Vec<String>) -> Outcome<()> {
    let options = Options::new(given);
    let times = options.number("--times", 15) as usize;
    let only = options.text("--scenario");
    let peer = Peer::start()?;
    let mut found = serde_json::Map::new();
    for scenario in SCENARIOS.iter().filter(|scenario| only.is_none_or(|only| only == scenario.name)) {
        let figures = measure(scenario, &peer, options.text("--wire"), times).await?;
        found.insert(scenario.name.to_owned(), figures);
    }
    if found.is_empty() {
        return Err(USAGE.into());
    }
    println!("{}", json!({ "wires": found }));
    Ok(())
}

/// The wires that are measured: Vertex differs from Gemini in its header alone. Chat is the first, because the others are compared
/// with it.
fn measured(only: Option<&str>) -> Vec<&'static dyn Wire> {
    let chosen = |name: &str| only.is_none_or(|only| only == name || name == "openai_chat");
    let all = WIRES.iter().copied();
    all.filter(|wire| wire.facts().name != "gemini_vertex" && chosen(wire.facts().name)).collect()
}

/// CPU of a part in µs, as the median of all times, and its ratio to Chat's of the same time.
async fn measure(scenario: &Scenario, peer: &Peer, only: Option<&str>, times: usize) -> Outcome<Value> {
    let wires = measured(only);
    let agents: Vec<Agent> =
        wires.iter().map(|wire| agent(&scenario.args(*wire, peer))).collect::<Outcome<Vec<_>>>()?;
    let mut figures = vec![Vec::new(); wires.len()];
    // One wire after the other each time, so that what else the machine does meets all of them. The first time warms up.
    for time in 0..=times {
        for (agent, figures) in agents.iter().zip(&mut figures) {
            let figure = once(scenario, agent).await?;
            if time > 0 {
                figures.push(figure);
            }
        }
    }
    let chat = figures.first().cloned().unwrap_or_default();
    let rows = wires.iter().zip(figures).map(|(wire, figures)| {
        let ratios = figures.iter().zip(&chat).map(|(figure, chat)| figure / chat);
        let ratio = middle(ratios.collect());
        let row = json!({ "cpu_us": middle(figures), "to_chat": ratio });
        (wire.facts().name.to_owned(), row)
    });
    Ok(Value::Object(rows.collect()))
}

async fn once(scenario: &Scenario, agent: &Agent) -> Outcome<f64> {
    let before = cpu_s();
    let seen = batch(agent, scenario.stream, scenario.runs, scenario.concurrency).await;
    let used = cpu_s() - before;
    match seen.first_error() {
        Some(error) => Err(error.into()),
        None => Ok(used * 1e6 / (scenario.runs * scenario.parts) as f64),
    }
}

impl Scenario {
    fn args(&self, wire: &'static dyn Wire, peer: &Peer) -> Args {
        Args {
            wire,
            rounds: self.rounds,
            concurrency: self.concurrency,
            stream: self.stream,
            ..Args::scripted(&peer.url, self.model, None)
        }
    }
}

/// The server in its process, which ends with this value.
struct Peer {
    process: Child,
    url: String,
}

impl Peer {
    fn start() -> Outcome<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["wires", "serve"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut port = String::new();
        let stdout = process.stdout.take().ok_or("the server has no output")?;
        BufReader::new(stdout).read_line(&mut port)?;
        Ok(Self { process, url: format!("http://127.0.0.1:{}", port.trim()) })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended before.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
