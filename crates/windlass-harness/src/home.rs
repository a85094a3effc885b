//! The home of one run: agent file, tools, receipts and log; and the commands that act on it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use windlass_core::RunId;

use crate::error::HarnessError;
use crate::ground::Ground;
use crate::look::{self, Look};
use crate::scene::{INPUT, Scene};

/// Maximum time that work left by a killed process may go on: far longer than any tool of the scenes takes.
const LEFT_BEHIND: Duration = Duration::from_secs(20);

/// The session of the messages to a home.
const SESSION: &str = "talk";

/// A tool's record of its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The tool.
    pub tool: String,
    /// Its argument.
    pub n: u32,
    /// The run's id, as the tool was told.
    pub run: String,
    /// The call's id, as the tool was told.
    pub call: String,
    /// The idempotency key.
    pub key: String,
}

/// The home of one run.
#[derive(Debug)]
pub struct Home {
    folder: PathBuf,
    data: PathBuf,
    windlass: PathBuf,
    scene: Scene,
}

/// Next task of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `windlass run`.
    Run,
    /// `windlass runs resume`: the run.
    Resume(String),
    /// `windlass runs answer`: the run, the question and the answer's words.
    Answer(String, String, Vec<String>),
    /// `windlass runs answer --leave`: the answer is left to whoever goes on with the run.
    Leave(String, String, Vec<String>),
    /// `windlass runs resume --all --wait`.
    Supervise,
    /// `windlass run --session`: that message to the session of the home.
    Message(String),
}

impl Step {
    /// The command's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Resume(_) => "resume",
            Self::Answer(..) => "answer",
            Self::Leave(..) => "answer --leave",
            Self::Supervise => "resume --all --wait",
            Self::Message(_) => "run --session",
        }
    }
}

impl Home {
    /// A fresh home of that name.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(ground: &Ground, scene: Scene, name: &str) -> Result<Self, HarnessError> {
        let folder = ground.folder().join(name);
        let data = folder.join("data");
        fs::create_dir_all(&folder).map_err(HarnessError::file("make", &folder))?;
        scene.write(&folder, ground.model(scene)).map_err(HarnessError::file("write into", &folder))?;
        Ok(Self { folder, data, windlass: ground.windlass().to_owned(), scene })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// `WINDLASS_HOME`: where the log is.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The log's file.
    pub fn log(&self) -> PathBuf {
        self.data.join("log.db")
    }

    /// The scene.
    pub fn scene(&self) -> Scene {
        self.scene
    }

    /// The program of a step, behind another program (such as `strace` with its options) if one is given.
    pub fn command(&self, step: &Step, before: &[String]) -> Command {
        let mut words: Vec<&OsStr> = before.iter().map(OsStr::new).collect();
        words.push(self.windlass.as_os_str());
        let (program, rest) =
            words.split_first().map_or((OsStr::new(""), &[][..]), |(first, rest)| (*first, rest));
        let mut command = Command::new(program);
        command.args(rest);
        match step {
            Step::Run => command.args(["run", "agent.yaml", INPUT]),
            Step::Resume(run) => command.args(["runs", "resume"]).arg(run),
            Step::Answer(run, question, words) => command.args(["runs", "answer", run, question]).args(words),
            Step::Leave(run, question, words) => {
                command.args(["runs", "answer", "--leave", run, question]).args(words)
            }
            Step::Supervise => command.args(["runs", "resume", "--all", "--wait"]),
            Step::Message(text) => command.args(["run", "--session", SESSION, "agent.yaml", text]),
        };
        self.place(&mut command);
        command
    }

