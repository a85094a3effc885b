use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::message::{
    AssistantMessage, Content, Media, MediaSource, Part, ProviderMetadata, Reasoning, Ref, ToolCall,
    ToolMessage,
};
use windlass_core::model::{ModelChoice, ToolChoice};
use windlass_core::policy::CachePoint;
use windlass_core::tool::Offer;
use windlass_core::{Message, ToolSpec};

use super::encode;
use crate::wires::testing;
use crate::wires::{Dialect, Quirks};
use crate::{ModelRequest, PrefixCell};

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest { stream: true, ..testing::request("ollama/qwen3:4b", messages) }
}

fn dialect() -> Dialect {
    Dialect { label: "ollama".into(), quirks: Quirks { return_reasoning: true, ..Quirks::NONE } }
}

fn text_of(request: &ModelRequest) -> String {
    String::from_utf8(encode(&dialect(), request).body).expect("text")
}

fn body(request: &ModelRequest) -> Value {
    serde_json::from_str(&text_of(request)).expect("JSON")
}

/// The second message of a request, behind the prompt.
fn message(message: Message) -> Value {
    body(&request(vec![message]))["messages"][1].clone()
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec::new(name, "Does it.", json!({"type": "object", "properties": {"b": {}, "a": {}}}))
}

fn with_calls(args: &[&str]) -> Message {
    let call = |(at, args): (usize, &&str)| ToolCall {
        id: format!("c{at}").into(),
        name: "f".into(),
        args: (*args).into(),
        ..ToolCall::default()
    };
    let calls = args.iter().enumerate().map(call).collect();
    Message::Assistant(AssistantMessage { calls, ..AssistantMessage::default() })
}

fn result(content: Content) -> Message {
    Message::Tool(ToolMessage { call: "c0".into(), name: "f".into(), content, failed: false })
}

fn image(source: MediaSource) -> Media {
    Media { media_type: "image/png".into(), name: Some("cat.png".into()), source }
}

#[test]
fn a_request_with_everything() {
    let mut full = request(vec![Message::user("Hi")]);
    full.tools = Arc::new(vec![tool("f")]);
    full.choice = ToolChoice::Required;
    full.response_schema = Some(("answer".into(), Arc::new(json!({"type": "object", "title": "T"}))));
    full.model = ModelChoice {
        temperature: Some(0.2),
        top_p: Some(0.5),
        presence_penalty: Some(-1.0),
        max_tokens: Some(800),
        stop: vec!["<end>".into()],
        reasoning: Some("high".into()),
        parallel: Some(false),
        strict: true,
        metadata: [("team".into(), "blue".into())].into(),
        ..full.model
    };
    let image = Part::Image(image(MediaSource::Base64("QUJD".into())));
    let shown = Content::Parts(vec![Part::Text { text: "What is this?".into() }, image]);
    full.messages.push(Arc::new(Message::User { content: shown, pinned: false }));
    full.messages.push(Arc::new(with_calls(&["{\"b\": 1}", ""])));
    full.messages.push(Arc::new(result("12".into())));
    // The client library judges the same bytes: tests/oracles/ollama_chat.py.
    let expected = include_str!("../../../../tests/oracles/ollama_requests.jsonl");
    assert_eq!(text_of(&full), expected.lines().next().expect("a line"));
}

#[test]
fn a_plain_request_asks_for_nothing_more() {
    let plain = ModelRequest { stream: false, prompt: Arc::default(), ..request(vec![Message::user("Hi")]) };
    assert_eq!(
        text_of(&plain),
        r#"{"model":"qwen3:4b","messages":[{"role":"user","content":"Hi"}],"truncate":false,"shift":false,"stream":false}"#
    );
    let bounds = |encoding: crate::wires::Encoding| (encoding.body.capacity(), encoding.body.len());
    let (capacity, length) = bounds(encode(&dialect(), &plain));
    assert_eq!(capacity, length);
}

