//! Owns the wire to a child process: one JSON message per line (MCP 2025-11-25, Transports, stdio).
//!
//! rmcp has such a transport, but it skips what it cannot read, so that a call whose answer was broken would hang. This
//! one tells two things apart: stray text, which many servers print although they must not, is skipped up to a bound; a
//! broken message ends the connection, and with it every pending call, with an error.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use rmcp::RoleClient;
use rmcp::model::{ClientRequest, RequestId};
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::timeout;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

use super::asking::{Fault, Incoming};
use super::process::Pipes;

/// The longest line that a server may send, in bytes; over HTTP rmcp has the same bound.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// How many lines of stray text in a row are skipped.
const MAX_STRAY_LINES: usize = 1_000;

/// How long the server may leave a message unread.
const WRITE_LIMIT: Duration = Duration::from_secs(30);

/// How much of an unreadable line an error quotes, in characters.
const QUOTED_CHARS: usize = 120;

/// The wire to a child process.
pub(super) struct StdioTransport {
    lines: FramedRead<ChildStdout, LinesCodec>,
    stdin: Arc<tokio::sync::Mutex<Option<ChildStdin>>>,
    stray: usize,
    fault: Fault,
    /// The id of an `initialize` that is not answered yet.
    initialize: Arc<Mutex<Option<RequestId>>>,
}

impl StdioTransport {
    pub(super) fn new(pipes: Pipes, fault: Fault) -> Self {
        Self {
            lines: FramedRead::new(pipes.stdout, LinesCodec::new_with_max_length(MAX_LINE_BYTES)),
            stdin: Arc::new(tokio::sync::Mutex::new(Some(pipes.stdin))),
            stray: 0,
            fault,
            initialize: Arc::default(),
        }
    }

    /// Whether a message answers the probe that came before `initialize`. A server that takes longer to start than
    /// rmcp waits for the probe's answer gives it later, and rmcp would take it for a wrong answer to `initialize`.
    fn is_late(&self, message: &Incoming) -> bool {
        let mut initialize = self.initialize.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(awaited), Some(id)) = (initialize.as_ref(), answered(message)) else { return false };
        if awaited == id {
            *initialize = None;
            return false;
        }
        true
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        if let TxJsonRpcMessage::<RoleClient>::Request(request) = &item
            && let ClientRequest::InitializeRequest(_) = &request.request
        {
            *self.initialize.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.id.clone());
        }
        let stdin = self.stdin.clone();
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut stdin = stdin.lock().await;
            let pipe = stdin.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            let written = timeout(WRITE_LIMIT, async {
                pipe.write_all(&line).await?;
                pipe.flush().await
            });
            let Ok(result) = written.await else {
                // Half a message is in the pipe: nothing after it could be understood.
                *stdin = None;
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the server does not read its input"));
            };
            result
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            let line = match self.lines.next().await? {
                Ok(line) => line,
                Err(LinesCodecError::MaxLineLengthExceeded) => {
                    self.fault.give_up(format!("it sent a line of more than {MAX_LINE_BYTES} bytes"));
                    return None;
                }
                Err(LinesCodecError::Io(error)) => {
                    self.fault.give_up(format!("its output cannot be read: {error}"));
                    return None;
                }
            };
            let line = line.trim_start_matches('\u{feff}').trim();
            if !self.fault.takes(line) {
                match self.fault.get() {
                    Some(_) => return None,
                    None => continue,
                }
            }
            match read(line) {
                Line::Message(message) if self.is_late(&message) => {}
                Line::Message(message) => {
                    self.stray = 0;
                    return Some(*message);
                }
                Line::Blank => {}
                Line::Stray if self.stray < MAX_STRAY_LINES => self.stray += 1,
                Line::Stray => {
                    self.fault
                        .give_up(format!("it writes text instead of messages, such as {}", quoted(line)));
                    return None;
                }
                Line::Broken => {
                    self.fault.give_up(format!("it sent a broken message: {}", quoted(line)));
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // A writer that holds the lock is stuck; the process behind the pipe is ended anyway.
        if let Ok(mut stdin) = self.stdin.try_lock() {
            *stdin = None;
        }
        Ok(())
    }
}

enum Line {
    Message(Box<Incoming>),
    /// Nothing, or a notification that is none of MCP's.
    Blank,
    Stray,
    Broken,
}

/// What a line is. Text is broken, not stray, if it means to be a JSON-RPC 2.0 message.
fn read(line: &str) -> Line {
    if line.is_empty() {
        return Line::Blank;
    }
    if let Ok(message) = serde_json::from_str(line) {
        return Line::Message(Box::new(message));
    }
    match serde_json::from_str::<Value>(line) {
        Ok(Value::Object(object)) if object.contains_key("jsonrpc") => {
            let foreign = object.contains_key("method") && !object.contains_key("id");
            if foreign { Line::Blank } else { Line::Broken }
        }
        Err(_) if line.starts_with('{') && line.contains("\"jsonrpc\"") => Line::Broken,
        _ => Line::Stray,
    }
}

/// The id of the request that a message answers.
fn answered(message: &Incoming) -> Option<&RequestId> {
    match message {
        Incoming::Response(response) => Some(&response.id),
        Incoming::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

fn quoted(line: &str) -> String {
    let mut quoted: String = line.chars().take(QUOTED_CHARS).collect();
    if quoted.len() < line.len() {
        quoted.push('…');
    }
    format!("{quoted:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e46_stray_text_is_told_from_broken_messages() {
        for stray in ["Server ready.", "[INFO] up", "{\"level\":30,\"msg\":\"hi\"}", "42", "{ not json"] {
            assert!(matches!(read(stray), Line::Stray), "{stray}");
        }
        for broken in [
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[",
            "{\"jsonrpc\":\"2.0\",\"id\":3}",
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{},\"error\":{\"code\":1,\"message\":\"x\"}}",
        ] {
            assert!(matches!(read(broken), Line::Broken), "{broken}");
        }
        for blank in ["", "{\"jsonrpc\":\"2.0\",\"method\":7}"] {
            assert!(matches!(read(blank), Line::Blank), "{blank}");
        }
        let message = "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}";
        assert!(matches!(read(message), Line::Message(_)));
    }

    #[test]
    fn a_quoted_line_is_short() {
        assert_eq!(quoted("abc"), "\"abc\"");
        assert_eq!(quoted(&"é".repeat(500)).chars().count(), QUOTED_CHARS + 3);
    }
}
