//! Hints of the command line: the libraries say what to do in their own terms, and the commands that do it stand here.

use std::borrow::Cow;
use std::path::Path;

use windlass_client::ClientError;
use windlass_core::budget::LOST_ATTEMPTS;
use windlass_core::policy::LimitKind;
use windlass_core::{InvalidInput, Status};
use windlass_error::{Diagnostic, in_full};
use windlass_models::ModelError;
use windlass_models::cassette::CassetteError;
use windlass_runtime::agent_file::AgentFileError;
use windlass_runtime::yaml::{Problem, YamlError};
use windlass_runtime::{AssembleError, Error};
use windlass_store::StoreError;
use windlass_testing::fixture::{FixtureError, RecordedError};
use windlass_tools::ToolSetError;

use crate::home::quoted;

/// Hints by code, in place of the libraries' help.
const INSTEAD: &[(&str, &str)] = &[
    ("agent.service", "`windlass tools list FILE` shows the state of the agent's services"),
    ("cassette.differs", RECORD_ANEW),
    ("cassette.left", RECORD_ANEW),
    ("client.bad_reply", "check the address; `windlass serve FOLDER` starts a server"),
    (
        "client.unauthorized",
        "set WINDLASS_TOKEN to a token of the server; `windlass serve` prints the variables that a client needs",
    ),
    (
        "client.unreachable",
        "`windlass serve FOLDER` starts a server; check the address (`--server URL`, or WINDLASS_SERVER)",
    ),
    ("fixture.schemas", "`windlass tools list AGENT --json > FILE` writes one"),
    ("import.differs", "import it into another log (`--log FILE`), or fork the existing run"),
    ("input.bad_arguments", OPEN_QUESTIONS),
    ("input.unknown_question", OPEN_QUESTIONS),
    ("input.wrong_answer", OPEN_QUESTIONS),
    (
        "offline",
        "unset WINDLASS_OFFLINE to ask it; models on loopback addresses, `tour` and cassettes (`--replay FILE`) work offline",
    ),
    ("policy.unknown_preset", ALL_KEYS),
    ("store.conflict", WATCH),
    ("store.corrupt", DOCTOR),
    ("store.fenced", WATCH),
    (
        "store.gone",
        "put the file back, or a copy that `windlass runs backup` made, then resume: what was written since is not in it",
    ),
    ("store.inbox_full", "`windlass runs resume` lets the run take what waits for it"),
    ("store.unknown_payload", DOCTOR),
    ("store.unknown_run", "`windlass runs list` shows the runs of this log"),
];
/// Hints by the code that a server gave.
const OF_SERVERS: &[(&str, &str)] = &[
    ("agent.unknown", "name an agent of the server: `windlass serve` prints their names as it starts"),
    (
        "request.objective",
        "send it as `steering` or `correction`; on the server's machine `windlass runs steer --kind objective --log FILE` sets one",
    ),
    ("session.unknown", "`windlass sessions list --all` lists all sessions"),
];
/// Hints by code, where the libraries have none.
const OTHERWISE: &[(&str, &str)] =
    &[("fixture.cassette", "`windlass run FILE --record CASSETTE` writes one")];

const ALL_KEYS: &str = "`windlass agents schema` prints all keys with their values";
const DOCTOR: &str = "`windlass doctor --log FILE` checks every run of a log";
const OPEN_QUESTIONS: &str = "`windlass runs show RUN` lists the open questions and their possible answers";
const RECORD_ANEW: &str = "record anew with `--record FILE` if the change is intended";
const WATCH: &str = "another process goes on with this run; `windlass runs watch` follows it";

fn by_code(table: &[(&str, &str)], code: &str) -> Option<String> {
    table.iter().find(|(known, _)| *known == code).map(|(_, hint)| (*hint).to_owned())
}

/// An error that a command may end with.
pub(crate) trait Hinted: Diagnostic {
    /// The hint with what this error is about, if there is a better one than by code.
    fn about(&self) -> Option<String> {
        None
    }

    /// The remedy at a command line.
    fn hint(&self) -> Option<String> {
        self.about()
            .or_else(|| by_code(INSTEAD, self.code()))
            .or_else(|| self.help().map(Cow::into_owned))
            .or_else(|| by_code(OTHERWISE, self.code()))
    }
}

impl Hinted for CassetteError {}
impl Hinted for FixtureError {}
impl Hinted for RecordedError {}
impl Hinted for ToolSetError {}
impl Hinted for YamlError {}
impl Hinted for windlass_server::Error {}

impl Hinted for ClientError {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
    fn about(&self) -> Option<String> {
        match self {
            Self::Unreachable { source, .. } => {
                let why = in_full(&**source);
                let hint = if why.contains("certificate") {
                    "for a certificate of your own authority, set SSL_CERT_FILE to the file of that authority"
                } else if why.contains("Permission denied") {
                    "the socket takes the user of the server alone: type the command as that user (`sudo -u USER …`), or use http with a token"
                } else {
                    return None;
                };
                Some(hint.to_owned())
            }
            _ => None,
        }
    }
}

