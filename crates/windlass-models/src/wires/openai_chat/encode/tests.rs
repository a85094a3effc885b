use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::message::Part;
use windlass_core::message::{
    AssistantMessage, Content, History, Media, MediaSource, ProviderMetadata, Reasoning, Ref, ToolCall,
    ToolMessage,
};
use windlass_core::model::ToolChoice;
use windlass_core::policy::CachePoint;
use windlass_core::tool::Offer;
use windlass_core::{Message, ToolSpec};

use super::{Messages, encode};
use crate::wires::openai_chat::OpenAiChat;
use crate::wires::prefix::Kept;
use crate::wires::strict;
use crate::wires::testing;
use crate::wires::{Dialect, Quirks, Wire as _};
use crate::{ModelRequest, PrefixCell};

fn request(messages: Vec<Message>) -> ModelRequest {
    testing::request("openai/gpt-x", messages)
}

fn dialect() -> Dialect {
    Dialect { label: "openai".into(), ..Dialect::default() }
}

fn with_quirks(quirks: Quirks) -> Dialect {
    Dialect { quirks, ..dialect() }
}

fn text_of(request: &ModelRequest) -> String {
    String::from_utf8(encode(&dialect(), request).body).expect("JSON is UTF-8")
}

fn body(request: &ModelRequest) -> Value {
    serde_json::from_str(&text_of(request)).expect("a request is JSON")
}

fn message(message: Message) -> Value {
    body(&request(vec![message]))["messages"][1].clone()
}

fn with_calls(args: &[&str]) -> Message {
    let calls = args.iter().enumerate().map(|(at, args)| ToolCall {
        id: format!("c{at}").into(),
        name: "f".into(),
        args: (*args).into(),
        provider_id: Some("theirs".into()),
        ..ToolCall::default()
    });
    Message::Assistant(AssistantMessage { calls: calls.collect(), ..AssistantMessage::default() })
}

fn result(content: Content) -> Message {
    Message::Tool(ToolMessage { call: "c0".into(), name: "f".into(), content, failed: false })
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec::new(name, "Does it.", json!({"type": "object", "properties": {"b": {}, "a": {}}}))
}

fn hidden(name: &str) -> ToolSpec {
    let mut tool = tool(name);
    tool.offer = Offer::Withheld;
    tool
}

#[test]
fn a_small_request_to_the_byte() {
    assert_eq!(
        text_of(&request(vec![Message::user("Hi\n\u{7}ü")])),
        r#"{"model":"gpt-x","messages":[{"role":"system","content":"Be \"brief\"."},{"role":"user","content":"Hi\n\u0007ü"}]}"#
    );
}

#[test]
fn a_request_with_everything_to_the_byte() {
    let mut full = request(vec![Message::user("Hi")]);
    full.prompt = Arc::default();
    full.tools = Arc::new(vec![tool("f")]);
    full.choice = ToolChoice::Required;
    full.response_schema = Some(("answer".into(), Arc::new(json!({"type": "object", "title": "T"}))));
    full.model.temperature = Some(0.2);
    full.model.max_tokens = Some(800);
    full.model.stop = vec!["<end>".into()];
    full.stream = true;
    assert_eq!(
        text_of(&full),
        concat!(
            r#"{"model":"gpt-x","messages":[{"role":"user","content":"Hi"}],"#,
            r#""tools":[{"type":"function","function":{"name":"f","description":"Does it.","#,
            r#""parameters":{"type":"object","properties":{"b":{},"a":{}}}}}],"tool_choice":"required","#,
            r#""response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":false,"schema":{"type":"object","title":"T"}}},"#,
            r#""temperature":0.2,"max_tokens":800,"stop":["<end>"],"stream":true,"stream_options":{"include_usage":true}}"#
        )
    );
    let openai = with_quirks(Quirks { completion_tokens: true, ..Quirks::NONE });
    let body: Value = serde_json::from_slice(&encode(&openai, &full).body).expect("JSON");
    assert_eq!((&body["max_completion_tokens"], body.get("max_tokens")), (&json!(800), None));
}

#[test]
fn the_body_has_its_exact_capacity() {
    let encoding = encode(&dialect(), &request(vec![Message::user("Hi")]));
    assert_eq!(encoding.body.capacity(), encoding.body.len());
}

