use std::sync::Arc;

use serde_json::Value;
use windlass_core::Message;
use windlass_core::message::{AssistantMessage, Content, Media, MediaSource, Part, ToolCall, ToolMessage};
use windlass_core::policy::CachePoint;

use crate::wires::testing::request;
use crate::wires::{Dialect, Quirks, WIRES, Wire, wire};

#[test]
fn a_part_that_a_wire_takes_is_in_its_request_and_another_is_a_note() {
    let kinds = ["image/png", "application/pdf", "audio/wav", "audio/ogg", "video/mp4"];
    let sources = [
        MediaSource::Base64("QUJD".into()),
        MediaSource::Url("https://example.org/ABC".into()),
        MediaSource::ProviderFile("file-ABC".into()),
    ];
    let mut taken = Vec::new();
    let without_files = Quirks { no_files: true, ..Quirks::NONE };
    let servers = WIRES.iter().map(|wire| (*wire, Quirks::NONE, ""));
    let without_files = (wire("openai_chat").expect("it is there"), without_files, " without files");
    for (wire, quirks, server) in servers.chain([without_files]) {
        for kind in kinds {
            for (source, form) in sources.iter().zip(["in place", "address", "id"]) {
                let media = Media { media_type: kind.into(), name: None, source: source.clone() };
                let part = if kind == "image/png" { Part::Image(media) } else { Part::File(media) };
                let said = Content::Parts(vec![Part::Text { text: "What?".into() }, part.clone()]);
                let said = vec![Message::User { content: said, pinned: false }];
                let body = sent(wire, said, quirks, false).to_string();
                let has =
                    (body.contains("QUJD") || body.contains("ABC")) && !body.contains(&format!(": {kind}, "));
                assert_eq!(
                    has,
                    wire.takes(&dialect(quirks), &part),
                    "{} {kind} {form}: {body}",
                    wire.facts().name
                );
                if has {
                    taken.push(format!("{}{server} {kind} {form}", wire.facts().name));
                }
            }
        }
    }
    insta::assert_snapshot!(taken.join("\n"));
}

fn reply(text: Option<&str>, calls: &[&str]) -> Message {
    let calls = calls.iter().map(|id| ToolCall {
        id: (*id).into(),
        name: "mkdir".into(),
        args: "{}".into(),
        ..ToolCall::default()
    });
    Message::Assistant(AssistantMessage {
        text: text.map(Into::into),
        calls: calls.collect(),
        ..AssistantMessage::default()
    })
}

fn result(call: &str, content: Content) -> Message {
    Message::Tool(ToolMessage { call: call.into(), name: "mkdir".into(), content, failed: false })
}

fn parts(texts: &[&str]) -> Content {
    Content::Parts(texts.iter().map(|text| Part::Text { text: (*text).into() }).collect())
}

fn dialect(quirks: Quirks) -> Dialect {
    Dialect { label: "p".into(), quirks }
}

fn sent(wire: &dyn Wire, messages: Vec<Message>, quirks: Quirks, marked: bool) -> Value {
    let mut request = request("p/m", messages);
    if marked {
        request.cache = vec![CachePoint::at(2), CachePoint::at(-1)];
    }
    serde_json::from_slice(&wire.encode(&dialect(quirks), &request).body).expect("a request is JSON")
}

/// Texts of a request that say nothing, with their places. Ollama's messages always have a `content` beside calls.
fn blanks(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.trim().is_empty() => found.push(place.to_owned()),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| blanks(item, &format!("{place}/{at}"), found));
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                if name == "content" && fields.contains_key("tool_calls") && item == "" {
                    continue;
                }
                blanks(item, &format!("{place}/{name}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn e58_nothing_blank_is_sent_by_any_wire() {
    for blank in ["", " ", "\n\t\n", "\u{a0}\u{2003}"] {
        let messages = || {
            vec![
                Message::system(blank),
                Message::user("go"),
                Message::assistant(blank),
                reply(Some(blank), &["c1", "c2"]),
                result("c1", Content::Text(blank.into())),
                result("c2", parts(&[blank, blank])),
                reply(None, &[]),
                Message::User { content: parts(&["see", blank]), pinned: false },
                Message::user(blank),
            ]
        };
        for name in ["openai_chat", "openai_responses", "ollama", "anthropic_messages"] {
            let wire = wire(name).expect("it is there");
            for (marked, quirks) in
                [(false, Quirks::NONE), (true, Quirks { cache_control: true, ..Quirks::NONE })]
            {
                let body = sent(wire, messages(), quirks, marked);
                let mut found = Vec::new();
                blanks(&body, "", &mut found);
                assert!(found.is_empty(), "{name}, {blank:?}: {found:?} in {body}");
                let text = body.to_string();
                let results = text.matches("(no output)").count();
                assert_eq!(results, if name == "anthropic_messages" { 0 } else { 2 }, "{name}: {body}");
            }
        }
    }
}

#[test]
fn e58_blank_messages_at_the_front_and_the_end_leave_no_comma() {
    for name in ["openai_chat", "openai_responses", "ollama"] {
        let wire = wire(name).expect("it is there");
        let mut request = request("p/m", vec![Message::user("go"), Message::assistant(" ")]);
        request.prompt = Arc::new(vec![Arc::new(Message::system("")), Arc::new(Message::system("\n"))]);
        let body: Value =
            serde_json::from_slice(&wire.encode(&dialect(Quirks::NONE), &request).body).expect("JSON");
        let said = body.get("messages").or(body.get("input")).and_then(Value::as_array).expect("messages");
        assert_eq!(said.len(), 1, "{name}: {body}");
    }
}
