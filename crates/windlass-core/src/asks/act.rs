//! Act: the model answers or calls tools. Its calls alone write the conversation.

use super::{Ask, Counts, Place, Rules, Speech};
use crate::decide::Decision;
use crate::event::TurnFailed;
use crate::ids::Text;
use crate::outcome::{FailKind, Status};
use crate::policy::{Texts, filled};
use crate::reply::{FailureKind, ModelFailure, Reply};
use crate::state::State;
use crate::view;

pub(super) const RULES: Rules = Rules {
    place: Place::Turn,
    view: view::of_policy,
    speech: Speech::Conversation,
    counts: Counts::AsModelCall,
    said: State::acted,
    replied,
    failed,
};

/// The reply is on record with its calls; what follows depends on what the run is about to do.
pub(super) fn replied(decision: &mut Decision, ask: &Ask, reply: Reply) {
    decision.turn_replied(ask, reply);
}

/// A closing call that failed is the end of the closing; any other one is the end of the run.
pub(super) fn failed(decision: &mut Decision, ask: &Ask, failure: ModelFailure) {
    let kind = if failure.kind == FailureKind::TooLarge { FailKind::TooLarge } else { FailKind::Model };
    let error: Text = decision.words_of(ask, &failure).into();
    let text = text_of(&decision.state.setup.policy.wording.texts, &failure);
    decision.record(TurnFailed::last(ask, failure));
    if decision.state.ending.closing().is_some() {
        decision.finish_closing(None);
    } else {
        decision.end(Status::Failed(kind), text, Some(error));
    }
}

/// The preset's text for a failed model, if it has one.
fn text_of(texts: &Texts, failure: &ModelFailure) -> Option<Text> {
    let after = failure.after_ms.filter(|_| !texts.model_timed_out.is_empty());
    let template = if after.is_some() { &texts.model_timed_out } else { &texts.model_failed };
    let seconds = after.map_or(String::new(), |ms| (f64::from(ms) / 1e3).to_string());
    let text = filled(template, &[("error", &failure.to_string()), ("seconds", &seconds)]);
    (!text.is_empty()).then(|| text.into())
}
