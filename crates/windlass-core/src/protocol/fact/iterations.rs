//! Facts of loops that go on after an answer, and of the blackboard.

use serde::{Deserialize, Serialize};

use crate::vocabulary::ids::Text;

/// See [`PlanFact::IterationStarted`](super::PlanFact::IterationStarted).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IterationStarted {
    /// Its number, from 1; a run that goes on after a limit goes on counting.
    pub iteration: u64,
    /// Message to the model that opens it: the judge's criticism, or a request to improve the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Text>,
}

/// See [`PlanFact::Judged`](super::PlanFact::Judged).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// Whether the answer does what was asked.
    pub satisfied: bool,
    /// The part that is missing.
    #[serde(default)]
    pub missing: Text,
}

/// See [`PlanFact::BlackboardSaved`](super::PlanFact::BlackboardSaved).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlackboardSaved {
    /// The turn whose calls come after it.
    pub turn: u32,
}

/// See [`PlanFact::BlackboardRestored`](super::PlanFact::BlackboardRestored).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlackboardRestored {
    /// The tool that was called again and again.
    pub tool: Text,
    /// Number of its calls in a row.
    pub times: u32,
    /// Message to the model.
    pub note: Text,
}
