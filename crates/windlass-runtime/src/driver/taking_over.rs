//! Taking a run over: who may go on with it, and what its new holder says first.

use std::sync::Arc;

use windlass_core::event::{Adjusted, AgentRef, AgentSwitch, ResumedBy, RunInput};
use windlass_core::{InputKind, InvalidInput, RunId, State};
use windlass_read::{catch_up, load, start_of};
use windlass_store::{Claim, Fence};

use crate::agent::Agent;
use crate::agent::changes::{changed_since, check_agent};
use crate::agent::scope::scoped;
use crate::driver::Driver;
use crate::driver::lost::refuse_given_up;
use crate::driver::options::DriveOptions;
use crate::driver::starting::{instructed, start_again};
use crate::driver::work::Work;
use crate::platform::error::Error;
use crate::platform::retry::again;

/// Whether the agent that takes a run over may be another one than it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OtherAgent {
    #[default]
    No,
    /// It may be, for this time: it ends the run, or does the task of a run that goes on.
    Allowed,
    /// It is the run's agent from here on.
    Switches,
}

/// The run to take over, and the authority for it.
struct TakeOver {
    run: RunId,
    /// Its state as it was read before.
    seen: Option<State>,
    other: OtherAgent,
    /// The authority ([`DriveOptions::resumed_by`]).
    resumed_by: ResumedBy,
}

/// Takes over a run without a driver.
pub(crate) async fn take_over<W: Work>(
    agent: &Agent,
    run: RunId,
    seen: Option<State>,
    other: OtherAgent,
    options: DriveOptions,
) -> Result<Box<Driver<W>>, Error> {
    let claim = Claim::fresh();
    let acquire = || agent.log().acquire(run, agent.holder(), claim);
    let fence = again(&**agent.environment(), acquire).await?;
    let which = TakeOver { run, seen, other, resumed_by: options.resumed_by };
    take_over_as(agent, which, fence, options).await
}

/// Takes over a run, as it was read, whose lease this process has already.
pub(crate) async fn take_over_held<W: Work>(
    agent: &Agent,
    seen: State,
    fence: Fence,
    options: DriveOptions,
) -> Result<Box<Driver<W>>, Error> {
    let (run, resumed_by) = (seen.run(), options.resumed_by);
    let which = TakeOver { run, seen: Some(seen), other: OtherAgent::No, resumed_by };
    take_over_as(agent, which, fence, options).await
}

async fn take_over_as<W: Work>(
    agent: &Agent,
    which: TakeOver,
    fence: Fence,
    options: DriveOptions,
) -> Result<Box<Driver<W>>, Error> {
    let run = which.run;
    match Box::pin(taken_over(agent, which, &fence)).await {
        Ok((state, first)) => Ok(Box::new(Driver::new(agent.clone(), state, fence, Some(first), options))),
        Err(error) => {
            agent.log().release(run, &fence).await?;
            Err(error)
        }
    }
}

/// The current state of the run, and the first input of its new holder. An imported run gets the new agent's policy, tools,
/// models and instructions.
async fn taken_over(agent: &Agent, which: TakeOver, fence: &Fence) -> Result<(State, InputKind), Error> {
    let TakeOver { run, seen, other, resumed_by } = which;
    let state = checked_state(agent, run, seen, other).await?;
    refuse_given_up(&**agent.log(), &state, resumed_by).await?;
    let adjusted = if state.agent().is_some_and(AgentRef::is_imported) {
        Some(Box::pin(adoption(agent, &state)).await?)
    } else {
        // What has changed must be known before anything begins again that was allowed as it was.
        adjustment(agent, &state, other)
    };
    let (holder, epoch) = (fence.holder.0.clone(), fence.epoch);
    let adjusted = adjusted.map(Box::new);
    Ok((state, InputKind::Resumed { holder, epoch, by: resumed_by, adjusted }))
}

/// The changes since the run had a holder.
fn adjustment(agent: &Agent, state: &State, other: OtherAgent) -> Option<Adjusted> {
    let changed = changed_since(agent, state);
    let switches = other == OtherAgent::Switches && !agent.is_of(state);
    let switched = switches.then(|| {
        let (agent, agent_files) = (agent.agent_ref().clone(), agent.reference_to_files());
        Box::new(AgentSwitch { agent, agent_files })
    });
    if changed.is_none() && switched.is_none() {
        return None;
    }
    Some(Adjusted { switched, ..changed.unwrap_or_default() })
}

/// The settings that an imported run works with from here on.
async fn adoption(agent: &Agent, state: &State) -> Result<Adjusted, Error> {
    let start = start_of(&**agent.log(), state.run()).await?;
    let own = start_again(agent, &**agent.log(), &start).await?;
    let given = matches!(start.input, RunInput::Messages(_));
    Ok(Adjusted {
        agent: Some(agent.agent_ref().clone()),
        agent_files: agent.reference_to_files(),
        switched: None,
        policy: Some(own.policy),
        tools: Some(scoped(agent.refresh(), start.only_tools.as_ref())),
        // Under a salt of our own: that of the run is known elsewhere.
        binding_digests: agent
            .binding_digests(None)
            .or_else(|| state.binding_digests().map(|_| Arc::default())),
        models: Some(agent.known_models(None)),
        prompt: Some(if given { instructed(agent, own.prompt, &start.input) } else { own.prompt }),
        objective: own.objective,
        refused: None,
        refused_setting: None,
    })
}

/// The state of a run that this agent may resume.
pub(crate) async fn checked_state(
    agent: &Agent,
    run: RunId,
    seen: Option<State>,
    other: OtherAgent,
) -> Result<State, Error> {
    let state = match seen {
        Some(seen) => catch_up(&**agent.log(), seen).await?,
        None => load(&**agent.log(), run).await?,
    };
    if let Some(end) = state.ended() {
        let invalid = InvalidInput::Ended { run, status: end.status, found: "further inputs" };
        return Err(Error::Refused(invalid));
    }
    let changed = other != OtherAgent::No;
    match check_agent(agent, &state) {
        // An imported run continues with the new agent's models.
        Err(_) if changed && state.agent().is_some_and(AgentRef::is_imported) => {}
        Err(_) if changed => check_models(agent, run).await?,
        checked => checked?,
    }
    Ok(state)
}

/// A run keeps the models that it began with: a changed agent must still have them.
async fn check_models(agent: &Agent, run: RunId) -> Result<(), Error> {
    let start = start_of(&**agent.log(), run).await?;
    match start.models.iter().find(|choice| agent.model(&choice.name).is_none()) {
        Some(gone) => Err(Error::ModelGone { run, model: gone.name.clone() }),
        None => Ok(()),
    }
}
