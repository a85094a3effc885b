//! Second messages: a message to a session whose last run has not ended.

use futures_util::StreamExt as _;
use windlass_core::event::RunInput;
use windlass_core::policy::{Memory, WhileRunning};
use windlass_core::{Fact, InputKind, RunId, SessionId, State};

use crate::agent::Agent;
use crate::control::{Cancelled, Delivery, heard};
use crate::error::Error;
use crate::input::RunMessages;
use crate::run::{DriveOptions, Prepared};

mod requests;
mod turns;

use requests::{START, STEERED, key_of};
pub(crate) use requests::{digest_of, key_under};
pub use turns::{Turn, holding_messages};
use turns::{begun, unanswered};

/// The fate of a message. A run of its own is prepared ([`Agent::admit`]), or driven by a host ([`Host::start`](crate::host::Host::start)).
#[derive(Debug)]
pub enum Admitted<R = Prepared> {
    /// A run of its own answers it. One that is prepared begins when it is [driven](Prepared::drive).
    Started(R),
    /// It enters the conversation of the session's running run.
    Steered {
        /// That run.
        run: RunId,
    },
    /// It waits in the log for the end of the session's running run ([`Agent::await_turn`], [`Agent::next_queued`]).
    Queued {
        /// The run that it waits for.
        behind: RunId,
        /// The id of the run that will answer it.
        run: RunId,
    },
    /// The same request was sent before, and did not begin anything again.
    Repeated {
        /// The run that it began, or that is to answer it once its turn has come.
        run: RunId,
    },
}

impl<R> Admitted<R> {
    /// The same fate, with something else for a run of its own.
    pub(crate) fn map<S>(self, started: impl FnOnce(R) -> S) -> Admitted<S> {
        match self {
            Self::Started(run) => Admitted::Started(started(run)),
            Self::Steered { run } => Admitted::Steered { run },
            Self::Queued { behind, run } => Admitted::Queued { behind, run },
            Self::Repeated { run } => Admitted::Repeated { run },
        }
    }
}

