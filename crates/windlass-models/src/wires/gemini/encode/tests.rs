use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::message::{
    AssistantMessage, Content, History, Media, MediaSource, Part, Reasoning, Ref, ToolCall, ToolMessage,
};
use windlass_core::model::Reply;
use windlass_core::tool::Offer;

use super::*;
use crate::PrefixCell;
use crate::wires::Asked;
use crate::wires::gemini::decode::decode;
use crate::wires::testing;

const FOREIGN: &str = "skip_thought_signature_validator";

fn request(model: &str, messages: Vec<Message>) -> ModelRequest {
    testing::request(&format!("google/{model}"), messages)
}

fn dialect() -> Dialect {
    Dialect { label: "google".into(), ..Dialect::default() }
}

fn bytes(request: &ModelRequest) -> String {
    String::from_utf8(encode(&dialect(), request).body).expect("JSON is UTF-8")
}

fn body(request: &ModelRequest) -> Value {
    serde_json::from_str(&bytes(request)).expect("a request is JSON")
}

fn contents(model: &str, messages: Vec<Message>) -> Value {
    body(&request(model, messages))["contents"].clone()
}

fn user(parts: impl Into<Value>) -> Value {
    json!({ "role": "user", "parts": parts.into() })
}

fn model(parts: impl Into<Value>) -> Value {
    json!({ "role": "model", "parts": parts.into() })
}

fn call(id: &str, args: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "look".into(), args: args.into(), ..ToolCall::default() }
}

fn calling(calls: Vec<ToolCall>) -> Message {
    Message::Assistant(AssistantMessage { calls, ..AssistantMessage::default() })
}

fn result(id: &str, content: Content) -> Message {
    Message::Tool(ToolMessage { call: id.into(), name: "look".into(), content, failed: false })
}

/// The message that a reply becomes, with calls under our ids.
fn said(reply: Reply) -> Message {
    let calls = reply.calls.into_iter().enumerate().map(|(at, call)| ToolCall {
        id: format!("call_1_{at}").into(),
        name: call.name,
        args: call.args.into(),
        ..ToolCall::default()
    });
    let calls = calls.collect();
    Message::Assistant(AssistantMessage {
        text: reply.text,
        reasoning: reply.reasoning,
        media: reply.media.into(),
        calls,
        annotations: reply.annotations,
    })
}

/// A reply with these parts, as a message.
fn replied(parts: &Value) -> Message {
    let body = json!({ "candidates": [{ "content": { "parts": parts }, "finishReason": "STOP" }] });
    let asked = Asked { model: "m".into(), content_bytes: 0 };
    said(decode(body.to_string().as_bytes(), "google", &asked).expect("a reply"))
}

fn image(source: MediaSource) -> Media {
    Media { media_type: "image/png".into(), name: Some("cat.png".into()), source }
}

fn tool(name: &str, parameters: &Value, offer: Offer) -> ToolSpec {
    serde_json::from_value(
        json!({ "name": name, "description": "Does it.", "parameters": parameters, "offer": offer }),
    )
    .expect("a tool")
}

#[test]
fn the_order_of_a_request() {
    let mut asked = request("gemini-3-flash", vec![Message::user("Hi")]);
    asked.tools = Arc::new(vec![tool(
        "look",
        &json!({ "type": "object", "properties": { "q": {} } }),
        Offer::default(),
    )]);
    asked.model.temperature = Some(0.5);
    assert_eq!(
        bytes(&asked),
        r#"{"systemInstruction":{"parts":[{"text":"Be \"brief\"."}]},"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"tools":[{"functionDeclarations":[{"name":"look","description":"Does it.","parametersJsonSchema":{"type":"object","properties":{"q":{}}}}]}],"generationConfig":{"temperature":0.5}}"#
    );
}

#[test]
fn sides_alternate_and_what_is_empty_is_left_out() {
    let said = contents(
        "gemini-2.5-pro",
        vec![
            Message::user("a"),
            Message::user(""),
            Message::system("Now in German."),
            Message::assistant(""),
            Message::TaskDelegation { content: "b".into() },
            Message::assistant("c"),
            Message::assistant("d"),
            Message::user("e"),
        ],
    );
    assert_eq!(
        said,
        json!([
            user(json!([{ "text": "a" }, { "text": "Now in German." }, { "text": "b" }])),
            model(json!([{ "text": "c" }, { "text": "d" }])),
            user(json!([{ "text": "e" }]))
        ])
    );
}

