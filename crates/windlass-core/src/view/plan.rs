//! The requests of perception and decision: the contract, and JSON made from the plan.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::policy::own_tools::run_code::functions;
use crate::policy::values::Strategy;
use crate::state::State;
use crate::state::ending::Closing;
use crate::state::model_calls::ModelCall;
use crate::state::plan::{DoneStep, Plan, PlanStage, REMEMBERED};
use crate::view::{Growth, Maker, View, contract, full};
use crate::vocabulary::ids::{Millis, Text};
use crate::vocabulary::message::{AssistantMessage, Message};
use crate::vocabulary::model::Wire;
use crate::vocabulary::purpose::Purpose;

/// Messages before the run that are looked at for exchanges.
const LOOKED_AT: usize = 64;

/// Made from the plan each time.
pub(crate) const MAKER: Maker = Maker { view, bytes, growth: Growth::Built };

fn view(state: &State, model_call: &ModelCall) -> View {
    let Some(plan) = state.plan() else { return full::view(state, model_call) };
    let (prompt, messages) = made(state, plan, model_call.purpose());
    let output_form = contract::schema(state, model_call.purpose());
    View { output_form, ..View::alone(prompt, messages) }
}

/// Bytes of the next request: a plan is small, so that it is made to be measured.
fn bytes(state: &State, wire: Wire) -> u64 {
    let Some(plan) = state.plan() else { return full::bytes(state, wire) };
    let purpose = if state.ending.closing().is_some() { Purpose::Act } else { next_purpose(plan) };
    let (prompt, messages) = made(state, plan, purpose);
    count(&prompt) + count(&messages)
}

fn count(messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|message| message.bytes()).sum()
}

/// The messages before the request's own, and these.
fn made(state: &State, plan: &Plan, purpose: Purpose) -> (Vec<Arc<Message>>, Vec<Arc<Message>>) {
    let texts = &state.setup.policy().wording.texts;
    let planning = matches!(purpose, Purpose::Perceive | Purpose::Decide);
    let (contract, input) = if purpose == Purpose::Perceive {
        (texts.perceive.to_string(), perception_input(state, plan))
    } else if planning {
        (
            texts.decide.replace("{tools}", &functions(&state.without_denied(state.toolbox.own()))),
            decision_input(state, plan),
        )
    } else {
        // A closing call sums up.
        (String::new(), decision_input(state, plan))
    };
    let mut messages = vec![Arc::new(Message::user(fenced(&input)))];
    if let Some((reply, note)) = plan.rejected().filter(|_| planning) {
        if !reply.is_empty() {
            let reply = AssistantMessage { text: Some(reply.clone()), ..AssistantMessage::default() };
            messages.push(Arc::new(Message::Assistant(reply)));
        }
        messages.push(Arc::new(Message::user(note.clone())));
    }
    if let Some(place) = closing(state) {
        messages.extend(state.conversation.history().since(place).cloned());
    }
    (instructed(state.setup.prompt(), &contract), messages)
}

/// Place from which on stands what the closing call that is going on was told.
fn closing(state: &State) -> Option<usize> {
    state.progress.closing().filter(|_| state.ending.closing().is_some_and(Closing::has_called))
}

fn next_purpose(plan: &Plan) -> Purpose {
    match plan.stage() {
        PlanStage::Begun | PlanStage::StepDone => Purpose::Perceive,
        PlanStage::Perceived | PlanStage::Proposed(_) | PlanStage::Made => Purpose::Decide,
    }
}

fn fenced(input: &Value) -> String {
    format!("```json\n{}\n```", serde_json::to_string_pretty(input).unwrap_or_default())
}

/// The agent's instructions with the contract behind them, then its examples.
fn instructed(prompt: &[Arc<Message>], contract: &str) -> Vec<Arc<Message>> {
    let own = prompt
        .first()
        .and_then(|first| if let Message::System { text } = &**first { Some(text) } else { None });
    let rest = prompt.iter().skip(usize::from(own.is_some())).cloned();
    let parts = own.map(|text| &**text).into_iter().chain([contract]).filter(|part| !part.is_empty());
    let text = parts.collect::<Vec<_>>().join("\n\n");
    let system = (!text.is_empty()).then(|| Arc::new(Message::system(text)));
    system.into_iter().chain(rest).collect()
}

fn perception_input(state: &State, plan: &Plan) -> Value {
    let step = plan.step().filter(|_| *plan.stage() == PlanStage::StepDone);
    let (kind, raw) = match step {
        Some(step) => ("step_result", step.outcome_text()),
        None => ("user_query", plan.query.to_string()),
    };
    let current = plan
        .version()
        .map_or_else(|| json!("Initial Query Mode, plan not created"), |version| json!(version.text));
    let before = plan.perception.as_ref();
    let mut input = json!({
        "run_id": state.run.to_string(),
        "snapshot_type": kind,
        "raw_input": raw,
        "memory_excerpt": memory(state, plan),
        "prev_objective": before.map_or("", |before| &*before.result_requirement),
        "prev_confidence": before.map(|before| &*before.confidence),
        "timestamp": timestamp(state.clock.now()),
        "schema_version": 1,
        "current_plan": current,
    });
    if step.is_some() {
        put(&mut input, "original_query", json!(plan.query));
    }
    with_notes(&mut input, state, plan);
    input
}

