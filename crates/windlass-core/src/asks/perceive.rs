//! Perceive: a model judges the query, or the result of a step.

use super::{Ask, Counts, Place, Rules, Speech, contract};
use crate::decide::Decision;
use crate::event::Perceived;
use crate::reply::Reply;
use crate::state::State;
use crate::view::plan;

pub(super) const RULES: Rules = Rules {
    place: Place::Turn,
    view: |_| &plan::MAKER,
    speech: Speech::Listens,
    counts: Counts::AsModelCall,
    said: State::planned_said,
    replied,
    failed: Decision::planner_away,
};

fn replied(decision: &mut Decision, ask: &Ask, reply: Reply) {
    let Some(text) = decision.plan_reply(ask, reply) else { return };
    match contract::perception(&text) {
        Ok(perception) => {
            decision.record(Perceived { perception });
            decision.plan_on();
        }
        Err(message) => decision.reject_plan(&message),
    }
}