#[test]
fn efforts_are_levels_or_whether_to_think() {
    for (effort, think) in [
        ("low", json!("low")),
        ("max", json!("max")),
        ("none", json!(false)),
        ("false", json!(false)),
        ("off", json!(false)),
        ("disabled", json!(false)),
        ("true", json!(true)),
        ("minimal", json!("low")),
        ("xhigh", json!("max")),
        ("a \"new\" one", json!("a \"new\" one")),
    ] {
        let mut asked = request(Vec::new());
        asked.model.reasoning = Some(effort.into());
        assert_eq!(body(&asked)["think"], think, "{effort}");
    }
    assert_eq!(body(&request(Vec::new())).get("think"), None, "the model's usual way");
}

#[test]
fn tools_by_choice() {
    let mut asked = request(vec![Message::user("Hi")]);
    let mut hidden = tool("hidden");
    hidden.offer = Offer::Withheld;
    asked.tools = Arc::new(vec![tool("f"), hidden, tool("g")]);
    let mut names = |choice| {
        asked.choice = choice;
        let body = body(&asked);
        let tools = body["tools"].as_array().cloned().unwrap_or_default();
        assert!(body.get("tool_choice").is_none(), "the API has none");
        tools
            .iter()
            .map(|tool| tool["function"]["name"].as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(ToolChoice::Auto), ["f", "g"]);
    assert_eq!(names(ToolChoice::Required), ["f", "g"]);
    assert_eq!(names(ToolChoice::Named("g".into())), ["g"]);
    assert!(names(ToolChoice::Named("hidden".into())).is_empty());
    assert_eq!(names(ToolChoice::OneOf(vec!["g".into(), "other".into()])), ["g"]);
    assert!(names(ToolChoice::None).is_empty());
}

#[test]
fn calls_have_objects_and_results_their_tool() {
    let calls = message(with_calls(&["{\"x\": 1.50, \"é\": \"a\\nb\"}", "", "{\"text\": \"", "[1]"]));
    assert_eq!(calls["content"], "");
    let args: Vec<_> = calls["tool_calls"]
        .as_array()
        .expect("calls")
        .iter()
        .map(|call| &call["function"]["arguments"])
        .collect();
    assert_eq!(
        args,
        [
            &json!({"x": 1.5, "é": "a\nb"}),
            &json!({}),
            &json!({"INVALID_JSON": "{\"text\": \""}),
            &json!({"INVALID_JSON": "[1]"})
        ]
    );
    assert_eq!(calls["tool_calls"][1]["id"], "c1");
    assert_eq!(
        message(result("12".into())),
        json!({"role": "tool", "content": "12", "tool_name": "f", "tool_call_id": "c0"})
    );
}

#[test]
fn images_stand_beside_the_text_and_what_cannot_be_taken_is_noted() {
    let stored = Ref { sha256: "00".into(), bytes: 5000, head: "HEAD".into(), tail: "TAIL".into() };
    let pdf = Media {
        media_type: "application/pdf".into(),
        name: None,
        source: MediaSource::Base64("QUJD".into()),
    };
    let parts = Content::Parts(vec![
        Part::Text { text: "Look".into() },
        Part::Image(image(MediaSource::Base64("QUJD".into()))),
        Part::Text { text: "and".into() },
        Part::Image(image(MediaSource::Base64("REVG".into()))),
        Part::Image(image(MediaSource::Url("https://example.com/cat.png".into()))),
        Part::Image(image(MediaSource::Stored(stored))),
        Part::Image(pdf.clone()),
        Part::File(pdf),
    ]);
    let expected = json!({
        "role": "user",
        "content": "Look\nand\n[image cat.png: image/png, https://example.com/cat.png]\n\
            [image cat.png: image/png, 3750 bytes, not shown]\n[image: application/pdf, 3 bytes, not shown]\n\
            [file: application/pdf, 3 bytes, not shown]",
        "images": ["QUJD", "REVG"]
    });
    assert_eq!(message(Message::User { content: parts.clone(), pinned: false }), expected);
    assert_eq!(message(Message::TaskDelegation { content: parts }), expected);
    let picture = Content::Parts(vec![Part::Image(image(MediaSource::Base64("QUJD".into())))]);
    assert_eq!(
        message(result(picture)),
        json!({"role": "tool", "content": "", "images": ["QUJD"], "tool_name": "f", "tool_call_id": "c0"})
    );
    let made = vec![image(MediaSource::Base64("QUJD".into())), image(MediaSource::Url("u".into()))];
    let said =
        AssistantMessage { text: Some("Here".into()), media: made.into(), ..AssistantMessage::default() };
    assert_eq!(
        message(Message::Assistant(said)),
        json!({"role": "assistant", "content": "Here\n[file cat.png: image/png, u]", "images": ["QUJD"]})
    );
}

#[test]
fn e44_thinking_goes_back_only_to_the_provider_that_sealed_it_and_wants_it() {
    let said = |provider: &str| {
        let sealed = Some(ProviderMetadata { provider: provider.into(), data: "".into() });
        let reasoning = Some(Reasoning { text: "hm".into(), provider_metadata: sealed });
        request(vec![Message::Assistant(AssistantMessage { reasoning, ..AssistantMessage::default() })])
    };
    let sent = |dialect: &Dialect, request: &ModelRequest| {
        let body: Value = serde_json::from_slice(&encode(dialect, request).body).expect("JSON");
        body["messages"][1].get("thinking").cloned()
    };
    assert_eq!(sent(&dialect(), &said("ollama")), Some(json!("hm")));
    assert_eq!(sent(&dialect(), &said("anthropic")), None);
    assert_eq!(sent(&Dialect { quirks: Quirks::NONE, ..dialect() }, &said("ollama")), None);
}

#[test]
fn e57_the_prefix_is_byte_stable_and_the_same_when_it_is_encoded_anew() {
    let mut turn = request(vec![Message::user("Hi")]);
    turn.tools = Arc::new(vec![tool("f"), tool("g")]);
    turn.cache = CachePoint::default_points();
    let messages = |body: &str| body.split("],\"tools\"").next().expect("the messages").to_owned();
    let mut before = messages(&text_of(&turn));
    for at in 0..20 {
        turn.messages.push(Arc::new(with_calls(&["{}", "{\"a\": 1}"])));
        turn.messages.push(Arc::new(result(format!("result {at}").into())));
        // Settings that change from turn to turn stand behind the messages.
        turn.choice = if at % 2 == 0 { ToolChoice::Named("g".into()) } else { ToolChoice::Auto };
        turn.model.temperature = Some(f64::from(at));
        let body = text_of(&turn);
        let fresh = ModelRequest { prefix: PrefixCell::default(), ..turn.clone() };
        assert_eq!(body, text_of(&fresh), "turn {at}");
        assert!(body.starts_with(&before), "turn {at}");
        before = messages(&body);
    }
}

#[test]
fn e58_a_history_of_another_provider_goes_out_as_it_is() {
    let sealed = Some(ProviderMetadata { provider: "gemini".into(), data: "{\"wire\":\"gemini\"}".into() });
    let call = ToolCall {
        id: "toolu_01/AbC+=".into(),
        name: "f".into(),
        args: "{\"x\":1}".into(),
        provider_id: Some("x".into()),
        ..ToolCall::default()
    };
    let said = AssistantMessage {
        text: Some("So.".into()),
        reasoning: Some(Reasoning { text: "hm".into(), provider_metadata: sealed }),
        calls: vec![call],
        ..AssistantMessage::default()
    };
    assert_eq!(
        message(Message::Assistant(said)),
        json!({"role": "assistant", "content": "So.",
            "tool_calls": [{"id": "toolu_01/AbC+=", "function": {"name": "f", "arguments": {"x": 1}}}]})
    );
}
