//! Traffic of OpenAI's dialects, written from their documentation: each is read whole and streamed, cut at every byte.

use std::collections::VecDeque;

use serde_json::{Value, json};
use windlass_core::Message;
use windlass_core::message::{AssistantMessage, MediaSource, ToolCall};
use windlass_core::model::{FailureKind, Reply, StopReason};

use super::super::{DecodeError, Decoder, decode};
use crate::http::sse::SseParser;
use crate::wires::openai_chat::encode::encode;
use crate::wires::{Asked, Decode, Dialect, Quirks};
use crate::{Assembler, conformance};

fn dialect(label: &str, return_reasoning: bool) -> Dialect {
    Dialect { label: label.into(), quirks: Quirks { return_reasoning, ..Quirks::NONE } }
}

fn asked() -> Asked {
    Asked { model: "m".into(), content_bytes: 40 }
}

/// The reply of a stream that comes in these pieces.
fn read(dialect: &Dialect, pieces: &[&[u8]]) -> Result<Reply, DecodeError> {
    let mut parser = SseParser::default();
    let mut decoder = Decoder::new(dialect);
    let mut queue = VecDeque::new();
    for piece in pieces.iter().map(Some).chain([None]) {
        match piece {
            Some(piece) => parser.push(piece).expect("small"),
            None => parser.end(),
        }
        while let Some(data) = parser.next_data() {
            decoder.event(data, &mut queue)?;
        }
    }
    assert!(decoder.end(40, &mut queue), "the reply is whole");
    let mut assembler = Assembler::new("m");
    for delta in &queue {
        assembler.push(delta.clone()).expect("small");
    }
    Ok(assembler.finish())
}

/// A stream of these chunks; the same reply wherever it is cut.
fn streamed(dialect: &Dialect, chunks: &[Value]) -> Result<Reply, DecodeError> {
    let mut stream = String::from(": OPENROUTER PROCESSING\n\n");
    stream.extend(chunks.iter().map(|chunk| format!("data: {chunk}\n\n")));
    stream.push_str("data: [DONE]\n\ndata: [DONE]\n\n");
    let bytes = stream.as_bytes();
    let reply = read(dialect, &[bytes]);
    for cut in 0..bytes.len() {
        assert_eq!(read(dialect, &[&bytes[..cut], &bytes[cut..]]), reply, "cut at {cut}");
    }
    reply
}

fn whole(dialect: &Dialect, body: &Value) -> Result<Reply, DecodeError> {
    decode(dialect, body.to_string().as_bytes(), &asked())
}

fn message(message: &Value, end: &str) -> Value {
    json!({ "choices": [{ "message": message, "finish_reason": end }], "usage": { "prompt_tokens": 9, "completion_tokens": 4 } })
}

fn delta(delta: &Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn end(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }], "usage": { "prompt_tokens": 9, "completion_tokens": 4 } })
}

/// The message that this reply becomes, as it is sent to a provider.
fn sent(dialect: &Dialect, reply: &Reply) -> Value {
    let calls = reply.calls.iter().map(|call| ToolCall {
        id: call.id.as_deref().unwrap_or("call_1").into(),
        name: call.name.clone(),
        args: call.args.clone().into(),
        ..ToolCall::default()
    });
    let said = AssistantMessage {
        text: reply.text.clone(),
        reasoning: reply.reasoning.clone(),
        media: reply.media.clone().into(),
        calls: calls.collect(),
        annotations: reply.annotations.clone(),
    };
    let mut request = conformance::request("m", "Hi");
    request.messages =
        [Message::user("Hi"), Message::Assistant(said)].into_iter().map(std::sync::Arc::new).collect();
    let body: Value = serde_json::from_slice(&encode(dialect, &request).body).expect("JSON");
    body["messages"][1].clone()
}

fn reasoning(reply: &Reply) -> &str {
    reply.reasoning.as_ref().map_or("", |reasoning| &reasoning.text)
}

