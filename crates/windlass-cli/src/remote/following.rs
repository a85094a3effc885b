//! Shows a run that a server drives, until it has ended or waits.

use std::sync::Arc;

use futures_util::FutureExt as _;
use windlass_api::{CancelRun, EndReason, Positioned};
use windlass_client::{ClientError, Follow, Following, batches};
use windlass_core::run::{LogLevel, LogLine};
use windlass_core::{ActionId, RunId, RunState, State};
use windlass_error::in_full;
use windlass_read::{load, load_until, question_digest};
use windlass_runtime::{People as _, Run, Update};

use super::Server;
use super::requests::send_answer;
use crate::asking::{Terminal, leave_prompt};
use crate::drive::Words;
use crate::failure::{Exit, Failure};
use crate::interrupts::{Interrupt, Interrupts};
use crate::out::{self, Stream};
use crate::view::{View, ViewArgs};
use crate::waiting::Withdrawn;

/// Says once for each outage that the server is away.
fn away(error: &ClientError) {
    out::note(format_args!("{}; waiting for it to be back", in_full(error)));
}

/// A run of a server in the foreground.
pub(super) struct Foreground<'f> {
    pub(super) server: &'f Server,
    pub(super) run: RunId,
    /// The number of the first event that is shown; `None`: all are.
    pub(super) from_event: Option<u64>,
    /// Whether the run waited, and goes on with what it was sent: until then it waits no more.
    pub(super) goes_on: bool,
    /// The person who is asked where the run waits for an answer.
    pub(super) terminal: Option<Arc<Terminal>>,
}

impl Foreground<'_> {
    /// Shows the run until it has ended or waits for something. Ctrl-C cancels it; another signal, or a second one, leaves it to the
    /// server.
    pub(super) async fn drive(
        self,
        view: &mut View,
        interrupts: &mut Interrupts,
        words: &Words,
    ) -> Result<Run, Failure> {
        let (server, run) = (self.server, self.run);
        view.says_end();
        let mut from = Follow { from_event: self.from_event, ..follow() };
        let mut goes_on = self.goes_on;
        loop {
            from.until_waiting = !goes_on;
            let rendered = self.render(from, view, interrupts, words).await?;
            from = Follow { from: rendered.position, from_event: self.from_event, ..follow() };
            goes_on = false;
            if rendered.end == Some(EndReason::Finished) {
                return Ok(Run::load(&*server.store, run).await?);
            }
            let state = load(&*server.store, run).await?;
            // It may have gone on since it waited.
            if rendered.end.is_none() || state.run_state() != RunState::Suspended {
                continue;
            }
            if !self.asked(&state, interrupts).await? {
                return Ok(Run::load(&*server.store, run).await?);
            }
            goes_on = true;
        }
    }

    /// Shows what comes, up to an end or a wait; of a run that goes on, up to its first events.
    async fn render(
        &self,
        from: Follow,
        view: &mut View,
        interrupts: &mut Interrupts,
        words: &Words,
    ) -> Result<Rendered, Failure> {
        let (client, run) = (&self.server.client, self.run);
        let goes_on = !from.until_waiting;
        let mut following = client.follow(run, from);
        let mut stopped = false;
        let _at_last = Withdrawn::default();
        loop {
            tokio::select! {
                biased;
                interrupt = interrupts.next() => match interrupt {
                    Interrupt::Cancel if !stopped => {
                        stopped = true;
                        out::hurry();
                        let cancel = CancelRun { reason: Some("Ctrl-C".to_owned()), wait_ms: Some(0), seen: None };
                        tokio::select! {
                            // A run that is over or being stopped needs no second word.
                            _cancelled = client.cancel(run, &cancel, None) => {}
                            again = interrupts.next() => return Err(left(run, words, again.exit())),
                        }
                    }
                    interrupt => return Err(left(run, words, interrupt.exit())),
                },
                next = view.waiting(following.next()) => match next? {
                    Some(next) => {
                        out::room(Stream::Out).await;
                        let moved = matches!(next.update, windlass_api::Update::Events { .. });
                        show(run, next, view)?;
                        if moved && goes_on {
                            return Ok(Rendered::of(&following));
                        }
                    }
                    None => return Ok(Rendered::of(&following)),
                }
            }
        }
    }

    /// Puts the open questions to the person at the terminal. `false`: there is nobody, or a question was left.
    async fn asked(&self, state: &State, interrupts: &mut Interrupts) -> Result<bool, Failure> {
        let Some(terminal) = &self.terminal else { return Ok(false) };
        let mut answered = false;
        for question in state.questions() {
            let mut ask = terminal.ask_or_leave(state, question);
            let answer = loop {
                tokio::select! {
                    answer = &mut ask => break answer,
                    interrupt = interrupts.next() => {
                        // Ctrl-C at a question leaves it open.
                        if !(interrupt == Interrupt::Cancel && leave_prompt()) {
                            interrupts.put_back(interrupt);
                            break None;
                        }
                    }
                }
            };
            drop(ask);
            let Some(answer) = answer else { return Ok(false) };
            let seen = format!("{}@{}", question.id, question_digest(question));
            match send_answer(self.server, self.run, seen, answer).await {
                // Somebody else was faster, or the question has changed: the run goes on, or asks anew.
                Err(ClientError::Refused(refusal)) => out::note(refusal),
                sent => drop(sent?),
            }
            answered = true;
        }
        Ok(answered)
    }
}

