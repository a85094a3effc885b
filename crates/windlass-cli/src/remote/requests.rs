//! Requests to runs of a server.

use serde_json::{Map, Value};
use windlass_api::{
    AnswerQuestion, CancelRun, Fate, ForkRun, PauseRun, PreviewSwitch, ResumeRun, Started, SteerRun,
    SwitchPreview, Taken, TakenState,
};
use windlass_client::ClientError;
use windlass_core::policy::LimitKind;
use windlass_core::{Answer, QuestionId, RunId, State};
use windlass_read::{load, question_digest};
use windlass_runtime::control::resumed_at;

use super::Server;
use super::following::Foreground;
use crate::agents;
use crate::asking::{Place, Roots, Terminal};
use crate::drive::{Words, verdict};
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::out;
use crate::view::{View, ViewArgs};

/// An answer to a run of a server.
pub(crate) struct Answering {
    /// The run as it was read: its question is answered as it stood there (E75).
    pub(crate) state: State,
    pub(crate) question: QuestionId,
    pub(crate) answer: Answer,
    /// Whether the run is left to the server then.
    pub(crate) leave: bool,
    pub(crate) view: ViewArgs,
}

/// Sends an answer to a question with its digest.
pub(crate) async fn send_answer(
    server: &Server,
    run: RunId,
    question: String,
    answer: Answer,
) -> Result<Taken, ClientError> {
    server.client.answer(run, &AnswerQuestion { question, answer }, None).await
}

/// Answers a question, and shows how the run goes on.
pub(crate) async fn answer(
    server: &Server,
    answering: Answering,
    interrupts: Interrupts,
) -> Result<Exit, Failure> {
    let Answering { state, question, answer, leave, view } = answering;
    let digest = state.questions().iter().find(|open| open.id == question).map(question_digest);
    let seen = format!("{question}@{}", digest.unwrap_or_default());
    let run = state.run();
    send_answer(server, run, seen, answer).await?;
    if leave {
        out::note(format_args!("the answer to {question} is stored, and the server goes on with the run"));
        return Ok(Exit::Good);
    }
    // What a task of another run waited with lets that one go on.
    let root = resumed_at(&*server.store, run).await?;
    let before = if root == run { state } else { load(&*server.store, root).await? };
    in_foreground(server, root, Some(&before), view, interrupts).await
}

/// Shows a run to its end or to a wait; with a state, what comes after it.
async fn in_foreground(
    server: &Server,
    run: RunId,
    before: Option<&State>,
    args: ViewArgs,
    mut interrupts: Interrupts,
) -> Result<Exit, Failure> {
    let mut view = View::new(args).logged(&server.words);
    if let Some(before) = before {
        view.recall(before);
    }
    let place = Place { log: server.store.clone(), roots: Roots::default(), chat: false };
    let terminal = if args.json { None } else { Terminal::open(place) };
    let words = Words { log: server.words.clone(), ..Words::default() };
    let from_event = before.map(|before| before.version() + 1);
    let foreground = Foreground { server, run, from_event, goes_on: before.is_some(), terminal };
    let run = Box::pin(foreground.drive(&mut view, &mut interrupts, &words)).await?;
    let verdict = verdict(&run, &words);
    view.left(&*server.store, &run, verdict.as_ref().err()).await?;
    view.close()?;
    verdict
}

/// Says something to a run.
pub(crate) async fn steer(server: &Server, run: RunId, steer: SteerRun) -> Result<Exit, Failure> {
    let taken = server.client.steer(run, &steer, None).await?;
    match taken.state {
        TakenState::Waiting => out::note(format_args!(
            "the run has no driver now; the message enters after `windlass runs resume{} {run}`",
            server.words
        )),
        TakenState::Taken | TakenState::Posted | TakenState::Stopping | TakenState::Done => {
            out::note("the message enters at the run's next turn");
        }
    }
    Ok(Exit::Good)
}

