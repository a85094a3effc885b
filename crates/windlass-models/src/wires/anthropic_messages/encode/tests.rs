use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::message::{
    AssistantMessage, Content, Media, MediaSource, Part, ProviderMetadata, Reasoning, ToolCall, ToolMessage,
};
use windlass_core::model::ToolChoice;
use windlass_core::policy::CachePoint;
use windlass_core::{Message, ToolSpec};

use super::{Messages, encode};
use crate::wires::prefix::Kept;
use crate::wires::testing;
use crate::wires::{Dialect, Quirks};
use crate::{ModelRequest, PrefixCell};

mod settings;

fn request(messages: Vec<Message>) -> ModelRequest {
    testing::request("anthropic/claude-opus-4-5", messages)
}

fn dialect() -> Dialect {
    Dialect { label: "anthropic".into(), ..Dialect::default() }
}

fn caching() -> Dialect {
    Dialect { quirks: Quirks { cache_control: true, ..Quirks::NONE }, ..dialect() }
}

fn text_of(request: &ModelRequest) -> String {
    String::from_utf8(encode(&dialect(), request).body).expect("JSON is UTF-8")
}

fn body(request: &ModelRequest) -> Value {
    serde_json::from_str(&text_of(request)).expect("a request is JSON")
}

fn messages(messages: Vec<Message>) -> Value {
    body(&request(messages))["messages"].clone()
}

/// The blocks of one message of the user.
fn blocks(message: Message) -> Value {
    messages(vec![message])[0]["content"].clone()
}

fn call(id: &str, args: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "f".into(), args: args.into(), ..ToolCall::default() }
}

fn calling(calls: Vec<ToolCall>) -> Message {
    Message::Assistant(AssistantMessage { calls, ..AssistantMessage::default() })
}

fn result(id: &str, content: Content, failed: bool) -> Message {
    Message::Tool(ToolMessage { call: id.into(), name: "f".into(), content, failed })
}

