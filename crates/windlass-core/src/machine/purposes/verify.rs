//! Verify: a model judges a tool call before it runs. Several calls are verified at once, beside those that run.

use crate::machine::decision::Decision;
use crate::machine::purposes::{Rules, summarise};
use crate::protocol::fact::turns::TurnFailed;
use crate::protocol::fact::verdict::Verdict;
use crate::state::model_calls::ModelCall;
use crate::view::verification;
use crate::vocabulary::reply::{ModelFailure, Reply};

pub(crate) const RULES: Rules = Rules { replied, failed, ..summarise::RULES };

fn replied(decision: &mut Decision, model_call: &ModelCall, reply: Reply) {
    let text = reply.text.clone().unwrap_or_default();
    decision.record_read(model_call, reply);
    if !decision.background_call_stopped() {
        decision.verified(model_call, verification::verdict(&text));
    }
}

fn failed(decision: &mut Decision, model_call: &ModelCall, failure: ModelFailure) {
    let why = format!("the verifier failed: {failure}");
    decision.record(TurnFailed::last(model_call, failure));
    decision.verified(model_call, Verdict::broken(&why));
}