#[test]
fn e38_the_prefix_is_byte_stable_and_only_new_messages_are_encoded() {
    let mut turn = request(vec![Message::user("Hi")]);
    turn.tools = Arc::new(vec![tool("f")]);
    let mut bodies = vec![text_of(&turn)];
    for at in 0..20 {
        turn.messages.push(Arc::new(with_calls(&["{}"])));
        turn.messages.push(Arc::new(result(format!("result {at}").into())));
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
    assert_eq!(kept.count, turn.messages.len());
}

/// Spoils the kept bytes, so that it shows whether they are used.
fn spoil(cell: &PrefixCell) {
    let mut slot = cell.conversation.lock().expect("not poisoned");
    let kept = slot.as_mut().and_then(|any| any.downcast_mut::<Kept<Messages>>()).expect("it is kept");
    kept.messages.elements.bytes = b"\"kept\"".to_vec();
}

#[test]
fn e38_kept_bytes_are_used_as_long_as_they_are_the_beginning() {
    let first = request(vec![Message::user("Hi")]);
    encode(&dialect(), &first);
    spoil(&first.prefix);
    let mut longer = first.clone();
    longer.messages.push(Arc::new(Message::assistant("Hello")));
    assert_eq!(body(&longer)["messages"], json!(["kept", {"role": "assistant", "content": "Hello"}]));
}

#[test]
fn e38_another_prompt_history_or_dialect_starts_a_new_prefix() {
    let kept = |change: &dyn Fn(&mut ModelRequest), dialect: &Dialect| {
        let first = request(vec![Message::user("Hi"), Message::assistant("Hello")]);
        encode(&self::dialect(), &first);
        spoil(&first.prefix);
        let mut next = first.clone();
        change(&mut next);
        String::from_utf8_lossy(&encode(dialect, &next).body).contains("kept")
    };
    assert!(kept(&|_| {}, &dialect()), "an equal request uses it");
    assert!(kept(&|next| next.prompt = Arc::new(next.prompt.to_vec()), &dialect()), "an equal prompt");
    let more = |next: &mut ModelRequest| next.prompt = Arc::new(vec![Arc::new(Message::system("Other."))]);
    assert!(!kept(&more, &dialect()));
    assert!(!kept(&|next| next.messages = next.messages.clone().worded(Arc::default()), &dialect()));
    let shorter =
        |next: &mut ModelRequest| next.messages = [Arc::new(Message::user("Hi"))].into_iter().collect();
    assert!(!kept(&shorter, &dialect()));
    let other = |next: &mut ModelRequest| {
        next.messages =
            [Message::user("Hi"), Message::assistant("Hullo")].map(Arc::new).into_iter().collect();
    };
    assert!(!kept(&other, &dialect()), "the same length, another message");
    assert!(!kept(&|_| {}, &Dialect { label: "other".into(), ..dialect() }));
}

#[test]
fn tools_are_encoded_once_a_list() {
    let mut turn = request(vec![Message::user("Hi")]);
    turn.tools = Arc::new(vec![tool("f"), hidden("hidden"), tool("g")]);
    let names = |body: &Value| -> Vec<String> {
        let tools = body["tools"].as_array().into_iter().flatten();
        tools.map(|tool| tool["function"]["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&body(&turn)), ["f", "g"]);
    turn.choice = ToolChoice::None;
    assert_eq!(body(&turn).get("tools"), None);
    turn.choice = ToolChoice::Named("g".into());
    assert_eq!(body(&turn)["tool_choice"], json!({"type": "function", "function": {"name": "g"}}));
    turn.choice = ToolChoice::OneOf(vec!["f".into(), "g".into()]);
    assert_eq!(body(&turn)["tool_choice"], "required", "servers differ: the engine holds the model to it");
    let openai = with_quirks(Quirks { allowed_tools: true, ..Quirks::NONE });
    let sent: Value = serde_json::from_slice(&encode(&openai, &turn).body).expect("JSON");
    let function = |name: &str| json!({"type": "function", "function": {"name": name}});
    let allowed = json!({"mode": "required", "tools": [function("f"), function("g")]});
    assert_eq!(sent["tool_choice"], json!({"type": "allowed_tools", "allowed_tools": allowed}));
    turn.choice = ToolChoice::Auto;
    assert_eq!(body(&turn).get("tool_choice"), None);
    turn.tools = Arc::new(vec![tool("h")]);
    assert_eq!(names(&body(&turn)), ["h"]);
    turn.tools = Arc::new(vec![hidden("h")]);
    turn.choice = ToolChoice::Required;
    let nothing = body(&turn);
    assert_eq!((nothing.get("tools"), nothing.get("tool_choice")), (None, None), "nothing is offered");
}

#[test]
fn assistant_messages() {
    assert_eq!(message(Message::assistant("Hello")), json!({"role": "assistant", "content": "Hello"}));
    assert_eq!(
        message(Message::Assistant(AssistantMessage::default())),
        Value::Null,
        "servers refuse blank texts, and null without calls"
    );
    assert_eq!(
        message(with_calls(&["{\"x\": 1}"])),
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "c0", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}}]})
    );
}

