//! An MCP server over streamable HTTP on the loopback address, with one tool.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};

use crate::server::request;

/// A server that is asked until the test's process ends.
pub(crate) struct ToolServer {
    /// Without `/mcp`, as KAOS names it.
    pub(crate) url: String,
    /// The arguments of each call.
    pub(crate) calls: Receiver<Value>,
}

impl ToolServer {
    pub(crate) fn start() -> Self {
        Self::offering(vec![echo()])
    }

    /// A server with these tools.
    pub(crate) fn offering(tools: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (called, calls) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &tools, &called);
            }
        });
        Self { url, calls }
    }
}

/// The tool that says its argument again.
pub(crate) fn echo() -> Value {
    json!({
        "name": "echo",
        "description": "Says it again.",
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
        "annotations": { "readOnlyHint": true },
    })
}

fn answer(mut stream: TcpStream, tools: &[Value], called: &Sender<Value>) {
    let asked = request(&stream);
    let result = match asked["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "double", "version": "1" },
        }),
        Some("tools/list") => json!({ "tools": tools }),
        Some("tools/call") => {
            let text = format!("echo: {}", asked["params"]["arguments"]["text"].as_str().unwrap_or_default());
            // A test that does not look has dropped the other end.
            let _unseen = called.send(asked["params"].clone());
            json!({ "content": [ { "type": "text", "text": text } ] })
        }
        _ => Value::Null,
    };
    let (status, body) = match (asked.get("id"), result) {
        // A notification, or a stream that is not offered.
        (None, _) if asked.is_null() => ("405 Method Not Allowed", String::new()),
        (None, _) => ("202 Accepted", String::new()),
        (Some(id), Value::Null) => {
            let error = json!({ "code": -32601, "message": "no such method" });
            ("200 OK", json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
        }
        (Some(id), result) => ("200 OK", json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    // A client that was stopped reads no more.
    let _unread = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}
