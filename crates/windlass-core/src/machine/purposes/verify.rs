//! Verify: a model judges a tool call before it runs. Several calls are verified at once, beside those that run.

use crate::machine::decision::Decision;
use crate::machine::purposes::{Rules, summarise};
use crate::protocol::fact::turns::TurnFailed;
use crate::protocol::fact::verdict::Verdict;
use crate::state::asks::Ask;
use crate::view::verification;
use crate::vocabulary::reply::{ModelFailure, Reply};

pub(crate) const RULES: Rules = Rules { replied, failed, ..summarise::RULES };

fn replied(decision: &mut Decision, ask: &Ask, reply: Reply) {
    let text = reply.text.clone().unwrap_or_default();
    decision.record_read(ask, reply);
    if !decision.stopped_beside() {
        decision.verified(ask, verification::verdict(&text));
    }
}

fn failed(decision: &mut Decision, ask: &Ask, failure: ModelFailure) {
    let why = format!("the verifier failed: {failure}");
    decision.record(TurnFailed::last(ask, failure));
    decision.verified(ask, Verdict::broken(&why));
}
