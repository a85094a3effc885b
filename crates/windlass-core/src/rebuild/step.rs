//! The edits of a hook after a step, made again from the facts that followed from them.

use serde_json::Value;

use crate::action::{HookEnd, StepEdits, What};
use crate::event::{Event, Fact, RunEnded};
use crate::outcome::{FailKind, Status};
use crate::state::{Phase, State};

/// What stands before the output in the error of a hook whose output did not fit.
const RAW_OUTPUT: &str = "\nraw output: ";

/// The hook's input, where the run waits for one.
pub(super) fn stepped(state: &State, events: &[Event]) -> Option<What> {
    let Phase::Stepping { seq } = state.phase else { return None };
    let mut edits = StepEdits::default();
    let mut facts = events.iter().map(|event| &event.fact).peekable();
    if let Some(Fact::Adjusted(adjusted)) = facts.peek() {
        edits.adjusted = Some(adjusted.clone());
        facts.next();
    }
    if let Some(Fact::HistoryEdited(edited)) = facts.peek() {
        edits.splices.clone_from(&edited.splices);
        facts.next();
    }
    if let Some(Fact::RunEnded(end)) = facts.next() {
        edits.end = hook_end(end);
    }
    Some(What::Stepped { action: state.action(seq), edits: Box::new(edits) })
}

fn hook_end(end: &RunEnded) -> Option<HookEnd> {
    match (end.status, &end.error) {
        (Status::Answered, _) => Some(HookEnd::Finish(end.output.clone().unwrap_or_default())),
        (Status::Failed(FailKind::Hook), Some(error)) => Some(HookEnd::Abort(error.clone())),
        (Status::Failed(FailKind::Parse), Some(error)) => {
            let (_, output) = error.rsplit_once(RAW_OUTPUT)?;
            serde_json::from_str::<Value>(output).ok().map(HookEnd::Finish)
        }
        _ => None,
    }
}
