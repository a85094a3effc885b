//! The sandbox service: an interpreter of Python in a child process, whose variables last from call to call (acorn's
//! `ProcessSandbox`).
//!
//! The names and imports of code are limited, and so are time, memory and output. That keeps a model's code from doing harm
//! by mistake; it is no wall against code that means harm, which needs a container or a machine of its own.

mod interpreter;
mod sessions;
mod tool;

use std::path::PathBuf;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::json;

use crate::binding::Bound;
use crate::service::{Service, ServiceError};
use crate::tool::Tool;
use sessions::Sessions;
use tool::SandboxTool;

/// The most bytes of code that one call takes (256 KiB).
pub const MAX_CODE: usize = 256 * 1024;
/// The most characters of each of stdout, stderr and the value that a call gives.
pub const MAX_OUTPUT: usize = 64 * 1024;
/// Maximum number of runs with an interpreter; a new one replaces the longest idle one.
pub const MAX_INTERPRETERS: usize = 16;

/// By which of acorn's names the tools are called. Both run code in a child process: nothing runs within Windlass itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxKind {
    /// `process_sandbox`.
    #[default]
    Process,
    /// `local_sandbox`.
    Local,
}

impl SandboxKind {
    /// The service's name.
    pub fn service(self) -> &'static str {
        match self {
            Self::Process => "process_sandbox",
            Self::Local => "local_sandbox",
        }
    }
}

/// The settings of a [`Sandbox`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSettings {
    /// By which names the tools are called.
    pub kind: SandboxKind,
    /// The interpreter: Python 3.8 or later. Default: `python3`.
    pub python: String,
    /// Modules that code may import, by the first part of their name. Default: none.
    pub modules: Vec<String>,
    /// Built-in functions beyond the harmless ones, such as `open`. Default: none.
    pub builtins: Vec<String>,
    /// Timeout of one execution, in seconds, after which the interpreter is killed. Default: 30.
    pub seconds: u64,
    /// Maximum address space of the interpreter, in MiB, where the system supports a limit. Default: 256.
    pub memory_mb: u64,
    /// Working directory; `None`: that of the process.
    pub folder: Option<PathBuf>,
}

impl SandboxSettings {
    /// The abilities of code, and where it runs. Resource limits are no part of it.
    fn binding(&self) -> Vec<Bound> {
        let mut all = vec![
            Bound::open("interpreter", &self.python),
            Bound::open("modules", json!(self.modules)),
            Bound::open("built-in functions", json!(self.builtins)),
        ];
        all.extend(self.folder.as_deref().map(Bound::folder));
        all
    }
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            kind: SandboxKind::Process,
            python: "python3".to_owned(),
            modules: Vec::new(),
            builtins: Vec::new(),
            seconds: 30,
            memory_mb: 256,
            folder: None,
        }
    }
}

/// An interpreter as a service with the tools `execute` and `reset`. Each run has one of its own.
///
/// Without modules and further built-ins code can change nothing but its own variables, which end with the process: then
/// `execute` is read-only, so that a call that a crash cut off runs again. With some it counts as `once`.
///
/// The environment of the interpreter is `PATH` and `HOME`. Limits: [`MAX_CODE`], [`MAX_OUTPUT`], [`MAX_INTERPRETERS`].
#[derive(Debug)]
pub struct Sandbox {
    settings: Arc<SandboxSettings>,
    sessions: Arc<Sessions>,
}

impl Sandbox {
    /// A sandbox that is not set up yet.
    pub fn new(settings: SandboxSettings) -> Self {
        let settings = Arc::new(settings);
        Self { sessions: Arc::new(Sessions::new(settings.clone())), settings }
    }
}

impl Service for Sandbox {
    fn name(&self) -> &str {
        self.settings.kind.service()
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        vec![
            Arc::new(SandboxTool::execute(&self.settings, self.sessions.clone())),
            Arc::new(SandboxTool::reset(self.sessions.clone())),
        ]
    }

    /// Starts an interpreter, so that a missing one is told before a model plans with it.
    fn set_up(&self) -> BoxFuture<'_, Result<(), ServiceError>> {
        Box::pin(self.sessions.open())
    }

    fn tear_down(&self) -> BoxFuture<'_, Result<(), ServiceError>> {
        self.sessions.close();
        Box::pin(std::future::ready(Ok(())))
    }

    fn health(&self) -> BoxFuture<'_, Result<(), ServiceError>> {
        Box::pin(self.sessions.look())
    }
}
