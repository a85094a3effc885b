//! Taking a run over: who may go on with it, and what its new holder says first.

use std::sync::Arc;

use windlass_core::event::{Adjusted, AgentRef, ResumedBy, RunInput};
use windlass_core::{InputKind, InvalidInput, RunId, State};
use windlass_read::{catch_up, load, start_of};
use windlass_store::{Claim, Fence};

use crate::agent::Agent;
use crate::changes::ChangedTools;
use crate::environment::again;
use crate::error::Error;
use crate::lost::refuse_given_up;
use crate::run::{DriveOptions, Prepared};
use crate::scope::scoped;

/// The run to take over, and the authority for it.
struct TakeOver {
    run: RunId,
    /// Its state as it was read before.
    seen: Option<State>,
    /// Whether its agent may be another one than it began with.
    changed: bool,
    /// The authority ([`DriveOptions::resumed_by`]).
    resumed_by: ResumedBy,
}

impl Agent {
    /// Takes over a run without a driver. `changed` allows a different agent than the run began with.
    pub(crate) async fn take_over(
        &self,
        run: RunId,
        seen: Option<State>,
        changed: bool,
        options: DriveOptions,
    ) -> Result<Prepared, Error> {
        let claim = Claim::fresh();
        let acquire = || self.log().acquire(run, self.holder(), claim);
        let fence = again(&**self.environment(), acquire).await?;
        let which = TakeOver { run, seen, changed, resumed_by: options.resumed_by };
        match self.taken_over(which, &fence).await {
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
        let TakeOver { run, seen, changed, resumed_by } = which;
        let state = self.checked_state(run, seen, changed).await?;
        refuse_given_up(&**self.log(), &state, resumed_by).await?;
        let (holder, epoch) = (fence.holder.0.clone(), fence.epoch);
        if !state.agent().is_some_and(AgentRef::is_imported) {
            // What has changed must be known before anything begins again that was allowed as it was.
            let first = match self.changed_since(&state) {
                Some(ChangedTools { tools, seals }) => {
                    InputKind::ResumedWithTools { holder, epoch, tools, seals, by: resumed_by }
                }
                None => InputKind::Resumed { holder, epoch, by: resumed_by },
            };
            return Ok((state, first));
        }
        let start = start_of(&**self.log(), run).await?;
        let own = self.start_again(&**self.log(), &start).await?;
        let given = matches!(start.input, RunInput::Messages(_));
        let agent = self.agent_ref().clone();
        let adjusted = Adjusted {
            agent: None,
            policy: Some(own.policy),
            tools: Some(scoped(self.refresh(), start.only_tools.as_ref())),
            // Under a salt of our own: that of the run is known elsewhere.
            seals: self.seals(None).or_else(|| state.seals().map(|_| Arc::default())),
            models: Some(self.known_models(None)),
            prompt: Some(if given { self.instructed(own.prompt, &start.input) } else { own.prompt }),
            objective: own.objective,
            refused: None,
        };
        Ok((state, InputKind::Adopted { holder, epoch, agent, adjusted: Box::new(adjusted), by: resumed_by }))
    }

    /// The state of a run that this agent may resume: `changed` allows another agent than the run began with.
    pub(crate) async fn checked_state(
        &self,
        run: RunId,
        seen: Option<State>,
        changed: bool,
    ) -> Result<State, Error> {
        let state = match seen {
            Some(seen) => catch_up(&**self.log(), seen).await?,
            None => load(&**self.log(), run).await?,
        };
        if let Some(end) = state.ended() {
            let invalid = InvalidInput::Ended { run, status: end.status, found: "further inputs" };
            return Err(Error::Refused(invalid));
        }
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