fn media(media_type: &str, source: MediaSource) -> Media {
    Media { media_type: media_type.into(), name: Some("a b.x".into()), source }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec::new(name, "Does it.", json!({"type": "object", "properties": {"b": {}, "a": {"minimum": 1}}}))
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn a_small_request_to_the_byte() {
    assert_eq!(
        text_of(&request(vec![Message::user("Hi\n\u{7}ü")])),
        concat!(
            r#"{"model":"claude-opus-4-5","system":[{"type":"text","text":"Be \"brief\"."}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"Hi\n\u0007ü"}]}],"max_tokens":32000}"#
        )
    );
}

#[test]
fn a_request_with_everything_to_the_byte() {
    let mut full = request(vec![Message::user("Hi")]);
    full.prompt = Arc::default();
    full.tools = Arc::new(vec![tool("f")]);
    full.choice = ToolChoice::Required;
    full.response_schema = Some(("answer".into(), Arc::new(json!({"type": "object", "properties": {}}))));
    full.model.temperature = Some(0.2);
    full.model.max_tokens = Some(800);
    full.model.stop = vec!["<end>".into(), " \n".into()];
    full.model.parallel = Some(false);
    full.model.metadata = [("user_id".into(), "u1".into()), ("team".into(), "t".into())].into();
    full.stream = true;
    assert_eq!(
        text_of(&full),
        concat!(
            r#"{"model":"claude-opus-4-5","messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}],"#,
            r#""tools":[{"name":"f","description":"Does it.","#,
            r#""input_schema":{"type":"object","properties":{"b":{},"a":{"minimum":1}}}}],"#,
            r#""tool_choice":{"type":"any","disable_parallel_tool_use":true},"max_tokens":800,"#,
            r#""output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{},"additionalProperties":false}}},"#,
            r#""temperature":0.2,"stop_sequences":["<end>"],"metadata":{"user_id":"u1"},"stream":true}"#
        )
    );
}

#[test]
fn e57_the_prefix_stays_and_only_new_messages_are_encoded() {
    let mut turn = request(vec![Message::user("Hi")]);
    turn.tools = Arc::new(vec![tool("f")]);
    let mut bodies = vec![text_of(&turn)];
    for at in 0..20 {
        let id = format!("c{at}");
        turn.messages.push(Arc::new(calling(vec![call(&id, "{}")])));
        turn.messages.push(Arc::new(result(&id, format!("result {at}").into(), false)));
        if at % 3 == 0 {
            turn.messages.push(Arc::new(Message::system("Now hurry.")));
            turn.messages.push(Arc::new(Message::user("And?")));
        }
        // After a restart everything is encoded anew.
        let fresh = ModelRequest { prefix: PrefixCell::default(), ..turn.clone() };
        let body = text_of(&turn);
        assert_eq!(body, text_of(&fresh), "turn {at}");
        bodies.push(body);
    }
    for pair in bodies.windows(2) {
        let prefix = pair[0].split("]}],\"tools\"").next().expect("the messages");
        assert!(pair[1].starts_with(prefix));
    }
    let slot = turn.prefix.conversation.lock().expect("not poisoned");
    let kept = slot.as_ref().and_then(|any| any.downcast_ref::<Kept<Messages<false>>>()).expect("it is kept");
    assert_eq!(kept.count, turn.messages.len());
    assert_eq!(kept.messages.spans.len(), turn.messages.len() + 1);
}

#[test]
fn a_marker_that_moves_leaves_what_is_kept_as_it_is() {
    let mut turn = request(vec![Message::user("One")]);
    turn.cache = vec![CachePoint { index: Some(-1), role: None }];
    for at in 0..4 {
        let body = encode(&caching(), &turn).body;
        let fresh = ModelRequest { prefix: PrefixCell::default(), ..turn.clone() };
        assert_eq!(body, encode(&caching(), &fresh).body, "turn {at}");
        turn.messages.push(Arc::new(Message::assistant("Yes.")));
        turn.messages.push(Arc::new(Message::user(format!("And {at}?"))));
    }
    let sent: Value = serde_json::from_slice(&encode(&caching(), &turn).body).expect("JSON");
    let marker = json!({"type": "ephemeral"});
    assert_eq!(sent["messages"][8]["content"][0]["cache_control"], marker);
    assert_eq!(sent["system"][0]["cache_control"], marker, "the unchanging front has one as well");
    assert_eq!(sent.to_string().matches("cache_control").count(), 2);
    assert!(!text_of(&turn).contains("cache_control"), "only where the server takes them");
}

#[test]
fn e38_requests_with_moving_markers_begin_alike_without_them() {
    let mut turn = request(vec![Message::user("One")]);
    turn.tools = Arc::new(vec![tool("f")]);
    turn.cache = vec![CachePoint::at(0), CachePoint::at(-1)];
    let mut before = None;
    for at in 0..4 {
        let body = String::from_utf8(encode(&caching(), &turn).body).expect("text");
        assert_eq!(body.matches("cache_control").count(), 2, "the front and the newest message: {body}");
        let plain = body.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
        assert_eq!(plain, text_of(&turn), "markers are all that differs");
        let messages = plain.split("]}],\"tools\"").next().map(str::to_owned).expect("the messages");
        assert!(before.is_none_or(|before: String| messages.starts_with(&before)), "turn {at}");
        before = Some(messages);
        turn.messages.push(Arc::new(calling(vec![call(&format!("c{at}"), "{}")])));
        turn.messages.push(Arc::new(result(&format!("c{at}"), "A".into(), false)));
    }
}

#[test]
fn markers_stand_where_the_api_takes_them() {
    let sealed = r#"{"wire":"anthropic_messages","parts":[{"k":"text","n":2},{"k":"own","o":{"type":"redacted_thinking","data":"r"}},{"k":"reasoning","o":{"signature":"s"}}]}"#;
    let sealed = Some(ProviderMetadata { provider: "anthropic".into(), data: sealed.into() });
    let said = AssistantMessage {
        text: Some("So".into()),
        reasoning: Some(Reasoning { text: "".into(), provider_metadata: sealed }),
        ..AssistantMessage::default()
    };
    let mut turn = request(vec![Message::user("Hi"), Message::Assistant(said), Message::user("On.")]);
    turn.prompt = Arc::default();
    turn.tools = Arc::new(vec![tool("f"), tool("g")]);
    turn.cache = vec![CachePoint { index: Some(1), role: None }];
    let sent: Value = serde_json::from_slice(&encode(&caching(), &turn).body).expect("JSON");
    let said = &sent["messages"][1]["content"];
    assert!(said[0].get("cache_control").is_some() && said[1].get("cache_control").is_none(), "{said}");
    assert_eq!((&said[1]["type"], &said[2]["type"]), (&json!("redacted_thinking"), &json!("thinking")));
    assert_eq!(said[2].get("cache_control"), None);
    assert_eq!(sent["tools"][1]["cache_control"]["type"], "ephemeral", "without a system text, the tools");
    assert_eq!(sent["tools"][0].get("cache_control"), None);
    turn.cache = (0..3).map(|at| CachePoint { index: Some(at), role: None }).collect();
    turn.prompt = Arc::new(vec![Arc::new(Message::system("S"))]);
    let sent = String::from_utf8(encode(&caching(), &turn).body).expect("text");
    assert_eq!(sent.matches("cache_control").count(), 3, "no more than four, and the front is among them");
}

#[test]
fn messages_of_one_role_are_one_message() {
    let all = messages(vec![
        Message::user("One"),
        Message::TaskDelegation { content: "Two".into() },
        calling(vec![call("a", "{}"), call("b", "")]),
        result("a", "A".into(), false),
        result("b", "B".into(), true),
        Message::system("Hurry."),
        Message::user("Three"),
        Message::assistant("Four"),
        Message::assistant(" \n"),
        Message::user(""),
        Message::user("Five"),
    ]);
    let used = |id| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    assert_eq!(
        all,
        json!([
            {"role": "user", "content": [text("One"), text("Two")]},
            {"role": "assistant", "content": [used("a"), used("b")]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "A"},
                {"type": "tool_result", "tool_use_id": "b", "content": "B", "is_error": true},
                text("<system>\nHurry.\n</system>"), text("Three"),
            ]},
            {"role": "assistant", "content": [text("Four")]},
            {"role": "user", "content": [text("Five")]},
        ])
    );
}

