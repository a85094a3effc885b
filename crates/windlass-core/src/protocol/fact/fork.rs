//! Forks: the facts of the base run that a fork needs.

use serde::{Deserialize, Serialize};

use crate::vocabulary::budget::Budget;
use crate::vocabulary::ids::{CallId, RunId, Text};
use crate::vocabulary::message::Content;
use crate::vocabulary::outcome::CallOutcome;

/// Facts of the base that a fork needs beside the state at its version: the work that the base had begun by then or began
/// later.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fork {
    /// The calls of the turn that was going on which the base run has started, at any time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<StartedCall>,
    /// Message to the agent as it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Text>,
}

/// A call that a fork's base has started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartedCall {
    /// The call.
    pub call: CallId,
    /// The run in which another agent does it, if it was handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<RunId>,
    /// Budget lent to that run.
    #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
    pub budget: Budget,
    /// Outcome, if the call ended by itself; `None`: unknown whether it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CallOutcome>,
    /// The calls that its code made later and that the base has started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<MadeCall>,
}

/// A call that the code of a fork's base has made and started. The fork's code makes the same call at the same place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MadeCall {
    /// Its place among the calls of the code, from 0.
    pub place: u32,
    /// The tool.
    pub name: Text,
    /// The arguments, as JSON text.
    pub args: Text,
    /// How far it came.
    pub started: StartedCall,
}

impl MadeCall {
    /// The payloads that its result refers to.
    pub(crate) fn content(&self) -> Option<&Content> {
        self.started.outcome.as_ref()?.content()
    }
}
