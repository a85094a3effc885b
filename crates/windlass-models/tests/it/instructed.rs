//! System messages amid a conversation and a last message of the assistant, on each wire.

use serde_json::Value;
use windlass_core::Message;
use windlass_core::model::ModelChoice;
use windlass_models::ModelRequest;
use windlass_models::wires::{Dialect, WIRES};

/// The texts of a value, in order.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => {
            let within = ["text", "content", "parts", "system"];
            within.iter().filter_map(|key| fields.get(*key)).flat_map(texts).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// Each message of a body with its role, one a line; what stands before the conversation has the role `front`.
fn said(body: &Value) -> Vec<String> {
    let front = body.get("system").or_else(|| body.get("systemInstruction")).map(|front| ("front", front));
    let list = ["messages", "input", "contents"].iter().find_map(|key| body.get(*key)).expect("messages");
    let list = list.as_array().expect("a list").iter();
    let list = list.map(|message| (message["role"].as_str().unwrap_or_default(), message));
    front
        .into_iter()
        .chain(list)
        .map(|(role, message)| format!("{role}: {}", texts(message).join(" | ")))
        .collect()
}

fn body(wire: &str, model: &str, messages: &[Message]) -> Vec<String> {
    let wire = WIRES.iter().copied().find(|known| known.facts().name == wire).expect("a wire");
    let choice = ModelChoice { name: model.into(), ..ModelChoice::default() };
    let request = ModelRequest::new(choice, messages.to_vec());
    let dialect = Dialect { label: "x".into(), ..Dialect::default() };
    assert_eq!(wire.refuses(&dialect, &request), None);
    said(&serde_json::from_slice(&wire.encode(&dialect, &request).body).expect("JSON"))
}

fn conversation() -> Vec<Message> {
    vec![
        Message::system("Be brief."),
        Message::user("a"),
        Message::system("Be kind."),
        Message::assistant("b"),
        Message::system("Be bold."),
        Message::user("c"),
        Message::assistant("So far"),
    ]
}

#[test]
fn issue_27_system_messages_stay_where_they_are_and_a_last_reply_goes_out() {
    let roles = [
        "system: Be brief.",
        "user: a",
        "system: Be kind.",
        "assistant: b",
        "system: Be bold.",
        "user: c",
        "assistant: So far",
    ];
    for wire in ["openai_chat", "openai_responses", "ollama"] {
        assert_eq!(body(wire, "m", &conversation()), roles, "{wire}");
    }
    let within = |text: &str| format!("<system>\n{text}\n</system>");
    let plain = |text: &str| text.to_owned();
    let merged = |assistant: &str, within: &dyn Fn(&str) -> String| {
        vec![
            "front: Be brief.".to_owned(),
            format!("user: a | {}", within("Be kind.")),
            format!("{assistant}: b"),
            format!("user: {} | c", within("Be bold.")),
            format!("{assistant}: So far"),
        ]
    };
    let marked = merged("assistant", &within);
    assert_eq!(body("anthropic_messages", "claude-opus-4-7", &conversation()), marked);
    for wire in ["gemini", "gemini_vertex"] {
        assert_eq!(body(wire, "gemini-2.5-flash", &conversation()), merged("model", &plain), "{wire}");
    }
}

#[test]
fn issue_27_claude_from_opus_4_8_on_has_a_role_for_them_behind_the_user() {
    let within = "<system>\nBe bold.\n</system>";
    let expected = [
        "front: Be brief.".to_owned(),
        "user: a".to_owned(),
        "system: Be kind.".to_owned(),
        "assistant: b".to_owned(),
        // A system message may stand behind one of the user alone.
        format!("user: {within} | c"),
        "assistant: So far".to_owned(),
    ];
    for model in ["claude-opus-4-8", "claude-sonnet-5"] {
        assert_eq!(body("anthropic_messages", model, &conversation()), expected, "{model}");
    }
}
