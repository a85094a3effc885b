//! How an agent's models are asked for its typed output, as far as anybody knows before they are asked.

use std::sync::Arc;

use serde_json::Value;
use windlass_core::Policy;
use windlass_core::model::{ModelChoice, OutputBy, is_any_object};
use windlass_core::policy::{OutputMode, Stop};
use windlass_models::{Model, ModelRequest};

/// The name of a reply's format, where a reply in text must be an output.
pub(crate) const OUTPUT_NAME: &str = "output";

/// The output that an agent wants, with the policy that asks for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) schema: Option<&'a Arc<Value>>,
}

impl Wanted<'_> {
    /// Whether the way to ask depends on the model.
    pub(crate) fn is_open(self) -> bool {
        let replies = &self.policy.replies;
        let is_text = replies.stop == Stop::Text && replies.output == OutputMode::Auto;
        self.schema.is_some() && (is_text || self.policy.may_answer_with_output())
    }

    /// The way where the provider does not hold the model to the schema.
    pub(crate) fn otherwise(self) -> OutputBy {
        if self.policy.replies.stop == Stop::FinishTool { OutputBy::Tool } else { OutputBy::Prompt }
    }

    /// How a model is asked; `None`: as the loop asks a model that nothing is known of.
    pub(crate) fn by(self, model: &dyn Model, choice: &ModelChoice) -> Option<OutputBy> {
        let schema = self.schema.filter(|_| self.is_open())?;
        match self.otherwise() {
            OutputBy::Tool => model.holds_output(&choice.name, schema).then_some(OutputBy::Native),
            otherwise => {
                let has_no_place = if is_any_object(schema) {
                    model.refuses(&self.request(choice)).is_some()
                } else {
                    model.known(&choice.name).structured == Some(false)
                };
                has_no_place.then_some(otherwise)
            }
        }
    }

    /// A request for the output alone.
    fn request(self, choice: &ModelChoice) -> ModelRequest {
        let response_schema = self.schema.map(|schema| (OUTPUT_NAME.into(), schema.clone()));
        ModelRequest { response_schema, ..ModelRequest::new(choice.clone(), []) }
    }
}
