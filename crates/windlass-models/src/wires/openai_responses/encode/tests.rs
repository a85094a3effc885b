use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::message::{
    AssistantMessage, Content, Media, MediaSource, Part, ProviderMetadata, Reasoning, Ref, ToolCall,
    ToolMessage,
};
use windlass_core::model::{ModelChoice, ModelOptions, ReasoningOptions, Reply, ToolChoice};
use windlass_core::tool::Offer;
use windlass_core::{Message, ToolSpec};

use super::encode;
use crate::wires::openai_responses::decode::decode;
use crate::wires::strict::refusal;
use crate::wires::testing;
use crate::wires::{Asked, Dialect, Quirks};
use crate::{ModelRequest, PrefixCell};

mod prefix;
mod replies;
mod stored;

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

fn body_in(dialect: &Dialect, request: &ModelRequest) -> Value {
    serde_json::from_slice(&encode(dialect, request).body).expect("a request is JSON")
}

fn body(request: &ModelRequest) -> Value {
    body_in(&dialect(), request)
}

/// The items that messages become, without the instructions.
fn items(messages: Vec<Message>) -> Value {
    let body = body(&request(messages));
    body["input"].as_array().expect("a list")[1..].to_vec().into()
}

fn with_calls(args: &[&str]) -> Message {
    let calls = args.iter().enumerate().map(|(at, args)| ToolCall {
        id: format!("c{at}").into(),
        name: "f".into(),
        args: (*args).into(),
        ..ToolCall::default()
    });
    Message::Assistant(AssistantMessage { calls: calls.collect(), ..AssistantMessage::default() })
}

fn result_of(call: &str, content: impl Into<Content>, failed: bool) -> Message {
    Message::Tool(ToolMessage { call: call.into(), name: "f".into(), content: content.into(), failed })
}

fn tool(name: &str) -> ToolSpec {
    let parameters = json!({"type": "object", "properties": {"b": {"type": "string"}}});
    ToolSpec::new(name, "Does it.", parameters)
}

#[test]
fn a_small_request_to_the_byte() {
    assert_eq!(
        text_of(&request(vec![Message::user("Hi\n\u{7}ü")])),
        concat!(
            r#"{"model":"gpt-x","input":[{"type":"message","role":"system","content":"Be \"brief\"."},"#,
            r#"{"type":"message","role":"user","content":"Hi\n\u0007ü"}],"store":false}"#
        )
    );
}

#[test]
fn a_request_with_everything_to_the_byte() {
    let mut full = request(vec![Message::user("Hi")]);
    full.prompt = Arc::default();
    full.tools = Arc::new(vec![tool("f")]);
    full.choice = ToolChoice::Required;
    full.response_schema = Some(("the answer!".into(), Arc::new(json!({"type": "object", "title": "T"}))));
    full.model.temperature = Some(0.2);
    full.model.max_tokens = Some(800);
    full.model.top_p = Some(0.5);
    full.model.parallel = Some(false);
    full.model.reasoning = Some("high".into());
    let reasoning = ReasoningOptions { summary: Some("auto".into()), ..ReasoningOptions::default() };
    full.model.options = Some(Arc::new(ModelOptions { reasoning, ..ModelOptions::default() }));
    full.model.metadata = [("team".into(), "blue".into())].into();
    full.stream = true;
    assert_eq!(
        text_of(&full),
        concat!(
            r#"{"model":"gpt-x","input":[{"type":"message","role":"user","content":"Hi"}],"#,
            r#""tools":[{"type":"function","name":"f","description":"Does it.","#,
            r#""parameters":{"type":"object","properties":{"b":{"type":"string"}}},"strict":false}],"#,
            r#""tool_choice":"required","parallel_tool_calls":false,"#,
            r#""text":{"format":{"type":"json_schema","name":"the_answer_","schema":{"type":"object","title":"T"},"strict":false}},"#,
            r#""temperature":0.2,"max_output_tokens":800,"top_p":0.5,"reasoning":{"effort":"high","summary":"auto"},"#,
            r#""metadata":{"team":"blue"},"store":false,"include":["reasoning.encrypted_content"],"stream":true}"#
        )
    );
}

#[test]
fn the_body_has_its_exact_capacity() {
    let encoding = encode(&dialect(), &request(vec![Message::user("Hi")]));
    assert_eq!(encoding.body.capacity(), encoding.body.len());
}

