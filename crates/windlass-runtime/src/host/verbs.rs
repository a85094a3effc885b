//! Verbs: requests to a run, each with what its sender saw (E75) and under the key that it sent (E65).

use windlass_core::event::{AnsweredBy, Steered};
use windlass_core::{Answer, InputKind, RunId, State, Text};
use windlass_read::load;
use windlass_store::StoreError;

use super::driving::LiveRun;
use super::keyed::{Earlier, Keyed, Verb};
use super::requests::{Answering, Forked, Request, Taking, With, check_question, check_version};
use super::scoped::Scoped;
use crate::agent::Agent;
use crate::agent::input::check_media;
use crate::driver::control::{Delivery, check};
use crate::driver::forks::{ForkOptions, forked_before};
use crate::driver::options::DriveOptions;
use crate::driver::parents::asked_at;
use crate::host::cancelling::{Cancelled, being_cancelled, cancel, cancel_under};
use crate::host::forking::{Fork, new_fork};
use crate::host::resume::Resume;
use crate::platform::error::Error;
use crate::platform::error::host::HostError;

impl Scoped {
    /// Answers a question of a run, wherever it is driven. The run is read once. A run that nobody drives takes the answer once it is
    /// resumed, here by [`supervise`](super::Host::supervise).
    ///
    /// # Errors
    /// The question is not open or is another one, or the answer does not fit it. Another request has the key.
    pub async fn answer(&self, answering: Answering) -> Result<Delivery, Error> {
        let (named, key) = (answering.run, answering.key.clone());
        self.check_seen(named).await?;
        let asked = (&answering.question.question, &answering.answer, &answering.by);
        let keyed = Keyed::of(self.scope().owner(), Verb::Answer, key.as_ref(), named, &asked)?;
        if let Earlier::Taken(_) = Keyed::earlier(keyed.as_ref(), &**self.host.log()).await? {
            return Ok(Delivery::Taken);
        }
        let answered = Box::pin(self.answer_asked(answering, keyed.as_ref())).await;
        self.delivered(answered, keyed).await
    }

    async fn answer_asked(&self, answering: Answering, keyed: Option<&Keyed>) -> Result<Delivery, Error> {
        let Answering { run: named, question: seen, answer, by, key: _ } = answering;
        let log = &**self.host.log();
        let (run, question) = asked_at(log, named, seen.question.clone()).await?;
        let state = load(log, run).await?;
        self.check_owner(named, &state)?;
        check_question(&state, &question, seen.digest.as_ref())?;
        let what = InputKind::Answered { question, answer, by: Some(by) };
        self.deliver(&state, what, keyed).await
    }

    /// Steers a run: the message enters at the next turn. Where the host has or can make the run's agent, an image or file that its first
    /// model cannot be sent is refused here, else by the run's driver.
    ///
    /// # Errors
    /// The run has ended, or has gone on since it was seen. Another request has the key. An image or a file cannot be sent.
    pub async fn steer(
        &self,
        run: RunId,
        message: impl Into<Steered>,
        request: Request,
    ) -> Result<Delivery, Error> {
        self.send(run, Verb::Steer, InputKind::Steer(message.into()), request).await
    }

    /// Pauses a run.
    ///
    /// # Errors
    /// The run has ended or is paused already, or has gone on since it was seen. Another request has the key.
    pub async fn pause(&self, run: RunId, reason: Option<Text>, request: Request) -> Result<Delivery, Error> {
        self.send(run, Verb::Pause, InputKind::Pause { reason }, request).await
    }

    /// Asks a run to stop, or ends it where nobody drives it. Sent again under its key, it says what has become of the run.
    ///
    /// # Errors
    /// The run has ended, or has gone on since it was seen. Another request has the key. The log failed.
    pub async fn cancel(
        &self,
        run: RunId,
        reason: impl Into<Text>,
        request: Request,
    ) -> Result<Cancelled, Error> {
        self.check_seen(run).await?;
        let (log, reason) = (self.host.log(), reason.into());
        let keyed = Keyed::of(self.scope().owner(), Verb::Cancel, request.key.as_ref(), run, &reason)?;
        let earlier = Keyed::earlier(keyed.as_ref(), &**log).await?;
        if earlier == Earlier::None && request.seen.is_some() {
            let state = Box::pin(load(&**log, run)).await?;
            Box::pin(check_version(&**log, &state, request.seen)).await?;
        }
        let at = self.host.inner.environment.now();
        match (keyed, earlier) {
            (None, _) => Box::pin(cancel(log, run, at, reason)).await,
            (Some(_), Earlier::Taken(run) | Earlier::Waits(run)) => Box::pin(being_cancelled(log, run)).await,
            (Some(keyed), Earlier::None) => {
                match Box::pin(cancel_under(log, run, at, reason, keyed.post())).await {
                    Ok(cancelled) => Ok(cancelled),
                    Err(refused) => {
                        let run = keyed.taken_meanwhile(&**log, refused).await?;
                        Box::pin(being_cancelled(log, run)).await
                    }
                }
            }
        }
    }

