//! A tool server and a model server that answer with as much as they may.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use super::{REPLY, prose};
use crate::log::Outcome;

/// The result of a call, so long that the whole message is just below its bound.
fn result(kind: &str) -> String {
    let room = REPLY - 10_000;
    match kind {
        "numbers" => {
            format!("{{\"content\":[],\"structuredContent\":{{\"list\":[{}0]}}}}", "0,".repeat(room / 2))
        }
        "parts" => {
            let part = "{\"type\":\"text\",\"text\":\"\"},";
            format!("{{\"content\":[{}{{\"type\":\"text\",\"text\":\"\"}}]}}", part.repeat(room / part.len()))
        }
        "image" => format!(
            "{{\"content\":[{{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"{}\"}}]}}",
            "AAAA".repeat(room / 4)
        ),
        _ => format!("{{\"content\":[{{\"type\":\"text\",\"text\":{}}}]}}", json!(prose(room * 9 / 10))),
    }
}

/// The answer to a message; `None`: it wants none.
fn answer(message: &Value, kind: &str) -> Option<String> {
    let id = message.get("id")?;
    let result = match message.get("method").and_then(Value::as_str) {
        Some("initialize") => json!({
            "protocolVersion": message.pointer("/params/protocolVersion").cloned().unwrap_or_else(|| "2025-06-18".into()),
            "capabilities": { "tools": {} }, "serverInfo": { "name": "bench", "version": "1" },
        })
        .to_string(),
        Some("tools/list") => {
            json!({ "tools": [{ "name": "long", "inputSchema": { "type": "object" } }] }).to_string()
        }
        Some("tools/call") => result(kind),
        _ => return Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32601,\"message\":\"unknown\"}}}}")),
    };
    Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"))
}

/// A tool server on stdin and stdout.
pub(super) fn stdio(kind: &str) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        if let Some(answer) = answer(&message, kind) {
            out.write_all(answer.as_bytes())?;
            out.write_all(b"\n")?;
            out.flush()?;
        }
    }
    Ok(())
}

/// Answers requests over HTTP with what `body` makes of theirs, which a GET has none of: the type and the text. Gives its
/// address.
pub(super) fn http(
    body: impl Fn(Option<&[u8]>) -> Option<(&'static str, String)> + Clone + Send + 'static,
) -> Outcome<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let body = body.clone();
            // Who is gone wants no answer.
            std::thread::spawn(move || drop(serve(&stream, &body)));
        }
    });
    Ok(format!("http://{address}"))
}

/// A tool server over HTTP, whose answers come as JSON or as events.
pub(super) fn tool_server(kind: &'static str, events: bool) -> Outcome<String> {
    http(move |request| {
        let answer = answer(&serde_json::from_slice(request?).ok()?, kind)?;
        Some(if events {
            ("text/event-stream", format!("data: {answer}\n\n"))
        } else {
            ("application/json", answer)
        })
    })
}

fn serve(
    stream: &TcpStream,
    body: &impl Fn(Option<&[u8]>) -> Option<(&'static str, String)>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut length, mut post) = (0, false);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            post |= line.starts_with("post ");
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut request = vec![0; length];
        reader.read_exact(&mut request)?;
        let mut stream = stream;
        match body(post.then_some(request.as_slice())) {
            Some((kind, text)) => {
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
                    text.len()
                );
                stream.write_all(head.as_bytes())?;
                stream.write_all(text.as_bytes())?;
            }
            None => {
                let status = if post { "202 Accepted" } else { "405 Method Not Allowed" };
                stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes())?;
            }
        }
    }
}