/// OpenRouter, "Errors and debugging": mid-stream errors come with `finish_reason: "error"`. DeepSeek, "Create chat completion":
/// `insufficient_system_resource`. vLLM: `abort`.
#[test]
fn an_end_that_is_an_error_or_that_nobody_knows_is_a_failure() {
    let plain = dialect("openrouter", false);
    for word in ["error", "insufficient_system_resource", "abort", "network_error", "brand_new"] {
        for reply in [
            streamed(&plain, &[delta(&json!({ "content": "half" })), end(word)]),
            whole(&plain, &message(&json!({ "content": "half" }), word)),
        ] {
            let error = reply.expect_err("a failure");
            assert_eq!(error.kind, FailureKind::Protocol, "{word}");
            assert_eq!(error.message, format!("the reply ended with `{word}`"));
        }
    }
    let failed = json!({ "choices": [{ "delta": { "content": "" }, "finish_reason": "error",
        "error": { "code": 502, "message": "Provider returned error", "metadata": { "provider_name": "Somebody", "raw": "{\"error\":{\"message\":\"upstream broke\"}}" } } }] });
    for reply in
        [streamed(&plain, &[delta(&json!({ "content": "half" })), failed.clone()]), whole(&plain, &failed)]
    {
        let error = reply.expect_err("a failure");
        assert_eq!((error.kind, error.status), (FailureKind::Server, Some(502)));
        assert_eq!(error.message, "Provider returned error (Somebody: upstream broke)");
    }
    let overloaded = json!({ "error": { "code": "server_error", "message": "the provider is overloaded" },
        "choices": [{ "index": 0, "delta": { "content": "" }, "finish_reason": "error" }] });
    assert_eq!(streamed(&plain, &[overloaded]).expect_err("a failure").kind, FailureKind::Overloaded);
}

/// Usage that was counted before a failure is paid.
#[test]
fn e41_usage_beside_an_error_counts() {
    let mut decoder = Decoder::new(&dialect("x", false));
    let chunk = json!({ "choices": [{ "delta": {}, "finish_reason": "error" }], "usage": { "prompt_tokens": 9, "completion_tokens": 4 } });
    decoder.event(chunk.to_string().as_bytes(), &mut VecDeque::new()).expect_err("a failure");
    assert_eq!(decoder.usage(0).total(), 13);
}

/// DeepSeek, "Thinking mode": `reasoning_content` goes back with the calls. vLLM, "Reasoning outputs": the field is `reasoning`.
#[test]
fn e44_readable_reasoning_goes_back_under_its_own_name_where_it_is_wanted() {
    for field in ["reasoning_content", "reasoning"] {
        let call =
            json!([{ "id": "c1", "type": "function", "function": { "name": "f", "arguments": "{}" } }]);
        let body = message(&json!({ "content": null, field: "First, f.", "tool_calls": call }), "tool_calls");
        let wants = dialect("deepseek", true);
        let reply = whole(&wants, &body).expect("a reply");
        let chunks = [
            delta(&json!({ field: "First," })),
            delta(&json!({ field: " f.", "tool_calls": call })),
            end("tool_calls"),
        ];
        assert_eq!(streamed(&wants, &chunks), Ok(reply.clone()));
        assert_eq!(sent(&wants, &reply)[field], "First, f.");
        for other in [dialect("deepseek", false), dialect("another", true)] {
            assert_eq!(sent(&other, &reply).get(field), None);
        }
        let unwanted = whole(&dialect("deepseek", false), &body).expect("a reply");
        assert_eq!(unwanted.reasoning.as_ref().map(|reasoning| &reasoning.provider_metadata), Some(&None));
    }
}

/// OpenRouter, "Reasoning tokens", "Preserving reasoning".
#[test]
fn e44_blocks_of_reasoning_go_back_as_they_came_to_their_provider_alone() {
    let router = dialect("openrouter", false);
    let blocks = json!([
        { "type": "reasoning.text", "text": "Let me think.", "signature": "sig==", "id": "r1", "format": "anthropic-claude-v1", "index": 0 },
        { "type": "reasoning.summary", "summary": "It is short.", "id": null, "format": "openai-responses-v1", "index": 1 },
        { "type": "reasoning.encrypted", "data": "gAAA", "id": "r2", "format": "openai-responses-v1", "index": 2 },
    ]);
    let call = json!([{ "id": "c1", "type": "function", "function": { "name": "f", "arguments": "{}" } }]);
    let body = message(
        &json!({ "content": "Yes", "reasoning": "Let me think.It is short.", "reasoning_details": blocks, "tool_calls": call }),
        "tool_calls",
    );
    let reply = whole(&router, &body).expect("a reply");
    assert_eq!(reasoning(&reply), "Let me think.It is short.");
    assert_eq!(sent(&router, &reply)["reasoning_details"], blocks);
    let piece = |text: &str, signature: Value| {
        let block = json!({ "type": "reasoning.text", "text": text, "signature": signature, "id": "r1", "format": "anthropic-claude-v1", "index": 0 });
        delta(&json!({ "content": "", "reasoning": text, "reasoning_details": [block] }))
    };
    let chunks = [
        piece("Let me ", Value::Null),
        piece("think.", Value::Null),
        piece("", "sig==".into()),
        delta(&json!({ "reasoning": "It is short.", "reasoning_details": [blocks[1]] })),
        delta(&json!({ "reasoning_details": [blocks[2]] })),
        delta(&json!({ "content": "Yes", "tool_calls": call })),
        end("tool_calls"),
    ];
    let from_stream = streamed(&router, &chunks).expect("a reply");
    assert_eq!(from_stream, reply, "the seal included");
    assert_eq!(sent(&router, &from_stream)["reasoning_details"], blocks);
    for other in ["deepseek", "openai"] {
        let other = sent(&dialect(other, true), &reply);
        assert_eq!((other.get("reasoning_details"), other.get("reasoning_content")), (None, None));
    }
    let mut changed = reply;
    changed.text = Some("*****".into());
    assert_eq!(sent(&router, &changed).get("reasoning_details"), None, "it fits the message no more");
}