#[test]
fn instructions_alone_are_what_is_said() {
    let alone = body(&request("gemini-3-flash", Vec::new()));
    assert_eq!(alone, json!({ "contents": [user(json!([{ "text": "Be \"brief\"." }]))] }));
    let nothing = ModelRequest { prompt: Arc::default(), ..request("gemini-3-flash", Vec::new()) };
    assert_eq!(body(&nothing), json!({ "contents": [] }));
    let plain =
        ModelRequest { prompt: Arc::default(), ..request("gemini-3-flash", vec![Message::user("x")]) };
    assert_eq!(body(&plain), json!({ "contents": [user(json!([{ "text": "x" }]))] }));
}

#[test]
fn a_conversation_that_begins_with_calls_gets_something_said_before() {
    let begun = contents("gemini-2.5-pro", vec![calling(vec![call("c1", "{}")]), result("c1", "1".into())]);
    assert_eq!(begun[0], user(json!([{ "text": "Continue." }])));
    assert_eq!(begun[1]["parts"][0]["functionCall"]["name"], "look");
    assert_eq!(
        contents("gemini-2.5-pro", vec![Message::assistant("Hello")]),
        json!([model(json!([{ "text": "Hello" }]))])
    );
}

#[test]
fn e58_calls_of_another_provider_and_their_results() {
    let history = || {
        vec![
            Message::user("Look."),
            calling(vec![
                call("toolu_1", "{\"q\": [1,\n2]}"),
                call("toolu_2", ""),
                call("toolu_3", "not json"),
            ]),
            result("toolu_1", "one".into()),
            Message::Tool(ToolMessage {
                call: "toolu_2".into(),
                name: "look".into(),
                content: "no".into(),
                failed: true,
            }),
            result("toolu_3", "three".into()),
            Message::user("And?"),
        ]
    };
    let call = |id: &str, args: Value| json!({ "functionCall": { "id": id, "name": "look", "args": args } });
    let answer = |id: &str, response: Value| json!({ "functionResponse": { "id": id, "name": "look", "response": response } });
    let answers = user(json!([
        answer("toolu_1", json!({ "output": "one" })),
        answer("toolu_2", json!({ "error": "no" })),
        answer("toolu_3", json!({ "output": "three" })),
        { "text": "And?" }
    ]));
    let mut calls = [
        call("toolu_1", json!({ "q": [1, 2] })),
        call("toolu_2", json!({})),
        call("toolu_3", json!({ "INVALID_JSON": "not json" })),
    ];
    let start = user(json!([{ "text": "Look." }]));
    assert_eq!(contents("gemini-2.5-flash", history()), json!([start, model(json!(calls)), answers]));
    calls[0]["thoughtSignature"] = json!(FOREIGN);
    for name in
        ["gemini-3-pro-preview", "gemini-flash-latest", "gemini-4-argon", "publishers/google/gemini-3.1-pro"]
    {
        assert_eq!(contents(name, history()), json!([start, model(json!(calls)), answers]), "{name}");
    }
}

#[test]
fn a_reply_goes_back_as_it_came() {
    for parts in [
        json!([{ "text": "So.", "thought": true }, { "functionCall": { "name": "look", "args": { "q": 1 } }, "thoughtSignature": "czE=" },
            { "functionCall": { "name": "look", "args": {} } }]),
        json!([{ "text": "a" }, { "text": "b", "thoughtSignature": "czI=" }, { "text": "c" }]),
        json!([{ "text": "Done." }, { "text": "", "thoughtSignature": "czM=" }]),
        json!([{ "functionCall": { "id": "fc-1", "name": "look", "args": {} }, "thoughtSignature": "czQ=" }]),
        json!([{ "text": "x" }, { "executableCode": { "language": "PYTHON", "code": "1" }, "thoughtSignature": "czU=" },
            { "codeExecutionResult": { "outcome": "OUTCOME_OK", "output": "1" } }, { "text": "y" }]),
        json!([{ "toolCall": { "id": "t", "toolType": "URL_CONTEXT" } }, { "toolResponse": { "id": "t" } }, { "text": "y" }]),
        json!([{ "inlineData": { "mimeType": "image/png", "data": "QUJD" }, "thoughtSignature": "czY=" }, { "text": "y" }]),
    ] {
        let sent = contents("gemini-3-flash", vec![Message::user("a"), replied(&parts)]);
        assert_eq!(sent[1], model(parts), "it stood so");
    }
}

