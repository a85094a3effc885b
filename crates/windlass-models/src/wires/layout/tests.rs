use serde_json::value::RawValue;
use windlass_core::message::{AssistantMessage, Reasoning, ToolCall};

use super::{Kind, Layout, Part, placed};

#[expect(clippy::unnecessary_wraps, reason = "a part's own data is optional")]
fn own(json: &str) -> Option<Box<RawValue>> {
    Some(RawValue::from_string(json.to_owned()).unwrap())
}

/// Thought, text, call, text, a block of the provider, call.
fn message() -> AssistantMessage {
    let mut layout = Layout::default();
    layout.push(Part { kind: Kind::Reasoning, bytes: 0, own: own(r#"{"signature":"s"}"#) });
    layout.add(Kind::Reasoning, 2);
    layout.add(Kind::Reasoning, 1);
    layout.add(Kind::Text, 4);
    layout.begin(Kind::Call);
    layout.add(Kind::Text, 3);
    layout.push(Part { kind: Kind::Own, bytes: 0, own: own(r#"{"type":"x"}"#) });
    layout.begin(Kind::Call);
    let sealed = layout.seal("p", "w");
    assert!(sealed.is_some());
    AssistantMessage {
        text: Some("Söhend".into()),
        reasoning: Some(Reasoning { text: "Hm.".into(), provider_metadata: sealed }),
        calls: vec![ToolCall::default(), ToolCall::default()],
        ..AssistantMessage::default()
    }
}

#[test]
fn parts_come_back_in_their_order() {
    let said = message();
    let parts = placed(&said, "p", "w").unwrap();
    let seen: Vec<_> = parts
        .iter()
        .map(|part| (part.kind, part.text, part.at, part.own.as_ref().map(|own| own.get())))
        .collect();
    assert_eq!(
        seen,
        [
            (Kind::Reasoning, "Hm.", 0, Some(r#"{"signature":"s"}"#)),
            (Kind::Text, "Söh", 0, None),
            (Kind::Call, "", 0, None),
            (Kind::Text, "end", 0, None),
            (Kind::Own, "", 0, Some(r#"{"type":"x"}"#)),
            (Kind::Call, "", 1, None),
        ]
    );
}

#[test]
fn another_provider_or_wire_does_not_read_it() {
    assert!(placed(&message(), "q", "w").is_none());
    assert!(placed(&message(), "p", "v").is_none());
}

#[test]
fn a_changed_message_is_written_without_it() {
    let said = message();
    for changed in [
        AssistantMessage { text: Some("Söhen".into()), ..said.clone() },
        AssistantMessage { text: Some("Söhend!".into()), ..said.clone() },
        AssistantMessage { text: Some("Sooönd".into()), ..said.clone() },
        AssistantMessage { calls: Vec::new(), ..said.clone() },
        AssistantMessage { reasoning: None, ..said },
    ] {
        assert!(placed(&changed, "p", "w").is_none(), "{changed:?}");
    }
}

#[test]
fn a_plain_reply_needs_none() {
    let mut layout = Layout::default();
    layout.add(Kind::Reasoning, 2);
    layout.add(Kind::Text, 4);
    layout.begin(Kind::Call);
    layout.begin(Kind::Call);
    assert!(layout.seal("p", "w").is_none());
    layout.add(Kind::Text, 1);
    assert!(layout.seal("p", "w").is_some());
}