/// Google, "Thought signatures", "OpenAI compatibility".
#[test]
fn e44_signatures_of_thoughts_stay_on_their_calls() {
    let gemini = dialect("gemini", false);
    let signed = |id: &str, signature: Option<&str>| {
        let mut call =
            json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": "{\"x\":1}" } });
        if let Some(signature) = signature {
            call["extra_content"] = json!({ "google": { "thought_signature": signature } });
        }
        call
    };
    let calls = json!([signed("a", Some("s1")), signed("b", None), signed("c", Some("s3"))]);
    let beside = json!({ "google": { "thought_signature": "s0" } });
    let body =
        message(&json!({ "content": "On it.", "tool_calls": calls, "extra_content": beside }), "tool_calls");
    let reply = whole(&gemini, &body).expect("a reply");
    let message = sent(&gemini, &reply);
    assert_eq!((&message["tool_calls"], &message["extra_content"]), (&calls, &beside));
    // The pieces of a stream: one call a chunk, all of them number 0, as Gemini is known to send them.
    let mut chunks = vec![delta(&json!({ "content": "On it.", "extra_content": beside }))];
    for call in calls.as_array().expect("calls") {
        let mut call = call.clone();
        call["index"] = 0.into();
        chunks.push(delta(&json!({ "tool_calls": [call] })));
    }
    chunks.push(end("stop"));
    assert_eq!(streamed(&gemini, &chunks), Ok(reply.clone()));
    assert_eq!(sent(&dialect("openai", true), &reply)["tool_calls"][0].get("extra_content"), None);
    let thought = json!({ "google": { "thought": true } });
    let unsigned =
        whole(&gemini, &self::message(&json!({ "content": "Yes", "extra_content": thought }), "stop"));
    assert_eq!(unsigned.expect("a reply").reasoning, None, "nothing that must go back");
}

/// Mistral, "Reasoning": content is a list of parts of type `thinking` and `text`.
#[test]
fn reasoning_in_parts_of_the_content_is_reasoning() {
    let thinking = |text: &str| json!({ "type": "thinking", "thinking": [{ "type": "text", "text": text }] });
    let content = json!([thinking("Two and two."), { "type": "text", "text": "Four." }]);
    for returns in [false, true] {
        let mistral = dialect("mistral", returns);
        let reply = whole(&mistral, &message(&json!({ "content": content }), "stop")).expect("a reply");
        assert_eq!((reasoning(&reply), reply.text.as_deref()), ("Two and two.", Some("Four.")));
        let chunks = [
            delta(&json!({ "content": [thinking("Two ")] })),
            delta(&json!({ "content": [thinking("and two.")] })),
            delta(&json!({ "content": [{ "type": "text", "text": "Fo" }] })),
            delta(&json!({ "content": "ur." })),
            end("stop"),
        ];
        assert_eq!(streamed(&mistral, &chunks), Ok(reply.clone()));
        let back = &sent(&mistral, &reply)["content"];
        assert_eq!(*back, if returns { content.clone() } else { "Four.".into() });
    }
}

#[test]
fn p23_reasoning_in_tags_within_the_text_is_reasoning() {
    let plain = dialect("ollama", false);
    let reply = whole(&plain, &message(&json!({ "content": "<think>\nTwo.\n</think>\n\nFour." }), "stop"));
    let reply = reply.expect("a reply");
    assert_eq!((reasoning(&reply), reply.text.as_deref()), ("Two.", Some("Four.")));
    let chunks =
        ["<th", "ink>\nTw", "o.\n</thi", "nk>\n\nFo", "ur."].map(|text| delta(&json!({ "content": text })));
    let chunks: Vec<_> = chunks.into_iter().chain([end("stop")]).collect();
    assert_eq!(streamed(&plain, &chunks), Ok(reply));
    let unopened =
        whole(&plain, &message(&json!({ "content": "Two.\n</think>\nFour." }), "stop")).expect("a reply");
    assert_eq!((reasoning(&unopened), unopened.text.as_deref()), ("Two.", Some("Four.")));
}

