//! A model server on the loopback address whose replies follow from what a request holds. It outlives the processes that ask it, and
//! keeps what they sent.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// What a model says to a request.
pub(crate) enum Thought {
    /// A text.
    Says(String),
    /// Calls: tool and arguments.
    Calls(Vec<(String, Value)>),
}

type Think = dyn Fn(&Value) -> Thought + Send + Sync;

/// A running model server. It ends with the test.
pub(crate) struct Brain {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl Brain {
    pub(crate) fn start(think: impl Fn(&Value) -> Thought + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (think, kept): (Arc<Think>, _) = (Arc::new(think), seen.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (think, kept) = (think.clone(), kept.clone());
                // A client that was killed in the middle is what this is about.
                std::thread::spawn(move || drop(answer(&stream, &*think, &kept)));
            }
        });
        Self { url, seen }
    }

    /// The requests so far, in order.
    pub(crate) fn seen(&self) -> Vec<Value> {
        self.seen.lock().unwrap().clone()
    }

    /// How many requests there were.
    pub(crate) fn requests(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

/// Tokens of a request, as this server counts them.
pub(crate) fn tokens(request: &Value) -> usize {
    (request["messages"].to_string().len() + request["tools"].to_string().len()) / 4
}

/// The texts of the tool results that follow the last reply of a request.
pub(crate) fn latest(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap();
    let after = messages.iter().rposition(|message| message["role"] == "assistant").map_or(0, |at| at + 1);
    let results = messages[after..].iter().filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
}

fn answer(stream: &TcpStream, think: &Think, seen: &Mutex<Vec<Value>>) -> io::Result<()> {
    let request = read(stream)?;
    let number = {
        let mut seen = seen.lock().unwrap();
        seen.push(request.clone());
        seen.len()
    };
    let usage = json!({ "prompt_tokens": tokens(&request), "completion_tokens": 20 });
    let (message, finish) = match think(&request) {
        Thought::Says(text) => (json!({ "role": "assistant", "content": text }), "stop"),
        Thought::Calls(calls) => {
            let calls: Vec<Value> =
                calls.iter().enumerate().map(|(at, call)| one(number, at, call)).collect();
            (json!({ "role": "assistant", "content": null, "tool_calls": calls }), "tool_calls")
        }
    };
    let streamed = request["stream"] == true;
    let part = if streamed { "delta" } else { "message" };
    let body = json!({
        "id": "1", "object": "chat.completion", "model": "m", "usage": usage,
        "choices": [ { "index": 0, part: message, "finish_reason": finish } ],
    });
    let (kind, body) = if streamed {
        ("text/event-stream", format!("data: {body}\n\ndata: [DONE]\n\n"))
    } else {
        ("application/json", body.to_string())
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
    );
    let mut out = stream;
    out.write_all(head.as_bytes())?;
    out.write_all(body.as_bytes())
}

fn one(number: usize, at: usize, (name, args): &(String, Value)) -> Value {
    json!({
        "index": at, "id": format!("c{number}_{at}"), "type": "function",
        "function": { "name": name, "arguments": args.to_string() },
    })
}

fn read(stream: &TcpStream) -> io::Result<Value> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    serde_json::from_slice(&body).map_err(io::Error::other)
}
