//! The instructions and the prompt of a file.

use windlass_agent_file::{AgentFile, PromptEntry};

use super::error::AssembleError;
use crate::agent::builder::AgentBuilder;
use crate::agent::prompt::react::React;
use crate::agent::prompt::template::TemplatePrompt;
use crate::platform::error::Error;

/// Gives a builder the instructions of a file, and its prompt.
///
/// # Errors
/// The prompt is not a valid template.
pub fn prompted(builder: AgentBuilder, file: &AgentFile) -> Result<AgentBuilder, AssembleError> {
    let text = file.instructions.text();
    let builder = if file.instructions.is_verbatim() {
        builder.verbatim_instructions(text)
    } else {
        builder.instructions(text)
    };
    Ok(match &file.prompt {
        PromptEntry::Plain { instructions } => builder.extra_instructions(instructions),
        PromptEntry::React { instructions } => builder.prompt(React::new().instructions(instructions)),
        PromptEntry::Template(template) => {
            let failed = |source| Error::Template { agent: file.name.clone(), source };
            builder.prompt(TemplatePrompt::new(template.text()).map_err(failed)?)
        }
    })
}
