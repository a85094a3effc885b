//! The beginning of a run, whatever it begins with: one request, and one function that prepares it.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use windlass_core::budget::Budget;
use windlass_core::event::{Base, RunInput, RunStarted};
use windlass_core::policy::{CallersSystem, LimitKind, Memory};
use windlass_core::run::offered;
use windlass_core::{Input, InputKind, Message, Policy, RunId, State, Text, accept};
use windlass_read::reports::{Replayed, replay_run};
use windlass_read::{load_until, start_of};
use windlass_store::{Head, Log};

use crate::agent::{Agent, Toolset};
use crate::delegates::Task;
use crate::error::Error;
use crate::input::RunMessages;
use crate::off_thread::off_thread;
use crate::prices::check_prices;
use crate::prompt::{Prompt, PromptContext};
use crate::recall::{Past, reminder};
use crate::run::{DriveOptions, Prepared};
use crate::scope::scoped;
use crate::second::digest_of;

/// A run that is to begin, as its caller asks for it. [`Agent::begin`] prepares it.
pub(crate) struct Beginning {
    run: RunId,
    opening: Opening,
    base: Option<State>,
    options: DriveOptions,
    child: Option<Child>,
    request_digest: Option<Text>,
}

/// What a run begins with.
pub(crate) enum Opening {
    /// Messages, or an object for an agent with typed input.
    Messages(RunMessages),
    /// The run that it continues, with these limits.
    Limits(Vec<(LimitKind, u64)>),
    /// An event of the run that it forks: the start is made of that run's.
    Fork(Box<RunStarted>),
}

/// What a child run has from its parent.
struct Child {
    parent: RunId,
    budget: Budget,
    stall_ms: Option<u64>,
}

impl Beginning {
    /// A run of that id. Owner, session and choice of tools are in its options.
    pub(crate) fn new(run: RunId, opening: Opening, options: DriveOptions) -> Self {
        Self { run, opening, base: None, options, child: None, request_digest: None }
    }

    /// The child run that does a task.
    pub(crate) fn of_task(task: &Task, input: RunMessages) -> Self {
        let options = DriveOptions { owner: task.owner.clone(), ..DriveOptions::default() };
        let child = Child { parent: task.parent, budget: task.budget, stall_ms: task.stall_ms };
        Self { child: Some(child), ..Self::new(task.run, Opening::Messages(input), options) }
    }

    /// The state that it continues from.
    pub(crate) fn on(self, base: Option<State>) -> Self {
        Self { base, ..self }
    }

    /// The digest of the request that asked for it, where that came before its turn.
    pub(crate) fn requested(self, request_digest: Option<Text>) -> Self {
        Self { request_digest, ..self }
    }

    /// The bytes that are read to prepare it.
    fn heft(&self) -> u64 {
        let opening = if let Opening::Messages(input) = &self.opening { input.heft() } else { 0 };
        self.base.as_ref().map_or(0, |base| base.history().bytes()).saturating_add(opening)
    }
}

