//! Calls in doubt: their answer is lost, and whether they happened is not known.

use windlass_text::display::{display_name, display_value};

use crate::machine::decide::gating::display_call;
use crate::machine::decision::{Decided, Decision};
use crate::protocol::fact::InputRequested;
use crate::protocol::fact::calls::CallDoubted;
use crate::protocol::input::Found;
use crate::state::open_call::{OpenCall, Stage};
use crate::state::results::plain_failure;
use crate::vocabulary::ids::ActionId;
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::question::QuestionKind;
use crate::vocabulary::tool::{Effect, ToolSpec};

impl Decision {
    /// The answer of a call is lost. One that may run again has failed; one with an effect of its own is settled first.
    pub(crate) fn call_lost(&mut self, action: ActionId, outcome: CallOutcome) -> Decided {
        let Some(open) = self.running(action).filter(|open| matches!(open.stage(), Stage::Running { .. }))
        else {
            return Err(self.unknown(action));
        };
        let open = open.clone();
        let once = self.effect(&open).0 == Effect::Once;
        if self.state.stopping() {
            // Nobody is asked while a run is being stopped (E19).
            let left_behind = !once && outcome == CallOutcome::Abandoned;
            let outcome = if left_behind { outcome } else { self.lost(&open) };
            self.call_over(open.call.id, outcome);
        } else if once {
            self.doubt(&open, Some(&outcome));
            self.go_on();
        } else {
            self.call_over(open.call.id, outcome);
        }
        Ok(())
    }

    /// The outcome of a call that was lost while it ran, and is not taken up. Each call of code has its own.
    pub(crate) fn lost(&self, open: &OpenCall) -> CallOutcome {
        match self.effect(open).0 {
            Effect::Once if !open.is_coding() => CallOutcome::Unknown,
            Effect::Once | Effect::ReadOnly | Effect::Idempotent => CallOutcome::Interrupted,
        }
    }

    /// Puts a call to its check, or to a person. `lost` says how its answer was lost, if not with the process.
    pub(crate) fn doubt(&mut self, open: &OpenCall, lost: Option<&CallOutcome>) {
        self.record(CallDoubted { call: open.call.id.clone(), lost: lost.cloned() });
        // A check that was not there when the call was allowed is not run, either.
        if !self.effect(open).1 || self.has_changed(open) {
            self.ask_outcome(open, lost);
        }
    }

    pub(crate) fn checked(&mut self, action: ActionId, found: Found) -> Decided {
        let Some(open) = self.running(action).cloned() else { return Err(self.unknown(action)) };
        let Stage::Doubted { lost, .. } = open.stage() else { return Err(self.unknown(action)) };
        let found = if self.state.stopping() { Found::Happened(CallOutcome::Unknown) } else { found };
        match found {
            Found::Happened(outcome) => self.finish_call(open.call.id, outcome),
            // Lost within the process and not happened: it has failed, and it is not tried again here. A tool that is lost each time
            // would be called for ever.
            Found::NotHappened => match lost.as_deref().cloned() {
                Some(failed) => self.finish_call(open.call.id, failed),
                None => self.start_call(open.call.id),
            },
            Found::Unsure => self.ask_outcome(&open, lost.as_deref()),
        }
        self.go_on();
        Ok(())
    }

    fn ask_outcome(&mut self, open: &OpenCall, lost: Option<&CallOutcome>) {
        let question = self.next_question();
        let text = outcome_text(open, self.state.target(open), lost).into();
        self.record(InputRequested {
            question,
            kind: QuestionKind::Outcome,
            call: Some(open.call.id.clone()),
            text,
            suggestions: Vec::new(),
            child_question: None,
            next: None,
        });
    }
}

/// The question whether a call whose answer was lost has happened.
fn outcome_text(open: &OpenCall, tool: Option<&ToolSpec>, lost: Option<&CallOutcome>) -> String {
    let (name, args, call) =
        (display_name(open.target_name()), display_value(&open.value()), display_call(open));
    let how = match lost {
        None => format!("had started with {args} when the process died"),
        Some(lost) => {
            let why = plain_failure(lost, open.target_name());
            format!("was called with {args}, and its answer is lost: {}", display_value(&why.into()))
        }
    };
    format!(
        "`{name}` ({call}) {how}. Did it happen? Give its result, let it run again, or say unknown. {}",
        declaring(tool)
    )
}

/// How a tool is declared whose calls may be repeated without a question.
fn declaring(tool: Option<&ToolSpec>) -> String {
    let origin = tool.map_or("", |tool| &*tool.origin);
    let entry = match origin.split_once(' ') {
        Some((kind, name)) => format!("at the entry of the {kind} `{name}`"),
        None if origin == "command" => "at the command's entry".to_owned(),
        None => "at the tool".to_owned(),
    };
    format!(
        "(Asked because the tool counts as `once`. Where a repeat is harmless, say `effect: read_only` or \
         `effect: idempotent` {entry}.)"
    )
}
