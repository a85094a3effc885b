//! The JSON contracts of perception and decision: how replies are read, with defaults for what is missing (S).

use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_text::json::object_in;

use crate::policy::iterations::Contracts;
use crate::protocol::fact::plan::{Perception, StepWork};
use crate::state::State;
use crate::vocabulary::ids::Text;
use crate::vocabulary::purpose::Purpose;

/// The types of a step, for a model that named none of them.
const TYPES: &str = "it must be \"CODE\" (with `code`), \"CONCLUDE\" (with `conclusion`) or \"NOP\" (with the question as `description`)";

/// A decision: a plan and its next step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decided {
    pub(crate) text: Vec<Text>,
    pub(crate) description: Text,
    pub(crate) work: StepWork,
}

/// The JSON Schema of replies for this purpose, where the policy wants one sent. All fields are required and no others allowed,
/// as strict servers demand.
pub(crate) fn schema(state: &State, purpose: Purpose) -> Option<Arc<Value>> {
    if state.setup.policy().replies.contracts == Contracts::Text {
        return None;
    }
    let (text, flag) = (|| json!({ "type": "string" }), || json!({ "type": "boolean" }));
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    let fields = match purpose {
        Purpose::Perceive => json!({
            "entities": texts(), "result_requirement": text(), "original_goal_achieved": flag(), "confidence": text(),
            "reasoning": text(), "local_goal_achieved": flag(), "local_reasoning": text(), "last_tooluse_summary": text(),
            "solution_summary": text(),
        }),
        Purpose::Decide => json!({
            "plan_text": texts(), "step_index": { "type": "integer" }, "description": text(),
            "type": { "enum": ["CODE", "CONCLUDE", "NOP"] }, "code": text(), "conclusion": text(),
        }),
        Purpose::Judge => json!({ "satisfied": flag(), "missing": text() }),
        Purpose::Act | Purpose::Merge | Purpose::Summarise | Purpose::Verify => return None,
    };
    let required: Vec<&String> = fields.as_object().into_iter().flat_map(Map::keys).collect();
    Some(Arc::new(json!({
        "type": "object", "properties": fields, "required": required, "additionalProperties": false,
    })))
}

/// The JSON object of a reply: in a fence, bare, or between other words.
fn object(reply: &str) -> Result<Map<String, Value>, String> {
    if reply.trim().is_empty() {
        return Err("the reply is empty".to_owned());
    }
    let fenced = reply.split_once("```").map(|(_, rest)| rest.strip_prefix("json").unwrap_or(rest));
    let fenced = fenced.and_then(|rest| rest.split_once("```")).map(|(body, _)| body);
    let text = fenced.filter(|body| body.contains('{')).unwrap_or(reply).trim();
    let read = read(text).or_else(|error| object_in(reply).map_or(Err(error), read));
    match read {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err("the reply is JSON, but no object".to_owned()),
        Err(error) => Err(format!("the reply is no JSON object: {error}")),
    }
}

/// Reads JSON. Models write code into it with line breaks and tabs as they are, which can mean only one thing.
fn read(text: &str) -> Result<Value, String> {
    windlass_text::json::read(text)
        .or_else(|error| windlass_text::json::read(&escaped(text)).map_err(|_| error))
}

/// The text with the control characters within its strings escaped.
fn escaped(text: &str) -> String {
    let (mut out, mut within, mut skips) = (String::with_capacity(text.len()), false, false);
    for char in text.chars() {
        let quote = char == '"' && !skips;
        skips = within && char == '\\' && !skips;
        within ^= quote;
        match char {
            '\n' if within => out.push_str("\\n"),
            '\r' if within => out.push_str("\\r"),
            '\t' if within => out.push_str("\\t"),
            _ => out.push(char),
        }
    }
    out
}

