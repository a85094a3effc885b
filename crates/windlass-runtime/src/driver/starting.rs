//! The beginning of a run, whatever it begins with: one request, and one function that prepares it.

use std::future::ready;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use windlass_core::budget::Budget;
use windlass_core::event::{Base, RunInput, RunStarted};
use windlass_core::policy::{CallersSystem, LimitKind, Memory};
use windlass_core::run::offered;
use windlass_core::{Input, InputKind, Message, Policy, RunId, State, Text, accept};
use windlass_read::{load_until, start_of};
use windlass_store::{Fence, Head, Log};
use windlass_threads::LARGE_BYTES;

use crate::agent::Agent;
use crate::agent::delegates::Task;
use crate::agent::input::{RunMessages, bad_input, has_documents, seen_input, take_input, with_documents};
use crate::agent::prices::check_prices;
use crate::agent::prompt::{Prompt, PromptContext};
use crate::agent::recall::{Past, looks_back, past, reminder};
use crate::agent::scope::{check_scope, scoped};
use crate::agent::toolset::Toolset;
use crate::driver::Driver;
use crate::driver::options::DriveOptions;
use crate::driver::requests::digest_of;
use crate::driver::work::Work;
use crate::platform::error::Error;
use crate::platform::off_thread::off_thread;

/// A run that is to begin, as its caller asks for it. [`begin`] prepares it.
pub(crate) struct Beginning {
    run: RunId,
    opening: Opening,
    // Boxed: it is copied from function to function with the rest, and most starts have none.
    base: Option<Box<State>>,
    options: DriveOptions,
    child: Option<Child>,
    request_digest: Option<Text>,
}

/// The opening of a run.
pub(crate) enum Opening {
    /// Messages, or an object for an agent with typed input.
    Messages(RunMessages),
    /// The run that it continues, with these limits.
    Limits(Vec<(LimitKind, u64)>),
    /// An event of the run that it forks: the start is made of that run's.
    Fork(Box<RunStarted>),
}

/// The data that a child run has from its parent.
struct Child {
    parent: RunId,
    budget: Budget,
    inactivity_ms: Option<u64>,
}

impl Beginning {
    /// A run of that id. Owner, session and choice of tools are in its options.
    pub(crate) fn new(run: RunId, opening: Opening, options: DriveOptions) -> Self {
        Self { run, opening, base: None, options, child: None, request_digest: None }
    }

    /// The child run that does a task.
    pub(crate) fn of_task(task: &Task, input: RunMessages) -> Self {
        let options = DriveOptions { owner: task.owner.clone(), ..DriveOptions::default() };
        let child = Child { parent: task.parent, budget: task.budget, inactivity_ms: task.inactivity_ms };
        Self { child: Some(child), ..Self::new(task.run, Opening::Messages(input), options) }
    }

    /// The state that it continues from.
    pub(crate) fn on(self, base: Option<State>) -> Self {
        Self { base: base.map(Box::new), ..self }
    }

    /// The digest of the request that asked for it, where that came before its turn.
    pub(crate) fn requested(self, request_digest: Option<Text>) -> Self {
        Self { request_digest, ..self }
    }

    /// Whether it may be given something of earlier runs: a message of a person is, a task of another run is not.
    fn may_look_back(&self) -> bool {
        matches!(self.opening, Opening::Messages(_)) && self.child.is_none()
    }

    /// The bytes that are read to prepare it.
    fn bytes(&self) -> u64 {
        let opening = if let Opening::Messages(input) = &self.opening { input.bytes() } else { 0 };
        self.base.as_ref().map_or(0, |base| base.history().bytes()).saturating_add(opening)
    }
}

/// Prepares a run, which takes its time where its input or its base is long.
///
/// Boxed: a future that prepares and drives a run holds the room of the larger one until its end. Most starts are short and look at no
/// earlier run: they are over at once, and take no room at all.
///
/// # Errors
/// The input is empty or does not fit, the instructions cannot be rendered, a fork cannot start, or the log failed.
pub(crate) fn begin<W: Work>(
    agent: &Agent,
    beginning: Beginning,
) -> BoxFuture<'_, Result<Box<Driver<W>>, Error>> {
    let looks_back = beginning.may_look_back() && looks_back(agent);
    let has_documents = matches!(&beginning.opening, Opening::Messages(input) if has_documents(agent, input));
    if !looks_back && !has_documents && beginning.bytes() < LARGE_BYTES {
        return Box::pin(ready(begin_here(agent, beginning, Past::default())));
    }
    Box::pin(async move {
        let beginning =
            if has_documents { Box::pin(read_documents(agent, beginning)).await? } else { beginning };
        let past = match &beginning.opening {
            Opening::Messages(input) if looks_back => {
                past(agent, &beginning.options.owner, input, beginning.base.is_none()).await?
            }
            Opening::Messages(_) | Opening::Limits(_) | Opening::Fork(_) => Past::default(),
        };
        let (own, bytes) = (agent.clone(), beginning.bytes());
        off_thread(&**agent.environment(), bytes, move || begin_here(&own, beginning, past)).await
    })
}

