//! Characters that a server cut in two pieces of a text, on every wire.

use serde_json::{Value, json};
use windlass_core::model::Reply;

use crate::http::{Framing, replay};
use crate::wires::{Asked, Dialect, wire};

const WIRES: [&str; 5] = ["openai_chat", "openai_responses", "anthropic_messages", "gemini", "ollama"];

/// Something that a stream says. Texts stand in the form that they have in JSON.
#[derive(Clone, Copy, Debug)]
enum Says {
    Text(&'static str),
    Thought(&'static str),
    /// A call begins.
    Call(usize),
    /// More of the arguments of a call.
    Args(usize, &'static str),
    /// Nothing that anybody reads.
    Ping,
    /// A comment of the framing.
    Comment,
}
use Says::{Args, Call, Comment, Ping, Text, Thought};

fn chat(says: Says) -> String {
    let delta = match says {
        Text(text) => format!(r#"{{"content":"{text}"}}"#),
        Thought(text) => format!(r#"{{"content":null,"reasoning_content":"{text}"}}"#),
        Call(at) => format!(
            r#"{{"tool_calls":[{{"index":{at},"id":"k{at}","function":{{"name":"f","arguments":""}}}}]}}"#
        ),
        Args(at, args) => {
            format!(r#"{{"tool_calls":[{{"index":{at},"function":{{"arguments":"{args}"}}}}]}}"#)
        }
        Ping | Comment => r#"{"content":null}"#.into(),
    };
    format!(r#"{{"id":"c","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#)
}

fn responses(says: Says) -> String {
    match says {
        Text(text) => format!(
            r#"{{"type":"response.output_text.delta","item_id":"m","output_index":8,"content_index":0,"delta":"{text}"}}"#
        ),
        Thought(text) => format!(
            r#"{{"type":"response.reasoning_summary_text.delta","item_id":"r","output_index":9,"summary_index":0,"delta":"{text}"}}"#
        ),
        Call(at) => format!(
            r#"{{"type":"response.output_item.added","output_index":{at},"item":{{"type":"function_call","id":"f{at}","call_id":"k{at}","name":"f","arguments":""}}}}"#
        ),
        Args(at, args) => format!(
            r#"{{"type":"response.function_call_arguments.delta","item_id":"f{at}","output_index":{at},"delta":"{args}"}}"#
        ),
        Ping | Comment => r#"{"type":"keepalive"}"#.into(),
    }
}

fn anthropic(says: Says) -> String {
    match says {
        Text(text) => format!(
            r#"{{"type":"content_block_delta","index":8,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        ),
        Thought(text) => format!(
            r#"{{"type":"content_block_delta","index":9,"delta":{{"type":"thinking_delta","thinking":"{text}"}}}}"#
        ),
        Call(at) => format!(
            r#"{{"type":"content_block_start","index":{at},"content_block":{{"type":"tool_use","id":"k{at}","name":"f","input":{{}}}}}}"#
        ),
        Args(at, args) => format!(
            r#"{{"type":"content_block_delta","index":{at},"delta":{{"type":"input_json_delta","partial_json":"{args}"}}}}"#
        ),
        Ping | Comment => r#"{"type":"ping"}"#.into(),
    }
}

fn gemini(says: Says) -> String {
    let part = match says {
        Text(text) => format!(r#"{{"text":"{text}"}}"#),
        Thought(text) => format!(r#"{{"text":"{text}","thought":true}}"#),
        Call(_) => r#"{"functionCall":{"name":"f","willContinue":true}}"#.into(),
        Args(at, text) => format!(
            r#"{{"functionCall":{{"partialArgs":[{{"jsonPath":"$.a{at}","stringValue":"{text}","willContinue":true}}],"willContinue":true}}}}"#
        ),
        Ping | Comment => r#"{"text":"","thought":true}"#.into(),
    };
    format!(r#"{{"candidates":[{{"content":{{"parts":[{part}]}},"index":0}}]}}"#)
}

fn ollama(says: Says) -> String {
    let message = match says {
        Text(text) => format!(r#"{{"content":"{text}"}}"#),
        Thought(text) => format!(r#"{{"content":"","thinking":"{text}"}}"#),
        Call(_) | Args(..) | Ping | Comment => r#"{"content":""}"#.into(),
    };
    format!(r#"{{"message":{message},"done":false}}"#)
}

/// The event of a wire, and those that end its stream.
fn event(name: &str, says: Says) -> String {
    match name {
        "openai_chat" => chat(says),
        "openai_responses" => responses(says),
        "anthropic_messages" => anthropic(says),
        "gemini" => gemini(says),
        _ => ollama(says),
    }
}

fn ends(name: &str, calls: usize) -> Vec<String> {
    let all = |ends: &[&str]| ends.iter().map(|end| (*end).to_owned()).collect();
    match name {
        "openai_chat" => all(&[
            r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"id":"c","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#,
            "[DONE]",
        ]),
        "openai_responses" => all(&[
            r#"{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":1}}}"#,
        ]),
        "anthropic_messages" => {
            let stop = |at| format!(r#"{{"type":"content_block_stop","index":{at}}}"#);
            let last = all(&[
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
                r#"{"type":"message_stop"}"#,
            ]);
            (0..calls).chain([8, 9]).map(stop).chain::<Vec<String>>(last).collect()
        }
        "gemini" => all(&[r#"{"candidates":[{"finishReason":"STOP","index":0}]}"#]),
        _ => all(&[r#"{"message":{"content":""},"done":true,"done_reason":"stop"}"#]),
    }
}

/// The reply to a stream that says these things.
fn reply(name: &str, all: &[Says]) -> Reply {
    let wire = wire(name).expect("it is there");
    let is_sse = wire.facts().framing == Framing::Events;
    let calls = all.iter().filter(|says| matches!(says, Call(_))).count();
    let mut stream = String::new();
    for says in all {
        if is_sse && matches!(says, Comment) {
            stream.push_str(": ping\n\n");
            continue;
        }
        stream.push_str(&framed(is_sse, &event(name, *says)));
    }
    for end in ends(name, calls) {
        stream.push_str(&framed(is_sse, &end));
    }
    read(name, &stream)
}

fn framed(is_sse: bool, event: &str) -> String {
    if is_sse { format!("data: {event}\n\n") } else { format!("{event}\n") }
}

fn read(name: &str, stream: &str) -> Reply {
    let asked = Asked { model: "m".into(), content_bytes: 8 };
    let dialect = Dialect { label: "test".into(), ..Dialect::default() };
    let reply = replay(wire(name).expect("it is there"), &dialect, &asked, [stream.as_bytes()]);
    reply.unwrap_or_else(|failure| panic!("{name}: {failure:?}\n{stream}"))
}

#[test]
fn a_half_waits_until_its_own_text_goes_on() {
    let first = Text(r"hi \ud83d");
    let then = Text(r"\ude00 ok");
    for between in [
        &[][..],
        &[Text("")],
        &[Ping],
        &[Comment],
        &[Thought("zz")],
        &[Ping, Text(""), Comment, Thought(r"\ud83d"), Ping, Thought(r"\ude01")],
    ] {
        for name in WIRES {
            let all = [&[first], between, &[then]].concat();
            let reply = reply(name, &all);
            assert_eq!(reply.text.as_deref(), Some("hi 😀 ok"), "{name}: {between:?}");
            let thoughts = reply.reasoning.map(|reasoning| reasoning.text.to_string()).unwrap_or_default();
            let wanted = match between.len() {
                6 => "😁",
                _ if matches!(between, [Thought(_)]) => "zz",
                _ => "",
            };
            assert_eq!(thoughts, wanted, "{name}: {between:?}");
        }
    }
}

#[test]
fn a_half_whose_text_ends_or_goes_on_otherwise_is_replaced_in_its_place() {
    for (all, text, thoughts) in [
        (&[Text(r"a\ud83d"), Text("b")][..], "a\u{fffd}b", ""),
        (&[Text(r"a\ud83d"), Thought(r"\ude00"), Text("b")], "a\u{fffd}b", "\u{fffd}"),
        (&[Text(r"a\ud83d")], "a\u{fffd}", ""),
        (&[Thought(r"q\ud83d"), Text(r"a\ud83d"), Ping], "a\u{fffd}", "q\u{fffd}"),
        (&[Text(r"\ud83d"), Text(r"\ud83d"), Text(r"\ude00\ud83d"), Text(r"\ude01")], "\u{fffd}😀😁", ""),
        (
            &[Text(r"\ude00"), Text(r"\ud83d x \ud83d\ude00 \ude00"), Text("")],
            "\u{fffd}\u{fffd} x 😀 \u{fffd}",
            "",
        ),
    ] {
        for name in WIRES {
            let reply = reply(name, all);
            assert_eq!(reply.text.as_deref(), Some(text), "{name}: {all:?}");
            let said = reply.reasoning.map(|reasoning| reasoning.text.to_string()).unwrap_or_default();
            assert_eq!(said, thoughts, "{name}: {all:?}");
        }
    }
}

#[test]
fn halves_of_parallel_calls_go_to_their_own_arguments() {
    for name in ["openai_chat", "openai_responses", "anthropic_messages"] {
        let said = reply(
            name,
            &[
                Call(0),
                Call(1),
                Args(0, r#"{\"to\":\"Ann \ud83d"#),
                Args(1, r#"{\"to\":\"Bob \ud83d"#),
                Ping,
                Args(0, ""),
                Args(0, r#"\ude00\"}"#),
                Args(1, r#"\ude01\"}"#),
            ],
        );
        let args: Vec<Value> =
            said.calls.iter().map(|call| serde_json::from_str(&call.args).expect("JSON")).collect();
        assert_eq!(args, [json!({ "to": "Ann 😀" }), json!({ "to": "Bob 😁" })], "{name}");
        let said = reply(
            name,
            &[
                Call(0),
                Call(1),
                Args(0, r#"{\"to\":\"\ud83d"#),
                Args(1, r#"{\"to\":\"\ude00\"}"#),
                Args(0, r#"\"}"#),
            ],
        );
        let args: Vec<Value> =
            said.calls.iter().map(|call| serde_json::from_str(&call.args).expect("JSON")).collect();
        assert_eq!(args, [json!({ "to": "\u{fffd}" }), json!({ "to": "\u{fffd}" })], "{name}");
    }
    let said = reply(
        "gemini",
        &[
            Call(0),
            Args(0, r"x\ud83d"),
            Args(1, r"y\ud83d"),
            Ping,
            Args(0, r"\ude00"),
            Args(1, r"\ude01\ud83d"),
        ],
    );
    let args: Value = serde_json::from_str(&said.calls[0].args).expect("JSON");
    assert_eq!((args, said.calls.len()), (json!({ "a0": "x😀", "a1": "y😁\u{fffd}" }), 1));
}

/// A half that the model wrote as an escape in the JSON of its arguments.
#[test]
fn half_a_character_makes_no_call_malformed() {
    for (first, then, wanted) in [
        (r#"{\"to\":\"\\ud83d!\"}"#, "", "\u{fffd}!"),
        (r#"{\"to\":\"x\\udc00y\"}"#, "", "x\u{fffd}y"),
        (r#"{\"to\":\"\\ud83d"#, r#"\\ude00\"}"#, "😀"),
        (r#"{\"to\":\"\\ud8"#, r#"3d\"}"#, "\u{fffd}"),
    ] {
        for name in ["openai_chat", "openai_responses", "anthropic_messages"] {
            let said = reply(name, &[Call(0), Args(0, first), Args(0, then)]);
            let args: Value = serde_json::from_str(&said.calls[0].args).expect("JSON");
            assert_eq!(args, json!({ "to": wanted }), "{name}: {first}");
        }
    }
    let whole = r#"{"choices":[{"finish_reason":"tool_calls","message":{"tool_calls":[{"id":"k","function":{"name":"f","arguments":"{\"a\":\"\\ud83d\"}"}}]}}]}"#;
    let asked = Asked { model: "m".into(), content_bytes: 8 };
    let chat = wire("openai_chat").expect("it is there");
    let reply = chat.decode(&Dialect::default(), whole.as_bytes(), &asked).expect("a reply");
    assert_eq!(&*reply.calls[0].args, r#"{"a":"\ufffd"}"#);
}

/// The text and the calls of a stream of chunks.
fn chunks(deltas: &[&str]) -> (String, Vec<(String, String)>) {
    let mut stream = String::new();
    for delta in deltas {
        stream.push_str(&framed(true, &format!(r#"{{"id":"c","choices":[{{"index":0,"delta":{delta}}}]}}"#)));
    }
    for end in ends("openai_chat", 0) {
        stream.push_str(&framed(true, &end));
    }
    let reply = read("openai_chat", &stream);
    let calls = reply
        .calls
        .iter()
        .map(|call| (call.id.as_deref().unwrap_or_default().to_owned(), call.args.to_string()));
    (reply.text.as_deref().unwrap_or_default().to_owned(), calls.collect())
}

#[test]
fn texts_of_one_chunk_and_calls_without_a_number_are_told_apart() {
    let (text, _) = chunks(&[
        r#"{"content":"hi \ud83d","reasoning_content":"q \ud83d"}"#,
        r#"{"content":"\ude00 ok","reasoning_content":"\ude01"}"#,
    ]);
    assert_eq!(text, "hi 😀 ok");
    let (text, _) = chunks(&[
        r#"{"content":[{"type":"text","text":"a\ud83d"},{"type":"text","text":"\ude00b\ud83d"},{"type":"text","text":"c"}]}"#,
    ]);
    assert_eq!(text, "a😀b\u{fffd}c");
    let call = |id: &str, args: &str| {
        format!(r#"{{"tool_calls":[{{"id":"{id}","function":{{"name":"f","arguments":"{args}"}}}}]}}"#)
    };
    let more = |args: &str| format!(r#"{{"tool_calls":[{{"function":{{"arguments":"{args}"}}}}]}}"#);
    let (_, calls) = chunks(&[
        &call("a", r#"{\"x\":\"\ud83d"#),
        &more(r#"\ude00\"}"#),
        &call("b", r#"{\"x\":\"\ud83d"#),
        &more(r#"\ude01\"}"#),
    ]);
    assert_eq!(calls, [("a".into(), r#"{"x":"😀"}"#.into()), ("b".into(), r#"{"x":"😁"}"#.to_owned())]);
    // Every call has the number 0, and the next one begins before the half of the one before it came.
    let first = |id: &str, args: &str| {
        format!(r#"{{"tool_calls":[{{"index":0,"id":"{id}","function":{{"name":"f"{args}}}}}]}}"#)
    };
    for args in ["", r#","arguments":"""#, r#","arguments":null"#, r#","arguments":"{\"x\":1}""#] {
        let rest = if args.len() > 20 { "" } else { r#"{\"x\":1}"# };
        let rest = format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":"{rest}"}}}}]}}"#);
        let (_, calls) =
            chunks(&[&first("a", r#","arguments":"{\"x\":\"\ud83d""#), &first("b", args), &rest]);
        let wanted = [("a".to_owned(), "{\"x\":\"\u{fffd}".to_owned()), ("b".into(), r#"{"x":1}"#.into())];
        assert_eq!(calls, wanted, "{args}");
    }
}

#[test]
fn a_half_at_the_end_of_a_piece_that_ends_the_reply_is_replaced() {
    let stream = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\\ud83d\"}]}}]}\n\n\
        data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\\ude00b\\ud83d\"}]},\"finishReason\":\"STOP\"}]}\n\n";
    assert_eq!(read("gemini", stream).text.as_deref(), Some("a😀b\u{fffd}"));
    let stream = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\",\"willContinue\":true,\
        \"partialArgs\":[{\"jsonPath\":\"$.a\",\"stringValue\":\"x\\ud83d\",\"willContinue\":true}]}}]}}]}\n\n\
        data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{}}]},\"finishReason\":\"STOP\"}]}\n\n";
    let reply = read("gemini", stream);
    assert_eq!((reply.calls.len(), &*reply.calls[0].args), (1, "{\"a\":\"x\u{fffd}\"}"));
}

/// A value that stands too deep to be read costs no text.
#[test]
fn a_hostile_event_is_looked_at_once() {
    let (open, close) = ("[".repeat(5_000), "]".repeat(5_000));
    let (text, _) = chunks(&[
        &format!(r#"{{"x":{open}"\ud83d"{close},"content":"a\ud83d"}}"#),
        &format!(r#"{{"x":{open}{{"content":"\ude01"}}{close},"content":"\ude00"}}"#),
    ]);
    assert_eq!(text, "a😀");
    // More halves than may wait are replaced, and no other text suffers.
    let call = |at: usize| {
        format!(
            r#"{{"tool_calls":[{{"index":{at},"id":"k{at}","function":{{"name":"f","arguments":"\ud83d"}}}}]}}"#
        )
    };
    let more =
        |at: usize| format!(r#"{{"tool_calls":[{{"index":{at},"function":{{"arguments":"\ude00"}}}}]}}"#);
    let all: Vec<String> = (0..70).map(call).chain((0..70).map(more)).collect();
    let (_, calls) = chunks(&all.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(calls.iter().filter(|(_, args)| args == "😀").count(), 64);
    assert_eq!(calls.iter().filter(|(_, args)| args == "\u{fffd}\u{fffd}").count(), 6);
}
