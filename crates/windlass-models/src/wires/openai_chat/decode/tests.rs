mod dialects;

use std::collections::VecDeque;

use windlass_core::model::{FailureKind, Reply, StopReason, Usage};
use windlass_core::text::steps::taken;

use super::{DecodeError, Decoder, decode};
use crate::http::sse::SseParser;
use crate::wires::{Asked, Decode, Dialect, Quirks};
use crate::{Assembler, Delta};

const TEXT: &str = include_str!("streams/text.sse");
const UNICODE_CRLF: &str = include_str!("streams/unicode_crlf.sse");
const PARALLEL: &str = include_str!("streams/parallel_calls.sse");
const REASONING: &str = include_str!("streams/reasoning.sse");
const LOCAL: &str = include_str!("streams/llama_server.sse");
const NO_DONE: &str = include_str!("streams/no_done.sse");
const WHOLE_CALLS: &str = include_str!("streams/whole_calls_no_index.sse");
const REFUSAL: &str = include_str!("streams/refusal.sse");

/// A whole reply.
fn whole(body: &[u8], content_bytes: usize) -> Result<Reply, DecodeError> {
    decode(&Dialect::default(), body, &Asked { model: "m".into(), content_bytes })
}

/// The reply of a stream that comes in these pieces, and whether it was whole.
fn read(pieces: &[&[u8]]) -> Result<(Reply, bool), DecodeError> {
    let mut parser = SseParser::default();
    let mut decoder = Decoder::new(&Dialect::default());
    let mut assembler = Assembler::new("m");
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
    let whole = decoder.end(400, &mut queue);
    for delta in &queue {
        assembler.push(delta.clone()).expect("small");
    }
    Ok((assembler.finish(), whole))
}

fn reply(stream: &str) -> Reply {
    let (reply, whole) = read(&[stream.as_bytes()]).expect("a good stream");
    assert!(whole);
    reply
}

fn calls(reply: &Reply) -> Vec<(&str, &str, &str)> {
    reply
        .calls
        .iter()
        .map(|call| (call.id.as_deref().unwrap_or_default(), &*call.name, &*call.args))
        .collect()
}

