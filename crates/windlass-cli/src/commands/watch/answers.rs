//! Answers from the table: kept with their runs, which go on here where nobody else holds them.

use std::sync::Arc;

use tokio::task::JoinHandle;
use windlass_core::event::{AnswerSource, AnsweredBy, ResumedBy};
use windlass_core::run::OpenQuestion;
use windlass_core::{Answer, RunId, State};
use windlass_read::{load, question_digest};
use windlass_runtime::control::{self, asked_at, resumed_at};
use windlass_runtime::host::QuestionSeen;
use windlass_runtime::{DriveOptions, People as _, RunHandle};
use windlass_store::{Index as _, SqliteLog};

use super::LOOK;
use super::source::Source;
use crate::agents::{self, Again, Found, Wanted, changed};
use crate::asking::{Place, Roots, Terminal};
use crate::commands::runs::answer::giving::{Giving, Handed, NOT_POSTED, check_agent, described};
use crate::face::Face;
use crate::failure::Failure;
use crate::interrupts::Interrupts;
use crate::out;
use crate::remote::send_answer;

/// Puts questions, and keeps what is answered with their runs.
#[derive(Clone)]
pub(super) struct Answers {
    pub(super) source: Source,
    /// The log's arguments in commands that are suggested.
    pub(super) words: String,
}

/// A run that goes on here.
pub(super) struct Driven {
    handle: RunHandle,
    driving: JoinHandle<()>,
}

/// The outcome of putting the questions of a run.
pub(super) struct Asked {
    /// The run, if it goes on here now.
    pub(super) driven: Option<Driven>,
    /// Why not all is as it should be.
    pub(super) failures: Vec<Failure>,
}

/// A run that nobody holds, and the agent that goes on with it here.
struct Ready {
    root: RunId,
    found: Found,
    again: Again,
}

/// How far the answers of a run are.
#[derive(Default)]
struct Progress {
    ready: Option<Ready>,
    /// Whether an answer waits for a run that nobody drives.
    waits: bool,
}

/// The end of a question that was put.
enum End {
    Answered(Answer),
    Left,
    /// It needs no answer any more.
    Gone {
        words: String,
        /// Whether its answer waits for the run.
        waits: bool,
    },
}

impl Answers {
    /// Puts the questions of a run, one after another, until one is left; `of` names it. The run goes on with what was answered.
    pub(super) async fn ask(self, run: RunId, of: String, face: Face) -> Asked {
        let mut progress = Progress::default();
        let mut failures: Vec<Failure> =
            Box::pin(self.put(run, of, face, &mut progress)).await.err().into_iter().collect();
        let driven = if progress.waits { self.go_on(run, progress.ready).await } else { Ok(None) };
        let driven = driven.unwrap_or_else(|failure| {
            failures.push(failure);
            None
        });
        Asked { driven, failures }
    }

    async fn put(&self, run: RunId, of: String, face: Face, progress: &mut Progress) -> Result<(), Failure> {
        let store = self.source.store()?.ok_or_else(|| self.source.args.missing())?;
        let state = load(&*store, run).await?;
        let place = Place { log: store.clone(), roots: self.roots(&state).await, chat: false };
        let Some(terminal) = Terminal::among(place, Some(face), Some(of)) else { return Ok(()) };
        for question in state.questions() {
            // What a parent asks is listed there.
            if asked_at(&*store, run, question.id.clone()).await?.0 != run {
                continue;
            }
            match self.end_of(&terminal, &state, question).await? {
                End::Answered(answer) => {
                    let kept = format!("answer to {}: {}", question.id, answer.name());
                    Box::pin(self.give(run, question, answer, progress)).await?;
                    out::note(kept);
                }
                End::Left => break,
                End::Gone { words, waits } => {
                    progress.waits |= waits;
                    out::note(words);
                }
            }
        }
        Ok(())
    }

    /// The programs and folders of the run's agent, as far as they are known here.
    async fn roots(&self, state: &State) -> Roots {
        match self.source.log() {
            Ok(Some(log)) if self.source.server.is_none() => agents::roots_of_run(state, &log).await,
            _ => None,
        }
        .unwrap_or_default()
    }

    /// Puts a question, as long as it needs an answer.
    async fn end_of(
        &self,
        terminal: &Terminal,
        state: &State,
        question: &OpenQuestion,
    ) -> Result<End, Failure> {
        let mut version = state.version();
        if let Some(gone) = self.gone(state.run(), question, &mut version).await? {
            return Ok(gone);
        }
        let gone = async {
            loop {
                tokio::time::sleep(LOOK).await;
                // Where that cannot be read now, the question stands.
                if let Ok(Some(gone)) = self.gone(state.run(), question, &mut version).await {
                    break gone;
                }
            }
        };
        Ok(tokio::select! {
            biased;
            answer = terminal.ask_or_leave(state, question) => answer.map_or(End::Left, End::Answered),
            gone = gone => gone,
        })
    }

