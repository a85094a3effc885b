//! A client of HTTP/1.1 that can also send what no client may: a request is the bytes that are sent.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Time after which a server that says nothing is taken as stuck.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum length of a reply's head, in bytes.
const LONGEST_HEAD: usize = 1 << 20;

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl Request {
    pub(super) fn new(method: &str, path: impl Into<String>) -> Self {
        Self { method: method.to_owned(), path: path.into(), headers: Vec::new(), body: None }
    }

    pub(super) fn get(path: impl Into<String>) -> Self {
        Self::new("GET", path)
    }

    pub(super) fn post(path: impl Into<String>, body: &Value) -> Self {
        Self::new("POST", path).header("content-type", "application/json").body(body.to_string())
    }

    pub(super) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(super) fn token(self, token: &str) -> Self {
        self.header("authorization", format!("Bearer {token}"))
    }

    pub(super) fn key(self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }

    pub(super) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// The bytes that are sent. A `Host` is added where none is given.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        let has = |wanted: &str| self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        // Writing to a text cannot fail.
        for (name, value) in &self.headers {
            let _written = write!(head, "{name}: {value}\r\n");
        }
        if !has("host") {
            head.push_str("host: 127.0.0.1\r\n");
        }
        if let Some(body) = self.body.as_ref().filter(|_| !has("content-length") && !has("transfer-encoding"))
        {
            let _written = write!(head, "content-length: {}\r\n", body.len());
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }

    /// Sends it on a connection of its own.
    pub(super) fn send(&self, server: SocketAddr) -> Result<Reply, String> {
        Connection::open(server)?.exchange(&self.bytes())
    }

    /// The request in words.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// A reply.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Reply {
    pub(super) fn header(&self, wanted: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn json(&self) -> Result<Value, String> {
        serde_json::from_slice(&self.body)
            .map_err(|error| format!("the body is no JSON ({error}): {}", self.text()))
    }

    /// Its beginning for people.
    pub(super) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        format!("{} {}", self.status, text.chars().take(400).collect::<String>())
    }

    /// The code of its error.
    pub(super) fn code(&self) -> String {
        let body = self.json().unwrap_or_default();
        body.pointer("/error/code").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// Its JSON, if it has that status.
    pub(super) fn expect(&self, statuses: &[u16]) -> Result<Value, String> {
        if statuses.contains(&self.status) {
            self.json()
        } else {
            Err(format!("expected {statuses:?}, got {}", self.text()))
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: TcpStream,
    /// The bytes that were received and not yet taken.
    buffer: Vec<u8>,
}

fn words(error: &io::Error) -> String {
    error.to_string()
}

impl Connection {
    pub(super) fn open(server: SocketAddr) -> Result<Self, String> {
        let socket = TcpStream::connect_timeout(&server, PATIENCE)
            .map_err(|error| format!("cannot connect: {error}"))?;
        let set = socket
            .set_read_timeout(Some(PATIENCE))
            .and_then(|()| socket.set_write_timeout(Some(PATIENCE)))
            .and_then(|()| socket.set_nodelay(true));
        set.map_err(|error| words(&error))?;
        Ok(Self { socket, buffer: Vec::new() })
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.socket.write_all(bytes).map_err(|error| format!("cannot send: {error}"))
    }

    /// Sends a request and reads its reply. A server may answer before it has read all and close: its reply counts.
    pub(super) fn exchange(&mut self, request: &[u8]) -> Result<Reply, String> {
        let sent = self.send(request);
        let reply = self.reply();
        match (sent, reply) {
            (_, Ok(reply)) => Ok(reply),
            (Err(sent), Err(read)) => Err(format!("{sent}; and no reply: {read}")),
            (Ok(()), Err(read)) => Err(read),
        }
    }

    /// Reads more. `false`: the end.
    pub(super) fn more(&mut self) -> Result<bool, String> {
        let mut piece = [0; 16 << 10];
        loop {
            match self.socket.read(&mut piece) {
                Ok(0) => return Ok(false),
                Ok(length) => {
                    self.buffer.extend_from_slice(piece.get(..length).unwrap_or_default());
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(words(&error)),
            }
        }
    }

    /// Takes what comes before a text, and the text.
    fn until(&mut self, end: &[u8]) -> Result<Vec<u8>, String> {
        loop {
            if let Some(place) = self.buffer.windows(end.len()).position(|window| window == end) {
                let rest = self.buffer.split_off(place + end.len());
                return Ok(std::mem::replace(&mut self.buffer, rest));
            }
            if self.buffer.len() > LONGEST_HEAD {
                return Err("a head without an end".to_owned());
            }
            if !self.more()? {
                return Err(format!("closed after {} bytes", self.buffer.len()));
            }
        }
    }

    fn exactly(&mut self, length: usize) -> Result<Vec<u8>, String> {
        while self.buffer.len() < length {
            if !self.more()? {
                return Err(format!("closed after {} of {length} bytes", self.buffer.len()));
            }
        }
        let rest = self.buffer.split_off(length);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    /// The head of the next reply.
    pub(super) fn head(&mut self) -> Result<Reply, String> {
        let head = self.until(b"\r\n\r\n")?;
        let head = String::from_utf8(head).map_err(|error| error.to_string())?;
        let mut lines = head.lines();
        let first = lines.next().unwrap_or_default();
        let version = first.strip_prefix("HTTP/1.1 ").or_else(|| first.strip_prefix("HTTP/1.0 "));
        let status = version.and_then(|rest| rest.get(..3)?.parse().ok());
        let Some(status) = status else { return Err(format!("this is no reply: {first:?}")) };
        let header =
            |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
        Ok(Reply { status, headers: lines.filter_map(header).collect(), body: Vec::new() })
    }

    /// The next reply, whole. The body of a reply to HEAD is empty: [`Self::head`] reads it.
    pub(super) fn reply(&mut self) -> Result<Reply, String> {
        let mut reply = loop {
            let head = self.head()?;
            // An interim reply (100) is followed by the reply.
            if head.status >= 200 {
                break head;
            }
        };
        if reply.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
            while let Some(chunk) = self.chunk()? {
                reply.body.extend(chunk);
            }
        } else if let Some(length) = reply.header("content-length") {
            let length = length.parse().map_err(|_| format!("content-length: {length}"))?;
            reply.body = self.exactly(length)?;
        } else if !matches!(reply.status, 204 | 304) {
            while self.more()? {}
            reply.body = std::mem::take(&mut self.buffer);
        }
        Ok(reply)
    }

    /// The next chunk of a body; `None`: the last one.
    pub(super) fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        let line = self.until(b"\r\n")?;
        let line = String::from_utf8_lossy(&line);
        let length =
            usize::from_str_radix(line.trim(), 16).map_err(|_| format!("this is no chunk: {line:?}"))?;
        let chunk = self.exactly(length)?;
        self.until(b"\r\n")?;
        Ok((length > 0).then_some(chunk))
    }

    /// Closes it in a way that makes the peer's kernel send a reset.
    pub(super) fn reset(self) {
        // It closes in either way.
        let _set = rustix::net::sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
    }
}
