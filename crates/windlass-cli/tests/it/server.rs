//! A scripted model server on the loopback address, piece by piece under the test's control.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};

/// What the server does with the next request.
pub(crate) enum Reply {
    /// Streams these pieces of text, and waits for a word before each but the first.
    Pieces(Vec<&'static str>),
    /// Streams a call of a tool of that name with these arguments.
    Call(String, String),
    /// Streams calls of one tool with each of these arguments, as `c1`, `c2`, ….
    Calls(String, Vec<String>),
    /// Streams this delta, a JSON object.
    Delta(&'static str),
    /// Streams this text and breaks off.
    Cut(&'static str),
    /// Another status, with more headers.
    Status(u16, &'static str),
    /// Another status, with the server's words.
    Refuses(u16, &'static str),
    /// An error with this object.
    Fails(u16, &'static str),
    /// A web page.
    Page(u16, &'static str),
}

/// A server for as many requests as it has replies.
pub(crate) struct Server {
    pub(crate) url: String,
    /// A word for the next piece.
    pub(crate) go: Sender<()>,
    pub(crate) requests: Receiver<Value>,
    /// The headers of each request, in lower case.
    pub(crate) heads: Receiver<String>,
}

impl Server {
    pub(crate) fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (go, gate) = channel();
        let (seen, requests) = channel();
        let (said, heads) = channel();
        std::thread::spawn(move || {
            for reply in replies {
                let (mut stream, _) = listener.accept().unwrap();
                // A test that does not look at requests has dropped the other end.
                let (head, body) = read(&stream);
                let (_unseen, _unread) = (seen.send(body), said.send(head));
                answer(&mut stream, &reply, &gate);
            }
        });
        Self { url, go, requests, heads }
    }

    /// An agent file that asks this server.
    pub(crate) fn agent(&self) -> String {
        format!(
            "name: x\nmodel: {{ use: openai/m, base_url: \"{}\" }}\nretry: {{ retries: 2, wait_ms: 1, max_wait_ms: 2 }}\n",
            self.url
        )
    }
}

pub(crate) fn request(stream: &TcpStream) -> Value {
    read(stream).1
}

fn read(stream: &TcpStream) -> (String, Value) {
    let mut head = String::new();
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line.to_lowercase());
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (head, serde_json::from_slice(&body).unwrap_or_default())
}

fn answer(stream: &mut TcpStream, reply: &Reply, gate: &Receiver<()>) {
    let mut send = |text: String| {
        // A client that was stopped reads no more.
        let _unread = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    };
    let head =
        |status: u16, headers: &str| format!("HTTP/1.1 {status} x\r\nconnection: close\r\n{headers}\r\n");
    let sse = "content-type: text/event-stream\r\n";
    match reply {
        Reply::Status(status, headers) => {
            send(head(*status, &format!("{headers}content-type: application/json\r\n")));
            send(json!({ "error": { "message": "slow down" } }).to_string());
        }
        Reply::Refuses(status, words) => {
            send(head(*status, "content-type: application/json\r\n"));
            send(json!({ "error": { "message": words } }).to_string());
        }
        Reply::Fails(status, error) => {
            send(head(*status, "content-type: application/json\r\n"));
            send(format!("{{\"error\":{error}}}"));
        }
        Reply::Page(status, page) => {
            send(head(*status, "content-type: text/html\r\n"));
            send((*page).to_owned());
        }
        Reply::Call(name, arguments) => {
            send(head(200, sse));
            let function = json!({ "name": name, "arguments": arguments });
            let call = json!({ "index": 0, "id": "c1", "type": "function", "function": function });
            send(chunk(&json!({ "tool_calls": [call] }), None));
            send(chunk(&json!({}), Some("tool_calls")));
            send("data: [DONE]\n\n".to_owned());
        }
        Reply::Calls(name, all) => {
            send(head(200, sse));
            for (index, arguments) in all.iter().enumerate() {
                let function = json!({ "name": name, "arguments": arguments });
                let id = format!("c{}", index + 1);
                let call = json!({ "index": index, "id": id, "type": "function", "function": function });
                send(chunk(&json!({ "tool_calls": [call] }), None));
            }
            send(chunk(&json!({}), Some("tool_calls")));
            send("data: [DONE]\n\n".to_owned());
        }
        Reply::Delta(delta) => {
            send(head(200, sse));
            send(chunk(&serde_json::from_str(delta).unwrap(), Some("stop")));
            send("data: [DONE]\n\n".to_owned());
        }
        Reply::Cut(text) => {
            send(head(200, &format!("{sse}content-length: 100000\r\n")));
            send(chunk(&json!({ "content": text }), None));
        }
        Reply::Pieces(pieces) => {
            send(head(200, sse));
            for (place, piece) in pieces.iter().enumerate() {
                if place > 0 && gate.recv().is_err() {
                    return;
                }
                send(chunk(&json!({ "content": piece }), None));
            }
            send(chunk(&json!({}), Some("stop")));
            send("data: [DONE]\n\n".to_owned());
        }
    }
}

fn chunk(delta: &Value, finish: Option<&str>) -> String {
    let usage = finish.map(|_| json!({ "prompt_tokens": 12, "completion_tokens": 3 }));
    let chunk = json!({
        "id": "1", "object": "chat.completion.chunk", "model": "m",
        "choices": [ { "index": 0, "delta": delta, "finish_reason": finish } ], "usage": usage,
    });
    format!("data: {chunk}\n\n")
}
