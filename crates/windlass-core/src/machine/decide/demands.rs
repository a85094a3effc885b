//! Turns that must make certain calls, or none: what is asked of the model, and what follows where it does not keep to it.
//!
//! Servers differ in what they hold a model to, so nobody relies on them: a call that the turn does not allow is not run, and a reply that
//! lacks the call that it must make is asked for again.

use crate::machine::decision::Decision;
use crate::protocol::fact::turns::TurnStarted;
use crate::protocol::fact::{OutputRejected, Rejection};
use crate::state::model_calls::ModelCall;
use crate::vocabulary::ids::CallId;
use crate::vocabulary::outcome::FailKind;
use crate::vocabulary::purpose::ToolChoice;
use crate::vocabulary::reply::ModelFailure;

/// The most replies in a row that do not keep to the choice of their turn: one more ends the run.
const MOST: u32 = 2;

impl Decision {
    /// The reply does not keep to the choice of its turn, which begins again.
    pub(crate) fn demand_again(&mut self) {
        let demands = self.state.progress.demands();
        let (demand, unmet) = (demands.last().clone(), demands.unmet());
        let calls: Vec<CallId> = self.state.open_calls().map(|open| open.call.id.clone()).collect();
        for call in &calls {
            self.skip_beyond_choice(call.clone());
        }
        if unmet > MOST {
            let error =
                format!("{unmet} replies in a row did not keep to `tool_choice`: {}", wanted(&demand));
            let kind = if demand.is_forced() { FailKind::NoCall } else { FailKind::Malformed };
            self.fail(kind, error.into());
        } else {
            if calls.is_empty() {
                let note = format!("This turn is to {}, and nothing else.", wanted(&demand)).into();
                self.record(OutputRejected { reason: Rejection::NoCall, note, call: None, run_only: true });
            }
            self.next_turn();
        }
    }

    /// Whether the choice of the turn allows a call of that tool.
    pub(crate) fn is_allowed_now(&self, tool: &str) -> bool {
        self.state.progress.demands().last().allows(tool)
    }

    /// A call that the choice of its turn does not allow.
    pub(crate) fn skip_beyond_choice(&mut self, call: CallId) {
        let reason = format!("not at this turn: {}", wanted(self.state.progress.demands().last()));
        self.skip(call, &reason, None);
    }

    /// A server that knows no forced choice: the same turn is asked again without, and held to its choice all the same.
    pub(crate) fn demand_refused(&mut self, model_call: &ModelCall, failure: &ModelFailure) -> bool {
        if !model_call.is_refused_choice(failure)
            || self.state.ending.closing().is_some()
            || !self.state.demand().is_forced()
        {
            return false;
        }
        self.record_retried(model_call, failure);
        self.begin(TurnStarted { attempt: 1, tool_choice: ToolChoice::Auto, ..model_call.again() });
        true
    }
}

/// The calls of a choice, in words for the model.
fn wanted(choice: &ToolChoice) -> String {
    let names: Vec<String> = choice.tools().iter().map(|name| format!("`{name}`")).collect();
    match choice {
        ToolChoice::Auto => "call a tool or answer".to_owned(),
        ToolChoice::None => "answer without calling a tool".to_owned(),
        ToolChoice::Required => "call a tool".to_owned(),
        ToolChoice::Named(_) | ToolChoice::OneOf(_) => format!("call {}", names.join(" or ")),
    }
}
