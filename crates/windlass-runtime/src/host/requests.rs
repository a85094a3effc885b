//! Requests to a run: what they ask for, and what their senders saw of it.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use windlass_core::event::{AnswerSource, AnsweredBy};
use windlass_core::{Answer, QuestionId, RunId, State, Text};
use windlass_read::words::{self, Calls, Cuts};
use windlass_read::{RunPages, question_digest};
use windlass_store::Store;

use super::driving::LiveRun;
use crate::agent::Agent;
use crate::driver::forks::Saved;
use crate::driver::options::DriveOptions;
use crate::platform::error::Error;
use crate::platform::error::host::HostError;

/// The most events that are named of a run that has gone on.
const NAMED: usize = 5;

/// The version of a run that the sender of a request saw. `None`: whatever it is.
pub type Seen = Option<u64>;

/// The data of a request in addition to its subject.
///
/// ```
/// use windlass_runtime::host::Request;
///
/// // To the run as it was at event 12, and once, however often it is sent.
/// let request = Request::seen(12).under("5f0c");
/// assert_eq!((request.seen, request.key.as_deref()), (Some(12), Some("5f0c")));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The version that its sender saw: a run that has gone on since refuses the request.
    pub seen: Seen,
    /// The idempotency key: sent twice under one, the request is done once, and another request under it is refused
    /// ([`Error::KeyReused`](crate::Error::KeyReused)). Each verb of each owner has keys of its own. A request that was refused frees its key.
    pub key: Option<Text>,
}

impl Request {
    /// A request about a run of that version.
    pub fn seen(version: u64) -> Self {
        Self { seen: Some(version), key: None }
    }

    /// Gives the request a key.
    #[must_use]
    pub fn under(self, key: impl Into<Text>) -> Self {
        Self { key: Some(key.into()), ..self }
    }
}

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
    /// The run, or a child run that asks.
    pub run: RunId,
    /// The question.
    pub question: QuestionSeen,
    /// The answer.
    pub answer: Answer,
    /// The giver of the answer.
    pub by: AnsweredBy,
    /// The idempotency key ([`Request::key`]).
    pub key: Option<Text>,
}

impl Answering {
    /// An answer by a program.
    pub fn new(run: RunId, question: QuestionSeen, answer: Answer) -> Self {
        Self { run, question, answer, by: AnswerSource::Program.into(), key: None }
    }

    /// Gives the answer an idempotency key.
    #[must_use]
    pub fn under(self, key: impl Into<Text>) -> Self {
        Self { key: Some(key.into()), ..self }
    }
}

/// A run to be resumed.
#[derive(Clone, Debug)]
#[must_use = "nothing is resumed until it is given to a host"]
pub struct Taking {
    pub(super) run: RunId,
    pub(super) state: Option<State>,
    pub(super) with: Option<With>,
    pub(super) options: DriveOptions,
    pub(super) key: Option<Text>,
}

/// The agent that a sender names for a run.
#[derive(Clone, Debug)]
pub(super) struct With {
    pub(super) agent: Agent,
    pub(super) switches: bool,
    pub(super) seen: Seen,
}

impl Taking {
    /// A run, with the agent that it has.
    pub fn new(run: RunId) -> Self {
        Self { run, state: None, with: None, options: DriveOptions::default(), key: None }
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

    /// Gives the request an idempotency key ([`Request::key`]), or none.
    pub fn under(mut self, key: Option<Text>) -> Self {
        self.key = key;
        self
    }

    /// The parts that make it the same request: the agent, the version that was seen, and whether a pause ends, with which message.
    pub(super) fn asked(&self) -> impl Serialize + '_ {
        let with = self.with.as_ref().map(|with| (with.agent.name(), with.switches, with.seen));
        let unpause = self.options.unpause.as_ref();
        (with, unpause.is_some(), unpause.and_then(|unpause| unpause.text.as_deref()))
    }
}

/// A fork that a host was asked for.
#[derive(Debug)]
pub struct Forked {
    /// The run.
    pub run: RunId,
    /// The work that it does not pay again.
    pub saved: Saved,
    /// The run as it is driven here; `None`: it was begun when the same request was sent before under its key.
    pub live: Option<LiveRun>,
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
            if changes.len() < NAMED {
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
