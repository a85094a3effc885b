//! Prompt builders: code that makes a run's system message from its objective, its tools and its context.
//!
//! A builder is called when a run begins, and when a person changes the run's objective. What it makes is part of the
//! recorded input, so that a replay, a resumed run and a fork never call it.

pub(crate) mod appendix;
pub(crate) mod plain;
pub(crate) mod react;
pub(crate) mod template;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;
use windlass_agent_file::template::Template;
use windlass_core::secret::mask;
use windlass_core::text::estimated_tokens;
use windlass_core::{Message, SessionId, Text, ToolSpec};
use windlass_error::in_full;

use crate::platform::error::Error;
use crate::platform::panics::panic_message;

/// The largest system message that a builder may make, in bytes (16 MiB).
const MAX_PROMPT_BYTES: usize = 16 * 1024 * 1024;

/// Facts about a run in addition to its objective and tools.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PromptContext {
    /// The input as templates see it: a text, or the object of a typed input. `null`: not known.
    pub input: Value,
    /// The session that the run belongs to.
    pub session: Option<SessionId>,
    /// The answer of the run that this one continues: the session's last one.
    pub last_answer: Option<Text>,
}

/// Makes the system message of an agent's runs.
///
/// ```
/// use windlass_models::Tour;
/// use windlass_runtime::{Agent, React};
///
/// # fn main() -> Result<(), windlass_runtime::Error> {
/// let agent = Agent::builder("researcher")
///     .model(Tour)
///     .instructions("Answer questions about the notes.")
///     .prompt(React::new().instructions(["Cite the notes that you used."]))
///     .build()?;
/// assert!(agent.prompt_tokens()? > 50);
/// # Ok(())
/// # }
/// ```
pub trait PromptBuilder: fmt::Debug + Send + Sync {
    /// The system message. `objective` are the agent's rendered instructions, `tools` the ones that the run's first request
    /// offers. It is called on the run's own thread and should return at once.
    ///
    /// # Errors
    /// Why no prompt can be made: the run does not begin.
    fn generate(
        &self,
        objective: &str,
        tools: &[ToolSpec],
        context: &PromptContext,
    ) -> Result<String, String>;

    /// Estimated tokens of the system message, before anything of a run is known. Default: a quarter of the bytes of
    /// [`generate`](Self::generate) with an empty context.
    ///
    /// # Errors
    /// Why no prompt can be made.
    fn token_estimate(&self, objective: &str, tools: &[ToolSpec]) -> Result<u64, String> {
        self.generate(objective, tools, &PromptContext::default()).map(|text| estimated_tokens(&text))
    }

    /// Checks the builder's settings when the agent is built. Default: nothing to check.
    ///
    /// # Errors
    /// Why the agent cannot be built.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Text that tells this builder from others: part of the agent's digest. A run is not resumed by an agent with another
    /// digest unless that is asked for. Default: empty.
    fn identity(&self) -> String {
        String::new()
    }
}

/// A prompt builder as a function.
pub struct PromptFn<F>(pub F);

impl<F> fmt::Debug for PromptFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PromptFn")
    }
}

impl<F> PromptBuilder for PromptFn<F>
where
    F: Fn(&str, &[ToolSpec], &PromptContext) -> Result<String, String> + Send + Sync,
{
    fn generate(
        &self,
        objective: &str,
        tools: &[ToolSpec],
        context: &PromptContext,
    ) -> Result<String, String> {
        (self.0)(objective, tools, context)
    }
}

/// The messages before a run's conversation, and the objective if a builder made the first of them.
pub(crate) struct Prompt {
    pub(crate) messages: Arc<Vec<Arc<Message>>>,
    pub(crate) objective: Option<Text>,
}

/// How the system message of an agent's runs is made.
#[derive(Clone, Default)]
pub(crate) struct Prompting {
    /// The instructions as they were given.
    instructions: Text,
    /// The instructions as a template, where they have variables.
    template: Option<Arc<Template>>,
    pub(crate) builder: Option<Arc<dyn PromptBuilder>>,
}

