//! Warnings about the tools that a server lists.

use std::fmt;

/// A tool of a server that cannot be used, or not as the server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolWarning {
    /// The server's name in the config.
    pub server: String,
    /// The tool as the agent would call it.
    pub tool: String,
    /// Whether the tool is left out; else a part of its arguments goes unchecked.
    pub left_out: bool,
    /// Why.
    pub reason: String,
}

impl fmt::Display for ToolWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, tool, left_out, reason } = self;
        let what =
            if *left_out { "is left out" } else { "is offered, but its arguments are only partly checked" };
        write!(f, "tool `{tool}` of server `{server}` {what}: {reason}")
    }
}