/// The same beginning with the text of its documents. Its request is the one that was sent, whatever the reader makes of it.
async fn read_documents(agent: &Agent, beginning: Beginning) -> Result<Beginning, Error> {
    let Beginning { opening: Opening::Messages(input), request_digest, .. } = beginning else {
        return Ok(beginning);
    };
    let request_digest = match request_digest {
        None if beginning.options.key.is_some() => {
            digest_of(agent, &take_input(agent, input.clone())?.0, &beginning.options)
        }
        digest => digest,
    };
    let opening = Opening::Messages(with_documents(agent, input).await?);
    Ok(Beginning { opening, request_digest, ..beginning })
}

fn begin_here<W: Work>(agent: &Agent, beginning: Beginning, past: Past) -> Result<Box<Driver<W>>, Error> {
    let Beginning { run, opening, base, mut options, child, request_digest } = beginning;
    let base = base.as_deref();
    let forks = matches!(opening, Opening::Fork(_));
    let mut start = match opening {
        Opening::Messages(input) => {
            // Without a memory there is no session to belong to.
            options.session = options.session.filter(|_| agent.policy().past.memory != Memory::Off);
            let start = start_with(agent, run, input, base, &options)?;
            reminded(agent, start, past)
        }
        Opening::Limits(limits) => start_behind_limit(agent, run, base, &options, &limits)?,
        Opening::Fork(start) => *start,
    };
    start.request_digest = request_digest.or_else(|| digest_of(agent, &start.input, &options));
    if let Some(Child { parent, budget, inactivity_ms }) = child {
        (start.parent, start.budget) = (Some(parent), budget);
        if let Some(ms) = inactivity_ms {
            Arc::make_mut(&mut start.policy).stall_as_child(ms);
        }
    }
    let head = head_of(&start, base);
    let state = base.map_or_else(|| State::new(start.run), |base| State::on_base(start.run, base));
    let first = InputKind::Start(Box::new(start));
    if forks {
        // What cannot be started is refused before anything is made of it.
        let input = Input { at: agent.environment().now(), what: first.clone() };
        accept(&state, input).map_err(Error::Refused)?;
    }
    let fence = Fence { holder: agent.holder().clone(), epoch: 1 };
    let mut driver = Box::new(Driver::new(agent.clone(), state, fence, Some(first), options));
    driver.move_head(head);
    Ok(driver)
}

/// The facts of the start of a run that messages begin.
fn start_with(
    agent: &Agent,
    run: RunId,
    input: RunMessages,
    base: Option<&State>,
    options: &DriveOptions,
) -> Result<RunStarted, Error> {
    if input.is_empty() {
        return Err(bad_input(agent, "it contains no message".to_owned()));
    }
    let (input, seen) = take_input(agent, input)?;
    let last_answer = base.and_then(answer_of);
    let start = unprompted(agent, run, input, base, options)?;
    let context = PromptContext { input: seen, session: start.session.clone(), last_answer };
    let Prompt { messages, objective } = prompt_for(agent, &start, &context)?;
    Ok(RunStarted { prompt: messages, objective, ..start })
}

/// The start of a run that is reminded of earlier runs, behind the instructions.
fn reminded(agent: &Agent, start: RunStarted, past: Past) -> RunStarted {
    let prompt = match reminder(&agent.policy().wording.texts.recalled, &past.recalled) {
        Some(reminder) => behind_instructions(&start.prompt, reminder),
        None => start.prompt,
    };
    RunStarted { prompt, recalled: past.recalled, tool_records: past.tool_records, ..start }
}

