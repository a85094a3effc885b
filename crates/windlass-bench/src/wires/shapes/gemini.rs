//! Gemini `generateContent`: the counts stand in every piece, as the API sends them.

use serde_json::{Value, json};

use super::{ScriptedReply, TOKENS, data, parsed};

fn response(parts: &[Value], why: Option<&str>) -> Value {
    let (input, output) = TOKENS;
    let mut candidate = json!({ "content": { "parts": parts, "role": "model" } });
    if let Some(why) = why {
        candidate["finishReason"] = why.into();
    }
    candidate["index"] = 0.into();
    json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output,
            "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": input }],
        },
        "modelVersion": "script", "responseId": "m1AbCdEfGhIjKlMn",
    })
}

fn calls(calls: &[(String, String)]) -> Vec<Value> {
    let call =
        |(_, args): &(String, String)| json!({ "functionCall": { "name": "echo", "args": parsed(args) } });
    calls.iter().map(call).collect()
}

pub(super) fn whole(reply: &ScriptedReply) -> Value {
    match reply {
        ScriptedReply::Text(pieces) => response(&[json!({ "text": pieces.concat() })], Some("STOP")),
        ScriptedReply::Calls(all) => response(&calls(all), Some("STOP")),
    }
}

pub(super) fn events(reply: &ScriptedReply) -> Vec<String> {
    match reply {
        ScriptedReply::Text(pieces) => {
            let last = pieces.len().saturating_sub(1);
            let piece = |(at, piece): (usize, &String)| {
                data(&response(&[json!({ "text": piece })], (at == last).then_some("STOP")))
            };
            pieces.iter().enumerate().map(piece).collect()
        }
        ScriptedReply::Calls(_) => vec![data(&whole(reply))],
    }
}
