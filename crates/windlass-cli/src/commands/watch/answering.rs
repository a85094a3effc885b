//! Answers from the table: kept with their runs, which go on here where nobody else holds them.

use std::sync::Arc;

use tokio::task::JoinHandle;
use windlass_core::event::{AnswerSource, AnsweredBy, ResumedBy};
use windlass_core::{Answer, InputKind, QuestionId, RunId};
use windlass_read::{load, question_digest};
use windlass_runtime::control::{self, resumed_at};
use windlass_runtime::{DriveOptions, People as _, RunHandle};
use windlass_store::{Index as _, SqliteLog, Store};

use crate::agents::{self, Again, Wanted, changed, now};
use crate::asking::{Place, Roots, Terminal, leave_prompt};
use crate::face::Face;
use crate::failure::Failure;
use crate::home::LogArgs;
use crate::interrupts::{Interrupt, Interrupts};
use crate::out;
use crate::remote::{Reach, Server, send_answer};

/// Where the runs are, and how their questions are answered.
pub(super) struct Answering {
    place: Where,
    /// The log's arguments in commands that are suggested.
    words: String,
    /// Runs that go on here.
    driven: Vec<(RunHandle, JoinHandle<()>)>,
}

enum Where {
    Log(Arc<SqliteLog>),
    Server(Server),
}

impl Answering {
    /// `None`: the log has not been made yet.
    pub(super) fn of(reach: Reach, args: &LogArgs) -> Option<Self> {
        let place = match reach {
            Reach::Log(log) => Where::Log(log?),
            Reach::Server(server) => Where::Server(server),
        };
        Some(Self { place, words: args.words(), driven: Vec::new() })
    }

    pub(super) fn store(&self) -> Arc<dyn Store> {
        match &self.place {
            Where::Log(log) => log.clone(),
            Where::Server(server) => server.store.clone(),
        }
    }

    /// Puts the questions of a run, one after another, until one is left.
    pub(super) async fn ask(
        &mut self,
        run: RunId,
        face: &Face,
        interrupts: &mut Interrupts,
    ) -> Result<(), Failure> {
        let store = self.store();
        let state = load(&*store, run).await?;
        let place = Place { log: store.clone(), roots: Roots::default(), chat: false };
        let Some(terminal) = Terminal::within(place, Some(face.clone())) else { return Ok(()) };
        for question in state.questions() {
            let mut asked = Box::pin(terminal.ask_or_leave(&state, question));
            let answer = loop {
                tokio::select! {
                    answer = &mut asked => break answer,
                    interrupt = interrupts.next() => {
                        // Ctrl-C at a question leaves it open.
                        if !(interrupt == Interrupt::Cancel && leave_prompt()) {
                            return Err(interrupt.failure());
                        }
                    }
                }
            };
            drop(asked);
            let Some(answer) = answer else { return Ok(()) };
            let kept = format!("answer to {}: {}", question.id, answer.name());
            match &self.place {
                Where::Server(server) => {
                    let seen = format!("{}@{}", question.id, question_digest(question));
                    send_answer(server, run, seen, answer).await?;
                }
                Where::Log(log) => {
                    let log = log.clone();
                    self.answer(&log, run, question.id.clone(), answer).await?;
                }
            }
            out::note(kept);
        }
        if let Where::Log(log) = &self.place {
            let log = log.clone();
            self.go_on(&log, run, interrupts).await?;
        }
        Ok(())
    }

    /// Keeps an answer with its run.
    async fn answer(
        &self,
        log: &Arc<SqliteLog>,
        run: RunId,
        question: QuestionId,
        answer: Answer,
    ) -> Result<(), Failure> {
        let state = load(&**log, run).await?;
        let by = Some(AnsweredBy { from: AnswerSource::Command, name: None });
        let what = InputKind::Answered { question, answer, by };
        control::check(&state, now(), what).await?.deliver(&**log).await?;
        Ok(())
    }

    /// Goes on with a run that nobody holds.
    async fn go_on(
        &mut self,
        log: &Arc<SqliteLog>,
        run: RunId,
        interrupts: &mut Interrupts,
    ) -> Result<(), Failure> {
        let root = resumed_at(&**log, run).await?;
        if log.summary(root).await?.holder.is_some() {
            return Ok(());
        }
        let state = load(&**log, root).await?;
        let again = Again::new(format!("windlass runs resume{} {root}", self.words));
        let wanted = Wanted { with: None, agents: &[], replaces: false, again };
        let found = agents::of_run(&state, &wanted, log, None, interrupts).await?;
        let options = DriveOptions { resumed_by: ResumedBy::Person, ..DriveOptions::default() };
        let prepared = found.resume(root).options(options).prepare().await;
        let prepared = prepared.map_err(|error| changed(error, &found.path, &wanted.again))?;
        let live = agents::host(log).drive(&found.agent, prepared);
        let handle = live.handle().clone();
        let driving = tokio::spawn(async move {
            // Its tool servers live as long as it does.
            let _found = found;
            if let Err(error) = live.end().await {
                Failure::from(error).show();
            }
        });
        self.driven.push((handle, driving));
        Ok(())
    }

    /// Leaves the runs that go on here: they can be resumed.
    pub(super) async fn leave(&mut self) {
        for (handle, driving) in std::mem::take(&mut self.driven) {
            if !driving.is_finished() {
                handle.detach();
                let run = handle.id();
                out::note(format_args!("`windlass runs resume{} {run}` goes on with its run", self.words));
            }
            let _ended = driving.await;
        }
    }
}
