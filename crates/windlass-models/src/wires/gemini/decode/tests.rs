use std::path::Path;

use serde_json::{Value, json};
use windlass_core::message::{Media, MediaSource};
use windlass_core::model::{Reply, Usage};

use super::*;
use crate::http::sse::SseParser;

type Outcome = Result<Reply, DecodeError>;

fn asked() -> Asked {
    Asked { model: "google/gemini".into(), content_bytes: 400 }
}

fn file(name: &str) -> Vec<u8> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let places = ["gemini", "gemini_vertex"].map(|folder| corpus.join(folder).join(name));
    places.iter().find_map(|place| std::fs::read(place).ok()).expect("a file of the corpus")
}

/// The outcome of a stream, and the usage known at its end. `tests/it/corpus.rs` cuts the streams anywhere.
fn read(stream: &[u8]) -> (Outcome, Usage) {
    let mut parser = SseParser::default();
    let mut decoder = Decoder::new("google");
    let mut queue = VecDeque::new();
    parser.push(stream).expect("small");
    parser.end();
    while let Some(data) = parser.next_data() {
        if let Err(error) = decoder.event(data, &mut queue) {
            return (Err(error), decoder.usage(400));
        }
    }
    let usage = decoder.usage(400);
    if !decoder.end(400, &mut queue) {
        let cut = DecodeError { kind: FailureKind::Cut, ..DecodeError::protocol("cut") };
        return (Err(cut), usage);
    }
    let mut assembler = Assembler::new("google/gemini");
    for delta in &queue {
        assembler.push(delta.clone()).expect("small");
    }
    (Ok(assembler.finish()), usage)
}

