//! The scaffold `react`: think, act, observe.

use windlass_core::ToolSpec;
use windlass_core::text::estimated_tokens;

use super::{PromptBuilder, PromptContext, checked, listed, rendered};

/// How to work with tools.
const METHOD: &str = "\
How to work, one round after another:
1. Think: in a sentence or two, say what is known, what is missing, and which call would bring it.
2. Act: call the tool. Take its arguments from the input, the conversation or earlier results; never make up a result.
3. Observe: read every result. After an error or a surprise, change the arguments or the tool instead of repeating the call.
Stop once nothing is missing, and give the final answer: complete, and with the facts from the results that it rests on.";

/// How to work without tools.
const NO_TOOLS: &str = "\
There are no tools. Think step by step: say what is known and what follows from it. Then give the final answer, and name \
what cannot be known here.";

/// A scaffold of reasoning and acting (`prompt: react` in an agent file): the objective, the list of tools, and how to think, act
/// and observe.
///
/// The tools are those that the run's first request offers. Calls themselves go over the loop's own wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct React {
    extra: Vec<String>,
}

impl React {
    /// The scaffold without further instructions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds instructions as a list at the end. Each is text, or a template that sees the input as `input`.
    #[must_use]
    pub fn instructions<T: Into<String>>(mut self, texts: impl IntoIterator<Item = T>) -> Self {
        self.extra.extend(texts.into_iter().map(Into::into));
        self
    }
}

fn text(objective: &str, tools: &[ToolSpec], extra: &[String]) -> String {
    let mut parts = Vec::new();
    if !objective.trim().is_empty() {
        parts.push(format!("Your objective:\n{}", objective.trim()));
    }
    if tools.is_empty() {
        parts.push(NO_TOOLS.to_owned());
    } else {
        // The model has the whole descriptions: a line says which tools there are.
        let line = |tool: &ToolSpec| match tool.description.trim().lines().next() {
            Some(about) => format!("- {}: {}", tool.name, about.trim()),
            None => format!("- {}", tool.name),
        };
        let lines: Vec<_> = tools.iter().map(line).collect();
        parts.push(format!("Your tools:\n{}", lines.join("\n")));
        parts.push(METHOD.to_owned());
    }
    if !extra.is_empty() {
        parts.push(format!("Also:\n{}", listed(extra)));
    }
    parts.join("\n\n")
}

impl PromptBuilder for React {
    fn generate(
        &self,
        objective: &str,
        tools: &[ToolSpec],
        context: &PromptContext,
    ) -> Result<String, String> {
        Ok(text(objective, tools, &rendered(&self.extra, &context.input)?))
    }

    fn token_estimate(&self, objective: &str, tools: &[ToolSpec]) -> Result<u64, String> {
        Ok(estimated_tokens(&text(objective, tools, &self.extra)))
    }

    fn check(&self) -> Result<(), String> {
        checked(&self.extra)
    }

    fn identity(&self) -> String {
        format!("react {:?}", self.extra)
    }
}
