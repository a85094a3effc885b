//! A program's operations on an agent: starting runs, continuing them, and reaching those that are driven elsewhere.

use std::panic::resume_unwind;
use std::thread;

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use windlass_core::event::Steered;
use windlass_core::policy::LimitKind;
use windlass_core::{Answer, InputKind, QuestionId, RunId, SessionId, Text};
use windlass_read::reports::{Replayed, replay_run};
use windlass_read::start_of;

use crate::agent::Agent;
use crate::agent::input::{RunMessages, check_media, take_input, with_documents};
use crate::driver::control::{Delivery, answered, paused_at, post_request};
use crate::driver::forks::ForkOptions;
use crate::driver::options::DriveOptions;
use crate::driver::parents::asked_at;
use crate::driver::run::Run;
use crate::driver::starting::start_again;
use crate::host::admission::turns::{Turn, await_turn};
use crate::host::admission::{Admitted, admit, begin_first, next_queued};
use crate::host::cancelling::{Cancelled, cancel_with};
use crate::host::continuing::continued;
use crate::host::forking::{self, Fork};
use crate::host::listing::Listing;
use crate::host::resume::Resume;
use crate::host::stream::RunStream;
use crate::platform::error::Error;
use crate::work::model_call::recorded::{RecordedRequest, recorded_request};
use crate::work::prepared::Prepared;

impl Agent {
    /// Runs the agent until the run has ended or is suspended.
    ///
    /// # Errors
    /// The log failed. How the run ended is in its status.
    pub async fn run(&self, input: impl Into<RunMessages>) -> Result<Run, Error> {
        self.run_with(input, DriveOptions::default()).await
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
        match admit(self, input.into(), options).await? {
            Admitted::Started(prepared) => Ok(prepared),
            Admitted::Steered { run } => Err(Error::MessageSteered { session, run }),
            Admitted::Queued { behind, run } => Err(Error::MessageQueued { session, behind, run }),
            Admitted::Repeated { run } => Err(Error::Repeated { run }),
        }
    }

