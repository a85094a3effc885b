//! The server under test: the real binary over a folder of agents, started, killed and started anew.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_server::{NewToken, Tokens, Verb};

use super::agents;
use super::http::{Reply, Request};
use crate::error::HarnessError;
use crate::ground::Ground;
use crate::home::Receipt;

/// Time that a start may take: a debug build on a busy machine.
const START: Duration = Duration::from_mins(1);
/// Prefix of the line in which the server says where it is reached.
const REACHED: &str = "export WINDLASS_SERVER=http://";

/// The folder of a server: agents, log, tokens and receipts. They stay over its restarts.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    windlass: PathBuf,
    settings: PathBuf,
    pub(super) tokens: Tokens,
    /// The token of the machine's user, who sees all.
    pub(super) token: String,
    /// Where the server is reached now.
    address: Arc<RwLock<SocketAddr>>,
}

/// A running server.
#[derive(Debug)]
pub(super) struct Service<'p> {
    place: &'p Place,
    process: Child,
    /// When it began to listen.
    pub(super) since: Instant,
}

impl Place {
    /// A folder with the agents of the campaigns and these settings.
    pub(super) fn new(ground: &Ground, name: &str, settings: &Value) -> Result<Self, HarnessError> {
        let folder = ground.folder().join(name);
        agents::stage(&folder)?;
        // A file of YAML may be JSON.
        let settings_file = folder.join("server.yaml");
        fs::write(&settings_file, settings.to_string())
            .map_err(HarnessError::file("write", &settings_file))?;
        let tokens = Tokens::of_file(folder.join("data").join("tokens.json"));
        let made =
            tokens.make(NewToken { sees_all: true, name: Some("harness".into()), ..NewToken::default() });
        let (_, token) = made.map_err(|error| HarnessError::Broken {
            place: "tokens".to_owned(),
            breach: windlass_error::in_full(&error),
            kept: folder.join("data"),
        })?;
        let address = Arc::new(RwLock::new(SocketAddr::from(([127, 0, 0, 1], 0))));
        Ok(Self {
            folder,
            windlass: ground.windlass().to_owned(),
            settings: settings_file,
            tokens,
            token,
            address,
        })
    }

    /// Where the server is reached now.
    pub(super) fn address(&self) -> SocketAddr {
        self.address.read().map_or_else(|error| *error.into_inner(), |address| *address)
    }

    /// A token of an owner that allows these verbs; none: all.
    pub(super) fn token_of(&self, owner: &str, verbs: &[Verb], agents: &[&str]) -> Result<String, String> {
        let agents = agents.iter().map(|name| (*name).into()).collect();
        let new = NewToken { owner: owner.into(), verbs: verbs.to_vec(), agents, ..NewToken::default() };
        self.tokens.make(new).map(|(_, text)| text).map_err(|error| windlass_error::in_full(&error))
    }

