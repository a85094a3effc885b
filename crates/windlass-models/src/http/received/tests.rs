use windlass_core::model::FailureKind;
use windlass_core::secret::Secret;

use super::*;
use crate::wires::ollama::Ollama;
use crate::wires::openai_chat::OpenAiChat;

fn failure() -> ModelFailure {
    ModelFailure::new(FailureKind::Cut, "it broke", "m")
}

fn shown(failure: &ModelFailure) -> (String, bool) {
    let detail = failure.detail.as_ref().expect("a body is kept");
    (detail.reply.as_ref().expect("a body is kept").text().into_owned(), detail.is_cut)
}

fn kept(body: &[u8]) -> (String, bool) {
    shown(&of_body(failure(), body))
}

fn streamed(wire: &dyn Wire, body: &str) -> (String, bool) {
    let mut received = Received::default();
    body.as_bytes().chunks(1_000).for_each(|bytes| received.add(bytes));
    shown(&received.of_stream(failure(), wire, &Dialect::default()))
}

#[test]
fn the_first_64_kib_are_kept_and_one_more_byte_is_cut() {
    let whole = "x".repeat(KEPT_REPLY_BYTES);
    assert_eq!(kept(whole.as_bytes()), (whole.clone(), false));
    for more in [1, SECRET_MARGIN - 1, SECRET_MARGIN, SECRET_MARGIN + 1, 1_000_000] {
        let longer = whole.clone() + &"y".repeat(more);
        assert_eq!(kept(longer.as_bytes()), (whole.clone(), true), "{more} more");
        assert_eq!(streamed(&OpenAiChat, &longer), (whole.clone(), true), "{more} more");
    }
    assert_eq!(of_body(failure(), b"").detail, None, "no body is kept where none came");
    assert_eq!(kept(b"caf\xe9 au lait"), ("caf\u{fffd} au lait".to_owned(), false));
}

#[test]
fn e53_a_secret_at_the_cut_and_one_at_the_end_of_what_is_read_are_masked() {
    let key = "sk-kept-body-4711-0123456789";
    drop(Secret::new(key));
    for at in [0, KEPT_REPLY_BYTES - 10, KEPT_REPLY_BYTES, READ_BYTES - 10] {
        // Masked secrets before it move what stands behind them forward.
        for before in [0, 1_000] {
            let mut body = key.repeat(before);
            body.push_str(&"x".repeat(at.saturating_sub(body.len())));
            body.push_str(key);
            body.push_str(&"y".repeat(READ_BYTES));
            for (text, is_cut) in [kept(body.as_bytes()), streamed(&OpenAiChat, &body)] {
                assert!(is_cut && text.len() <= KEPT_REPLY_BYTES);
                assert!(!text.contains("sk-kept"), "at {at} after {before}: a part of the key is kept");
            }
        }
    }
}

#[test]
fn e53_a_secret_that_comes_in_pieces_is_not_kept() {
    drop(Secret::new("sk-in-pieces-4711"));
    let events = |pieces: [&str; 2]| {
        let event = |piece| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{piece}\"}}}}]}}\n\n");
        pieces.map(event).concat()
    };
    assert_eq!(streamed(&OpenAiChat, &events(["sk-in-pie", "ces-4711"])).0, LEFT_OUT);
    assert_eq!(streamed(&OpenAiChat, &events(["a sk-in-pieces-4711", " b"])).0, events(["a ***", " b"]));
    let call = |args| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":\"{args}\"}}}}]}}}}]}}\n\n"
        )
    };
    assert_eq!(streamed(&OpenAiChat, &["sk-in-", "pieces", "-4711"].map(call).concat()).0, LEFT_OUT);
    let line = |piece| format!("{{\"message\":{{\"content\":\"{piece}\"}},\"done\":false}}\n");
    assert_eq!(streamed(&Ollama, &["sk-in-pieces", "-4711"].map(line).concat()).0, LEFT_OUT);
}
