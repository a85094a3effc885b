//! Verify: a model judges a tool call before it runs. Several calls are verified at once, beside those that run.

use super::{Ask, Counts, Place, Rules, Speech};
use crate::decide::Decision;
use crate::event::{TurnCompleted, TurnFailed, Verdict};
use crate::reply::{ModelFailure, Reply};
use crate::state::State;
use crate::view::verification;

pub(super) const RULES: Rules = Rules {
    place: Place::Aside,
    view: |_| &verification::MAKER,
    speech: Speech::Apart,
    counts: Counts::Not,
    said: |_: &mut State, _: &TurnCompleted| {},
    replied,
    failed,
};

fn replied(decision: &mut Decision, ask: &Ask, reply: Reply) {
    let objection = decision.objection();
    let completed = TurnCompleted { objection, ..TurnCompleted::read_only(ask, reply) };
    let text = completed.text.clone().unwrap_or_default();
    decision.record(completed);
    if !decision.stopped_beside() {
        decision.verified(ask, verification::verdict(&text));
    }
}

fn failed(decision: &mut Decision, ask: &Ask, failure: ModelFailure) {
    let why = format!("the verifier failed: {failure}");
    decision.record(TurnFailed::last(ask, failure));
    decision.verified(ask, Verdict::broken(&why));
}
