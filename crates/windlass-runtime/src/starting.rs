//! The facts of a run's start: input, tools, and the messages before the conversation.

use std::sync::Arc;

use windlass_core::event::{Base, RunInput, RunStarted};
use windlass_core::policy::{CallersSystem, LimitKind};
use windlass_core::run::offered;
use windlass_core::{Message, Owner, Policy, RunId, SessionId, State, Text};
use windlass_read::reports::{Replayed, replay_run};
use windlass_read::{load_until, start_of};
use windlass_store::{Head, Log};

use crate::agent::Agent;
use crate::error::Error;
use crate::input::RunMessages;
use crate::prompt::{Prompt, PromptContext};
use crate::scope::scoped;

/// Part of a run's start that is chosen by its caller.
pub(crate) struct Beginning<'b> {
    pub(crate) run: RunId,
    pub(crate) owner: Owner,
    pub(crate) session: Option<SessionId>,
    /// The state that it continues from.
    pub(crate) base: Option<&'b State>,
    /// Patterns of the tools that it is given; `None`: all of its agent's.
    pub(crate) only_tools: Option<Vec<Text>>,
}

impl Agent {
    /// The facts of a new run's start.
    pub(crate) fn start(&self, input: RunMessages, beginning: Beginning<'_>) -> Result<RunStarted, Error> {
        let (input, seen) = self.take_input(input)?;
        let last_answer = beginning.base.and_then(answer_of);
        let mut start = self.unprompted(input, beginning)?;
        let context = PromptContext { input: seen, session: start.session.clone(), last_answer };
        let Prompt { messages, objective } = self.prompt_for(&start, &context)?;
        (start.prompt, start.objective) = (messages, objective);
        Ok(start)
    }

    /// The same without the messages before the conversation, whose place is left empty.
    pub(crate) fn unprompted(
        &self,
        input: RunInput,
        Beginning { run, owner, session, base, only_tools }: Beginning<'_>,
    ) -> Result<RunStarted, Error> {
        self.toolset().sources.iter().for_each(|source| source.seek());
        let tools = self.refresh();
        if let Some(only) = &only_tools {
            self.check_scope(only)?;
        }
        let only_tools = only_tools.map(Arc::new);
        Ok(RunStarted {
            owner,
            session,
            base: base.map(|base| Base { run: base.run(), version: base.version(), digest: base.digest() }),
            tools: scoped(tools, only_tools.as_ref()),
            models: self.known_models(base),
            policy: self.policy().clone(),
            output_schema: self.spec().output.clone(),
            binding_digests: self.binding_digests(base.and_then(salt_of_rules)),
            only_tools,
            agent_files: self.reference_to_files(),
            ..RunStarted::new(run, self.agent_ref().clone(), input)
        })
    }

    /// Rebuilds a run's start with this agent's policy, prompt and tools.
    pub(crate) async fn start_again(&self, log: &dyn Log, start: &RunStarted) -> Result<RunStarted, Error> {
        let origin = origin(log, start).await?;
        let again = RunStarted {
            tools: scoped(self.tools(), start.only_tools.as_ref()),
            policy: self.policy().clone(),
            output_schema: self.spec().output.clone(),
            binding_digests: self
                .binding_digests(start.binding_digests.as_ref().map(|binding_digests| &binding_digests.salt)),
            ..start.clone()
        };
        let context = self.context_of(log, &origin).await?;
        let Prompt { messages, objective } = self.prompt_for(&again, &context)?;
        // A fork is given no messages of its own that could bring them.
        let forks = matches!(start.input, RunInput::Fork(_));
        let prompt = if forks { self.instructed(messages, &origin.input) } else { messages };
        Ok(RunStarted { prompt, objective, ..again })
    }

    /// Replays a run from the start that this agent would make ([`replay_run`]).
    ///
    /// # Errors
    /// As for [`replay_run`]; the agent's instructions cannot be rendered.
    pub async fn replay(&self, run: RunId) -> Result<Replayed, Error> {
        let log = &**self.log();
        let start = self.start_again(log, &start_of(log, run).await?).await?;
        Ok(replay_run(log, run, Some(start)).await?)
    }

    /// The context of a prompt of a run that began so.
    pub(crate) async fn context_of(
        &self,
        log: &dyn Log,
        origin: &RunStarted,
    ) -> Result<PromptContext, Error> {
        let last_answer = match &origin.base {
            Some(base) if self.spec().prompting.builder.is_some() => {
                answer_of(&load_until(log, base.run, base.version).await?)
            }
            _ => None,
        };
        let (input, session) = (self.seen_input(&origin.input), origin.session.clone());
        Ok(PromptContext { input, session, last_answer })
    }

    fn prompt_for(&self, start: &RunStarted, context: &PromptContext) -> Result<Prompt, Error> {
        let spec = self.spec();
        let tools = || offered(&start.policy, &start.tools);
        let made = spec.prompting.prompt(&spec.name, tools, context)?;
        let Some((system, objective)) = made else {
            return Ok(Prompt { messages: spec.prompt.clone(), objective: None });
        };
        let mut messages = vec![Arc::new(Message::system(system))];
        messages.extend(spec.examples.iter().cloned());
        Ok(Prompt { messages: Arc::new(messages), objective })
    }

    /// A prompt with the caller's system messages, if the policy puts them there (KAOS).
    pub(crate) fn instructed(
        &self,
        prompt: Arc<Vec<Arc<Message>>>,
        input: &RunInput,
    ) -> Arc<Vec<Arc<Message>>> {
        if self.policy().request.callers_system == CallersSystem::WithInstructions {
            input.instruct(&prompt)
        } else {
            prompt
        }
    }

    /// The policy with some limits raised.
    pub(crate) fn raised(policy: &Arc<Policy>, limits: &[(LimitKind, u64)]) -> Arc<Policy> {
        let mut policy = Policy::clone(policy);
        for (kind, max) in limits {
            policy.set_limit_value(*kind, *max);
        }
        Arc::new(policy)
    }
}

/// The start of a run's chain of forks: the one with an input of its own.
pub(crate) async fn origin(log: &dyn Log, start: &RunStarted) -> Result<RunStarted, Error> {
    let mut start = start.clone();
    loop {
        let Some(base) = start.base.as_ref().filter(|_| matches!(start.input, RunInput::Fork(_))) else {
            return Ok(start);
        };
        start = start_of(log, base.run).await?;
    }
}

/// The answer of a run that has ended.
fn answer_of(state: &State) -> Option<Text> {
    state.ended()?.text.clone()
}

/// The salt under which the rules of a session were made, which the next run takes over: its tools can then be compared with them.
fn salt_of_rules(base: &State) -> Option<&Text> {
    let mut rules = base.allowed_tools();
    rules.next().and(base.binding_digests()).map(|binding_digests| &binding_digests.salt)
}

/// What the first append of a run does to the head of its session: it moves it from the base, where that is of the same session.
pub(crate) fn head_of(start: &RunStarted, base: Option<&State>) -> Head {
    if start.session.is_none() {
        return Head::Stays;
    }
    let below = base.filter(|base| base.session() == start.session.as_ref() && *base.owner() == start.owner);
    Head::Moves { from: below.map(State::run) }
}
