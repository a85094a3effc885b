use serde_json::Value;

use super::lenient::readable;
use super::{Halves, PiecedTexts, tolerant};
use crate::http::replay;
use crate::wires::{Asked, DecodeError, Dialect, wire};

mod pieces;

fn mended(json: &str) -> String {
    let mended = Halves::new(&PiecedTexts::NONE).take(json.as_bytes()).and_then(|mended| mended.data);
    mended.map_or_else(|| json.to_owned(), |mended| String::from_utf8(mended).expect("UTF-8"))
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
fn what_json_does_not_know_is_mended_outside_and_within_texts() {
    for (given, wanted) in [
        (
            r#"{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN \" NaN"}"#,
            r#"{"a":null,"b":[null,null],"c":"NaN \" NaN"}"#,
        ),
        (
            "[nan,-nan,inf,+Infinity,-NaN,undefined,None,0x10,True]",
            "[null,null,null,null,null,null,null,null,true]",
        ),
        ("[01,-007,.5,-.5,5.,5.e2,+1,00.50,1e999]", "[1,-7,0.5,-0.5,5.0,5.0e2,1,0.50,null]"),
        (
            "{\"a\":\"x\u{1}y\tz\",\"b\":\"\\x1b \\u12 \\n\"}",
            r#"{"a":"x\u0001y\u0009z","b":"\\x1b \\u12 \n"}"#,
        ),
        (r#"{"a":[1,2, ],"b":",]",}"#, r#"{"a":[1,2],"b":",]"}"#),
    ] {
        let read: Value =
            serde_json::from_slice(&readable(given.as_bytes()).expect("it has some")).expect(given);
        assert_eq!(read, serde_json::from_str::<Value>(wanted).expect("JSON"), "{given}");
    }
    for strict in [r#"{"c":"NaN"}"#, r#"{"a":[-1.5e10,0,0.5,true,false,null,"\u00e9\/"],"b":{}}"#] {
        assert_eq!(readable(strict.as_bytes()), None);
    }
    let text = r#"{"a":"\ud83d\ude00 \u00e9 \"","b":[-1.5e10,NaN,],"id":07}"#;
    for cut in 0..text.len() {
        let _mended = readable(&text.as_bytes()[..cut]);
    }
}

#[test]
fn an_error_quotes_the_bytes_as_they_came() {
    let came = br#"{"a":NaN,"b":"\ud83d"}"#;
    let failed: Result<(), _> = tolerant(came, |data| {
        let read = serde_json::from_slice::<Value>(data).map(|_| ());
        read.map_err(|error| DecodeError::unreadable(&error, data))?;
        Err(DecodeError::protocol(format!("no choice: {}", crate::wires::quoted(data))))
    });
    let message = failed.expect_err("it failed").message;
    assert_eq!(message, r#"no choice: `{"a":NaN,"b":"\ud83d"}`"#);
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
