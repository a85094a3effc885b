//! Probes of models behind Anthropic's, Gemini's and Ollama's own APIs: each ability found, and not found.

use serde_json::{Value, json};
use windlass_models::probe::{Ability, Outcome, ProbeReport, probe};
use windlass_models::wires::Wire;
use windlass_models::wires::anthropic_messages::AnthropicMessages;
use windlass_models::wires::gemini::GEMINI;
use windlass_models::wires::ollama::Ollama;
use windlass_models::{HttpModel, HttpModelConfig};

use crate::server::{Seen, Server, Step, chunk, json as whole, response, stream_end, stream_head};

/// What a probe asks for, by its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Hello,
    Stream,
    Call,
    Calls,
    Schema,
    Image,
    Reasoning,
    Cache,
}

fn asked(seen: &Seen) -> Asked {
    let words = [
        ("one to five", Asked::Stream),
        ("both at once", Asked::Calls),
        ("with the tool", Asked::Call),
        ("together?", Asked::Schema),
        ("Which colour has this square?", Asked::Image),
        ("17 times 23", Asked::Reasoning),
        ("colour has the sky", Asked::Cache),
    ];
    words.iter().find(|(words, _)| seen.body.contains(words)).map_or(Asked::Hello, |(_, asked)| *asked)
}