fn decision_input(state: &State, plan: &Plan) -> Value {
    let strategy = match state.setup.policy().replies.strategy {
        Strategy::Exploratory => "exploratory",
        Strategy::Conservative => "conservative",
    };
    let mut input = match plan.step() {
        None => json!({
            "plan_mode": "initial",
            "planning_strategy": strategy,
            "original_query": plan.query,
            "perception": plan.perception,
        }),
        Some(step) => json!({
            "plan_mode": "mid_session",
            "planning_strategy": strategy,
            "original_query": plan.query,
            "current_plan_version": plan.versions.len(),
            "current_plan": plan.version().map(|version| &version.text),
            "completed_steps": plan.steps().filter(|step| step.is_completed()).map(step_view).collect::<Vec<_>>(),
            "current_step": step_view(step),
        }),
    };
    if !plan.failures.is_empty() {
        put(&mut input, "failed_steps", memory(state, plan));
    }
    if !state.tool_records().is_empty() {
        put(&mut input, "tool_reliability", reliability(state));
    }
    with_notes(&mut input, state, plan);
    input
}

fn step_view(step: &DoneStep) -> Value {
    json!({
        "index": step.step.index,
        "description": step.step.description,
        "result": step.outcome_text(),
        "completed": step.is_completed(),
        "perception": step.perception,
    })
}

/// How the tools did in earlier runs.
fn reliability(state: &State) -> Value {
    let entries = state.tool_records().iter().map(|tool| {
        let of = json!({ "class": tool.reliability, "calls": tool.calls, "succeeded": tool.succeeded });
        (tool.tool.to_string(), of)
    });
    Value::Object(entries.collect())
}

/// Adds a field to an object.
fn put(object: &mut Value, key: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
}

/// Pinned messages from before the run, and messages that came while it was on. The run's input is its query.
fn with_notes(input: &mut Value, state: &State, plan: &Plan) {
    let history = state.conversation.history();
    let pinned = history.pinned_before(plan.from()).into_iter();
    let pinned = pinned.filter(|at| !state.progress.input().contains(at)).filter_map(|at| history.get(at));
    let until = closing(state).unwrap_or(usize::MAX);
    let heard = history.since(plan.from()).take(until.saturating_sub(plan.from()));
    let notes = pinned.chain(heard).filter_map(|message| match &**message {
        Message::User { content, .. } => Some(json!(content.text())),
        Message::System { .. }
        | Message::TaskDelegation { .. }
        | Message::Assistant(_)
        | Message::Tool(_) => None,
    });
    let notes: Vec<Value> = notes.collect();
    if !notes.is_empty() {
        put(input, "user_notes", Value::Array(notes));
    }
}

/// The last exchanges of the conversation before the run: queries with their answers, the newest first.
fn exchanges(state: &State, plan: &Plan) -> Vec<Value> {
    let (mut found, mut answer) = (Vec::new(), None::<Text>);
    let first = plan.from().saturating_sub(LOOKED_AT);
    for place in (first..plan.from()).rev() {
        let Some(message) = state.conversation.history().get(place) else { continue };
        match &**message {
            Message::Assistant(reply) if reply.calls.is_empty() && answer.is_none() => {
                answer.clone_from(&reply.text);
            }
            Message::User { content, .. } | Message::TaskDelegation { content } => {
                if let Some(answer) = answer.take() {
                    let query = content.text();
                    found.push(
                        json!({ "query": query, "result_requirement": "", "solution_summary": answer }),
                    );
                }
            }
            Message::System { .. } | Message::Assistant(_) | Message::Tool(_) => {}
        }
        if found.len() == REMEMBERED {
            break;
        }
    }
    found
}

/// The conversation so far, earlier sessions and failed steps, as S numbers them.
fn memory(state: &State, plan: &Plan) -> Value {
    let earlier = state
        .recalled()
        .iter()
        .map(|run| json!({ "query": run.query, "result_requirement": "", "solution_summary": run.result }));
    let failures = plan.failures.iter().map(|failed| {
        json!({ "query": failed.description, "result_requirement": "Tool failed", "solution_summary": failed.result })
    });
    let entries = exchanges(state, plan).into_iter().chain(earlier).chain(failures).enumerate();
    Value::Object(
        entries.map(|(place, entry)| (format!("memory_{}", place + 1), entry)).collect::<Map<_, _>>(),
    )
}

/// A time as ISO 8601 in UTC, in seconds.
fn timestamp(at: Millis) -> String {
    let seconds = at / 1_000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since 1970 as a date (Howard Hinnant's `civil_from_days`).
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let moved = (5 * day_of_year + 2) / 153;
    let (day, month) =
        (day_of_year - (153 * moved + 2) / 5 + 1, if moved < 10 { moved + 3 } else { moved - 9 });
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60)
}
