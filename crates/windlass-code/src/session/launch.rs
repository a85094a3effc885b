//! Starts children.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;
use tokio::process::{Child, Command};

use super::{Group, Session, State};
use crate::child::can_serve;
use crate::protocol::{ARGUMENT, MARKER};
use crate::{CodeError, Limits, Output, Program};

/// Starts steps of code: the program that runs them.
#[derive(Clone, Debug)]
pub struct Code {
    path: PathBuf,
}

impl Code {
    /// This program runs code. Its main must call [`child`](crate::child) first.
    ///
    /// # Errors
    /// Its main does not, it was built without the interpreter, or the system does not say where the program is.
    pub fn this_program() -> Result<Self, CodeError> {
        can_serve()?;
        let path = env::current_exe()
            .map_err(|source| CodeError::Spawn { path: PathBuf::from("this program"), source })?;
        Ok(Self { path })
    }

    /// Another program runs code: `windlass`, or one whose main calls [`child`](crate::child) first.
    pub fn program(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Starts a child for a step. It runs nothing before the first [`Session::next`].
    ///
    /// # Errors
    /// The program cannot be started or runs no code, or names of the step are twice there or no names.
    pub async fn start(&self, limits: &Limits, program: Program) -> Result<Session, CodeError> {
        check(&program)?;
        let mut child = self.spawn()?;
        let group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(CodeError::Protocol { reason: "the child has no pipes".to_owned() });
        };
        let mut session = Session {
            child,
            group,
            stdin: Some(stdin),
            stdout,
            limits: *limits,
            running: Duration::ZERO,
            output: Output::default(),
            state: State::Ready(Box::new(program)),
            recorded: BTreeMap::new(),
        };
        session.greet(&self.path).await?;
        Ok(session)
    }

    fn spawn(&self) -> Result<Child, CodeError> {
        let mut command = Command::new(&self.path);
        command.arg(ARGUMENT).env_clear().env(MARKER, "1").current_dir("/").kill_on_drop(true);
        // The allocator of the binary reserves a gigabyte and commits much of it, unless it is told that memory is scarce.
        command.env("MIMALLOC_ARENA_RESERVE", "0").env("MIMALLOC_EAGER_COMMIT", "0");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        command.spawn().map_err(|source| CodeError::Spawn { path: self.path.clone(), source })
    }
}

/// Refuses names that the code could not tell apart or write.
fn check(program: &Program) -> Result<(), CodeError> {
    let mut names = BTreeSet::new();
    for name in program.functions.iter().map(crate::Function::in_code).chain(program.inputs.keys().cloned()) {
        if !names.insert(name.clone()) {
            return Err(CodeError::SameName { name });
        }
    }
    match program.inputs.keys().find(|name| crate::Function::new(name.as_str(), [""; 0]).in_code() != **name)
    {
        Some(name) => Err(CodeError::InputName { name: name.clone() }),
        None => Ok(()),
    }
}
