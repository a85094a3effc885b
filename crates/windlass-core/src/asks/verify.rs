//! Verify: a model judges a tool call before it runs. Several calls are verified at once, beside those that run.

use super::{Ask, Rules, summarise};
use crate::decide::Decision;
use crate::event::{TurnFailed, Verdict};
use crate::reply::{ModelFailure, Reply};
use crate::view::verification;

pub(super) const RULES: Rules = Rules { view: |_| &verification::MAKER, replied, failed, ..summarise::RULES };

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
