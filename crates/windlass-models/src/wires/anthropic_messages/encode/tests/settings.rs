//! Limits, thinking and sampling.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::Message;
use windlass_core::model::ToolChoice;

use super::{body, call, calling, request, result, tool};
use crate::ModelRequest;

/// The settings of a request for a model, beside its messages and tools.
fn settings(model: &str, change: impl FnOnce(&mut ModelRequest)) -> Value {
    let mut turn = request(vec![Message::user("Hi")]);
    turn.model.name = model.into();
    change(&mut turn);
    let mut body = body(&turn);
    let fields = body.as_object_mut().expect("an object");
    fields.retain(|name, _| !matches!(name.as_str(), "model" | "system" | "messages" | "tools"));
    body
}

#[test]
fn thinking_by_budget_stays_below_the_limit() {
    let thinking = |effort: &str, max: Option<u64>| {
        let body = settings("claude-sonnet-4-5", |turn| {
            (turn.model.reasoning, turn.model.max_tokens) = (Some(effort.into()), max);
        });
        let budget = body["thinking"]["budget_tokens"].as_u64();
        let max = body["max_tokens"].as_u64().expect("obligatory");
        assert!(budget.is_none_or(|budget| (1024..max).contains(&budget)), "{effort}: {body}");
        budget
    };
    assert_eq!(thinking("low", None), Some(2048));
    assert_eq!(thinking("high", None), Some(16_000));
    assert_eq!(thinking("high", Some(4000)), Some(2000));
    assert_eq!(thinking("medium", Some(1500)), Some(1024));
    assert_eq!(thinking("medium", Some(1024)), None, "too little for any");
    for off in ["none", "off", "false", "disabled"] {
        let none = settings("claude-sonnet-4-5", |turn| turn.model.reasoning = Some(off.into()));
        assert_eq!(none["thinking"], json!({"type": "disabled"}), "{off}");
    }
}

#[test]
fn newer_models_think_by_effort() {
    let of = |model: &str, effort: &str| {
        let body = settings(model, |turn| turn.model.reasoning = Some(effort.into()));
        (body["thinking"]["type"].clone(), body["output_config"]["effort"].clone())
    };
    assert_eq!(of("claude-opus-4-6", "high"), (json!("adaptive"), json!("high")));
    assert_eq!(of("claude-opus-5", "minimal"), (json!("adaptive"), json!("low")));
    assert_eq!(of("claude-opus-5", "none"), (json!("disabled"), Value::Null));
    assert_eq!(of("claude-fable-5", "none"), (Value::Null, json!("low")));
    assert_eq!(of("claude-sonnet-5-5", "none"), (json!("between_tools"), Value::Null));
    assert_eq!(settings("claude-opus-5", |_| {}), json!({"max_tokens": 32000}));
}

#[test]
fn a_forced_tool_is_not_thought_about() {
    for (model, effort) in [("claude-sonnet-4-5", Value::Null), ("claude-opus-4-6", json!("high"))] {
        let body = settings(model, |turn| {
            turn.tools = Arc::new(vec![tool("f")]);
            turn.choice = ToolChoice::Named("f".into());
            turn.model.reasoning = Some("high".into());
            turn.model.temperature = Some(0.5);
        });
        assert_eq!(body.get("thinking"), None, "{model}");
        assert_eq!(
            (&body["output_config"]["effort"], &body["temperature"]),
            (&effort, &json!(0.5)),
            "{model}"
        );
    }
}

#[test]
fn sampling_within_what_the_model_takes() {
    let of = |model: &str, temperature: f64, top_p: f64, reasoning: Option<&str>| {
        let body = settings(model, |turn| {
            (turn.model.temperature, turn.model.top_p) = (Some(temperature), Some(top_p));
            turn.model.reasoning = reasoning.map(Into::into);
        });
        (body["temperature"].as_f64(), body["top_p"].as_f64())
    };
    assert_eq!(of("claude-sonnet-4-0", 1.7, 0.9, None), (Some(1.0), Some(0.9)));
    assert_eq!(of("claude-sonnet-4-5", 0.3, 0.9, None), (Some(0.3), None), "one of them");
    assert_eq!(of("claude-sonnet-4-5", f64::NAN, 0.9, None), (None, Some(0.9)));
    assert_eq!(of("claude-sonnet-4-5", 0.3, 0.9, Some("low")), (None, None), "thinking has its own");
    assert_eq!(of("claude-sonnet-4-5", 0.3, 0.97, Some("low")), (None, Some(0.97)));
    assert_eq!(of("claude-opus-4-7", 0.3, 0.9, None), (None, None), "newer models refuse them");
    assert_eq!(of("qwen3", 0.3, 0.9, None), (Some(0.3), Some(0.9)));
}

#[test]
fn e58_a_turn_that_another_model_began_goes_on_without_a_budget() {
    let thinks = |model: &str, last: Vec<Message>| {
        let mut turn = request([vec![Message::user("Hi"), calling(vec![call("a", "{}")])], last].concat());
        (turn.model.name, turn.model.reasoning) = (model.into(), Some("high".into()));
        body(&turn).get("thinking").is_some()
    };
    let answered = || result("a", "A".into(), false);
    assert!(!thinks("claude-sonnet-4-5", vec![answered()]));
    assert!(!thinks("claude-sonnet-4-5", vec![answered(), Message::user("Hurry.")]));
    assert!(thinks("claude-opus-4-6", vec![answered()]), "newer models may begin at any time");
    let done = vec![answered(), Message::assistant("Done."), Message::user("And now?")];
    assert!(thinks("claude-sonnet-4-5", done), "a new turn");
}
