//! Owns why an MCP server cannot be used.

use windlass_error::{Diagnostic, Kind};

use crate::tool::ToolError;

/// Why an MCP server cannot be used. The texts hold no secret: values of headers and of the child's environment are
/// masked, and a URL is shown without user and query.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum McpError {
    /// The config makes no sense.
    #[error("invalid configuration of the MCP server `{server}`: {what}")]
    #[diagnostic(kind = Invalid, code = "mcp_bad_config")]
    BadConfig {
        /// The server.
        server: String,
        /// The error.
        what: String,
    },
    /// The program does not exist.
    #[error("the command `{command}` of the MCP server `{server}` is not installed")]
    #[diagnostic(kind = Unavailable, code = "mcp_not_installed", help = install(command))]
    NotInstalled {
        /// The server.
        server: String,
        /// The program.
        command: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The program could not be started.
    #[error("cannot start the command `{command}` of the MCP server `{server}`")]
    #[diagnostic(kind = Unavailable, code = "mcp_spawn")]
    Spawn {
        /// The server.
        server: String,
        /// The program.
        command: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It ended, before it was ready or in the midst of a call.
    #[error("the MCP server `{server}` ended ({how}){}", appended(.stderr))]
    #[diagnostic(kind = Unavailable, code = "mcp_ended", help = "run its command by hand to see its output")]
    Ended {
        /// The server.
        server: String,
        /// Its exit code or signal, or that it closed its output.
        how: String,
        /// The last that it wrote to stderr, at most 4 KiB; may be empty.
        stderr: String,
    },
    /// It was not ready in time.
    #[error("the MCP server `{server}` was not ready within {limit_ms} ms{}", appended(.stderr))]
    #[diagnostic(
        kind = Unavailable,
        code = "mcp_slow",
        help = "run its command by hand once: the first start may download packages; or raise `start_ms` of the server"
    )]
    Slow {
        /// The server.
        server: String,
        /// The limit, in milliseconds.
        limit_ms: u64,
        /// The last that it wrote to stderr, at most 4 KiB; may be empty.
        stderr: String,
    },
    /// It refused, or is not there, over HTTP.
    #[error("the MCP server `{server}` at {url} answered HTTP {status}{}", appended(.what))]
    #[diagnostic(kind = http_kind(*status), code = "mcp_http", help = refused(*status))]
    Http {
        /// The server.
        server: String,
        /// Its address, without user and query.
        url: String,
        /// The status code.
        status: u16,
        /// Its message; may be empty.
        what: String,
    },
    /// The program that answers at its address does not speak MCP, or not over this transport.
    #[error(
        "the address {url} of the MCP server `{server}` is not one of an MCP server over Streamable HTTP: {what}"
    )]
    #[diagnostic(kind = Unavailable, code = "mcp_not_mcp", help = CHECK_PATH)]
    NotMcp {
        /// The server.
        server: String,
        /// Its address, without user and query.
        url: String,
        /// Its behaviour instead.
        what: String,
    },
    /// No connection to it.
    #[error("the MCP server `{server}` at {url} cannot be reached: {what}")]
    #[diagnostic(
        kind = Unavailable,
        code = "mcp_unreachable",
        help = "check the server's `url`, and that the server is running"
    )]
    Unreachable {
        /// The server.
        server: String,
        /// Its address, without user and query.
        url: String,
        /// Why.
        what: String,
    },
    /// The connection was there and broke after the request was sent.
    #[error("the connection to the MCP server `{server}` at {url} ended before the answer{}", appended(.what))]
    #[diagnostic(kind = Unavailable, code = "mcp_connection_lost")]
    ConnectionLost {
        /// The server.
        server: String,
        /// Its address, without user and query.
        url: String,
        /// How; may be empty.
        what: String,
    },
    /// It does not speak MCP as it should.
    #[error("the MCP server `{server}` violates the protocol: {what}")]
    #[diagnostic(kind = Unavailable, code = "mcp_protocol")]
    Protocol {
        /// The server.
        server: String,
        /// The violation.
        what: String,
    },
    /// It answered, but not so that the answer can be read.
    #[error("the MCP server `{server}` gave an answer that cannot be read: {what}")]
    #[diagnostic(kind = Unavailable, code = "mcp_unreadable")]
    Unreadable {
        /// The server.
        server: String,
        /// The text that it sent, or the fault in it.
        what: String,
    },
    /// It failed too often in a row and is left alone for a while.
    #[error(
        "the MCP server `{server}` failed {failures} times in a row and is not restarted now; last error: {last}"
    )]
    #[diagnostic(kind = Unavailable, code = "mcp_gave_up")]
    GaveUp {
        /// The server.
        server: String,
        /// Number of failures.
        failures: u32,
        /// The last failure.
        last: String,
    },
    /// The caller closed it.
    #[error("the MCP server `{server}` was closed")]
    #[diagnostic(kind = Unavailable, code = "mcp_closed")]
    Closed {
        /// The server.
        server: String,
    },
}

