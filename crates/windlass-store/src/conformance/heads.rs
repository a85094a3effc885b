//! Promises of heads and owners: which run the next message of a session continues, and whose session that is.

use std::sync::Arc;

use windlass_core::event::{Base, RunStarted};
use windlass_core::{Owner, RunId, RunState, Status};

use super::sample::{append, end, ended, first, id, in_session, started};
use super::{Verdict, refused, same, works};
use crate::error::StoreError;
use crate::{Append, Head, Headline, Prune, RunFilter, Store, prune};

fn owned(owner: &str, started: RunStarted) -> RunStarted {
    RunStarted { owner: Owner::from(owner), ..started }
}

fn moving(from: Option<RunId>, started: RunStarted) -> Append {
    Append { head: Head::Moves { from }, ..first(started) }
}

async fn head(log: &dyn Store, owner: &str, session: &str) -> Result<Option<RunId>, String> {
    works("a head", log.head(&Owner::from(owner), &session.into()).await)
}

/// The head of a session is the run that moved it last. A run that continues another one is refused, names the head, and leaves
/// nothing behind.
pub async fn a_session_has_one_head(log: Arc<dyn Store>) -> Verdict {
    let run = |number| in_session(started(number, "hello"), "talk");
    same("the head of no session", &head(&*log, "local", "talk").await?, &None)?;
    works("a first run", log.append(moving(None, run(1))).await)?;
    works("a run that continues it", log.append(moving(Some(id(1)), run(2))).await)?;
    for (number, from) in [(3, None), (4, Some(id(1))), (5, Some(id(404)))] {
        let late = log.append(moving(from, run(number))).await;
        let error = refused("a run that continues another one than the head", late, "store.head_moved")?;
        let StoreError::HeadMoved { run, head } = error else { continue };
        same("the run and the head that are named", &(run, head), &(id(number), Some(id(2))))?;
        refused("a run that did not begin", log.summary(id(number)).await, "store.unknown_run")?;
    }
    works("a run that is written beside it", log.append(first(run(6))).await)?;
    works("a run without a session", log.append(moving(Some(id(404)), started(7, "alone"))).await)?;
    works("a run of another session", log.append(moving(None, in_session(started(8, "hi"), "chat"))).await)?;
    end(&*log, id(2), 1, Status::Answered).await?;
    same("the head", &head(&*log, "local", "talk").await?, &Some(id(2)))?;
    same("the other session's head", &head(&*log, "local", "chat").await?, &Some(id(8)))
}

/// Sessions of two owners never meet, even under one name, and listings keep to an owner.
pub async fn owners_never_meet(log: Arc<dyn Store>) -> Verdict {
    let run = |owner, number| owned(owner, in_session(started(number, "hello"), "talk"));
    works("a run", log.append(moving(None, run("ada", 1))).await)?;
    works("a run of another owner", log.append(moving(None, run("bob", 2))).await)?;
    works("a run without a named owner", log.append(moving(None, run(Owner::LOCAL, 3))).await)?;
    let theirs = log.append(moving(Some(id(1)), run("bob", 4))).await;
    refused("a run that continues another owner's", theirs, "store.head_moved")?;
    for (owner, number) in [("ada", 1), ("bob", 2), ("local", 3)] {
        same("an owner's head", &head(&*log, owner, "talk").await?, &Some(id(number)))?;
        let filter = RunFilter { owner: Some(Owner::from(owner)), ..RunFilter::default() };
        let listed = works("a listing", log.list(filter).await)?;
        let found: Vec<_> = listed.into_iter().map(|run| (run.run, run.owner)).collect();
        same("an owner's runs", &found, &vec![(id(number), Owner::from(owner))])?;
    }
    same("a stranger's head", &head(&*log, "eve", "talk").await?, &None)?;
    let all = RunFilter { session: Some("talk".into()), ..RunFilter::default() };
    same("the runs of all owners", &works("a listing", log.list(all).await)?.len(), &3)
}

/// A head that is pruned leaves its session to the run that it continued, or takes the session with it.
pub async fn pruning_moves_a_head_to_its_base(log: Arc<dyn Store>) -> Verdict {
    let Some(pruning) = log.pruning() else { return Ok(()) };
    let on = |number, base| {
        let base = Some(Base { run: id(base), version: 2, digest: "d".into() });
        RunStarted { base, ..in_session(started(number, "next"), "talk") }
    };
    works("a first run", log.append(moving(None, in_session(started(1, "hello"), "talk"))).await)?;
    let headline = Headline { queued: true, ..Headline::default() };
    let run_state = RunState::Ended(Status::Answered);
    let ends = Append { headline, run_state, ..append(id(1), 1, ended(Status::Answered)) };
    works("its end, with a message that is queued", log.append(ends).await)?;
    works("a run that continues it", log.append(moving(Some(id(1)), on(2, 1))).await)?;
    end(&*log, id(2), 1, Status::Answered).await?;
    let fork = RunStarted { session: Some("fork".into()), ..on(3, 1) };
    works("a fork into a session of its own", log.append(moving(None, fork)).await)?;
    end(&*log, id(3), 1, Status::Answered).await?;
    let only = |session: &str, keep| Prune { sessions: vec![session.into()], keep, ..Prune::default() };
    let gone = works("pruning the head", prune(pruning, only("talk", vec![id(1)]), |_, _| {}).await)?;
    same("what went", &gone.runs, &vec![id(2)])?;
    same("the head", &head(&*log, "local", "talk").await?, &Some(id(1)))?;
    // The message was answered by the run that went, and is not answered once more.
    let queued = works("queues", log.list(RunFilter { queued: true, ..RunFilter::default() }).await)?;
    same("what is queued", &queued.items.len(), &0)?;
    works("pruning a fork", prune(pruning, only("fork", Vec::new()), |_, _| {}).await)?;
    same("the head of a session that went", &head(&*log, "local", "fork").await?, &None)?;
    works("pruning the rest", prune(pruning, Prune::default(), |_, _| {}).await)?;
    same("the head of a session without runs", &head(&*log, "local", "talk").await?, &None)?;
    works(
        "a session that begins anew",
        log.append(moving(None, in_session(started(9, "hi"), "talk"))).await,
    )?;
    same("its head", &head(&*log, "local", "talk").await?, &Some(id(9)))
}
