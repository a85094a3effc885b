//! Taking a run over: who may go on with it, and what its new holder says first.

use std::sync::Arc;

use windlass_core::event::{Adjusted, AgentRef, AgentSwitch, ResumedBy, RunInput};
use windlass_core::{InputKind, InvalidInput, RunId, State};
use windlass_read::{catch_up, load, start_of};
use windlass_store::{Claim, Fence};

use crate::agent::Agent;
use crate::environment::again;
use crate::error::Error;
use crate::lost::refuse_given_up;
use crate::run::{Another, DriveOptions, Prepared};
use crate::scope::scoped;

/// The run to take over, and the authority for it.
struct TakeOver {
    run: RunId,
    /// Its state as it was read before.
    seen: Option<State>,
    another: Another,
    /// The authority ([`DriveOptions::resumed_by`]).
    resumed_by: ResumedBy,
}

impl Agent {
    /// Takes over a run without a driver.
    pub(crate) async fn take_over(
        &self,
        run: RunId,
        seen: Option<State>,
        another: Another,
        options: DriveOptions,
    ) -> Result<Prepared, Error> {
        let claim = Claim::fresh();
        let acquire = || self.log().acquire(run, self.holder(), claim);
        let fence = again(&**self.environment(), acquire).await?;
        let which = TakeOver { run, seen, another, resumed_by: options.resumed_by };
        self.take_over_as(which, fence, options).await
    }

    /// Takes over a run, as it was read, whose lease this process has already.
    pub(crate) async fn take_over_held(
        &self,
        seen: State,
        fence: Fence,
        options: DriveOptions,
    ) -> Result<Prepared, Error> {
        let (run, resumed_by) = (seen.run(), options.resumed_by);
        let which = TakeOver { run, seen: Some(seen), another: Another::No, resumed_by };
        self.take_over_as(which, fence, options).await
    }

    async fn take_over_as(
        &self,
        which: TakeOver,
        fence: Fence,
        options: DriveOptions,
    ) -> Result<Prepared, Error> {
        let run = which.run;
        match Box::pin(self.taken_over(which, &fence)).await {
            Ok((state, first)) => Ok(self.driver(state, Some(first), fence, options)),
            Err(error) => {
                self.log().release(run, &fence).await?;
                Err(error)
            }
        }
    }

    /// The current state of the run, and the first input of its new holder. An imported run gets the new agent's policy, tools,
    /// models and instructions.
    async fn taken_over(&self, which: TakeOver, fence: &Fence) -> Result<(State, InputKind), Error> {
        let TakeOver { run, seen, another, resumed_by } = which;
        let state = self.checked_state(run, seen, another).await?;
        refuse_given_up(&**self.log(), &state, resumed_by).await?;
        let adjusted = if state.agent().is_some_and(AgentRef::is_imported) {
            Some(Box::pin(self.adoption(&state)).await?)
        } else {
            // What has changed must be known before anything begins again that was allowed as it was.
            self.adjustment(&state, another)
        };
        let (holder, epoch) = (fence.holder.0.clone(), fence.epoch);
        let adjusted = adjusted.map(Box::new);
        Ok((state, InputKind::Resumed { holder, epoch, by: resumed_by, adjusted }))
    }

    /// What has changed since the run had a holder.
    fn adjustment(&self, state: &State, another: Another) -> Option<Adjusted> {
        let changed = self.changed_since(state);
        let switches = another == Another::Switches && !self.is_of(state);
        let switched = switches.then(|| {
            let (agent, agent_files) = (self.agent_ref().clone(), self.reference_to_files());
            Box::new(AgentSwitch { agent, agent_files })
        });
        if changed.is_none() && switched.is_none() {
            return None;
        }
        Some(Adjusted { switched, ..changed.unwrap_or_default() })
    }

    /// What an imported run works with from here on.
    async fn adoption(&self, state: &State) -> Result<Adjusted, Error> {
        let start = start_of(&**self.log(), state.run()).await?;
        let own = self.start_again(&**self.log(), &start).await?;
        let given = matches!(start.input, RunInput::Messages(_));
        Ok(Adjusted {
            agent: Some(self.agent_ref().clone()),
            agent_files: self.reference_to_files(),
            switched: None,
            policy: Some(own.policy),
            tools: Some(scoped(self.refresh(), start.only_tools.as_ref())),
            // Under a salt of our own: that of the run is known elsewhere.
            binding_digests: self
                .binding_digests(None)
                .or_else(|| state.binding_digests().map(|_| Arc::default())),
            models: Some(self.known_models(None)),
            prompt: Some(if given { self.instructed(own.prompt, &start.input) } else { own.prompt }),
            objective: own.objective,
            refused: None,
        })
    }

    /// The state of a run that this agent may resume.
    pub(crate) async fn checked_state(
        &self,
        run: RunId,
        seen: Option<State>,
        another: Another,
    ) -> Result<State, Error> {
        let state = match seen {
            Some(seen) => catch_up(&**self.log(), seen).await?,
            None => load(&**self.log(), run).await?,
        };
        if let Some(end) = state.ended() {
            let invalid = InvalidInput::Ended { run, status: end.status, found: "further inputs" };
            return Err(Error::Refused(invalid));
        }
        let changed = another != Another::No;
        match self.check_agent(&state) {
            // An imported run continues with the new agent's models.
            Err(_) if changed && state.agent().is_some_and(AgentRef::is_imported) => {}
            Err(_) if changed => self.check_models(run).await?,
            checked => checked?,
        }
        Ok(state)
    }

    /// A run keeps the models that it began with: a changed agent must still have them.
    async fn check_models(&self, run: RunId) -> Result<(), Error> {
        let start = start_of(&**self.log(), run).await?;
        match start.models.iter().find(|choice| self.model(&choice.name).is_none()) {
            Some(gone) => Err(Error::ModelGone { run, model: gone.name.clone() }),
            None => Ok(()),
        }
    }
}
