//! A reader of event streams, byte by byte, and what it has seen of a run over all its connections.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::http::{Connection, Request};

/// The status of a server that ends: its readers come back.
const AWAY: u16 = 503;

/// An event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StreamEvent {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) data: Value,
}

/// Reads the bytes of a reply as they come: head, chunks, events.
#[derive(Debug, Default)]
struct Decoder {
    raw: Vec<u8>,
    has_head: bool,
    status: u16,
    /// The bytes of chunks.
    text: Vec<u8>,
    /// How many of them hold no end of an event: a long event is not searched anew with each piece.
    searched: usize,
    ended: bool,
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

impl Decoder {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.raw.extend_from_slice(bytes);
        if !self.has_head {
            let Some(end) = find(&self.raw, b"\r\n\r\n") else { return Ok(()) };
            let rest = self.raw.split_off(end + 4);
            let head = std::mem::replace(&mut self.raw, rest);
            let head = String::from_utf8_lossy(&head).into_owned();
            let status = head.get(9..12).and_then(|status| status.parse().ok());
            self.status = status.ok_or_else(|| format!("this is no reply: {head}"))?;
            self.has_head = true;
            if self.status == AWAY {
                return Ok(());
            }
            if self.status != 200 {
                return Err(format!("the stream is {head}{}", String::from_utf8_lossy(&self.raw)));
            }
        }
        while let Some(chunk) = self.chunk()? {
            self.ended |= chunk.is_empty();
            self.text.extend(chunk);
        }
        Ok(())
    }

    /// A whole chunk, if one is there.
    fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        let Some(line) = find(&self.raw, b"\r\n") else { return Ok(None) };
        let length = String::from_utf8_lossy(self.raw.get(..line).unwrap_or_default()).into_owned();
        let length =
            usize::from_str_radix(&length, 16).map_err(|_| format!("this is no chunk: {length:?}"))?;
        let end = line + 2 + length;
        let Some(chunk) = self.raw.get(line + 2..end).filter(|_| self.raw.len() >= end + 2) else {
            return Ok(None);
        };
        let chunk = chunk.to_vec();
        self.raw = self.raw.split_off(end + 2);
        Ok(Some(chunk))
    }

    fn end_of_event(&mut self) -> Option<usize> {
        // The first of the two line ends may have been the last byte.
        let from = self.searched.saturating_sub(1);
        let found = find(self.text.get(from..)?, b"\n\n").map(|end| from + end);
        self.searched = if found.is_some() { 0 } else { self.text.len() };
        found
    }

    /// A whole event, if one is there. Comments are skipped.
    fn event(&mut self) -> Result<Option<StreamEvent>, String> {
        while let Some(end) = self.end_of_event() {
            let rest = self.text.split_off(end + 2);
            let block = std::mem::replace(&mut self.text, rest);
            let block = String::from_utf8(block).map_err(|error| error.to_string())?;
            let field =
                |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            let Some(data) = field("data") else { continue };
            let data = serde_json::from_str(data).map_err(|error| format!("{error} in {data}"))?;
            let (id, name) = (field("id").unwrap_or_default(), field("event").unwrap_or_default());
            return Ok(Some(StreamEvent { id: id.to_owned(), name: name.to_owned(), data }));
        }
        Ok(None)
    }
}

/// The next piece of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Next {
    Event(StreamEvent),
    /// The reply has ended as it should.
    End,
    /// The connection was lost, or nothing has come for too long: why.
    Cut(String),
}

/// A stream that is read.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) connection: Connection,
    decoder: Decoder,
    /// Number of bytes read.
    pub(super) read: usize,
    /// Number of bytes after which no more is read.
    at_most: usize,
}

impl Stream {
    /// Follows a run from a position on, or from its beginning.
    pub(super) fn open(
        server: SocketAddr,
        token: &str,
        run: &str,
        from: Option<&str>,
    ) -> Result<Self, String> {
        let mut request = Request::get(format!("/v1/runs/{run}/stream")).token(token);
        if let Some(position) = from {
            request = request.header("last-event-id", position);
        }
        let mut connection = Connection::open(server)?;
        connection.send(&request.bytes())?;
        Ok(Self { connection, decoder: Decoder::default(), read: 0, at_most: usize::MAX })
    }

