use windlass_core::message::MediaSource;
use windlass_core::model::{FailureKind, MAX_REPLY_BYTES};
use windlass_core::text::steps::taken;

use super::*;
use crate::http::sse::SseParser;
use crate::wires::Quirks;

fn dialect() -> Dialect {
    Dialect { label: "openai".into(), ..Dialect::default() }
}

/// The pieces of a stream of these events.
fn pieces(events: &[&str]) -> Result<Vec<Delta>, DecodeError> {
    let (mut decoder, mut out) = (Decoder::new(&dialect()), VecDeque::new());
    for event in events {
        decoder.event(event.as_bytes(), &mut out)?;
    }
    decoder.end(0, &mut out);
    Ok(out.into())
}

fn texts(events: &[&str]) -> Vec<String> {
    let text = |delta| if let Delta::Text(text) = delta { Some(text) } else { None };
    pieces(events).expect("a good stream").into_iter().filter_map(text).collect()
}

fn delta(item: &str, words: &str) -> String {
    format!("{{\"type\":\"response.output_text.delta\",\"item_id\":\"{item}\",\"delta\":\"{words}\"}}")
}

fn message(event: &str, id: &str, words: &str) -> String {
    format!(
        "{{\"type\":\"response.output_item.{event}\",\"item\":{{\"id\":\"{id}\",\"type\":\"message\",\
         \"content\":[{{\"type\":\"output_text\",\"text\":\"{words}\"}}]}}}}"
    )
}

const COMPLETED: &str = r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#;

#[test]
fn text_comes_at_once_and_waits_only_for_items_before_it() {
    let (added, two) = (message("added", "a", ""), message("added", "b", ""));
    let (one, other) = (delta("a", "One"), delta("b", "Two"));
    assert_eq!(texts(&[&added, &one]), ["One"], "it is not held back");
    assert_eq!(texts(&[&added, &two, &other, &one]), ["One"], "the first item may still grow");
    let done = message("done", "a", "One.");
    assert_eq!(texts(&[&added, &two, &other, &one, &done]), ["One", ".", "\n\nTwo"]);
    assert_eq!(texts(&[&added, &two, &other, COMPLETED]), ["Two"], "nothing more comes");
}

#[test]
fn what_was_not_streamed_of_an_item_is_given_out_at_its_end() {
    let added = message("added", "a", "");
    assert_eq!(texts(&[&added, &delta("a", "Hel"), &message("done", "a", "Hello")]), ["Hel", "lo"]);
    assert_eq!(texts(&[&message("done", "a", "Hello")]), ["Hello"]);
    assert_eq!(texts(&[&message("done", "a", "Hello"), &message("done", "a", "Hello")]), ["Hello"]);
    // What was streamed was seen: another text at the end does not take its place.
    assert_eq!(texts(&[&added, &delta("a", "Hel"), &message("done", "a", "Goodbye")]), ["Hel"]);
    let whole = r#"{"type":"response.output_text.done","item_id":"a","text":"Hello"}"#;
    assert_eq!(texts(&[&added, whole]), ["Hello"]);
    assert_eq!(texts(&[&added, &delta("a", "Hello"), whole]), ["Hello"]);
}

#[test]
fn a_call_is_given_out_as_it_comes_with_id_and_name_once() {
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","arguments":""}}"#;
    let more = |args: &str| {
        format!(
            "{{\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc_1\",\"delta\":\"{args}\"}}"
        )
    };
    let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","arguments":"{\"a\":1}"}}"#;
    let call = |id: Option<&str>, name: Option<&str>, args: &str| Delta::Call {
        index: Some(0),
        id: id.map(Into::into),
        name: name.map(Into::into),
        args: args.into(),
    };
    let all = pieces(&[added, &more("{\\\"a"), &more("\\\":"), done]).expect("good");
    assert_eq!(
        all,
        [
            call(Some("call_1"), Some("f"), ""),
            call(None, None, "{\"a"),
            call(None, None, "\":"),
            call(None, None, "1}")
        ]
    );
    assert_eq!(pieces(&[done]).expect("good"), [call(Some("call_1"), Some("f"), "{\"a\":1}")]);
}

#[test]
fn the_response_s_id_is_kept_where_it_is_stored() {
    let created =
        r#"{"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}}"#;
    let seal = |stored| {
        let quirks = Quirks { stored_replies: stored, ..Quirks::NONE };
        let (mut decoder, mut out) = (Decoder::new(&Dialect { quirks, ..dialect() }), VecDeque::new());
        for event in [created, &message("done", "a", "Hi"), COMPLETED] {
            decoder.event(event.as_bytes(), &mut out).expect("good");
        }
        out.into_iter()
            .find_map(|delta| if let Delta::Sealed(sealed) = delta { Some(sealed.data) } else { None })
    };
    assert_eq!(seal(false), None);
    assert!(seal(true).is_some_and(|data| data.contains("\"s\":\"resp_1\"")));
}