#[test]
fn e13_a_stream_cut_at_every_byte_gives_the_same_reply() {
    for (name, stream) in [
        ("text", TEXT),
        ("unicode with CRLF", UNICODE_CRLF),
        ("parallel calls", PARALLEL),
        ("reasoning", REASONING),
        ("llama-server", LOCAL),
        ("no DONE", NO_DONE),
        ("whole calls", WHOLE_CALLS),
        ("refusal", REFUSAL),
    ] {
        let bytes = stream.as_bytes();
        let whole = reply(stream);
        for cut in 0..=bytes.len() {
            let cut_reply = read(&[&bytes[..cut], &bytes[cut..]]);
            assert_eq!(cut_reply, Ok((whole.clone(), true)), "{name} cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&single), Ok((whole, true)), "{name} byte by byte");
    }
}

#[test]
fn text_with_usage_in_a_chunk_without_choices() {
    let reply = reply(TEXT);
    assert_eq!(reply.text.as_deref(), Some("Hello there, world!"));
    assert_eq!(reply.stop, StopReason::Stop);
    assert_eq!(reply.usage, Usage { input: 24, output: 5, cached: 16, ..Usage::default() });
}

#[test]
fn e13_characters_of_many_bytes_escapes_and_comments() {
    let reply = reply(UNICODE_CRLF);
    assert_eq!(reply.text.as_deref(), Some("Grüße 🦀\r\n漢字\u{1F600} ende"));
    assert_eq!(reply.stop, StopReason::Length);
}

#[test]
fn e14_parallel_calls_that_interleave() {
    let reply = reply(PARALLEL);
    assert_eq!(
        calls(&reply),
        [("call_a", "get_weather", "{\"city\":\"Zürich\"}"), ("call_b", "get_time", "{\"zone\":\"CET\"}")]
    );
    assert_eq!((reply.stop, reply.text), (StopReason::ToolCalls, None));
}

#[test]
fn e14_whole_calls_without_index_and_with_object_arguments() {
    let reply = reply(WHOLE_CALLS);
    assert_eq!(calls(&reply), [("a1", "f", "{\"x\":1}"), ("a2", "f", "{\"x\":2}"), ("", "g", "{}")]);
    assert_eq!(reply.stop, StopReason::ToolCalls, "the server said `stop`");
}

#[test]
fn reasoning_under_both_names() {
    let reply = reply(REASONING);
    let reasoning = reply.reasoning.expect("there is some");
    assert_eq!(&*reasoning.text, "First, add. Then answer.");
    assert_eq!(reasoning.provider_metadata, None);
    assert_eq!(reply.text.as_deref(), Some("7"));
    assert_eq!(reply.usage.reasoning, 12);
}

#[test]
fn e13_a_missing_done_is_tolerated_after_a_finish_reason_only() {
    assert_eq!(reply(NO_DONE).text.as_deref(), Some("all here"));
    let head = NO_DONE.split("\"finish_reason\":\"stop\"").next().expect("the head");
    let (cut, _) = head.rsplit_once("\n\n").expect("an event");
    let (reply, whole) = read(&[cut.as_bytes()]).expect("good so far");
    assert!(!whole);
    assert_eq!(reply.text.as_deref(), Some("all here"));
}

#[test]
fn a_stream_without_counts_is_estimated() {
    let reply = reply(NO_DONE);
    assert_eq!(reply.usage, Usage { input: 100, output: 2, estimated: true, ..Usage::default() });
}

#[test]
fn a_refusal_is_text_and_its_own_stop() {
    let streamed = reply(REFUSAL);
    assert_eq!(
        (streamed.text.as_deref(), streamed.stop),
        (Some("I cannot help with that."), StopReason::Refused)
    );
    let body = r#"{"choices":[{"message":{"role":"assistant","content":null,"refusal":"I cannot help with that."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":6}}"#;
    assert_eq!(whole(body.as_bytes(), 0), Ok(streamed));
}

#[test]
fn errors_inside_a_stream_are_failures() {
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\ndata: {\"error\":{\"message\":\"the server is overloaded\",\"type\":\"server_error\",\"code\":503}}\n\n";
    let error = read(&[stream.as_bytes()]).expect_err("an error came");
    assert_eq!((error.kind, error.status), (FailureKind::Overloaded, Some(503)));
    assert_eq!(error.message, "the server is overloaded");
    let plain = read(&[b"data: {\"error\":\"slot unavailable\"}\n\n"]).expect_err("an error came");
    assert_eq!((plain.kind, plain.message.as_str()), (FailureKind::Server, "slot unavailable"));
}

#[test]
fn garbage_inside_a_stream_is_a_protocol_failure_that_quotes_it() {
    let error = read(&[b"data: <html>oops</html>\n\n"]).expect_err("no JSON");
    assert_eq!(error.kind, FailureKind::Protocol);
    assert!(error.message.contains("<html>oops"), "{}", error.message);
    let wrong = read(&[b"data: {\"choices\":[{\"delta\":5}]}\n\n"]).expect_err("a number");
    assert_eq!(wrong.kind, FailureKind::Protocol);
}

#[test]
fn unknown_fields_nulls_and_empty_chunks_are_passed_over() {
    let stream = "data: {}\n\ndata: {\"choices\":null,\"usage\":null,\"error\":null}\n\ndata: \n\n\
        data: {\"choices\":[{\"delta\":null,\"finish_reason\":null,\"logprobs\":{\"a\":[1,{}]}}],\"x\":[[]]}\n\n\
        data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":null,\"y\":{}}},{\"delta\":{\"content\":\"second choice\"}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"par\"},{\"type\":\"other\"},{\"type\":\"text\",\"text\":\"ts\"}]},\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(reply(stream).text.as_deref(), Some("parts"));
}

#[test]
fn reasoning_is_sealed_once_where_the_provider_wants_it_back() {
    let quirks = Quirks { return_reasoning: true, ..Quirks::NONE };
    let mut decoder = Decoder::new(&Dialect { label: "deepseek".into(), quirks });
    let mut out = VecDeque::new();
    for words in ["a", "b"] {
        let chunk = format!("{{\"choices\":[{{\"delta\":{{\"reasoning_content\":\"{words}\"}}}}]}}");
        decoder.event(chunk.as_bytes(), &mut out).expect("good");
    }
    decoder.event(b"[DONE]", &mut out).expect("good");
    assert!(decoder.end(0, &mut out));
    out.retain(|delta| !matches!(delta, Delta::Usage(_)));
    let sealed =
        out.iter().filter(|delta| matches!(delta, Delta::Sealed(sealed) if &*sealed.provider == "deepseek"));
    assert_eq!((out.len(), sealed.count()), (3, 1));
}

#[test]
fn e15_a_whole_body_gives_the_same_reply_as_its_stream() {
    let body = r#"{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,
        "tool_calls":[{"id":"call_a","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Zürich\"}"}},
        {"id":"call_b","type":"function","function":{"name":"get_time","arguments":"{\"zone\":\"CET\"}"}}]},
        "finish_reason":"tool_calls"}],"usage":{"prompt_tokens":80,"completion_tokens":30,"total_tokens":110}}"#;
    assert_eq!(whole(body.as_bytes(), 0), Ok(reply(PARALLEL)));
}

