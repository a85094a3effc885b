//! The instructions and the prompt of a file.

use windlass_agent_file::{AgentFile, AgentsMd, PromptEntry};

use super::error::AssembleError;
use crate::agent::builder::AgentBuilder;
use crate::agent::prompt::react::React;
use crate::agent::prompt::template::TemplatePrompt;
use crate::platform::error::Error;

/// Gives a builder the instructions of a file with those of its folder, its prompt, and the names of its skills.
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
    let builder = match &file.prompt {
        PromptEntry::Plain { instructions } => builder.extra_instructions(instructions),
        PromptEntry::React { instructions } => builder.prompt(React::new().instructions(instructions)),
        PromptEntry::Template(template) => {
            let failed = |source| Error::Template { agent: file.name.clone(), source };
            builder.prompt(TemplatePrompt::new(template.text()).map_err(failed)?)
        }
    };
    let further = file.agents_md.as_ref().and_then(AgentsMd::section).into_iter().chain(section_of(file));
    Ok(further.fold(builder, AgentBuilder::appendix))
}

/// The skills of a file as the system message names them.
fn section_of(file: &AgentFile) -> Option<String> {
    (!file.skills.is_empty()).then(|| file.skills.section())
}