#[test]
fn arguments_that_are_nothing_are_an_empty_object() {
    let plain = dialect("x", false);
    for args in [json!("null"), json!(""), json!(" "), json!("{}"), Value::Null, json!({})] {
        let call = json!([{ "index": 0, "id": "c1", "function": { "name": "f", "arguments": args } }]);
        let body = message(&json!({ "content": null, "tool_calls": call }), "tool_calls");
        let reply = whole(&plain, &body).expect("a reply");
        assert_eq!(&*reply.calls[0].args, "{}", "{args}");
        assert_eq!(streamed(&plain, &[delta(&json!({ "tool_calls": call })), end("tool_calls")]), Ok(reply));
    }
    let call = json!([{ "index": 0, "id": "c1", "function": { "name": "f" } }]);
    let reply = whole(&plain, &message(&json!({ "tool_calls": call }), "tool_calls")).expect("a reply");
    assert_eq!(&*reply.calls[0].args, "{}", "no arguments at all");
}

/// Groq, "Tool use": `tool_use_failed`; in a stream it comes as an event of its own.
#[test]
fn a_malformed_call_that_is_reported_as_an_error_is_a_call() {
    let groq = dialect("groq", false);
    let error = json!({ "error": { "message": "Failed to call a function.", "type": "invalid_request_error", "code": "tool_use_failed",
        "failed_generation": "{\"name\": \"f\", \"arguments\": {\"x\": \"one\"}}", "status_code": 400 } });
    for reply in
        [streamed(&groq, &[delta(&json!({ "reasoning": "hm" })), error.clone()]), whole(&groq, &error)]
    {
        let reply = reply.expect("a reply");
        assert_eq!(
            (reply.stop, &*reply.calls[0].name, &*reply.calls[0].args),
            (StopReason::ToolCalls, "f", "{\"x\": \"one\"}")
        );
    }
    let other = json!({ "error": { "message": "no", "code": "tool_use_failed", "status_code": 400 } });
    assert_eq!(whole(&groq, &other).expect_err("a failure").kind, FailureKind::BadRequest);
}

/// Azure OpenAI, "Content filtering"; Groq, "Errors"; OpenAI, "Error codes".
#[test]
fn errors_within_a_200_are_sorted_by_the_status_or_the_code_that_they_name() {
    let kind =
        |error: Value| whole(&dialect("x", false), &json!({ "error": error })).expect_err("a failure").kind;
    assert_eq!(
        kind(json!({ "code": "content_filter", "status": 400, "message": "filtered" })),
        FailureKind::BadRequest
    );
    assert_eq!(kind(json!({ "code": "content_filter", "message": "filtered" })), FailureKind::BadRequest);
    assert_eq!(kind(json!({ "message": "no", "type": "x", "status_code": 422 })), FailureKind::BadRequest);
    assert_eq!(kind(json!({ "message": "no", "status_code": 503 })), FailureKind::Overloaded);
    assert_eq!(kind(json!({ "message": "no", "type": "authentication_error" })), FailureKind::Auth);
    assert_eq!(kind(json!({ "message": "no", "type": "invalid_request_error" })), FailureKind::BadRequest);
    assert_eq!(kind(json!({ "message": "no", "code": "model_not_found" })), FailureKind::NotFound);
    assert_eq!(kind(json!({ "message": "no", "code": 402 })), FailureKind::Auth);
    assert_eq!(kind(json!({ "message": "no", "type": "server_error" })), FailureKind::Server);
    assert!(!kind(json!({ "code": "content_filter", "status": 400 })).retryable());
    let unwrapped =
        whole(&dialect("x", false), &json!({ "object": "error", "message": "no such model", "code": 404 }));
    assert_eq!(unwrapped.expect_err("a failure").message, "no such model");
    let event = streamed(&dialect("x", false), &[json!({ "message": "Internal server error", "code": 500 })]);
    assert_eq!(event.expect_err("a failure").kind, FailureKind::Server);
    let groq = json!({ "choices": [], "x_groq": { "error": "over capacity" } });
    assert_eq!(streamed(&dialect("groq", false), &[groq]).expect_err("a failure").message, "over capacity");
}

