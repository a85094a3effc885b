//! OpenAI Chat Completions, with the fields that the mock of `shared/bench` sends.

use serde_json::{Value, json};

use super::{ScriptedReply, TOKENS, data, quarters};

fn usage() -> Value {
    let (input, output) = TOKENS;
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}

pub(super) fn whole(reply: &ScriptedReply) -> Value {
    let (message, why) = match reply {
        ScriptedReply::Text(pieces) => {
            (json!({ "role": "assistant", "content": pieces.concat(), "refusal": null }), "stop")
        }
        ScriptedReply::Calls(calls) => {
            let call = |(id, args): &(String, String)| json!({ "id": id, "type": "function", "function": { "name": "echo", "arguments": args } });
            let calls: Vec<Value> = calls.iter().map(call).collect();
            (
                json!({ "role": "assistant", "content": null, "refusal": null, "tool_calls": calls }),
                "tool_calls",
            )
        }
    };
    json!({
        "id": "chatcmpl-m1", "object": "chat.completion", "created": 1_760_000_000, "model": "script",
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": why }],
        "usage": usage(),
    })
}

pub(super) fn events(reply: &ScriptedReply) -> Vec<String> {
    let chunk = |delta: Value, why: Value| {
        data(&json!({
            "id": "chatcmpl-m1", "object": "chat.completion.chunk", "created": 1_760_000_000, "model": "script",
            "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": why }],
        }))
    };
    let mut out = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    match reply {
        ScriptedReply::Text(pieces) => {
            out.extend(pieces.iter().map(|piece| chunk(json!({ "content": piece }), Value::Null)));
            out.push(chunk(json!({}), "stop".into()));
        }
        ScriptedReply::Calls(calls) => {
            for (at, (id, args)) in calls.iter().enumerate() {
                let begin = json!({ "index": at, "id": id, "type": "function", "function": { "name": "echo", "arguments": "" } });
                out.push(chunk(json!({ "tool_calls": [begin] }), Value::Null));
                out.extend(quarters(args).map(|piece| {
                    let more = json!({ "index": at, "function": { "arguments": piece } });
                    chunk(json!({ "tool_calls": [more] }), Value::Null)
                }));
            }
            out.push(chunk(json!({}), "tool_calls".into()));
        }
    }
    out.push(data(&json!({
        "id": "chatcmpl-m1", "object": "chat.completion.chunk", "created": 1_760_000_000, "model": "script",
        "choices": [], "usage": usage(),
    })));
    out.push("data: [DONE]\n\n".to_owned());
    out
}