#[test]
fn arguments_that_are_no_object_are_wrapped() {
    let said = message(with_calls(&["", "{\"text\": \"", "[1]", "nonsense \"quoted\""]));
    let args: Vec<Value> = said["tool_calls"]
        .as_array()
        .expect("calls")
        .iter()
        .map(|call| {
            serde_json::from_str(call["function"]["arguments"].as_str().expect("text")).expect("JSON")
        })
        .collect();
    assert_eq!(
        args,
        [
            json!({}),
            json!({"INVALID_JSON": "{\"text\": \""}),
            json!({"INVALID_JSON": "[1]"}),
            json!({"INVALID_JSON": "nonsense \"quoted\""})
        ]
    );
}

#[test]
fn e44_reasoning_goes_back_only_to_the_provider_that_sealed_it_and_wants_it() {
    let sealed_by = |provider: &str| {
        let sealed = Some(ProviderMetadata { provider: provider.into(), data: "".into() });
        let reasoning = Some(Reasoning { text: "hm".into(), provider_metadata: sealed });
        request(vec![Message::Assistant(AssistantMessage { reasoning, ..AssistantMessage::default() })])
    };
    let sent = |dialect: &Dialect, request: &ModelRequest| {
        let body: Value = serde_json::from_slice(&encode(dialect, request).body).expect("JSON");
        body["messages"][1].get("reasoning_content").cloned()
    };
    let wants = with_quirks(Quirks { return_reasoning: true, ..Quirks::NONE });
    assert_eq!(sent(&wants, &sealed_by("openai")), Some(json!("hm")));
    assert_eq!(sent(&wants, &sealed_by("anthropic")), None);
    assert_eq!(sent(&dialect(), &sealed_by("openai")), None);
}

#[test]
fn media_of_users() {
    let media = |source| Media { media_type: "image/png".into(), name: Some("cat.png".into()), source };
    let stored = Ref { sha256: "00".into(), bytes: 5000, head: "HEAD".into(), tail: "TAIL".into() };
    let content = Content::Parts(vec![
        Part::Text { text: "Look".into() },
        Part::Image(media(MediaSource::Base64("QUJD".into()))),
        Part::Image(media(MediaSource::Url("https://example.com/cat.png".into()))),
        Part::File(media(MediaSource::Base64("QUJD".into()))),
        Part::File(media(MediaSource::Stored(stored))),
    ]);
    assert_eq!(
        message(Message::TaskDelegation { content })["content"],
        json!([
            {"type": "text", "text": "Look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}},
            {"type": "file", "file": {"filename": "cat.png", "file_data": "data:image/png;base64,QUJD"}},
            {"type": "text", "text": "[file cat.png: image/png, 3750 bytes, not shown]"}
        ])
    );
    let texts = Content::Parts(vec![Part::Text { text: "a".into() }, Part::Text { text: "b".into() }]);
    assert_eq!(
        message(Message::User { content: texts, pinned: false }),
        json!({"role": "user", "content": "a\nb"})
    );
}

#[test]
fn results_are_text_with_notes_for_media() {
    assert_eq!(message(result("12".into())), json!({"role": "tool", "tool_call_id": "c0", "content": "12"}));
    let image =
        Media { media_type: "image/png".into(), name: None, source: MediaSource::Base64("QUJD".into()) };
    let parts = Content::Parts(vec![Part::Text { text: "see".into() }, Part::Image(image)]);
    assert_eq!(message(result(parts))["content"], "see\n[image: image/png, 3 bytes, not shown]");
}

#[test]
fn the_providers_label_is_taken_off_once() {
    let plain = |label: &str, name: &str| {
        Dialect { label: label.into(), ..Dialect::default() }.plain_name(name).to_owned()
    };
    assert_eq!(plain("openai", "openai/gpt-x"), "gpt-x");
    assert_eq!(plain("openai", "openai/openai/gpt-oss"), "openai/gpt-oss");
    assert_eq!(plain("openai", "openaix/gpt"), "openaix/gpt");
    assert_eq!(plain("openai-compatible", "meta/llama"), "meta/llama");
    assert_eq!(plain("openai", "gpt-x"), "gpt-x");
}

#[test]
fn a_cell_that_holds_something_else_is_taken_over() {
    let turn = request(vec![Message::user("Hi")]);
    *turn.prefix.conversation.lock().expect("not poisoned") = Some(Box::new(5_u8));
    assert_eq!(body(&turn)["messages"][1]["content"], "Hi");
    let empty = ModelRequest { messages: History::default().into(), prompt: Arc::default(), ..turn };
    assert_eq!(body(&empty)["messages"], json!([]));
}

fn marking() -> Dialect {
    with_quirks(Quirks { cache_control: true, ..Quirks::NONE })
}

fn marked_body(request: &ModelRequest) -> Value {
    serde_json::from_slice(&encode(&marking(), request).body).expect("JSON")
}

fn marker(text: &str) -> Value {
    json!([{ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } }])
}