impl Agent {
    /// Prepares a run, which takes its time where its input or its base is long.
    ///
    /// Boxed: a future that prepares and drives a run holds the room of the larger one until its end.
    ///
    /// # Errors
    /// The input is empty or does not fit, the instructions cannot be rendered, a fork cannot start, or the log failed.
    pub(crate) fn begin(&self, beginning: Beginning) -> BoxFuture<'_, Result<Prepared, Error>> {
        Box::pin(async move {
            let past = match (&beginning.opening, &beginning.child) {
                (Opening::Messages(input), None) => {
                    self.past(&beginning.options.owner, input, beginning.base.is_none()).await?
                }
                (Opening::Messages(_) | Opening::Limits(_) | Opening::Fork(_), _) => Past::default(),
            };
            let (agent, heft) = (self.clone(), beginning.heft());
            off_thread(&**self.environment(), heft, move || agent.begin_here(beginning, past)).await
        })
    }

    fn begin_here(&self, beginning: Beginning, past: Past) -> Result<Prepared, Error> {
        let Beginning { run, opening, base, mut options, child, request_digest } = beginning;
        let base = base.as_ref();
        let forks = matches!(opening, Opening::Fork(_));
        let mut start = match opening {
            Opening::Messages(input) => {
                // Without a memory there is no session to belong to.
                options.session = options.session.filter(|_| self.policy().past.memory != Memory::Off);
                self.start(run, input, (base, &options), past)?
            }
            Opening::Limits(limits) => self.unlimited(run, base, &options, &limits)?,
            Opening::Fork(start) => *start,
        };
        start.request_digest = request_digest.or_else(|| digest_of(self, &start.input, &options));
        if let Some(Child { parent, budget, stall_ms }) = child {
            (start.parent, start.budget) = (Some(parent), budget);
            if let Some(ms) = stall_ms {
                Arc::make_mut(&mut start.policy).stall_as_child(ms);
            }
        }
        let head = head_of(&start, base);
        let state = base.map_or_else(|| State::new(start.run), |base| State::on_base(start.run, base));
        let first = InputKind::Start(Box::new(start));
        if forks {
            // What cannot be started is refused before anything is made of it.
            let input = Input { at: self.environment().now(), what: first.clone() };
            accept(&state, input).map_err(Error::Refused)?;
        }
        Ok(self.driver(state, Some(first), self.first_fence(), options).moving(head))
    }

    /// The facts of the start of a run that messages begin.
    fn start(
        &self,
        run: RunId,
        input: RunMessages,
        (base, options): (Option<&State>, &DriveOptions),
        past: Past,
    ) -> Result<RunStarted, Error> {
        if input.is_empty() {
            return Err(self.bad_input("it contains no message".to_owned()));
        }
        let (input, seen) = self.take_input(input)?;
        let last_answer = base.and_then(answer_of);
        let mut start = self.unprompted(run, input, base, options)?;
        let context = PromptContext { input: seen, session: start.session.clone(), last_answer };
        let Prompt { messages, objective } = self.prompt_for(&start, &context)?;
        start.prompt = match reminder(&self.policy().wording.texts.recalled, &past.recalled) {
            Some(reminder) => reminded(&messages, reminder),
            None => messages,
        };
        Ok(RunStarted { objective, recalled: past.recalled, tool_records: past.tool_records, ..start })
    }

    /// The facts of the start of a run that goes on behind a limit.
    fn unlimited(
        &self,
        run: RunId,
        base: Option<&State>,
        options: &DriveOptions,
        limits: &[(LimitKind, u64)],
    ) -> Result<RunStarted, Error> {
        let Some(cut) = base else { return Err(Error::NotEnded { run }) };
        let start = self.unprompted(run, RunInput::Continue(cut.carried()), base, options)?;
        let only_tools = cut.only_tools().cloned();
        let start = RunStarted {
            prompt: cut.prompt().clone(),
            objective: cut.objective().cloned(),
            tools: scoped(start.tools, only_tools.as_ref()),
            only_tools,
            policy: Self::raised(cut.policy(), limits),
            ..start
        };
        let Toolset { delegates, branches, .. } = self.toolset();
        check_prices(self.name(), &start.policy, start.models.iter(), (delegates, branches))?;
        Ok(start)
    }

    /// The same without the messages before the conversation, whose place is left empty.
    fn unprompted(
        &self,
        run: RunId,
        input: RunInput,
        base: Option<&State>,
        options: &DriveOptions,
    ) -> Result<RunStarted, Error> {
        self.toolset().sources.iter().for_each(|source| source.seek());
        let tools = self.refresh();
        if let Some(only) = &options.only_tools {
            self.check_scope(only)?;
        }
        let only_tools = options.only_tools.clone().map(Arc::new);
        Ok(RunStarted {
            owner: options.owner.clone(),
            session: options.session.clone(),
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

/// A prompt with what the run is told of earlier ones, behind the instructions.
fn reminded(prompt: &[Arc<Message>], reminder: Message) -> Arc<Vec<Arc<Message>>> {
    let own = usize::from(prompt.first().is_some_and(|first| matches!(**first, Message::System { .. })));
    let mut prompt = prompt.to_vec();
    prompt.insert(own, Arc::new(reminder));
    Arc::new(prompt)
}

/// What the first append of a run does to the head of its session: it moves it from the base, where that is of the same session. A fork
/// stands in a session of its own.
fn head_of(start: &RunStarted, base: Option<&State>) -> Head {
    if start.session.is_none() {
        return Head::Stays;
    }
    let continues = |base: &&State| {
        !matches!(start.input, RunInput::Fork(_))
            && base.session() == start.session.as_ref()
            && *base.owner() == start.owner
    };
    Head::Moves { from: base.filter(continues).map(State::run) }
}