    /// The same, with a bound on what is read.
    pub(super) fn at_most(self, bytes: usize) -> Self {
        Self { at_most: bytes, ..self }
    }

    /// The same, with a bound on the time of silence.
    pub(super) fn patient_for(self, time: Duration) -> Result<Self, String> {
        self.connection.socket.set_read_timeout(Some(time)).map_err(|error| error.to_string())?;
        Ok(self)
    }

    pub(super) fn next(&mut self) -> Result<Next, String> {
        let mut piece = vec![0; 32 << 10];
        loop {
            if let Some(event) = self.decoder.event()? {
                return Ok(Next::Event(event));
            }
            if self.decoder.ended {
                return Ok(Next::End);
            }
            if self.decoder.status == AWAY {
                return Ok(Next::Cut("the server ends".to_owned()));
            }
            let length = piece.len().min(self.at_most - self.read.min(self.at_most));
            let Some(space) = piece.get_mut(..length).filter(|space| !space.is_empty()) else {
                return Ok(Next::Cut("no more is read".to_owned()));
            };
            let socket: &mut TcpStream = &mut self.connection.socket;
            match socket.read(space) {
                Ok(0) => return Ok(Next::Cut("an orderly end".to_owned())),
                Ok(length) => {
                    self.read += length;
                    self.decoder.feed(piece.get(..length).unwrap_or_default())?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Ok(Next::Cut(error.to_string())),
            }
        }
    }
}

/// A reader's view of a run, over all its connections. It is checked as it comes.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The events, in order and without a gap.
    pub(super) events: Vec<Value>,
    /// The position to come back to.
    pub(super) position: Option<String>,
    /// The pieces of text of each model call, without those that became void.
    texts: BTreeMap<u64, String>,
    /// The same of calls.
    calls: BTreeMap<u64, String>,
    /// Model calls by their turns.
    actions: BTreeMap<u64, u64>,
    /// Number of pieces.
    pub(super) pieces: u64,
    /// How often pieces became void.
    pub(super) voids: u64,
    /// Why the last stream ended.
    pub(super) end: Option<String>,
    /// Why the last connection that was cut ended.
    pub(super) cut: Option<String>,
}

/// A position as numbers, which grow.
fn numbers(position: &str) -> Vec<u64> {
    position.split('.').filter_map(|number| number.parse().ok()).collect()
}

impl Seen {
    /// Takes an event of a stream.
    pub(super) fn take(&mut self, event: &StreamEvent) -> Result<(), String> {
        let text = |name: &str| event.data.get(name).and_then(Value::as_str).unwrap_or_default();
        let action = event.data.get("action").and_then(Value::as_u64).unwrap_or_default();
        if event.name != "end"
            && let Some(before) = &self.position
            && numbers(&event.id) <= numbers(before)
        {
            return Err(format!("position {} comes after {before}: {}", event.id, event.data));
        }
        match event.name.as_str() {
            "events" => {
                for fact in event.data.get("events").and_then(Value::as_array).into_iter().flatten() {
                    self.fact(fact)?;
                }
            }
            "text" => self.texts.entry(action).or_default().push_str(text("text")),
            "call" => {
                let call = self.calls.entry(action).or_default();
                call.push_str(text("name"));
                call.push_str(text("args"));
            }
            "void" => {
                self.texts.remove(&action);
                self.calls.remove(&action);
                self.voids += 1;
            }
            "end" => self.end = Some(text("reason").to_owned()),
            "log" => {}
            other => {
                return Err(format!("an update of a kind that was not expected: {other} {}", event.data));
            }
        }
        self.pieces += u64::from(matches!(event.name.as_str(), "text" | "call"));
        self.position = Some(event.id.clone());
        Ok(())
    }

