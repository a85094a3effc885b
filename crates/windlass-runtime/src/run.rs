//! Runs as callers see them: started, streamed, resumed, answered, cancelled, steered.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use windlass_core::budget::Budget;
use windlass_core::event::{AgentRef, ResumedBy, RunInput};
use windlass_core::model::Usage;
use windlass_core::policy::{LimitKind, Memory};
use windlass_core::run::OpenQuestion;
use windlass_core::{
    Answer, InputKind, InvalidInput, Message, QuestionId, RunId, RunState, SessionId, State, Status, Text,
};
use windlass_store::{Fence, StoreError};

use crate::agent::{Agent, Inner};
use crate::delegates::Task;
use crate::driver::{Driver, Sent};
use crate::error::Error;
use crate::input::RunMessages;
use crate::load::load;
use crate::off_thread::off_thread;
use crate::people::People;
use crate::prices::check_prices;
use crate::updates::Updates;

/// A run that has ended or is suspended.
#[derive(Clone, Debug)]
pub struct Run {
    state: State,
}

impl Run {
    pub(crate) fn new(state: State) -> Self {
        Self { state }
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
    /// The session that the run belongs to and continues.
    pub session: Option<SessionId>,
    /// Whether a person lets the run go on, however often its model call was lost ([`given_up`](crate::given_up)).
    pub resumed_by: ResumedBy,
}

/// A run that is about to be driven: subscribe, take handles, then [`drive`](Self::drive).
#[derive(Debug)]
pub struct Prepared {
    // Boxed: a future holds what it was given next to what it works with, so that each level would hold it once more.
    driver: Box<Driver>,
}

impl Prepared {
    /// The run's id.
    pub fn id(&self) -> RunId {
        self.driver.run()
    }

    /// A subscription to everything from here on. As long as there is one, models are asked to stream.
    pub fn updates(&self) -> Updates {
        self.driver.updates()
    }

    /// A handle to reach the run while it is driven.
    pub fn handle(&self) -> RunHandle {
        self.driver.handle()
    }

    /// The run is laid down together with another one.
    pub(crate) fn leaving_with(mut self, leave: &CancellationToken) -> Self {
        self.driver.leave_with(leave);
        self
    }

    /// Makes the child run use its parent's account.
    pub(crate) fn drawing_on(mut self, task: &Task) -> Self {
        self.driver.draw_on(task.account.clone());
        self
    }

    /// Drives the run until it has ended, is suspended, or is [laid down](RunHandle::leave). Dropping the future leaves the run
    /// at its last durable event.
    ///
    /// # Errors
    /// The log failed, or another process took the run over.
    pub async fn drive(self) -> Result<Run, Error> {
        self.driver.drive().await.map(Run::new)
    }
}

/// Reaches a run that is driven in this process.
#[derive(Clone, Debug)]
pub struct RunHandle {
    pub(crate) run: RunId,
    pub(crate) agent: Agent,
    pub(crate) sender: tokio::sync::mpsc::Sender<Box<Sent>>,
    pub(crate) leave: CancellationToken,
}

impl RunHandle {
    /// The run's id.
    pub fn id(&self) -> RunId {
        self.run
    }

    /// Asks the run to stop. Returns once the request is durable; the driver ends when all work has ended.
    ///
    /// # Errors
    /// The run has ended, or is being stopped already.
    pub async fn cancel(&self, reason: impl Into<Text>) -> Result<(), Error> {
        self.send(InputKind::Cancel { reason: Some(reason.into()) }).await
    }

    /// Asks the driver to lay the run down because this process is about to exit: the driver stops its work and its child runs
    /// within their grace period and cancels nothing. [`Prepared::drive`] then returns the run in its current state.
    /// [Resuming](Agent::resume) it is like resuming after a crash. Has no effect on a run that is not driven here.
    pub fn leave(&self) {
        self.leave.cancel();
    }

    /// Says something to the running agent: it enters at the next turn, once, in order.
    ///
    /// # Errors
    /// The run has ended, or is being stopped.
    pub async fn steer(&self, text: impl Into<Text>) -> Result<(), Error> {
        self.send(InputKind::Steer { text: text.into() }).await
    }

    /// Answers a question.
    ///
    /// # Errors
    /// The question is not open, or the answer does not fit it.
    pub async fn answer(&self, question: impl Into<QuestionId>, answer: Answer) -> Result<(), Error> {
        self.send(InputKind::Answered { question: question.into(), answer }).await
    }

    /// Sends any input. Where the run is no longer driven here, it goes to the durable inbox.
    ///
    /// # Errors
    /// The input does not fit the run.
    pub async fn send(&self, what: InputKind) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        if self.sender.send(Box::new(Sent { what: what.clone(), reply: Some(reply) })).await.is_err() {
            return self.agent.post(self.run, what).await.map(drop);
        }
        match answer.await {
            Ok(taken) => taken.map_err(Error::Refused),
            // The driver parked before it took the input.
            Err(_) => self.agent.post(self.run, what).await.map(drop),
        }
    }

