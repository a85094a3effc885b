//! `windlass-bench log ...`: what the log costs. Each command prints one JSON object; none is a test.
//!
//! `append`, `durable`, `bytes`, `resume`, `long`, `fold`, `parked`, `ended`; `--dir FOLDER` says where files are made (a real disk, not
//! a tmpfs, or syncs cost nothing).

mod append;
mod ended;
pub(crate) mod long;
pub(crate) mod parked;
mod replay;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use windlass::models::{Delta, Deltas, ModelRequest};
use windlass::policy::LimitKind;
use windlass::runtime::DriveOptions;
use windlass::{Agent, Model, Store};
use windlass_core::{Message, RunId};

use crate::{cpu_s, status_kb};

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// The commands, for people.
const USAGE: &str = "windlass-bench log append [--appends N] [--runs N] | durable [--runs N] [--concurrency N] [--base-url URL] \
     | bytes [--turns N] | resume [--turns N] | long [--turns N] [--keep MESSAGES] \
     | fold [--turns N] | parked [--runs N] | ended [--runs N] [--concurrency N] [--turns N] [--pieces 1]; each with [--dir FOLDER]";

/// The arguments after the command.
pub(crate) struct Options(Vec<String>);

impl Options {
    pub(crate) fn new(given: Vec<String>) -> Self {
        Self(given)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let place = self.0.iter().position(|item| item == name)?;
        self.0.get(place + 1).map(String::as_str)
    }

    pub(crate) fn number(&self, name: &str, default: u64) -> u64 {
        self.text(name).and_then(|number| number.parse().ok()).unwrap_or(default)
    }

    /// A folder of its own for the files of one measurement, which is removed by [`Place`].
    pub(crate) fn place(&self) -> Outcome<Place> {
        let within = self.text("--dir").map_or_else(std::env::temp_dir, PathBuf::from);
        let folder = within.join(format!("windlass-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Place(folder))
    }
}

/// A folder that goes when it is dropped.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is left in a temporary folder harms nobody.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Carries out one of the commands.
pub(crate) async fn run(given: Vec<String>) -> Outcome<()> {
    let command = given.first().cloned().unwrap_or_default();
    let options = Options(given);
    let found: Value = match command.as_str() {
        "append" => append::append(&options).await?,
        "durable" => append::durable(&options).await?,
        "bytes" => replay::bytes(&options).await?,
        "resume" => replay::resume(&options).await?,
        "long" => long::long(&options).await?,
        "fold" => replay::fold(&options).await?,
        "parked" => parked::parked(&options).await?,
        "ended" => ended::ended(&options).await?,
        _ => return Err(USAGE.into()),
    };
    println!("{}", json!({ "log": command, "found": found }));
    Ok(())
}

/// Bytes of a file and of its write-ahead log.
fn file_bytes(path: &Path) -> u64 {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    [path.as_os_str(), &wal]
        .iter()
        .filter_map(|file| std::fs::metadata(file).ok())
        .map(|data| data.len())
        .sum()
}

/// A model within the process that asks for the tool `echo` until there are enough results, then answers at once.
#[derive(Debug)]
struct Instantly {
    rounds: usize,
    text: String,
}

impl Model for Instantly {
    fn provider(&self) -> &str {
        "bench"
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        let done = request.messages.len() / 2 >= self.rounds;
        let deltas: Vec<_> = if done {
            vec![Ok(Delta::Text("done".to_owned()))]
        } else {
            let args = json!({ "text": self.text }).to_string();
            vec![Ok(Delta::Call { index: Some(0), id: None, name: Some("echo".to_owned()), args })]
        };
        Box::pin(futures_util::stream::iter(deltas))
    }
}

/// An agent whose runs take so many turns of two messages with texts of about 1 KB.
fn agent(log: Arc<dyn Store>, turns: u64) -> Outcome<Agent> {
    // The call's arguments and the tool's result hold the same text.
    let model = Instantly { rounds: turns as usize, text: "x".repeat(1_024) };
    Ok(Agent::builder("bench")
        .model(("instantly", Arc::new(model)))
        .tool(crate::echo)
        .settings(&json!({ "repetition": "off" }))
        .limit(LimitKind::ModelCalls, turns as f64 + 2.0)
        .log(log)
        .build()?)
}

/// Drives one run to its end. Gives its id and the bytes of its messages.
async fn one_run(log: Arc<dyn Store>, turns: u64) -> Outcome<(RunId, u64)> {
    let agent = agent(log, turns)?;
    let run = agent.prepare("Go", DriveOptions::default()).await?.drive().await?;
    if run.text() != Some("done") {
        return Err(format!("unexpected end: {:?} {:?}", run.status(), run.error()).into());
    }
    Ok((run.id(), run.messages().map(|message| Message::bytes(message)).sum()))
}
