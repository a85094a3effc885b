//! Resuming a run: the options, and who may.

use std::future::IntoFuture;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use windlass_core::event::ResumedBy;
use windlass_core::{Answer, RunId, State, Text};

use crate::agent::Agent;
use crate::agent::people::{Asked, People, asking};
use crate::driver::options::{DriveOptions, Unpause};
use crate::driver::run::Run;
use crate::driver::taking_over::{OtherAgent, checked_state, take_over};
use crate::platform::error::Error;
use crate::work::prepared::Prepared;

/// Options for resuming a run. Awaiting it drives the run until it has ended or is suspended; [`prepare`](Self::prepare) gives
/// handles and updates first.
#[derive(Clone, Debug)]
#[must_use = "a run is resumed when this is awaited or prepared"]
pub struct Resume<'a> {
    agent: &'a Agent,
    run: RunId,
    seen: Option<State>,
    other: OtherAgent,
    options: DriveOptions,
}

impl<'a> Resume<'a> {
    pub(crate) fn new(agent: &'a Agent, run: RunId) -> Self {
        Self { agent, run, seen: None, other: OtherAgent::No, options: DriveOptions::default() }
    }

    /// The run was read already, up to this state: only what has come since is read.
    pub fn seen(mut self, state: State) -> Self {
        self.seen = Some(state).filter(|state| state.run() == self.run);
        self
    }

    /// Lets this agent resume the run although the agent has changed since the run began, or is another one. It is the run's agent from
    /// here on ([`Adjusted::switched`](windlass_core::event::Adjusted::switched)). Calls that wait for approval, and have changed, are
    /// asked about anew.
    pub fn with_changed_agent(mut self) -> Self {
        self.other = OtherAgent::Switches;
        self
    }

    /// Takes the run over only to end it.
    pub(crate) fn standing_in(mut self) -> Self {
        self.other = OtherAgent::Allowed;
        self
    }

    /// A person asks for this: the run is resumed however often its model call was lost with its process
    /// ([`Error::LostAttempts`]).
    pub fn by_hand(mut self) -> Self {
        self.options.resumed_by = ResumedBy::Person;
        self
    }

    /// Ends the run's pause, with a message to the agent or without. A pause that was asked for while nobody drove the run
    /// ends with it: what is asked for last holds.
    pub fn unpaused(mut self, text: Option<Text>) -> Self {
        self.options.unpause = Some(Unpause { text });
        self
    }

    /// Answers the questions of the run at once, instead of [the agent's people](crate::AgentBuilder::people). Without any a run
    /// with an open question is suspended.
    pub fn people<A, F>(self, ask: A) -> Self
    where
        A: Fn(Asked) -> F + Send + Sync + 'static,
        F: Future<Output: Into<Option<Answer>>> + Send + 'static,
    {
        self.shared_people(asking(ask))
    }

    /// People as a type ([`People`]).
    pub fn shared_people(mut self, people: Arc<dyn People>) -> Self {
        self.options.people = Some(people);
        self
    }

    /// Keeps driving a suspended run as long as one of its own timers may bring it on.
    pub fn wait_for_timers(mut self) -> Self {
        self.options.wait_for_timers = true;
        self
    }

    /// Replaces all options.
    pub fn options(mut self, options: DriveOptions) -> Self {
        self.options = options;
        self
    }

    /// Checks whether this agent may resume the run, and takes nothing over.
    ///
    /// # Errors
    /// The run has ended, or its agent is another one ([`Error::AgentChanged`]).
    pub async fn check(&self) -> Result<(), Error> {
        checked_state(self.agent, self.run, self.seen.clone(), self.other).await.map(drop)
    }

    /// Takes the run over: subscribe, take handles, then [`drive`](Prepared::drive).
    ///
    /// # Errors
    /// The run has ended, it has a live driver, its agent has changed, or its model call was lost with its process too often.
    pub fn prepare(self) -> BoxFuture<'a, Result<Prepared, Error>> {
        Box::pin(async move {
            let Self { agent, run, seen, other, options } = self;
            take_over(agent, run, seen, other, options).await.map(Prepared::new)
        })
    }
}

impl<'a> IntoFuture for Resume<'a> {
    type Output = Result<Run, Error>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.prepare().await?.drive().await })
    }
}