    /// Lets a program work here.
    pub(crate) fn place(&self, command: &mut Command) {
        command
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.folder)
            .env("WINDLASS_HOME", &self.data)
            .stdin(Stdio::null());
    }

    /// The current log, read from a copy, so that the one under test stays as the last process left it. `None`: it holds no run
    /// yet.
    ///
    /// # Errors
    /// The copy cannot be made, or the log cannot be opened or folded, which is a failure.
    pub fn look(&self) -> Result<Option<Look>, HarnessError> {
        let Some(file) = self.copy()? else { return Ok(None) };
        look::newest(&file).map_err(|breach| self.broken("reading the log", breach))
    }

    /// All runs of the current log, the newest one first, read as [`Home::look`] reads them.
    ///
    /// # Errors
    /// As there.
    pub fn looks(&self) -> Result<Vec<Look>, HarnessError> {
        let Some(file) = self.copy()? else { return Ok(Vec::new()) };
        look::all(&file).map_err(|breach| self.broken("reading the log", breach))
    }

    /// The head of the home's session, as [`Home::looks`] saw the log last.
    pub(crate) fn head(&self) -> Result<Option<RunId>, HarnessError> {
        let file = self.folder.join("look").join("log.db");
        look::head(&file, SESSION).map_err(|breach| self.broken("reading the log", breach))
    }

    /// A copy of the log; `None`: there is none yet.
    fn copy(&self) -> Result<Option<PathBuf>, HarnessError> {
        let copy = self.folder.join("look");
        fs::create_dir_all(&copy).map_err(HarnessError::file("make", &copy))?;
        for name in ["log.db", "log.db-wal", "log.db-shm"] {
            let (from, to) = (self.data.join(name), copy.join(name));
            if from.exists() && name != "log.db-shm" {
                fs::copy(&from, &to).map_err(HarnessError::file("copy", &from))?;
            } else if to.exists() {
                fs::remove_file(&to).map_err(HarnessError::file("remove", &to))?;
            }
        }
        let file = copy.join("log.db");
        Ok(file.exists().then_some(file))
    }

    /// The receipts of all tools so far.
    ///
    /// # Errors
    /// A line is broken.
    pub fn receipts(&self) -> Result<Vec<Receipt>, HarnessError> {
        let text = fs::read_to_string(self.folder.join("receipts")).unwrap_or_default();
        let read = |line: &str| {
            let mut words = line.split(' ');
            let (tool, n, run) = (words.next()?, words.next()?, words.next()?);
            let (call, key) = (words.next()?, words.next()?);
            Some(Receipt {
                tool: tool.to_owned(),
                n: n.parse().ok()?,
                run: run.to_owned(),
                call: call.to_owned(),
                key: key.to_owned(),
            })
        };
        let lines: Option<Vec<_>> = text.lines().map(read).collect();
        lines.ok_or_else(|| self.broken("reading the receipts", text))
    }

    /// Number of effects of each tool, by name and argument.
    ///
    /// # Errors
    /// As for [`Home::receipts`].
    pub fn effects(&self) -> Result<BTreeMap<(String, u32), usize>, HarnessError> {
        let mut effects = BTreeMap::new();
        for receipt in self.receipts()? {
            *effects.entry((receipt.tool, receipt.n)).or_insert(0) += 1;
        }
        Ok(effects)
    }

    /// Waits until nothing that a process of this home started is alive.
    ///
    /// # Errors
    /// A process runs for longer than any tool takes.
    pub fn settle(&self) -> Result<(), HarnessError> {
        let begun = Instant::now();
        while self.anybody() {
            if begun.elapsed() > LEFT_BEHIND {
                return Err(self.broken("waiting for what was left behind", "it goes on and on".to_owned()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Whether a process works in this folder: all that a run starts does.
    pub fn anybody(&self) -> bool {
        let Ok(processes) = fs::read_dir("/proc") else { return false };
        processes.flatten().any(|process| {
            fs::read_link(process.path().join("cwd")).is_ok_and(|folder| folder == self.folder)
        })
    }

    /// Removes the home.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(self) -> Result<(), HarnessError> {
        fs::remove_dir_all(&self.folder).map_err(HarnessError::file("remove", &self.folder))
    }

    pub(crate) fn broken(&self, place: &str, breach: String) -> HarnessError {
        let place = format!("scene {}, {place}", self.scene.name());
        HarnessError::Broken { place, breach, kept: self.data.clone() }
    }
}