#[test]
fn a_whole_body_with_reasoning_and_old_function_call() {
    let body = r#"{"choices":[{"message":{"content":"","reasoning":"hm","function_call":{"name":"f","arguments":"{}"}},"finish_reason":"function_call"}]}"#;
    let reply = whole(body.as_bytes(), 40).expect("good");
    assert_eq!(calls(&reply), [("", "f", "{}")]);
    assert_eq!((reply.text, reply.stop), (None, StopReason::ToolCalls));
    assert_eq!(&*reply.reasoning.expect("there is some").text, "hm");
    assert_eq!(reply.usage, Usage { input: 10, output: 2, estimated: true, ..Usage::default() });
}

#[test]
fn whole_calls_that_are_all_number_zero_stay_apart() {
    let body = r#"{"choices":[{"message":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}},
        {"index":0,"function":{"name":"f","arguments":{"x":1}}}]}}]}"#;
    let reply = whole(body.as_bytes(), 0).expect("good");
    assert_eq!(calls(&reply), [("", "f", "{}"), ("", "f", "{\"x\":1}")]);
    assert_eq!(reply.stop, StopReason::ToolCalls);
}

#[test]
fn finish_reasons() {
    for (reason, stop) in [
        ("stop", StopReason::Stop),
        ("length", StopReason::Length),
        ("content_filter", StopReason::Filtered),
        ("STOP", StopReason::Stop),
        ("model_length", StopReason::Length),
        ("", StopReason::Stop),
    ] {
        let body =
            format!("{{\"choices\":[{{\"message\":{{\"content\":\"x\"}},\"finish_reason\":\"{reason}\"}}]}}");
        assert_eq!(whole(body.as_bytes(), 0).expect("good").stop, stop, "{reason}");
    }
}

#[test]
fn a_body_that_is_an_error_or_nothing() {
    let kind = |body: &str| whole(body.as_bytes(), 0).expect_err("no reply").kind;
    assert_eq!(kind("{\"error\":{\"message\":\"no such key\",\"code\":401}}"), FailureKind::Auth);
    assert_eq!(kind("{\"choices\":[]}"), FailureKind::Protocol);
    assert_eq!(kind("{}"), FailureKind::Protocol);
    assert_eq!(kind("<html>"), FailureKind::Protocol);
    assert_eq!(kind(""), FailureKind::Protocol);
    assert_eq!(kind("[1]"), FailureKind::Protocol);
}

/// A list of so many items that each of them takes far more memory than it has bytes.
fn many(item: &str, bytes: usize) -> String {
    format!("[{}{item}]", format!("{item},").repeat(bytes / (item.len() + 1)))
}

#[test]
fn a_reply_s_pieces_of_calls_have_a_bound() {
    let body = format!("{{\"choices\":[{{\"message\":{{\"tool_calls\":{}}}}}]}}", many("{}", 3 * 4_097));
    let error = whole(body.as_bytes(), 0).expect_err("too many");
    assert_eq!(error.kind, FailureKind::Protocol);
    assert!(error.message.contains("more than 4096 tool calls"), "{}", error.message);
}