/// The facts of the start of a run that goes on behind a limit.
fn start_behind_limit(
    agent: &Agent,
    run: RunId,
    base: Option<&State>,
    options: &DriveOptions,
    limits: &[(LimitKind, u64)],
) -> Result<RunStarted, Error> {
    let Some(cut) = base else { return Err(Error::NotEnded { run }) };
    let start = unprompted(agent, run, RunInput::Continue(cut.carried()), base, options)?;
    let only_tools = cut.only_tools().cloned();
    let start = RunStarted {
        prompt: cut.prompt().clone(),
        objective: cut.objective().cloned(),
        tools: scoped(start.tools, only_tools.as_ref()),
        only_tools,
        policy: raised(cut.policy(), limits),
        ..start
    };
    let Toolset { delegates, branches, .. } = agent.toolset();
    check_prices(agent.name(), &start.policy, start.models.iter(), delegates, branches)?;
    Ok(start)
}

/// The same without the messages before the conversation, whose place is left empty.
fn unprompted(
    agent: &Agent,
    run: RunId,
    input: RunInput,
    base: Option<&State>,
    options: &DriveOptions,
) -> Result<RunStarted, Error> {
    agent.toolset().sources.iter().for_each(|source| source.seek());
    let tools = agent.refresh();
    if let Some(only) = &options.only_tools {
        check_scope(agent, only)?;
    }
    let only_tools = options.only_tools.clone().map(Arc::new);
    Ok(RunStarted {
        owner: options.owner.clone(),
        session: options.session.clone(),
        base: base.map(|base| Base { run: base.run(), version: base.version(), digest: base.digest() }),
        tools: scoped(tools, only_tools.as_ref()),
        models: agent.known_models(base),
        policy: agent.policy().clone(),
        output_schema: agent.spec().output.clone(),
        binding_digests: agent.binding_digests(base.and_then(salt_of_rules)),
        only_tools,
        agent_files: agent.reference_to_files(),
        ..RunStarted::new(run, agent.agent_ref().clone(), input)
    })
}

/// Rebuilds a run's start with an agent's policy, prompt and tools.
pub(crate) async fn start_again(
    agent: &Agent,
    log: &dyn Log,
    start: &RunStarted,
) -> Result<RunStarted, Error> {
    let origin = origin(log, start).await?;
    let salt = start.binding_digests.as_ref().map(|binding_digests| &binding_digests.salt);
    let again = RunStarted {
        tools: scoped(agent.tools(), start.only_tools.as_ref()),
        policy: agent.policy().clone(),
        output_schema: agent.spec().output.clone(),
        binding_digests: agent.binding_digests(salt),
        ..start.clone()
    };
    let context = context_of(agent, log, &origin).await?;
    let Prompt { messages, objective } = prompt_for(agent, &again, &context)?;
    // A fork is given no messages of its own that could bring them.
    let forks = matches!(start.input, RunInput::Fork(_));
    let prompt = if forks { instructed(agent, messages, &origin.input) } else { messages };
    Ok(RunStarted { prompt, objective, ..again })
}

/// The context of a prompt of a run that began so.
pub(crate) async fn context_of(
    agent: &Agent,
    log: &dyn Log,
    origin: &RunStarted,
) -> Result<PromptContext, Error> {
    let last_answer = match &origin.base {
        Some(base) if agent.spec().prompting.builder.is_some() => {
            answer_of(&load_until(log, base.run, base.version).await?)
        }
        _ => None,
    };
    let (input, session) = (seen_input(agent, &origin.input), origin.session.clone());
    Ok(PromptContext { input, session, last_answer })
}

fn prompt_for(agent: &Agent, start: &RunStarted, context: &PromptContext) -> Result<Prompt, Error> {
    let spec = agent.spec();
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
    agent: &Agent,
    prompt: Arc<Vec<Arc<Message>>>,
    input: &RunInput,
) -> Arc<Vec<Arc<Message>>> {
    if agent.policy().request.callers_system == CallersSystem::WithInstructions {
        input.instruct(&prompt)
    } else {
        prompt
    }
}

/// The policy with some limits raised.
fn raised(policy: &Arc<Policy>, limits: &[(LimitKind, u64)]) -> Arc<Policy> {
    let mut policy = Policy::clone(policy);
    for (kind, max) in limits {
        policy.set_limit_value(*kind, *max);
    }
    Arc::new(policy)
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

/// A prompt with a message behind the instructions.
fn behind_instructions(prompt: &[Arc<Message>], reminder: Message) -> Arc<Vec<Arc<Message>>> {
    let own = usize::from(prompt.first().is_some_and(|first| matches!(**first, Message::System { .. })));
    let mut prompt = prompt.to_vec();
    prompt.insert(own, Arc::new(reminder));
    Arc::new(prompt)
}

/// The effect of a run's first append on the head of its session: it moves it from the base, where that is of the same session. A
/// fork stands in a session of its own.
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