/// Pauses a run.
pub(crate) async fn pause(server: &Server, run: RunId, reason: Option<String>) -> Result<Exit, Failure> {
    let taken = server.client.pause(run, &PauseRun { reason, seen: None }, None).await?;
    let words = &server.words;
    match taken.state {
        TakenState::Waiting => out::note(format_args!(
            "the run has no driver now; it is paused before its next model call; `windlass runs resume{words} {run}` \
             continues it"
        )),
        TakenState::Taken | TakenState::Posted | TakenState::Stopping | TakenState::Done => {
            out::note(format_args!(
                "the run pauses once its calls have ended; `windlass runs resume{words} {run}` continues it"
            ));
        }
    }
    Ok(Exit::Good)
}

/// Cancels a run.
pub(crate) async fn cancel(server: &Server, run: RunId) -> Result<Exit, Failure> {
    let cancel =
        CancelRun { reason: Some("windlass runs cancel".to_owned()), wait_ms: Some(10_000), seen: None };
    let taken = server.client.cancel(run, &cancel, None).await?;
    if taken.state == TakenState::Stopping {
        let message = format!("run {run} was asked to stop but has not ended yet");
        return Err(Failure::new(Exit::Failed, message)
            .hint(format!("`windlass runs watch{} {run}` shows its end", server.words)));
    }
    out::note(format_args!("run {run}: {}", taken.status));
    Ok(Exit::Good)
}

/// A run of a server to be gone on with.
pub(crate) struct Resuming {
    pub(crate) run: RunId,
    pub(crate) limits: Vec<(LimitKind, f64)>,
    pub(crate) message: Option<String>,
    /// An agent of the server in place of the run's own.
    pub(crate) with: Option<String>,
    pub(crate) view: ViewArgs,
}

/// Says what a switch of a run to another agent changes, and gives the version for which it was said (E75).
async fn preview_switch(
    server: &Server,
    run: RunId,
    with: &str,
    at: Option<u64>,
    view: ViewArgs,
) -> Result<u64, Failure> {
    let switch = PreviewSwitch { with: with.to_owned(), at };
    let SwitchPreview { version, changes, .. } = server.client.preview_switch(run, &switch).await?;
    if !view.json {
        agents::preview(run, version, &changes);
    }
    Ok(version)
}

/// Lets the server go on with a run, and shows it.
pub(crate) async fn resume(
    server: &Server,
    resuming: Resuming,
    interrupts: Interrupts,
) -> Result<Exit, Failure> {
    let Resuming { run: named, limits, message, with, view } = resuming;
    let run = resumed_at(&*server.store, named).await?;
    if run != named {
        out::note(format_args!("run {named} does a task of run {run}, which is resumed"));
    }
    let state = load(&*server.store, run).await?;
    let limits: Map<String, Value> =
        limits.into_iter().map(|(kind, number)| (kind.name().to_owned(), number.into())).collect();
    let seen = match &with {
        Some(with) => Some(preview_switch(server, run, with, None, view).await?),
        None => None,
    };
    let taken = server.client.resume(run, &ResumeRun { message, limits, with, seen }, None).await?;
    if taken.run != run {
        // With a higher limit it goes on as a new run.
        return in_foreground(server, taken.run, None, view, interrupts).await;
    }
    in_foreground(server, run, Some(&state), view, interrupts).await
}

/// Starts a run that continues from an event of another one, and shows it.
pub(crate) async fn fork(
    server: &Server,
    base: RunId,
    fork: ForkRun,
    view: ViewArgs,
    interrupts: Interrupts,
) -> Result<Exit, Failure> {
    if let Some(with) = &fork.agent {
        preview_switch(server, base, with, Some(fork.at), view).await?;
    }
    let Started { run, fate, .. } = server.client.fork(base, &fork, None).await?;
    if !view.quiet && !view.json && fate == Fate::Started {
        out::note(format_args!("run {run} continues from event {} of {base}", fork.at));
    }
    in_foreground(server, run, None, view, interrupts).await
}
