use serde_json::Value;

use super::{Mended, readable};
use crate::http::replay;
use crate::wires::{Asked, Dialect, wire};

fn mended(json: &str) -> String {
    Mended::of(json.as_bytes())
        .map_or_else(|| json.to_owned(), |mended| String::from_utf8(mended.data).expect("UTF-8"))
}

#[test]
fn lone_halves_are_replaced_and_pairs_stay() {
    for (given, wanted) in [
        (r#"{"a":"x\ud83d"}"#, "x\u{fffd}"),
        (r#"{"a":"\uDE00x"}"#, "\u{fffd}x"),
        (r#"{"a":"\ud83d\ude00"}"#, "😀"),
        (r#"{"a":"\ud83d\ud83d\ude00"}"#, "\u{fffd}😀"),
        (r#"{"a":"\\ud83d"}"#, "\\ud83d"),
        (r#"{"a":"\"\ud83d\\"}"#, "\"\u{fffd}\\"),
        (r#"{"a":"\u00e9\ud83d"}"#, "é\u{fffd}"),
    ] {
        let read: Value = serde_json::from_str(&mended(given)).expect(given);
        assert_eq!(read["a"], wanted, "{given}");
    }
}

#[test]
fn halves_of_one_field_are_joined_across_events() {
    let of = |json: &str| Mended::of(json.as_bytes()).expect("it has a half");
    let mut first = of(r#"{"c":[{"d":{"t":"a\ud83d"}}]}"#);
    let mut next = of(r#"{"c":[{"d":{"u":"\ude00b","t":"\ude00c\ud83d"}}]}"#);
    assert!(first.is_open() && next.is_open());
    first.join(&mut next);
    let texts = |mended: &Mended| -> Value {
        serde_json::from_slice::<Value>(&mended.data).expect("JSON")["c"][0]["d"].clone()
    };
    assert_eq!(texts(&first)["t"], "a😀");
    assert_eq!(
        (texts(&next)["u"].clone(), texts(&next)["t"].clone()),
        ("\u{fffd}b".into(), "c\u{fffd}".into())
    );
    let mut last = of(r#"{"c":[{"d":{"t":"\ude01"}}]}"#);
    next.join(&mut last);
    assert_eq!((texts(&next)["t"].clone(), texts(&last)["t"].clone()), ("c😁".into(), "".into()));
}

#[test]
fn numbers_that_are_none_are_null_outside_of_texts() {
    let given = br#"{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN \" NaN"}"#;
    let read: Value = serde_json::from_slice(&readable(given).expect("it has some")).expect("JSON");
    assert_eq!(read, serde_json::json!({ "a": null, "b": [null, null], "c": "NaN \" NaN" }));
    assert_eq!(readable(br#"{"c":"NaN"}"#), None);
}

/// A stream of each wire that says `Hi `, one character whose halves come in two pieces, and a lone half at the end.
const STREAMS: [(&str, &str); 5] = [
    (
        "openai_chat",
        "data: {\"choices\":[{\"delta\":{\"content\":\"Hi \\ud83d\"},\"logprobs\":{\"p\":-Infinity}}]}\n\n\
         data: {\"choices\":[{\"delta\":{\"content\":\"\\ude00!\\ud83d\"}}]}\n\n\
         data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"score\":NaN}\n\ndata: [DONE]\n\n",
    ),
    (
        "openai_responses",
        "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"p\":NaN}}\n\n\
         data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"m\",\"content\":[]}}\n\n\
         data: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"Hi \\ud83d\"}\n\n\
         data: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"\\ude00!\\ud83d\"}\n\n\
         data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
    ),
    (
        "anthropic_messages",
        "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"p\":NaN,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n\
         data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
         data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi \\ud83d\"}}\n\n\
         data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\\ude00!\\ud83d\"}}\n\n\
         data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
         data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n\
         data: {\"type\":\"message_stop\"}\n\n",
    ),
    (
        "gemini",
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi \\ud83d\"}]},\"avgLogprobs\":NaN}]}\n\n\
         data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\\ude00!\\ud83d\"}]}}]}\n\n\
         data: {\"candidates\":[{\"finishReason\":\"STOP\",\"avgLogprobs\":-Infinity}]}\n\n",
    ),
    (
        "ollama",
        "{\"message\":{\"role\":\"assistant\",\"content\":\"Hi \\ud83d\"},\"p\":NaN,\"done\":false}\n\
         {\"message\":{\"role\":\"assistant\",\"content\":\"\\ude00!\\ud83d\"},\"done\":false}\n\
         {\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n",
    ),
];

#[test]
fn half_a_character_costs_no_reply_on_any_wire() {
    for (name, stream) in STREAMS {
        for length in [1, 7, stream.len()] {
            let pieces: Vec<&[u8]> = stream.as_bytes().chunks(length).collect();
            let asked = Asked { model: "m".into(), content_bytes: 8 };
            let reply = replay(wire(name).expect("it is there"), &Dialect::default(), &asked, pieces);
            let reply = reply.unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
            assert_eq!(reply.text.as_deref(), Some("Hi 😀!\u{fffd}"), "{name}");
        }
    }
}