    /// Starts the server and waits until it listens.
    pub(super) fn start(&self) -> Result<Service<'_>, String> {
        let log = fs::File::options().create(true).append(true).open(self.folder.join("serve.log"));
        let log = log.map_err(|error| error.to_string())?;
        let mut process = Command::new(&self.windlass)
            .args(["serve", "agents", "--listen", "127.0.0.1:0", "--config"])
            .arg(&self.settings)
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.folder)
            .env("WINDLASS_HOME", self.folder.join("data"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|error| format!("cannot start the server: {error}"))?;
        let Some(stdout) = process.stdout.take() else { return Err("the server has no output".to_owned()) };
        let mut service = Service { place: self, process, since: Instant::now() };
        // Its end ends the reading, too, so that no time limit is needed but that of the whole campaign.
        let begun = Instant::now();
        let mut lines = BufReader::new(stdout).lines();
        let reached = lines.find_map(|line| line.ok()?.strip_prefix(REACHED)?.parse().ok());
        let Some(reached) = reached else {
            let status = service.process.wait().map_err(|error| error.to_string())?;
            return Err(format!("the server ended with {status} instead of listening: {}", self.log_end()));
        };
        if begun.elapsed() > START {
            return Err(format!("the server took {:?} to start", begun.elapsed()));
        }
        match self.address.write() {
            Ok(mut address) => *address = reached,
            Err(error) => *error.into_inner() = reached,
        }
        service.since = Instant::now();
        Ok(service)
    }

    /// The last lines of the server's log.
    pub(super) fn log_end(&self) -> String {
        let text = fs::read(self.folder.join("serve.log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().rev().take(12).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// A request with the token of the machine's user, as the server that runs now answers it.
    pub(super) fn ask(&self, request: Request) -> Result<Reply, String> {
        request.token(&self.token).send(self.address())
    }

    /// Starts a run and gives its id.
    pub(super) fn begin(&self, agent: &str, input: &str, key: Option<&str>) -> Result<String, String> {
        let mut request = Request::post("/v1/runs", &json!({ "agent": agent, "input": input }));
        if let Some(key) = key {
            request = request.key(key);
        }
        run_of(&self.ask(request)?.expect(&[200, 201, 202])?)
    }

    /// Waits until a run has ended, and gives its state in words.
    pub(super) fn ended(&self, run: &str) -> Result<String, String> {
        let begun = Instant::now();
        loop {
            let read = self.ask(Request::get(format!("/v1/runs/{run}")))?.expect(&[200])?;
            let status = read.get("status").and_then(Value::as_str).unwrap_or_default();
            if read.pointer("/summary/ended_at").is_some_and(|at| !at.is_null()) {
                return Ok(status.to_owned());
            }
            if begun.elapsed() > START {
                return Err(format!("the run {run} is {status} after {START:?}"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// All events of a run, page by page.
    pub(super) fn events(&self, run: &str) -> Result<Vec<Value>, String> {
        let (mut events, mut from) = (Vec::new(), 1);
        loop {
            let page =
                self.ask(Request::get(format!("/v1/runs/{run}/events?from={from}")))?.expect(&[200])?;
            let items =
                page.get("items").and_then(Value::as_array).ok_or("a page of events without items")?;
            events.extend(items.iter().cloned());
            match page.get("next").and_then(Value::as_u64) {
                Some(next) => from = next,
                None => return Ok(events),
            }
        }
    }

    /// All lines of the listing of runs with a query.
    pub(super) fn runs(&self, query: &str) -> Result<Vec<Value>, String> {
        let (mut lines, mut after) = (Vec::new(), String::new());
        loop {
            let page =
                self.ask(Request::get(format!("/v1/runs?limit=1000{query}{after}")))?.expect(&[200])?;
            let items = page.get("items").and_then(Value::as_array).ok_or("a page of runs without items")?;
            lines.extend(items.iter().cloned());
            match page.get("next").and_then(Value::as_str) {
                Some(cursor) => after = format!("&after={cursor}"),
                None => return Ok(lines),
            }
        }
    }

    /// The receipts of all tools, which work beside the agent files.
    pub(super) fn receipts(&self) -> Result<Vec<Receipt>, String> {
        let text = fs::read_to_string(self.folder.join("agents").join("receipts")).unwrap_or_default();
        let read = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            let (tool, n) = (words.next()?, words.next()?.parse().ok()?);
            Some(Receipt { tool, n, run: words.next()?, call: words.next()?, key: words.next()? })
        };
        text.lines().map(|line| read(line).ok_or_else(|| format!("a broken receipt: {line:?}"))).collect()
    }

    /// Waits until nothing that a killed server started is alive.
    pub(super) fn settle(&self) -> Result<(), String> {
        let begun = Instant::now();
        while self.has_processes() {
            if begun.elapsed() > START {
                return Err("what a killed server had started goes on and on".to_owned());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn has_processes(&self) -> bool {
        let Ok(processes) = fs::read_dir("/proc") else { return false };
        processes.flatten().any(|process| {
            fs::read_link(process.path().join("cwd")).is_ok_and(|folder| folder.starts_with(&self.folder))
        })
    }

    /// The log's file.
    pub(super) fn log(&self) -> PathBuf {
        self.folder.join("data").join("log.db")
    }

    /// A broken promise of a campaign.
    pub(super) fn broken(&self, place: &str, breach: String) -> HarnessError {
        HarnessError::Broken { place: place.to_owned(), breach, kept: self.folder.join("data") }
    }
}

/// The run that a reply names.
pub(super) fn run_of(started: &Value) -> Result<String, String> {
    let run = started.get("run").and_then(Value::as_str);
    run.map(str::to_owned).ok_or_else(|| format!("the reply names no run: {started}"))
}

impl Service<'_> {
    /// Whether it is still there.
    pub(super) fn lives(&mut self) -> Result<(), String> {
        match self.process.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("the server ended with {status}: {}", self.place.log_end())),
            Err(error) => Err(error.to_string()),
        }
    }

    /// kill -9. What it had started is waited for, unless the machine goes on at once.
    pub(super) fn kill(&mut self) -> Result<(), String> {
        self.process.kill().and_then(|()| self.process.wait()).map_err(|error| error.to_string())?;
        self.place.settle()
    }

    /// SIGTERM; gives the exit status and the time that it took.
    pub(super) fn end(&mut self) -> Result<(ExitStatus, Duration), String> {
        let begun = Instant::now();
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)
            .map_err(|error| error.to_string())?;
        let status = self.process.wait().map_err(|error| error.to_string())?;
        Ok((status, begun.elapsed()))
    }

    /// Resident memory, in KiB.
    pub(super) fn memory(&self) -> Result<u64, String> {
        let path = format!("/proc/{}/status", self.process.id());
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        number.ok_or_else(|| "no VmRSS".to_owned())
    }

    /// Number of open descriptors.
    pub(super) fn descriptors(&self) -> Result<usize, String> {
        let open =
            fs::read_dir(format!("/proc/{}/fd", self.process.id())).map_err(|error| error.to_string())?;
        Ok(open.count())
    }
}

impl Drop for Service<'_> {
    fn drop(&mut self) {
        // It may have ended.
        let _gone = self.process.kill().and_then(|()| self.process.wait());
    }
}