#[test]
fn a_conversation_begins_with_the_user() {
    let none = text("(no message)");
    assert_eq!(messages(vec![]), json!([{"role": "user", "content": [none.clone()]}]));
    assert_eq!(messages(vec![Message::user(" ")]), json!([{"role": "user", "content": [none.clone()]}]));
    let first = messages(vec![Message::assistant("Hello")]);
    assert_eq!(first[0]["content"], json!([none]));
    assert_eq!(first[1]["role"], "assistant");
    let blank = body(&ModelRequest {
        prompt: Arc::new(vec![Arc::new(Message::system(" ")), Arc::new(Message::system("B"))]),
        ..request(vec![])
    });
    assert_eq!(blank["system"], json!([text("B")]));
}

#[test]
fn a_last_assistant_message_has_no_blanks_at_its_end_and_is_kept_whole() {
    let mut turn = request(vec![Message::user("Hi"), Message::assistant("So far \n")]);
    assert_eq!(body(&turn)["messages"][1]["content"], json!([text("So far")]));
    turn.messages.push(Arc::new(Message::user("Go on.")));
    assert_eq!(body(&turn)["messages"][1]["content"], json!([text("So far \n")]));
}

#[test]
fn arguments_are_objects_and_ids_fit() {
    let calls = vec![
        call("functions.f:0", "null"),
        call("b", "[1]"),
        call("c", "{\"a\":"),
        call("d", " {\"x\": 1.0} "),
    ];
    let all = messages(vec![Message::user("Hi"), calling(calls), result("functions.f:0", "".into(), false)]);
    let uses = &all[1]["content"];
    assert_eq!(uses[0]["id"], all[2]["content"][0]["tool_use_id"]);
    assert!(uses[0]["id"].as_str().is_some_and(|id| id.starts_with("functions_f_0_")));
    assert_eq!(uses[0]["input"], json!({}));
    assert_eq!(uses[1]["input"], json!({"INVALID_JSON": "[1]"}));
    assert_eq!(uses[2]["input"], json!({"INVALID_JSON": "{\"a\":"}));
    assert_eq!(uses[3]["input"], json!({"x": 1.0}));
    assert_eq!(all[2]["content"][0].get("content"), None, "no empty text");
}