impl Prompting {
    /// # Errors
    /// The instructions are no template, or the builder's settings are wrong.
    pub(crate) fn new(
        agent: &str,
        instructions: &str,
        verbatim: bool,
        builder: Option<Arc<dyn PromptBuilder>>,
    ) -> Result<Self, Error> {
        let failed = |source| Error::Template { agent: agent.to_owned(), source };
        let template = (!verbatim && has_tags(instructions)).then(|| Template::new(instructions)).transpose();
        if let Some(builder) = &builder {
            guarded(agent, || builder.check())?;
        }
        Ok(Self {
            instructions: instructions.into(),
            template: template.map_err(failed)?.map(Arc::new),
            builder,
        })
    }

    /// Whether each run has a system message of its own.
    pub(crate) fn varies(&self) -> bool {
        self.template.is_some() || self.builder.is_some()
    }

    /// The system message of a run, and the objective if a builder made the message. `None`: it is the same for all runs.
    pub(crate) fn prompt(
        &self,
        agent: &str,
        tools: impl FnOnce() -> Vec<ToolSpec>,
        context: &PromptContext,
    ) -> Result<Option<(String, Option<Text>)>, Error> {
        if !self.varies() {
            return Ok(None);
        }
        let failed = |source| Error::Template { agent: agent.to_owned(), source };
        let objective = match &self.template {
            Some(template) => template.render(&context.input).map_err(failed)?,
            None => self.instructions.to_string(),
        };
        let Some(builder) = &self.builder else { return Ok(Some((objective, None))) };
        let system = generated(agent, &**builder, &objective, &tools(), context)?;
        Ok(Some((system, Some(objective.into()))))
    }

    /// Estimated tokens of the system message, with the instructions as they were given.
    pub(crate) fn tokens(&self, agent: &str, tools: impl FnOnce() -> Vec<ToolSpec>) -> Result<u64, Error> {
        match &self.builder {
            Some(builder) => guarded(agent, || builder.token_estimate(&self.instructions, &tools())),
            None => Ok(estimated_tokens(&self.instructions)),
        }
    }
}

/// The prompt that a builder makes.
pub(crate) fn generated(
    agent: &str,
    builder: &dyn PromptBuilder,
    objective: &str,
    tools: &[ToolSpec],
    context: &PromptContext,
) -> Result<String, Error> {
    guarded(agent, || {
        let text = builder.generate(objective, tools, context)?;
        if text.trim().is_empty() {
            return Err("the text is empty".to_owned());
        }
        if text.len() > MAX_PROMPT_BYTES {
            return Err(format!("the text has {} bytes, at most {MAX_PROMPT_BYTES} are taken", text.len()));
        }
        Ok(mask(&text).into_owned())
    })
}

/// Calls a builder, which may panic.
fn guarded<T>(agent: &str, call: impl FnOnce() -> Result<T, String>) -> Result<T, Error> {
    let called = catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|panic| Err(format!("the prompt builder panicked: {}", panic_message(&*panic))));
    called.map_err(|reason| Error::Prompt { agent: agent.to_owned(), reason: mask(&reason).into_owned() })
}

/// Whether a text is a template rather than plain text.
pub(crate) fn has_tags(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|begin| text.contains(begin))
}

/// Texts that may be templates, rendered.
fn rendered(texts: &[String], input: &Value) -> Result<Vec<String>, String> {
    let render = |text: &String| {
        if !has_tags(text) {
            return Ok(text.clone());
        }
        let template = Template::new(text).map_err(|error| in_full(&error))?;
        template.render(input).map_err(|error| in_full(&error))
    };
    texts.iter().map(render).collect()
}

/// Checks texts that may be templates.
fn checked(texts: &[String]) -> Result<(), String> {
    let all = texts.iter().filter(|text| has_tags(text));
    let mut read = all.map(|text| Template::new(text).map(drop).map_err(|error| in_full(&error)));
    read.try_for_each(|read| read)
}

/// Texts as a list.
fn listed(texts: &[String]) -> String {
    texts.iter().map(|text| format!("- {}", text.trim())).collect::<Vec<_>>().join("\n")
}
