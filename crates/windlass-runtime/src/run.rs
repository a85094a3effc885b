//! Runs as callers see them: started, streamed, resumed, answered, cancelled, steered.

mod handle;
mod prepared;
mod stream;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use windlass_core::budget::Budget;
use windlass_core::event::{ResumedBy, RunInput};
use windlass_core::model::Usage;
use windlass_core::policy::{LimitKind, Memory, Stop};
use windlass_core::run::OpenQuestion;
use windlass_core::{
    InputKind, InvalidInput, Message, Owner, RunId, RunState, SessionId, State, Status, Text,
};
use windlass_read::compat::promptchain::{RunMetadata, run_metadata};
use windlass_read::{load, reports};
use windlass_store::{Fence, Log, Store};

use crate::agent::{Agent, Toolset};
use crate::delegates::Task;
use crate::driver::Driver;
use crate::error::Error;
use crate::input::RunMessages;
use crate::off_thread::off_thread;
use crate::people::People;
use crate::prices::check_prices;
use crate::recall::{Past, reminder};
use crate::scope::scoped;
use crate::second::{Admitted, digest_of};
use crate::starting::{Beginning, head_of};
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

    pub(crate) async fn prepare_after(
        &self,
        input: RunMessages,
        base: Option<State>,
        options: DriveOptions,
    ) -> Result<Prepared, Error> {
        // A conversation that goes on is its own memory.
        let recalled = match (self.policy().past.recall.bounds(), &base) {
            (Some(bounds), None) => self.recalled(&input.text(), bounds).await?,
            _ => Vec::new(),
        };
        let plans = self.policy().replies.stop == Stop::Judge;
        let tool_records = if plans { self.tool_records().await? } else { Vec::new() };
        let past = Past { recalled, tool_records };
        // Boxed: a future that prepares and drives a run holds the room of the larger one until its end.
        Box::pin(self.begin(input, base, (options, past), Self::prepare_recalling)).await
    }

    /// Makes a run of an input, which takes its time where that or the base is long.
    pub(crate) async fn begin<O: Send + 'static>(
        &self,
        input: RunMessages,
        base: Option<State>,
        options: O,
        prepare: fn(&Self, RunMessages, Option<&State>, O) -> Result<Prepared, Error>,
    ) -> Result<Prepared, Error> {
        let heft = base.as_ref().map_or(0, |base| base.history().bytes()).saturating_add(input.heft());
        let agent = self.clone();
        let make = move || prepare(&agent, input, base.as_ref(), options);
        off_thread(&**self.environment(), heft, make).await
    }

    /// Prepares a new run whose conversation begins with another run's. Code that drives runs on the same thread should use
    /// [`prepare`](Self::prepare), which does not block the thread for long.
    ///
    /// # Errors
    /// The input is empty or does not fit, or the instructions cannot be rendered.
    pub fn prepare_on(
        &self,
        input: impl Into<RunMessages>,
        base: Option<&State>,
        options: DriveOptions,
    ) -> Result<Prepared, Error> {
        self.prepare_at_once(input.into(), base, options)
    }

    pub(crate) fn prepare_at_once(
        &self,
        input: RunMessages,
        base: Option<&State>,
        options: DriveOptions,
    ) -> Result<Prepared, Error> {
        self.prepare_as(self.run_for(&options), input, base, options)
    }

    fn prepare_recalling(
        &self,
        input: RunMessages,
        base: Option<&State>,
        (options, past): (DriveOptions, Past),
    ) -> Result<Prepared, Error> {
        let run = self.run_for(&options);
        self.prepare_with(run, input, base, (options, past))
    }

    /// Prepares a new run under this id.
    pub(crate) fn prepare_as(
        &self,
        run: RunId,
        input: RunMessages,
        base: Option<&State>,
        options: DriveOptions,
    ) -> Result<Prepared, Error> {
        self.prepare_with(run, input, base, (options, Past::default()))
    }

    fn prepare_with(
        &self,
        run: RunId,
        input: RunMessages,
        base: Option<&State>,
        (options, past): (DriveOptions, Past),
    ) -> Result<Prepared, Error> {
        if input.is_empty() {
            return Err(self.bad_input("it contains no message".to_owned()));
        }
        // Without a memory there is no session to belong to.
        let session = options.session.clone().filter(|_| self.policy().past.memory != Memory::Off);
        let only_tools = options.only_tools.clone();
        let owner = options.owner.clone();
        let mut start = self.start(input, Beginning { run, owner, session, base, only_tools })?;
        if let Some(reminder) = reminder(&self.policy().wording.texts.recalled, &past.recalled) {
            let mut prompt = start.prompt.to_vec();
            let own =
                usize::from(prompt.first().is_some_and(|first| matches!(**first, Message::System { .. })));
            prompt.insert(own, Arc::new(reminder));
            start.prompt = Arc::new(prompt);
        }
        (start.recalled, start.tool_records) = (past.recalled, past.tool_records);
        start.request_digest = digest_of(self, &start.input, &options);
        let head = head_of(&start, base);
        let state = base.map_or_else(|| State::new(run), |base| State::on_base(run, base));
        let start = InputKind::Start(Box::new(start));
        Ok(self.driver(state, Some(start), self.first_fence(), options).moving(head))
    }

    /// Prepares a child run under the id that its parent gave it; a branch continues from a base.
    ///
    /// # Errors
    /// The input does not fit, or the instructions cannot be rendered.
    pub(crate) async fn prepare_child(
        &self,
        task: &Task,
        input: RunMessages,
        base: Option<State>,
    ) -> Result<Prepared, Error> {
        Box::pin(self.begin(
            input,
            base,
            (task.run, task.owner.clone(), task.parent, task.budget, task.stall_ms),
            Self::prepare_under,
        ))
        .await
    }

    fn prepare_under(
        &self,
        input: RunMessages,
        base: Option<&State>,
        (run, owner, parent, budget, stall_ms): (RunId, Owner, RunId, Budget, Option<u64>),
    ) -> Result<Prepared, Error> {
        let options = DriveOptions::default();
        let mut start = self.start(input, Beginning { run, owner, session: None, base, only_tools: None })?;
        (start.parent, start.budget) = (Some(parent), budget);
        if let Some(ms) = stall_ms {
            Arc::make_mut(&mut start.policy).stall_as_child(ms);
        }
        let start = InputKind::Start(Box::new(start));
        let state = base.map_or_else(|| State::new(run), |base| State::on_base(run, base));
        Ok(self.driver(state, Some(start), self.first_fence(), options))
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
        let fresh = self.environment().new_run();
        let beginning = Beginning { run: fresh, owner, session, base: Some(&base), only_tools: None };
        let mut start = self.unprompted(RunInput::Continue(base.carried()), beginning)?;
        start.prompt = base.prompt().clone();
        start.objective = base.objective().cloned();
        start.only_tools = base.only_tools().cloned();
        start.tools = scoped(start.tools, start.only_tools.as_ref());
        start.policy = Self::raised(base.policy(), &raised);
        let Toolset { delegates, branches, .. } = self.toolset();
        check_prices(self.name(), &start.policy, start.models.iter(), (delegates, branches))?;
        let head = head_of(&start, Some(&base));
        let (state, start) = (State::on_base(fresh, &base), InputKind::Start(Box::new(start)));
        Ok(self.driver(state, Some(start), self.first_fence(), options).moving(head))
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
