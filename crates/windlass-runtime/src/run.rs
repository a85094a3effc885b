//! Runs as callers see them: started, streamed, resumed, answered, cancelled, steered.

mod handle;
mod prepared;
mod stream;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use windlass_core::event::ResumedBy;
use windlass_core::model::Usage;
use windlass_core::policy::LimitKind;
use windlass_core::run::OpenQuestion;
use windlass_core::{
    InputKind, InvalidInput, Message, Owner, RunId, RunState, SessionId, State, Status, Text,
};
use windlass_read::compat::promptchain::{RunMetadata, run_metadata};
use windlass_read::{load, reports};
use windlass_store::{Fence, Log, Store};

use crate::agent::Agent;
use crate::driver::Driver;
use crate::error::Error;
use crate::input::RunMessages;
use crate::people::People;
use crate::second::Admitted;
use crate::starting::{Beginning, Opening};
pub use handle::RunHandle;
pub use prepared::Prepared;
pub use stream::RunStream;

/// A run that has ended or is suspended.
#[derive(Clone, Debug)]
pub struct Run {
    state: State,
}

impl Run {
    pub(crate) fn new(state: State) -> Self {
        Self { state }
    }

    /// Loads a run from its log, read-only.
    ///
    /// # Errors
    /// As for [`load`].
    pub async fn load(log: &dyn Log, run: RunId) -> Result<Self, Error> {
        Ok(Self::new(load(log, run).await?))
    }

    /// The calls with an effect that the run made, read from its log: see [`reports::receipts`].
    ///
    /// # Errors
    /// As for [`reports::receipts`].
    pub async fn receipts(&self, log: &dyn Store) -> Result<Vec<reports::Receipt>, Error> {
        Ok(reports::receipts(log, self.id()).await?)
    }

    /// Its metadata in PromptChain's shape, read from its log.
    ///
    /// # Errors
    /// As for [`run_metadata`].
    pub async fn metadata(&self, log: &dyn Log) -> Result<RunMetadata, Error> {
        Ok(run_metadata(log, self.id()).await?)
    }

    /// The run's id.
    pub fn id(&self) -> RunId {
        self.state.run()
    }

    /// The final status; `None` while the run is suspended.
    pub fn status(&self) -> Option<Status> {
        self.state.ended().map(|end| end.status)
    }

    /// Its state: running, suspended or ended.
    pub fn run_state(&self) -> RunState {
        self.state.run_state()
    }

    /// The answer, or the preset's text for this end.
    pub fn text(&self) -> Option<&str> {
        self.state.ended().and_then(|end| end.text.as_deref())
    }

    /// The error, if it failed.
    pub fn error(&self) -> Option<&str> {
        self.state.ended().and_then(|end| end.error.as_deref())
    }

    /// The typed output, if there is one.
    pub fn output(&self) -> Option<&serde_json::Value> {
        self.state.ended().and_then(|end| end.output.as_ref())
    }

    /// The typed output as a value of that type, if there is one.
    ///
    /// # Errors
    /// The output is no such value.
    pub fn output_as<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let typed = self.output().map(T::deserialize).transpose();
        let wanted = std::any::type_name::<T>();
        typed.map_err(|source| Error::OutputType { run: self.id(), wanted, source })
    }

    /// Tokens used.
    pub fn usage(&self) -> &Usage {
        self.state.usage()
    }

    /// Cost in US dollars; `None` where a price is unknown.
    pub fn cost_usd(&self) -> Option<f64> {
        self.state.cost().map(|pico| pico as f64 / 1e12)
    }

    /// The conversation, earlier runs of its session included.
    pub fn messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.state.history().iter()
    }

    /// The questions that it waits with.
    pub fn questions(&self) -> &[OpenQuestion] {
        self.state.questions()
    }

    /// The whole state of the run.
    pub fn state(&self) -> &State {
        &self.state
    }
}

/// Options for driving a run.
#[derive(Clone, Debug, Default)]
pub struct DriveOptions {
    /// The people who answer questions at once, instead of [the agent's](crate::AgentBuilder::people). Without any a run with an
    /// open question is suspended.
    pub people: Option<Arc<dyn People>>,
    /// Whether a suspended run is held as long as a timer of its own may still bring it on.
    pub wait_for_timers: bool,
    /// Whether a run that waits for a quota is held until it opens ([`State::quota_wait`]). Without it, the run is given up then,
    /// and is due at that time ([`Host::supervise`](crate::host::Host::supervise)).
    pub hold_for_quota: bool,
    /// The owner of the run. A resumed run keeps its own.
    pub owner: Owner,
    /// The idempotency key of the request: sent twice under one, it begins one run ([`Admitted::Repeated`]). `None`: each request is one of its
    /// own.
    pub key: Option<Text>,
    /// The session that the run belongs to and continues: one of its owner's.
    pub session: Option<SessionId>,
    /// Patterns (`*`, `?`) of the tools that the run is given; `None`: all of the agent's, empty: none. A resumed run keeps them.
    pub only_tools: Option<Vec<Text>>,
    /// Whether a person lets the run go on, however often its model call was lost ([`given_up`](crate::given_up)).
    pub resumed_by: ResumedBy,
    /// Whether the run's pause ends when it is resumed; `None`: it stays paused.
    pub unpause: Option<Unpause>,
}

