//! The server that the MCP tests start as a child process: `mcp_peer MODE [ARGUMENT]`. No use outside of the tests.

use std::error::Error;
use std::io::{BufRead, Write};

use rmcp::ServiceExt as _;
use serde_json::{Value, json};

#[path = "../tests/mcp/peer.rs"]
mod peer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = arguments.get(1).map(String::as_str).unwrap_or_default();
    match arguments.first().map_or("normal", String::as_str) {
        "normal" => serve(true).await,
        "secretive" => serve(false).await,
        // Works the first time only; the file says whether it was started before.
        "once" if std::path::Path::new(argument).exists() => exit(9, "not again"),
        "once" => {
            std::fs::write(argument, "")?;
            serve(true).await
        }
        "exit" => exit(7, "no configuration found"),
        "silent" => silent(),
        "deaf" => loop {
            std::thread::park();
        },
        "babble" => babble(),
        // Old servers, of before the probe: the one is silent until `initialize`, the other does not survive it.
        "old" => old(argument, arguments.get(2).map_or("", String::as_str)),
        mode => exit(2, &format!("unknown mode {mode}")),
    }
}

async fn serve(tells: bool) -> Result<(), Box<dyn Error>> {
    let transport = (tokio::io::stdin(), tokio::io::stdout());
    peer::Evil::new(tells).serve(transport).await?.waiting().await?;
    Ok(())
}

fn exit(code: i32, words: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "{words}");
    std::process::exit(code)
}

/// Reads all and says nothing.
fn silent() -> Result<(), Box<dyn Error>> {
    let _ = writeln!(std::io::stderr(), "still loading");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

/// Writes text for ever.
fn babble() -> Result<(), Box<dyn Error>> {
    loop {
        writeln!(std::io::stdout(), "y")?;
    }
}

/// A server by hand that knows MCP 2024-11-05 and nothing of `server/discover`. The silent one answers the probe late:
/// when it has been asked to initialize, and before the answer to that. A third kind answers a call with questions for
/// ever, and hears no reply; a fourth does so with long ids; an odd one answers with the lines that it is given.
fn old(kind: &str, more: &str) -> Result<(), Box<dyn Error>> {
    let mut late = None;
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let id = message.get("id").cloned();
        let reply = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
        let answer = match message.get("method").and_then(Value::as_str).unwrap_or_default() {
            "initialize" => {
                if let Some(late) = late.take() {
                    say(&json!({"jsonrpc": "2.0", "id": late, "error": {"code": -32601, "message": "?"}}))?;
                }
                if kind == "begins" {
                    say(&reply(serde_json::from_str(more)?))?;
                    continue;
                }
                reply(json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "old", "version": "0"}}))
            }
            "tools/list" if kind == "listing" => {
                reply(json!({"tools": serde_json::from_str::<Value>(more)?}))
            }
            "tools/list" if kind == "pages" => match page(more, message.pointer("/params/cursor")) {
                Some(page) => reply(page),
                None => {
                    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "no such page"}})
                }
            },
            "tools/call" if kind == "listing" => {
                reply(json!({"content": [{"type": "text", "text": "called"}]}))
            }
            "tools/list" => reply(json!({"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]})),
            "tools/call" if kind == "curious" => {
                for id in 0_u64.. {
                    say(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}))?;
                }
                continue;
            }
            "tools/call" if kind == "pushy" => {
                let long = "x".repeat(600_000);
                for id in 0_u64.. {
                    say(&json!({"jsonrpc": "2.0", "id": format!("{id}{long}"), "method": "ping"}))?;
                }
                continue;
            }
            "tools/call" if kind == "odd" => {
                odd(&message)?;
                continue;
            }
            "tools/call" => {
                reply(json!({"content": [{"type": "text", "text": std::process::id().to_string()}]}))
            }
            "server/discover" if kind == "touchy" => exit(1, "not initialized"),
            "server/discover" => {
                late = id;
                continue;
            }
            _ => continue,
        };
        say(&answer)?;
    }
    Ok(())
}

/// A page of a list that does not end as it should: with an empty cursor, with one that was there before, with a page that
/// was there before, with an error, without a list, or with a map or a text in place of one.
fn page(kind: &str, cursor: Option<&Value>) -> Option<Value> {
    let page = |name: &str, next: &str| {
        Some(json!({"tools": [{"name": name, "inputSchema": {}}], "nextCursor": next}))
    };
    let count = cursor.and_then(Value::as_str).map_or(0, |cursor| cursor.len().max(1));
    match (kind, count) {
        ("empty", 0) => page("one", ""),
        ("empty", _) => page("two", ""),
        ("cursor" | "breaks" | "listless", 0) => page("one", "a"),
        ("cursor", _) => page("two", "a"),
        ("page", _) => page("one", &"x".repeat(count + 1)),
        ("listless" | "never", _) => Some(json!({"nextCursor": "b"})),
        ("map", 0) => {
            Some(json!({"tools": {"one": {"inputSchema": {}}, "key": {"name": "two"}}, "nextCursor": "a"}))
        }
        ("map", _) => Some(json!({"tools": "none"})),
        _ => None,
    }
}

/// Says the lines that a call brings, with the call's id for `ID`; a line of `latin` is written as Latin-1.
fn odd(message: &Value) -> Result<(), Box<dyn Error>> {
    let id = message.get("id").map(ToString::to_string).unwrap_or_default();
    let lines =
        |name: &str| message.pointer(&format!("/params/arguments/{name}")).and_then(Value::as_array).cloned();
    let mut stdout = std::io::stdout().lock();
    for line in lines("latin").iter().flatten().filter_map(Value::as_str) {
        let bytes: Vec<u8> =
            line.replace("ID", &id).chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect();
        stdout.write_all(&bytes)?;
        stdout.write_all(b"\n")?;
    }
    for line in lines("lines").iter().flatten().filter_map(Value::as_str) {
        writeln!(stdout, "{}", line.replace("ID", &id))?;
    }
    stdout.flush()?;
    Ok(())
}

fn say(message: &Value) -> Result<(), Box<dyn Error>> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{message}")?;
    stdout.flush()?;
    Ok(())
}
