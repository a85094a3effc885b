//! Questions to people, and the rules that answers have made.

use std::sync::Arc;

use rpds::VectorSync;

use crate::protocol::fact::interrupts::RunPaused;
use crate::protocol::fact::turns::TurnStarted;
use crate::protocol::fact::{InputRequested, MessageQueued};
use crate::state::State;
use crate::state::rules::Rule;
use crate::vocabulary::ids::{CallId, QuestionId, RunId, Text};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::question::QuestionKind;

/// The questions of a run, and what answers have settled for the calls to come.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Questions {
    /// Open questions, in the order in which they were asked.
    open: Vec<OpenQuestion>,
    /// A pause that has taken effect.
    paused: Option<Paused>,
    /// Number of questions asked so far.
    asked: u32,
    /// The rules that answers have given for the rest of the session.
    rules: Vec<Rule>,
    /// Messages to the session that runs of their own answer after this one, in order.
    queued: VectorSync<Arc<MessageQueued>>,
}

impl Questions {
    /// Open questions, in the order in which they were asked.
    pub(crate) fn open(&self) -> &[OpenQuestion] {
        &self.open
    }

    /// A pause that has taken effect.
    pub(crate) fn paused(&self) -> Option<&Paused> {
        self.paused.as_ref()
    }

    /// Number of questions asked so far.
    pub(crate) fn asked(&self) -> u32 {
        self.asked
    }

    /// The rules that answers have given for the rest of the session.
    pub(crate) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Messages to the session that runs of their own answer after this one, in order.
    pub(crate) fn queued(&self) -> &VectorSync<Arc<MessageQueued>> {
        &self.queued
    }

    /// The question of a pause that was asked for and is not over.
    pub(crate) fn pause(&self) -> Option<&OpenQuestion> {
        self.open.iter().find(|open| open.is_pause())
    }

    /// Whether somebody is asked. A pause that has not taken effect asks nobody yet.
    pub(crate) fn are_put(&self) -> bool {
        self.open.iter().any(|open| self.paused.is_some() || !open.is_pause())
    }

    /// A question is put.
    pub(crate) fn put(&mut self, asked: &InputRequested, seq: u64) {
        self.asked += 1;
        self.open.push(OpenQuestion {
            seq,
            next: asked.next.clone(),
            id: asked.question.clone(),
            kind: asked.kind,
            call: asked.call.clone(),
            text: asked.text.clone(),
            suggestions: asked.suggestions.clone(),
        });
    }

    /// A question has its answer. The answer to a pause ends it.
    pub(crate) fn answered(&mut self, question: &QuestionId) {
        self.open.retain(|open| open.id != *question);
        if self.pause().is_none() {
            self.paused = None;
        }
    }

    /// The questions about a call are settled.
    pub(crate) fn settled(&mut self, call: &CallId) {
        self.open.retain(|open| open.call.as_ref() != Some(call));
    }

    /// A limit has cut the loop: a question about another one is moot. A limit on time waits for no pause.
    pub(crate) fn cut_by(&mut self, limit: LimitKind) {
        let late = matches!(limit, LimitKind::Seconds | LimitKind::StallSeconds);
        self.open.retain(|open| {
            let of_step = matches!(
                open.kind,
                QuestionKind::Limit(_) | QuestionKind::Plan | QuestionKind::Result | QuestionKind::Auth
            );
            !(of_step || late && open.kind == QuestionKind::Pause) || open.call.is_some()
        });
        self.paused = self.paused.take().filter(|_| !late);
    }

    /// A pause takes effect.
    pub(crate) fn pause_began(&mut self, paused: &RunPaused, seq: u64) {
        self.paused = Some(Paused { seq, next: paused.next.clone() });
    }

    /// A message to the session waits for a run of its own.
    pub(crate) fn queue(&mut self, message: &MessageQueued) {
        self.queued.push_back_mut(Arc::new(message.clone()));
    }

    /// The messages that wait in the session wait for the end of the run `own`, except the one that it answers.
    pub(crate) fn inherit_queue(&mut self, base: &Self, own: RunId) {
        self.queued = base.queued.iter().filter(|queued| queued.run != own).cloned().collect();
    }

    /// A tool is allowed for the rest of the session. Above so many rules the oldest one goes.
    pub(crate) fn allow(&mut self, rule: Rule, most: usize) {
        self.rules.retain(|other| *other != rule);
        self.rules.push(rule);
        if self.rules.len() > most {
            self.rules.remove(0);
        }
    }

    /// The rules of the session hold here, too.
    pub(crate) fn inherit_rules(&mut self, base: &Self) {
        self.rules.clone_from(&base.rules);
    }

    /// The ids of questions go on from those of the base.
    pub(crate) fn count_on_from(&mut self, base: &Self) {
        self.asked = base.asked;
    }

    /// Another agent goes on: what was asked and allowed counts no more.
    pub(crate) fn void(&mut self) {
        self.withdraw();
        self.rules.clear();
    }

    /// The same, whatever the numbers of the open questions' events.
    #[cfg(test)]
    pub(crate) fn renumbered(mut self, mut rename: impl FnMut(&mut u64)) -> Self {
        self.open.iter_mut().for_each(|open| rename(&mut open.seq));
        self
    }

    /// Nobody is asked any more.
    pub(crate) fn withdraw(&mut self) {
        self.open.clear();
        self.paused = None;
    }
}

/// A pause that has taken effect: nothing goes on any more.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Paused {
    /// The event that says so.
    seq: u64,
    /// The model call that begins once it is over; `None`: the loop's next turn.
    next: Option<TurnStarted>,
}

impl Paused {
    /// The event that says so.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// The model call that begins now that it is over.
    pub(crate) fn into_next(self) -> Option<TurnStarted> {
        self.next
    }
}

/// A question that waits for its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenQuestion {
    /// The event that asked it.
    seq: u64,
    /// The model call that begins once it is answered.
    next: Option<Box<TurnStarted>>,
    /// Its id.
    pub id: QuestionId,
    /// Kind of answer expected.
    pub kind: QuestionKind,
    /// The call that it is about.
    pub call: Option<CallId>,
    /// The question in words.
    pub text: Text,
    /// Answers to choose from.
    pub suggestions: Vec<Text>,
}

impl State {
    /// The agent below that asks a question, as this run calls it; `None`: the run itself asks.
    pub fn asked_by(&self, question: &OpenQuestion) -> Option<&Text> {
        let open = self.open_call(question.call.as_ref()?)?;
        open.asks().map(|_| open.target_name())
    }
}

impl OpenQuestion {
    /// The event that asked it.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// Takes out the model call that begins once it is answered.
    pub(crate) fn take_next(&mut self) -> Option<Box<TurnStarted>> {
        self.next.take()
    }

    /// Whether it is the question of the run's own pause, not of a task's.
    pub(crate) fn is_pause(&self) -> bool {
        self.kind == QuestionKind::Pause && self.call.is_none()
    }
}
