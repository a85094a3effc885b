//! Whether the server lives, and whether it can work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// `ok`.
    pub status: String,
    /// The version of Windlass.
    pub version: String,
}

/// Whether the server can work (E70).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ready {
    /// Whether all checks are passed.
    pub ready: bool,
    /// The checks.
    pub checks: Vec<Check>,
}

/// One thing that the server needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Its name: `append`, `read`, `tokens`, `supervisor`, and `closing` while the server ends.
    pub name: String,
    /// Whether it is there.
    pub ok: bool,
    /// Why it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
