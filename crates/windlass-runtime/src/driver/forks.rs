//! Forks: a new run that continues from any event of another one. Nothing is copied, and no work is repeated.

use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use windlass_core::event::{Base, CallFact, Fork as Forked, RunInput, RunStarted, StartedCall};
use windlass_core::model::Usage;
use windlass_core::{CallId, Event, Fact, RunId, SessionId, State, Text};
use windlass_read::{RunPages, load_until, start_of};
use windlass_store::{Log, StoreError};

use crate::agent::Agent;
use crate::agent::binding::digest;
use crate::agent::calls::{context, tool_of};
use crate::agent::changes::check_agent;
use crate::agent::input::RunMessages;
use crate::driver::Driver;
use crate::driver::options::DriveOptions;
use crate::driver::starting::{Beginning, Opening, begin, start_again};
use crate::driver::work::Work;
use crate::platform::error::Error;

/// Options of a fork.
#[derive(Clone, Debug, Default)]
pub struct ForkOptions {
    /// The number of the run's events that the fork stands on: at least one.
    pub at: u64,
    /// Whether this agent's instructions, policy, tools and models apply in place of the run's own.
    pub changed: bool,
    /// A message to the agent as it continues, or a new input if the run had ended.
    pub say: Option<RunMessages>,
}

/// The work that a fork does not pay again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Model calls whose replies are kept.
    pub model_calls: u64,
    /// Tool calls whose results are kept, those included that the base ended after the event.
    pub tool_calls: u64,
    /// Their tokens.
    pub usage: Usage,
    /// Cost of this usage in pico-dollars, as far as prices are known.
    pub cost: u64,
}

impl Saved {
    /// As JSON, with the run that was forked after its event `at`, and the fork (`forked`).
    pub fn to_json(&self, base: RunId, at: u64, run: RunId) -> Value {
        json!({
            "type": "forked",
            "run": run,
            "base": base,
            "at": at,
            "saved": {
                "model_calls": self.model_calls,
                "tool_calls": self.tool_calls,
                "usage": self.usage,
                "cost_usd": self.cost as f64 / 1e12,
            },
        })
    }
}

/// The parts of a fork's request that make it the same one.
#[derive(Serialize)]
struct Request<'r> {
    agent: &'r Text,
    base: RunId,
    at: u64,
    changed: bool,
    say: Option<&'r RunMessages>,
    session: Option<&'r SessionId>,
    only_tools: Option<&'r Vec<Text>>,
}

/// Prepares a fork, whatever was sent before, with the work that it does not pay again.
pub(crate) async fn fork_anew<W: Work>(
    agent: &Agent,
    run: RunId,
    fork: ForkOptions,
    options: DriveOptions,
) -> Result<(Box<Driver<W>>, Saved), Error> {
    let log = &**agent.log();
    let summary = log.summary(run).await?;
    let version = summary.version;
    if !(1..=version).contains(&fork.at) {
        return Err(Error::NoSuchEvent { run, at: fork.at, version });
    }
    let base = load_until(log, run, fork.at).await?;
    if !fork.changed {
        check_agent(agent, &base)?;
    }
    let request = fork_request(agent, run, &fork, &options);
    let (own, digest) =
        request.map_or_else(|| (agent.environment().new_run(), None), |(own, digest)| (own, Some(digest)));
    if let (true, Some(messages)) = (base.is_finished(), fork.say.clone()) {
        let saved = saved(&base, None);
        let beginning = Beginning::new(own, Opening::Messages(messages), options);
        let driver = begin(agent, beginning.on(Some(base)).requested(digest)).await?;
        return Ok((driver, saved));
    }
    let say = fork.say.as_ref().map(|messages| messages.text().into());
    let fact = Forked::of(&base, &later(log, &base).await?, say);
    if summary.holder.is_none() {
        stop_left_behind(agent, &base, &fact).await;
    }
    let saved = saved(&base, Some(&fact));
    let fresh = RunStarted::new(own, agent.agent_ref().clone(), RunInput::Fork(fact));
    let start = forked(agent, &base, fresh, &fork, &options).await?;
    let beginning = Beginning::new(own, Opening::Fork(Box::new(start)), options);
    let driver = begin(agent, beginning.on(Some(base)).requested(digest)).await?;
    Ok((driver, saved))
}

