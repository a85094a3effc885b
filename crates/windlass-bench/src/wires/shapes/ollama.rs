//! Ollama's own API: lines of JSON.

use serde_json::{Value, json};

use super::{ScriptedReply, TOKENS, parsed};

fn line(message: &Value, is_last: bool) -> Value {
    let mut line =
        json!({ "model": "script", "created_at": "2026-11-24T10:00:00.123456789Z", "message": message });
    if is_last {
        let (input, output) = TOKENS;
        let counts = json!({
            "done_reason": "stop", "done": true, "total_duration": 5_191_566_416_u64, "load_duration": 2_154_458,
            "prompt_eval_count": input, "prompt_eval_duration": 383_809_000, "eval_count": output,
            "eval_duration": 4_799_921_000_u64,
        });
        if let (Value::Object(line), Value::Object(counts)) = (&mut line, counts) {
            line.extend(counts);
        }
    } else {
        line["done"] = false.into();
    }
    line
}

fn message(reply: &ScriptedReply) -> Value {
    match reply {
        ScriptedReply::Text(pieces) => json!({ "role": "assistant", "content": pieces.concat() }),
        ScriptedReply::Calls(calls) => {
            let call = |(at, (id, args)): (usize, &(String, String))| {
                let function = json!({ "index": at, "name": "echo", "arguments": parsed(args) });
                json!({ "id": id, "function": function })
            };
            let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
            json!({ "role": "assistant", "content": "", "tool_calls": calls })
        }
    }
}

pub(super) fn whole(reply: &ScriptedReply) -> Value {
    line(&message(reply), true)
}

pub(super) fn events(reply: &ScriptedReply) -> Vec<String> {
    let mut out = Vec::new();
    match reply {
        ScriptedReply::Text(pieces) => {
            let piece = |piece| line(&json!({ "role": "assistant", "content": piece }), false);
            out.extend(pieces.iter().map(piece));
        }
        ScriptedReply::Calls(_) => out.push(line(&message(reply), false)),
    }
    out.push(line(&json!({ "role": "assistant", "content": "" }), true));
    out.into_iter().map(|line| format!("{line}\n")).collect()
}