    async fn send(
        &self,
        run: RunId,
        verb: Verb,
        what: InputKind,
        request: Request,
    ) -> Result<Delivery, Error> {
        self.check_seen(run).await?;
        let log = &**self.host.log();
        let keyed = Keyed::of(self.scope().owner(), verb, request.key.as_ref(), run, &what)?;
        let earlier = Keyed::earlier(keyed.as_ref(), log).await?;
        let seen = match earlier {
            Earlier::Taken(_) => return Ok(Delivery::Taken),
            // What has happened since it was sent is no reason to refuse it.
            Earlier::Waits(_) => None,
            Earlier::None => request.seen,
        };
        let sent = Box::pin(self.send_seen(run, what, seen, keyed.as_ref())).await;
        self.delivered(sent, keyed).await
    }

    async fn send_seen(
        &self,
        run: RunId,
        what: InputKind,
        seen: Option<u64>,
        keyed: Option<&Keyed>,
    ) -> Result<Delivery, Error> {
        let log = &**self.host.log();
        let state = load(log, run).await?;
        check_version(log, &state, seen).await?;
        if let InputKind::Steer(message) = &what
            && !message.parts.is_empty()
            && let Ok(agent) = self.host.registry().of_run(&state).await
        {
            check_media(&agent, &message.parts).await?;
        }
        self.deliver(&state, what, keyed).await
    }

    async fn deliver(
        &self,
        state: &State,
        what: InputKind,
        keyed: Option<&Keyed>,
    ) -> Result<Delivery, Error> {
        let inner = &self.host.inner;
        let checked = check(state, inner.environment.now(), what).await?;
        let delivery = checked.under(keyed.map(Keyed::post)).deliver(&*inner.log).await?;
        if delivery == Delivery::Waiting {
            inner.due.send_modify(|changes| *changes += 1);
        }
        Ok(delivery)
    }

    /// The outcome of a request, which another sending under its key may have brought meanwhile.
    async fn delivered(
        &self,
        sent: Result<Delivery, Error>,
        keyed: Option<Keyed>,
    ) -> Result<Delivery, Error> {
        match (sent, keyed) {
            (Err(refused), Some(keyed)) => {
                keyed.taken_meanwhile(&**self.host.log(), refused).await.map(|_| Delivery::Taken)
            }
            (sent, _) => sent,
        }
    }

    /// Whether a run was resumed, or its pause ended, by an earlier sending of this request under its key.
    ///
    /// # Errors
    /// The run is unknown; another request has the key; the log failed.
    pub async fn resumed_before(&self, taking: &Taking) -> Result<bool, Error> {
        self.summary(taking.run).await?;
        let keyed = self.resume_keyed(taking)?;
        let earlier = Keyed::earlier(keyed.as_ref(), &**self.host.log()).await?;
        Ok(matches!(earlier, Earlier::Taken(_)))
    }

    fn resume_keyed(&self, taking: &Taking) -> Result<Option<Keyed>, Error> {
        Keyed::of(self.scope().owner(), Verb::Resume, taking.key.as_ref(), taking.run, &taking.asked())
    }

    /// Ends the pause of a run, wherever it is driven, as somebody's answer. A run that nobody drives goes on once it is resumed, here by
    /// [`supervise`](super::Host::supervise).
    ///
    /// # Errors
    /// The run is not paused. Another request has the key.
    pub async fn end_pause(&self, taking: Taking, by: AnsweredBy) -> Result<Delivery, Error> {
        let keyed = self.resume_keyed(&taking)?;
        let ended = Box::pin(self.pause_ended(taking, by, keyed.as_ref())).await;
        self.delivered(ended, keyed).await
    }

