//! The published JSON Schema of the agent file.

use serde_json::Value;

/// The JSON Schema (2020-12) of the agent file.
pub fn schema() -> Value {
    Value::Null
}