/// Stops work that a dead process of the base left behind, so that it has no effect after the fork settled its outcome.
async fn stop_left_behind(agent: &Agent, base: &State, fork: &Forked) {
    for lost in fork.calls.iter().filter(|call| call.outcome.is_none()) {
        let context = context(base, &lost.call, 1, CancellationToken::new());
        let tool = base.open_call(&lost.call).and_then(|open| tool_of(agent, base, open));
        if let (Some(context), Some(tool)) = (context, tool) {
            tool.stop_left_behind(context).await;
        }
    }
}

/// The id and the digest of a fork that is asked for under an idempotency key; `None`: it has none.
fn fork_request(
    agent: &Agent,
    base: RunId,
    fork: &ForkOptions,
    options: &DriveOptions,
) -> Option<(RunId, Text)> {
    let key = options.key.as_ref()?;
    let request = Request {
        agent: agent.name(),
        base,
        at: fork.at,
        changed: fork.changed,
        say: fork.say.as_ref(),
        session: options.session.as_ref(),
        only_tools: options.only_tools.as_ref(),
    };
    Some((RunId::of_request(&options.owner, "fork", key), digest(&request)))
}

/// The fork that an earlier sending of this request has begun, and the work that it does not pay again; `None`: there is none.
///
/// # Errors
/// Another request has the key.
pub(crate) async fn forked_before(
    agent: &Agent,
    base: RunId,
    fork: &ForkOptions,
    options: &DriveOptions,
) -> Result<Option<(RunId, Saved)>, Error> {
    let (Some((run, digest)), Some(key)) = (fork_request(agent, base, fork, options), &options.key) else {
        return Ok(None);
    };
    let log = &**agent.log();
    let start = match start_of(log, run).await.map_err(Error::from) {
        Ok(start) => start,
        Err(Error::Log(StoreError::UnknownRun { .. })) => return Ok(None),
        Err(error) => return Err(error),
    };
    if start.request_digest != Some(digest) {
        return Err(Error::KeyReused { key: key.clone(), run });
    }
    let base = load_until(log, base, fork.at).await?;
    let fact = if let RunInput::Fork(fact) = &start.input { Some(fact) } else { None };
    Ok(Some((run, saved(&base, fact))))
}

/// The facts of the start of a fork.
async fn forked(
    agent: &Agent,
    base: &State,
    fresh: RunStarted,
    fork: &ForkOptions,
    options: &DriveOptions,
) -> Result<RunStarted, Error> {
    let position = Base { run: base.run(), version: base.version(), digest: base.digest() };
    let mut start = RunStarted {
        owner: options.owner.clone(),
        session: options.session.clone(),
        base: Some(position),
        prompt: base.prompt().clone(),
        tools: base.tools().clone(),
        models: base.models().clone(),
        policy: base.policy().clone(),
        output_schema: base.output_schema().cloned(),
        binding_digests: agent.binding_digests(None),
        only_tools: base.only_tools().cloned(),
        recalled: base.recalled().to_vec(),
        tool_records: base.tool_records().to_vec(),
        objective: base.objective().cloned(),
        agent_files: agent.reference_to_files(),
        ..fresh
    };
    if fork.changed {
        let again = start_again(agent, &**agent.log(), &start).await?;
        start = RunStarted { models: agent.known_models(None), ..again };
    }
    Ok(start)
}

/// The work that a fork does not pay again: that of its base, and calls of it that the base has ended since.
fn saved(base: &State, fork: Option<&Forked>) -> Saved {
    let carried = base.carried();
    let since = fork.map_or(0, |fork| {
        let ended = |call: &&StartedCall| call.outcome.is_some() && !base.has_started(&call.call);
        fork.calls.iter().filter(ended).count()
    });
    Saved {
        model_calls: carried.counters.model_calls,
        tool_calls: carried.counters.tool_calls + since as u64,
        usage: carried.usage,
        cost: carried.cost,
    }
}

/// The events after that state, as far as they say something about its open calls.
async fn later(log: &dyn Log, base: &State) -> Result<Vec<Event>, Error> {
    let mut open: Vec<CallId> = base.open_calls().map(|call| call.call.id.clone()).collect();
    let mut later = Vec::new();
    let mut pages = RunPages::starting_at(log, base.run(), base.version() + 1);
    while !open.is_empty() {
        let Some(batches) = pages.next().await? else { break };
        for event in batches.iter().flat_map(|batch| batch.events.iter()) {
            if let Fact::Call(CallFact::Finished(finished)) = &event.fact {
                open.retain(|call| *call != finished.call);
            }
            later.push(event.clone());
        }
    }
    Ok(later)
}
