//! Requests to a run, with what their senders saw of it (E75).

use std::fmt;
use std::str::FromStr;

use windlass_core::event::{AnswerSource, AnsweredBy, Steered};
use windlass_core::{Answer, InputKind, QuestionId, RunId, State, Text};
use windlass_read::words::{self, Calls, Cuts};
use windlass_read::{RunPages, load, question_digest};
use windlass_store::Store;

use super::driving::LiveRun;
use super::scoped::{Scope, Scoped};
use super::{Host, HostError};
use crate::agent::Agent;
use crate::control::{self, Cancelled, Delivery};
use crate::error::Error;
use crate::forks::{ForkOptions, Saved};
use crate::run::DriveOptions;

/// The most events that are told of a run that has gone on.
const TOLD: usize = 5;

/// The version of a run that the sender of a request saw. `None`: whatever it is.
pub type Seen = Option<u64>;

/// A question as its sender saw it: `q1`, or `q1@3f2a91bc` with its [digest](question_digest) or the beginning of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionSeen {
    /// Its id.
    pub question: QuestionId,
    /// The beginning of its digest; `None`: whatever it says.
    pub digest: Option<Text>,
}

impl FromStr for QuestionSeen {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (question, digest) = match text.split_once('@') {
            Some((question, digest)) => (question, Some(digest.into())),
            None => (text, None),
        };
        Ok(Self { question: QuestionId::from(question.to_owned()), digest })
    }
}

impl fmt::Display for QuestionSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.digest {
            Some(digest) => write!(f, "{}@{digest}", self.question),
            None => self.question.fmt(f),
        }
    }
}

/// An answer to a question of a run.
#[derive(Clone, Debug)]
pub struct Answering {
    /// The run, or one below it that asks.
    pub run: RunId,
    /// The question.
    pub question: QuestionSeen,
    /// The answer.
    pub answer: Answer,
    /// Who gives it.
    pub by: AnsweredBy,
}

impl Answering {
    /// An answer by a program.
    pub fn new(run: RunId, question: QuestionSeen, answer: Answer) -> Self {
        Self { run, question, answer, by: AnswerSource::Program.into() }
    }
}

/// A run to be resumed.
#[derive(Clone, Debug)]
#[must_use = "nothing is resumed until it is given to a host"]
pub struct Taking {
    run: RunId,
    state: Option<State>,
    with: Option<With>,
    options: DriveOptions,
}

/// The agent that a sender names for a run.
#[derive(Clone, Debug)]
struct With {
    agent: Agent,
    switches: bool,
    seen: Seen,
}

impl Taking {
    /// A run, with the agent that it has.
    pub fn new(run: RunId) -> Self {
        Self { run, state: None, with: None, options: DriveOptions::default() }
    }

    /// The run was read already: only what has come since is read.
    pub fn state(mut self, state: State) -> Self {
        self.state = Some(state).filter(|state| state.run() == self.run);
        self
    }

    /// Gives the run another agent. `seen` is the version for which the difference was shown ([`Agent::changes_since`]).
    pub fn with(mut self, agent: Agent, seen: Seen) -> Self {
        self.with = Some(With { agent, switches: true, seen });
        self
    }

    /// The agent that the run has, which was made of its files already. Another one is refused.
    pub fn by(mut self, agent: Agent) -> Self {
        self.with = Some(With { agent, switches: false, seen: None });
        self
    }

    /// Replaces all options.
    pub fn options(mut self, options: DriveOptions) -> Self {
        self.options = options;
        self
    }
}

