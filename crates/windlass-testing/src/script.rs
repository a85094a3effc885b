//! What a scripted conversation remembers while it runs: how far each script has come, and what was seen.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use serde_json::Value;
use windlass_core::{CallId, CallOutcome, Effect, Event, Fact, Millis, QuestionId, What};
use windlass_runtime::{RunHandle, World};
use windlass_store::EventLog;

use crate::crash::CrashLog;
use crate::fixture::{Cancel, Case, During, HumanAnswer, ModelEntry, SentRequest, Steer};
use crate::schedule::Turns;
use crate::sim::SimWorld;

/// The shared memory of a pass over a case: it survives simulated crashes.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    inner: Arc<Mutex<Inner>>,
    /// Who of those that are ready goes first.
    pub(crate) turns: Turns,
}

/// The durable inbox, for people who are not in the process.
#[derive(Clone, Debug)]
pub(crate) struct PostOffice {
    pub(crate) log: Arc<CrashLog>,
    pub(crate) world: SimWorld,
}

/// Work that takes scripted time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timed {
    /// The model's entry at that place.
    Model(usize),
    /// The tool's execution at that place.
    Tool(String, usize),
    /// The person's answer at that place.
    Person(usize),
}

/// A call that a scripted tool really worked on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Execution {
    pub(crate) call: CallId,
    pub(crate) args: Value,
    /// Whether it was lost in a crash: what repeats it takes its place.
    pub(crate) lost: bool,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) model: Vec<ModelEntry>,
    pub(crate) next_entry: usize,
    pub(crate) requests: Vec<SentRequest>,
    /// A request that a crash lost: if it is sent again, it counts once.
    pub(crate) lost_request: bool,
    pub(crate) human: Vec<(HumanAnswer, bool)>,
    pub(crate) steer: Vec<Steer>,
    pub(crate) cancel: Option<Cancel>,
    /// The cancel that was given.
    cancelled: Option<Cancel>,
    pub(crate) tool_calls: u32,
    pub(crate) executed: BTreeMap<String, Vec<Execution>>,
    /// Results of calls that really came to their end: what a person could find out after a crash.
    pub(crate) happened: BTreeMap<CallId, String>,
    /// When work that takes time first began: repeated after a restart, it ends when it would have ended.
    pub(crate) begun: BTreeMap<Timed, Millis>,
    /// Set while everything is dropped: what is in flight then did not happen.
    pub(crate) crashing: bool,
    /// Whether this pass crashes where the script does not: then nobody scripted can know what happened.
    pub(crate) oracle: bool,
    pub(crate) by_oracle: Vec<QuestionId>,
    pub(crate) wrong_given: Vec<QuestionId>,
    /// The first thing that cannot be as the script wants it.
    pub(crate) problem: Option<String>,
    pub(crate) handle: Option<RunHandle>,
    /// What was said to the current run from outside, in order.
    pub(crate) said: Vec<What>,
    /// The person's answer that a question was given last, in process.
    pub(crate) answered: BTreeMap<QuestionId, usize>,
    /// Where people leave what they say, if they are not in the process.
    pub(crate) post: Option<PostOffice>,
    /// Tools of which each run has an effect of its own.
    once: Vec<String>,
}

impl Script {
    pub(crate) fn of(case: &Case, turns: Turns) -> Self {
        let inner = Inner {
            model: case.model.clone(),
            next_entry: 0,
            requests: Vec::new(),
            lost_request: false,
            human: case.human.iter().map(|answer| (answer.clone(), false)).collect(),
            steer: case.steer.clone(),
            cancel: case.cancel,
            cancelled: None,
            tool_calls: 0,
            executed: BTreeMap::new(),
            happened: BTreeMap::new(),
            begun: BTreeMap::new(),
            crashing: false,
            oracle: false,
            by_oracle: Vec::new(),
            wrong_given: Vec::new(),
            problem: None,
            handle: None,
            said: Vec::new(),
            answered: BTreeMap::new(),
            post: None,
            once: case
                .tools
                .iter()
                .filter(|tool| tool.effect == Effect::Once)
                .map(|tool| tool.name.clone())
                .collect(),
        };
        Self { inner: Arc::new(Mutex::new(inner)), turns }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn problem(&self, text: String) {
        self.lock().problem.get_or_insert(text);
    }
}

impl Inner {
    /// Steers or cancels the run. Who does that and hears of no success does it again after a restart.
    fn say(&mut self, what: What) {
        self.said.push(what.clone());
        self.send(what);
    }