fn stream(name: &str) -> Reply {
    read(&file(name)).0.unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

fn whole(body: &[u8]) -> Outcome {
    decode(body, "google", &asked())
}

fn piece(piece: &Value) -> Outcome {
    whole(piece.to_string().as_bytes())
}

fn calls(reply: &Reply) -> Vec<(Option<&str>, &str, &str)> {
    reply.calls.iter().map(|call| (call.id.as_deref(), &*call.name, &*call.args)).collect()
}

fn parts(reply: &Reply) -> Value {
    let sealed =
        reply.reasoning.as_ref().and_then(|reasoning| reasoning.provider_metadata.clone()).expect("a layout");
    assert_eq!(&*sealed.provider, "google");
    let stored: Value = serde_json::from_str(&sealed.data).expect("JSON");
    assert_eq!(stored["wire"], "gemini");
    stored["parts"].clone()
}

fn input_output(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

#[test]
fn text_with_crlf_and_no_end_mark() {
    let reply = stream("text.sse");
    assert_eq!(reply.text.as_deref(), Some("Grüße aus \"Zürich\" 🦀.\n"));
    assert_eq!((reply.stop, reply.usage), (StopReason::Stop, input_output(8, 6)));
    assert_eq!(reply.reasoning, None, "the text says all of it");
}

#[test]
fn the_whole_stream_as_a_json_list_and_one_that_was_cut() {
    let list = file("json_list.json");
    assert_eq!(whole(&list).expect("a reply").text.as_deref(), Some("one two"));
    let last = list.windows(3).rposition(|bytes| bytes == b"},\r").expect("two pieces");
    for end in [last + 1, last + 40, list.len() / 2] {
        assert_eq!(whole(&list[..end]).expect_err("no end").kind, FailureKind::Cut, "{end}");
    }
    assert_eq!(whole(b"[]").expect_err("nothing").kind, FailureKind::Protocol);
}

#[test]
fn e14_calls_beside_stop_without_ids_with_the_signature_where_it_stood() {
    let reply = stream("calls_stop.sse");
    assert_eq!(
        calls(&reply),
        [
            (None, "get_weather", "{\"city\":\"Zürich\",\"days\":3}"),
            (None, "get_weather", "{\"city\":\"Chur\"}")
        ]
    );
    assert_eq!(reply.stop, StopReason::ToolCalls);
    assert_eq!(reply.usage, Usage { reasoning: 35, ..input_output(40, 55) });
    assert_eq!(
        parts(&reply),
        json!([{ "k": "call", "o": { "thoughtSignature": "c2lnLWE=" } }, { "k": "call" }])
    );
}

#[test]
fn calls_without_arguments_have_an_empty_object() {
    let reply = stream("calls_without_arguments.sse");
    assert!(reply.calls.iter().all(|call| &*call.args == "{}") && reply.calls.len() == 4, "{reply:?}");
    let odd = json!({ "candidates": [{ "content": { "parts": [
        { "functionCall": { "name": "a", "args": "" } },
        { "functionCall": { "name": "b", "args": "{\"x\":1}" } },
        { "functionCall": { "name": "c", "args": {}, "id": "" } },
        { "functionCall": {} }
    ] }, "finishReason": "STOP" }] });
    let reply = piece(&odd).expect("tolerated");
    assert_eq!(calls(&reply), [(None, "a", "{}"), (None, "b", "{\"x\":1}"), (None, "c", "{}")]);
}

#[test]
fn the_id_of_a_call_is_kept_as_it_came() {
    let reply = stream("call_with_id.sse");
    assert_eq!(calls(&reply), [(Some("fc-7"), "search", "{\"q\":\"a b\"}")]);
    let own = json!({ "id": "fc-7", "thoughtSignature": "c2lnLWlk" });
    assert_eq!(parts(&reply), json!([{ "k": "text", "n": 13 }, { "k": "call", "o": own }]));
}

#[test]
fn signatures_beside_text_and_on_an_empty_text() {
    let reply = stream("signature_on_text.sse");
    assert_eq!(reply.text.as_deref(), Some("The answer is 4. Sure."));
    let own = json!({ "thoughtSignature": "c2lnLXRleHQ=" });
    let text = |bytes: usize| json!({ "k": "text", "n": bytes });
    let signed = json!({ "k": "text", "n": 5, "o": own });
    assert_eq!(parts(&reply), json!([{ "k": "reasoning", "n": 12 }, text(11), signed, text(6)]));
    let reply = stream("signature_on_empty_text.sse");
    assert_eq!(reply.text.as_deref(), Some("Done."));
    let own = json!({ "thoughtSignature": "c2lnLWVtcHR5" });
    assert_eq!(parts(&reply), json!([{ "k": "text", "n": 5 }, { "k": "text", "o": own }]));
}

#[test]
fn thoughts_are_reasoning_and_their_last_count_applies() {
    let reply = stream("thinking.sse");
    assert_eq!(reply.reasoning.as_ref().map(|reasoning| &*reasoning.text), Some("**Weighing**\nTwo ways."));
    assert_eq!(reply.text.as_deref(), Some("Take the first."));
    assert_eq!(reply.usage, Usage { reasoning: 57, ..input_output(9, 61) });
}

#[test]
fn arguments_in_pieces() {
    let reply = stream("partial_args.sse");
    let lamp = r#"{"room":"Wohnzimmer \"1\"","level":50,"scenes":[{"name":"eve","on":true},{"a b":null}]}"#;
    assert_eq!(calls(&reply), [(None, "set_light", lamp), (None, "set_door", "{\"open\":false}")]);
    let own = json!({ "thoughtSignature": "c2lnLXBhcnQ=" });
    assert_eq!(parts(&reply), json!([{ "k": "call", "o": own }, { "k": "call" }]));
    let cut = stream("partial_args_cut.sse");
    assert_eq!(calls(&cut), [(None, "write", "{\"text\":\"half of\"")], "nobody takes it for whole");
    assert_eq!(cut.stop, StopReason::Length);
    let unclosed = json!({ "candidates": [{ "content": { "parts": [{ "functionCall": { "name": "f",
        "partialArgs": [{ "jsonPath": "$.a", "numberValue": 0.5 }], "willContinue": true } }] }, "finishReason": "STOP" }] });
    let whole = piece(&unclosed).expect("a reply");
    assert_eq!(calls(&whole), [(None, "f", "{\"a\":0.5}")], "the model was done");
}

#[test]
fn a_piece_of_an_argument_without_a_place_is_a_protocol_failure() {
    let bad = json!({ "candidates": [{ "content": { "parts": [{ "functionCall": { "name": "f",
        "partialArgs": [{ "jsonPath": "$.a[7]", "stringValue": "x" }] } }] } }] });
    let error = piece(&bad).expect_err("a gap");
    assert_eq!(error.kind, FailureKind::Protocol);
    assert!(error.message.contains("`$.a[7]` is no path within the arguments of `f`"), "{}", error.message);
}

#[test]
fn usage_in_all_its_parts() {
    let expected = Usage { cached: 64, reasoning: 50, ..input_output(410, 53) };
    assert_eq!(stream("usage_tools_and_cache.sse").usage, expected);
    assert_eq!(stream("usage_late.sse").usage, input_output(7, 2));
    let of = |name: &str| whole(&file(name)).expect("a reply").usage;
    let list = json!([
        { "candidates": [{ "content": { "parts": [{ "text": "a" }] } }], "usageMetadata": { "promptTokenCount": 7, "cachedContentTokenCount": 2 } },
        { "candidates": [{ "finishReason": "STOP" }], "usageMetadata": { "candidatesTokenCount": 3 } }
    ]);
    let in_parts = piece(&list).expect("a reply").usage;
    assert_eq!(in_parts, Usage { cached: 2, ..input_output(7, 3) }, "a count that is missing stays");
    let counts = |counts: Value| {
        let body = json!({ "candidates": [{ "finishReason": "STOP" }], "usageMetadata": counts });
        piece(&body).expect("a reply").usage
    };
    let thoughts = json!({ "promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 7 });
    assert_eq!(counts(thoughts), Usage { reasoning: 7, ..input_output(5, 9) }, "without a total");
    let cached = json!({ "promptTokenCount": 5, "cachedContentTokenCount": 9, "totalTokenCount": 3 });
    assert_eq!(counts(cached), Usage { cached: 5, ..input_output(5, 0) }, "cached is a part of input");
    assert_eq!(of("usage_unlisted.json"), input_output(10, 30), "what is billed but not listed is output");
    assert_eq!(of("usage_none.json"), Usage { estimated: true, ..input_output(100, 4) });
}

#[test]
fn all_reasons_for_an_end() {
    let ends = |reason: &str| {
        piece(
            &json!({ "candidates": [{ "content": { "parts": [{ "text": "So" }] }, "finishReason": reason }] }),
        )
    };
    let filtered = [
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    ];
    let good = filtered.map(|reason| (reason, StopReason::Filtered));
    for (reason, stop) in
        good.into_iter().chain([("STOP", StopReason::Stop), ("MAX_TOKENS", StopReason::Length)])
    {
        let reply = ends(reason).unwrap_or_else(|error| panic!("{reason}: {error:?}"));
        assert_eq!((reply.stop, reply.text.as_deref()), (stop, Some("So")), "{reason}");
    }
    for (reason, kind) in [
        ("MALFORMED_FUNCTION_CALL", FailureKind::Server),
        ("UNEXPECTED_TOOL_CALL", FailureKind::Server),
        ("MALFORMED_RESPONSE", FailureKind::Server),
        ("MISSING_THOUGHT_SIGNATURE", FailureKind::BadRequest),
        ("OTHER", FailureKind::Protocol),
        ("NO_IMAGE", FailureKind::Protocol),
        ("IMAGE_OTHER", FailureKind::Protocol),
        ("TOO_MANY_TOOL_CALLS", FailureKind::Protocol),
        ("FINISH_REASON_UNSPECIFIED", FailureKind::Protocol),
        ("stop", FailureKind::Protocol),
        ("A_NEW_ONE", FailureKind::Protocol),
    ] {
        let error = ends(reason).expect_err(reason);
        assert_eq!((error.kind, &*error.message), (kind, &*format!("the reply ended with `{reason}`")));
    }
}

#[test]
fn a_failed_end_has_the_providers_words_and_its_usage() {
    let failed = whole(&file("end_unexpected_tool_call.error.json")).expect_err("unexpected");
    assert_eq!(failed.usage, Usage { reasoning: 30, ..input_output(50, 30) });
    let (outcome, usage) = read(&file("end_malformed_function_call.sse"));
    let error = outcome.expect_err("malformed");
    let words = "the reply ended with `MALFORMED_FUNCTION_CALL`: Malformed function call: search(q=";
    assert_eq!((error.kind, &*error.message, usage), (FailureKind::Server, words, input_output(50, 9)));
}

#[test]
fn a_candidate_without_parts_and_a_prompt_that_is_blocked() {
    let empty = stream("no_parts.sse");
    assert_eq!((empty.stop, &empty.text, empty.usage), (StopReason::Stop, &None, input_output(12, 0)));
    let blocked = stream("blocked_prompt.sse");
    assert_eq!(
        (blocked.stop, &blocked.text, blocked.usage),
        (StopReason::Filtered, &None, input_output(14, 0))
    );
    let safe = stream("end_safety.sse");
    assert_eq!((safe.stop, safe.text.as_deref()), (StopReason::Filtered, Some("Well, ")));
    let thinking = stream("end_max_tokens_no_parts.sse");
    assert_eq!(thinking.usage, Usage { reasoning: 128, ..input_output(5, 128) });
}

#[test]
fn parts_of_the_provider_stand_in_the_layout_as_they_came() {
    let reply = stream("code_execution.sse");
    assert_eq!(reply.text.as_deref(), Some("I compute it.It is 42."));
    let parts = parts(&reply);
    assert_eq!(parts[1]["o"]["executableCode"]["code"], "print(6 * 7)\n");
    assert_eq!(parts[1]["o"]["thoughtSignature"], "c2lnLWNvZGU=");
    assert_eq!(
        parts[2]["o"],
        json!({ "codeExecutionResult": { "outcome": "OUTCOME_OK", "output": "42\n", "id": "x1" } })
    );
    let kinds: Vec<_> = parts.as_array().expect("a list").iter().map(|part| part["k"].clone()).collect();
    assert_eq!(kinds, ["text", "own", "own", "text"]);
    let tools = self::parts(&stream("server_tools.sse"));
    assert_eq!(tools[0]["o"]["toolCall"]["id"], "t1");
    assert_eq!(tools[1]["o"]["toolResponse"]["id"], "t1");
    assert_eq!(tools[3]["o"], json!({ "somethingNew": { "a": [1.5, 2] } }));
}

#[test]
fn media_that_the_model_made() {
    let reply = stream("media.sse");
    let medium = |kind: &str, source| Media { media_type: kind.into(), name: None, source };
    let file = "https://generativelanguage.googleapis.com/v1beta/files/abc";
    assert_eq!(
        reply.media,
        [
            medium("image/png", MediaSource::Base64("iVBORw0KGgo=".into())),
            medium("video/mp4", MediaSource::Url(file.into()))
        ],
        "a picture that is a thought is not among them"
    );
    let own = json!({ "thoughtSignature": "c2lnLWltZw==" });
    assert_eq!(
        parts(&reply),
        json!([{ "k": "text", "n": 11 }, { "k": "media", "o": own }, { "k": "media" }])
    );
}

#[test]
fn errors_in_a_stream_and_in_a_list() {
    let (outcome, usage) = read(&file("error_in_stream.sse"));
    let error = outcome.expect_err("overloaded");
    assert_eq!((error.kind, error.status, usage), (FailureKind::Overloaded, Some(503), input_output(5, 2)));
    assert_eq!(error.message, "The model is overloaded. Please try again later.");
    assert_eq!(whole(&file("error_in_list.error.json")), Err(DecodeError { usage, ..error }));
    assert_eq!(whole(&file("context_length.error.json")).expect_err("long").kind, FailureKind::ContextLength);
    for name in ["quota.error.json", "quota_list.error.json"] {
        let error = whole(&file(name)).expect_err(name);
        assert_eq!((error.kind, error.status), (FailureKind::RateLimited, Some(429)), "{name}");
    }
}

#[test]
fn comments_and_end_marks_of_other_apis_are_passed_over() {
    assert_eq!(stream("comments_and_done.sse").text.as_deref(), Some("ab"));
    let unfinished =
        read(b"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n\ndata: [DONE]\n\n");
    assert_eq!(unfinished.0.expect_err("no reason").kind, FailureKind::Cut, "a mark is no reason for an end");
}

#[test]
fn nulls_unknown_fields_and_further_candidates_are_passed_over() {
    let odd = json!({ "candidates": [
        { "content": { "parts": [{ "text": "a", "thought": null, "new": [] }, {}, { "thought": true }], "role": null },
          "finishReason": "STOP", "safetyRatings": null },
        { "content": { "parts": [{ "text": "second" }] } }
    ], "promptFeedback": { "safetyRatings": [] }, "usageMetadata": null, "error": null });
    assert_eq!(piece(&odd).expect("a reply").text.as_deref(), Some("a"));
    let none = json!({ "candidates": [{ "content": null, "finishReason": "STOP" }] });
    assert_eq!(piece(&none).expect("a reply").text, None);
    for wrong in [json!({}), json!({ "candidates": null }), json!({ "candidates": [{}] }), json!([{}])] {
        assert_eq!(piece(&wrong).expect_err("nothing in it").kind, FailureKind::Protocol, "{wrong}");
    }
    let garbage = whole(b"<html>").expect_err("no JSON");
    assert!(garbage.message.contains("<html>"), "{}", garbage.message);
}

#[test]
fn a_reply_has_a_bounded_number_of_calls_and_parts() {
    let body = |part: &str, count: usize| {
        let parts = vec![part; count].join(",");
        format!("{{\"candidates\":[{{\"content\":{{\"parts\":[{parts}]}},\"finishReason\":\"STOP\"}}]}}")
    };
    let call = "{\"functionCall\":{\"name\":\"f\"}}";
    assert_eq!(whole(body(call, MAX_CALLS).as_bytes()).expect("at the bound").calls.len(), MAX_CALLS);
    assert!(whole(body(call, MAX_CALLS + 1).as_bytes()).expect_err("too many").message.contains("4096"));
    assert!(whole(body("{}", 65_537).as_bytes()).expect_err("too many").message.contains("65536"));
}

/// Ten megabytes of text, of arguments in pieces and of a list: what is kept beside the text does not grow with the pieces.
#[test]
fn a_long_stream_leaves_a_short_layout() {
    let mut decoder = Decoder::new("google");
    let mut queue = VecDeque::new();
    let mut take = |piece: Value, decoder: &mut Decoder| {
        queue.clear();
        decoder.event(piece.to_string().as_bytes(), &mut queue).expect("good");
        queue.iter().map(Delta::text_bytes).sum::<u64>()
    };
    let text = "x".repeat(10_000);
    for _ in 0..1000 {
        let more = json!({ "candidates": [{ "content": { "parts": [{ "text": text }] } }] });
        assert_eq!(take(more, &mut decoder), 10_000, "each piece is said once");
    }
    assert_eq!(decoder.output_bytes, 10_000_000);
    assert_eq!(decoder.metadata.seal("google"), None, "one part of text says nothing that the text does not");
    let begin = json!({ "candidates": [{ "content": { "parts": [
        { "functionCall": { "name": "f", "willContinue": true } }] } }] });
    take(begin, &mut decoder);
    let path = json!({ "jsonPath": "$.a", "stringValue": text, "willContinue": true });
    for _ in 0..1000 {
        let call = json!({ "partialArgs": [path], "willContinue": true });
        let more = json!({ "candidates": [{ "content": { "parts": [{ "functionCall": call }] } }] });
        assert_eq!(take(more, &mut decoder), 0, "nothing is said before the call is whole");
    }
    let end = json!({ "candidates": [{ "content": { "parts": [{ "functionCall": {} }] }, "finishReason": "STOP" }] });
    assert_eq!(take(end, &mut decoder), 10_000_000 + 8);
}

#[test]
fn what_is_kept_beside_the_text_has_the_bound_of_a_reply() {
    let piece = |part: Value| json!({ "candidates": [{ "content": { "parts": [part] } }] }).to_string();
    let long = "x".repeat(1 << 20);
    let path = json!([{ "jsonPath": "$.a", "stringValue": long, "willContinue": true }]);
    for part in [
        json!({ "executableCode": { "code": long } }),
        json!({ "text": "", "thoughtSignature": long }),
        json!({ "functionCall": { "name": "f", "partialArgs": path, "willContinue": true } }),
    ] {
        let mut decoder = Decoder::new("google");
        let mut queue = VecDeque::new();
        let data = piece(part);
        let read = (0..17).try_for_each(|_| decoder.event(data.as_bytes(), &mut queue));
        assert_eq!(read.expect_err("too much").kind, FailureKind::TooLarge);
    }
    let mut decoder = Decoder::new("google");
    let mut queue = VecDeque::new();
    let parts = vec!["{\"text\":\"a\"},{\"text\":\"b\",\"thought\":true}"; 32_768].join(",");
    let data = format!("{{\"candidates\":[{{\"content\":{{\"parts\":[{parts}]}}}}]}}");
    let read = (0..5).try_for_each(|_| decoder.event(data.as_bytes(), &mut queue));
    assert_eq!(read.expect_err("too many parts").kind, FailureKind::TooLarge);
}

#[test]
fn a_whole_call_ends_one_that_is_open() {
    let odd = json!({ "candidates": [{ "content": { "parts": [
        { "functionCall": { "name": "f", "partialArgs": [{ "jsonPath": "$.a", "stringValue": "x" }], "willContinue": true } },
        { "functionCall": { "name": "f", "args": { "b": 1 } } }
    ] }, "finishReason": "STOP" }] });
    let reply = piece(&odd).expect("a reply");
    assert_eq!(calls(&reply), [(None, "f", "{\"a\":\"x\"}"), (None, "f", "{\"b\":1}")]);
}
