//! The JSON contracts of perception and decision: how replies are read, with defaults for what is missing (S).

use serde_json::{Map, Value};

use crate::event::{Perception, StepWork};
use crate::ids::Text;
use crate::json;

/// A decision: a plan and its next step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decided {
    pub(crate) text: Vec<Text>,
    pub(crate) description: Text,
    pub(crate) work: StepWork,
}

/// The JSON object of a reply: in a fence, bare, or between other words.
fn object(reply: &str) -> Result<Map<String, Value>, String> {
    let fenced = reply.split_once("```").map(|(_, rest)| rest.strip_prefix("json").unwrap_or(rest));
    let fenced = fenced.and_then(|rest| rest.split_once("```")).map(|(body, _)| body);
    let text = fenced.filter(|body| body.contains('{')).unwrap_or(reply).trim();
    let read = json::read(text).or_else(|error| json::object_in(reply).map_or(Err(error), json::read));
    match read {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err("the reply is JSON, but no object".to_owned()),
        Err(error) => Err(format!("the reply is no JSON object: {error}")),
    }
}

fn text(map: &Map<String, Value>, key: &str, usual: &str) -> Text {
    match map.get(key) {
        None | Some(Value::Null) => usual.into(),
        Some(Value::String(text)) => text.as_str().into(),
        Some(other) => other.to_string().into(),
    }
}

fn flag(map: &Map<String, Value>, key: &str) -> bool {
    match map.get(key) {
        Some(Value::Bool(flag)) => *flag,
        Some(Value::String(word)) => word.eq_ignore_ascii_case("true"),
        _ => false,
    }
}

/// Reads a perception. Missing fields get their defaults.
pub(crate) fn perception(reply: &str) -> Result<Perception, String> {
    let map = object(reply)?;
    Ok(Perception {
        entities: match map.get("entities") {
            Some(Value::Array(all)) => all.clone(),
            None | Some(Value::Null) => Vec::new(),
            Some(one) => vec![one.clone()],
        },
        result_requirement: text(&map, "result_requirement", "No requirement specified."),
        original_goal_achieved: flag(&map, "original_goal_achieved"),
        confidence: text(&map, "confidence", "0.0"),
        reasoning: text(&map, "reasoning", "No reasoning given."),
        local_goal_achieved: flag(&map, "local_goal_achieved"),
        local_reasoning: text(&map, "local_reasoning", "No local reasoning given."),
        last_tooluse_summary: text(&map, "last_tooluse_summary", "None"),
        solution_summary: text(&map, "solution_summary", "No summary."),
    })
}

/// Reads a decision. Its step may be nested in `next_step`.
pub(crate) fn decision(reply: &str) -> Result<Decided, String> {
    let mut map = object(reply)?;
    if let Some(Value::Object(step)) = map.remove("next_step") {
        map.extend(step);
    }
    let lines = match map.get("plan_text") {
        Some(Value::Array(lines)) => lines.iter().map(line).collect(),
        Some(Value::String(text)) => text.lines().map(Text::from).collect(),
        _ => vec!["Step 0: No valid plan returned by LLM.".into()],
    };
    Ok(Decided {
        text: lines,
        description: text(&map, "description", "Missing from LLM response"),
        work: work(&map),
    })
}

/// A plan that a person gave: lines, and a step as a decision names it.
pub(crate) fn given(lines: &[Text], step: &Map<String, Value>) -> Decided {
    let first = lines.first().map_or("", |line| &**line);
    Decided { text: lines.to_vec(), description: text(step, "description", first), work: work(step) }
}

fn line(line: &Value) -> Text {
    line.as_str().map_or_else(|| line.to_string().into(), Text::from)
}

fn work(map: &Map<String, Value>) -> StepWork {
    let (code, conclusion) = (text(map, "code", ""), text(map, "conclusion", ""));
    let named = map.get("type").and_then(Value::as_str).unwrap_or_default().to_ascii_uppercase();
    match named.as_str() {
        "CODE" => StepWork::Code(code),
        "CONCLUDE" => StepWork::Conclude(conclusion),
        // Not named: what is there says it.
        "" if !code.trim().is_empty() => StepWork::Code(code),
        "" if !conclusion.trim().is_empty() => StepWork::Conclude(conclusion),
        _ => StepWork::Nop,
    }
}