    /// Says again what the log does not have. What was left in the durable inbox is not lost.
    pub(crate) fn say_again(&self, logged: impl Fn(&What) -> usize) {
        if self.post.is_some() {
            return;
        }
        for (place, what) in self.said.iter().enumerate() {
            let kind = std::mem::discriminant(what);
            let before =
                self.said.iter().take(place).filter(|other| std::mem::discriminant(*other) == kind).count();
            if before >= logged(what) {
                self.send(what.clone());
            }
        }
    }

    /// Sends something to the run as from outside.
    pub(crate) fn send(&self, what: What) {
        match (&self.handle, &self.post) {
            (Some(handle), Some(office)) => {
                // The log is in memory: a post is done at once. One that comes too late is nobody's loss.
                let post = office.log.post(handle.id(), office.world.now(), what);
                let _late = post.now_or_never();
            }
            (Some(handle), None) => handle.send_now(what),
            (None, _) => {}
        }
    }

    /// Sends something that must be refused. It never goes by post: there it would lie until it fits after all.
    pub(crate) fn send_wrong(&self, what: What) {
        if let Some(handle) = &self.handle {
            handle.send_now(what);
        }
    }

    /// An append was not written: what it would have recorded has to come again.
    pub(crate) fn lost(&mut self, events: &[Event]) {
        match events.first().map(|event| &event.fact) {
            Some(Fact::TurnCompleted(_) | Fact::TurnFailed(_)) => self.lost_request = true,
            Some(Fact::CallRetried(retried)) => self.lost_call(&retried.call, &retried.outcome),
            Some(Fact::CallFinished(finished)) => self.lost_call(&finished.call, &finished.outcome),
            Some(Fact::CancelRequested(_)) if self.post.is_none() => {
                // Whoever cancels sees that nothing comes of it, and does it again when the work is repeated.
                self.cancel = self.cancelled.take();
                self.said.retain(|what| !matches!(what, What::Cancel { .. }));
            }
            Some(Fact::InputReceived(received)) => {
                let place = self.answered.get(&received.question).copied();
                if let Some(entry) = place.and_then(|place| self.human.get_mut(place)) {
                    entry.1 = false;
                }
            }
            _ => {}
        }
    }

    /// A call came to its end, and nobody knows. A tool that may run again does the same thing then; an effect of its
    /// own has happened, and whoever looks finds it.
    fn lost_call(&mut self, call: &CallId, outcome: &CallOutcome) {
        for (tool, executed) in &mut self.executed {
            if self.once.contains(tool) && outcome.is_ok() {
                continue;
            }
            let last = executed.iter_mut().rev().find(|execution| execution.call == *call);
            if let Some(execution) = last
                && !std::mem::replace(&mut execution.lost, true)
            {
                self.tool_calls = self.tool_calls.saturating_sub(1);
            }
        }
    }

    /// Notes that a tool works on a call. Says at which place; what a crash lost is given again.
    pub(crate) fn execute(&mut self, tool: &str, call: &CallId, args: Value) -> usize {
        let executed = self.executed.entry(tool.to_owned()).or_default();
        let fresh = Execution { call: call.clone(), args, lost: false };
        if let Some(place) = executed.iter().position(|earlier| earlier.lost && earlier.call == *call) {
            executed.splice(place..=place, [fresh]);
            return place;
        }
        executed.push(fresh);
        executed.len() - 1
    }

    /// When work ends that takes so long.
    pub(crate) fn due(&mut self, work: Timed, now: Millis, takes_ms: u64) -> Millis {
        self.begun.entry(work).or_insert(now).saturating_add(takes_ms)
    }

    /// Whether the run is to be cancelled during this call; asked once for each call.
    pub(crate) fn cancels(&mut self, during: During, call: u32) -> bool {
        let hit = self.cancel.is_some_and(|cancel| cancel.during == during && cancel.call == call);
        if hit {
            self.cancelled = self.cancel.take();
            self.say(What::Cancel { reason: None });
        }
        hit
    }

    /// Cancels the run, once.
    pub(crate) fn cancel_now(&mut self) {
        if !self.said.iter().any(|what| matches!(what, What::Cancel { .. })) {
            self.say(What::Cancel { reason: None });
        }
    }

    /// Says what is to be said before the model call after this one.
    pub(crate) fn steers(&mut self, call: u32) -> bool {
        let (now, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.steer)
            .into_iter()
            .partition(|steer| steer.before_model_call == call + 1);
        self.steer = later;
        for steer in &now {
            self.say(What::Steer { text: steer.text.as_str().into() });
        }
        !now.is_empty()
    }
}
