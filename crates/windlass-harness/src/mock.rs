//! A model server on the loopback address. It keeps no state: how far a run has come is read from the request, by the
//! number of tool results in it, so that a request that is made again gets the same reply again.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::scene::Kind;

/// Maximum silence of a connection, in milliseconds: far more than a live client needs.
const SILENCE: Duration = Duration::from_secs(30);
/// Maximum length of a request, in bytes.
const LONGEST_REQUEST: u64 = 64 * 1024 * 1024;
/// Prefix of a part's number in a task.
const PART: &str = "part ";
/// In how many pieces a text is streamed.
const PIECES: usize = 4;

/// A call that a reply asks for: the tool's name and its argument `n`, or an agent's name and the part that is its task.
pub type ScriptedCall = (&'static str, u32);

/// A reply of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// These calls.
    Calls(Vec<ScriptedCall>),
    /// The last word: all results that the model was told, one after the other.
    Results,
    /// The last word: the messages that it answers, each in brackets.
    Messages,
    /// A long last word, piece by piece.
    Speech(Speech),
}

/// A long text that comes slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speech {
    /// Number of pieces.
    pub pieces: u32,
    /// Length of each piece, in bytes.
    pub piece_bytes: usize,
    /// Pause before each piece.
    pub pause: Duration,
}

impl Speech {
    /// A piece: its number, filled up with dots. No two pieces are equal, so that one that is missing or doubled is seen.
    fn piece(self, place: u32) -> String {
        format!("{place:.<width$} ", width = self.piece_bytes.saturating_sub(1))
    }

    /// The whole text.
    pub fn text(self) -> String {
        (0..self.pieces).map(|place| self.piece(place)).collect()
    }
}

/// Progress of a conversation, and its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The model that is asked: each agent of a family has one of its own.
    pub model: &'a str,
    /// The part of the work that the conversation is about, as its task says (`part 3`); 0 if none is named.
    pub part: u32,
    /// Number of tool results since the last answer.
    pub results: usize,
    /// The messages of people since the last answer.
    pub messages: &'a [String],
}

impl Asked<'_> {
    /// The digits of the last message as one number, so that each message of a sender has its own.
    pub fn last_number(&self) -> u32 {
        let digits = self
            .messages
            .last()
            .into_iter()
            .flat_map(|text| text.chars().filter_map(|char| char.to_digit(10)));
        digits.fold(0, |number, digit| number.wrapping_mul(10).wrapping_add(digit))
    }

    /// The part that the last message is about; 0 if it names none.
    pub fn last_part(&self) -> u32 {
        self.messages.last().and_then(|text| part_in(text)).unwrap_or_default()
    }
}

/// The model's reply for a conversation.
pub type Script = fn(asked: &Asked<'_>) -> Reply;

/// A running model server. It ends with the process.
#[derive(Clone, Debug)]
pub struct Mock {
    url: String,
}

impl Mock {
    /// Starts a server for a script on a free port.
    ///
    /// # Errors
    /// No port can be had.
    pub fn start(script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}/v1", listener.local_addr()?);
        let serve = move || {
            for stream in listener.incoming().flatten() {
                // A client that was killed in the middle is what all this is about.
                std::thread::spawn(move || drop(answer(stream, script)));
            }
        };
        std::thread::Builder::new().name("mock-model".to_owned()).spawn(serve)?;
        Ok(Self { url })
    }

    /// The base URL for agent files.
    pub fn url(&self) -> &str {
        &self.url
    }
}

fn answer(stream: TcpStream, script: Script) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut out = stream;
    while let Some(request) = read(&mut reader)? {
        let conversation = Conversation::in_request(&request);
        let model = request.get("model").and_then(Value::as_str).unwrap_or_default();
        let asked = Asked {
            model,
            part: part(&request),
            results: conversation.results_since,
            messages: &conversation.messages_since,
        };
        let reply = script(&asked);
        let streamed = request.get("stream").and_then(Value::as_bool).unwrap_or(false);
        if streamed {
            stream_reply(&mut out, &reply, &conversation)?;
        } else {
            whole_reply(&mut out, &reply, &conversation)?;
        }
    }
    Ok(())
}

/// The next request's body; `None`: the client is gone.
fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Value>> {
    let mut length = 0;
    let mut first = true;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line.trim().is_empty() && !first {
            break;
        }
        first = false;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = Vec::new();
    reader.take(u64::min(length, LONGEST_REQUEST)).read_to_end(&mut body)?;
    serde_json::from_slice(&body).map(Some).map_err(io::Error::other)
}

fn messages(request: &Value) -> &[Value] {
    request.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn content(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        other => other.map(Value::to_string).unwrap_or_default(),
    }
}

fn part_in(text: &str) -> Option<u32> {
    let (_, part) = text.rsplit_once(PART)?;
    part.trim().parse().ok()
}

