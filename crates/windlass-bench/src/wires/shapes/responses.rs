//! OpenAI Responses: every event and field that the API reference lists for a text and for calls.

use serde_json::{Value, json};

use super::{ScriptedReply, TOKENS, named, quarters};

pub(super) fn whole(reply: &ScriptedReply) -> Value {
    response("completed", &items(reply, "completed"), true)
}

fn items(reply: &ScriptedReply, status: &str) -> Vec<Value> {
    match reply {
        ScriptedReply::Text(pieces) => vec![message(status, &[part(&pieces.concat())])],
        ScriptedReply::Calls(calls) => {
            calls.iter().enumerate().map(|(at, (id, args))| call(at, id, args, status)).collect()
        }
    }
}

fn response(status: &str, output: &[Value], counted: bool) -> Value {
    let (input, out) = TOKENS;
    let usage = json!({
        "input_tokens": input, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": out,
        "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": input + out,
    });
    json!({
        "id": "resp_m1", "object": "response", "created_at": 1_760_000_000, "status": status, "error": null,
        "incomplete_details": null, "instructions": null, "max_output_tokens": null, "model": "script",
        "output": output, "parallel_tool_calls": true, "previous_response_id": null,
        "reasoning": { "effort": null, "summary": null }, "store": false, "temperature": 1.0,
        "text": { "format": { "type": "text" } }, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "truncation": "disabled", "usage": if counted { usage } else { Value::Null }, "user": null, "metadata": {},
    })
}

fn part(text: &str) -> Value {
    json!({ "type": "output_text", "annotations": [], "logprobs": [], "text": text })
}

fn message(status: &str, content: &[Value]) -> Value {
    json!({ "id": "msg_m1", "type": "message", "status": status, "content": content, "role": "assistant" })
}

fn call(at: usize, id: &str, args: &str, status: &str) -> Value {
    json!({
        "id": format!("fc_m{at}"), "type": "function_call", "status": status, "arguments": args, "call_id": id,
        "name": "echo",
    })
}

pub(super) fn events(reply: &ScriptedReply) -> Vec<String> {
    let mut all = vec![
        json!({ "type": "response.created", "response": response("in_progress", &[], false) }),
        json!({ "type": "response.in_progress", "response": response("in_progress", &[], false) }),
    ];
    match reply {
        ScriptedReply::Text(pieces) => text(&mut all, pieces),
        ScriptedReply::Calls(calls) => {
            for (at, (id, args)) in calls.iter().enumerate() {
                called(&mut all, at, id, args);
            }
        }
    }
    all.push(json!({ "type": "response.completed", "response": whole(reply) }));
    let numbered = all.into_iter().enumerate().map(|(number, mut event)| {
        event["sequence_number"] = number.into();
        named(&event)
    });
    numbered.collect()
}

fn text(all: &mut Vec<Value>, pieces: &[String]) {
    let whole = pieces.concat();
    let at = |kind: &str, name: &str, value: Value| {
        let mut event = json!({ "type": kind, "item_id": "msg_m1", "output_index": 0, "content_index": 0 });
        event[name] = value;
        event
    };
    all.push(json!({
        "type": "response.output_item.added", "output_index": 0, "item": message("in_progress", &[]),
    }));
    all.push(at("response.content_part.added", "part", part("")));
    all.extend(pieces.iter().map(|piece| {
        let mut event = at("response.output_text.delta", "delta", piece.as_str().into());
        event["logprobs"] = json!([]);
        event["obfuscation"] = "Qx7Zp2Lm".into();
        event
    }));
    let mut done = at("response.output_text.done", "text", whole.as_str().into());
    done["logprobs"] = json!([]);
    all.push(done);
    all.push(at("response.content_part.done", "part", part(&whole)));
    all.push(json!({
        "type": "response.output_item.done", "output_index": 0, "item": message("completed", &[part(&whole)]),
    }));
}

fn called(all: &mut Vec<Value>, at: usize, id: &str, args: &str) {
    let item = |status: &str, args: &str| call(at, id, args, status);
    let name = format!("fc_m{at}");
    all.push(json!({
        "type": "response.output_item.added", "output_index": at, "item": item("in_progress", ""),
    }));
    all.extend(quarters(args).map(|piece| {
        json!({
            "type": "response.function_call_arguments.delta", "item_id": name, "output_index": at, "delta": piece,
            "obfuscation": "Qx7Zp2Lm",
        })
    }));
    all.push(json!({
        "type": "response.function_call_arguments.done", "item_id": name, "output_index": at, "arguments": args,
    }));
    all.push(json!({
        "type": "response.output_item.done", "output_index": at, "item": item("completed", args),
    }));
}
