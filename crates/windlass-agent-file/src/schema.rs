//! The published JSON Schema of the agent file.
//!
//! It is made from the types that read a file, by a test: a program that makes it anew carries 0.5 MB of code for this alone.

#[cfg(test)]
pub(crate) mod made;

use serde_json::Value;

/// The JSON Schema (2020-12) of the agent file.
pub fn schema() -> Value {
    // The test compares it with what the types make.
    serde_json::from_str(include_str!("schema/agent.json")).unwrap_or_default()
}