#[test]
fn the_format_of_an_image_is_told_or_seen() {
    for (said, data, kind) in [
        ("\"output_format\":\"webp\",", "iVBOR", "image/webp"),
        ("", "iVBOR", "image/png"),
        ("", "/9j/4AAQ", "image/jpeg"),
        ("", "UklGRg", "image/webp"),
    ] {
        let body = format!(
            "{{\"status\":\"completed\",\"output\":[{{\"type\":\"image_generation_call\",{said}\"result\":\"{data}\"}}]}}"
        );
        let asked = Asked { model: "m".into(), content_bytes: 0 };
        let reply = decode(&dialect(), body.as_bytes(), &asked).expect("a reply");
        let media = reply.media.first().expect("an image");
        assert_eq!((&*media.media_type, &media.source), (kind, &MediaSource::Base64(data.into())));
    }
    let failed = r#"{"status":"completed","output":[{"type":"image_generation_call","status":"failed","result":null}]}"#;
    let asked = Asked { model: "m".into(), content_bytes: 0 };
    let reply = decode(&dialect(), failed.as_bytes(), &asked).expect("a reply");
    assert!(reply.media.is_empty() && reply.reasoning.is_some(), "it goes back as it is");
}

#[test]
fn the_number_of_items_and_what_is_kept_of_them_are_bounded() {
    let (mut decoder, mut out) = (Decoder::new(&dialect()), VecDeque::new());
    let item = r#"{"type":"response.output_item.added","item":{"type":"quantum_call"}}"#;
    let error = (0..10_000).find_map(|_| decoder.event(item.as_bytes(), &mut out).err()).expect("too many");
    assert_eq!(error.kind, FailureKind::Protocol);
    let (mut decoder, large) = (Decoder::new(&dialect()), "x".repeat(1 << 20));
    let item = format!(
        "{{\"type\":\"response.output_item.done\",\"item\":{{\"type\":\"quantum_call\",\"x\":\"{large}\"}}}}"
    );
    let refused = (0..64).find_map(|at| Some((at, decoder.event(item.as_bytes(), &mut out).err()?)));
    let (events, error) = refused.expect("too much");
    assert_eq!(error.kind, FailureKind::TooLarge);
    assert_eq!(events, (MAX_REPLY_BYTES >> 20) - 1, "items of a little more than one MiB each");
}

/// The steps of the parser and the assembler for a reply of so many pieces, in two items that alternate.
fn steps(count: usize) -> (u64, usize) {
    let call = r#"{"type":"response.output_item.added","item":{"id":"f","type":"function_call","call_id":"c","name":"f"}}"#;
    let more = r#"{"type":"response.function_call_arguments.delta","item_id":"f","delta":"0123456789"}"#;
    let frame = |event: &str| format!("data: {event}\n\n");
    let mut body = frame(&message("added", "a", "")) + &frame(call);
    for _ in 0..count {
        body += &frame(&delta("a", "0123456789"));
        body += &frame(more);
    }
    let text = "0123456789".repeat(count);
    body += &frame(&message("done", "a", &text));
    body += &frame(COMPLETED);
    let (mut parser, mut decoder) = (SseParser::default(), Decoder::new(&dialect()));
    let (mut assembler, mut out) = (Assembler::new("m"), VecDeque::new());
    let mut given = 0;
    let steps = taken(|| {
        for piece in body.as_bytes().chunks(1400) {
            parser.push(piece).expect("small events");
            while let Some(data) = parser.next_data() {
                decoder.event(data, &mut out).expect("good");
                for delta in out.drain(..) {
                    given += usize::try_from(delta.text_bytes()).expect("small");
                    assembler.push(delta).expect("below the bound");
                }
            }
        }
    });
    let reply = assembler.finish();
    assert_eq!((reply.text.as_deref().map(str::len), reply.calls.len()), (Some(text.len()), 1));
    assert_eq!(reply.calls.first().map(|call| call.args.len()), Some(text.len()));
    (steps, given)
}

#[test]
fn a_stream_of_10_megabytes_is_read_once() {
    let (small, given) = steps(2_000);
    let (large, all) = steps(50_000);
    assert!(large < 26 * small, "{large} steps for 25 times the bytes of {small}");
    // Each byte of the reply is given out once.
    assert_eq!((given, all), (2 * 20_000 + 2, 2 * 500_000 + 2));
}