#[test]
fn results_bear_the_id_that_their_call_came_with() {
    let parts = json!([{ "functionCall": { "id": "fc-1", "name": "look", "args": {} }, "thoughtSignature": "czE=" },
        { "functionCall": { "name": "look", "args": {} } }]);
    let history = vec![
        Message::user("a"),
        replied(&parts),
        result("call_1_0", "x".into()),
        result("call_1_1", "y".into()),
    ];
    let sent = contents("gemini-3-flash", history);
    let answer = |response: &str| json!({ "name": "look", "response": { "output": response } });
    let mut first = answer("x");
    first["id"] = json!("fc-1");
    assert_eq!(sent[2], user(json!([{ "functionResponse": first }, { "functionResponse": answer("y") }])));
}

#[test]
fn e44_signatures_go_back_to_their_provider_and_only_with_what_it_said() {
    let parts = json!([{ "text": "Hm", "thought": true }, { "text": "So." }, { "functionCall": { "name": "look", "args": {} }, "thoughtSignature": "czE=" }]);
    let history = || vec![Message::user("a"), replied(&parts)];
    let other = Dialect { label: "vertex".into(), ..Dialect::default() };
    let foreign: Value =
        serde_json::from_slice(&encode(&other, &request("gemini-3-flash", history())).body).expect("JSON");
    let call = json!({ "id": "call_1_0", "name": "look", "args": {} });
    let unsealed = model(json!([{ "text": "So." }, { "functionCall": call, "thoughtSignature": FOREIGN }]));
    assert_eq!(foreign["contents"][1], unsealed);
    let mut changed = history();
    if let Message::Assistant(said) = &mut changed[1] {
        said.text = Some("Edited.".into());
    }
    let sent = contents("gemini-3-flash", changed);
    assert_eq!(sent[1]["parts"][0], json!({ "text": "Edited." }));
    assert_eq!(sent[1]["parts"][1]["thoughtSignature"], FOREIGN);
}

#[test]
fn readable_reasoning_without_a_seal_stays_here() {
    let reasoning = Some(Reasoning { text: "hm".into(), provider_metadata: None });
    let thought = Message::Assistant(AssistantMessage {
        text: Some("a".into()),
        reasoning,
        ..AssistantMessage::default()
    });
    let sent = contents("gemini-3-flash", vec![Message::user("x"), thought]);
    assert_eq!(sent[1], model(json!([{ "text": "a" }])));
}

#[test]
fn e57_a_turn_begins_with_the_bytes_of_the_one_before_also_when_encoded_anew() {
    let signed = json!([{ "functionCall": { "name": "look", "args": {} }, "thoughtSignature": "czE=" }]);
    let later = [
        vec![replied(&signed)],
        vec![result("call_1_0", "x".into())],
        vec![Message::user("more"), Message::system("careful")],
        vec![Message::assistant("ok"), Message::user("last")],
    ];
    for name in ["gemini-2.5-pro", "gemini-3-flash"] {
        let mut turn = request(name, vec![Message::user("one")]);
        let mut before = String::new();
        for (number, new) in later.iter().enumerate() {
            turn.model.temperature = Some(number as f64);
            let now = bytes(&turn);
            let fresh = ModelRequest { prefix: PrefixCell::default(), ..turn.clone() };
            assert_eq!(now, bytes(&fresh), "{name}, turn {number}");
            // Up to the end of the last message: its content is closed behind it.
            let end = now.find("]}],\"generationConfig\"").expect("the end of the contents");
            assert!(now.starts_with(&before), "{name}, turn {number}: {now}");
            now[..end].clone_into(&mut before);
            for message in new {
                turn.messages.push(Arc::new(message.clone()));
            }
        }
    }
}

