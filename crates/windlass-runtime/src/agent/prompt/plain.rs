//! Instructions, and more of them as a list.

use windlass_core::ToolSpec;
use windlass_core::text::estimated_tokens;

use super::{PromptBuilder, PromptContext, checked, listed, rendered};

/// The objective with extra instructions behind it.
#[derive(Debug)]
pub(crate) struct Plain(pub(crate) Vec<String>);

fn text(objective: &str, extra: &[String]) -> String {
    let parts = [objective.trim_end().to_owned(), listed(extra)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

impl PromptBuilder for Plain {
    fn generate(&self, objective: &str, _: &[ToolSpec], context: &PromptContext) -> Result<String, String> {
        Ok(text(objective, &rendered(&self.0, &context.input)?))
    }

    fn token_estimate(&self, objective: &str, _: &[ToolSpec]) -> Result<u64, String> {
        Ok(estimated_tokens(&text(objective, &self.0)))
    }

    fn check(&self) -> Result<(), String> {
        checked(&self.0)
    }

    fn identity(&self) -> String {
        format!("plain {:?}", self.0)
    }
}
