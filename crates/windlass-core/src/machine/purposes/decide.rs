//! Decide: a model makes the plan and its next step.

use crate::machine::decision::Decision;
use crate::machine::purposes::Rules;
use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::view::contract;
use crate::vocabulary::reply::Reply;

pub(crate) const RULES: Rules =
    Rules { recorded: State::plan_reply_recorded, replied, failed: Decision::planner_away };

fn replied(decision: &mut Decision, model_call: &ModelCall, reply: Reply) {
    let Some(text) = decision.plan_reply(model_call, reply) else { return };
    match contract::decision(&text) {
        Ok(decided) => decision.plan_decided(decided),
        Err(message) => decision.reject_plan(&message),
    }
}
