//! The policy's demands on the calls of a turn (`tool_choice`), and how far the run has kept to them.

use crate::policy::values::{Phases, Stop};
use crate::protocol::fact::turns::TurnCompleted;
use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::vocabulary::purpose::ToolChoice;
use crate::vocabulary::reply::{FailureKind, ModelFailure, Refusal, StopReason};

/// The demands on the turns of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Demands {
    /// Number of turns that have kept to theirs.
    kept: u32,
    /// Replies in a row that have not kept to theirs.
    unmet: u32,
    /// That of the last reply.
    last: ToolChoice,
    /// The models whose servers refuse a forced choice.
    unforced: Vec<u32>,
}

/// Nothing was demanded yet.
pub(crate) static NONE: Demands = Demands { kept: 0, unmet: 0, last: ToolChoice::Auto, unforced: Vec::new() };

impl Demands {
    /// The number of the turn that comes next, from 1.
    pub(crate) fn next(&self) -> u32 {
        self.kept.saturating_add(1)
    }

    /// Replies in a row that have not kept to theirs.
    pub(crate) fn unmet(&self) -> u32 {
        self.unmet
    }

    /// That of the last reply.
    pub(crate) fn last(&self) -> &ToolChoice {
        &self.last
    }

    /// A reply came that makes these calls.
    fn replied<'n>(&mut self, demand: ToolChoice, calls: impl Iterator<Item = &'n str>) {
        if demand.is_kept_by(calls) {
            (self.kept, self.unmet) = (self.next(), 0);
        } else {
            self.unmet = self.unmet.saturating_add(1);
        }
        self.last = demand;
    }

    /// A reply came that is under none.
    fn replied_freely(&mut self) {
        (self.unmet, self.last) = (0, ToolChoice::Auto);
    }

    /// The server of a model refused a forced choice.
    pub(crate) fn refused_by(&mut self, model: u32) {
        if !self.unforced.contains(&model) {
            self.unforced.push(model);
        }
    }
}

impl ModelCall {
    /// Whether the call failed because its choice of a tool is forced, as far as the failure says so.
    pub(crate) fn is_refused_choice(&self, failure: &ModelFailure) -> bool {
        let refused = match failure.refuses {
            Some(refused) => refused == Refusal::ToolChoice,
            None => failure.kind == FailureKind::Unsupported,
        };
        refused && self.choice().is_forced()
    }
}

impl State {
    /// The demand on the loop's next turn.
    pub(crate) fn demand(&self) -> &ToolChoice {
        self.setup.policy().request.tool_choice.at(self.progress.demands().next())
    }

    /// The choice that the loop's next turn sends: where the server knows no forced choice, or the model is told of no tools because two
    /// phases ask for actions in words, nothing is forced, and the reply is looked at all the same.
    pub(crate) fn choice_of_turn(&self) -> ToolChoice {
        let (demand, replies) = (self.demand(), &self.setup.policy().replies);
        let model = self.model_of_turn(demand, None);
        let in_words = replies.phases == Phases::Two && replies.stop == Stop::Text;
        if demand.is_forced() && (in_words || self.progress.demands().unforced.contains(&model)) {
            ToolChoice::Auto
        } else {
            demand.clone()
        }
    }

    /// The reply of a turn of the loop came. One that was cut off, and one that the engine itself asked for something else, are under no demand.
    pub(crate) fn held_to_demand(&mut self, turn: &TurnCompleted, model_call: Option<&ModelCall>) {
        let policy = self.setup.policy();
        let Some(model_call) = model_call
            .filter(|_| turn.purpose == policy.request.purpose && !policy.request.tool_choice.is_auto())
        else {
            return;
        };
        let demand = self.demand().clone();
        let whole = match turn.stop {
            StopReason::Stop | StopReason::ToolCalls => true,
            // Without calls the provider goes on with it.
            StopReason::Paused => !turn.calls.is_empty(),
            StopReason::Length | StopReason::Refused | StopReason::Filtered => false,
        };
        let asked = *model_call.choice() == demand || *model_call.choice() == ToolChoice::Auto;
        let demands = self.progress.demands_mut();
        if whole && asked && self.ending.closing().is_none() {
            demands.replied(demand, turn.calls.iter().map(|call| &*call.name));
        } else {
            demands.replied_freely();
        }
    }
}
