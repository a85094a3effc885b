//! `windlass-bench server ...`: what the server costs beside the same log in process. Each command prints one JSON object; none is a test.
//!
//! The server is this program again, in a process of its own on one core; its clients and model have the other.

mod child;
mod join;
mod parked;
mod pieces;
mod runs;
mod stamps;
mod streams;

use serde_json::{Value, json};
use windlass_api::{Input, StartRun};

use crate::log::{Options, Outcome};

pub(crate) use child::serve;

/// The commands, for people.
const USAGE: &str = "windlass-bench server runs --base-url URL [--runs N] [--concurrency N] [--times N] | pieces [--runs N] [--pieces N] \
     | streams [--streams N] | parked [--runs N] | join [--turns N]; each with [--dir FOLDER]";

/// The core of the process that is measured.
const MEASURED: usize = 0;
/// The core of the others.
const OTHERS: usize = 1;

/// Carries out one of the commands.
pub(crate) async fn run(given: Vec<String>) -> Outcome<()> {
    let command = given.first().cloned().unwrap_or_default();
    let options = Options::new(given);
    let found: Value = match command.as_str() {
        "runs" => runs::runs(&options).await?,
        "pieces" => pieces::pieces(&options).await?,
        "streams" => streams::streams(&options).await?,
        "parked" => parked::parked(&options).await?,
        "join" => join::join(&options).await?,
        _ => return Err(USAGE.into()),
    };
    println!("{}", json!({ "server": command, "found": found }));
    Ok(())
}

/// Keeps this process, and those that it starts from now on, on one core.
pub(crate) fn pin(core: usize) -> Outcome<()> {
    let mut cores = rustix::thread::CpuSet::new();
    cores.set(core);
    Ok(rustix::thread::sched_setaffinity(None, &cores)?)
}

/// A request for a run of an agent, whose reply is held back for so long.
fn start(agent: &str, input: &str, wait_ms: u64) -> StartRun {
    let (agent, input) = (agent.to_owned(), Input::Text(input.to_owned()));
    StartRun { agent, input, session: None, only_tools: None, wait_ms }
}
