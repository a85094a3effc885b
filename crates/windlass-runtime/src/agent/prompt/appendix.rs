//! Text at the end of the system message, however that is made.

use std::sync::Arc;

use windlass_core::ToolSpec;
use windlass_core::text::estimated_tokens;

use super::{PromptBuilder, PromptContext};

/// A prompt, or the objective alone, with texts behind it that stand as they are: they are no templates.
#[derive(Debug)]
pub(crate) struct Appendix {
    pub(crate) prompt: Option<Arc<dyn PromptBuilder>>,
    pub(crate) texts: Vec<String>,
}

impl Appendix {
    fn behind(&self, text: &str) -> String {
        let parts = std::iter::once(text.trim_end()).chain(self.texts.iter().map(String::as_str));
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

impl PromptBuilder for Appendix {
    fn generate(
        &self,
        objective: &str,
        tools: &[ToolSpec],
        context: &PromptContext,
    ) -> Result<String, String> {
        match &self.prompt {
            Some(prompt) => prompt.generate(objective, tools, context).map(|text| self.behind(&text)),
            None => Ok(self.behind(objective)),
        }
    }

    fn token_estimate(&self, objective: &str, tools: &[ToolSpec]) -> Result<u64, String> {
        let prompt = match &self.prompt {
            Some(prompt) => prompt.token_estimate(objective, tools)?,
            None => estimated_tokens(objective),
        };
        Ok(prompt + estimated_tokens(&self.behind("")))
    }

    fn check(&self) -> Result<(), String> {
        self.prompt.as_ref().map_or(Ok(()), |prompt| prompt.check())
    }

    fn identity(&self) -> String {
        let own = self.prompt.as_ref().map(|prompt| prompt.identity()).unwrap_or_default();
        format!("{own} appendix {:?}", self.texts)
    }
}

#[cfg(test)]
mod tests;
