//! Owns one interpreter: a child process that leads a group of its own, and answers line by line.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::{MAX_OUTPUT, SandboxSettings};
use crate::command::child::Group;
use crate::command::program;

const WORKER: &str = include_str!("worker.py");
/// The longest answer, in bytes: three texts, each character of which may be written as two escapes.
const MAX_ANSWER: u64 = 3 * 12 * (MAX_OUTPUT as u64 + 1_024);
/// Timeout for the start of an interpreter, and for a reset.
const START: Duration = Duration::from_secs(10);

/// Result of a piece of code, in acorn's form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Outcome {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) return_value: Option<String>,
    pub(super) success: bool,
}

impl Outcome {
    pub(super) fn failed(why: String) -> Self {
        Self { stderr: why, ..Self::default() }
    }

    /// The result for the model.
    pub(super) fn rendered(&self) -> String {
        let Self { stdout, stderr, return_value, success } = self;
        format!(
            "{{\"stdout\": {}, \"stderr\": {}, \"return_value\": {}, \"success\": {success}}}",
            json!(stdout),
            json!(stderr),
            json!(return_value)
        )
    }
}

/// Why an interpreter gave no answer. It must not be used any more.
#[derive(Debug)]
pub(super) enum Silent {
    /// It took too long.
    TimedOut,
    /// It ended.
    Ended(String),
}

/// A running interpreter. Dropping it kills its process group.
#[derive(Debug)]
pub(super) struct Interpreter {
    child: Child,
    group: Group,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Interpreter {
    /// Starts one, and waits until it answers.
    pub(super) async fn start(settings: &SandboxSettings) -> Result<Self, String> {
        let python = &settings.python;
        let mut started = Self::spawn(settings).map_err(|why| format!("cannot start `{python}`: {why}"))?;
        match started.reset().await {
            Ok(()) => Ok(started),
            Err(Silent::TimedOut) => Err(format!("`{python}` did not answer within {} s", START.as_secs())),
            Err(Silent::Ended(how)) => Err(format!("`{python}` is not a usable Python 3: it {how}")),
        }
    }

    fn spawn(settings: &SandboxSettings) -> std::io::Result<Self> {
        let given = json!({
            "modules": settings.modules, "builtins": settings.builtins, "seconds": settings.seconds,
            "memory": settings.memory_mb.saturating_mul(1024 * 1024), "most": MAX_OUTPUT,
        });
        let path = std::env::var_os("PATH");
        let folder = settings.folder.as_deref().unwrap_or(Path::new(""));
        let mut command = program::command(Path::new(&settings.python), path.as_deref(), folder);
        command.args(["-I", "-c", WORKER, &given.to_string()]).env_clear();
        for name in ["PATH", "HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        if let Some(folder) = &settings.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let group = Group::of(&child);
        let closed = || std::io::Error::other("it has no pipes");
        let stdin = child.stdin.take().ok_or_else(closed)?;
        let stdout = BufReader::new(child.stdout.take().ok_or_else(closed)?);
        Ok(Self { child, group, stdin, stdout })
    }

    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Runs code. After an error the interpreter is to be dropped.
    pub(super) async fn run(&mut self, code: &str, bound: Duration) -> Result<Outcome, Silent> {
        let answer = self.ask(&json!(code), bound).await?;
        serde_json::from_str(&answer).map_err(|why| self.ended(&format!("gave no valid answer: {why}")))
    }

    /// Forgets all variables.
    pub(super) async fn reset(&mut self) -> Result<(), Silent> {
        self.ask(&Value::Null, START).await.map(drop)
    }

    async fn ask(&mut self, question: &Value, bound: Duration) -> Result<String, Silent> {
        let line = format!("{question}\n");
        let asked = async {
            self.stdin.write_all(line.as_bytes()).await?;
            self.stdin.flush().await?;
            let mut answer = String::new();
            (&mut self.stdout).take(MAX_ANSWER).read_line(&mut answer).await?;
            Ok::<_, std::io::Error>(answer)
        };
        match tokio::time::timeout(bound, asked).await {
            Err(_) => Err(Silent::TimedOut),
            Ok(Ok(answer)) if answer.ends_with('\n') => Ok(answer),
            Ok(Ok(_) | Err(_)) => {
                // What ended it is known a moment after its pipes close.
                let waited = tokio::time::timeout(Duration::from_secs(1), self.child.wait()).await;
                let how = waited.ok().and_then(Result::ok).map(|status| status.to_string());
                Err(self.ended(&format!("ended ({})", how.as_deref().unwrap_or("it closed its pipes"))))
            }
        }
    }

    fn ended(&self, how: &str) -> Silent {
        self.group.kill();
        Silent::Ended(how.to_owned())
    }
}
