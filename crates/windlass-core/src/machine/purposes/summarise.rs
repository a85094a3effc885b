//! Summarise: the model sums up messages that the conversation is to hold no longer, or a result that is too long for it. It
//! runs beside the loop.

use crate::machine::decision::Decision;
use crate::machine::purposes::Rules;
use crate::protocol::fact::context::NotCompacted;
use crate::protocol::fact::turns::{TurnCompleted, TurnFailed};
use crate::state::State;
use crate::state::asks::Ask;
use crate::vocabulary::reply::{ModelFailure, Reply};

pub(crate) const RULES: Rules = Rules { said: |_: &mut State, _: &TurnCompleted| {}, replied, failed };

fn replied(decision: &mut Decision, ask: &Ask, reply: Reply) {
    if let Some(call) = ask.about.clone() {
        return decision.result_replied(ask, call, reply);
    }
    let (stop, text) = (reply.stop, reply.text.clone());
    decision.record_read(ask, reply);
    if decision.stopped_beside() {
        return;
    }
    decision.summarised(ask, stop, text);
    decision.go_on_after_summary();
}

fn failed(decision: &mut Decision, ask: &Ask, failure: ModelFailure) {
    let reason = NotCompacted::Failed(failure.to_string().into());
    decision.record(TurnFailed::last(ask, failure));
    if ask.about.is_some() {
        // The fold takes the result as it is.
        return decision.go_on();
    }
    decision.not_compacted(reason);
    decision.go_on_after_summary();
}