#[test]
fn encrypted_reasoning_is_asked_for_where_the_model_reasons() {
    let asks = |name: &str, effort: Option<&str>| {
        let mut asked = request(vec![Message::user("Hi")]);
        asked.model = ModelChoice { name: name.into(), reasoning: effort.map(Into::into), ..asked.model };
        body(&asked).get("include").is_some()
    };
    for name in ["openai/o3-mini", "gpt-5.2", "gpt-6", "codex-mini-latest", "openai/openai/o4", "grok-4"] {
        assert!(asks(name, None), "{name}");
    }
    for name in ["gpt-4.1", "openai/gpt-4o", "gpt-5-chat-latest", "gpt-oss", "qwen3", "olmo"] {
        assert!(!asks(name, None), "{name}");
    }
    assert!(asks("qwen3", Some("low")));
    let reasoning = |setting: &str| {
        let mut asked = request(vec![Message::user("Hi")]);
        asked.model.reasoning = Some(setting.into());
        body(&asked)["reasoning"].clone()
    };
    assert_eq!(reasoning("low"), json!({ "effort": "low" }));
    assert_eq!(reasoning("off"), json!({ "effort": "none" }));
    assert!(!asks("gpt-4.1", Some("none")) && !asks("qwen3", Some("off")), "nothing to give back");
    let off = |name: &str| {
        let mut asked = request(vec![Message::user("Hi")]);
        asked.model = ModelChoice { name: name.into(), reasoning: Some("none".into()), ..asked.model };
        body(&asked).get("reasoning").cloned()
    };
    assert_eq!((off("gpt-5-mini"), off("gpt-4.1")), (Some(json!({ "effort": "minimal" })), None));
}

#[test]
fn tools_and_their_choice() {
    let mut turn = request(vec![Message::user("Hi")]);
    let mut hidden = tool("hidden");
    hidden.offer = Offer::Withheld;
    turn.tools = Arc::new(vec![tool("f"), hidden, tool("g")]);
    turn.model.parallel = Some(true);
    let names = |body: &Value| -> Vec<String> {
        let tools = body["tools"].as_array().into_iter().flatten();
        tools.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    };
    let sent = body(&turn);
    assert_eq!(names(&sent), ["f", "g"]);
    assert_eq!((sent.get("tool_choice"), &sent["parallel_tool_calls"]), (None, &json!(true)));
    turn.choice = ToolChoice::Named("g".into());
    assert_eq!(body(&turn)["tool_choice"], json!({"type": "function", "name": "g"}));
    turn.choice = ToolChoice::OneOf(vec!["f".into(), "g".into()]);
    let allowed = json!([{"type": "function", "name": "f"}, {"type": "function", "name": "g"}]);
    assert_eq!(
        body(&turn)["tool_choice"],
        json!({"type": "allowed_tools", "mode": "required", "tools": allowed})
    );
    turn.choice = ToolChoice::None;
    let none = body(&turn);
    assert_eq!((none.get("tools"), none.get("parallel_tool_calls")), (None, None));
}

#[test]
fn strict_schemas_are_rewritten_or_the_request_is_refused() {
    let mut turn = request(vec![Message::user("Hi")]);
    turn.tools = Arc::new(vec![tool("f")]);
    turn.response_schema = Some(("answer".into(), Arc::new(json!({"type": "object", "properties": {}}))));
    assert_eq!(refusal(&turn), None);
    body(&turn);
    // The kept tools are those without strict schemas.
    turn.model.strict = true;
    let sent = body(&turn);
    assert_eq!(sent["tools"][0]["strict"], true);
    assert_eq!(
        sent["tools"][0]["parameters"],
        json!({"type": "object", "required": ["b"], "properties": {"b": {"type": ["string", "null"]}},
            "additionalProperties": false})
    );
    assert_eq!(sent["text"]["format"]["strict"], true);
    assert_eq!(refusal(&turn), None);
    let open = json!({"type": "object", "properties": {"x": {"type": "object"}}});
    turn.tools = Arc::new(vec![tool("f"), ToolSpec::new("g", "", open.clone())]);
    let words = refusal(&turn).expect("it has no strict form");
    assert!(words.starts_with("tool `g`: ") && words.contains("$.properties.x"), "{words}");
    turn.choice = ToolChoice::None;
    assert_eq!(refusal(&turn), None, "the tool is not sent");
    turn.response_schema = Some(("answer".into(), Arc::new(open)));
    let words = refusal(&turn).expect("it has no strict form");
    assert!(words.starts_with("output `answer`: "), "{words}");
    turn.model.strict = false;
    assert_eq!(refusal(&turn), None);
    assert_eq!(body(&turn)["text"]["format"]["strict"], false);
}

#[test]
fn an_output_schema_that_is_strict_already_is_enforced_unasked() {
    let strict = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}},
        "additionalProperties": false});
    let mut turn = request(vec![Message::user("Hi")]);
    turn.response_schema = Some(("answer".into(), Arc::new(strict.clone())));
    assert_eq!(
        body(&turn)["text"]["format"],
        json!({"type": "json_schema", "name": "answer", "schema": strict, "strict": true})
    );
}

