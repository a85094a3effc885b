//! Owns the wire to a child process: one JSON message per line (MCP 2025-11-25, Transports, stdio).
//!
//! rmcp has such a transport, but it skips what it cannot read, so that a call whose answer was broken would hang. This
//! one tells two things apart: stray text, which many servers print although they must not, is skipped up to a bound; an
//! answer that cannot be read fails the request that it belongs to, and nothing else.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_util::StreamExt;
use rmcp::RoleClient;
use rmcp::model::{ClientNotification, ClientRequest, RequestId};
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::timeout;
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, FramedRead};
use windlass_threads::{LARGE_BYTES, off_thread};

use super::asking::{Fault, Incoming};
use super::process::Pipes;
use super::reading::{self, Answer, Read, is_same, quoted};
use super::sent::Sent;

/// The longest line that a server may send, in bytes; over HTTP rmcp has the same bound.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Maximum number of consecutive stray lines that are skipped.
const MAX_STRAY_LINES: usize = 1_000;

/// Maximum number of messages that are read behind the first one of a line.
const MAX_MORE: usize = 16;

/// Maximum time that the server may leave a message unread.
const WRITE_LIMIT: Duration = Duration::from_secs(30);

/// The wire to a child process.
pub(super) struct StdioTransport {
    lines: FramedRead<ChildStdout, AnyDelimiterCodec>,
    stdin: Arc<tokio::sync::Mutex<Option<ChildStdin>>>,
    stray: usize,
    /// The end of the last line, behind its message.
    rest: String,
    /// Number of messages behind the first one of this line.
    more: usize,
    fault: Fault,
    /// The requests that wait for an answer.
    open: Arc<Mutex<Vec<RequestId>>>,
    /// The id of an `initialize` that is not answered yet.
    initialize: Arc<Mutex<Option<RequestId>>>,
    /// A long line that is being read elsewhere. Kept here, because who receives may turn to something else meanwhile.
    away: Option<BoxFuture<'static, (String, Line)>>,
}

impl StdioTransport {
    pub(super) fn new(pipes: Pipes, fault: Fault) -> Self {
        Self {
            lines: FramedRead::new(
                pipes.stdout,
                AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), Vec::new(), MAX_LINE_BYTES),
            ),
            stdin: Arc::new(tokio::sync::Mutex::new(Some(pipes.stdin))),
            stray: 0,
            rest: String::new(),
            more: 0,
            fault,
            open: Arc::default(),
            initialize: Arc::default(),
            away: None,
        }
    }

    /// The next line, and what it is. `None`: there are no more.
    async fn next(&mut self) -> Option<Result<(String, Line), AnyDelimiterCodecError>> {
        if self.away.is_none() {
            let rest = std::mem::take(&mut self.rest);
            let line = if rest.is_empty() || self.more == MAX_MORE {
                self.more = 0;
                match self.lines.next().await? {
                    Ok(line) => line,
                    Err(error) => return Some(Err(error)),
                }
            } else {
                self.more += 1;
                rest.into()
            };
            let size = line.len() as u64;
            let fault = self.fault.clone();
            let work = move || {
                // Logs come in any encoding, and answers with bytes of files in them.
                let line = String::from_utf8_lossy(&line).into_owned();
                let read = read(&line, &fault);
                (line, read)
            };
            if size < LARGE_BYTES {
                return Some(Ok(work()));
            }
            self.away = Some(Box::pin(off_thread(size, work)));
        }
        let read = self.away.as_mut()?.await;
        self.away = None;
        Some(Ok(read))
    }

    /// The request that an answer belongs to: the one that it names, or else the only one there is. It waits no longer.
    fn owner(&self, answer: &Answer) -> Option<RequestId> {
        let mut open = lock(&self.open);
        let place = match &answer.id {
            Some(id) => open.iter().position(|request| is_same(request, id))?,
            None if open.len() == 1 => 0,
            None => return None,
        };
        Some(open.swap_remove(place))
    }

    /// Makes a message of an answer. `None`: nobody waits for it.
    fn placed(&self, answer: Answer, line: &str) -> Option<Incoming> {
        let Some(owner) = self.owner(&answer) else {
            let error = answer.error().map(|error| error.message.as_ref());
            tracing::warn!(error, "an MCP server's answer belongs to no request: {}", quoted(line));
            return None;
        };
        Some(answer.to(owner))
    }

    /// Whether a message answers the probe that came before `initialize`. A server that takes longer to start than
    /// rmcp waits for the probe's answer gives it later, and rmcp would take it for a wrong answer to `initialize`.
    fn is_late(&self, message: &Incoming) -> bool {
        let mut initialize = lock(&self.initialize);
        let (Some(awaited), Some(id)) = (initialize.as_ref(), answered(message)) else { return false };
        if awaited == id {
            *initialize = None;
            return false;
        }
        true
    }
}