impl Scoped {
    /// Answers a question of a run, wherever it is driven. The run is read once. A run that nobody drives takes the answer once it is
    /// resumed, here by [`supervise`](Host::supervise).
    ///
    /// # Errors
    /// The question is not open or is another one, or the answer does not fit it.
    pub async fn answer(&self, answering: Answering) -> Result<Delivery, Error> {
        let Answering { run: named, question: seen, answer, by } = answering;
        self.check_seen(named).await?;
        let log = &**self.host.log();
        let (run, question) = control::asked_at(log, named, seen.question.clone()).await?;
        let state = load(log, run).await?;
        self.check_owner(named, &state)?;
        check_question(&state, &question, seen.digest.as_ref())?;
        let what = InputKind::Answered { question, answer, by: Some(by) };
        self.deliver(&state, what).await
    }

    /// Says something to a run: it enters at the next turn.
    ///
    /// # Errors
    /// The run has ended, or has gone on since it was seen.
    pub async fn steer(&self, run: RunId, said: impl Into<Steered>, seen: Seen) -> Result<Delivery, Error> {
        self.send(run, InputKind::Steer(said.into()), seen).await
    }

    /// Pauses a run.
    ///
    /// # Errors
    /// The run has ended or is paused already, or has gone on since it was seen.
    pub async fn pause(&self, run: RunId, reason: Option<Text>, seen: Seen) -> Result<Delivery, Error> {
        self.send(run, InputKind::Pause { reason }, seen).await
    }

    /// Asks a run to stop, or ends it where nobody drives it.
    ///
    /// # Errors
    /// The run has ended, or has gone on since it was seen; the log failed.
    pub async fn cancel(&self, run: RunId, reason: impl Into<Text>, seen: Seen) -> Result<Cancelled, Error> {
        self.check_seen(run).await?;
        let log = self.host.log();
        if seen.is_some() {
            let state = Box::pin(load(&**log, run)).await?;
            Box::pin(check_version(&**log, &state, seen)).await?;
        }
        Box::pin(control::cancel(log, run, self.host.inner.environment.now(), reason.into())).await
    }

    async fn send(&self, run: RunId, what: InputKind, seen: Seen) -> Result<Delivery, Error> {
        self.check_seen(run).await?;
        let state = load(&**self.host.log(), run).await?;
        check_version(&**self.host.log(), &state, seen).await?;
        self.deliver(&state, what).await
    }

    async fn deliver(&self, state: &State, what: InputKind) -> Result<Delivery, Error> {
        let inner = &self.host.inner;
        let checked = control::check(state, inner.environment.now(), what).await?;
        let delivery = checked.deliver(&*inner.log).await?;
        if delivery == Delivery::Waiting {
            inner.due.send_modify(|changes| *changes += 1);
        }
        Ok(delivery)
    }

    /// Resumes a run with the agent that it began with, or with another one, and drives it here.
    ///
    /// # Errors
    /// As for [`Registry::of_run`](super::Registry::of_run); the run has ended or has a live driver; it has gone on since it was seen.
    pub async fn resume(&self, taking: Taking) -> Result<LiveRun, Error> {
        let Taking { run, state, with, options } = taking;
        self.check_seen(run).await?;
        let log = &**self.host.log();
        let state = match state {
            Some(state) => state,
            None => load(log, run).await?,
        };
        let (agent, changed) = match with {
            Some(With { agent, switches, seen }) => {
                check_version(log, &state, seen).await?;
                (agent, switches)
            }
            None => (self.host.registry().of_run(&state).await?, false),
        };
        let resume = agent.resume(run).seen(state).options(options);
        let resume = if changed { resume.with_changed_agent() } else { resume };
        let prepared = resume.prepare().await?;
        Ok(self.host.drive(&agent, prepared))
    }

    /// Forks a run at a version that its sender saw, with its agent or another one, and drives the fork here. The fork is a run of the
    /// scope's owner.
    ///
    /// # Errors
    /// As for [`Agent::fork`].
    pub async fn fork(
        &self,
        run: RunId,
        agent: &Agent,
        fork: ForkOptions,
        options: DriveOptions,
    ) -> Result<(LiveRun, Saved), Error> {
        self.check_seen(run).await?;
        let options = DriveOptions { owner: self.scope().owner().clone(), ..options };
        let crate::forks::Fork { prepared, saved } = agent.fork(run, fork, options).await?;
        Ok((self.host.drive(agent, prepared), saved))
    }
}

