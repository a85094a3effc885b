//! Questions of child runs: the parent run at which they are answered, and questions that child runs have settled.
//!
//! A child's question is raised by each of its parents, up to the root. An answer to any of them is given at the topmost run
//! that asks it and is handed down from there, so that no parent is left waiting.

use windlass_core::event::{InputReceived, Millis, PeopleFact, QuestionKind};
use windlass_core::run::OpenQuestion;
use windlass_core::{Answer, Fact, QuestionId, RunId, State};
use windlass_read::{Error as ReadError, RunPages, load};
use windlass_store::{Log, Store, StoreError};

use crate::platform::error::Error;

/// Maximum number of parents of a run, one over another, that are looked at.
const MOST_PARENTS: usize = 64;

/// The topmost run that asks a question of a run, and the question's id there.
///
/// # Errors
/// The log failed.
pub async fn asked_at(
    log: &dyn Store,
    run: RunId,
    question: QuestionId,
) -> Result<(RunId, QuestionId), Error> {
    let mut place = (run, question);
    for _ in 0..MOST_PARENTS {
        let Some(parent) = unfinished_parent(log, place.0).await? else { break };
        let raised = parent.questions().iter().find(|open| asks(&parent, open) == Some((place.0, &place.1)));
        match raised {
            Some(open) => place = (parent.run(), open.id.clone()),
            None => break,
        }
    }
    Ok(place)
}

/// The run that resumes a run: the topmost of its parents that has not ended, or else the run itself.
///
/// # Errors
/// The log failed.
pub async fn resumed_at(log: &dyn Store, run: RunId) -> Result<RunId, Error> {
    let mut root = run;
    for _ in 0..MOST_PARENTS {
        match unfinished_parent(log, root).await? {
            Some(parent) => root = parent.run(),
            None => break,
        }
    }
    Ok(root)
}

/// The parent of a run, if it is in the log and has not ended.
pub(crate) async fn unfinished_parent(log: &dyn Store, run: RunId) -> Result<Option<State>, Error> {
    let Some(parent) = log.summary(run).await?.parent else { return Ok(None) };
    let parent = known(log, parent).await?;
    Ok(parent.filter(|parent| !parent.is_finished()))
}

/// The state of a run; `None`: it is not in this log.
async fn known(log: &dyn Log, run: RunId) -> Result<Option<State>, Error> {
    match load(log, run).await {
        Ok(state) => Ok(Some(state)),
        Err(ReadError::Log(StoreError::UnknownRun { .. })) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The child run whose question this is, and the question's id there.
fn asks<'s>(state: &'s State, open: &OpenQuestion) -> Option<(RunId, &'s QuestionId)> {
    state.open_call(open.call.as_ref()?)?.asks()
}

/// The questions of this run that child runs no longer ask, each with the answer that was given there. A child run that ended
/// without an answer denies what it asked.
pub(crate) async fn settled(log: &dyn Log, state: &State) -> Result<Vec<(QuestionId, Answer)>, Error> {
    let mut settled = Vec::new();
    for open in state.questions() {
        if let Some((run, question)) = asks(state, open)
            && let Some(answer) = settled_by_child(log, run, question.clone(), open.kind).await?
        {
            settled.push((open.id.clone(), answer));
        }
    }
    Ok(settled)
}

async fn settled_by_child(
    log: &dyn Log,
    mut run: RunId,
    mut question: QuestionId,
    kind: QuestionKind,
) -> Result<Option<Answer>, Error> {
    for _ in 0..MOST_PARENTS {
        let Some(state) = known(log, run).await? else { return Ok(None) };
        let open = state.questions().iter().find(|open| open.id == question);
        let Some(open) = open.filter(|_| !state.is_finished()) else {
            let given = given(log, run, &question).await?;
            let answer = given.map(|given| given.received.answer);
            return Ok(Some(answer.unwrap_or_else(|| without_answer(kind, run))));
        };
        let Some((child, asked)) = asks(&state, open) else { return Ok(None) };
        (run, question) = (child, asked.clone());
    }
    Ok(None)
}

/// An answer that a run has received.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// The answer, and who gave it.
    pub received: InputReceived,
    /// When it was taken or, as long as it waits, posted, in milliseconds since the epoch.
    pub at: Millis,
}

/// The answer that a run received to its question; `None`: it has none.
///
/// # Errors
/// The log failed.
pub async fn given(log: &dyn Log, run: RunId, question: &QuestionId) -> Result<Option<Given>, Error> {
    let mut pages = RunPages::new(log, run);
    while let Some(batches) = pages.next().await? {
        for event in batches.iter().flat_map(|batch| batch.events.iter()) {
            if let Fact::People(PeopleFact::InputReceived(received)) = &event.fact
                && received.question == *question
            {
                return Ok(Some(Given { received: received.clone(), at: event.at }));
            }
        }
    }
    Ok(None)
}

/// The answer to a question whose run ended without one.
fn without_answer(kind: QuestionKind, run: RunId) -> Answer {
    let why = format!("run {run} ended before this was answered").into();
    match kind {
        QuestionKind::Approval => Answer::Deny { reason: Some(why) },
        QuestionKind::Clarify => Answer::Text(why),
        QuestionKind::Outcome => Answer::Unknown,
        QuestionKind::Result => Answer::Result(why),
        QuestionKind::Pause => Answer::Resume { text: None },
        QuestionKind::Auth => Answer::Retry,
        QuestionKind::Plan | QuestionKind::Limit(_) => Answer::Conclude(why),
    }
}