impl StdioTransport {
    /// Keeps account of the requests that wait for an answer.
    fn note(&self, item: &TxJsonRpcMessage<RoleClient>) {
        match item {
            TxJsonRpcMessage::<RoleClient>::Request(request) => {
                if let ClientRequest::InitializeRequest(_) = &request.request {
                    *lock(&self.initialize) = Some(request.id.clone());
                }
                lock(&self.open).push(request.id.clone());
            }
            TxJsonRpcMessage::<RoleClient>::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                    lock(&self.open).retain(|id| Some(id) != cancelled.params.request_id.as_ref());
                }
            }
            TxJsonRpcMessage::<RoleClient>::Response(_) | TxJsonRpcMessage::<RoleClient>::Error(_) => {}
        }
    }

    /// Hands a message on. `None`: it is late.
    fn taken(&mut self, message: Incoming) -> Option<Incoming> {
        if self.is_late(&message) {
            return None;
        }
        if let Some(id) = answered(&message) {
            lock(&self.open).retain(|request| !is_same(request, id));
        }
        self.stray = 0;
        Some(message)
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.note(&item);
        let stdin = self.stdin.clone();
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut stdin = stdin.lock().await;
            let pipe = stdin.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            if Sent::of(&item).is_some_and(|sent| !sent.begin()) {
                return Err(io::Error::other("the call was given up"));
            }
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
                Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => {
                    self.fault.give_up(format!("it sent a line of more than {MAX_LINE_BYTES} bytes"));
                    return None;
                }
                Err(AnyDelimiterCodecError::Io(error)) => {
                    self.fault.give_up(format!("cannot read its output: {error}"));
                    return None;
                }
            };
            let message = match read {
                Line::PassedOver if self.fault.get().is_some() => return None,
                Line::Nothing | Line::PassedOver => continue,
                Line::Is(read, rest) => {
                    self.rest = rest;
                    match read {
                        Read::Foreign => continue,
                        Read::Message(message) => Some(*message),
                        Read::Answer(answer) => self.placed(answer, &line),
                        Read::Stray => None,
                    }
                }
            };
            if let Some(message) = message {
                if let Some(message) = self.taken(message) {
                    return Some(message);
                }
            } else if self.stray < MAX_STRAY_LINES {
                self.stray += 1;
            } else {
                let why = format!("it writes text instead of messages, such as {}", quoted(&line));
                self.fault.give_up(why);
                return None;
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
    Nothing,
    /// More than a server may ask or tell.
    PassedOver,
    /// The message, and the text behind it.
    Is(Read, String),
}

fn read(line: &str, fault: &Fault) -> Line {
    let text = line.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        Line::Nothing
    } else {
        reading::heard(text, fault)
            .map_or(Line::PassedOver, |heard| Line::Is(heard.read, heard.rest.to_owned()))
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

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use windlass_core::text::steps::{Shape, doubling, taken};

    use super::*;

    #[test]
    fn reading_a_line_costs_its_length() {
        let shapes: [Shape; 10] = [
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
            ("halves", |n| {
                format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{}\"}}", "\\ud83d".repeat(n))
            }),
            ("text before it", |n| {
                format!("{}{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{}}}}", "{\"a\":".repeat(n))
            }),
            ("text behind it", |n| {
                format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{}}}}{}", "{\"a\":1}".repeat(n))
            }),
            ("a broken answer", |n| format!("{{\"jsonrpc\":\"2.0\",\"result\":{{{}", "\"a\": 1, ".repeat(n))),
        ];
        for (what, shape) in shapes {
            let cost = |n| {
                let line = shape(n);
                taken(|| read(&line, &Fault::default()))
            };
            doubling(cost).unwrap_or_else(|fault| panic!("{what}: {fault}"));
        }
    }

    /// rmcp turns to what else it has to do in the midst of receiving: a line that is read elsewhere is not lost by that.
    #[cfg(unix)]
    #[tokio::test(flavor = "current_thread")]
    async fn a_large_line_is_read_elsewhere_and_waits_for_its_receiver() {
        let text = "x".repeat(LARGE_BYTES as usize);
        let message = |text: &str| {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{{\"structuredContent\":\"{text}\"}}}}\n")
        };
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
            assert!(matches!(read, Line::Is(Read::Message(_), _)), "{}", quoted(&line));
            seen.push(line + "\n");
        }
        assert_eq!(seen, lines);
        assert!(elsewhere > 0, "it was read on the spot");
        feed.await.unwrap().unwrap();
        other.wait().await.unwrap();
    }
}
