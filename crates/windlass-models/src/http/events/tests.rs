use std::task::Waker;

use windlass_core::model::FailureKind;

use super::*;
use crate::http::Framing;
use crate::wires::openai_chat::OpenAiChat;
use crate::wires::{Dialect, WIRES, Wire};

/// A reader that has the bytes of one event with a text of that length.
fn reader(bytes: usize) -> EventReader {
    let frames = Frames::bounded(Framing::Events, 1 << 24);
    let mut reader = EventReader::new(frames, OpenAiChat.decoder(&Dialect::default()));
    let text = "x".repeat(bytes);
    let event =
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\ndata: [DONE]\n\n");
    reader.push(event.as_bytes()).expect("it fits");
    reader
}

fn poll(reader: &mut EventReader) -> Poll<Result<bool, DecodeError>> {
    reader.poll_event(&mut Context::from_waker(Waker::noop()))
}

/// A large event is decoded outside the poll: other tasks run before its piece arrives.
#[tokio::test(flavor = "current_thread")]
async fn a_large_event_is_decoded_elsewhere_and_a_small_one_at_once() {
    let text = |bytes: usize| Delta::Text("x".repeat(bytes));
    let mut small = reader(1_000);
    assert_eq!(poll(&mut small), Poll::Ready(Ok(true)));
    assert_eq!(small.pop(), Some(text(1_000)));
    let large = LARGE_BYTES as usize;
    let mut reader = reader(large);
    assert!(poll(&mut reader).is_pending());
    let decoded = std::future::poll_fn(|context| reader.poll_event(context)).await;
    assert_eq!((decoded, reader.pop()), (Ok(true), Some(text(large))));
    assert_eq!(poll(&mut reader), Poll::Ready(Ok(true)));
    assert!(reader.is_done() && reader.end(0));
    assert_eq!(reader.usage(0).output, large as u64 / 4);
}

/// The failure or end of a stream that is read to the end of these bytes.
fn read(body: &str) -> (Result<(), DecodeError>, bool) {
    let frames = Frames::bounded(Framing::Events, 1 << 24);
    let mut reader = EventReader::new(frames, OpenAiChat.decoder(&Dialect::default()));
    reader.push(body.as_bytes()).expect("it fits");
    let mut decoded = Ok(());
    for _ in 0..2 {
        while decoded == Ok(()) {
            match reader.next_event() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => decoded = Err(error),
            }
        }
        reader.close();
    }
    (decoded, reader.end(0))
}

#[test]
fn a_body_that_ends_within_an_event_was_cut() {
    let text = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    for part in ["{", "{\"choi", "{\"a\":-", "{\"a\":\ndata: 2.", "{\"a\":tr", "{\"a\":\"\\u00"] {
        assert_eq!(read(&format!("{text}data: {part}")), (Ok(()), false), "{part}");
    }
    assert_eq!(read(&format!("{text}{end}data: {{\"choi")), (Ok(()), true));
    assert_eq!(read(&format!("{text}{end}data: [DO")), (Ok(()), true));
    // The same bytes as a whole event violate the API, and so does what is no beginning of an event.
    for wrong in ["data: {\"choi\n\n", "data: <html>"] {
        let (decoded, _) = read(&format!("{text}{wrong}"));
        assert!(decoded.is_err_and(|error| error.kind == FailureKind::Protocol), "{wrong}");
    }
}

/// Wires with the beginning of a stream, events that bring nothing, and one that brings something.
struct Stalling {
    /// Names of wires that stream so.
    wires: &'static [&'static str],
    begins: &'static str,
    nothing: &'static [&'static str],
    something: &'static str,
}

const STALLING: [Stalling; 5] = [
    Stalling {
        wires: &["openai_chat"],
        begins: "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"Hel\"}}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1}}\n\n",
        nothing: &[
            ": OPENROUTER PROCESSING\n\n",
            "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":null,\"reasoning_content\":\"\"}}]}\n\n",
            "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1}}\n\n",
            "data: {\"choices\":[]}\n\n",
        ],
        something: "data: {\"choices\":[{\"delta\":{\"content\":\"lo\"}}]}\n\n",
    },
    Stalling {
        wires: &["openai_responses"],
        begins: "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\"}}\n\n\
            data: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"Hel\"}\n\n",
        nothing: &[
            ": keep-alive\n\n",
            "data: {\"type\":\"keepalive\"}\n\n",
            "data: {\"type\":\"response.in_progress\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\"}}\n\n",
            "data: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"\"}\n\n",
        ],
        something: "data: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"lo\"}\n\n",
    },
    Stalling {
        wires: &["anthropic_messages"],
        begins: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\n\
            event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        nothing: &[
            ": comment\n\n",
            "event: ping\ndata: {\"type\":\"ping\"}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\"}}\n\n",
        ],
        something: "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"lo\"}}\n\n",
    },
    Stalling {
        wires: &["gemini", "gemini_vertex"],
        begins: "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hel\"}],\"role\":\"model\"}}],\"usageMetadata\":{\"promptTokenCount\":7,\"totalTokenCount\":7}}\n\n",
        nothing: &[
            ": comment\n\n",
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}],\"role\":\"model\"}}],\"usageMetadata\":{\"promptTokenCount\":7,\"totalTokenCount\":7}}\n\n",
            "data: {\"candidates\":[{\"content\":{\"role\":\"model\"}}]}\n\n",
        ],
        something: "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"lo\"}],\"role\":\"model\"}}]}\n\n",
    },
    Stalling {
        wires: &["ollama"],
        begins: "{\"message\":{\"role\":\"assistant\",\"content\":\"Hel\"},\"done\":false}\n",
        nothing: &[
            "\n",
            "{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":false}\n",
            "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"\"},\"done\":false}\n",
        ],
        something: "{\"message\":{\"role\":\"assistant\",\"content\":\"lo\"},\"done\":false}\n",
    },
];

/// Whether any event of these bytes brings something.
fn brings(reader: &mut EventReader, bytes: &str) -> bool {
    reader.push(bytes.as_bytes()).expect("it fits");
    let mut any = false;
    while poll(reader) == Poll::Ready(Ok(true)) {
        any |= reader.makes_progress();
        reader.clear();
    }
    any
}

#[test]
fn e56_pings_comments_roles_and_empty_pieces_are_no_progress_on_any_wire() {
    for wire in WIRES {
        let name = wire.facts().name;
        let stalling = STALLING.iter().find(|stalling| stalling.wires.contains(&name));
        let Stalling { begins, nothing, something, .. } = stalling.expect("a wire is missing here");
        let frames = Frames::bounded(wire.facts().framing, 1 << 20);
        let mut reader = EventReader::new(frames, wire.decoder(&Dialect::default()));
        assert!(brings(&mut reader, begins), "{name}: {begins}");
        for event in nothing.iter().chain(nothing.iter()) {
            assert!(!brings(&mut reader, event), "{name}: {event}");
        }
        assert!(brings(&mut reader, something), "{name}: {something}");
    }
}
