//! The life of a run, over as many processes as it takes.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_core::event::QuestionKind;
use windlass_core::run::OpenQuestion;
use windlass_testing::{Moment, ProcessEnd, run_and_kill};

use crate::error::HarnessError;
use crate::ground::Ground;
use crate::home::{Home, Step};
use crate::look::Look;
use crate::scene::Scene;
use crate::sound;

/// Maximum number of processes of a run. A run killed at random this often makes no progress.
const MOST_PROCESSES: u32 = 400;
/// Timeout of one process: far more than it needs.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// The exit codes of a run that ended well or is suspended.
const WELL: [i32; 2] = [0, 75];

/// End of a run: every interrupted run of the same scene must end the same way.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Its status.
    pub status: String,
    /// Its text.
    pub text: Option<String>,
    /// Its whole conversation.
    pub conversation: Value,
    /// Number of runs, its family included.
    pub runs: usize,
}

impl Ending {
    pub(crate) fn of(look: &Look) -> Option<Self> {
        let end = look.state.ended()?;
        let messages: Vec<_> = look.state.history().iter().collect();
        Some(Self {
            status: end.status.name().to_owned(),
            text: end.text.as_deref().map(str::to_owned),
            conversation: json!(messages),
            runs: look.all().count(),
        })
    }
}

/// The events on the way.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// Number of processes.
    pub processes: u32,
    /// Number of processes killed.
    pub kills: u32,
    /// The kinds of questions that a person was asked.
    pub asked: BTreeSet<&'static str>,
    /// The kind of the last durable event at each kill, and how often it was that.
    pub killed_after: BTreeMap<&'static str, u64>,
    /// Last output of failed processes that were not killed: exit code and first line.
    pub failures: BTreeSet<(i32, String)>,
}

/// Result of one process.
#[derive(Debug)]
pub struct Lived {
    /// How it ended.
    pub end: ProcessEnd,
    /// Whether it may have ended with an error: something was made to fail for it.
    pub troubled: bool,
    /// Whether it was to leave the run as it was, so that its end says nothing about the run.
    pub leaves: bool,
}

impl Lived {
    /// The end of a process that nothing was made to fail for.
    pub fn ended(end: ProcessEnd) -> Self {
        Self { end, troubled: false, leaves: false }
    }
}

/// Lets a process live: it is given its home and its step, and says how it ended.
pub type Fate<'f> = dyn FnMut(&Home, &Step) -> io::Result<Lived> + 'f;

/// Lets a process live to its end.
///
/// # Errors
/// It cannot be started.
pub fn undisturbed(home: &Home, step: &Step) -> io::Result<Lived> {
    let end = run_and_kill(&mut home.command(step, &[]), Moment::Never, PATIENCE)?;
    Ok(Lived::ended(end))
}

/// Kills the process while a call of `pay` is on its way that has had no effect: always at the same place of the run.
pub(crate) fn killed_half_way(home: &Home, step: &Step) -> io::Result<Lived> {
    let [hold, begun, killed] = ["hold", "begun", "killed"].map(|name| home.folder().join(name));
    std::fs::write(&hold, "")?;
    let end = run_and_kill(&mut home.command(step, &[]), Moment::When(&mut || begun.exists()), PATIENCE)?;
    std::fs::write(&killed, "")?;
    home.settle().map_err(io::Error::other)?;
    for file in [hold, begun, killed] {
        std::fs::remove_file(file)?;
    }
    Ok(Lived::ended(end))
}

/// End of an undisturbed scene.
///
/// # Errors
/// It does not end well.
pub fn reference(ground: &Ground, scene: Scene) -> Result<Ending, HarnessError> {
    let home = Home::new(ground, scene, &format!("reference-{}", scene.name()))?;
    let (_, ending) = Life::of(&home).play(&mut undisturbed)?;
    home.remove()?;
    Ok(ending)
}

/// A run whose processes come and go, checked after each.
#[derive(Debug)]
pub struct Life<'h> {
    home: &'h Home,
    story: Story,
    before: Option<Look>,
    finished: BTreeMap<(String, u32), usize>,
}

impl<'h> Life<'h> {
    /// The life of a home's run.
    pub fn of(home: &'h Home) -> Self {
        Self { home, story: Story::default(), before: None, finished: BTreeMap::new() }
    }

    /// Plays it to its end and gives that.
    ///
    /// # Errors
    /// A promise was broken on the way.
    pub fn play(mut self, fate: &mut Fate<'_>) -> Result<(Story, Ending), HarnessError> {
        while self.story.processes < MOST_PROCESSES {
            if let Some(ending) = self.before.as_ref().and_then(Ending::of) {
                self.nothing_is_missing()?;
                return Ok((self.story, ending));
            }
            self.one(fate)?;
        }
        Err(self
            .home
            .broken("going on", format!("no end after {MOST_PROCESSES} processes: {:?}", self.story)))
    }