    /// Continues a run that a limit cut, with limits set anew (in the unit that people write). Nothing is done again.
    ///
    /// # Errors
    /// The run has not ended, or not at a limit; a limit is not above what was reached.
    pub fn continue_run<'a>(
        &'a self,
        run: RunId,
        limits: &'a [(LimitKind, f64)],
        options: DriveOptions,
    ) -> BoxFuture<'a, Result<Prepared, Error>> {
        continued(self, run, limits, options).boxed()
    }

    /// Forks a run: a new run continues from that run's state after an event. Calls that have ended are not run again; lost
    /// calls follow their declared effect. Approvals and answers are not inherited: people are asked anew. Neither are a
    /// cancellation and a pending retry delay.
    ///
    /// A run that is driven elsewhere is forked at its durable state.
    ///
    /// Under an idempotency key ([`DriveOptions::key`]) the fork's id is made of it, so that one that is sent twice begins once.
    ///
    /// # Errors
    /// There is no such run or event, the run had ended there and there is no message, the agent is another one and `changed`
    /// does not allow that, the instructions cannot be rendered, or the log failed.
    pub fn fork(
        &self,
        run: RunId,
        fork: ForkOptions,
        options: DriveOptions,
    ) -> BoxFuture<'_, Result<Fork, Error>> {
        forking::fork(self, run, fork, options).boxed()
    }

    /// Resumes a run without a driver: after a crash, an answer or a timer.
    ///
    /// ```no_run
    /// # use windlass_core::{Answer, RunId};
    /// # use windlass_runtime::{Agent, Error};
    /// # async fn approve(agent: Agent, run: RunId) -> Result<(), Error> {
    /// agent.answer(run, "q1", Answer::Approve).await?;
    /// let run = agent.resume(run).await?;
    /// println!("{:?}", run.text());
    /// # Ok(())
    /// # }
    /// ```
    pub fn resume(&self, run: RunId) -> Resume<'_> {
        Resume::new(self, run)
    }

    /// [`run`](Self::run) for synchronous code; inside a runtime it blocks the current thread (acorn's `m.run()`). The run gets
    /// its own thread and runtime. An agent with MCP servers therefore needs a multi-threaded runtime: its connections belong
    /// to the runtime that made them.
    ///
    /// # Errors
    /// The log failed, or the system gives no thread. How the run ended is in its status.
    pub fn run_blocking(&self, input: impl Into<RunMessages>) -> Result<Run, Error> {
        let input = input.into();
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(|source| Error::NoThread { source })?.block_on(self.run(input))
        };
        thread::scope(|scope| {
            let started = thread::Builder::new().name("windlass-run".to_owned()).spawn_scoped(scope, run);
            let running = started.map_err(|source| Error::NoThread { source })?;
            running.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Gives a message to the session that `options` name. If the session's last run has not ended, `loop.while_running` decides:
    /// the message starts no run, but steers that one, waits for its end, or the run is cancelled first. Messages that
    /// wait in the session are answered before this one.
    ///
    /// A request under an idempotency key is looked for first, before any limit: where it began a run, or waits in the session for its
    /// turn, it is [`Admitted::Repeated`]; where it steered a run, which may have ended, it is [`Admitted::Steered`] with that run. What was
    /// refused frees its key.
    ///
    /// # Errors
    /// Another request has the key ([`Error::KeyReused`]).
    /// The session is busy and the policy refuses further messages, the input does not fit, or the log failed.
    pub async fn admit(
        &self,
        input: impl Into<RunMessages>,
        options: DriveOptions,
    ) -> Result<Admitted, Error> {
        admit(self, input.into(), options).await
    }

    /// Begins the first run of the session that `options` name; `None`: it has one, which another process may have begun.
    ///
    /// # Errors
    /// The input does not fit, or the log failed.
    pub async fn begin_first(
        &self,
        input: impl Into<RunMessages>,
        options: DriveOptions,
    ) -> Result<Option<Prepared>, Error> {
        begin_first(self, input.into(), options).await
    }

    /// Whether a run began with that input.
    ///
    /// # Errors
    /// The log failed.
    pub async fn began_with(&self, run: RunId, input: impl Into<RunMessages>) -> Result<bool, Error> {
        let start = start_of(&**self.log(), run).await?;
        let input = Box::pin(with_documents(self, input.into())).await?;
        Ok(take_input(self, input).is_ok_and(|(input, _)| input == start.input))
    }

    /// Begins the run of the next message that waits in a session whose last run has ended.
    ///
    /// # Errors
    /// The session's last run has not ended, or the log failed.
    pub fn next_queued<'a>(
        &'a self,
        session: &'a SessionId,
        options: DriveOptions,
    ) -> BoxFuture<'a, Result<Option<Prepared>, Error>> {
        next_queued(self, session, options).boxed()
    }

    /// Waits until it is the turn of the queued message that `run` answers. A run before it whose process has died is taken up
    /// here, and so is a message before it that nobody else begins.
    ///
    /// # Errors
    /// A run before it cannot be resumed by this agent, or the log failed.
    pub fn await_turn<'a>(
        &'a self,
        session: &'a SessionId,
        behind: RunId,
        run: RunId,
        options: &'a DriveOptions,
    ) -> BoxFuture<'a, Result<Turn, Error>> {
        await_turn(self, session, behind, run, options).boxed()
    }

    /// Answers a question of a run that any process drives. If none does, [`resume`](Agent::resume) continues it with the answer.
    ///
    /// # Errors
    /// The question is not open, or the answer does not fit it.
    pub async fn answer(
        &self,
        run: RunId,
        question: impl Into<QuestionId>,
        answer: Answer,
    ) -> Result<Delivery, Error> {
        let (run, question) = asked_at(&**self.log(), run, question.into()).await?;
        self.post(run, answered(question, answer)).await
    }

    /// Steers a run that any process drives, or none: the message enters the conversation at the next turn. A text is a message of
    /// the kind `steering`; [`Steered`] has the others.
    ///
    /// # Errors
    /// The run has ended, or is being stopped. An image or a file cannot be sent to the agent's first model.
    pub async fn steer(&self, run: RunId, message: impl Into<Steered>) -> Result<Delivery, Error> {
        let message = message.into();
        Box::pin(check_media(self, &message.parts)).await?;
        self.post(run, InputKind::Steer(message)).await
    }

    /// Pauses a run that any process drives, or none. Calls that are going on come to their end, and the model is not asked
    /// again. The run is suspended then, until its question of the kind `pause` is answered with [`Answer::Resume`].
    ///
    /// # Errors
    /// The run has ended, is being stopped, or is paused already.
    pub async fn pause(&self, run: RunId, reason: Option<Text>) -> Result<Delivery, Error> {
        self.post(run, InputKind::Pause { reason }).await
    }

    /// Ends the pause of a run that any process drives, with a message to the agent or without. If none does,
    /// [`resume`](Agent::resume) continues it.
    ///
    /// # Errors
    /// The run is not paused.
    pub async fn unpause(&self, run: RunId, text: Option<Text>) -> Result<Delivery, Error> {
        let question = paused_at(&**self.log(), run).await?;
        self.answer(run, question, Answer::Resume { text }).await
    }

    /// Cancels a run that any process drives. If none does, the run is ended here: this agent ends its child runs and stops
    /// what a dead process left running. If this is not the agent of the run, the run is ended without one.
    ///
    /// # Errors
    /// The run has ended or is being stopped, or the log failed.
    pub async fn cancel(&self, run: RunId, reason: impl Into<Text>) -> Result<Cancelled, Error> {
        cancel_with(self, run, reason.into()).await
    }

    /// Posts any input to the driver of the run, after a check against the run's state.
    ///
    /// # Errors
    /// The input does not fit the run.
    pub async fn post(&self, run: RunId, what: InputKind) -> Result<Delivery, Error> {
        post_request(self, run, what, None).await
    }

    /// Lists the runs of agents with this agent's name, newest first, a page at a time: 100 of them unless a limit is set.
    ///
    /// ```no_run
    /// use windlass_runtime::RunStatus;
    /// # use windlass_runtime::{Agent, Error};
    /// # async fn show(agent: Agent) -> Result<(), Error> {
    /// for run in agent.runs().status(RunStatus::Suspended).limit(20).await? {
    ///     println!("{} {}", run.run, run.title);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn runs(&self) -> Listing<'_> {
        Listing::new(self)
    }

    /// Makes a request of a run anew, the first one with number 1: the same bytes, as long as the agent's model has the same address
    /// and settings. `followed`: somebody followed the run, so that replies in its own voice were streamed; the log does not say. `None`:
    /// the run has made fewer requests.
    ///
    /// # Errors
    /// The run or one of its bases is not in the log, or the log failed.
    pub async fn recorded_request(
        &self,
        run: RunId,
        number: u64,
        followed: bool,
    ) -> Result<Option<RecordedRequest>, Error> {
        recorded_request(self, run, number, followed).await
    }

    /// Replays a run from the start that this agent would make ([`replay_run`]).
    ///
    /// # Errors
    /// As for [`replay_run`]; the agent's instructions cannot be rendered.
    pub async fn replay(&self, run: RunId) -> Result<Replayed, Error> {
        let log = &**self.log();
        let start = start_again(self, log, &start_of(log, run).await?).await?;
        Ok(replay_run(log, run, Some(start)).await?)
    }
}