    /// Sends an input without waiting for its acceptance: for callers that are polled by the driver itself.
    pub fn send_now(&self, what: InputKind) {
        // A full or closed inbox means that the run has ended or is overloaded; this input may be dropped.
        let _unsent = self.sender.try_send(Box::new(Sent { what, reply: None }));
    }
}

impl Agent {
    /// Runs the agent until the run has ended or is suspended.
    ///
    /// # Errors
    /// The log failed. How the run ended is in its status.
    pub async fn run(&self, input: impl Into<RunMessages>) -> Result<Run, Error> {
        self.prepare(input, DriveOptions::default()).await?.drive().await
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
        let base = match &options.session {
            Some(session) if self.policy().past.memory != Memory::Off => {
                Box::pin(self.session_end(session)).await?
            }
            _ => None,
        };
        // Boxed: a future that prepares and drives a run holds the room of the larger one until its end.
        Box::pin(self.begin(input.into(), base, options, Self::prepare_at_once)).await
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
        if input.is_empty() {
            return Err(self.bad_input("it contains no message".to_owned()));
        }
        let run = self.environment().new_run();
        // Without a memory there is no session to belong to.
        let session = options.session.clone().filter(|_| self.policy().past.memory != Memory::Off);
        let start = self.start(run, input, session, base)?;
        let state = base.map_or_else(|| State::new(run), |base| State::on_base(run, base));
        Ok(self.driver(state, Some(InputKind::Start(Box::new(start))), self.first_fence(), options))
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
        Box::pin(self.begin(input, base, (task.run, task.parent, task.budget), Self::prepare_under)).await
    }

    fn prepare_under(
        &self,
        input: RunMessages,
        base: Option<&State>,
        (run, parent, budget): (RunId, RunId, Budget),
    ) -> Result<Prepared, Error> {
        let options = DriveOptions::default();
        let mut start = self.start(run, input, None, base)?;
        (start.parent, start.budget) = (Some(parent), budget);
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
        let session = base.session().cloned();
        let fresh = self.environment().new_run();
        let mut start = self.start(fresh, RunMessages::default(), session, Some(&base))?;
        start.input = RunInput::Continue(base.carried());
        start.prompt = base.prompt().clone();
        start.policy = Self::raised(base.policy(), &raised);
        let Inner { delegates, branches, .. } = self.inner();
        check_prices(self.name(), &start.policy, start.models.iter(), (delegates, branches))?;
        let state = State::on_base(fresh, &base);
        Ok(self.driver(state, Some(InputKind::Start(Box::new(start))), self.first_fence(), options))
    }

    /// The end of a session's last run, if it has one.
    async fn session_end(&self, session: &SessionId) -> Result<Option<State>, Error> {
        let mut before = None;
        loop {
            let filter = windlass_store::RunFilter {
                session: Some(session.clone()),
                before,
                limit: 1,
                ..Default::default()
            };
            let Some(last) = self.log().list(filter).await?.into_iter().next() else { return Ok(None) };
            let state = load(&**self.log(), last.run).await?;
            // Words from elsewhere enter no session by themselves: an imported run is skipped until an agent here adopts it.
            if state.agent().is_some_and(AgentRef::is_imported) {
                before = Some(last.number);
                continue;
            }
            if !state.is_finished() {
                return Err(Error::SessionBusy { session: session.clone(), run: last.run });
            }
            return Ok(Some(state));
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

/// A run in the background with its updates.
#[derive(Debug)]
pub struct RunStream {
    updates: Updates,
    handle: RunHandle,
    task: tokio::task::JoinHandle<Result<Run, Error>>,
}

impl RunStream {
    fn spawn(prepared: Prepared) -> Self {
        let (updates, handle) = (prepared.updates(), prepared.handle());
        Self { updates, handle, task: tokio::spawn(prepared.drive()) }
    }

    /// The next update; `None` once the run has ended or is suspended.
    pub async fn next(&mut self) -> Option<crate::updates::Update> {
        self.updates.next().await
    }

    /// A handle to reach the run.
    pub fn handle(&self) -> RunHandle {
        self.handle.clone()
    }

    /// Waits for the driver and returns the run in its final or suspended state.
    ///
    /// # Errors
    /// The log failed, or another process took the run over.
    pub async fn finish(self) -> Result<Run, Error> {
        drop(self.updates);
        drop(self.handle);
        match self.task.await {
            Ok(run) => run,
            Err(stopped) => Err(Error::Log(StoreError::Failed(Box::new(stopped)))),
        }
    }
}
