//! The server in its process.

use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use windlass::{MemoryLog, SqliteLog, Store};
use windlass_client::Client;
use windlass_server::{LINES, NewToken, Server, Settings, Tokens};

use super::{MEASURED, OTHERS, pin};
use crate::log::{Options, Outcome, long, parked};
use crate::{Args, cpu_s, status_kb};

/// The turns of a run of the agent `long`.
pub(super) const LONG_TURNS: u64 = 30_000;

/// CPU time and memory of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Used {
    pub(super) cpu_s: f64,
    pub(super) rss_kb: u64,
}

/// A server in a process of its own, which ends with this value.
pub(super) struct Serving {
    process: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
    pub(super) address: String,
    pub(super) token: String,
}

impl Serving {
    /// Starts it. Its request lines go to the file `lines`.
    pub(super) fn start(arguments: &[&str], lines: &Path) -> Outcome<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["server", "child"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(lines)?)
            .spawn()?;
        let asks = process.stdin.take().ok_or("the server has no input")?;
        let answers = BufReader::new(process.stdout.take().ok_or("the server has no output")?);
        let mut serving = Self { process, asks, answers, address: String::new(), token: String::new() };
        let first = serving.line()?;
        let text = |name: &str| first.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        (serving.address, serving.token) = (text("address"), text("token"));
        Ok(serving)
    }

    fn line(&mut self) -> Outcome<Value> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        serde_json::from_str(&line).map_err(|_| "the server has ended: its lines say why".into())
    }

    /// Its CPU time and memory until now.
    pub(super) fn used(&mut self) -> Outcome<Used> {
        self.asks.write_all(b"used\n")?;
        let line = self.line()?;
        let number = |name: &str| line.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        Ok(Used { cpu_s: number("cpu_s"), rss_kb: number("rss_kb") as u64 })
    }

    /// A client of it.
    pub(super) fn client(&self) -> Outcome<Client> {
        Ok(Client::new(&format!("http://{}", self.address))?.with_token(&self.token)?)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended before.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Serves until its input ends. Each line of its input is answered with the CPU time and memory of the process.
pub(crate) fn serve(given: Vec<String>) -> Outcome<()> {
    let options = Options::new(given);
    pin(MEASURED)?;
    tracing_subscriber::fmt()
        .with_env_filter(LINES)
        .with_writer(std::io::stderr)
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let log: Arc<dyn Store> = match options.text("--log") {
        Some(path) => Arc::new(SqliteLog::open(path)?),
        None => Arc::new(MemoryLog::with_max_ended_runs(256)),
    };
    let folder = tempfile::tempdir()?;
    let tokens = Tokens::of_file(folder.path().join("tokens.json"));
    let (_, token) = tokens.make(NewToken { sees_all: true, ..NewToken::default() })?;
    let settings = Settings { listen: vec![([127, 0, 0, 1], 0).into()], ..Settings::default() };
    let server = Server::new(log, tokens, settings);
    let log = server.host().log().clone();
    let registry = server.host().registry();
    registry.add(parked::agent(log.clone())?);
    registry.add(long::agent("long", log.clone(), LONG_TURNS, 40)?);
    if let Some(url) = options.text("--base-url") {
        let model = options.text("--model").unwrap_or("script-n2-k1-l0-c1");
        let args = Args { rounds: 2, ..Args::scripted(url, model, None) };
        registry.add(crate::agent_on(&args, log)?);
    }
    let listening = runtime.block_on(server.listen())?;
    let address = listening.addresses().first().map(ToString::to_string);
    println!("{}", json!({ "address": address, "token": token }));
    let stop = CancellationToken::new();
    let serving = runtime.spawn(listening.run(stop.clone()));
    for line in std::io::stdin().lock().lines() {
        let _asked = line?;
        println!("{}", json!({ "cpu_s": cpu_s(), "rss_kb": status_kb("VmRSS:") }));
        std::io::stdout().flush()?;
    }
    stop.cancel();
    Ok(runtime.block_on(serving)?)
}

/// Leaves the measured core to the process that is measured.
pub(super) fn keep_off() -> Outcome<()> {
    pin(OTHERS)
}
