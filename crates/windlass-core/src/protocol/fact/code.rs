//! Facts about code that a model wrote.

use serde::{Deserialize, Serialize};

use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::message::ToolCall;
use crate::vocabulary::outcome::CallOutcome;

/// See [`CodeFact::Started`](crate::event::CodeFact::Started).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeStarted {
    /// The call.
    pub call: CallId,
    /// Number of this attempt, from 1. After a take-over the code goes on with the recorded results of its calls.
    pub attempt: u32,
}

/// See [`CodeFact::Called`](crate::event::CodeFact::Called).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeCalled {
    /// The call that runs the code.
    pub call: CallId,
    /// The calls that the code makes at once, in order.
    pub calls: Vec<ToolCall>,
}

/// See [`CodeFact::Finished`](crate::event::CodeFact::Finished).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeFinished {
    /// The call.
    pub call: CallId,
    /// The outcome, with the value that the code returned as JSON text.
    pub outcome: CallOutcome,
    /// Text that the code printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<Text>,
    /// A note to the model that follows the turn's results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Text>,
    /// The limit that this call ran into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitKind>,
}