#[test]
fn media_that_the_api_takes_and_notes_for_the_rest() {
    let parts = vec![
        Part::Text { text: "Look:".into() },
        Part::Text { text: "".into() },
        Part::Image(media("image/png", MediaSource::Base64("iVBO".into()))),
        Part::Image(media("image/jpeg", MediaSource::Url("https://h/i".into()))),
        Part::Image(media("image/tiff", MediaSource::Base64("SUkq".into()))),
        Part::File(media("application/pdf", MediaSource::Base64("JVBE".into()))),
        Part::File(media("application/pdf", MediaSource::Url("https://h/p".into()))),
        Part::File(media("text/csv", MediaSource::Base64("YSxi".into()))),
    ];
    let content = Content::Parts(parts);
    let shown = json!([
        text("Look:"),
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
        {"type": "image", "source": {"type": "url", "url": "https://h/i"}},
        text("[image a b.x: image/tiff, 3 bytes, not shown]"),
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}, "title": "a b.x"},
        {"type": "document", "source": {"type": "url", "url": "https://h/p"}, "title": "a b.x"},
        text("[file a b.x: text/csv, 3 bytes, not shown]"),
    ]);
    assert_eq!(blocks(Message::User { content: content.clone(), pinned: false }), shown);
    let called = |failed| {
        let all =
            vec![Message::user("Hi"), calling(vec![call("a", "{}")]), result("a", content.clone(), failed)];
        messages(all)[2]["content"][0].clone()
    };
    assert_eq!(called(false)["content"], shown);
    let failed = called(true);
    assert_eq!(failed["is_error"], true);
    let kinds = failed["content"].as_array().expect("parts").iter().all(|part| part["type"] == "text");
    assert!(kinds, "an error is text: {failed}");
}

#[test]
fn media_of_another_model_becomes_a_note() {
    let said = AssistantMessage {
        text: Some("Here:".into()),
        media: [media("image/png", MediaSource::Base64("iVBO".into()))].into(),
        ..AssistantMessage::default()
    };
    let all = messages(vec![Message::user("Draw."), Message::Assistant(said), Message::user("Thanks.")]);
    assert_eq!(
        all[1]["content"],
        json!([text("Here:"), text("[file a b.x: image/png, 3 bytes, not shown]")])
    );
}

#[test]
fn tools_and_the_choice_among_them() {
    let choice = |choice: ToolChoice, parallel| {
        let called = vec![calling(vec![call("a", "{}")]), result("a", "A".into(), false)];
        let mut turn = request([vec![Message::user("Hi")], called].concat());
        turn.tools = Arc::new(vec![tool("f")]);
        (turn.choice, turn.model.parallel) = (choice, parallel);
        let body = body(&turn);
        assert_eq!(body["tools"][0]["name"], "f");
        body["tool_choice"].clone()
    };
    let one = Some(false);
    assert_eq!(choice(ToolChoice::Auto, None), Value::Null);
    assert_eq!(choice(ToolChoice::Auto, Some(true)), Value::Null);
    assert_eq!(choice(ToolChoice::Auto, one), json!({"type": "auto", "disable_parallel_tool_use": true}));
    assert_eq!(choice(ToolChoice::None, one), json!({"type": "none"}));
    assert_eq!(choice(ToolChoice::Required, None), json!({"type": "any"}));
    assert_eq!(choice(ToolChoice::Named("f".into()), None), json!({"type": "tool", "name": "f"}));
    assert_eq!(choice(ToolChoice::OneOf(vec!["f".into()]), None), json!({"type": "any"}));
    let without = body(&ModelRequest { choice: ToolChoice::Required, ..request(vec![]) });
    assert_eq!(without.get("tool_choice"), None, "no choice without tools");
    let mut first = request(vec![Message::user("Hi")]);
    (first.choice, first.tools) = (ToolChoice::None, Arc::new(vec![tool("f")]));
    let first = body(&first);
    assert_eq!((first.get("tools"), first.get("tool_choice")), (None, None), "nothing was called yet");
}