#[test]
fn a33_marked_messages_have_their_text_in_a_part_with_the_marker() {
    let said = AssistantMessage { text: Some("Hm.".into()), ..AssistantMessage::default() };
    let image = Part::Image(Media {
        media_type: "image/png".into(),
        name: None,
        source: MediaSource::Url("u".into()),
    });
    let parts = Content::Parts(vec![Part::Text { text: "this".into() }, image]);
    let messages = vec![
        Message::user("hi"),
        Message::Assistant(said),
        Message::User { content: parts, pinned: false },
        with_calls(&["{}"]),
        result("found".into()),
    ];
    let mut asked = request(messages);
    asked.cache = vec![CachePoint::role("system"), CachePoint::at(1), CachePoint::at(2)];
    let body = marked_body(&asked);
    assert_eq!(body["messages"][0], json!({ "role": "system", "content": marker("Be \"brief\".") }));
    assert_eq!(body["messages"][1], json!({ "role": "user", "content": marker("hi") }));
    assert_eq!(body["messages"][2], json!({ "role": "assistant", "content": marker("Hm.") }));
    assert_eq!(body["messages"][5]["content"], "found");
    asked.cache = vec![CachePoint::at(3), CachePoint::at(4), CachePoint::role("tool")];
    let body = marked_body(&asked);
    assert_eq!(
        body["messages"][3]["content"],
        json!([{ "type": "text", "text": "this" },
            { "type": "image_url", "image_url": { "url": "u" }, "cache_control": { "type": "ephemeral" } }])
    );
    // A message that only calls has no text to mark.
    assert_eq!(body["messages"][4]["content"], Value::Null);
    assert_eq!(body["messages"][5]["content"], marker("found"));
}

#[test]
fn issue_27_a_gateway_reads_the_lifetime_in_its_marks_and_another_server_beside_the_messages() {
    let mut asked = request(vec![Message::user("hi")]);
    asked.cache = vec![CachePoint::at(-1)];
    for (lifetime, in_marks) in [("1h", true), ("5m", true), ("24h", false)] {
        let options = json!({ "cache_lifetime": lifetime });
        asked.model.options = Some(Arc::new(serde_json::from_value(options).expect("options")));
        let (gateway, other) = (marked_body(&asked), body(&asked));
        let mark = &gateway["messages"][1]["content"][0]["cache_control"];
        let retention = &gateway["prompt_cache_retention"];
        if in_marks {
            assert_eq!((&mark["ttl"], retention), (&json!(lifetime), &Value::Null));
        } else {
            assert_eq!((mark, retention), (&json!({ "type": "ephemeral" }), &json!(lifetime)));
        }
        assert_eq!(other["prompt_cache_retention"], lifetime);
        assert_eq!(other["messages"][1]["content"], "hi");
        // OpenAI knows none of a mark, and no gateway another one.
        let refused = |quirks| OpenAiChat.refuses(&with_quirks(quirks), &asked);
        let words = format!("`cache_lifetime` is `{lifetime}`: its API knows `in_memory` and `24h`");
        assert_eq!(refused(Quirks::NONE), in_marks.then_some(words));
        assert_eq!(refused(Quirks { cache_control: true, ..Quirks::NONE }), None);
    }
    let options = json!({ "cache_lifetime": "30m" });
    asked.model.options = Some(Arc::new(serde_json::from_value(options).expect("options")));
    let words = "`cache_lifetime` is `30m`: its API knows `5m`, `1h`, `in_memory` and `24h`";
    assert_eq!(OpenAiChat.refuses(&marking(), &asked).as_deref(), Some(words));
}

