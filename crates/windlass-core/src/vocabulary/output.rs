//! How a model is asked for a typed output.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How models are asked for a typed output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum OutputMode {
    /// As the provider's own where it is known to hold this model to this schema beside tools, else through the finish tool. In loops
    /// that end with a text: as the provider's own, and in the instructions once the model has refused that.
    #[default]
    Auto,
    /// As the provider's own: the schema is the format of the reply.
    Native,
    /// Through a call of the finish tool.
    Tool,
    /// By the schema in the instructions. The reply is checked.
    Prompt,
}

/// How one model is asked for the output of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputBy {
    /// The schema is the format of the reply.
    Native,
    /// A call of the finish tool.
    Tool,
    /// The schema stands in the instructions.
    Prompt,
}

impl OutputMode {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
    pub(crate) fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// Whether a schema asks for an object and says nothing else of it (`output: { json: true }`).
pub fn is_any_object(schema: &serde_json::Value) -> bool {
    let mut fields = schema.as_object().into_iter().flatten();
    fields.next().is_some_and(|(key, value)| key == "type" && value == "object") && fields.next().is_none()
}