impl McpError {
    /// The error of a call that could not be made or finished because of this.
    pub(super) fn into_call_error(self) -> ToolError {
        let mut message = self.to_string();
        // Who reads it can put these right, while the run goes on.
        if let Self::NotInstalled { .. } | Self::Http { status: 401 | 403, .. } = &self
            && let Some(help) = self.help()
        {
            message = format!("{message}: {help}");
        }
        if let Self::Spawn { source, .. } = &self {
            message = format!("{message}: {source}");
        }
        ToolError::of_kind(self.code(), message)
    }
}

const CHECK_PATH: &str = "check the server's `url`: most servers answer at a path such as /mcp";

fn http_kind(status: u16) -> Kind {
    match status {
        401 | 403 => Kind::Forbidden,
        404 | 405 => Kind::NotFound,
        _ => Kind::Unavailable,
    }
}

fn refused(status: u16) -> Option<&'static str> {
    match status {
        401 | 403 => Some("check the server's `headers`: the credentials were refused"),
        404 | 405 => Some(CHECK_PATH),
        _ => None,
    }
}

/// Appends the server's own message, if any.
fn appended(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

/// Installation advice for a command.
fn install(command: &str) -> String {
    let program = std::path::Path::new(command).file_name().and_then(|name| name.to_str()).unwrap_or(command);
    let what = match program {
        "npx" | "npm" | "node" => "install Node.js, which brings `npx`",
        "uvx" | "uv" => "install uv, which brings `uvx`",
        "python" | "python3" | "pipx" | "pip" => "install Python 3",
        "docker" => "install Docker",
        "deno" => "install Deno",
        "bun" | "bunx" => "install Bun",
        "cargo" => "install Rust",
        "java" => "install a Java runtime",
        "dotnet" => "install .NET",
        "go" => "install Go",
        _ => "install it, or write the full path of the program",
    };
    format!("{what}; it was not found in PATH")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e46_a_missing_npx_asks_for_node() {
        let error = McpError::NotInstalled {
            server: "files".to_owned(),
            command: "/usr/bin/npx".to_owned(),
            source: std::io::ErrorKind::NotFound.into(),
        };
        assert_eq!(
            error.to_string(),
            "the command `/usr/bin/npx` of the MCP server `files` is not installed"
        );
        assert_eq!(error.code(), "mcp_not_installed");
        assert!(error.into_call_error().message.contains("install Node.js"));
    }

    #[test]
    fn an_error_quotes_the_server_only_if_it_said_something() {
        let ended = |stderr: &str| {
            let (server, how) = ("s".to_owned(), "exit code 3".to_owned());
            McpError::Ended { server, how, stderr: stderr.to_owned() }.to_string()
        };
        assert_eq!(ended(""), "the MCP server `s` ended (exit code 3)");
        assert_eq!(ended("no disk"), "the MCP server `s` ended (exit code 3): no disk");
    }
}
