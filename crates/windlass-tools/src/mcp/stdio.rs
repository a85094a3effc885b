//! Owns the wire to a child process: one JSON message per line (MCP 2025-11-25, Transports, stdio).
//!
//! rmcp has such a transport, but it skips what it cannot read, so that a call whose answer was broken would hang. This
//! one tells two things apart: stray text, which many servers print although they must not, is skipped up to a bound; a
//! broken message ends the connection, and with it every pending call, with an error.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
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
use windlass_core::text::Steps;
use windlass_threads::{LARGE_BYTES, off_thread};

use super::asking::{Fault, Incoming};
use super::process::Pipes;

/// The longest line that a server may send, in bytes; over HTTP rmcp has the same bound.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Maximum number of consecutive stray lines that are skipped.
const MAX_STRAY_LINES: usize = 1_000;

/// Maximum time that the server may leave a message unread.
const WRITE_LIMIT: Duration = Duration::from_secs(30);

/// Maximum number of characters quoted from an unreadable line.
const QUOTED_CHARS: usize = 120;

/// The wire to a child process.
pub(super) struct StdioTransport {
    lines: FramedRead<ChildStdout, LinesCodec>,
    stdin: Arc<tokio::sync::Mutex<Option<ChildStdin>>>,
    stray: usize,
    fault: Fault,
    /// The id of an `initialize` that is not answered yet.
    initialize: Arc<Mutex<Option<RequestId>>>,
    /// A long line that is being read elsewhere. Kept here, because who receives may turn to something else meanwhile.
    away: Option<BoxFuture<'static, (String, Line)>>,
}

impl StdioTransport {
    pub(super) fn new(pipes: Pipes, fault: Fault) -> Self {
        Self {
            lines: FramedRead::new(pipes.stdout, LinesCodec::new_with_max_length(MAX_LINE_BYTES)),
            stdin: Arc::new(tokio::sync::Mutex::new(Some(pipes.stdin))),
            stray: 0,
            fault,
            initialize: Arc::default(),
            away: None,
        }
    }

