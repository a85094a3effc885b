//! Proof of work: required tools that have succeeded.

use rpds::RedBlackTreeSetSync;
use windlass_text::find::glob::covers;

use crate::policy::Policy;
use crate::vocabulary::ids::Text;
use crate::vocabulary::outcome::CallOutcome;

/// Required tools that have succeeded in a run and in the runs that it continues.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Proof {
    /// Their names.
    succeeded: RedBlackTreeSetSync<Text>,
    /// Number of answers sent back for want of it.
    sent_back: u32,
}

impl Proof {
    /// Number of answers sent back for want of it.
    pub(crate) fn sent_back(&self) -> u32 {
        self.sent_back
    }

    /// An answer was sent back for want of it.
    pub(crate) fn answer_sent_back(&mut self) {
        self.sent_back += 1;
    }

    /// Records the outcome of a call.
    pub(crate) fn note(&mut self, policy: &Policy, tool: &Text, outcome: &CallOutcome) {
        if outcome.is_ok() && policy.tools.require.iter().any(|pattern| covers(pattern, tool)) {
            self.succeeded.insert_mut(tool.clone());
        }
    }

    /// Whether a tool that the pattern matches has succeeded.
    pub(crate) fn covers(&self, pattern: &str) -> bool {
        self.succeeded.iter().any(|tool| covers(pattern, tool))
    }
}
