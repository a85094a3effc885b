//! Facts about the verification of calls.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::vocabulary::ids::{CallId, Text};

/// See [`CallFact::Verified`](super::CallFact::Verified).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallVerified {
    /// The call.
    pub call: CallId,
    /// The verifier's reply.
    pub verdict: Verdict,
    /// The arguments that the call runs with in place of the model's, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Text>,
    /// Why the call does not run; `None`: it passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Text>,
}

/// A verifier's reply about a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the call should run.
    pub should_execute: bool,
    /// How sure the verifier is, from 0 to 1.
    pub confidence: f64,
    /// Assumptions that the call makes.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient")]
    pub assumptions: Vec<Value>,
    /// Risks of the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient")]
    pub risks: Vec<Value>,
    /// The reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Text>,
    /// Arguments that should take the place of the model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_modifications: Option<Map<String, Value>>,
    /// The expected result, where the policy asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_result: Option<Text>,
}

impl Verdict {
    /// The verdict of a verifier that gave none: it may run as far as the confidence of a half allows.
    pub(crate) fn broken(why: &str) -> Self {
        Self {
            should_execute: true,
            confidence: 0.5,
            assumptions: Vec::new(),
            risks: Vec::new(),
            reasoning: Some(why.into()),
            suggested_modifications: None,
            predicted_result: None,
        }
    }
}

/// A list, or one value in its place, or null.
fn lenient<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => vec![other],
    })
}