#[test]
fn texts_and_media_of_users() {
    let media = |kind: &str, source| Media { media_type: kind.into(), name: Some("cat".into()), source };
    let inline = || MediaSource::Base64("QUJD".into());
    let stored = Ref { sha256: "00".into(), bytes: 5000, head: "HEAD".into(), tail: "TAIL".into() };
    let content = Content::Parts(vec![
        Part::Text { text: "Look".into() },
        Part::Image(media("image/png", inline())),
        Part::Image(media("image/png", MediaSource::Url("https://example.com/cat.png".into()))),
        Part::Image(media("image/tiff", inline())),
        Part::File(media("application/pdf", inline())),
        Part::File(media("application/pdf", MediaSource::Url("https://example.com/a.pdf".into()))),
        Part::File(media("audio/wav", inline())),
        Part::File(media("text/plain", MediaSource::Stored(stored))),
    ]);
    assert_eq!(
        items(vec![Message::TaskDelegation { content }])[0],
        json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "Look"},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,QUJD"},
            {"type": "input_image", "detail": "auto", "image_url": "https://example.com/cat.png"},
            {"type": "input_text", "text": "[image cat: image/tiff, 3 bytes, not shown]"},
            {"type": "input_file", "filename": "cat", "file_data": "data:application/pdf;base64,QUJD"},
            {"type": "input_file", "file_url": "https://example.com/a.pdf"},
            {"type": "input_text", "text": "[file cat: audio/wav, 3 bytes, not shown]"},
            {"type": "input_text", "text": "[file cat: text/plain, 3750 bytes, not shown]"}
        ]})
    );
    let texts = Content::Parts(vec![Part::Text { text: "a".into() }, Part::Text { text: "b".into() }]);
    assert_eq!(items(vec![Message::User { content: texts, pinned: false }])[0]["content"], "a\nb");
}

#[test]
fn system_messages_keep_their_place() {
    let sent = items(vec![Message::user("a"), Message::system("Now in French."), Message::system("")]);
    assert_eq!(
        sent,
        json!([{"type": "message", "role": "user", "content": "a"},
            {"type": "message", "role": "system", "content": "Now in French."}])
    );
}

#[test]
fn replies_of_others_are_text_and_calls() {
    let said = AssistantMessage { text: Some("Hm.".into()), ..AssistantMessage::default() };
    let sealed = ProviderMetadata { provider: "anthropic".into(), data: "{}".into() };
    let foreign = AssistantMessage {
        reasoning: Some(Reasoning { text: "I thought.".into(), provider_metadata: Some(sealed) }),
        calls: vec![ToolCall {
            id: "toolu_1".into(),
            name: "f".into(),
            args: "".into(),
            ..ToolCall::default()
        }],
        ..said
    };
    assert_eq!(
        items(vec![Message::Assistant(foreign), result_of("toolu_1", "12", false)]),
        json!([{"type": "message", "role": "assistant", "content": "Hm."},
            {"type": "function_call", "call_id": "toolu_1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "toolu_1", "output": "12"}])
    );
    assert_eq!(items(vec![Message::Assistant(AssistantMessage::default())]), json!([]));
    let empty = AssistantMessage { text: Some("".into()), ..AssistantMessage::default() };
    assert_eq!(items(vec![Message::Assistant(empty), Message::user("x")]).as_array().map(Vec::len), Some(1));
    let args = items(vec![with_calls(&["[1]", "{\"a\":"])]);
    assert_eq!(args[0]["arguments"], r#"{"INVALID_JSON":"[1]"}"#);
    assert_eq!(args[1]["arguments"], r#"{"INVALID_JSON":"{\"a\":"}"#);
}

#[test]
fn results_may_hold_media() {
    let image =
        Media { media_type: "image/png".into(), name: None, source: MediaSource::Base64("QUJD".into()) };
    let content = Content::Parts(vec![Part::Text { text: "see".into() }, Part::Image(image)]);
    assert_eq!(
        items(vec![with_calls(&["{}"]), result_of("c0", content, false)])[1],
        json!({"type": "function_call_output", "call_id": "c0", "output": [
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,QUJD"}]})
    );
}

#[test]
fn e58_ids_of_calls_are_brought_into_the_api_s_form() {
    let long = "x".repeat(65);
    for id in ["", "with space", "ü", long.as_str(), "call_1", "a.b:c-d_e"] {
        let call = ToolCall { id: id.into(), name: "f".into(), ..ToolCall::default() };
        let said = AssistantMessage { calls: vec![call], ..AssistantMessage::default() };
        let sent = items(vec![Message::Assistant(said), result_of(id, "ok", false)]);
        let written = sent[0]["call_id"].as_str().expect("an id");
        assert_eq!(sent[1]["call_id"], written, "the call and its result stay together");
        assert!(!written.is_empty() && written.len() <= 64 && written.is_ascii(), "{written}");
        assert_eq!(written == id, matches!(id, "call_1" | "a.b:c-d_e"), "{id}");
    }
    // The same with every build, so that a request stays the same after an update.
    assert_eq!(super::items::fitting_id("with space"), "call_dd47559306f409fc7ffcd3a325adba4f");
}
