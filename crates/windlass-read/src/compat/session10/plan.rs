//! The plan of a run in Session 10's shape. A run without a planner has one version: its tool calls as CODE steps, and its answer as a
//! CONCLUDE step.

use windlass_core::State;
use windlass_core::event::{Perception, StepStatus, StepWork};
use windlass_core::run::{DoneStep, PlanVersion};

use serde_json::{Map, Value, json};

use crate::timeline::{By, Timeline, TimelineCall};

/// The tool of a step of code, as Session 10 names it.
const CODE_TOOL: &str = "raw_code_block";

/// Perception and plan versions of a run.
pub(super) struct Plan {
    /// The first one.
    pub(super) perception: Value,
    /// The last one.
    found: Value,
    pub(super) versions: Vec<Value>,
}

/// The plan of a plan loop.
pub(super) fn planned(timeline: &Timeline, state: &State) -> Plan {
    let of = |found: Option<&Perception>| found.map_or(Value::Null, |found| json!(found));
    let versions = state.plan().map_or(&[][..], |plan| &plan.versions);
    let mut listed: Vec<Value> =
        (0..versions.len()).filter_map(|place| version(timeline, versions, place)).collect();
    if timeline.ending == By::Person
        && let Some(answer) = timeline.answer()
    {
        // The step that a person adds at the end (S7).
        let count = versions.iter().map(|version| version.steps.len()).sum();
        let given = json!({ "status": "success", "result": answer, "human_provided": true });
        let fields = [
            ("conclusion", json!(answer)),
            ("execution_result", given),
            ("status", json!("completed")),
            ("attempts", json!(1)),
        ];
        if listed.is_empty() {
            listed.push(json!({ "plan_text": [], "steps": [] }));
        }
        let last = listed.last_mut().and_then(|version| version.get_mut("steps")?.as_array_mut());
        let concluded = versions
            .last()
            .and_then(|version| version.steps.last())
            .is_some_and(|step| matches!(step.step.work, StepWork::Conclude(_)));
        if let Some(steps) = last.filter(|_| !concluded) {
            steps.push(step(count, "CONCLUDE", "A person concludes.", &fields));
        }
    }
    let last = state.plan().and_then(|plan| plan.perception.as_ref());
    Plan { perception: of(timeline.perception.as_ref()), found: of(last), versions: listed }
}

fn version(timeline: &Timeline, versions: &[PlanVersion], place: usize) -> Option<Value> {
    let version = versions.get(place)?;
    let before: usize = versions.iter().take(place).map(|version| version.steps.len()).sum();
    let replaced = place + 1 < versions.len();
    let steps = version.steps.iter().enumerate().map(|(at, done)| {
        let last = at + 1 == version.steps.len();
        let useless = done.perception.as_ref().is_some_and(|found| !found.local_goal_achieved);
        // The first step of a new plan stands in for the last one of the plan before.
        let parent = if at == 0 { before.checked_sub(1) } else { None };
        let mut step = step_of(timeline, done);
        if let Some(fields) = step.as_object_mut() {
            fields.insert("was_replanned".to_owned(), json!(replaced && last && useless));
            fields.insert("parent_index".to_owned(), json!(parent));
        }
        step
    });
    Some(json!({ "plan_text": version.text, "steps": steps.collect::<Vec<_>>() }))
}

fn step_of(timeline: &Timeline, done: &DoneStep) -> Value {
    let index = usize::try_from(done.step.index).unwrap_or(usize::MAX);
    let code = done.call.as_ref().and_then(|call| timeline.code(call));
    let failed = done.outcome.as_ref().is_some_and(|outcome| !outcome.is_ok());
    let (kind, status) = match (&done.step.work, done.status) {
        (StepWork::Nop, _) => ("NOP", "clarification_needed"),
        (work, status) => {
            let kind = if matches!(work, StepWork::Code(_)) { "CODE" } else { "CONCLUDE" };
            let status = match status {
                Some(StepStatus::Completed | StepStatus::HumanProvided) => "completed",
                Some(StepStatus::Failed) => "failed",
                None => "pending",
            };
            (kind, status)
        }
    };
    let source = match &done.step.work {
        StepWork::Code(code) => json!({ "tool_name": CODE_TOOL, "tool_arguments": { "code": code } }),
        StepWork::Conclude(_) | StepWork::Nop => Value::Null,
    };
    let conclusion = match &done.step.work {
        StepWork::Conclude(text) => json!(text),
        StepWork::Code(_) | StepWork::Nop => Value::Null,
    };
    let error = failed.then(|| code.and_then(TimelineCall::error)).flatten();
    step(
        index,
        kind,
        &done.step.description,
        &[
            ("code", source),
            ("conclusion", conclusion),
            ("execution_result", executed(done, code)),
            ("error", json!(error)),
            ("perception", json!(done.perception)),
            ("status", json!(status)),
            ("attempts", json!(done.outcome.as_ref().map_or(0, |_| done.retries + 1))),
        ],
    )
}

/// The result of the code of a step. A person's result stands in place of the code's.
fn executed(done: &DoneStep, code: Option<&TimelineCall>) -> Value {
    if !matches!(done.step.work, StepWork::Code(_)) || done.outcome.is_none() {
        return Value::Null;
    }
    let seconds = |ms: u64| json!(ms as f64 / 1e3);
    let person = done.status == Some(StepStatus::HumanProvided);
    let ok = person || done.outcome.as_ref().is_some_and(windlass_core::CallOutcome::is_ok);
    let mut fields = Map::new();
    fields.insert("status".to_owned(), json!(if ok { "success" } else { "error" }));
    fields.insert(if ok { "result" } else { "error" }.to_owned(), json!(done.outcome_text()));
    fields.insert("execution_time".to_owned(), seconds(code.map_or(0, TimelineCall::last_ms)));
    fields.insert("total_time".to_owned(), seconds(code.map_or(0, TimelineCall::ms)));
    fields.insert("retry_count".to_owned(), json!(done.retries));
    if person {
        fields.insert("human_provided".to_owned(), json!(true));
    }
    Value::Object(fields)
}

pub(super) fn of(timeline: &Timeline) -> Plan {
    let mut steps: Vec<Value> = timeline.calls().enumerate().map(|(index, call)| code(index, call)).collect();
    if let Some(answer) = timeline.answer().filter(|_| timeline.end.is_some()) {
        steps.push(conclusion(steps.len(), &answer, timeline));
    }
    let text: Vec<String> = timeline.calls().map(|call| format!("Call {}.", call.name)).collect();
    let versions = vec![json!({ "plan_text": text, "steps": steps })];
    Plan { perception: Value::Null, found: Value::Null, versions }
}

impl Plan {
    pub(super) fn last_text(&self) -> Value {
        self.versions.last().map(|version| version["plan_text"].clone()).unwrap_or_default()
    }

    pub(super) fn last_steps(&self) -> Value {
        self.versions.last().map(|version| version["steps"].clone()).unwrap_or_default()
    }

    pub(super) fn confidence(&self) -> Value {
        self.found.get("confidence").cloned().unwrap_or_default()
    }

    pub(super) fn note(&self, timeline: &Timeline) -> String {
        let reasoning = self.found.get("reasoning").and_then(Value::as_str);
        reasoning.map_or_else(|| timeline.status(), str::to_owned)
    }
}

fn code(index: usize, call: &TimelineCall) -> Value {
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

fn conclusion(index: usize, answer: &str, timeline: &Timeline) -> Value {
    let status = if timeline.succeeded() { "completed" } else { "failed" };
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
fn result(call: &TimelineCall) -> Value {
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