    /// Whether a question needs no answer any more, and why. The run is read again once it has another version.
    async fn gone(
        &self,
        run: RunId,
        question: &OpenQuestion,
        version: &mut u64,
    ) -> Result<Option<End>, Failure> {
        let Some(store) = self.source.store()? else { return Ok(None) };
        let id = &question.id;
        if store.summary(run).await?.version != *version {
            let state = load(&*store, run).await?;
            let digest = question_digest(question);
            if !state.questions().iter().any(|open| open.id == *id && question_digest(open) == digest) {
                let words = match control::given(&*store, run, id).await? {
                    Some(given) => format!("{id} was answered elsewhere: {}", described(&given)),
                    None => format!("{id} is not asked any more"),
                };
                return Ok(Some(End::Gone { words, waits: false }));
            }
            *version = state.version();
        }
        // A server's runs take their answers at once, and nobody else reads their inboxes.
        if self.source.server.is_some() {
            return Ok(None);
        }
        Ok(control::answer_waits(&*store, run, id).await?.map(|given| End::Gone {
            words: format!("{id} is answered, and its answer waits for the run: {}", described(&given)),
            waits: true,
        }))
    }

    /// Keeps an answer with its run, or says why not.
    async fn give(
        &self,
        run: RunId,
        question: &OpenQuestion,
        answer: Answer,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let seen = QuestionSeen { question: question.id.clone(), digest: Some(question_digest(question)) };
        if let Some(server) = &self.source.server {
            send_answer(server, run, seen.to_string(), answer).await?;
            return Ok(());
        }
        let log = self.log()?;
        let asking = load(&*log, run).await?;
        let by = AnsweredBy { from: AnswerSource::Command, name: None };
        let giving = Giving::of(&*log, &asking, seen, Ok(answer), by).await?;
        let (root, giving) = match giving.hand_over(&*log, false, &self.resume(run)).await? {
            Handed::Over(_) => return Ok(()),
            Handed::Free(root, giving) => (root, giving),
        };
        // What keeps us from going on is reported before the answer is given.
        if progress.ready.is_none() {
            let ready = self.ready(&log, root).await;
            progress.ready = Some(ready.map_err(|failure| failure.detail(NOT_POSTED))?);
        }
        giving.post(&*log).await?;
        progress.waits = true;
        Ok(())
    }

    /// The agent that goes on with a run, if it may.
    async fn ready(&self, log: &Arc<SqliteLog>, root: RunId) -> Result<Ready, Failure> {
        let state = load(&**log, root).await?;
        let again = Again::new(self.resume(root));
        let wanted = Wanted { with: None, agents: &[], replaces: false, again: again.clone() };
        let mut interrupts = Interrupts::listen()?;
        let found = agents::of_run(&state, &wanted, log, None, &mut interrupts).await?;
        check_agent(&found, state, &again).await?;
        Ok(Ready { root, found, again })
    }

    /// Goes on with a run that nobody holds.
    async fn go_on(&self, run: RunId, ready: Option<Ready>) -> Result<Option<Driven>, Failure> {
        let log = self.log()?;
        let root = resumed_at(&*log, run).await?;
        if log.summary(root).await?.holder.is_some() {
            return Ok(None);
        }
        let Ready { root, found, again } = match ready {
            Some(ready) => ready,
            None => self.ready(&log, root).await?,
        };
        let options = DriveOptions { resumed_by: ResumedBy::Person, ..DriveOptions::default() };
        let prepared = found.resume(root).options(options).prepare().await;
        let prepared = prepared.map_err(|error| changed(error, &found.path, &again))?;
        let live = agents::host(&log).drive(&found.agent, prepared);
        let handle = live.handle().clone();
        let driving = tokio::spawn(async move {
            // Its tool servers live as long as it does.
            let _found = found;
            if let Err(error) = live.end().await {
                Failure::from(error).show();
            }
        });
        Ok(Some(Driven { handle, driving }))
    }

    fn log(&self) -> Result<Arc<SqliteLog>, Failure> {
        self.source.log()?.ok_or_else(|| self.source.args.missing())
    }

    /// The command that goes on with a run.
    pub(super) fn resume(&self, run: RunId) -> String {
        format!("windlass runs resume{} {run}", self.words)
    }

    /// Leaves the runs that go on here: they can be resumed.
    pub(super) async fn leave(&self, driven: Vec<Driven>) {
        for Driven { handle, driving } in driven {
            if !driving.is_finished() {
                handle.detach();
                out::note(format_args!("`{}` goes on with its run", self.resume(handle.id())));
            }
            let _ended = driving.await;
        }
    }
}

impl Driven {
    pub(super) fn has_ended(&self) -> bool {
        self.driving.is_finished()
    }
}
