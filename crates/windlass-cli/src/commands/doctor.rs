//! `windlass doctor`: what is configured, reachable, missing.

mod files;
mod log;
mod models;
mod programs;
mod server;

use clap::Args;
use futures_util::future::join;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::interrupts::Interrupts;
use crate::out;
use crate::remote::Server;
use crate::waiting::awaited;

pub(crate) use models::providers;

const HELP: &str = "\
ok       it can be used
missing  it is not there; only what you want to use needs to be
problem  it is there and cannot be used: the exit code is then 1

The log is looked through as a whole: its pages, the boundaries of appends, references, the digest of each stored result, \
and every event of every run, folded from the first one on. `--log FILE` names another one. With a server (`--server URL`, \
WINDLASS_SERVER) it says whether that is reached, can work, and lets you in.";

/// The arguments of `windlass doctor`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    log: LogArgs,
    /// One JSON object a line
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
}

impl Finding {
    pub(crate) fn new(level: Level, what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { level, what: what.into(), detail: detail.into(), todo: None }
    }

    pub(crate) fn todo(mut self, todo: impl Into<String>) -> Self {
        self.todo = Some(todo.into());
        self
    }

    /// A line on stdout.
    pub(crate) fn show(&self, json: bool) -> std::io::Result<()> {
        let level = match self.level {
            Level::Ok => "ok",
            Level::Missing => "missing",
            Level::Problem => "problem",
        };
        if json {
            return out::json(&json!({
                "type": "finding", "standing": level, "what": self.what, "detail": self.detail, "todo": self.todo,
            }));
        }
        out::line(format!("{level:<8} {:<13} {}", self.what, self.detail))?;
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
    let look = async {
        if let Some(server) = &server {
            return server::look(server).await;
        }
        let (providers, auto) = join(providers(), models::auto()).await;
        let mut findings = files::home();
        findings.push(files::default_agent());
        findings.extend(log::look(&args.log).await);
        findings.extend(providers);
        findings.push(auto);
        findings.extend(programs::look());
        findings
    };
    out::calm(args.json);
    let what = if server.is_some() { "the server" } else { "the providers and the log" };
    let findings = interrupts.or(awaited(what, Box::pin(look))).await?;
    for finding in &findings {
        finding.show(args.json)?;
    }
    match findings.iter().filter(|finding| finding.level == Level::Problem).count() {
        0 => Ok(Exit::Good),
        1 => Err(Failure::new(Exit::Failed, "there is a problem")),
        several => Err(Failure::new(Exit::Failed, format!("there are {several} problems"))),
    }
}
