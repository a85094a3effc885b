//! Anthropic Messages, with the fields that the mock of `shared/bench` sends.

use serde_json::{Value, json};

use super::{ScriptedReply, TOKENS, named, parsed, quarters};

pub(super) fn whole(reply: &ScriptedReply) -> Value {
    let (content, why) = match reply {
        ScriptedReply::Text(pieces) => (vec![json!({ "type": "text", "text": pieces.concat() })], "end_turn"),
        ScriptedReply::Calls(calls) => {
            let call = |(id, args): &(String, String)| json!({ "type": "tool_use", "id": format!("toolu_{id}"), "name": "echo", "input": parsed(args) });
            (calls.iter().map(call).collect(), "tool_use")
        }
    };
    json!({
        "id": "msg_m1", "type": "message", "role": "assistant", "model": "script", "content": content,
        "stop_reason": why, "stop_sequence": null,
        "usage": { "input_tokens": TOKENS.0, "output_tokens": TOKENS.1 },
    })
}

pub(super) fn events(reply: &ScriptedReply) -> Vec<String> {
    let mut out = vec![named(&json!({ "type": "message_start", "message": {
        "id": "msg_m1", "type": "message", "role": "assistant", "model": "script", "content": [], "stop_reason": null,
        "stop_sequence": null, "usage": { "input_tokens": TOKENS.0, "output_tokens": 1 },
    } }))];
    let mut block = |at: usize, begin: Value, deltas: Vec<Value>| {
        out.push(named(&json!({ "type": "content_block_start", "index": at, "content_block": begin })));
        let delta = |delta| named(&json!({ "type": "content_block_delta", "index": at, "delta": delta }));
        out.extend(deltas.into_iter().map(delta));
        out.push(named(&json!({ "type": "content_block_stop", "index": at })));
    };
    let why = match reply {
        ScriptedReply::Text(pieces) => {
            let deltas = pieces.iter().map(|piece| json!({ "type": "text_delta", "text": piece }));
            block(0, json!({ "type": "text", "text": "" }), deltas.collect());
            "end_turn"
        }
        ScriptedReply::Calls(calls) => {
            for (at, (id, args)) in calls.iter().enumerate() {
                let begin =
                    json!({ "type": "tool_use", "id": format!("toolu_{id}"), "name": "echo", "input": {} });
                let deltas = quarters(args)
                    .map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }))
                    .collect();
                block(at, begin, deltas);
            }
            "tool_use"
        }
    };
    out.push(named(&json!({
        "type": "message_delta", "delta": { "stop_reason": why, "stop_sequence": null },
        "usage": { "output_tokens": TOKENS.1 },
    })));
    out.push(named(&json!({ "type": "message_stop" })));
    out
}