    /// The next line, and what it is. `None`: there are no more.
    async fn next(&mut self) -> Option<Result<(String, Line), LinesCodecError>> {
        if self.away.is_none() {
            let line = match self.lines.next().await? {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            let heft = line.len() as u64;
            let fault = self.fault.clone();
            let work = move || {
                let text = line.trim_start_matches('\u{feff}').trim();
                let steps = Steps::default();
                let read = if fault.takes(text, &steps) { read(text, &steps) } else { Line::PassedOver };
                (line, read)
            };
            if heft < LARGE_BYTES {
                return Some(Ok(work()));
            }
            self.away = Some(Box::pin(off_thread(heft, work)));
        }
        let read = self.away.as_mut()?.await;
        self.away = None;
        Some(Ok(read))
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
            let (line, read) = match self.next().await? {
                Ok(read) => read,
                Err(LinesCodecError::MaxLineLengthExceeded) => {
                    self.fault.give_up(format!("it sent a line of more than {MAX_LINE_BYTES} bytes"));
                    return None;
                }
                Err(LinesCodecError::Io(error)) => {
                    self.fault.give_up(format!("cannot read its output: {error}"));
                    return None;
                }
            };
            match read {
                Line::PassedOver if self.fault.get().is_some() => return None,
                Line::Message(message) if self.is_late(&message) => {}
                Line::Message(message) => {
                    self.stray = 0;
                    return Some(*message);
                }
                Line::Blank | Line::PassedOver => {}
                Line::Stray if self.stray < MAX_STRAY_LINES => self.stray += 1,
                Line::Stray => {
                    self.fault
                        .give_up(format!("it writes text instead of messages, such as {}", quoted(&line)));
                    return None;
                }
                Line::Broken => {
                    self.fault.give_up(format!("it sent a broken message: {}", quoted(&line)));
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
    /// More than a server may ask or tell.
    PassedOver,
}

/// Classifies a line. Text that looks like a JSON-RPC 2.0 message is broken, other text is stray.
fn read(line: &str, steps: &Steps) -> Line {
    steps.add(1 + line.len());
    if line.is_empty() {
        return Line::Blank;
    }
    if let Ok(message) = serde_json::from_str(line) {
        return Line::Message(Box::new(message));
    }
    steps.add(2 * line.len());
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
        Incoming::Request(_) | Incoming::Notification(_) => None,
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
    use std::process::Stdio;

    use windlass_core::text::{Shape, doubling};

    use super::*;

    fn line(line: &str) -> Line {
        read(line, &Steps::default())
    }

    #[test]
    fn reading_a_line_costs_its_length() {
        let shapes: [Shape; 6] = [
            ("text", |n| "x".repeat(n)),
            ("a message", |n| {
                format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"a\":\"{}\"}}}}", "x".repeat(n))
            }),
            ("a question", |n| {
                format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{}\",\"method\":\"ping\"}}", "x".repeat(n))
            }),
            ("brackets", |n| format!("{{\"jsonrpc\":{}", "[".repeat(n))),
            ("fields", |n| format!("{{{}\"jsonrpc\":\"2.0\"}}", "\"a\":[],".repeat(n))),
            ("items", |n| format!("[{}1]", "1,".repeat(n))),
        ];
        for (what, shape) in shapes {
            let cost = |n| {
                let (steps, line) = (Steps::default(), shape(n));
                if Fault::default().takes(&line, &steps) {
                    let _line = read(&line, &steps);
                }
                steps.count()
            };
            doubling(cost).unwrap_or_else(|fault| panic!("{what}: {fault}"));
        }
    }

    #[test]
    fn e46_stray_text_is_told_from_broken_messages() {
        for stray in ["Server ready.", "[INFO] up", "{\"level\":30,\"msg\":\"hi\"}", "42", "{ not json"] {
            assert!(matches!(line(stray), Line::Stray), "{stray}");
        }
        for broken in [
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[",
            "{\"jsonrpc\":\"2.0\",\"id\":3}",
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{},\"error\":{\"code\":1,\"message\":\"x\"}}",
        ] {
            assert!(matches!(line(broken), Line::Broken), "{broken}");
        }
        for blank in ["", "{\"jsonrpc\":\"2.0\",\"method\":7}"] {
            assert!(matches!(line(blank), Line::Blank), "{blank}");
        }
        let message = "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}";
        assert!(matches!(line(message), Line::Message(_)));
    }

    /// rmcp turns to what else it has to do in the midst of receiving: a line that is read elsewhere is not lost by that.
    #[cfg(unix)]
    #[tokio::test(flavor = "current_thread")]
    async fn a_large_line_is_read_elsewhere_and_waits_for_its_receiver() {
        let text = "x".repeat(LARGE_BYTES as usize);
        let message =
            |text: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{{\"x\":\"{text}\"}}}}\n");
        let mut child = tokio::process::Command::new("cat");
        let mut child =
            child.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut source = child.stdin.take().unwrap();
        let mut other = tokio::process::Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
        let pipes = Pipes { stdin: other.stdin.take().unwrap(), stdout: child.stdout.take().unwrap() };
        let mut transport = StdioTransport::new(pipes, Fault::default());
        let lines = [message("short"), message(&text)];
        let writing = lines.concat();
        let feed = tokio::spawn(async move { source.write_all(writing.as_bytes()).await });
        let (mut seen, mut elsewhere) = (Vec::new(), 0);
        while seen.len() < lines.len() {
            let received = tokio::select! {
                biased;
                received = transport.next() => received,
                () = tokio::task::yield_now() => {
                    elsewhere += usize::from(transport.away.is_some());
                    continue;
                }
            };
            let (line, read) = received.unwrap().unwrap();
            assert!(matches!(read, Line::Message(_)), "{}", quoted(&line));
            seen.push(line + "\n");
        }
        assert_eq!(seen, lines);
        assert!(elsewhere > 0, "it was read on the spot");
        feed.await.unwrap().unwrap();
        other.wait().await.unwrap();
    }

    #[test]
    fn a_quoted_line_is_short() {
        assert_eq!(quoted("abc"), "\"abc\"");
        assert_eq!(quoted(&"é".repeat(500)).chars().count(), QUOTED_CHARS + 3);
    }
}
