//! Warnings about the tools that a server lists.

use std::fmt;

/// A tool of a server that cannot be used, or not as the server or the agent file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolWarning {
    /// The server's name in the config.
    pub server: String,
    /// The tool as the agent would call it, or as the server calls it where it has no such name; may be empty.
    pub tool: String,
    /// The place in the server's list, or in the entry of the agent file.
    pub place: Option<String>,
    /// Whether the tool is left out.
    pub left_out: bool,
    /// Why; or what is to be said of it.
    pub reason: String,
}

impl fmt::Display for ToolWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, tool, place, left_out, reason } = self;
        let tool = if tool.is_empty() { "a tool".to_owned() } else { format!("tool `{tool}`") };
        let what = if *left_out { "is left out: " } else { "" };
        write!(f, "{tool} of server `{server}` {what}{reason}")?;
        place.as_ref().map_or(Ok(()), |place| write!(f, " (at `{place}`)"))
    }
}
