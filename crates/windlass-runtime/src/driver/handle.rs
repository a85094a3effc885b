//! Reaching a run that is driven in this process.

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use windlass_core::event::Steered;
use windlass_core::run::QuotaWait;
use windlass_core::{Answer, InputKind, QuestionId, RunId, Text};
use windlass_read::load;

use crate::agent::Agent;
use crate::driver::Sent;
use crate::driver::control::{answered, paused_at, post_request};
use crate::platform::error::Error;

/// Reaches a run that is driven in this process.
#[derive(Clone, Debug)]
pub struct RunHandle {
    pub(crate) run: RunId,
    pub(crate) agent: Agent,
    pub(crate) sender: tokio::sync::mpsc::Sender<Box<Sent>>,
    pub(crate) detach: CancellationToken,
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

    /// Asks the driver to detach from the run because this process is about to exit: the driver stops its work and its child runs
    /// within their grace period and cancels nothing. [`Prepared::drive`](crate::Prepared::drive) then returns the run in its current state.
    /// [Resuming](Agent::resume) it is like resuming after a crash. Has no effect on a run that is not driven here.
    pub fn detach(&self) {
        self.detach.cancel();
    }

    /// The quota that the run is suspended for ([`State::quota_wait`](windlass_core::State::quota_wait)), as its log says.
    ///
    /// # Errors
    /// The log failed.
    pub async fn quota_wait(&self) -> Result<Option<QuotaWait>, Error> {
        Ok(load(&**self.agent.log(), self.run).await?.quota_wait())
    }

    /// Steers the run: the message enters at the next turn, once, in order.
    ///
    /// # Errors
    /// The run has ended, or is being stopped.
    pub async fn steer(&self, message: impl Into<Steered>) -> Result<(), Error> {
        self.send(InputKind::Steer(message.into())).await
    }

    /// Pauses the run ([`Agent::pause`]).
    ///
    /// # Errors
    /// The run has ended, is being stopped, or is paused already.
    pub async fn pause(&self, reason: Option<Text>) -> Result<(), Error> {
        self.send(InputKind::Pause { reason }).await
    }

    /// Ends the run's pause ([`Agent::unpause`]).
    ///
    /// # Errors
    /// The run is not paused.
    pub async fn unpause(&self, text: Option<Text>) -> Result<(), Error> {
        let question = paused_at(&**self.agent.log(), self.run).await?;
        self.answer(question, Answer::Resume { text }).await
    }

    /// Answers a question.
    ///
    /// # Errors
    /// The question is not open, or the answer does not fit it.
    pub async fn answer(&self, question: impl Into<QuestionId>, answer: Answer) -> Result<(), Error> {
        self.send(answered(question.into(), answer)).await
    }

    /// Sends any input. Where the run is no longer driven here, it goes to the durable inbox.
    ///
    /// # Errors
    /// The input does not fit the run.
    pub async fn send(&self, what: InputKind) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        if self.sender.send(Box::new(Sent { what: what.clone(), reply: Some(reply) })).await.is_err() {
            return post_request(&self.agent, self.run, what, None).await.map(drop);
        }
        match answer.await {
            Ok(taken) => taken.map_err(Error::Refused),
            // The driver parked before it took the input.
            Err(_) => post_request(&self.agent, self.run, what, None).await.map(drop),
        }
    }

    /// Sends an input without waiting for its acceptance: for callers that are polled by the driver itself.
    pub fn send_now(&self, what: InputKind) {
        // A full or closed inbox means that the run has ended or is overloaded; this input may be dropped.
        let _unsent = self.sender.try_send(Box::new(Sent { what, reply: None }));
    }
}
