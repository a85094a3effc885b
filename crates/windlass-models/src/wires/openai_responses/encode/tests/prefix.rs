//! Messages that were encoded stay from turn to turn.

use windlass_core::policy::CachePoint;

use super::*;
use crate::wires::openai_responses::encode::Messages;
use crate::wires::prefix::Kept;

#[test]
fn e57_the_prefix_is_byte_stable_and_only_new_messages_are_encoded() {
    let mut turn = request(vec![Message::user("Hi")]);
    turn.tools = Arc::new(vec![tool("f")]);
    let mut bodies = vec![text_of(&turn)];
    for at in 0..20 {
        turn.messages.push(Arc::new(with_calls(&["{}"])));
        turn.messages.push(Arc::new(result_of("c0", format!("result {at}"), false)));
        let fresh = ModelRequest { prefix: PrefixCell::default(), ..turn.clone() };
        let body = text_of(&turn);
        assert_eq!(body, text_of(&fresh), "turn {at}: adding to the kept bytes is the same as encoding anew");
        bodies.push(body);
    }
    for pair in bodies.windows(2) {
        let prefix = pair[0].split("],\"tools\"").next().expect("the messages");
        assert!(pair[1].starts_with(prefix));
    }
    let slot = turn.prefix.conversation.lock().expect("not poisoned");
    let kept = slot.as_ref().and_then(|any| any.downcast_ref::<Kept<Messages>>()).expect("it is kept");
    assert_eq!(
        (kept.count, kept.messages.elements.ends.len()),
        (turn.messages.len(), turn.messages.len() + 1)
    );
}

#[test]
fn e57_kept_bytes_are_used_as_long_as_they_are_the_beginning() {
    let first = request(vec![Message::user("Hi")]);
    encode(&dialect(), &first);
    {
        let mut slot = first.prefix.conversation.lock().expect("not poisoned");
        let kept = slot.as_mut().and_then(|any| any.downcast_mut::<Kept<Messages>>()).expect("it is kept");
        kept.messages.elements.bytes = b"\"kept\"".to_vec();
    }
    let mut longer = first.clone();
    longer.messages.push(Arc::new(Message::assistant("Hello")));
    assert_eq!(
        body(&longer)["input"],
        json!(["kept", {"type": "message", "role": "assistant", "content": "Hello"}])
    );
    let mut edited = longer.clone();
    edited.messages = [Message::user("Hi!"), Message::assistant("Hello")].map(Arc::new).into_iter().collect();
    assert_eq!(body(&edited)["input"][1]["content"], "Hi!");
}

#[test]
fn a33_marked_messages_carry_a_breakpoint_and_what_was_encoded_stays() {
    let marking = with_quirks(Quirks { cache_control: true, ..Quirks::NONE });
    let marker = |text: &str| json!([{"type": "input_text", "text": text, "prompt_cache_breakpoint": {"mode": "explicit"}}]);
    let mut asked = request(vec![
        Message::user("one"),
        Message::assistant("Hm."),
        with_calls(&["{}"]),
        result_of("c0", "found", false),
    ]);
    let plain = body_in(&marking, &asked);
    asked.cache = vec![CachePoint::at(0), CachePoint::at(2), CachePoint::at(3), CachePoint::at(4)];
    let marked = body_in(&marking, &asked);
    assert_eq!(marked["input"][0]["content"], marker("Be \"brief\"."));
    assert_eq!(marked["input"][4]["output"], marker("found"));
    for unmarkable in [1, 2, 3] {
        assert_eq!(marked["input"][unmarkable], plain["input"][unmarkable]);
    }
    assert_eq!(body(&asked), plain, "a dialect that knows no markers leaves them out");
    let mut next = asked.clone();
    next.messages.push(Arc::new(Message::user("two")));
    next.cache = vec![CachePoint::at(-1)];
    let moved = body_in(&marking, &next);
    assert_eq!((&moved["input"][0], &moved["input"][5]["content"]), (&plain["input"][0], &marker("two")));
    let fresh = ModelRequest { prefix: PrefixCell::default(), ..next.clone() };
    assert_eq!(encode(&marking, &fresh).body, encode(&marking, &next).body);
}
