//! A prompt as a template of its own.

use serde_json::{Map, Value, json};
use windlass_agent_file::template::{Template, TemplateError};
use windlass_core::ToolSpec;
use windlass_core::text::estimated_tokens;
use windlass_error::in_full;

use super::{PromptBuilder, PromptContext};

/// A minijinja template as a prompt builder (`prompt: { template: TEXT }` in an agent file).
///
/// It sees `objective`, `tools` (each with `name`, `description` and `parameters`), `input`, and `context` with `session` and
/// `last_answer`, which may be none.
#[derive(Debug)]
pub struct TemplatePrompt {
    template: Template,
    text: String,
}

impl TemplatePrompt {
    /// Reads a template.
    ///
    /// # Errors
    /// It is no template, or beyond a bound.
    pub fn new(text: &str) -> Result<Self, TemplateError> {
        Ok(Self { template: Template::new(text)?, text: text.to_owned() })
    }
}

impl PromptBuilder for TemplatePrompt {
    fn generate(
        &self,
        objective: &str,
        tools: &[ToolSpec],
        context: &PromptContext,
    ) -> Result<String, String> {
        let tools: Vec<_> = tools
            .iter()
            .map(|tool| {
                json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters })
            })
            .collect();
        let PromptContext { input, session, last_answer } = context;
        let values: Map<String, Value> = [
            ("objective".to_owned(), json!(objective)),
            ("tools".to_owned(), Value::Array(tools)),
            ("input".to_owned(), input.clone()),
            ("context".to_owned(), json!({ "session": session, "last_answer": last_answer })),
        ]
        .into_iter()
        .collect();
        self.template.render_with(&values).map_err(|error| in_full(&error))
    }

    fn token_estimate(&self, objective: &str, tools: &[ToolSpec]) -> Result<u64, String> {
        let made = self.generate(objective, tools, &PromptContext::default());
        // A template that needs more of the input than is known counts as it is written.
        Ok(made.map_or_else(
            |_| estimated_tokens(objective) + estimated_tokens(&self.text),
            |text| estimated_tokens(&text),
        ))
    }

    fn identity(&self) -> String {
        format!("template {}", self.text)
    }
}