/// Whether the agent that takes a run over may be another one than it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Another {
    #[default]
    No,
    /// It may be, for this time: it ends the run, or does the task of a run that goes on.
    Allowed,
    /// It is the run's agent from here on.
    Switches,
}

/// The end of a pause that comes with resuming the run ([`Resume::unpaused`](crate::Resume::unpaused)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unpause {
    /// A message to the agent, as steering.
    pub text: Option<Text>,
}

impl Agent {
    /// Runs the agent until the run has ended or is suspended.
    ///
    /// # Errors
    /// The log failed. How the run ended is in its status.
    pub async fn run(&self, input: impl Into<RunMessages>) -> Result<Run, Error> {
        self.prepare(input, DriveOptions::default()).await?.drive().await
    }

    /// Runs the agent with options, such as a session or a choice of its tools.
    ///
    /// # Errors
    /// As for [`prepare`](Self::prepare).
    pub async fn run_with(&self, input: impl Into<RunMessages>, options: DriveOptions) -> Result<Run, Error> {
        self.prepare(input, options).await?.drive().await
    }

    /// Starts a run in the background and gives its updates.
    ///
    /// # Errors
    /// The run cannot be prepared.
    pub async fn stream(&self, input: impl Into<RunMessages>) -> Result<RunStream, Error> {
        let prepared = self.prepare(input, DriveOptions::default()).await?;
        Ok(RunStream::spawn(prepared))
    }

    /// Prepares a new run.
    ///
    /// # Errors
    /// The session's last run has not ended, the instructions cannot be rendered, or the log failed.
    pub async fn prepare(
        &self,
        input: impl Into<RunMessages>,
        options: DriveOptions,
    ) -> Result<Prepared, Error> {
        let session = options.session.clone().unwrap_or_default();
        match Box::pin(self.admit(input, options)).await? {
            Admitted::Started(prepared) => Ok(prepared),
            Admitted::Steered { run } => Err(Error::MessageSteered { session, run }),
            Admitted::Queued { behind, run } => Err(Error::MessageQueued { session, behind, run }),
            Admitted::Repeated { run } => Err(Error::Repeated { run }),
        }
    }

    /// Prepares the run of a message, on the end of its session's last run.
    pub(crate) async fn prepare_after(
        &self,
        input: RunMessages,
        base: Option<State>,
        options: DriveOptions,
    ) -> Result<Prepared, Error> {
        let run = self.run_for(&options);
        self.begin(Beginning::new(run, Opening::Messages(input), options).on(base)).await
    }

    /// Continues a run that a limit cut, with limits set anew (in the unit that people write). Nothing is done again.
    ///
    /// # Errors
    /// The run has not ended, or not at a limit; a limit is not above what was reached.
    pub async fn continue_run(
        &self,
        run: RunId,
        limits: &[(LimitKind, f64)],
        options: DriveOptions,
    ) -> Result<Prepared, Error> {
        let base = load(&**self.log(), run).await?;
        let Some(end) = base.ended() else { return Err(Error::NotEnded { run }) };
        let Status::Limit(cut) = end.status else { return Err(Error::NotCut { run, status: end.status }) };
        let mut raised = Vec::new();
        for (limit, number) in limits {
            let refused = |reached: String| {
                Error::Refused(InvalidInput::NotRaised { limit: *limit, reached, found: number.to_string() })
            };
            let max = limit.keep(*number).ok_or_else(|| refused("0".to_owned()))?;
            let before = base.policy().limit(*limit).unwrap_or(0);
            if *limit == cut && max <= before {
                return Err(refused(limit.show(before)));
            }
            raised.push((*limit, max));
        }
        let (owner, session) = (base.owner().clone(), base.session().cloned());
        let options = DriveOptions { owner, session, only_tools: None, ..options };
        let fresh = self.environment().new_run();
        self.begin(Beginning::new(fresh, Opening::Limits(raised), options).on(Some(base))).await
    }

    /// The end of a session's head; `None`: there is no such session.
    ///
    /// # Errors
    /// Its run has not ended ([`Error::SessionBusy`]), or the log failed.
    pub(crate) async fn session_end(
        &self,
        owner: &Owner,
        session: &SessionId,
    ) -> Result<Option<State>, Error> {
        let Some(run) = self.log().head(owner, session).await? else { return Ok(None) };
        let state = load(&**self.log(), run).await?;
        if state.is_finished() {
            Ok(Some(state))
        } else {
            Err(Error::SessionBusy { session: session.clone(), run })
        }
    }

    pub(crate) fn first_fence(&self) -> Fence {
        Fence { holder: self.holder().clone(), epoch: 1 }
    }

    pub(crate) fn driver(
        &self,
        state: State,
        first: Option<InputKind>,
        fence: Fence,
        options: DriveOptions,
    ) -> Prepared {
        Prepared { driver: Box::new(Driver::new(self.clone(), state, fence, first, options)) }
    }
}