#[test]
fn another_generation_in_the_same_cell_is_encoded_anew() {
    let mut turn = request(
        "gemini-2.5-pro",
        vec![Message::user("a"), calling(vec![call("c", "{}")]), result("c", "1".into())],
    );
    assert!(!bytes(&turn).contains(FOREIGN));
    turn.model.name = "google/gemini-3-flash".into();
    assert!(bytes(&turn).contains(FOREIGN));
    turn.model.name = "google/gemini-2.5-pro".into();
    assert!(!bytes(&turn).contains(FOREIGN));
    let empty = ModelRequest { messages: History::default().into(), prompt: Arc::default(), ..turn };
    assert_eq!(body(&empty)["contents"], json!([]));
}

#[test]
fn media_of_users() {
    let stored = Ref { sha256: "00".into(), bytes: 5000, head: "HEAD".into(), tail: "TAIL".into() };
    let file = |kind: &str| Media {
        media_type: kind.into(),
        name: None,
        source: MediaSource::Base64("QUJD".into()),
    };
    let content = Content::Parts(vec![
        Part::Text { text: "Look".into() },
        Part::Image(image(MediaSource::Base64("QUJD".into()))),
        Part::Image(image(MediaSource::Url("https://example.com/cat.png".into()))),
        Part::File(file("application/pdf")),
        Part::File(file("text/csv; charset=utf-8")),
        Part::File(file("audio/wav")),
        Part::File(file("application/zip")),
        Part::Image(file("image/gif")),
        Part::File(image(MediaSource::Stored(stored))),
    ]);
    let inline = |kind: &str| json!({ "inlineData": { "mimeType": kind, "data": "QUJD" } });
    assert_eq!(
        contents("gemini-2.5-pro", vec![Message::User { content, pinned: false }])[0]["parts"],
        json!([
            { "text": "Look" },
            inline("image/png"),
            { "fileData": { "mimeType": "image/png", "fileUri": "https://example.com/cat.png" } },
            inline("application/pdf"),
            inline("text/csv; charset=utf-8"),
            inline("audio/wav"),
            { "text": "[file: application/zip, 3 bytes, not shown]" },
            { "text": "[image: image/gif, 3 bytes, not shown]" },
            { "text": "[file cat.png: image/png, 3750 bytes, not shown]" }
        ])
    );
}

#[test]
fn media_in_results_for_models_that_take_them_there() {
    let history = |source: MediaSource| {
        let content = Content::Parts(vec![Part::Text { text: "see".into() }, Part::Image(image(source))]);
        vec![Message::user("a"), calling(vec![call("c", "{}")]), result("c", content)]
    };
    let sent = |name: &str, source: MediaSource| contents(name, history(source))[2]["parts"].clone();
    let inline = || MediaSource::Base64("QUJD".into());
    let answer = |output: &str| json!({ "id": "c", "name": "look", "response": { "output": output } });
    let mut shown = answer("see");
    shown["parts"] = json!([{ "inlineData": { "mimeType": "image/png", "data": "QUJD" } }]);
    assert_eq!(sent("gemini-3-pro", inline()), json!([{ "functionResponse": shown }]));
    let told = answer("see\n[image cat.png: image/png, 3 bytes, not shown]");
    assert_eq!(sent("gemini-2.5-pro", inline()), json!([{ "functionResponse": told }]));
    let by_url = answer("see\n[image cat.png: image/png, https://a.example/cat.png]");
    let url = MediaSource::Url("https://a.example/cat.png".into());
    assert_eq!(sent("gemini-3-pro", url), json!([{ "functionResponse": by_url }]));
}

