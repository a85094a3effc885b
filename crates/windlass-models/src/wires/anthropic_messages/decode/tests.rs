use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use serde_json::{Value, json};
use windlass_core::Message;
use windlass_core::message::{AssistantMessage, ToolCall};
use windlass_core::model::{FailureKind, Reply, StopReason, Usage};

use super::Decoder;
use crate::http::sse::SseParser;
use crate::wires::anthropic_messages::{AnthropicMessages, encode};
use crate::wires::{Asked, Decode, DecodeError, Dialect, Quirks, Wire};
use crate::{Assembler, conformance};

mod bounds;

type Outcome = Result<(Reply, bool), DecodeError>;

fn dialect(file: &str) -> Dialect {
    let quirks = Quirks { return_reasoning: file.contains(".return."), ..Quirks::NONE };
    Dialect { label: "anthropic".into(), quirks }
}

/// The reply of a stream that comes in these pieces, and whether it was whole.
fn read(dialect: &Dialect, pieces: &[&[u8]]) -> Outcome {
    let mut parser = SseParser::default();
    let mut decoder = Decoder::new(dialect);
    let mut assembler = Assembler::new("m");
    let mut queue = VecDeque::new();
    for piece in pieces.iter().map(Some).chain([None]) {
        match piece {
            Some(piece) => parser.push(piece).expect("small"),
            None => parser.end(),
        }
        while !decoder.is_done()
            && let Some(data) = parser.next_data()
        {
            decoder.event(data, &mut queue)?;
        }
    }
    let whole = decoder.end(400, &mut queue);
    for delta in &queue {
        assembler.push(delta.clone()).expect("small");
    }
    Ok((assembler.finish(), whole))
}

fn whole(dialect: &Dialect, body: &str) -> Result<Reply, DecodeError> {
    let asked = Asked { model: "m".into(), content_bytes: 400 };
    AnthropicMessages.decode(dialect, body.as_bytes(), &asked)
}

/// The recorded files with this end, by name without it.
fn files(end: &str) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/anthropic_messages");
    let all = std::fs::read_dir(folder).expect("the corpus").map(|entry| entry.expect("a file").path());
    let named = all.filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_suffix(end)?.to_owned();
        Some((name, std::fs::read_to_string(path).expect("it can be read")))
    });
    named.collect()
}

fn stream(name: &str) -> String {
    files(".sse").remove(name).expect("it is in the corpus")
}

fn outcome(name: &str) -> Outcome {
    read(&dialect(&format!("{name}.sse")), &[stream(name).as_bytes()])
}

fn reply(name: &str) -> Reply {
    let (reply, whole) = outcome(name).expect("a good stream");
    assert!(whole, "{name}");
    reply
}

/// The message that a reply becomes.
fn said(reply: &Reply) -> AssistantMessage {
    let calls = reply.calls.iter().enumerate().map(|(at, call)| ToolCall {
        id: call
            .id
            .clone()
            .filter(|id| !id.is_empty())
            .map_or_else(|| format!("call_{at}").into(), |id| (&*id).into()),
        name: call.name.clone(),
        args: (&*call.args).into(),
        ..ToolCall::default()
    });
    AssistantMessage {
        text: reply.text.clone(),
        reasoning: reply.reasoning.clone(),
        media: reply.media.clone().into(),
        calls: calls.collect(),
        annotations: reply.annotations.clone(),
    }
}

/// The blocks that go back for a reply. A message of the user follows, so that the reply's end is as it came.
fn sent_back(dialect: &Dialect, reply: &Reply) -> Value {
    let mut request = conformance::request("anthropic/claude-opus-4-6", "Hi");
    request.messages.push(std::sync::Arc::new(Message::Assistant(said(reply))));
    request.messages.push(std::sync::Arc::new(Message::user("Go on.")));
    let body: Value = serde_json::from_slice(&encode::encode(dialect, &request).body).expect("JSON");
    body["messages"][1]["content"].clone()
}

