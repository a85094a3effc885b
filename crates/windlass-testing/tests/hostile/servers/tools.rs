//! The hostile tool server: MCP, one JSON message a line, or over streamable HTTP.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::ESCAPES;
use super::json::{deep, replaced};
use super::listen::{Connection, Listener};
use super::tool_attack::ToolAttack;

/// The list of tools that attacks change.
pub(super) const LISTED: &str = r#"{"tools":[{"name":"echo","title":"Echo","description":"Says it again.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"annotations":{"readOnlyHint":false}}]}"#;
/// The result of a call that attacks change.
pub(super) const CALLED: &str =
    r#"{"content":[{"type":"text","text":"again"}],"structuredContent":{"text":"again"},"isError":false}"#;

/// Number of tools per page of [`ToolAttack::EndlessPages`].
const PAGE: usize = 5;

/// A tool server that attacks who uses it. It lives in the test's own process; [`HostileTools::command`] is a program that
/// connects a client of child processes with it, [`HostileTools::url`] is where it speaks HTTP.
#[derive(Debug)]
pub(crate) struct HostileTools {
    listener: Listener,
}

impl HostileTools {
    /// Starts it.
    ///
    /// # Errors
    /// There is no port or no thread for it.
    pub(crate) fn start(attack: ToolAttack) -> io::Result<Self> {
        let (attack, progress) = (Arc::new(attack), Arc::new(Mutex::default()));
        let listener = Listener::start(move |client| serve(&client, &attack, &progress))?;
        Ok(Self { listener })
    }

    /// A program whose stdin and stdout are the server's: `bash`, through its `/dev/tcp`.
    pub(crate) fn command(&self) -> Vec<String> {
        let port = self.listener.address.port();
        let bridge = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port} 4<&0; cat <&4 >&3 & a=$!; cat <&3 & b=$!; wait -n; kill $a $b"
        );
        vec!["bash".to_owned(), "-c".to_owned(), bridge]
    }

    /// Its URL for streamable HTTP: each answer is a stream of events, and each connection carries one message.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.listener.address)
    }

    /// Number of bytes sent: taken by the client before it hung up, or buffered by the system.
    pub(crate) fn sent(&self) -> u64 {
        self.listener.counts.sent.load(Ordering::Relaxed)
    }
}

/// Progress of the server with its client.
#[derive(Default)]
struct Progress {
    /// Number of list requests.
    lists: usize,
    /// A call whose answer waits for the next one's.
    held: Option<Value>,
}

/// Speaks what the client speaks first: lines, or HTTP.
fn serve(client: &Connection, attack: &ToolAttack, progress: &Mutex<Progress>) -> io::Result<()> {
    let mut reader = BufReader::new(&client.stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    if first.ends_with("HTTP/1.1\r\n") {
        return Session { client, attack, progress, wire: Wire::Events }.serve_http(&first, reader);
    }
    let own = Mutex::default();
    let session = Session { client, attack, progress: &own, wire: Wire::Lines };
    for line in std::iter::once(Ok(first)).chain(reader.lines()) {
        if !session.answer(&serde_json::from_str(&line?).unwrap_or_default())? {
            break;
        }
    }
    Ok(())
}

/// Transport of the messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wire {
    /// Each is a line.
    Lines,
    /// Each is a server-sent event.
    Events,
}

/// One client.
struct Session<'c> {
    client: &'c Connection,
    attack: &'c ToolAttack,
    progress: &'c Mutex<Progress>,
    wire: Wire,
}

