//! Agents that a server runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// Its name, by which runs are started.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its models in their order.
    pub models: Vec<String>,
    /// Names of its tools and of the agents that it hands tasks to.
    pub tools: Vec<String>,
    /// The JSON Schema of its input; `null`: a text.
    pub input: Option<Value>,
    /// The JSON Schema of its output; `null`: a text.
    pub output: Option<Value>,
    /// SHA-256 over everything about it that a run depends on.
    pub digest: String,
}

/// The agents that the caller may use, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agents {
    /// The agents.
    pub items: Vec<Agent>,
}

/// The changes that a reload made. An agent whose file cannot be used stays as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reloaded {
    /// Agents that are new.
    pub added: Vec<String>,
    /// Agents whose files say something else now.
    pub changed: Vec<String>,
    /// Agents whose files are gone.
    pub removed: Vec<String>,
    /// Files that cannot be used.
    pub failed: Vec<FailedFile>,
}

/// A file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedFile {
    /// The file's name.
    pub file: String,
    /// Why.
    pub message: String,
}
