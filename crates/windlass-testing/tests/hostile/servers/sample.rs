//! Replies of a wire: good ones that attacks change, and well-formed ones that are hostile themselves.

use serde_json::{Value, json};

use super::ESCAPES;

/// A reply of a wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Its media type.
    pub kind: String,
    /// Its text. `"$ID"` becomes the JSON `id` of the request, for JSON-RPC.
    pub text: String,
}

impl Sample {
    /// A good reply of Chat Completions, streamed: a text, a tool call, the usage.
    pub(crate) fn chat() -> Self {
        let call = json!({ "index": 0, "id": "call_1", "type": "function",
            "function": { "name": "add", "arguments": "{\"a\":1}" } });
        Self::events(&[
            json!({ "role": "assistant", "content": "Let me " }),
            json!({ "content": "see.", "reasoning_content": "Hm." }),
            json!({ "tool_calls": [call] }),
        ])
    }

    /// The answer of an MCP server to `initialize`, over HTTP.
    pub(crate) fn mcp() -> Self {
        let result = json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
            "serverInfo": { "name": "hostile", "version": "1" }, "instructions": "Mind." });
        let text = json!({ "jsonrpc": "2.0", "id": "$ID", "result": result }).to_string();
        Self { kind: "application/json".to_owned(), text }
    }

    /// Named replies of Chat Completions that are valid on the wire and harmful if trusted.
    pub(crate) fn hostile_chats() -> Vec<(&'static str, Self)> {
        let call = |id: Value, name: &str, args: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": args } });
        let indexed = |index: Value, name: &str| -> Value {
            json!({ "index": index, "id": "c", "function": { "name": name, "arguments": "{}" } })
        };
        let calls = |calls: Vec<Value>| Self::events(&[json!({ "tool_calls": calls })]);
        let huge = "x".repeat(60 << 20);
        let deep = super::json::deep(100_000);
        vec![
            ("equal ids", calls(vec![call(json!("c"), "a", "{}"), call(json!("c"), "b", "{}")])),
            ("no ids", calls(vec![call(Value::Null, "a", "{}"), call(json!(""), "b", "{}")])),
            ("a call of 60 MB", calls(vec![call(json!("c"), "a", &format!("{{\"x\":\"{huge}\"}}"))])),
            ("deep arguments", calls(vec![call(json!("c"), "a", &format!("{{\"x\":{deep}}}"))])),
            (
                "ten thousand calls",
                calls((0..10_000).map(|n| call(json!(n.to_string()), "a", "{}")).collect()),
            ),
            ("an index far away", calls(vec![indexed(json!(u32::MAX), "a"), indexed(json!(7_000_000), "b")])),
            ("an index below nothing", calls(vec![indexed(json!(-1), "a"), indexed(json!(1e300), "b")])),
            ("escapes in names", calls(vec![call(json!(ESCAPES), ESCAPES, ESCAPES)])),
            ("a name of 1 MB", calls(vec![call(json!("c"), &"n".repeat(1 << 20), "{}")])),
            ("an id of 1 MB", calls(vec![call(json!("i".repeat(1 << 20)), "a", "{}")])),
            ("escapes in the text", Self::events(&[json!({ "content": ESCAPES })])),
            ("nested text forms", Self::events(&[json!({ "content": "<tool_call>".repeat(100_000) })])),
            ("opening fences", Self::events(&[json!({ "content": "```tool_call\n".repeat(100_000) })])),
            ("usage beyond numbers", Self::usage(&json!(u64::MAX))),
            ("usage below nothing", Self::usage(&json!(-5))),
            ("usage in words", Self::usage(&json!("many"))),
            (
                "an unknown end",
                Self::stream(&[json!({ "choices": [{ "delta": {}, "finish_reason": ESCAPES }] })]),
            ),
            (
                "an error with escapes",
                Self::stream(&[json!({ "error": { "message": ESCAPES, "code": 500 } })]),
            ),
        ]
    }

    /// The whole response that carries it.
    pub(crate) fn response(&self) -> Vec<u8> {
        format!("{}{}", self.head(&format!("content-length: {}\r\n", self.text.len())), self.text)
            .into_bytes()
    }

    pub(super) fn head(&self, more: &str) -> String {
        format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\n{more}\r\n", self.kind)
    }

    pub(super) fn for_id(&self, id: &Value) -> Self {
        Self { kind: self.kind.clone(), text: self.text.replace("\"$ID\"", &id.to_string()) }
    }

    fn usage(count: &Value) -> Self {
        let usage = json!({ "prompt_tokens": count, "completion_tokens": count, "total_tokens": count });
        let text =
            json!({ "choices": [{ "index": 0, "delta": { "content": "hi" }, "finish_reason": "stop" }] });
        Self::stream(&[text, json!({ "choices": [], "usage": usage })])
    }

    fn events(deltas: &[Value]) -> Self {
        let choice =
            |delta: &Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
        let mut events: Vec<Value> = deltas.iter().map(choice).collect();
        events.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }));
        let usage = json!({ "prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5 });
        events.push(json!({ "choices": [], "usage": usage }));
        Self::stream(&events)
    }

    fn stream(events: &[Value]) -> Self {
        let mut text = String::new();
        for event in events {
            text.push_str("data: ");
            text.push_str(&event.to_string());
            text.push_str("\n\n");
        }
        text.push_str("data: [DONE]\n\n");
        Self { kind: "text/event-stream".to_owned(), text }
    }
}
