//! `windlass doctor`: what is wrong, and what is configured, reachable, missing.

mod files;
mod log;
mod models;
mod programs;
mod server;

use clap::Args;
use futures_util::future::join;
use serde_json::{Value, json};
use windlass_models::choose_auto;

use crate::failure::{Exit, Failure};
use crate::home::{self, LogArgs};
use crate::interrupts::Interrupts;
use crate::out;
use crate::remote::Server;
use crate::waiting::awaited;

pub(crate) use models::providers;

/// Indentation of the lines after the first of a finding.
const INDENT: usize = 2;

const HELP: &str = "\
What is wrong comes first, one line each, with what mends it; the exit code is then 1. `--all` lists all that was looked at:

ok       it can be used
missing  it is not there; only what you want to use needs to be
problem  it is there and cannot be used

The log is looked through as a whole: its pages, the boundaries of appends, references, the digest of each stored result, \
and every event of every run, folded from the first one on. `--log FILE` names another one. With a server (`--server URL`, \
WINDLASS_SERVER) it says whether that is reached, can work, and lets you in.

Examples:
  windlass doctor
  windlass doctor --all
  windlass doctor --log copy.db";

/// The arguments of `windlass doctor`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    log: LogArgs,
    /// List all that was looked at, not only what is wrong
    #[arg(long)]
    all: bool,
    /// One JSON object a line, for all that was looked at
    #[arg(long)]
    json: bool,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Ok,
    Missing,
    Problem,
}

/// Something that was looked at.
#[derive(Debug)]
pub(crate) struct Finding {
    level: Level,
    what: String,
    /// Details.
    detail: String,
    /// Advice.
    todo: Option<String>,
    /// The missing thing, if the finding is about a provider.
    lacks: Option<Lack>,
}

/// The lack of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// Variables, one of which has to be set.
    Variable(String),
    /// A server, which this command starts.
    Server(String),
    /// A model on its server.
    Model,
}

impl Finding {
    pub(crate) fn new(level: Level, what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { level, what: what.into(), detail: detail.into(), todo: None, lacks: None }
    }

    pub(crate) fn todo(mut self, todo: impl Into<String>) -> Self {
        self.todo = Some(todo.into());
        self
    }

    fn lacks(mut self, lacks: Lack) -> Self {
        self.lacks = Some(lacks);
        self
    }

    /// Whether it can be used.
    pub(crate) fn is_usable(&self) -> bool {
        self.level == Level::Ok
    }

    fn level_name(&self) -> &'static str {
        match self.level {
            Level::Ok => "ok",
            Level::Missing => "missing",
            Level::Problem => "problem",
        }
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "type": "finding", "standing": self.level_name(), "what": self.what, "detail": self.detail, "todo": self.todo,
        })
    }

    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// The finding in words, with details.
    pub(crate) fn row(&self) -> [String; 2] {
        [self.what.clone(), self.detail.clone()]
    }

    pub(crate) fn lack(&self) -> Option<&Lack> {
        self.lacks.as_ref()
    }

    /// The fault and its remedy, in a line.
    pub(crate) fn fault(&self) -> String {
        let todo = self.todo.as_ref().map(|todo| format!(" · {todo}")).unwrap_or_default();
        format!("{}: {}{todo}", self.what, self.detail)
    }

    /// [`Self::fault`] after that of another one. What mends both stands there once.
    fn fault_after(&self, before: Option<&Self>) -> String {
        let same = before.is_some_and(|before| before.todo == self.todo);
        if same { format!("{}: {}", self.what, self.detail) } else { self.fault() }
    }

    /// A line on stdout, and one with the advice.
    fn show(&self) -> std::io::Result<()> {
        out::line(format!("{:<8} {:<13} {}", self.level_name(), self.what, self.detail))?;
        match &self.todo {
            Some(todo) => out::line(format!("{:<22} hint: {todo}", "")),
            None => Ok(()),
        }
    }
}

/// Looks at everything.
pub(crate) async fn run(args: DoctorArgs) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    let server = Server::of(&args.log)?;
    out::calm(args.json);
    let what = if server.is_some() { "the server" } else { "the providers and the log" };
    let look = async {
        match &server {
            Some(server) => Looked { findings: server::look(server).await, models: None },
            None => look(&args.log).await,
        }
    };
    let looked = interrupts.or(awaited(what, Box::pin(look))).await?;
    let problems = looked.findings.iter().filter(|finding| finding.level == Level::Problem).count();
    if !args.all && !args.json {
        looked.show_faults(&args.log)?;
        return Ok(if problems == 0 { Exit::Good } else { Exit::Failed });
    }
    for finding in &looked.findings {
        if args.json { out::json(&finding.json())? } else { finding.show()? }
    }
    match problems {
        0 => Ok(Exit::Good),
        1 => Err(Failure::new(Exit::Failed, "there is a problem")),
        several => Err(Failure::new(Exit::Failed, format!("there are {several} problems"))),
    }
}

/// All that was found, what stops most runs first.
struct Looked {
    findings: Vec<Finding>,
    /// Which models can be used; `None`: the server decides on them.
    models: Option<String>,
}

async fn look(log: &LogArgs) -> Looked {
    let (providers, auto) = join(providers(), choose_auto(&home::env)).await;
    let models = models::summary(&providers, &auto);
    let mut findings = files::home();
    findings.extend(log::look(log).await);
    findings.push(files::default_agent());
    findings.extend(providers);
    findings.push(models::finding(&auto));
    findings.extend(programs::look());
    Looked { findings, models: Some(models) }
}

impl Looked {
    /// The faults, and in a line the models that can be used.
    fn show_faults(&self, log: &LogArgs) -> std::io::Result<()> {
        let faults: Vec<_> = self.findings.iter().filter(|finding| finding.level == Level::Problem).collect();
        out::line(match (faults.len(), &self.models) {
            (0, Some(_)) => "everything that a run needs is there".to_owned(),
            (0, None) => "the server works, and lets you in".to_owned(),
            (1, _) => "1 thing is wrong".to_owned(),
            (several, _) => format!("{several} things are wrong"),
        })?;
        let before = std::iter::once(None).chain(faults.iter().copied().map(Some));
        for (fault, before) in faults.iter().zip(before) {
            out::item(&fault.fault_after(before), INDENT)?;
        }
        self.models.iter().try_for_each(|models| out::item(models, INDENT))?;
        out::note(format_args!("`windlass doctor --all{}` has the rest", log.words()));
        Ok(())
    }
}