    /// As [`Life::play`]; the end must be that one.
    ///
    /// # Errors
    /// As there, or it is another end.
    pub fn play_to(self, expected: &Ending, fate: &mut Fate<'_>) -> Result<Story, HarnessError> {
        let home = self.home;
        let (story, ending) = self.play(fate)?;
        if ending == *expected {
            return Ok(story);
        }
        Err(home.broken("at the end", format!("expected {expected:?}\nfound {ending:?}")))
    }

    /// One process.
    fn one(&mut self, fate: &mut Fate<'_>) -> Result<(), HarnessError> {
        let step = self.step()?;
        let lived =
            fate(self.home, &step).map_err(HarnessError::system(format!("let `{}` live", step.name())))?;
        self.story.processes += 1;
        let after = self.home.look()?;
        self.judge(&lived, &step, after.as_ref())?;
        if let Some(before) = &self.before {
            let Some(after) = &after else {
                return Err(self.home.broken(step.name(), "the run is gone from the log".to_owned()));
            };
            sound::kept(before, after).map_err(|breach| self.home.broken(step.name(), breach))?;
        }
        let finished = sound::receipts(after.as_ref(), &self.home.receipts()?)
            .map_err(|breach| self.home.broken(step.name(), breach))?;
        sound::not_again(&self.finished, &finished)
            .map_err(|breach| self.home.broken(step.name(), breach))?;
        self.finished = finished;
        self.before = after;
        Ok(())
    }

    /// A process that nothing happened to ends well and says why it stops.
    fn judge(&mut self, lived: &Lived, step: &Step, after: Option<&Look>) -> Result<(), HarnessError> {
        let Lived { end, troubled, leaves } = lived;
        if end.killed {
            self.story.kills += 1;
            *self.story.killed_after.entry(after.map_or("nothing", Look::last)).or_insert(0) += 1;
            return Ok(());
        }
        let code = end.code.unwrap_or(-1);
        if *leaves && code == 0 {
            return Ok(());
        }
        let waits = after.is_some_and(|look| !look.state.questions().is_empty());
        if WELL.contains(&code) {
            let ended = after.is_some_and(|look| look.state.is_finished());
            if ended != (code == 0) || waits != (code == 75) {
                let breach = format!("exit code {code}, but ended: {ended}, waits: {waits}\n{}", end.stderr);
                return Err(self.home.broken(step.name(), breach));
            }
            return Ok(());
        }
        let error_line = end.stderr.lines().find(|line| line.starts_with("error:"));
        match error_line {
            Some(error_line) if *troubled => {
                self.story.failures.insert((code, error_line.to_owned()));
                Ok(())
            }
            _ => {
                Err(self.home.broken(step.name(), format!("exit code {code}\n{}{}", end.stdout, end.stderr)))
            }
        }
    }

    /// Next step for the run.
    fn step(&mut self) -> Result<Step, HarnessError> {
        let Some(look) = &self.before else { return Ok(Step::Run) };
        // An answer that waits in the inbox was given already.
        match look.state.questions().first().filter(|_| look.posts == 0) {
            None => Ok(Step::Resume(look.run.to_string())),
            Some(question) => {
                self.story.asked.insert(question.kind.name());
                let known: Vec<&Look> = look.all().collect();
                let words = answer(self.home, &known, look, question)?;
                Ok(Step::Answer(look.run.to_string(), question.id.to_string(), words))
            }
        }
    }

    fn nothing_is_missing(&self) -> Result<(), HarnessError> {
        let effects = self.home.effects()?;
        if effects == self.finished {
            return Ok(());
        }
        let breach = format!("the effects are {effects:?}, those of finished calls {:?}", self.finished);
        Err(self.home.broken("at the end", breach))
    }
}

/// A person who looks before they speak: the answer to a question of a run, which is one of the known ones.
pub(crate) fn answer(
    home: &Home,
    known: &[&Look],
    look: &Look,
    question: &OpenQuestion,
) -> Result<Vec<String>, HarnessError> {
    let call = question.call.as_ref().and_then(|call| look.state.open_call(call));
    // A question of another agent is put here as one about the task that it was handed.
    if let Some((run, asked)) = call.and_then(|call| call.asks()) {
        let child = known.iter().find(|look| look.run == run);
        let asked = child.and_then(|child| {
            let question = child.state.questions().iter().find(|open| open.id == *asked)?;
            Some((child, question))
        });
        return match asked {
            Some((child, question)) => answer(home, known, child, question),
            None => Err(home.broken("asked", format!("nobody asked this in run {run}: {question:?}"))),
        };
    }
    match (question.kind, call) {
        (QuestionKind::Approval, Some(_)) => Ok(vec!["approve".to_owned()]),
        (QuestionKind::Outcome, Some(call)) => {
            // The caller has made sure that no process of the call is alive.
            let (run, call) = (look.run.to_string(), call.call.id.as_str());
            let mut receipts = home.receipts()?.into_iter();
            let receipt = receipts.find(|receipt| receipt.run == run && receipt.call == call);
            Ok(match receipt {
                Some(receipt) => {
                    vec!["result".to_owned(), format!("{} {} done", receipt.tool, receipt.n)]
                }
                None => vec!["run_again".to_owned()],
            })
        }
        _ => Err(home.broken("asked", format!("nobody expected this question: {question:?}"))),
    }
}