#[test]
fn a33_a_wire_that_knows_no_markers_leaves_them_out() {
    let mut asked = request(vec![Message::user("hi")]);
    let plain = text_of(&asked);
    asked.cache = CachePoint::default_points();
    assert_eq!(text_of(&asked), plain);
    assert_ne!(marked_body(&asked), body(&asked));
    // One that knows them sends what it sent before where nothing is marked.
    asked.cache = vec![CachePoint::at(9)];
    assert_eq!(marked_body(&asked), body(&asked));
}

#[test]
fn a33_a_marker_moves_and_what_was_encoded_stays() {
    let mut asked = request(vec![Message::user("one")]);
    asked.cache = vec![CachePoint::at(-1)];
    assert_eq!(marked_body(&asked)["messages"][1]["content"], marker("one"));
    let mut next = asked.clone();
    next.messages.push(Arc::new(Message::user("two")));
    let body = marked_body(&next);
    assert_eq!(
        (&body["messages"][1]["content"], &body["messages"][2]["content"]),
        (&json!("one"), &marker("two"))
    );
    let fresh = ModelRequest { prefix: PrefixCell::default(), ..next.clone() };
    assert_eq!(encode(&marking(), &fresh).body, encode(&marking(), &next).body);
    // The cell keeps the unmarked bytes.
    let slot = next.prefix.conversation.lock().expect("not poisoned");
    let kept = slot.as_ref().and_then(|any| any.downcast_ref::<Kept<Messages>>()).expect("it is kept");
    assert!(!String::from_utf8_lossy(&kept.messages.elements.bytes).contains("cache_control"));
    assert_eq!(kept.messages.elements.ends.len(), 3);
    assert_eq!(next.marked(), [2]);
}

#[test]
fn a41_further_settings_go_out_where_they_are_set() {
    let mut asked = request(vec![Message::user("hi")]);
    let plain = body(&asked);
    for key in ["top_p", "presence_penalty", "reasoning_effort", "metadata"] {
        assert_eq!(plain.get(key), None);
    }
    asked.model.top_p = Some(0.5);
    asked.model.presence_penalty = Some(-1.0);
    asked.model.reasoning = Some("high".into());
    asked.model.metadata = [("team".into(), "blue".into())].into();
    let full = body(&asked);
    assert_eq!(
        (&full["top_p"], &full["presence_penalty"], &full["reasoning_effort"], &full["metadata"]),
        (&json!(0.5), &json!(-1.0), &json!("high"), &json!({ "team": "blue" }))
    );
}

#[test]
fn no_reasoning_is_the_least_effort_of_the_model() {
    let off = |name: &str, word: &str| {
        let mut asked = request(vec![Message::user("hi")]);
        (asked.model.name, asked.model.reasoning) = (name.into(), Some(word.into()));
        body(&asked).get("reasoning_effort").cloned()
    };
    for word in ["none", "off", "false", "disabled"] {
        assert_eq!(off("openai/gpt-5.2", word), Some(json!("none")), "{word}");
    }
    assert_eq!(off("openai/gpt-5-mini", "none"), Some(json!("minimal")));
    assert_eq!(off("openai/gpt-4.1", "none"), None);
}

#[test]
fn parallel_calls_and_strict_schemas_are_asked_for_where_they_are_set() {
    let mut asked = request(vec![Message::user("Hi")]);
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    asked.tools = Arc::new(vec![ToolSpec::new("f", "", schema.clone())]);
    let plain = body(&asked);
    assert_eq!(
        (plain.get("parallel_tool_calls"), &plain["tools"][0]["function"]["parameters"]),
        (None, &schema)
    );
    asked.model.parallel = Some(false);
    asked.model.strict = true;
    let held = body(&asked);
    let function = &held["tools"][0]["function"];
    assert_eq!((&held["parallel_tool_calls"], &function["strict"]), (&json!(false), &json!(true)));
    assert_eq!(function["parameters"]["additionalProperties"], json!(false));
    assert_eq!(strict::refusal(&asked), None);
    let open =
        json!({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": true}}});
    asked.tools = Arc::new(vec![ToolSpec::new("g", "", open)]);
    let why = strict::refusal(&asked).expect("it takes properties of any name");
    assert!(why.starts_with("tool `g`: the schema has no strict form at $.properties.m"), "{why}");
    asked.choice = ToolChoice::None;
    assert_eq!((strict::refusal(&asked), body(&asked).get("parallel_tool_calls")), (None, None));
}
