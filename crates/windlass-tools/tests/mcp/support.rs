//! What the tests share: the peer as a child, calls with a bound on their time, and waiting for conditions.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use windlass_core::RunId;
use windlass_core::message::Content;
use windlass_tools::mcp::{McpConfig, McpError, McpServer, Restart};
use windlass_tools::{Tool, ToolContext, ToolResult};

/// No step of a test takes longer, or something hangs.
pub(crate) const BOUND: Duration = Duration::from_mins(1);

/// The future's output, or a panic if it hangs.
pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(BOUND, future).await.expect("it hangs")
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < BOUND, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The peer's binary, which cargo builds with the tests (but not for `--test mcp` alone).
pub(crate) fn peer() -> String {
    let tests = std::env::current_exe().expect("this test");
    let target = tests.parent().and_then(std::path::Path::parent).expect("the target folder");
    let peer = target.join("examples/mcp_peer");
    assert!(peer.exists(), "first run: cargo build -p windlass-tools --example mcp_peer");
    peer.display().to_string()
}

/// A config for the peer in a mode, with short waits before restarts.
pub(crate) fn config(mode: &[&str]) -> McpConfig {
    let mut command = vec![peer()];
    command.extend(mode.iter().map(ToString::to_string));
    let mut config = McpConfig::stdio("evil", command);
    config.restart = Restart { first_ms: 1, max_ms: 10, tries: 1_000 };
    config
}

/// The peer in a mode.
pub(crate) async fn connect(mode: &[&str]) -> McpServer {
    soon(McpServer::connect(config(mode))).await.expect("a server")
}

/// Why the peer cannot be connected to.
pub(crate) async fn refusal(config: McpConfig) -> McpError {
    soon(McpServer::connect(config)).await.expect_err("no server")
}

/// A tool by the server's own name.
pub(crate) fn tool(server: &McpServer, name: &str) -> Arc<dyn Tool> {
    let name = format!("{}__{name}", server.name());
    let mut tools = server.tools().into_iter();
    tools.find(|tool| *tool.spec().name == *name).unwrap_or_else(|| panic!("no tool {name}"))
}

pub(crate) fn context() -> ToolContext {
    ToolContext {
        run: RunId::from_number(7),
        call: "call-3".into(),
        attempt: 1,
        idempotency_key: "key-9".into(),
        cancelled: CancellationToken::new(),
        lease: windlass_tools::Lease::none(),
        active_skills: Vec::new(),
    }
}

/// Calls a tool by the server's own name.
pub(crate) async fn call(server: &McpServer, name: &str, args: Value) -> ToolResult {
    soon(tool(server, name).call(context(), args)).await
}

/// The text of a call that succeeds.
pub(crate) async fn text(server: &McpServer, name: &str, args: Value) -> String {
    text_of(call(server, name, args).await)
}

pub(crate) fn text_of(result: ToolResult) -> String {
    match result {
        Ok(Content::Text(text)) => text.to_string(),
        other => panic!("no text: {other:?}"),
    }
}

/// Whether a process runs; one that ended and was not reaped by its parent does not.
pub(crate) fn runs(pid: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The state follows the name in brackets (proc(5)).
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    !matches!(state, Some('Z' | 'X') | None)
}

/// A path that does not exist, in a folder that is deleted with the guard.
pub(crate) struct Scratch(tempfile::TempDir);

impl Scratch {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }
}
