//! Drives a run in the foreground and reports its end.

mod at_terminal;
mod listening;

use std::cell::Cell;
use std::path::Path;
use std::pin::pin;

use futures_util::future::select;
use windlass_core::event::{FailKind, LimitReached};
use windlass_core::model::{FailureKind, ModelFailure};
use windlass_core::policy::LimitKind;
use windlass_core::run::QuotaWait;
use windlass_core::{Message, RunId, RunState, SessionId, Status};
use windlass_read::words::asked;
use windlass_read::words::{name, short_span, short_time, time};
use windlass_runtime::host::LiveRun;
use windlass_runtime::{Run, RunHandle, Updates};

use crate::agents::now;
use crate::asking::answers;
use crate::asking::leave_prompt;
use crate::assistant;
use crate::failure::{Exit, Failure};
use crate::home::quoted;
use crate::interrupts::{Interrupt, Interrupts};
use crate::out::{self, Stream};
use crate::view::{View, exit_of};
use crate::waiting::Withdrawn;
pub(crate) use at_terminal::{AtTerminal, Driven, drive_and_show};
pub(crate) use listening::{Commands, Listening, Verbs, is_farewell, message, names_command, typed_as};

/// The arguments needed to suggest a command that continues a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    /// ` --log FILE`, or nothing.
    pub(crate) log: String,
    /// The agent's file, where a new run of the session is to be started.
    pub(crate) file: Option<String>,
    /// ` --with FILE` where the agent is another one than the run began with, or nothing.
    pub(crate) with: String,
}

impl Words {
    /// The command that begins a run of this agent, up to its options.
    pub(crate) fn again(&self) -> String {
        let log = &self.log;
        match self.agent_file() {
            Some(file) => format!("windlass run{log} {file}"),
            None => format!("windlass{log}"),
        }
    }

    /// The command that begins a conversation with this agent, up to its options.
    pub(crate) fn chat(&self) -> String {
        let file = self.agent_file().map(|file| format!(" {file}"));
        format!("windlass chat{}{}", self.log, file.unwrap_or_default())
    }

    /// The agent's file; `None`: the built-in assistant, which has none.
    fn agent_file(&self) -> Option<String> {
        match self.file.as_deref() {
            Some(file) if assistant::is(Path::new(file)) => None,
            Some(file) => Some(quoted(file)),
            None => Some("FILE".to_owned()),
        }
    }
}

/// Drives the run until it has ended or is suspended. The first Ctrl-C cancels it, unless somebody is asked something; SIGTERM,
/// SIGHUP and SIGQUIT detach from it, to be resumed. A second signal leaves it at its last durable event.
pub(crate) async fn drive(
    live: LiveRun,
    view: &mut View,
    interrupts: &mut Interrupts,
    words: &Words,
) -> Result<Run, Failure> {
    let mut live = live;
    let (run, handle) = (live.id(), live.handle().clone());
    view.says_end();
    let updates = live.updates();
    let mut show = pin!(render(updates, view));
    let (mut all_rendered, stopped) = (false, Cell::new(None));
    let ended = {
        let mut stop = pin!(stop(&handle, interrupts, &stopped));
        loop {
            tokio::select! {
                biased;
                ended = live.ended() => break ended?,
                again = &mut stop => {
                    live.abort();
                    return Err(left(run, words, again.exit()));
                }
                () = &mut show, if !all_rendered => all_rendered = true,
            }
        }
    };
    match (ended.run_state(), stopped.get()) {
        (RunState::Running, Some(stopped)) => return Err(left(run, words, stopped.exit())),
        // It waits for an answer as before; the process ends as it was told to.
        (RunState::Suspended, Some(Interrupt::Leave(exit))) => {
            return Err(suspended(&ended, words, exit));
        }
        _ => {}
    }
    // The run has ended; the rest of it is shown to the remaining readers.
    let most = async {
        if stopped.get().is_some() {
            tokio::time::sleep(out::UNREAD).await;
        } else {
            std::future::pending::<()>().await;
        }
    };
    if !all_rendered {
        tokio::select! {
            () = show => {}
            () = most => {}
            interrupt = interrupts.next() => return Err(unread(run, words, interrupt.exit())),
        }
    }
    if let Some(signal @ Interrupt::Leave(_)) = stopped.get() {
        // The run ended first: its followers are notified.
        interrupts.put_back(signal);
    }
    Ok(ended)
}

