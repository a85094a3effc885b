//! Replies that the provider stores: a turn sends what follows the last one, if its memory is that of the run.

use crate::wires::Wire as _;
use crate::wires::openai_responses::OpenAiResponses;

use super::replies::{decoded, message_of};
use super::*;

fn storing() -> Dialect {
    with_quirks(Quirks { stored_replies: true, ..Quirks::NONE })
}

/// A stored reply with a call.
fn reply(id: &str) -> AssistantMessage {
    let json = format!(
        r#"{{"id":"{id}","status":"completed","output":[{{"id":"fc_1","type":"function_call",
            "call_id":"call_{id}","name":"f","arguments":"{{}}"}}]}}"#
    );
    message_of(&decoded(&storing(), &json))
}

/// The response that a request goes on from, and the number of items that it sends.
fn sent(request: &ModelRequest) -> (Option<String>, usize) {
    let body = body_in(&storing(), request);
    assert_eq!(body["store"], true);
    let previous = body.get("previous_response_id").and_then(Value::as_str).map(str::to_owned);
    (previous, body["input"].as_array().expect("a list").len())
}

fn go_on(request: &mut ModelRequest, id: &str) {
    request.messages.push(Arc::new(Message::Assistant(reply(id))));
    request.messages.push(Arc::new(result_of(&format!("call_{id}"), "ok", false)));
}

/// A run after its first reply, which is stored.
fn first() -> ModelRequest {
    let mut turn = request(vec![Message::user("Hi")]);
    assert_eq!(sent(&turn), (None, 2));
    go_on(&mut turn, "resp_1");
    turn
}

#[test]
fn a_turn_sends_what_follows_the_stored_reply() {
    let mut turn = first();
    assert_eq!(sent(&turn), (Some("resp_1".into()), 1));
    go_on(&mut turn, "resp_2");
    turn.messages.push(Arc::new(Message::user("And now?")));
    assert_eq!(sent(&turn), (Some("resp_2".into()), 2));
}

#[test]
fn a_second_try_sends_everything() {
    let mut turn = first();
    assert_eq!(sent(&turn), (Some("resp_1".into()), 1));
    assert_eq!(sent(&turn), (None, 4), "the provider may have lost the response");
    go_on(&mut turn, "resp_2");
    assert_eq!(sent(&turn), (Some("resp_2".into()), 1), "it has the reply to the second try");
}

#[test]
fn everything_goes_out_after_a_restart_or_an_edit() {
    let restarted = ModelRequest { prefix: PrefixCell::default(), ..first() };
    assert_eq!(sent(&restarted), (None, 4), "after a restart");
    let mut edited = first();
    let messages = [
        Message::user("Edited."),
        Message::Assistant(reply("resp_1")),
        result_of("call_resp_1", "ok", false),
    ];
    edited.messages = messages.map(Arc::new).into_iter().collect();
    assert_eq!(sent(&edited), (None, 4), "the history was edited");
    let mut other = first();
    other.prompt = Arc::new(vec![Arc::new(Message::system("Other instructions."))]);
    assert_eq!(sent(&other), (None, 4), "the instructions were edited");
}

#[test]
fn everything_goes_out_where_the_reply_is_not_the_provider_s() {
    let after = |said: Message| {
        let mut turn = request(vec![Message::user("Hi")]);
        sent(&turn);
        turn.messages.push(Arc::new(said));
        turn.messages.push(Arc::new(Message::user("Go on.")));
        sent(&turn)
    };
    assert_eq!(after(Message::assistant("Another model's.")), (None, 4));
    let changed = AssistantMessage { text: Some("Put in by a hook.".into()), ..reply("resp_1") };
    assert_eq!(after(Message::Assistant(changed)).0, None);
    assert_eq!(after(Message::Assistant(reply("resp_1"))).0.as_deref(), Some("resp_1"));
    let mut turn = first();
    let elsewhere = Dialect { label: "azure".into(), ..storing() };
    body_in(&elsewhere, &turn);
    turn.messages.push(Arc::new(Message::user("Go on.")));
    assert_eq!(sent(&turn), (None, 5), "the last request went to another provider");
    let mut nothing_new = request(vec![Message::user("Hi")]);
    sent(&nothing_new);
    nothing_new.messages.push(Arc::new(Message::Assistant(reply("resp_1"))));
    assert_eq!(sent(&nothing_new), (None, 3), "there is nothing behind the reply");
}

#[test]
fn without_the_quirk_nothing_is_stored_and_no_id_is_kept() {
    let json = r#"{"id":"resp_1","status":"completed","output":[{"id":"msg_1","type":"message","role":"assistant",
        "content":[{"type":"output_text","text":"Hi"}]}]}"#;
    assert_eq!(decoded(&dialect(), json).reasoning, None);
    assert!(decoded(&storing(), json).reasoning.is_some_and(|kept| kept.provider_metadata.is_some()));
    // A reply that was stored goes on as any other where nothing is stored any more.
    let mut turn = request(vec![Message::user("Hi")]);
    body(&turn);
    go_on(&mut turn, "resp_1");
    let body = body(&turn);
    assert_eq!((body.get("previous_response_id"), body["input"].as_array().map(Vec::len)), (None, Some(4)));
}

#[test]
fn issue_27_a_conversation_of_the_provider_is_sent_what_it_does_not_have() {
    let mut turn = request(vec![Message::user("Hi")]);
    let set = json!({ "conversation": "conv_1" });
    turn.model.options = Some(Arc::new(serde_json::from_value(set).expect("options")));
    let sent = |turn: &ModelRequest| {
        let body = body_in(&storing(), turn);
        assert_eq!((&body["conversation"], &body["store"]), (&json!("conv_1"), &json!(true)));
        assert!(body.get("previous_response_id").is_none(), "the API refuses both together");
        body["input"].as_array().expect("a list").len()
    };
    assert_eq!(sent(&turn), 2, "the instructions and the message");
    go_on(&mut turn, "resp_1");
    assert_eq!(sent(&turn), 1, "the result");
    // A run of another process has nothing in memory, and the conversation has the same.
    turn.messages.push(Arc::new(Message::Assistant(reply("resp_2"))));
    turn.messages.push(Arc::new(Message::user("And?")));
    turn.prefix = PrefixCell::default();
    assert_eq!(sent(&turn), 1);
    let words = OpenAiResponses.refuses(&Dialect::default(), &turn).expect("a refusal");
    assert!(words.contains("stored_replies"), "{words}");
}
