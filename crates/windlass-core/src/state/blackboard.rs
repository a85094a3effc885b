//! The blackboard: the bounded state that takes the place of the conversation in requests (`view: blackboard`).
//!
//! The model writes it with the tool [`UPDATE_BLACKBOARD`]; results and errors of calls are noted by themselves. Each list has
//! a bound and keeps its newest items, so that a request never grows beyond it.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_text::json::read;

use crate::policy::own_tools::blackboard::{FACTS, OBSERVATIONS, OTHERS, PLAN};
use crate::vocabulary::ids::Text;
use crate::vocabulary::outcome::CallOutcome;

/// Characters of a result, and of every other item (PromptChain).
const ITEM_CHARS: usize = 500;

/// The blackboard of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Blackboard {
    /// The model's notes.
    notes: Notes,
    /// Errors of calls.
    errors: Vec<Text>,
    /// Results of calls, with the names of their tools. A restored snapshot leaves them as they are.
    results: Vec<(Text, Text)>,
    /// The last snapshot.
    saved: Option<Arc<Notes>>,
}

/// The model's notes on the blackboard.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Notes {
    plan: Vec<Text>,
    completed: Vec<Text>,
    facts: Vec<(Text, Text)>,
    observations: Vec<Text>,
    /// In hundredths; `None`: 1.00.
    confidence: Option<u8>,
}

impl Blackboard {
    /// The model writes: the arguments fit the tool's schema.
    fn update(&mut self, args: &str) {
        let Ok(args) = read(args) else { return };
        let texts = |key: &str| -> Vec<Text> {
            let items = args.get(key).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(Value::as_str).map(cut).collect()
        };
        let notes = &mut self.notes;
        if args.get("plan").is_some() {
            notes.plan = texts("plan");
            notes.plan.truncate(PLAN);
        }
        add(&mut notes.completed, texts("completed"), OTHERS);
        add(&mut notes.observations, texts("observations"), OBSERVATIONS);
        for (name, value) in args.get("facts").and_then(Value::as_object).into_iter().flatten() {
            let (name, value) = (cut(name), cut(value.as_str().unwrap_or_default()));
            notes.facts.retain(|(known, _)| *known != name);
            add(&mut notes.facts, [(name, value)], FACTS);
        }
        if let Some(confidence) = args.get("confidence").and_then(Value::as_f64) {
            notes.confidence = Some((confidence.clamp(0.0, 1.0) * 100.0).round() as u8);
        }
    }

    /// A call has ended: its result or error is noted, or it has `written` here with these arguments.
    pub(crate) fn note(&mut self, tool: &Text, outcome: &CallOutcome, written: Option<&str>) {
        match (outcome, written) {
            (CallOutcome::Ok { .. }, Some(args)) => self.update(args),
            (CallOutcome::Ok { content }, None) => self.add_result(tool, &content.text()),
            (CallOutcome::Error { message, .. } | CallOutcome::Malformed { message }, _) => {
                self.add_error(tool, message);
            }
            (CallOutcome::TimedOut { after_ms }, _) => {
                self.add_error(tool, &format!("timed out after {} seconds", *after_ms as f64 / 1e3));
            }
            (CallOutcome::Denied { .. }, _) => self.add_error(tool, "denied"),
            (CallOutcome::UnknownTool { .. }, _) => self.add_error(tool, "there is no such tool"),
            (
                CallOutcome::Rejected { .. }
                | CallOutcome::Skipped { .. }
                | CallOutcome::Interrupted
                | CallOutcome::Abandoned
                | CallOutcome::Unknown,
                _,
            ) => {}
        }
    }

    fn add_result(&mut self, tool: &Text, result: &str) {
        add(&mut self.results, [(cut(tool), cut(result))], OTHERS);
    }

    fn add_error(&mut self, tool: &str, error: &str) {
        add(&mut self.errors, [cut(&format!("{tool}: {error}"))], OTHERS);
    }

    /// Whether it has changed since the last snapshot.
    pub(crate) fn has_changed(&self) -> bool {
        self.saved.as_ref().map_or(self.notes != Notes::default(), |saved| **saved != self.notes)
    }

    pub(crate) fn save(&mut self) {
        self.saved = Some(Arc::new(self.notes.clone()));
    }

    /// Goes back to the last snapshot, or to the empty board.
    pub(crate) fn restore(&mut self) {
        self.notes = self.saved.as_deref().cloned().unwrap_or_default();
    }

    /// The blackboard as a model sees it, in PromptChain's form.
    pub(crate) fn show(&self, objective: &str, iteration: u64) -> String {
        let notes = &self.notes;
        let mut out = format!("OBJECTIVE: {objective}");
        let numbered = notes.plan.iter().enumerate().map(|(place, step)| format!("{}. {step}", place + 1));
        section(&mut out, "CURRENT PLAN:", numbered, "(No plan yet)");
        section(&mut out, "COMPLETED STEPS:", marked("✓", &notes.completed), "(No steps completed yet)");
        section(&mut out, "FACTS DISCOVERED:", pairs(&notes.facts), "(No facts discovered yet)");
        section(&mut out, "RECENT OBSERVATIONS:", marked("→", &notes.observations), "(No observations yet)");
        section(&mut out, "ERRORS ENCOUNTERED:", marked("⚠", &self.errors), "(No errors)");
        let confidence = f64::from(notes.confidence.unwrap_or(100)) / 100.0;
        // Writing into a String cannot fail.
        let _infallible = write!(out, "\n\nCONFIDENCE: {confidence:.2}\nITERATION: {iteration}");
        section(&mut out, "AVAILABLE TOOL RESULTS:", pairs(&self.results), "(No tool results yet)");
        out
    }
}

fn section(out: &mut String, heading: &str, lines: impl Iterator<Item = String>, none: &str) {
    let _infallible = write!(out, "\n\n{heading}");
    let before = out.len();
    for line in lines {
        let _infallible = write!(out, "\n  {line}");
    }
    if out.len() == before {
        let _infallible = write!(out, "\n  {none}");
    }
}

fn marked<'t>(mark: &'t str, items: &'t [Text]) -> impl Iterator<Item = String> + 't {
    items.iter().map(move |item| format!("{mark} {item}"))
}

fn pairs(items: &[(Text, Text)]) -> impl Iterator<Item = String> {
    items.iter().map(|(name, value)| format!("• {name}: {value}"))
}

/// Adds items, and drops the oldest above the bound.
fn add<T>(list: &mut Vec<T>, items: impl IntoIterator<Item = T>, most: usize) {
    list.extend(items);
    list.drain(..list.len().saturating_sub(most));
}

/// An item within its bound.
fn cut(text: &str) -> Text {
    match text.char_indices().nth(ITEM_CHARS) {
        Some((at, _)) => {
            let prefix = text.get(..at).unwrap_or_default();
            format!("{prefix}... (truncated, {} chars total)", text.chars().count()).into()
        }
        None => text.into(),
    }
}