#[test]
fn e13_a_stream_cut_anywhere_gives_the_same_reply() {
    let all = files(".sse");
    assert!(all.len() > 40, "the corpus is there");
    for (name, stream) in all {
        let (dialect, bytes) = (dialect(&format!("{name}.sse")), stream.as_bytes());
        let expected = read(&dialect, &[bytes]);
        for cut in (0..=bytes.len()).step_by(7) {
            assert_eq!(read(&dialect, &[&bytes[..cut], &bytes[cut..]]), expected, "{name} cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&dialect, &single), expected, "{name} byte by byte");
    }
}

#[test]
fn e13_a_stream_that_ends_early_is_no_reply_or_the_whole_one() {
    for (name, stream) in files(".sse") {
        let (dialect, bytes) = (dialect(&format!("{name}.sse")), stream.as_bytes());
        let but_usage = |outcome: Outcome| {
            outcome.map(|(reply, whole)| whole.then(|| Reply { usage: Usage::default(), ..reply }))
        };
        let expected = but_usage(read(&dialect, &[bytes]));
        for end in (0..bytes.len()).step_by(5) {
            match but_usage(read(&dialect, &[&bytes[..end]])) {
                Ok(None) => {}
                early => assert!(
                    early == expected
                        || early.as_ref().is_err_and(|error| error.kind == FailureKind::Protocol),
                    "{name} ended at {end}: {early:?}"
                ),
            }
        }
    }
}

#[test]
fn e15_a_whole_reply_is_the_streamed_one_with_its_seal() {
    let (streams, bodies) = (files(".sse"), files(".json"));
    let both: Vec<_> =
        streams.iter().filter_map(|(name, one)| Some((name, one, bodies.get(name)?))).collect();
    assert!(both.len() > 35, "most have both forms");
    for (name, stream, body) in both {
        let dialect = dialect(&format!("{name}.sse"));
        let streamed = read(&dialect, &[stream.as_bytes()]).expect("a good stream");
        assert_eq!(Ok(streamed), whole(&dialect, body).map(|reply| (reply, true)), "{name}");
    }
}

#[test]
fn what_only_the_provider_understands_goes_back_unchanged() {
    // Blank texts and calls that the API would refuse do not go back as they came.
    let others = [
        "call_ids_repeat",
        "calls_without_arguments",
        "content_is_text",
        "refusal_empty_with_details",
        "unknown_stop_reason_whole.error",
    ];
    let mut count = 0;
    for (name, body) in files(".json") {
        let body: Value = serde_json::from_str(&body).expect("JSON");
        let Some(mut content) = body["content"].as_array().cloned() else { continue };
        if others.contains(&&*name) || content.is_empty() {
            continue;
        }
        let dialect = dialect(&format!("{name}.json"));
        if name == "unsigned" {
            content.remove(0);
        } else if name == "unsigned.return" {
            content[0]["signature"] = json!("");
        }
        let reply = whole(&dialect, &body.to_string()).expect("a reply");
        assert_eq!(sent_back(&dialect, &reply), Value::Array(content), "{name}");
        count += 1;
    }
    assert!(count > 25, "{count}");
}

#[test]
fn e44_another_provider_gets_neither_thinking_nor_blocks_of_hosted_tools() {
    let other = Dialect { label: "other".into(), ..Dialect::default() };
    let plain = sent_back(&other, &reply("thinking_and_call"));
    let call =
        json!({"type": "tool_use", "id": "toolu_01A", "name": "get_weather", "input": {"city": "Paris"}});
    assert_eq!(plain, json!([{"type": "text", "text": "I'll look."}, call]));
    let searched = json!([{"type": "text", "text": "I'll search. They lift anchors."}]);
    assert_eq!(sent_back(&other, &reply("web_search")), searched);
}

#[test]
fn usage_counts_all_input_and_what_is_billed_beside() {
    assert_eq!(
        reply("usage_in_parts").usage,
        Usage {
            input: 2314,
            output: 40,
            cached: 2000,
            cache_write: 300,
            reasoning: 22,
            estimated: false,
            reported: 0.into()
        }
    );
    assert_eq!(
        whole(&dialect(""), &files(".json")["usage_split_only"]).expect("a reply").usage,
        Usage { input: 12, output: 6, cache_write: 9, ..Usage::default() }
    );
    let with_iterations = Usage { input: 1150, output: 239, cached: 20, cache_write: 10, ..Usage::default() };
    assert_eq!(reply("usage_iterations").usage, with_iterations, "the compaction and the advisor are added");
    assert_eq!(reply("usage_zero_later").usage, Usage { input: 25, output: 15, ..Usage::default() });
    assert_eq!(reply("ends_twice").usage, Usage { input: 25, output: 15, ..Usage::default() });
    assert_eq!(reply("no_usage").usage, Usage { input: 100, output: 2, estimated: true, ..Usage::default() });
}

#[test]
fn calls_in_every_form() {
    let calls = |name| {
        let calls = reply(name).calls.into_iter();
        calls.map(|call| (call.id.unwrap_or_default().to_string(), call.args.to_string())).collect::<Vec<_>>()
    };
    let none: Vec<_> = (1..=5).map(|n| (format!("toolu_{n}"), "{}".to_owned())).collect();
    assert_eq!(calls("calls_without_arguments"), none);
    assert_eq!(calls("call_begins_with_input"), [("toolu_1".to_owned(), r#"{"x":[1,2]}"#.to_owned())]);
    let repeated = [("same", r#"{"n":1}"#), ("same", r#"{"n":2}"#), ("", r#"{"n":3}"#)];
    let repeated = repeated.map(|(id, args)| (id.to_owned(), args.to_owned()));
    assert_eq!(calls("call_ids_repeat"), repeated);
}

#[test]
fn blocks_that_interleave_stay_in_their_order() {
    let mixed = reply("interleaved");
    assert_eq!(mixed.text.as_deref(), Some("one two three four"));
    assert_eq!((mixed.calls.len(), &*mixed.calls[0].args), (1, r#"{"a":1}"#));
    let odd = reply("odd_indices");
    assert_eq!((odd.text.as_deref(), odd.calls.len()), (Some("AB"), 1));
    let unbegun = reply("no_block_begins");
    assert_eq!((unbegun.text.as_deref(), &*unbegun.reasoning.expect("some").text), (Some("Yes."), "Hm."));
}

#[test]
fn every_reason_for_the_end() {
    for (name, stop, text) in [
        ("text", StopReason::Stop, Some("Grüße 🦀\nende")),
        ("stop_sequence", StopReason::Stop, Some("1, 2, ")),
        ("thinking_and_call", StopReason::ToolCalls, Some("I'll look.")),
        ("max_tokens", StopReason::Length, Some("It was a")),
        ("context_window", StopReason::Length, Some("It was a")),
        ("refusal", StopReason::Refused, Some("I")),
        ("refusal_empty", StopReason::Refused, None),
        (
            "refusal_empty_with_details",
            StopReason::Refused,
            Some("The request was declined because it may enable cyber harm."),
        ),
        ("pause_turn", StopReason::Paused, Some("Searching. ")),
        ("compaction_pause", StopReason::Paused, None),
        ("empty_stop_sequence", StopReason::Stop, None),
        ("empty_end_turn", StopReason::Stop, None),
    ] {
        let reply = reply(name);
        assert_eq!((reply.stop, reply.text.as_deref()), (stop, text), "{name}");
    }
}

#[test]
fn an_unknown_reason_for_the_end_is_a_failure() {
    let error = outcome("unknown_stop_reason").expect_err("nobody knows it");
    assert_eq!(error.kind, FailureKind::Protocol);
    assert!(error.message.contains("`tired`"), "{}", error.message);
    let body = &files(".error.json")["unknown_stop_reason_whole"];
    assert_eq!(whole(&dialect(""), body).expect_err("nobody knows it"), error);
}

#[test]
fn without_a_reason_for_the_end_a_stream_is_cut() {
    let text = stream("text");
    let (head, _) = text.split_once("event: message_delta").expect("an end");
    let (_, whole) = read(&dialect(""), &[head.as_bytes()]).expect("good so far");
    assert!(!whole);
    assert_eq!(reply("no_message_stop").text.as_deref(), Some("Hello"), "the reason is the end");
}

#[test]
fn errors_within_a_200_have_their_kind() {
    let midway = outcome("overloaded_midway").expect_err("an error came");
    assert_eq!((midway.kind, midway.status), (FailureKind::Overloaded, Some(529)));
    assert_eq!(midway.message, "Overloaded");
    let files = files(".error.json");
    for (name, kind, status, message) in [
        ("overloaded", FailureKind::Overloaded, Some(529), "Overloaded"),
        ("invalid_request", FailureKind::BadRequest, Some(400), "messages.0.content: Field required"),
        (
            "prompt_too_long",
            FailureKind::ContextLength,
            Some(400),
            "prompt is too long: 215000 tokens > 200000 maximum",
        ),
        ("authentication", FailureKind::Auth, Some(401), "invalid x-api-key"),
        ("not_found", FailureKind::NotFound, Some(404), "model: claude-nowhere-1"),
        (
            "rate_limited",
            FailureKind::RateLimited,
            Some(429),
            "Number of requests has exceeded your rate limit",
        ),
        ("error_without_type", FailureKind::Server, None, "upstream is gone"),
    ] {
        let error = whole(&dialect(""), &files[name]).expect_err("an error");
        assert_eq!((error.kind, error.status, &*error.message), (kind, status, message), "{name}");
        assert_eq!(error.refuses, None, "{name}");
    }
}

#[test]
fn what_is_no_message_is_a_protocol_failure() {
    for body in ["", "not json", "[]", "{\"ok\":true}", "{\"content\":7}", "{\"content\":[7]}"] {
        let error = whole(&dialect(""), body).expect_err("no message");
        assert_eq!(error.kind, FailureKind::Protocol, "{body}");
    }
}