/// Groq, "Create chat completion": counts of a stream stand under `x_groq`, in its last chunk.
#[test]
fn counts_under_x_groq_are_read() {
    let mut last = end("stop");
    last["usage"] = Value::Null;
    last["x_groq"] = json!({ "id": "req_1", "usage": { "queue_time": 0.01, "prompt_tokens": 21, "completion_tokens": 5, "total_tokens": 26 } });
    let reply =
        streamed(&dialect("groq", false), &[delta(&json!({ "content": "Hi" })), last]).expect("a reply");
    assert_eq!((reply.usage.input, reply.usage.output, reply.usage.estimated), (21, 5, false));
}

/// OpenRouter, "Image generation".
#[test]
fn images_of_the_model_are_media() {
    let images = json!([
        { "type": "image_url", "image_url": { "url": "data:image/webp;base64,UklGRg==" } },
        { "type": "image_url", "image_url": { "url": "https://images.example/1.png" } },
    ]);
    let router = dialect("openrouter", false);
    let reply =
        whole(&router, &message(&json!({ "content": "Here.", "images": images }), "stop")).expect("a reply");
    let sources: Vec<_> = reply.media.iter().map(|media| (&*media.media_type, &media.source)).collect();
    let (inline, away) =
        (MediaSource::Base64("UklGRg==".into()), MediaSource::Url("https://images.example/1.png".into()));
    assert_eq!(sources, [("image/webp", &inline), ("image/png", &away)]);
    let chunks = [
        delta(&json!({ "content": "Here." })),
        delta(&json!({ "content": "", "images": images })),
        end("stop"),
    ];
    assert_eq!(streamed(&router, &chunks), Ok(reply.clone()));
    let back = sent(&router, &reply);
    assert_eq!(
        back["content"],
        "Here.\n[image: image/webp, 6 bytes, not shown]\n[image: image/png, https://images.example/1.png]"
    );
}

/// OpenAI, "Structured outputs", "Refusals": a part of the content, or a field of its own.
#[test]
fn a_refusal_in_a_part_is_a_refusal() {
    let body = message(&json!({ "content": [{ "type": "refusal", "refusal": "No." }] }), "stop");
    let reply = whole(&dialect("x", false), &body).expect("a reply");
    assert_eq!((reply.text.as_deref(), reply.stop), (Some("No."), StopReason::Refused));
}

/// Pieces of one block are put together in place: reading 10 MB of them is not quadratic, and what is kept has a bound.
#[test]
fn what_only_the_provider_understands_has_a_bound() {
    let mut decoder = Decoder::new(&dialect("openrouter", false));
    let chunk = delta(
        &json!({ "reasoning_details": [{ "type": "reasoning.encrypted", "data": "x".repeat(1 << 20) }] }),
    );
    let chunk = chunk.to_string();
    let error = (0..20).find_map(|_| decoder.event(chunk.as_bytes(), &mut VecDeque::new()).err());
    assert_eq!(error.expect("it has a bound").kind, FailureKind::TooLarge);
}

#[test]
fn k55_vercel_s_gateway_counts_thoughts_of_gemini_in_no_total() {
    let quirks = crate::providers::quirks_of_host("ai-gateway.vercel.sh");
    let output = |model: &str, quirks: Quirks| {
        let dialect = Dialect { quirks, ..Dialect::default() };
        let usage = r#""usage":{"prompt_tokens":10,"completion_tokens":50,"total_tokens":60,
            "completion_tokens_details":{"reasoning_tokens":40}}"#;
        let body = format!(
            r#"{{"id":"g","model":{model},"choices":[{{"index":0,"finish_reason":"stop","message":{{"role":"assistant","content":"Hi"}}}}],{usage}}}"#
        );
        let asked = Asked { model: "m".into(), content_bytes: 4 };
        let whole = decode(&dialect, body.as_bytes(), &asked).expect("a reply").usage.output;
        let chunk = body.replace("message", "delta").replace('\n', " ");
        let mut decoder = Decoder::new(&dialect);
        let mut queue = VecDeque::new();
        decoder.event(chunk.as_bytes(), &mut queue).expect("a chunk");
        let streamed = queue.iter().find_map(|delta| match delta {
            crate::Delta::Usage(usage) => Some(usage.output),
            _ => None,
        });
        assert_eq!(streamed, Some(whole));
        whole
    };
    assert_eq!(output(r#""google/gemini-2.5-pro""#, quirks), 90);
    assert_eq!(output(r#""openai/gpt-5""#, quirks), 50, "others are counted as they should be");
    assert_eq!(output(r#""google/gemini-2.5-pro""#, Quirks::NONE), 50, "and so are other gateways");
    for odd in ["null", "7", r#"{"id":"google/"}"#] {
        assert_eq!(output(odd, quirks), 50, "{odd}");
    }
}