fn text(map: &Map<String, Value>, key: &str, default: &str) -> Text {
    match map.get(key) {
        None | Some(Value::Null) => default.into(),
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

/// Reads a decision. Its step may be nested in `next_step`. A step without the work that its type names is an error; one
/// without a type and without work is a NOP.
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
        work: work(&map)?,
    })
}

/// Checks a plan that a person gave: it has lines, and a step that can be carried out.
pub(crate) fn check_given(lines: &[Text], step: Option<&Value>) -> Result<(), String> {
    if lines.iter().all(|line| line.trim().is_empty()) {
        return Err("`plan` has no lines: write one for each step".to_owned());
    }
    match step {
        None => Ok(()),
        Some(Value::Object(step)) => work(step).map(drop),
        Some(_) => Err(format!("`step` is no object: {TYPES}")),
    }
}

/// A plan that a person gave: lines, and a step as a decision names it.
pub(crate) fn given(lines: &[Text], step: &Map<String, Value>) -> Decided {
    let first = lines.first().map_or("", |line| &**line);
    let work = work(step).unwrap_or(StepWork::Nop);
    Decided { text: lines.to_vec(), description: text(step, "description", first), work }
}

fn line(line: &Value) -> Text {
    line.as_str().map_or_else(|| line.to_string().into(), Text::from)
}

fn work(map: &Map<String, Value>) -> Result<StepWork, String> {
    let (code, conclusion) = (text(map, "code", ""), text(map, "conclusion", ""));
    let (codes, concludes) = (!code.trim().is_empty(), !conclusion.trim().is_empty());
    let named = map.get("type").and_then(Value::as_str).unwrap_or_default().trim().to_ascii_uppercase();
    match named.as_str() {
        // Not named: what is there says it, and without anything it is the default of S.
        "CODE" | "" if codes => Ok(StepWork::Code(code)),
        "CONCLUDE" | "" if concludes => Ok(StepWork::Conclude(conclusion)),
        "NOP" | "NOOP" | "" => Ok(StepWork::Nop),
        "CODE" => {
            Err("`type` is \"CODE\", but `code` is empty: write Python there that returns a result"
                .to_owned())
        }
        "CONCLUDE" => {
            Err("`type` is \"CONCLUDE\", but `conclusion` is empty: write the answer there".to_owned())
        }
        other => Err(format!("`type` is {other:?}: {TYPES}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(reply: &str) -> String {
        decision(reply).unwrap_err()
    }

    #[test]
    fn s13_code_with_line_breaks_as_they_are_is_read() {
        let reply = "{\"type\": \"CODE\", \"code\": \"a = \\\"x\\\"\n\tb = 1\nreturn a\"}";
        let StepWork::Code(code) = decision(reply).unwrap().work else { panic!("no code") };
        assert_eq!(&*code, "a = \"x\"\n\tb = 1\nreturn a");
        assert!(
            perception("{\"reasoning\": \"one\ntwo\",\n\"original_goal_achieved\": true}")
                .unwrap()
                .original_goal_achieved
        );
        assert_eq!(wrong(" "), "the reply is empty");
        assert!(wrong("{\"type\": \"CODE\"").starts_with("the reply is no JSON object: not valid JSON: "));
    }

    #[test]
    fn s13_a_step_without_its_work_is_told() {
        assert!(wrong(r#"{"type": "CODE", "conclusion": "x"}"#).contains("`code` is empty"));
        assert!(wrong(r#"{"type": "CONCLUDE", "code": "return 1"}"#).contains("`conclusion` is empty"));
        assert!(
            wrong(r#"{"type": "CODE | CONCLUDE | NOP"}"#).contains("`type` is \"CODE | CONCLUDE | NOP\": ")
        );
        assert_eq!(decision(r#"{"plan_text": []}"#).unwrap().work, StepWork::Nop);
        assert_eq!(decision(r#"{"type": "noop"}"#).unwrap().work, StepWork::Nop);
        assert_eq!(decision(r#"{"conclusion": "x"}"#).unwrap().work, StepWork::Conclude("x".into()));
    }
}
