//! Summarise: the model sums up messages that the conversation is to hold no longer, or a result that is too long for it. It
//! runs beside the loop.

use crate::machine::decision::Decision;
use crate::machine::purposes::Rules;
use crate::protocol::fact::context::NotCompacted;
use crate::protocol::fact::turns::{TurnCompleted, TurnFailed};
use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::vocabulary::reply::{ModelFailure, Reply};

pub(crate) const RULES: Rules = Rules { recorded: |_: &mut State, _: &TurnCompleted| {}, replied, failed };

fn replied(decision: &mut Decision, model_call: &ModelCall, reply: Reply) {
    if let Some(call) = model_call.about().cloned() {
        return decision.result_replied(model_call, call, reply);
    }
    let (stop, text) = (reply.stop, reply.text.clone());
    decision.record_read(model_call, reply);
    if decision.background_call_stopped() {
        return;
    }
    decision.summarised(model_call, stop, text);
    decision.go_on_after_summary();
}

fn failed(decision: &mut Decision, model_call: &ModelCall, failure: ModelFailure) {
    let reason = NotCompacted::Failed(failure.to_string().into());
    decision.record(TurnFailed::last(model_call, failure));
    if model_call.about().is_some() {
        // The fold takes the result as it is.
        return decision.go_on();
    }
    decision.not_compacted(reason);
    decision.go_on_after_summary();
}