    /// Takes a fact: the next one, and a reply whose pieces came is their sum.
    fn fact(&mut self, fact: &Value) -> Result<(), String> {
        let seq = fact.get("seq").and_then(Value::as_u64).unwrap_or_default();
        let expected = self.events.len() as u64 + 1;
        if seq != expected {
            return Err(format!("event {seq} came, expected {expected} (position {:?})", self.position));
        }
        let turn = fact.pointer("/data/turn").and_then(Value::as_u64).unwrap_or_default();
        match fact.get("event").and_then(Value::as_str).unwrap_or_default() {
            "TurnStarted" => {
                self.actions.insert(turn, seq);
            }
            "TurnCompleted" => {
                let action = self.actions.get(&turn).copied().unwrap_or_default();
                let text = fact.pointer("/data/text").and_then(Value::as_str).unwrap_or_default();
                whole(seq, "text", self.texts.get(&action), text)?;
                let mut calls = String::new();
                for call in fact.pointer("/data/calls").and_then(Value::as_array).into_iter().flatten() {
                    for part in ["name", "args"] {
                        calls.push_str(call.get(part).and_then(Value::as_str).unwrap_or_default());
                    }
                }
                whole(seq, "calls", self.calls.get(&action), &calls)?;
            }
            _ => {}
        }
        self.events.push(fact.clone());
        Ok(())
    }

    /// Reads a stream for as long as it gives anything. `true`: it was cut.
    pub(super) fn read(&mut self, stream: &mut Stream) -> Result<bool, String> {
        loop {
            match stream.next()? {
                Next::Event(event) => self.take(&event)?,
                Next::End => return Ok(false),
                Next::Cut(why) => {
                    self.cut = Some(why);
                    return Ok(true);
                }
            }
        }
    }

    /// Whether the run's end was seen.
    pub(super) fn is_finished(&self) -> bool {
        self.end.as_deref() == Some("finished")
    }
}

/// A reader that has come after the reply was stored sees no pieces of it. One that has seen a piece sees all.
fn whole(seq: u64, what: &str, pieces: Option<&String>, whole: &str) -> Result<(), String> {
    match pieces {
        Some(pieces) if pieces != whole => {
            Err(format!("the pieces of {what} before event {seq} are {pieces:?}, the reply is {whole:?}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Decoder, Seen, StreamEvent};

    fn event(id: &str, name: &str, data: serde_json::Value) -> StreamEvent {
        StreamEvent { id: id.to_owned(), name: name.to_owned(), data }
    }

    #[test]
    fn a_stream_is_decoded_from_any_pieces() {
        let body = ":\n\nid: 2\nevent: text\ndata: {\"a\":1}\n\n";
        let raw = format!("HTTP/1.1 200 OK\r\nx: y\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        for length in 1..raw.len() {
            let (mut decoder, mut found) = (Decoder::default(), Vec::new());
            for piece in raw.as_bytes().chunks(length) {
                decoder.feed(piece).unwrap();
                found.extend(decoder.event().unwrap());
            }
            assert_eq!(found, [event("2", "text", json!({ "a": 1 }))]);
            assert!(decoder.ended);
        }
    }

    #[test]
    fn gaps_repeats_and_missing_pieces_are_seen() {
        let facts =
            |seq: u64| json!({ "events": [{ "seq": seq, "event": "TurnStarted", "data": { "turn": 1 } }] });
        let mut seen = Seen::default();
        seen.take(&event("1", "events", facts(1))).unwrap();
        assert!(seen.clone().take(&event("3", "events", facts(3))).is_err());
        assert!(seen.clone().take(&event("1", "events", facts(1))).is_err());
        seen.take(&event("1.1.0.0.2.0", "text", json!({ "action": 1, "text": "ab" }))).unwrap();
        let reply = |text: &str| json!({ "events": [{ "seq": 2, "event": "TurnCompleted", "data": { "turn": 1, "text": text } }] });
        assert!(seen.clone().take(&event("2", "events", reply("abc"))).is_err());
        seen.take(&event("2", "events", reply("ab"))).unwrap();
    }
}