/// How a stream has ended.
struct Rendered {
    /// `None`: it has not.
    end: Option<EndReason>,
    position: Option<String>,
}

impl Rendered {
    fn of(following: &Following) -> Self {
        Self { end: following.end(), position: following.position().map(str::to_owned) }
    }
}

fn follow() -> Follow {
    Follow { until_waiting: true, causes: true, on_cut: Some(away), ..Follow::default() }
}

/// The run goes on without this process.
pub(super) fn left(run: RunId, words: &Words, exit: Exit) -> Failure {
    let log = &words.log;
    Failure::note(exit, format!("run {run} goes on at the server"))
        .hint(format!("`windlass runs watch{log} {run}` shows it"))
        .hint(format!("`windlass runs cancel{log} {run}` ends it"))
}

/// Shows an update as one of a run that is driven here.
fn show(run: RunId, next: Positioned, view: &mut View) -> Result<(), Failure> {
    use windlass_api::Update as Sent;
    let of = |seq: u64| ActionId { run, seq };
    let update = match next.update {
        Sent::Events { events } => {
            for batch in batches(run, events)? {
                view.update(&Update::Events(batch));
            }
            return Ok(());
        }
        Sent::Refused { code, message } => {
            view.refused(&code, &message);
            return Ok(());
        }
        Sent::Text { action, text } => Update::Text { action: of(action), text: text.into() },
        Sent::Reasoning { action, text } => Update::Reasoning { action: of(action), text: text.into() },
        Sent::Call { action, index, name, args } => {
            Update::Call { action: of(action), index, name: name.map(Into::into), args: args.into() }
        }
        Sent::Partial { action, output } => Update::Partial { action: of(action), output: Arc::new(output) },
        Sent::Void { action } => Update::Void { action: of(action) },
        Sent::Log { warning, text } => {
            let level = if warning { LogLevel::Warning } else { LogLevel::Info };
            Update::Log(LogLine { level, text })
        }
    };
    view.update(&update);
    Ok(())
}

/// Shows a run, and goes on until it ends, whoever drives it.
pub(crate) async fn watch(server: &Server, run: RunId, from: u64, args: ViewArgs) -> Result<Exit, Failure> {
    let mut view = View::new(args).logged(&server.words);
    let store = &*server.store;
    let summary = server.client.summary(run).await?;
    view.watch(&load_until(store, run, (from - 1).max(1)).await?, summary.started_at);
    let follow = Follow { from_event: Some(from), until_waiting: false, ..follow() };
    let mut following = server.client.follow(run, follow);
    let _at_last = Withdrawn::default();
    while let Some(next) = view.waiting(following.next().boxed_local()).await? {
        // As JSON a watcher sees what the log has, on a server and on a log alike.
        if args.json && !matches!(next.update, windlass_api::Update::Events { .. }) {
            continue;
        }
        out::room(Stream::Out).await;
        show(run, next, &mut view)?;
        if view.is_broken() {
            break;
        }
    }
    view.close()?;
    Ok(Exit::Good)
}
