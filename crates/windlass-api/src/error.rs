//! The one error body.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The body of every reply with a status of 400 or more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: Fault,
}

/// An error: what happened, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// Who can do something about it: `invalid`, `not_found`, `conflict`, `forbidden`, `exhausted`, `unavailable` or `internal`.
    pub kind: String,
    /// A stable code, such as `store.unknown_run`.
    pub code: String,
    /// The error in words, with its causes.
    pub message: String,
    /// The remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Values that a program needs, such as the limit that was met or the earliest position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}