/// Renders updates as fast as the reader takes them. All facts are rendered; streamed pieces may be dropped.
async fn render(updates: Option<Updates>, view: &mut View) {
    let _at_last = Withdrawn::default();
    let Some(mut updates) = updates else { return };
    while let Some(update) = view.waiting(updates.next()).await {
        out::room(Stream::Out).await;
        view.update(&update);
    }
}

fn unread(run: RunId, words: &Words, exit: Exit) -> Failure {
    out::hurry();
    Failure::note(exit, format!("run {run} has ended, but its output was not read to the end"))
        .hint(format!("`windlass runs show{} {run}` shows all of it", words.log))
}

/// Cancels or detaches at the first signal, ends at the second.
async fn stop(
    handle: &RunHandle,
    interrupts: &mut Interrupts,
    stopped: &Cell<Option<Interrupt>>,
) -> Interrupt {
    let interrupt = loop {
        let interrupt = interrupts.next().await;
        // At a question Ctrl-C leaves the question open and cancels nothing.
        if !(matches!(interrupt, Interrupt::Cancel) && leave_prompt()) {
            break interrupt;
        }
    };
    let interrupt = match interrupt {
        // Nothing is lost by leaving it, and it goes on by itself.
        Interrupt::Cancel if matches!(handle.quota_wait().await, Ok(Some(_))) => {
            Interrupt::Leave(Exit::Suspended)
        }
        Interrupt::Cancel | Interrupt::Leave(_) => interrupt,
    };
    stopped.set(Some(interrupt));
    out::hurry();
    let again = pin!(interrupts.next());
    let cancel = pin!(async {
        match interrupt {
            // A run that is over or being stopped needs no second word.
            Interrupt::Cancel => drop(handle.cancel("Ctrl-C").await),
            Interrupt::Leave(_) => handle.detach(),
        }
        std::future::pending::<Interrupt>().await
    });
    select(cancel, again).await.factor_first().0
}

fn left(run: RunId, words: &Words, exit: Exit) -> Failure {
    Failure::note(exit, format!("run {run} was left before its end"))
        .hint(format!("`windlass runs resume{}{} {run}` continues it", words.log, words.with))
}

/// Maps the end of a run to an exit code, and a failure message if it is not 0.
pub(crate) fn verdict(run: &Run, words: &Words) -> Result<Exit, Failure> {
    let id = run.id();
    match run.run_state() {
        RunState::Ended(status) => {
            let exit = exit_of(status);
            if exit == Exit::Good { Ok(exit) } else { Err(ended(run, status, exit, words)) }
        }
        RunState::Suspended => Err(suspended(run, words, Exit::Suspended)),
        RunState::Running => Err(left(id, words, Exit::Cancelled)),
    }
}

fn ended(run: &Run, status: Status, exit: Exit, words: &Words) -> Failure {
    let id = run.id();
    match status {
        Status::Limit(limit) => cut(run, limit, exit, words),
        Status::Cancelled => {
            Failure::note(exit, format!("run {id} was cancelled")).maybe_hint(session(run, words))
        }
        Status::Failed(kind) => {
            let failure = Failure::new(exit, format!("run {id} failed ({kind})"));
            let failure = match run.error() {
                Some(why) => failure.cause(why),
                None => failure,
            };
            let of_model = kind == FailKind::Model;
            let hint = run.state().model_failure().filter(|_| of_model).and_then(remedy);
            failure
                .maybe_hint(hint)
                .hint(format!("`windlass runs show{} -e {id}` shows what happened", words.log))
        }
        Status::Answered | Status::Concluded | Status::Clarification => Failure::new(exit, ""),
    }
}