#[test]
fn arguments_that_come_as_an_object_are_taken_as_they_stand() {
    let list = many("0", 2_000_000);
    let args = format!("{{\"a\":{list},\"é \\n\":1.50,\"a\":2}}");
    let call = format!("{{\"function\":{{\"name\":\"f\",\"arguments\":{args}}}}}");
    let body = format!("{{\"choices\":[{{\"message\":{{\"tool_calls\":[{call}]}}}}]}}");
    let reply = whole(body.as_bytes(), 0).expect("good");
    assert_eq!(&*reply.calls[0].args, args);
    let empty = body.replace(&args, "{}");
    assert_eq!(&*whole(empty.as_bytes(), 0).expect("good").calls[0].args, "{}");
}

#[test]
fn of_a_long_error_the_beginning_is_read() {
    let body = format!("{{\"error\":{}}}", many("{\"message\":\"again and again\"}", 1_000_000));
    let error = whole(body.as_bytes(), 0).expect_err("an error");
    assert!(error.message.starts_with("[{\"message\":\"again and again\"},"), "{}", error.message);
    assert!(error.message.len() < 3_000);
}

/// The steps of parser and assembler for a stream of text, reasoning and a call's arguments of so many pieces each, the most
/// pieces that waited, and the bytes that were given out.
fn steps(pieces: usize) -> (u64, usize, usize) {
    let delta = |delta: &str| {
        format!(
            "data: {{\"id\":\"c\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}]}}\n\n"
        )
    };
    let words = "0123456789".repeat(7);
    let begin = delta(
        "{\"role\":\"assistant\",\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}",
    );
    let all = [
        delta(&format!("{{\"reasoning_content\":\"{words}\"}}")).repeat(pieces),
        delta(&format!("{{\"content\":\"{words}\"}}")).repeat(pieces),
        begin,
        delta(&format!("{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":\"{words}\"}}}}]}}"))
            .repeat(pieces),
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"
            .to_owned(),
    ]
    .concat();
    let (mut parser, mut decoder) = (SseParser::default(), Decoder::new(&Dialect::default()));
    let (mut assembler, mut out) = (Assembler::new("m"), VecDeque::new());
    let (mut most, mut given) = (0, 0);
    let (mut parsing, mut assembling) = (0, 0);
    for piece in all.as_bytes().chunks(1_400) {
        parsing += taken(|| parser.push(piece).expect("small events"));
        loop {
            let mut event = None;
            parsing += taken(|| event = parser.next_data());
            let Some(data) = event else { break };
            decoder.event(data, &mut out).expect("good");
            most = most.max(out.len());
            for delta in out.drain(..) {
                given += usize::try_from(delta.text_bytes()).expect("small");
                assembling += taken(|| assembler.push(delta).expect("below the bound"));
            }
        }
    }
    assert!(parsing <= 3 * all.len() as u64, "each byte is taken in, searched and moved at most once");
    let reply = assembler.finish();
    let lengths = (reply.text.map(|text| text.len()), reply.reasoning.map(|thought| thought.text.len()));
    assert_eq!(lengths, (Some(70 * pieces), Some(70 * pieces)));
    assert_eq!(reply.calls.first().map(|call| call.args.len()), Some(70 * pieces));
    (parsing + assembling, most, given)
}

#[test]
fn a_stream_of_10_megabytes_is_read_once_and_nothing_of_it_waits() {
    // 150 bytes and more a piece: 1 MB and 10 MB.
    let (small, few, given) = steps(2_300);
    let (large, most, all) = steps(23_000);
    assert!(large < 11 * small, "{large} steps for 10 times the bytes of {small}");
    assert_eq!(few, most, "as many pieces wait");
    assert!(most <= 4, "{most} pieces wait");
    // Each byte of the reply is given out once; the call's id and name beside.
    assert_eq!((given, all), (3 * 70 * 2_300 + 2, 3 * 70 * 23_000 + 2));
}