impl Host {
    /// As [`Scoped::answer`], for the owner `local`.
    ///
    /// # Errors
    /// As for [`Scoped::answer`].
    pub async fn answer(&self, answering: Answering) -> Result<Delivery, Error> {
        self.within(Scope::default()).answer(answering).await
    }

    /// As [`Scoped::steer`], for the owner `local`.
    ///
    /// # Errors
    /// As for [`Scoped::steer`].
    pub async fn steer(&self, run: RunId, said: impl Into<Steered>, seen: Seen) -> Result<Delivery, Error> {
        self.within(Scope::default()).steer(run, said, seen).await
    }

    /// As [`Scoped::pause`], for the owner `local`.
    ///
    /// # Errors
    /// As for [`Scoped::pause`].
    pub async fn pause(&self, run: RunId, reason: Option<Text>, seen: Seen) -> Result<Delivery, Error> {
        self.within(Scope::default()).pause(run, reason, seen).await
    }

    /// As [`Scoped::cancel`], for the owner `local`.
    ///
    /// # Errors
    /// As for [`Scoped::cancel`].
    pub async fn cancel(&self, run: RunId, reason: impl Into<Text>, seen: Seen) -> Result<Cancelled, Error> {
        self.within(Scope::default()).cancel(run, reason, seen).await
    }

    /// As [`Scoped::resume`], for the owner `local`.
    ///
    /// # Errors
    /// As for [`Scoped::resume`].
    pub async fn resume(&self, taking: Taking) -> Result<LiveRun, Error> {
        self.within(Scope::default()).resume(taking).await
    }

    /// As [`Scoped::fork`], for the owner that the options name.
    ///
    /// # Errors
    /// As for [`Scoped::fork`].
    pub async fn fork(
        &self,
        run: RunId,
        agent: &Agent,
        fork: ForkOptions,
        options: DriveOptions,
    ) -> Result<(LiveRun, Saved), Error> {
        self.within(Scope::all(options.owner.clone())).fork(run, agent, fork, options).await
    }
}

/// Refuses an answer to another question than its sender saw.
///
/// # Errors
/// The question has another digest. One that is not open is refused by the run itself.
pub fn check_question(state: &State, question: &QuestionId, seen: Option<&Text>) -> Result<(), Error> {
    let Some(open) = state.questions().iter().find(|open| open.id == *question) else { return Ok(()) };
    match seen {
        Some(seen) if seen.is_empty() || !question_digest(open).starts_with(&**seen) => {
            let (run, question, text) = (state.run(), question.clone(), open.text.clone());
            Err(HostError::QuestionChanged { run, question, text }.into())
        }
        _ => Ok(()),
    }
}

/// Refuses a request about a run that has gone on since its sender saw it, with what has happened since.
///
/// # Errors
/// The run has another version.
pub async fn check_version(log: &dyn Store, state: &State, seen: Seen) -> Result<(), Error> {
    let (run, version) = (state.run(), state.version());
    let Some(seen) = seen.filter(|seen| *seen != version) else { return Ok(()) };
    let mut changes = Vec::new();
    let (calls, cuts) = (Calls::of(state), Cuts::default());
    let mut pages = RunPages::starting_at(log, run, seen.saturating_add(1));
    let mut more = 0;
    while let Some(batches) = pages.next().await? {
        for event in batches.iter().flat_map(|batch| batch.events.iter()) {
            if changes.len() < TOLD {
                changes.push(words::phrase(&event.fact, &calls, &cuts));
            } else {
                more += 1;
            }
        }
    }
    if more > 0 {
        changes.push(format!("and {}", words::count(more, "further event")));
    }
    Err(HostError::MovedOn { run, seen, version, changes }.into())
}
