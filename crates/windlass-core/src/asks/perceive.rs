//! Perceive: a model judges the query, or the result of a step.

use super::{Ask, Rules, contract, decide};
use crate::decide::Decision;
use crate::event::Perceived;
use crate::reply::Reply;

pub(super) const RULES: Rules = Rules { replied, ..decide::RULES };

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