/// The remedy for a model's failure, if one is known.
fn remedy(failure: &ModelFailure) -> Option<String> {
    match failure.kind {
        FailureKind::RateLimited | FailureKind::Overloaded => {
            let wait = failure.retry_after_ms?;
            let at = short_time(now().saturating_add(wait));
            Some(format!(
                "again in {}, at {at}; `loop: {{ wait_for_quota: true }}` waits in the run",
                short_span(wait)
            ))
        }
        // A model at an address of its own is none of those that are looked for.
        FailureKind::Connect if !failure.model.contains('/') => {
            Some("start the server of that address, or give another one: `base_url` in the agent file, or `--base-url`".to_owned())
        }
        // It asks each server, which says more than one that was not reached.
        FailureKind::Connect => Some("`windlass doctor` shows which models are reachable".to_owned()),
        FailureKind::NotFound => {
            // A model at an address of its own has no provider.
            let (provider, _) = failure.model.split_once('/')?;
            Some(format!("`windlass models list {}` lists its models", quoted(provider)))
        }
        FailureKind::Timeout
        | FailureKind::Server
        | FailureKind::Auth
        | FailureKind::BadRequest
        | FailureKind::ContextLength
        | FailureKind::Unsupported
        | FailureKind::Protocol
        | FailureKind::Cut
        | FailureKind::TooLarge
        | FailureKind::Cancelled
        | FailureKind::OverBudget(_) => None,
    }
}

/// A run that a limit cut. It is an error unless the run has an answer all the same.
fn cut(run: &Run, limit: LimitKind, exit: Exit, words: &Words) -> Failure {
    let id = run.id();
    let reached = run.state().cut_by();
    let most = reached.map_or_else(|| limit.to_string(), |reached| limit.amount(reached.max));
    let message = format!("run {id} stopped at its limit of {most}");
    let failure = if has_answer(run) { Failure::note(exit, message) } else { Failure::new(exit, message) };
    match reached.and_then(higher) {
        Some(number) => failure.hint(format!(
            "`windlass runs resume{}{} {id} --limit {limit}={number}` continues it without repeating work",
            words.log, words.with
        )),
        None => failure.maybe_hint(session(run, words)),
    }
}

/// Whether a run has an output, or ends with a text of its model: not with a sentence that stands in for one.
fn has_answer(run: &Run) -> bool {
    let text_of = |message: &Message| {
        if let Message::Assistant(reply) = message { reply.text_without_calls() } else { None }
    };
    run.output().is_some()
        || run
            .text()
            .is_some_and(|text| run.messages().any(|message| text_of(message).as_deref() == Some(text)))
}

/// A number to raise a limit to: twice as much, or enough for what the next model call may need.
fn higher(reached: &LimitReached) -> Option<String> {
    let LimitReached { limit, max, reached, needed, .. } = reached;
    if !LimitKind::SETTABLE.contains(limit) {
        return None;
    }
    let enough = max.max(reached).saturating_mul(2).max(reached.saturating_add(*needed));
    Some(limit.show(if enough == 0 { limit.keep(10.0).unwrap_or(10) } else { enough }))
}

/// The command that continues the conversation.
fn session(run: &Run, words: &Words) -> Option<String> {
    Some(in_session(&words.again(), run.state().session()?))
}

/// The hint with the command that continues a conversation; `again` runs its agent.
pub(crate) fn in_session(again: &str, session: &SessionId) -> String {
    format!("`{again} --session {} 'go on'` continues the conversation", quoted(session.as_str()))
}

fn suspended(run: &Run, words: &Words, exit: Exit) -> Failure {
    let id = run.id();
    if let Some(QuotaWait { model, until }) = run.state().quota_wait() {
        let (log, with, model) = (&words.log, &words.with, name(&model));
        let message =
            format!("run {id} is suspended: it waits for the quota of model {model} until {}", time(until));
        return Failure::note(exit, message)
            .hint(format!("`windlass runs resume{log}{with} {id}` tries at once"))
            .hint(format!("`windlass runs resume{log} --all --wait` goes on with it then"))
            .hint(format!("`windlass runs cancel{log} {id}` ends it"));
    }
    let mut failure = Failure::note(exit, format!("run {id} is suspended: it waits for an answer"));
    for question in run.questions() {
        failure = failure.detail(asked::whole(run.state(), question));
        for command in answers::commands(id, &format!("{}{}", words.log, words.with), question) {
            failure = failure.hint(command);
        }
    }
    failure
}
