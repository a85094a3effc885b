use futures_util::stream;

use super::*;
use crate::OpenAiConfig;
use crate::openai::{OpenAiChat, Timeouts};

/// A stream whose bytes are all there, with one event of a text of that length.
fn reading(bytes: usize) -> Reading {
    let adapter = OpenAiChat::new(OpenAiConfig::new("openai", "http://127.0.0.1:1")).unwrap();
    let server = adapter.server().clone();
    let max_reply_bytes = windlass_core::MAX_REPLY_BYTES;
    let call = Call { server, model: "m".into(), content_bytes: 0, stream: true, max_reply_bytes };
    let text = "x".repeat(bytes);
    let event =
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\ndata: [DONE]\n\n");
    let body = Box::pin(stream::iter([Ok(Bytes::from(event))]));
    Reading::events(call, body, Watch::start(Timeouts::default(), true))
}

fn poll(reading: &mut Reading) -> Poll<Option<Result<Delta, ModelFailure>>> {
    Pin::new(reading).poll_next(&mut Context::from_waker(std::task::Waker::noop()))
}

/// What takes long is not done within a poll: others have their turn before its piece comes.
#[tokio::test(flavor = "current_thread")]
async fn a_large_event_is_decoded_elsewhere_and_a_small_one_at_once() {
    let text = |bytes: usize| Delta::Text("x".repeat(bytes));
    assert_eq!(poll(&mut reading(1_000)), Poll::Ready(Some(Ok(text(1_000)))));
    let large = LARGE_BYTES as usize;
    let mut reading = reading(large);
    assert!(poll(&mut reading).is_pending());
    let pieces: Vec<_> = reading.collect().await;
    let usage = Usage { output: large as u64 / 4, estimated: true, ..Usage::default() };
    assert_eq!(pieces, [Ok(text(large)), Ok(Delta::Usage(usage))]);
}