    async fn pause_ended(
        &self,
        taking: Taking,
        by: AnsweredBy,
        keyed: Option<&Keyed>,
    ) -> Result<Delivery, Error> {
        let Taking { run, state, options, .. } = taking;
        self.check_seen(run).await?;
        let state = match state {
            Some(state) => state,
            None => load(&**self.host.log(), run).await?,
        };
        let paused = state.pause().ok_or_else(|| HostError::NotPaused { run })?;
        let answer = Answer::Resume { text: options.unpause.and_then(|unpause| unpause.text) };
        let what = InputKind::Answered { question: paused.id.clone(), answer, by: Some(by) };
        self.deliver(&state, what, keyed).await
    }

    /// Resumes a run with the agent that it began with, or with another one, and drives it here.
    ///
    /// # Errors
    /// As for [`Registry::of_run`](super::Registry::of_run); the run has ended or has a live driver; it has gone on since it was seen. It
    /// was resumed by the same request before ([`Error::Repeated`]); another request has the key.
    pub async fn resume(&self, taking: Taking) -> Result<LiveRun, Error> {
        let keyed = self.resume_keyed(&taking)?;
        let Taking { run, state, with, options, key: _ } = taking;
        self.check_seen(run).await?;
        let log = &**self.host.log();
        if let Earlier::Taken(run) = Keyed::earlier(keyed.as_ref(), log).await? {
            return Err(Error::Repeated { run });
        }
        let state = match state {
            Some(state) => state,
            None => load(log, run).await?,
        };
        let (agent, changed, seen) = match with {
            Some(With { agent, switches, seen }) => {
                check_version(log, &state, seen).await?;
                (agent, switches, seen)
            }
            None => (self.host.registry().of_run(&state).await?, false, None),
        };
        let resume = Resume::new(&agent, run).seen(state).options(options);
        let resume = if changed { resume.with_changed_agent() } else { resume };
        let prepared = resume.prepare().await?;
        // Another holder may have driven it until its lease was held here.
        Box::pin(check_version(log, prepared.state(), seen)).await?;
        let prepared = match keyed {
            Some(keyed) => match Box::pin(prepared.under(keyed.post())).await {
                Err(Error::Log(StoreError::KeyReused { run, .. })) => return Err(keyed.reused(run)),
                prepared => prepared?,
            },
            None => prepared,
        };
        Ok(self.host.drive(&agent, prepared))
    }

    /// The fork that an earlier sending of this request has begun under its idempotency key: whoever has limits of its own asks before it
    /// applies them, because a repeat meets none (E65).
    ///
    /// # Errors
    /// The run is unknown; another request has the key; the log failed.
    pub async fn forked_before(
        &self,
        run: RunId,
        agent: &Agent,
        fork: &ForkOptions,
        options: &DriveOptions,
    ) -> Result<Option<Forked>, Error> {
        self.summary(run).await?;
        let options = DriveOptions { owner: self.scope().owner().clone(), ..options.clone() };
        let found = Box::pin(forked_before(agent, run, fork, &options)).await?;
        Ok(found.map(|(run, saved)| Forked { run, saved, live: None }))
    }

    /// Forks a run at a version that its sender saw, with its agent or another one, and drives the fork here. The fork is a run of the
    /// scope's owner. One that is asked for under an idempotency key ([`DriveOptions::key`]) begins durably, once.
    ///
    /// # Errors
    /// As for [`Agent::fork`]; another request has the key.
    pub async fn fork(
        &self,
        run: RunId,
        agent: &Agent,
        fork: ForkOptions,
        options: DriveOptions,
    ) -> Result<Forked, Error> {
        self.check_seen(run).await?;
        let options = DriveOptions { owner: self.scope().owner().clone(), ..options };
        loop {
            if let Some((run, saved)) = Box::pin(forked_before(agent, run, &fork, &options)).await? {
                return Ok(Forked { run, saved, live: None });
            }
            let Fork { prepared, saved } =
                Box::pin(new_fork(agent, run, fork.clone(), options.clone())).await?;
            let run = prepared.id();
            let begun = match &options.key {
                Some(_) => Box::pin(prepared.begun()).await,
                None => Ok(prepared),
            };
            match begun {
                Ok(prepared) => {
                    return Ok(Forked { run, saved, live: Some(self.host.drive(agent, prepared)) });
                }
                // The same request, sent at the same moment, was faster.
                Err(Error::Log(StoreError::Conflict { .. })) if options.key.is_some() => {}
                Err(error) => return Err(error),
            }
        }
    }
}
