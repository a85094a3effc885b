//! The plan of a run in Session 10's shape. A run without a planner has one version: its tool calls as CODE steps, and its answer as a
//! CONCLUDE step.

use serde_json::{Map, Value, json};

use super::succeeded;
use crate::projections::trail::{By, Trail, TrailCall};

/// Perception and plan versions of a run.
pub(super) struct Plan {
    pub(super) perception: Value,
    pub(super) versions: Vec<Value>,
}

pub(super) fn of(trail: &Trail) -> Plan {
    let mut steps: Vec<Value> = trail.calls().enumerate().map(|(index, call)| code(index, call)).collect();
    if let Some(answer) = trail.answer().filter(|_| trail.end.is_some()) {
        steps.push(conclusion(steps.len(), &answer, trail));
    }
    let text: Vec<String> = trail.calls().map(|call| format!("Call {}.", call.name)).collect();
    let versions = vec![json!({ "plan_text": text, "steps": steps })];
    Plan { perception: Value::Null, versions }
}

impl Plan {
    pub(super) fn last_text(&self) -> Value {
        self.versions.last().map(|version| version["plan_text"].clone()).unwrap_or_default()
    }

    pub(super) fn last_steps(&self) -> Value {
        self.versions.last().map(|version| version["steps"].clone()).unwrap_or_default()
    }

    pub(super) fn confidence(&self) -> Value {
        self.perception.get("confidence").cloned().unwrap_or_default()
    }

    pub(super) fn note(&self, trail: &Trail) -> String {
        let said = self.perception.get("reasoning").and_then(Value::as_str);
        said.map_or_else(|| trail.status(), str::to_owned)
    }
}

fn code(index: usize, call: &TrailCall) -> Value {
    let args: Value =
        serde_json::from_str(&call.args).unwrap_or_else(|_| Value::String(call.args.to_string()));
    let status = match (&call.outcome, call.error()) {
        (None, _) => "pending",
        (Some(_), None) => "completed",
        (Some(_), Some(_)) => "failed",
    };
    step(
        index,
        "CODE",
        &format!("Call {}.", call.name),
        &[
            ("code", json!({ "tool_name": call.name, "tool_arguments": args })),
            ("execution_result", result(call)),
            ("error", json!(call.error())),
            ("status", json!(status)),
            ("attempts", json!(u32::from(call.began.is_some()) + call.retries)),
        ],
    )
}

fn conclusion(index: usize, answer: &str, trail: &Trail) -> Value {
    let status = if succeeded(trail) { "completed" } else { "failed" };
    step(
        index,
        "CONCLUDE",
        "Give the answer.",
        &[("conclusion", json!(answer)), ("status", json!(status)), ("attempts", json!(1))],
    )
}

/// A step with all fields of the form, those that are not given as null.
fn step<const N: usize>(index: usize, kind: &str, text: &str, given: &[(&str, Value); N]) -> Value {
    let mut fields = Map::new();
    fields.insert("index".to_owned(), json!(index));
    fields.insert("description".to_owned(), json!(text));
    fields.insert("type".to_owned(), json!(kind));
    for name in ["code", "conclusion", "execution_result", "error", "perception", "status", "attempts"] {
        let value = given.iter().find(|(given, _)| *given == name).map(|(_, value)| value.clone());
        fields.insert(name.to_owned(), value.unwrap_or_default());
    }
    fields.insert("was_replanned".to_owned(), json!(false));
    fields.insert("parent_index".to_owned(), Value::Null);
    Value::Object(fields)
}

/// The result of a CODE step: times in seconds.
fn result(call: &TrailCall) -> Value {
    let Some(outcome) = &call.outcome else { return Value::Null };
    let seconds = call.ms() as f64 / 1e3;
    let mut fields = Map::new();
    fields.insert("status".to_owned(), json!(if outcome.is_ok() { "success" } else { "error" }));
    match call.error() {
        None => fields.insert("result".to_owned(), json!(call.result())),
        Some(error) => fields.insert("error".to_owned(), json!(error)),
    };
    fields.insert("execution_time".to_owned(), json!(seconds));
    fields.insert("total_time".to_owned(), json!(seconds));
    fields.insert("retry_count".to_owned(), json!(call.retries));
    if call.result_by == By::Person {
        fields.insert("human_provided".to_owned(), json!(true));
    }
    Value::Object(fields)
}
