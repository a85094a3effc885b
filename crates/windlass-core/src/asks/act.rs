//! Act: the model answers or calls tools. Its calls alone write the conversation.

use super::{Ask, Place, Rules};
use crate::decide::Decision;
use crate::event::TurnFailed;
use crate::outcome::FailKind;
use crate::reply::{FailureKind, ModelFailure, Reply};
use crate::view;

pub(super) const RULES: Rules = Rules { place: Place::Turn, view: view::of_policy, replied, failed };

/// The reply is on record with its calls; what follows depends on what the run is about to do.
pub(super) fn replied(decision: &mut Decision, ask: &Ask, reply: Reply) {
    decision.turn_replied(ask, reply);
}

/// A closing call that failed is the end of the closing; any other one is the end of the run.
pub(super) fn failed(decision: &mut Decision, ask: &Ask, failure: ModelFailure) {
    let kind = if failure.kind == FailureKind::TooLarge { FailKind::TooLarge } else { FailKind::Model };
    let error = failure.to_string().into();
    decision.record(TurnFailed::last(ask, failure));
    if decision.state.ending.closing().is_some() {
        decision.finish_closing(None);
    } else {
        decision.fail(kind, error);
    }
}
