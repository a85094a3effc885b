//! Iterations: whether another one follows an answer, and whether they need an objective.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether another iteration follows an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Another {
    /// The first answer ends the run.
    #[default]
    Never,
    /// The model improves its answer until the limit on iterations is used up; the last answer ends the run.
    Always,
    /// A model call says whether the answer does what was asked. Its criticism opens the next iteration.
    Judge,
}

/// Form in which a model is asked for the JSON of a contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Contracts {
    /// In words.
    #[default]
    Text,
    /// In words, and as a JSON Schema beside them.
    Schema,
}

/// Whether an agent must have instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// It may go without.
    #[default]
    Optional,
    /// They are the objective that its loop works towards.
    Required,
}