#[test]
fn strict_tools_have_schemas_that_calls_can_be_held_to() {
    let mut turn = request(vec![Message::user("Hi")]);
    turn.tools = Arc::new(vec![tool("f"), ToolSpec::new("g", "", json!({"properties": {}}))]);
    let plain = body(&turn);
    assert_eq!(plain["tools"][0]["input_schema"], *tool("f").parameters, "not rewritten");
    assert_eq!(plain["tools"][1]["input_schema"]["type"], "object", "the API demands a type");
    turn.model.strict = true;
    let strict = body(&turn);
    assert_eq!((&strict["tools"][0]["strict"], plain["tools"][0].get("strict")), (&json!(true), None));
    assert_eq!(strict["tools"][0]["input_schema"]["additionalProperties"], false);
    assert_eq!(
        strict["tools"][0]["input_schema"]["properties"]["a"],
        json!({"description": "{\"minimum\":1}"})
    );
}

#[test]
fn thinking_goes_back_first_and_only_as_long_as_the_message_is_what_it_was() {
    let sealed = r#"{"wire":"anthropic_messages","parts":[{"k":"reasoning","n":3,"o":{"signature":"s"}},{"k":"text","n":4},{"k":"call"}]}"#;
    let sealed = Some(ProviderMetadata { provider: "anthropic".into(), data: sealed.into() });
    let said = |text: &str| {
        Message::Assistant(AssistantMessage {
            text: Some(text.into()),
            reasoning: Some(Reasoning { text: "Hm.".into(), provider_metadata: sealed.clone() }),
            calls: vec![call("a", "{}")],
            ..AssistantMessage::default()
        })
    };
    let used = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}});
    let back = |text| {
        messages(vec![Message::user("Hi"), said(text), result("a", "A".into(), false)])[1]["content"].clone()
    };
    let thinking = json!({"type": "thinking", "thinking": "Hm.", "signature": "s"});
    assert_eq!(back("Look"), json!([thinking, text("Look"), used]));
    assert_eq!(back("Look ***"), json!([text("Look ***"), used]), "masked since");
}

#[test]
fn issue_27_markers_have_a_lifetime_and_stand_behind_the_tools_where_the_model_says_so() {
    let mut turn = request(vec![Message::user("Hi")]);
    turn.tools = Arc::new(vec![tool("f"), tool("g")]);
    turn.cache = vec![CachePoint::at(0), CachePoint::at(-1)];
    let set = json!({ "cache_lifetime": "1h", "cache_tools": true, "cache_automatic": true });
    turn.model.options = Some(Arc::new(serde_json::from_value(set).expect("options")));
    let sent: Value = serde_json::from_slice(&encode(&caching(), &turn).body).expect("JSON");
    let marker = json!({ "type": "ephemeral", "ttl": "1h" });
    for place in [
        "/cache_control",
        "/tools/1/cache_control",
        "/system/0/cache_control",
        "/messages/0/content/0/cache_control",
    ] {
        assert_eq!(sent.pointer(place), Some(&marker), "{place}: {sent}");
    }
    assert_eq!(sent.to_string().matches("cache_control").count(), 4);
    // Four at most, whoever asks for them: the front stays.
    turn.messages.push(Arc::new(Message::assistant("Yes.")));
    turn.messages.push(Arc::new(Message::user("And?")));
    turn.cache = (0..4).map(CachePoint::at).collect();
    let sent: Value = serde_json::from_slice(&encode(&caching(), &turn).body).expect("JSON");
    assert_eq!(sent.to_string().matches("cache_control").count(), 4);
    assert_eq!(sent.pointer("/system/0/cache_control"), Some(&marker));
    let day = json!({ "cache_lifetime": "24h" });
    turn.model.options = Some(Arc::new(serde_json::from_value(day).expect("options")));
    let refused = super::refusal(&caching(), &turn.model).expect("a refusal");
    assert!(refused.contains("`5m` and `1h`"), "{refused}");
}
