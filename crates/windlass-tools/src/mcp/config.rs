//! Owns what a caller says about an MCP server.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use windlass_core::secret::Secret;

use super::choice::ToolChoice;
use super::url::redacted_url;
use crate::overrides::ToolOverrides;

/// Default timeout for a server's start, in milliseconds.
pub const START_MS: u64 = 30_000;

/// One MCP server and how to deal with it.
#[derive(Clone, Debug)]
pub struct McpConfig {
    /// Its name, for messages and as the default prefix of its tools.
    pub name: String,
    /// Transport to the server.
    pub transport: McpTransport,
    /// Prefix of its tools' names, followed by `__`; `None`: the server's name.
    pub prefix: Option<String>,
    /// Timeout from the start to its list of tools, in milliseconds; default [`START_MS`].
    pub start_ms: u64,
    /// Timeout of a call, in milliseconds; `None` (the default): only the caller's limits apply.
    pub call_ms: Option<u64>,
    /// When a server that ended is started again.
    pub restart: Restart,
    /// The tools to use, their names and effects.
    pub tools: ToolChoice,
    /// The agent file's overrides of the tools' descriptions.
    pub overrides: ToolOverrides,
    /// Whether the server's hints (`readOnlyHint`, `idempotentHint`) decide the effect of its tools; default false: each
    /// tool is `once`. An `effect` in `overrides` beats both.
    pub trust: bool,
    /// Handshake with the server.
    pub lifecycle: Lifecycle,
}

/// Transport to an MCP server.
#[derive(Clone)]
pub enum McpTransport {
    /// A child process that speaks over its stdin and stdout (MCP 2025-11-25, Transports, stdio).
    Stdio {
        /// The program and its arguments; never through a shell.
        command: Vec<String>,
        /// All that the child's environment holds beside `PATH` and `HOME`.
        env: BTreeMap<String, Secret>,
        /// The child's working folder; `None`: this process's.
        folder: Option<PathBuf>,
    },
    /// A streamable HTTP endpoint (MCP 2025-11-25, Transports, Streamable HTTP).
    Http {
        /// Its URL, `http:` or `https:`.
        url: String,
        /// Headers for every request.
        headers: BTreeMap<String, Secret>,
    },
}

/// When a server that ended, or did not start, is started again: at the next call, but not before a wait that doubles
/// with each failure in a row. A call that succeeds ends the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// The wait after the first failure, in milliseconds; default 500.
    pub first_ms: u64,
    /// The longest wait, in milliseconds; default 30,000.
    pub max_ms: u64,
    /// After so many failures in a row calls fail at once, and one start per `max_ms` is let through; default 5.
    pub tries: u32,
}

/// Handshake with a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lifecycle {
    /// Ask with `server/discover`; a server that does not know it, or is silent for 10 seconds, gets `initialize`.
    #[default]
    Auto,
    /// `initialize`, for servers up to MCP 2025-11-25.
    Initialize,
    /// `server/discover`, for servers from MCP 2026-07-28 on.
    Discover,
}

impl Default for Restart {
    fn default() -> Self {
        Self { first_ms: 500, max_ms: 30_000, tries: 5 }
    }
}

impl McpConfig {
    /// A server that is a child process, with defaults.
    pub fn stdio<S: Into<String>>(name: impl Into<String>, command: impl IntoIterator<Item = S>) -> Self {
        let command = command.into_iter().map(Into::into).collect();
        Self::new(name.into(), McpTransport::Stdio { command, env: BTreeMap::new(), folder: None })
    }

    /// A server at a URL, with defaults.
    pub fn http(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new(name.into(), McpTransport::Http { url: url.into(), headers: BTreeMap::new() })
    }

    /// The beginning of its tools' names: the prefix and `__`, or nothing.
    pub fn tool_prefix(&self) -> String {
        match self.prefix.as_deref().unwrap_or(&self.name) {
            "" => String::new(),
            prefix => format!("{prefix}__"),
        }
    }

    /// The same with one more variable for the child; without effect on a server at a URL.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        if let McpTransport::Stdio { env, .. } = &mut self.transport {
            env.insert(name.into(), value.into());
        }
        self
    }

    /// The same with a working folder for the child; without effect on a server at a URL.
    pub fn folder(mut self, path: impl Into<PathBuf>) -> Self {
        if let McpTransport::Stdio { folder, .. } = &mut self.transport {
            *folder = Some(path.into());
        }
        self
    }

    /// The same with one more header; without effect on a child process.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        if let McpTransport::Http { headers, .. } = &mut self.transport {
            headers.insert(name.into(), value.into());
        }
        self
    }

    /// A server behind that transport, with defaults.
    pub fn new(name: String, transport: McpTransport) -> Self {
        Self {
            name,
            transport,
            prefix: None,
            start_ms: START_MS,
            call_ms: None,
            restart: Restart::default(),
            tools: ToolChoice::default(),
            overrides: ToolOverrides::default(),
            trust: false,
            lifecycle: Lifecycle::default(),
        }
    }
}

impl fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, env, folder } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("env", env)
                .field("folder", folder)
                .finish(),
            Self::Http { url, headers } => {
                f.debug_struct("Http").field("url", &redacted_url(url)).field("headers", headers).finish()
            }
        }
    }
}
