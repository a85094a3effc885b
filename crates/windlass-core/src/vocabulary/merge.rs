//! How the end of a branch comes back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_macros::Named;

/// How a branch's result is merged into the parent run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Named)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[named(all)]
pub enum Merge {
    /// Its output, as XML. A branch that has none is summed up.
    #[default]
    EndResult,
    /// A summary of what it did, made by one model call, and its output.
    Summarize,
}