impl Session<'_> {
    /// The one message of a connection.
    fn serve_http(&self, first: &str, mut reader: BufReader<&TcpStream>) -> io::Result<()> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or_default();
            }
        }
        let status = |status: &str| {
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            self.client.send(head.as_bytes())
        };
        if !first.starts_with("POST ") {
            return status("405 Method Not Allowed");
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        if !is_request(&message) {
            self.client.counts.requests.fetch_add(1, Ordering::Relaxed);
            return status("202 Accepted");
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        self.client.send(head.as_bytes())?;
        let before = self.client.counts.sent.load(Ordering::Relaxed);
        let goes_on = self.answer(&message)?;
        // A call without an answer keeps its stream.
        if goes_on && self.client.counts.sent.load(Ordering::Relaxed) == before {
            return self.client.hang();
        }
        Ok(())
    }

    /// Answers a message. Whether the session goes on.
    fn answer(&self, message: &Value) -> io::Result<bool> {
        self.client.counts.requests.fetch_add(1, Ordering::Relaxed);
        if !is_request(message) {
            return Ok(true);
        }
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
        let id = message.get("id").cloned().unwrap_or_default();
        match method {
            "initialize" => self.greet(&id),
            "tools/list" => self.list(&id),
            "tools/call" => self.call(&id),
            "ping" => self.result(&id, "{}"),
            _ => {
                let error = json!({ "code": -32601, "message": "no such method" });
                self.say(&json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
            }
        }
    }

    fn progress(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message as the wire carries it.
    fn framed(&self, line: &str) -> String {
        match self.wire {
            Wire::Lines => format!("{line}\n"),
            Wire::Events => format!("data: {line}\n\n"),
        }
    }

    /// Sends messages made of the numbers from 0 on, for ever. Whether the session goes on: no.
    fn flood(&self, make: impl Fn(u64) -> String) -> io::Result<bool> {
        self.client.flood_with(|number| self.framed(&make(number))).map(|()| false)
    }

    /// Sends a message. Whether the session goes on: always.
    fn say(&self, line: &str) -> io::Result<bool> {
        self.client.send(self.framed(line).as_bytes()).map(|()| true)
    }

    /// Keeps the id of a call until the next one comes: then gives it.
    fn hold(&self, id: &Value) -> Option<Value> {
        let mut progress = self.progress();
        let first = progress.held.take();
        if first.is_none() {
            progress.held = Some(id.clone());
        }
        first
    }

    fn result(&self, id: &Value, result: &str) -> io::Result<bool> {
        self.say(&answer(id, result))
    }

    fn greet(&self, id: &Value) -> io::Result<bool> {
        let info = json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": { "name": "hostile", "version": "1" } });
        if *self.attack == ToolAttack::Silence {
            self.client.hang().map(|()| false)
        } else if *self.attack == ToolAttack::Close {
            Ok(false)
        } else if *self.attack == ToolAttack::Noise {
            self.say("\u{0}\u{1}{\"jsonrpc\":\"2.0\",\"id\":[[[").map(|_| true)
        } else if *self.attack == ToolAttack::Refuses {
            let error = json!({ "code": i64::MIN, "message": ESCAPES, "data": { "a": ESCAPES } });
            self.say(&json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
        } else if *self.attack == ToolAttack::GreetsTwice {
            self.result(id, &info.to_string())?;
            self.result(id, &info.to_string())
        } else {
            self.result(id, &info.to_string())
        }
    }

    fn list(&self, id: &Value) -> io::Result<bool> {
        let mut progress = self.progress();
        progress.lists += 1;
        let n = progress.lists;
        drop(progress);
        let listed = self.listed(n);
        self.result(id, &listed)?;
        if *self.attack == ToolAttack::ChangesForEver {
            let changed = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}";
            for _ in 0..10 {
                self.say(changed)?;
            }
        }
        Ok(true)
    }

    /// The server's list at the `n`th request.
    fn listed(&self, n: usize) -> String {
        let page = |tools: Vec<Value>, next: Option<String>| {
            let next = next.map_or(Value::Null, Value::String);
            let page = json!({ "tools": tools, "nextCursor": next });
            page.to_string()
        };
        let one = |schema: Value| page(vec![tool("echo", "Says it again.", &schema)], None);
        let plain = |name: &str| tool(name, "Does it.", &json!({ "type": "object" }));
        match self.attack {
            ToolAttack::EndlessPages => {
                page((0..PAGE).map(|tool| plain(&format!("t{n}_{tool}"))).collect(), Some(n.to_string()))
            }
            ToolAttack::SamePage => page(vec![plain(&format!("t{n}"))], Some("again".to_owned())),
            ToolAttack::ManyTools(count) => {
                page((0..*count).map(|n| plain(&format!("t{n}"))).collect(), None)
            }
            ToolAttack::ChangesForEver => page(vec![plain("echo"), plain(&format!("t{n}"))], None),
            ToolAttack::Names => {
                page(["echo", ESCAPES, "", &"n".repeat(1 << 20), "twin", "twin"].map(plain).to_vec(), None)
            }
            ToolAttack::Description(bytes) => {
                let description = format!("{ESCAPES}{}", "d".repeat(*bytes));
                page(vec![tool("echo", &description, &json!({ "type": "object" }))], None)
            }
            ToolAttack::ExplodingSchema(levels) => one(exploding(*levels)),
            ToolAttack::DeepSchema(levels) => {
                let (open, close) = ("{\"properties\":{\"a\":".repeat(*levels), "}}".repeat(*levels));
                format!("{{\"tools\":[{{\"name\":\"echo\",\"inputSchema\":{open}{{}}{close}}}]}}")
            }
            ToolAttack::SlowPattern => one(
                json!({ "type": "object", "properties": { "text": { "type": "string", "pattern": "^(a|a|aa)+$" },
                    "other": { "type": "string", "pattern": "^(?=(a+)+b)\\1$" } } }),
            ),
            ToolAttack::ForeignSchema => {
                one(json!({ "type": "object", "properties": { "text": { "$ref": "file:///etc/passwd" },
                    "other": { "$ref": "http://127.0.0.1:9/schema.json" } } }))
            }
            ToolAttack::FalseHints => page(vec![falsely_hinted()], None),
            ToolAttack::ListType { nth, with } => replaced(LISTED, *nth, with),
            ToolAttack::None
            | ToolAttack::Silence
            | ToolAttack::Close
            | ToolAttack::Noise
            | ToolAttack::Refuses
            | ToolAttack::ResultType { .. }
            | ToolAttack::DiesInCall
            | ToolAttack::CutInCall(_)
            | ToolAttack::HangsInCall
            | ToolAttack::ForeignId
            | ToolAttack::AnswersTwice
            | ToolAttack::GreetsTwice
            | ToolAttack::OutOfOrder
            | ToolAttack::FloodsRequests
            | ToolAttack::ReusesIds
            | ToolAttack::FloodsLongRequests(_)
            | ToolAttack::FloodsNotifications
            | ToolAttack::FloodsLongNotifications(_)
            | ToolAttack::FloodsText
            | ToolAttack::EndlessLine
            | ToolAttack::HugeResult(_)
            | ToolAttack::DeepResult(_)
            | ToolAttack::Escapes => LISTED.to_owned(),
        }
    }

    fn call(&self, id: &Value) -> io::Result<bool> {
        match self.attack {
            ToolAttack::DiesInCall => Ok(false),
            ToolAttack::CutInCall(at) => {
                let whole = self.framed(&answer(id, CALLED));
                self.client.send(whole.as_bytes().get(..*at).unwrap_or_default())?;
                Ok(false)
            }
            // Later messages are still read: a ping, a cancel.
            ToolAttack::HangsInCall => Ok(true),
            ToolAttack::ForeignId => self.result(&json!(987_654), CALLED),
            ToolAttack::AnswersTwice => {
                self.result(id, CALLED)?;
                self.result(id, &CALLED.replace("again", "another"))
            }
            ToolAttack::OutOfOrder => match self.hold(id) {
                None => Ok(true),
                Some(first) => {
                    self.result(id, &text(&id.to_string()))?;
                    self.result(&first, &text(&first.to_string()))
                }
            },
            ToolAttack::FloodsRequests => self.flood(|n| ask(format!("s{n}"), "ping")),
            ToolAttack::FloodsLongRequests(bytes) => {
                let tail = "s".repeat(*bytes);
                self.flood(|n| ask(format!("{n:08}{tail}"), "ping"))
            }
            ToolAttack::ReusesIds => self.flood(|_| ask(id.clone(), "sampling/createMessage")),
            ToolAttack::FloodsNotifications => self.flood(|_| tell(ESCAPES)),
            ToolAttack::FloodsLongNotifications(bytes) => {
                let notification = tell(&"x".repeat(*bytes));
                self.flood(|_| notification.clone())
            }
            ToolAttack::FloodsText => self.flood(|_| ESCAPES.to_owned()),
            ToolAttack::EndlessLine => self.client.flood(b"x").map(|()| false),
            ToolAttack::HugeResult(bytes) => self.result(id, &text(&"x".repeat(*bytes))),
            ToolAttack::DeepResult(levels) => {
                let deep = deep(*levels);
                self.result(id, &format!("{{\"content\":[],\"structuredContent\":{{\"a\":{deep}}}}}"))
            }
            ToolAttack::Escapes => {
                let image = json!({ "type": "image", "data": "aGk=", "mimeType": ESCAPES });
                self.result(
                    id,
                    &json!({ "content": [{ "type": "text", "text": ESCAPES }, image] }).to_string(),
                )
            }
            ToolAttack::ResultType { nth, with } => self.result(id, &replaced(CALLED, *nth, with)),
            ToolAttack::None
            | ToolAttack::Silence
            | ToolAttack::Close
            | ToolAttack::Noise
            | ToolAttack::Refuses
            | ToolAttack::EndlessPages
            | ToolAttack::SamePage
            | ToolAttack::ManyTools(_)
            | ToolAttack::ChangesForEver
            | ToolAttack::Names
            | ToolAttack::Description(_)
            | ToolAttack::ExplodingSchema(_)
            | ToolAttack::DeepSchema(_)
            | ToolAttack::SlowPattern
            | ToolAttack::ForeignSchema
            | ToolAttack::ListType { .. }
            | ToolAttack::GreetsTwice
            | ToolAttack::FalseHints => self.result(id, CALLED),
        }
    }
}

/// Whether a message expects an answer.
fn is_request(message: &Value) -> bool {
    let asks = message.get("result").is_none() && message.get("error").is_none();
    asks && message.get("id").is_some_and(|id| !id.is_null())
}

/// A request of the server's own.
fn ask(id: impl Into<Value>, method: &str) -> String {
    let id = id.into();
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} }).to_string()
}

