//! Facts about the size of the conversation.

use serde::{Deserialize, Serialize};

use crate::policy::context::Compact;
use crate::vocabulary::history::Splice;
use crate::vocabulary::ids::Text;

/// See [`ContextFact::Measured`](super::ContextFact::Measured).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextMeasured {
    /// Tokens of the request by the run's own estimate.
    pub estimated: u64,
    /// Tokens of the request as the provider counted them.
    pub counted: u64,
}

/// See [`ContextFact::Warned`](super::ContextFact::Warned).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextWarned {
    /// Tokens of the next request, estimated from the provider's last count.
    pub tokens: u64,
    /// The budget.
    pub max_tokens: u64,
}

/// See [`ContextFact::Compacted`](super::ContextFact::Compacted).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compacted {
    /// Kind of compaction.
    pub kind: Compact,
    /// The changes, one after another: places count in the conversation as the earlier ones left it. The first one begins
    /// at the first message that differs. The removed messages are in the log.
    pub splices: Vec<Splice>,
    /// Exchanges that the summary stands for, those of the summary before it included; 0 where there is none.
    #[serde(default, skip_serializing_if = "crate::protocol::fact::limits::is_none")]
    pub exchanges: u64,
    /// The name under which the model reads the messages that a summary stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<Text>,
    /// Bytes of the conversation before.
    pub bytes_before: u64,
    /// Bytes of the conversation after.
    pub bytes_after: u64,
}

impl Compacted {
    /// The place of the first message that differs, from 0: requests are equal up to there.
    pub fn first_changed(&self) -> u64 {
        self.splices.first().map_or(0, |splice| splice.at)
    }
}

/// Why a conversation was not made smaller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotCompacted {
    /// All that is left must stay.
    NothingToRemove,
    /// The summary is no smaller than the messages that it would stand for.
    NotSmaller,
    /// The summary is empty, was refused or filtered.
    NoSummary,
    /// The model call failed.
    Failed(Text),
    /// The conversation was edited meanwhile.
    Edited,
}

/// See [`ContextFact::CompactionSkipped`](super::ContextFact::CompactionSkipped).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompactionSkipped {
    /// Why.
    pub reason: NotCompacted,
}