impl Agent {
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
        let input = input.into();
        let session = options.session.clone().filter(|_| self.policy().past.memory != Memory::Off);
        let Some(session) = session else {
            return self.begin_alone(input, options).await;
        };
        loop {
            if let Some(admitted) = Box::pin(self.sent_before(&input, &options)).await? {
                return Ok(admitted);
            }
            let end = self.session_end(&options.owner, &session).await;
            // Once more: what was sent to a run before this one has ended with it, and is known by now. It costs no fold.
            if let Some(admitted) = Box::pin(self.sent_before(&input, &options)).await? {
                return Ok(admitted);
            }
            let busy = match end {
                Ok(end) => {
                    if let Some(end) = &end
                        && let Some(waiting) = unanswered(&**self.log(), end).await?
                    {
                        Box::pin(self.answer_first(end, &waiting, &options)).await?;
                        continue;
                    }
                    if self.policy().past.while_running == WhileRunning::Refuse && options.key.is_none() {
                        // It is refused when it is driven, should another message be faster.
                        let prepared = Box::pin(self.prepare_after(input, end, options)).await;
                        return prepared.map(Admitted::Started);
                    }
                    let prepared = Box::pin(self.prepare_after(input.clone(), end, options.clone())).await?;
                    if let Some(prepared) = begun(Box::pin(prepared.begun()).await)? {
                        return Ok(Admitted::Started(prepared));
                    }
                    // Another message was faster, and this one is a second message to its run.
                    continue;
                }
                Err(Error::SessionBusy { run, session }) => (run, session),
                Err(error) => return Err(error),
            };
            if let Some(admitted) = Box::pin(self.second(busy, &input, &options)).await? {
                return Ok(admitted);
            }
        }
    }

    /// Begins the run of the next message that waits in a session whose last run has ended.
    ///
    /// # Errors
    /// The session's last run has not ended, or the log failed.
    pub async fn next_queued(
        &self,
        session: &SessionId,
        options: DriveOptions,
    ) -> Result<Option<Prepared>, Error> {
        match self.session_end(&options.owner, session).await? {
            Some(end) => self.next_behind(end, options).await,
            None => Ok(None),
        }
    }

    /// As [`next_queued`](Self::next_queued), behind a run that has ended, as it was read: the session is read again where it has another
    /// head by now.
    pub(crate) async fn next_behind(
        &self,
        end: State,
        options: DriveOptions,
    ) -> Result<Option<Prepared>, Error> {
        let Some(session) = end.session().cloned() else { return Ok(None) };
        let mut end = end;
        loop {
            if let Some(waiting) = unanswered(&**self.log(), &end).await?
                && let Some(prepared) = Box::pin(self.begin_queued(&end, &waiting, &options)).await?
            {
                return Ok(Some(prepared));
            }
            if self.log().head(&options.owner, &session).await? == Some(end.run()) {
                return Ok(None);
            }
            let Some(fresh) = self.session_end(&options.owner, &session).await? else { return Ok(None) };
            end = fresh;
        }
    }

    /// What becomes of a message to this busy session; `None`: the run has ended meanwhile.
    async fn second(
        &self,
        (run, session): (RunId, SessionId),
        input: &RunMessages,
        options: &DriveOptions,
    ) -> Result<Option<Admitted>, Error> {
        match self.policy().past.while_running {
            WhileRunning::Refuse => Err(Error::SessionBusy { session, run }),
            WhileRunning::Steer => match self.steer_under(run, input, options).await {
                Ok(true) => Ok(Some(Admitted::Steered { run })),
                Ok(false) | Err(Error::Refused(_)) => self.end_of(run).await.map(|()| None),
                Err(error) => Err(error),
            },
            WhileRunning::Interrupt => match self.cancel(run, "interrupted by a new message").await {
                Ok(Cancelled::Ended(_)) => Ok(None),
                Ok(Cancelled::Asked(_)) | Err(Error::Refused(_)) => self.end_of(run).await.map(|()| None),
                Err(error) => Err(error),
            },
            WhileRunning::Queue => self.queue(run, input, options).await,
        }
    }

    async fn steer_under(
        &self,
        run: RunId,
        input: &RunMessages,
        options: &DriveOptions,
    ) -> Result<bool, Error> {
        let key = match &options.key {
            Some(_) => {
                self.take_input(input.clone()).map(|(taken, _)| key_of(self, STEERED, &taken, options))?
            }
            None => None,
        };
        heard(self, run, input.text().into(), key).await
    }

    async fn queue(
        &self,
        behind: RunId,
        input: &RunMessages,
        options: &DriveOptions,
    ) -> Result<Option<Admitted>, Error> {
        // What does not fit is refused at once, not when its turn comes.
        let (taken, _) = self.take_input(input.clone())?;
        let (request, key) = (digest_of(self, &taken, options), key_of(self, START, &taken, options));
        let RunInput::Messages(messages) = taken else { return Ok(None) };
        let run = self.run_for(options);
        match self
            .post_request(behind, InputKind::Queue { run, request_digest: request, messages }, key)
            .await
        {
            Ok(Delivery::Waiting) => Ok(Some(Admitted::Queued { behind, run })),
            // The end of a run empties its inbox: only its log says whether the message was kept.
            Ok(Delivery::Driven(_) | Delivery::Taken) if self.kept(behind, run).await? => {
                Ok(Some(Admitted::Queued { behind, run }))
            }
            Ok(Delivery::Driven(_) | Delivery::Taken) | Err(Error::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a message was recorded before the run's end.
    async fn kept(&self, behind: RunId, run: RunId) -> Result<bool, Error> {
        let mut batches = self.log().follow(behind, 1);
        while let Some(batch) = batches.next().await {
            for event in batch?.events.iter() {
                if matches!(&event.fact, Fact::MessageQueued(queued) if queued.run == run) {
                    return Ok(true);
                }
                if matches!(event.fact, Fact::RunEnded(_)) {
                    return Ok(false);
                }
            }
        }
        Ok(false)
    }
}
