//! Perceive: a model judges the query, or the result of a step.

use crate::machine::decision::Decision;
use crate::machine::purposes::{Rules, decide};
use crate::protocol::fact::plan::Perceived;
use crate::state::model_calls::ModelCall;
use crate::view::contract;
use crate::vocabulary::reply::Reply;

pub(crate) const RULES: Rules = Rules { replied, ..decide::RULES };

fn replied(decision: &mut Decision, model_call: &ModelCall, reply: Reply) {
    let Some(text) = decision.plan_reply(model_call, reply) else { return };
    match contract::perception(&text) {
        Ok(perception) => {
            decision.record(Perceived { perception });
            decision.plan_on();
        }
        Err(message) => decision.reject_plan(&message),
    }
}