/// A piece of a reply, as a test says it.
enum Part {
    Text(&'static str),
    Thought(&'static str),
    Call(Value),
}

/// The parts of a reply of a model that can do what is asked, if the request asks for it as the API does.
fn parts(asked: Asked, in_form: bool) -> Vec<Part> {
    let add = |a: u8, b: u8| Part::Call(json!({ "a": a, "b": b }));
    match asked {
        Asked::Call if in_form => vec![add(2, 5)],
        Asked::Calls if in_form => vec![add(2, 5), add(3, 4)],
        Asked::Schema if in_form => vec![Part::Text("{\"sum\":7}")],
        Asked::Image if in_form => vec![Part::Text("Red.")],
        Asked::Reasoning if in_form => vec![Part::Thought("17 * 23"), Part::Text("391")],
        Asked::Hello | Asked::Cache => vec![Part::Text("blue")],
        _ => vec![Part::Text("I do not know.")],
    }
}

fn anthropic(seen: &Seen) -> Vec<Step> {
    let (body, asked): (Value, Asked) = (serde_json::from_str(&seen.body).expect("JSON"), asked(seen));
    assert!(body["max_tokens"].as_u64().is_some_and(|most| most > 0), "{body}");
    let form = match asked {
        Asked::Call | Asked::Calls => body["tools"][0]["input_schema"]["type"] == "object",
        Asked::Schema => body["output_config"]["format"]["type"] == "json_schema",
        Asked::Image => seen.body.contains("\"type\":\"image\""),
        Asked::Reasoning => body.get("thinking").is_some(),
        Asked::Hello | Asked::Stream | Asked::Cache => true,
    };
    if asked == Asked::Stream {
        assert_eq!(body["stream"], true);
        let file = include_str!("../corpus/anthropic_messages/text.sse");
        return vec![stream_head(), chunk(file), stream_end()];
    }
    let content: Vec<Value> = parts(asked, form)
        .into_iter()
        .enumerate()
        .map(|(at, part)| match part {
            Part::Text(text) => json!({ "type": "text", "text": text }),
            Part::Thought(text) => json!({ "type": "thinking", "thinking": text, "signature": "c2ln" }),
            Part::Call(input) => {
                json!({ "type": "tool_use", "id": format!("toolu_{at}"), "name": "add", "input": input })
            }
        })
        .collect();
    let marked = seen.body.contains("cache_control");
    let why = if matches!(asked, Asked::Call | Asked::Calls) { "tool_use" } else { "end_turn" };
    whole(&json!({
        "id": "m", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": why,
        "usage": {
            "input_tokens": 10, "output_tokens": 9, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": if asked == Asked::Cache && marked { 1990 } else { 0 },
        },
    })
    .to_string())
}

fn gemini(seen: &Seen) -> Vec<Step> {
    let (body, asked): (Value, Asked) = (serde_json::from_str(&seen.body).expect("JSON"), asked(seen));
    let config = &body["generationConfig"];
    let form = match asked {
        Asked::Call | Asked::Calls => body["tools"][0]["functionDeclarations"][0]["name"] == "add",
        Asked::Schema => config["responseMimeType"] == "application/json",
        Asked::Image => seen.body.contains("\"inlineData\""),
        Asked::Reasoning => config.get("thinkingConfig").is_some(),
        Asked::Hello | Asked::Stream | Asked::Cache => true,
    };
    if asked == Asked::Stream {
        assert!(seen.path().contains(":streamGenerateContent"), "{}", seen.line);
        let file = include_str!("../corpus/gemini/text.sse");
        return vec![stream_head(), chunk(file), stream_end()];
    }
    let all: Vec<Value> = parts(asked, form)
        .into_iter()
        .map(|part| match part {
            Part::Text(text) => json!({ "text": text }),
            Part::Thought(text) => json!({ "text": text, "thought": true }),
            Part::Call(args) => json!({ "functionCall": { "name": "add", "args": args } }),
        })
        .collect();
    whole(&json!({
        "candidates": [{ "content": { "role": "model", "parts": all }, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": {
            "promptTokenCount": 2000, "candidatesTokenCount": 9, "totalTokenCount": 2009,
            "thoughtsTokenCount": if asked == Asked::Reasoning { 5 } else { 0 },
            "cachedContentTokenCount": if asked == Asked::Cache { 1990 } else { 0 },
        },
    })
    .to_string())
}

fn ollama(seen: &Seen) -> Vec<Step> {
    let (body, asked): (Value, Asked) = (serde_json::from_str(&seen.body).expect("JSON"), asked(seen));
    let form = match asked {
        Asked::Call | Asked::Calls => body["tools"][0]["function"]["name"] == "add",
        Asked::Schema => body["format"]["type"] == "object",
        Asked::Image => seen.body.contains("\"images\":["),
        Asked::Reasoning => body["think"] == "low",
        Asked::Hello | Asked::Stream | Asked::Cache => true,
    };
    if asked == Asked::Stream {
        assert_eq!(body["stream"], true);
        let lines = include_str!("../corpus/ollama/text.jsonl");
        return response("200 OK", "content-type: application/x-ndjson\r\n", lines);
    }
    let mut message = json!({ "role": "assistant", "content": "" });
    let mut calls = Vec::new();
    for part in parts(asked, form) {
        match part {
            Part::Text(text) => message["content"] = text.into(),
            Part::Thought(text) => message["thinking"] = text.into(),
            Part::Call(args) => calls.push(json!({ "function": { "name": "add", "arguments": args } })),
        }
    }
    message["tool_calls"] = calls.into();
    whole(&json!({
        "model": "m", "created_at": "2026-11-25T08:00:00Z", "message": message, "done_reason": "stop", "done": true,
        "prompt_eval_count": 2000, "eval_count": 9,
    })
    .to_string())
}

fn model(wire: &'static dyn Wire, server: &Server, marks: bool) -> HttpModel {
    let config = HttpModelConfig::new(wire, "test", server.url.clone());
    let config = HttpModelConfig { allow_proxy: false, cache_control: Some(marks), ..config };
    HttpModel::new(config).expect("a good base URL")
}

fn found(report: &ProbeReport) -> Vec<(Outcome, &str)> {
    assert_eq!(report.findings.iter().map(|one| one.ability).collect::<Vec<_>>(), Ability::ALL);
    report.findings.iter().map(|one| (one.outcome, one.found.as_str())).collect()
}

type Answer = fn(&Seen) -> Vec<Step>;

#[tokio::test]
async fn what_a_model_can_do_is_found_on_each_wire() {
    let works = |found| (Outcome::Works, found);
    let cached = works("cached 1990 of 2000 tokens, written before: 0");
    // Ollama has a cache and says nothing of it.
    let silent = (Outcome::Missing, "cached 0 of 2000 tokens, written before: 0");
    let wires: [(&'static dyn Wire, Answer, &str, _, _); 3] = [
        (&AnthropicMessages, anthropic, "test/claude-opus-4-6", "readable thoughts", cached),
        (&GEMINI, gemini, "test/gemini-2.5-flash", "readable thoughts, tokens: 5", cached),
        (&Ollama, ollama, "test/qwen3", "readable thoughts", silent),
    ];
    for (wire, answer, name, thoughts, cache) in wires {
        let server = Server::answering(answer).await;
        let report = probe(&model(wire, &server, true), name).await.expect("it answers");
        assert_eq!(report.text.text.as_deref(), Some("blue"), "{name}");
        let found = found(&report);
        assert!(found[0].0 == Outcome::Works && found[0].1.starts_with("pieces: "), "{name}: {found:?}");
        let rest = [
            works("add({\"a\":2,\"b\":5})"),
            works("add({\"a\":2,\"b\":5}), add({\"a\":3,\"b\":4})"),
            works("{\"sum\":7}"),
            works("it says: Red."),
            works(thoughts),
            cache,
        ];
        assert_eq!(found[1..], rest, "{name}");
        assert_eq!(
            server.seen().len(),
            1 + Ability::ALL.len() + 1,
            "text, each ability, and the cache twice"
        );
    }
}

#[tokio::test]
async fn what_a_model_cannot_do_is_missing_on_each_wire() {
    let wires: [(&'static dyn Wire, &str, &str); 3] = [
        (&AnthropicMessages, include_str!("../corpus/anthropic_messages/text.json"), "test/claude-opus-4-6"),
        (&GEMINI, include_str!("../corpus/gemini/text.json"), "test/gemini-2.5-flash"),
        (&Ollama, include_str!("../corpus/ollama/text.json"), "test/qwen3"),
    ];
    for (wire, text, name) in wires {
        let body: Value = serde_json::from_str(text).expect("JSON");
        let server = Server::answering(move |_| whole(&body.to_string())).await;
        let report = probe(&model(wire, &server, false), name).await.expect("it answers");
        for finding in &report.findings {
            assert_eq!(finding.outcome, Outcome::Missing, "{name}: {finding:?}");
        }
    }
}

#[tokio::test]
async fn a_refused_ability_fails_with_the_words_of_each_api() {
    let error = |status: &str, body: &Value| {
        response(status, "content-type: application/json\r\n", &body.to_string())
    };
    let words = "m does not support it";
    let anthropic_error =
        json!({ "type": "error", "error": { "type": "invalid_request_error", "message": words } });
    let gemini_error = json!({ "error": { "code": 400, "message": words, "status": "INVALID_ARGUMENT" } });
    let wires: [(&'static dyn Wire, Answer, Value, &str); 3] = [
        (&AnthropicMessages, anthropic, anthropic_error, "test/claude-opus-4-6"),
        (&GEMINI, gemini, gemini_error, "test/gemini-2.5-flash"),
        (&Ollama, ollama, json!({ "error": words }), "test/qwen3"),
    ];
    for (wire, answer, body, name) in wires {
        let refusing = move |seen: &Seen| {
            if asked(seen) == Asked::Hello { answer(seen) } else { error("400 Bad Request", &body) }
        };
        let server = Server::answering(refusing).await;
        let report = probe(&model(wire, &server, true), name).await.expect("it answers");
        for finding in &report.findings {
            assert_eq!(finding.outcome, Outcome::Failed, "{name}: {finding:?}");
            assert!(finding.found.contains(words), "{name}: {finding:?}");
        }
    }
}