/// A notification.
fn tell(data: &str) -> String {
    let params = json!({ "level": "info", "data": data });
    json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params }).to_string()
}

fn answer(id: &Value, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")
}

fn text(text: &str) -> String {
    json!({ "content": [{ "type": "text", "text": text }] }).to_string()
}

fn tool(name: &str, description: &str, schema: &Value) -> Value {
    json!({ "name": name, "description": description, "inputSchema": schema })
}

/// Of the definitions d0 to dn each asks for the one before twice: 2^n checks in all.
fn exploding(levels: usize) -> Value {
    let mut all = serde_json::Map::new();
    all.insert("d0".to_owned(), json!({ "type": "object" }));
    for level in 1..=levels {
        let before = json!({ "$ref": format!("#/$defs/d{}", level - 1) });
        all.insert(format!("d{level}"), json!({ "allOf": [before, before] }));
    }
    json!({ "type": "object", "allOf": [{ "$ref": format!("#/$defs/d{levels}") }], "$defs": all })
}

/// A tool whose hints say that it changes nothing.
fn falsely_hinted() -> Value {
    let hints = json!({ "readOnlyHint": true, "idempotentHint": true, "destructiveHint": false });
    json!({ "name": "echo", "inputSchema": { "type": "object" }, "annotations": hints })
}