#[test]
fn tools_and_the_choice_among_them() {
    let parameters = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "properties": { "a": { "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "null" }] } }, "additionalProperties": false });
    let mut asked = request("gemini-2.5-pro", vec![Message::user("a")]);
    asked.tools = Arc::new(vec![
        tool("one", &parameters, Offer::default()),
        tool(
            "two",
            &json!({ "type": "object", "properties": {}, "additionalProperties": false }),
            Offer::default(),
        ),
    ]);
    let config = |asked: &ModelRequest| {
        body(asked).get("toolConfig").map(|config| config["functionCallingConfig"].clone())
    };
    let declared = body(&asked)["tools"].clone();
    let described = |name: &str| json!({ "name": name, "description": "Does it." });
    let mut one = described("one");
    one["parametersJsonSchema"] = parameters;
    assert_eq!(declared, json!([{ "functionDeclarations": [one, described("two")] }]));
    assert_eq!(config(&asked), None);
    asked.model.strict = true;
    assert_eq!(config(&asked), Some(json!({ "mode": "VALIDATED" })));
    asked.choice = ToolChoice::Required;
    assert_eq!(config(&asked), Some(json!({ "mode": "ANY" })));
    asked.choice = ToolChoice::Named("one".into());
    assert_eq!(config(&asked), Some(json!({ "mode": "ANY", "allowedFunctionNames": ["one"] })));
    asked.choice = ToolChoice::OneOf(vec!["one".into(), "two".into()]);
    assert_eq!(config(&asked), Some(json!({ "mode": "ANY", "allowedFunctionNames": ["one", "two"] })));
    asked.choice = ToolChoice::None;
    assert_eq!((config(&asked), body(&asked).get("tools")), (None, None));
}

#[test]
fn settings_go_out_where_they_are_set() {
    let mut asked = request("gemini-2.5-pro", vec![Message::user("a")]);
    assert_eq!(body(&asked).get("generationConfig"), None);
    asked.model.temperature = Some(0.25);
    asked.model.top_p = Some(f64::NAN);
    asked.model.presence_penalty = Some(-0.5);
    asked.model.max_tokens = Some(100);
    asked.model.stop = vec!["END".into()];
    asked.model.parallel = Some(false);
    asked.model.metadata = [("team".into(), "blue".into())].into();
    asked.response_schema = Some(("answer".into(), Arc::new(json!({ "type": "object", "title": "T" }))));
    let expected = json!({
        "temperature": 0.25, "presencePenalty": -0.5, "maxOutputTokens": 100, "stopSequences": ["END"],
        "responseMimeType": "application/json", "responseJsonSchema": { "type": "object", "title": "T" }
    });
    let sent = body(&asked);
    assert_eq!(sent["generationConfig"], expected);
    assert_eq!(sent.as_object().map(serde_json::Map::len), Some(3), "nothing else: {sent}");
}

#[test]
fn effort_is_a_level_or_a_budget_by_generation() {
    let thinking = |name: &str, effort: &str| {
        let mut asked = request(name, vec![Message::user("a")]);
        asked.model.reasoning = Some(effort.into());
        body(&asked)["generationConfig"]["thinkingConfig"].clone()
    };
    let budget = |tokens: i64| json!({ "includeThoughts": tokens != 0, "thinkingBudget": tokens });
    let level = |level: &str| json!({ "includeThoughts": true, "thinkingLevel": level });
    assert_eq!(thinking("gemini-2.5-pro", "off"), budget(128));
    for (effort, tokens) in [
        ("none", 0),
        ("off", 0),
        ("false", 0),
        ("minimal", 1024),
        ("low", 1024),
        ("medium", 8192),
        ("High", 24_576),
        ("max", 24_576),
    ] {
        assert_eq!(thinking("gemini-2.5-flash", effort), budget(tokens), "{effort}");
    }
    for (effort, name) in [
        ("none", "MINIMAL"),
        ("minimal", "MINIMAL"),
        ("low", "LOW"),
        ("medium", "MEDIUM"),
        ("high", "HIGH"),
        ("xhigh", "HIGH"),
        ("vast", "VAST"),
    ] {
        assert_eq!(thinking("gemini-3-flash-preview", effort), level(name), "{effort}");
    }
    assert_eq!(thinking("gemini-3.1-pro-preview", "minimal"), level("LOW"));
}

#[test]
fn the_base_of_an_estimate_is_what_is_said() {
    let asked = request("gemini-3-flash", vec![Message::user("Hi")]);
    let said =
        "{\"text\":\"Be \\\"brief\\\".\"}".len() + "{\"role\":\"user\",\"parts\":[{\"text\":\"Hi\"}".len();
    assert_eq!(encode(&dialect(), &asked).content_bytes, said);
}
