use std::task::Waker;

use windlass_core::model::FailureKind;

use super::*;
use crate::http::Framing;
use crate::wires::openai_chat::OpenAiChat;
use crate::wires::{Dialect, Wire};

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
