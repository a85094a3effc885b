//! Server-sent events of a response, with a bound on each and with what is no UTF-8 replaced.

use std::io::Cursor;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};
use windlass_http::Body;

use crate::mcp::client::asking::Fault;

/// The longest event, in bytes; a line over stdio has the same bound.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// The lines of a response, and how much of an event has come.
struct Lines {
    body: Body,
    /// A line of which the end is still to come.
    rest: Vec<u8>,
    /// The last byte that came.
    last: u8,
    /// Bytes of the event so far.
    event: usize,
    fault: Fault,
    over: bool,
}

/// The events of a response. One that is too long ends the connection.
pub(super) fn of(body: Body, fault: Fault) -> BoxStream<'static, Result<Sse, SseError>> {
    let lines = Lines { body, rest: Vec::new(), last: b'\n', event: 0, fault, over: false };
    let chunks = stream::unfold(lines, |mut lines| async move {
        let chunk = lines.next().await?;
        Some((chunk, lines))
    });
    SseStream::from_bytes_stream(chunks.boxed()).boxed()
}

impl Lines {
    /// The next whole lines.
    async fn next(&mut self) -> Option<std::io::Result<Cursor<Vec<u8>>>> {
        while !self.over {
            let whole = match self.body.next().await {
                Some(Ok(chunk)) => self.whole(&chunk),
                Some(Err(error)) => {
                    self.over = true;
                    return Some(Err(std::io::Error::other(error)));
                }
                None => {
                    self.over = true;
                    std::mem::take(&mut self.rest)
                }
            };
            if self.event > MAX_EVENT_BYTES {
                self.fault.give_up(format!("it sent an event of more than {MAX_EVENT_BYTES} bytes"));
                self.over = true;
                return None;
            }
            if !whole.is_empty() {
                return Some(Ok(Cursor::new(String::from_utf8_lossy(&whole).into_owned().into_bytes())));
            }
        }
        None
    }

    /// The part of the lines that is complete with this chunk.
    fn whole(&mut self, chunk: &[u8]) -> Vec<u8> {
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        for line in chunk.split_inclusive(is_end) {
            // An empty line ends an event. The second half of `\r\n` is none.
            let is_empty = is_end(&self.last) && matches!((self.last, line), (_, b"\r") | (b'\n', b"\n"));
            self.event = if is_empty { 0 } else { self.event.saturating_add(line.len()) };
            self.last = line.last().copied().unwrap_or_default();
        }
        let Some(end) = chunk.iter().rposition(is_end) else {
            self.rest.extend_from_slice(chunk);
            return Vec::new();
        };
        let (whole, rest) = chunk.split_at(end + 1);
        let mut lines = std::mem::replace(&mut self.rest, rest.to_vec());
        lines.extend_from_slice(whole);
        lines
    }
}