/// The part of the work that a request's task names.
fn part(request: &Value) -> u32 {
    let mut tasks = messages(request).iter().filter(|message| role(message) == "user");
    tasks.find_map(|message| part_in(&content(message))).unwrap_or_default()
}

/// The content of a request's conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Conversation {
    /// All tool results, in order.
    results: Vec<String>,
    /// Number of those since the last answer.
    results_since: usize,
    /// The messages of people since the last answer.
    messages_since: Vec<String>,
}

impl Conversation {
    fn in_request(request: &Value) -> Self {
        let mut conversation = Self::default();
        for message in messages(request) {
            match role(message) {
                "tool" => {
                    conversation.results.push(content(message));
                    conversation.results_since += 1;
                }
                "user" => conversation.messages_since.push(content(message)),
                // A reply without calls is an answer.
                "assistant" if message.get("tool_calls").is_none() => {
                    (conversation.results_since, conversation.messages_since) = (0, Vec::new());
                }
                _ => {}
            }
        }
        conversation
    }

    fn last_word(&self, reply: &Reply) -> String {
        if *reply == Reply::Messages {
            let texts: String = self.messages_since.iter().map(|text| bracketed(text)).collect();
            return format!("Answers{texts}.");
        }
        if let Reply::Speech(speech) = reply {
            return speech.text();
        }
        format!("All done: {}.", self.results.join("; "))
    }
}

/// How an answer names a message that it answers.
pub(crate) fn bracketed(message: &str) -> String {
    format!(" [{message}]")
}

/// An agent is told its task, a tool its number.
fn arguments(name: &str, n: u32) -> Value {
    if Kind::of(name).is_some() { json!({ "n": n }) } else { json!({ "task": format!("{PART}{n}") }) }
}

fn calls_json(calls: &[ScriptedCall], before: usize, indexed: bool) -> Vec<Value> {
    let one = |(place, (name, n)): (usize, &ScriptedCall)| {
        let mut call = json!({
            "id": format!("call_{before}_{place}"), "type": "function",
            "function": { "name": name, "arguments": arguments(name, *n).to_string() },
        });
        if indexed && let Some(fields) = call.as_object_mut() {
            fields.insert("index".to_owned(), json!(place));
        }
        call
    };
    calls.iter().enumerate().map(one).collect()
}

fn whole_reply(out: &mut TcpStream, reply: &Reply, conversation: &Conversation) -> io::Result<()> {
    let (message, finish) = match reply {
        Reply::Calls(calls) => {
            let calls = calls_json(calls, conversation.results.len(), false);
            (json!({ "role": "assistant", "content": "Next.", "tool_calls": calls }), "tool_calls")
        }
        Reply::Results | Reply::Messages | Reply::Speech(_) => {
            (json!({ "role": "assistant", "content": conversation.last_word(reply) }), "stop")
        }
    };
    let body = json!({
        "id": "1", "object": "chat.completion", "model": "script",
        "choices": [ { "index": 0, "message": message, "finish_reason": finish } ], "usage": usage(),
    })
    .to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    out.write_all(head.as_bytes())?;
    out.write_all(body.as_bytes())
}

fn usage() -> Value {
    json!({ "prompt_tokens": 12, "completion_tokens": 3 })
}

/// Piece by piece, each with a write of its own: a kill may fall between any two.
fn stream_reply(out: &mut TcpStream, reply: &Reply, conversation: &Conversation) -> io::Result<()> {
    out.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    let mut send = |text: &str| out.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes());
    let mut event = |delta: &Value, finish: Option<&str>| {
        let usage = finish.map(|_| usage());
        let chunk = json!({
            "id": "1", "object": "chat.completion.chunk", "model": "script",
            "choices": [ { "index": 0, "delta": delta, "finish_reason": finish } ], "usage": usage,
        });
        send(&format!("data: {chunk}\n\n"))
    };
    match reply {
        Reply::Calls(calls) => {
            event(&json!({ "content": "Next." }), None)?;
            for call in calls_json(calls, conversation.results.len(), true) {
                event(&json!({ "tool_calls": [call] }), None)?;
            }
            event(&json!({}), Some("tool_calls"))?;
        }
        Reply::Speech(speech) => {
            for place in 0..speech.pieces {
                std::thread::sleep(speech.pause);
                event(&json!({ "content": speech.piece(place) }), None)?;
            }
            event(&json!({}), Some("stop"))?;
        }
        Reply::Results | Reply::Messages => {
            let text = conversation.last_word(reply);
            let chars: Vec<char> = text.chars().collect();
            for piece in chars.chunks(chars.len().div_ceil(PIECES).max(1)) {
                event(&json!({ "content": piece.iter().collect::<String>() }), None)?;
            }
            event(&json!({}), Some("stop"))?;
        }
    }
    send("data: [DONE]\n\n")?;
    out.write_all(b"0\r\n\r\n")
}