/// The remedy for what came of asking a server: by the code that it gave, if it has refused.
pub(crate) fn advice(error: &ClientError) -> Option<String> {
    let of_refusal = by_code(INSTEAD, error.reason()).or_else(|| by_code(OF_SERVERS, error.reason()));
    of_refusal.or_else(|| error.hint())
}

impl Hinted for ModelError {
    fn about(&self) -> Option<String> {
        let Self::NoModel { name } = self else { return None };
        Some(format!("write {}/MODEL; `windlass models list` lists the models", name.trim_end_matches('/')))
    }
}

impl Hinted for AgentFileError {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
    fn about(&self) -> Option<String> {
        let unknown_key = |error: &YamlError| matches!(&*error.problem, Problem::UnknownKey { nearest, .. } if !nearest.is_empty());
        let hint = match self {
            Self::Invalid(_) if self.holds_cases() => {
                "the file seems to hold test cases: `windlass test FILE` runs them"
            }
            Self::Invalid(error) if unknown_key(error) => ALL_KEYS,
            Self::Providers(error) if unknown_key(error) => {
                "docs/models.md, \"Providers of your own\", lists all keys; `windlass models list` shows what was read"
            }
            Self::NetworkAgents { .. } => "give their files with `--agent NAME=FILE`",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

impl Hinted for AssembleError {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
    fn about(&self) -> Option<String> {
        match self {
            Self::File(source) => source.about(),
            Self::Delegate { source, .. } => source.about(),
            Self::Model { source, .. } => source.about(),
            Self::Agent(source) => source.about(),
            _ => None,
        }
    }
}

impl Hinted for StoreError {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
    fn about(&self) -> Option<String> {
        match self {
            Self::Unusable { path, .. } => Some(format!(
                "check that {} can be read and written, or name another log with --log",
                path.display()
            )),
            Self::Old { path } => Some(format!(
                "name another file with --log, or move this one away: `{}`; only the build that wrote it reads it",
                moves(path)
            )),
            Self::Held { run, .. } => Some(format!(
                "wait until it ends; meanwhile `windlass runs watch {run}` follows it, and `windlass runs steer {run} TEXT` and \
                 `windlass runs cancel {run}` reach it"
            )),
            _ => None,
        }
    }
}

/// The command that moves a log away with the files beside it. A write-ahead file that is left behind belongs to the next log of that
/// name: SQLite deletes it, and what was written last is lost.
fn moves(log: &Path) -> String {
    let name = |ending: &str| quoted(&format!("{}{ending}", log.display()));
    let is_there = |ending: &&str| {
        let mut path = log.as_os_str().to_owned();
        path.push(ending);
        ending.is_empty() || Path::new(&path).exists()
    };
    let endings = ["", "-wal", "-shm"].into_iter().filter(is_there);
    let commands = endings.map(|ending| format!("mv {} {}", name(ending), name(&format!(".old{ending}"))));
    commands.collect::<Vec<_>>().join(" && ")
}

impl Hinted for windlass_read::Error {
    fn about(&self) -> Option<String> {
        if let Self::Log(source) = self { source.about() } else { None }
    }
}

impl Hinted for InvalidInput {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
    fn about(&self) -> Option<String> {
        match self {
            Self::Ended { run, status: Status::Limit(limit), .. } if LimitKind::SETTABLE.contains(limit) => {
                Some(format!("`windlass runs resume {run} --limit {limit}=N` continues with a higher limit"))
            }
            Self::Ended { run, .. } => Some(format!(
                "`windlass runs fork {run} --at N` begins a new run after event N (`windlass runs show -e {run}` lists \
                 them); a new run of its session has its conversation, too"
            )),
            Self::AlreadyPaused { run, .. } => Some(format!("`windlass runs resume {run}` ends the pause")),
            _ => None,
        }
    }
}

impl Hinted for Error {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
    fn about(&self) -> Option<String> {
        match self {
            Self::Log(source) => source.about(),
            Self::Read(source) => source.about(),
            Self::Refused(source) => source.about(),
            Self::Model { source, .. } => source.about(),
            Self::UnknownTool { nearest, .. } if nearest.is_empty() => {
                Some("`windlass tools list FILE` lists the agent's tools".to_owned())
            }
            Self::MessageSteered { run, .. } => Some(format!("`windlass runs watch {run}` shows the run")),
            Self::AgentChanged { run, .. } => Some(format!(
                "`windlass runs resume {run} --with FILE` goes on with the agent as it is now; calls that wait for \
                 approval, and have changed, are asked about anew"
            )),
            Self::SessionBusy { run, .. } => Some(format!(
                "`windlass runs show {run}` shows what it waits for; resume, answer or cancel it"
            )),
            Self::NoSuchEvent { run, .. } => {
                Some(format!("`windlass runs show -e {run}` lists its events with their numbers"))
            }
            Self::LostAttempts { .. } => Some(format!(
                "look at what the model replies and why the process dies; `windlass runs resume RUN` by hand allows \
                 {LOST_ATTEMPTS} more attempts"
            )),
            Self::NotEnded { run } => Some(format!("`windlass runs resume {run}`")),
            _ => None,
        }
    }
}
