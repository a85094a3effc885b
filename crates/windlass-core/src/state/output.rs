//! How each model is asked for the output of the run: with the finish tool, as the format of its reply, or in the instructions.

use std::sync::Arc;

use serde_json::Value;

use crate::policy::values::Stop;
use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::vocabulary::ids::ActionId;
use crate::vocabulary::message::Message;
use crate::vocabulary::model::Wire;
use crate::vocabulary::output::{OutputBy, OutputMode, is_any_object};
use crate::vocabulary::reply::{ModelFailure, Refusal};
use crate::vocabulary::tool::{ToolKind, ToolSpec};

const ANSWER_BY: &str =
    "Your answer is JSON that fits this schema, and nothing else: no words around it, no code fence.";
/// Providers refuse to hold a reply to any object unless the messages speak of JSON (OpenAI, "Structured Outputs", "JSON mode").
const ANSWER_IN_JSON: &str = "Your answer is one JSON object and nothing else.";

impl State {
    /// How a model of the run is asked for the output; `None`: there is no output, or the loop ends otherwise.
    pub(crate) fn output_by(&self, model: u32) -> Option<OutputBy> {
        self.setup.output()?;
        let (policy, model) = (self.setup.policy(), self.setup.models().get(model as usize));
        let detected = model.and_then(|model| model.output).filter(|_| policy.replies.output.is_auto());
        let wire = model.map_or(policy.request.wire, |model| policy.wire_of(model));
        match policy.replies.stop {
            Stop::Judge => None,
            // A model that is told of no tools is told of no format either: both are in its instructions.
            Stop::FinishTool if matches!(wire, Wire::Schema | Wire::Fenced) => Some(OutputBy::Tool),
            Stop::FinishTool if detected == Some(OutputBy::Native) && policy.may_answer_with_output() => {
                detected
            }
            Stop::FinishTool => Some(OutputBy::Tool),
            Stop::Text if policy.replies.output == OutputMode::Prompt => Some(OutputBy::Prompt),
            Stop::Text if detected.is_none_or(|by| by == OutputBy::Native) => Some(OutputBy::Native),
            Stop::Text => Some(OutputBy::Prompt),
        }
    }

    /// Whether a model of the run answers in text that is the output.
    pub(crate) fn answers_in_text(&self, model: u32) -> bool {
        matches!(self.output_by(model), Some(OutputBy::Native | OutputBy::Prompt))
    }

    /// Whether the reply to this call is to be the output, where it has no calls.
    pub fn answers_with_output(&self, action: ActionId) -> bool {
        self.model_call(action).is_some_and(|model_call| self.answers_in_text(model_call.model()))
    }

    /// Whether the provider of a model is known to hold its answers to the output's schema.
    pub(crate) fn is_held_to_output(&self, model: u32) -> bool {
        self.output_by(model) == Some(OutputBy::Native)
            && self
                .setup
                .models()
                .get(model as usize)
                .is_some_and(|model| model.output == Some(OutputBy::Native))
    }

    /// Whether some model of the run is not told of the finish tool, though others are.
    pub(crate) fn hides_finish(&self) -> bool {
        self.setup.policy().may_answer_with_output()
            && self.setup.models().iter().any(|model| model.output == Some(OutputBy::Native))
    }

    /// The other way to ask a model for the output, once its provider has refused the schema.
    pub(crate) fn output_after(&self, model_call: &ModelCall, failure: &ModelFailure) -> Option<OutputBy> {
        let policy = self.setup.policy();
        let own = model_call.purpose() == policy.request.purpose;
        let refused = own && failure.refuses == Some(Refusal::Schema) && policy.replies.output.is_auto();
        let by =
            self.output_by(model_call.model()).filter(|_| refused && self.by_schema(model_call).is_none())?;
        (by == OutputBy::Native).then_some(match policy.replies.stop {
            Stop::FinishTool => OutputBy::Tool,
            Stop::Text | Stop::Judge => OutputBy::Prompt,
        })
    }
}

/// The tools without the one that ends the run.
pub(crate) fn without_finish(tools: &[ToolSpec]) -> Arc<Vec<ToolSpec>> {
    Arc::new(tools.iter().filter(|tool| !matches!(tool.kind, ToolKind::Finish(_))).cloned().collect())
}

/// The messages before the conversation, with the schema of the answer behind the instructions.
pub(crate) fn prompt_for(prompt: &[Arc<Message>], schema: &Value) -> Vec<Arc<Message>> {
    let words =
        if is_any_object(schema) { ANSWER_IN_JSON.to_owned() } else { format!("{ANSWER_BY}\n{schema}") };
    let mut prompt = prompt.to_vec();
    let own = prompt.first_mut().filter(|message| message.instructs());
    if let Some(first) = own
        && let Message::System { text } = &**first
    {
        *first = Arc::new(Message::system(format!("{text}\n\n{words}")));
    } else {
        prompt.insert(0, Arc::new(Message::system(words)));
    }
    prompt
}
