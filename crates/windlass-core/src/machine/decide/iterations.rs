//! Iterations: inner loops up to an answer, and whether another one follows.

use crate::machine::decision::Decision;
use crate::machine::purposes::judge::verdict;
use crate::policy::iterations::Another;
use crate::policy::stuck::Stuck;
use crate::policy::texts::filled;
use crate::policy::views::View;
use crate::protocol::fact::iterations::{BlackboardRestored, IterationStarted, Judged};
use crate::protocol::fact::turns::{TurnFailed, TurnStarted};
use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::state::open_call::OpenCall;
use crate::vocabulary::ids::Text;
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::message::Message;
use crate::vocabulary::outcome::{FailKind, Status};
use crate::vocabulary::purpose::{Purpose, ToolChoice};
use crate::vocabulary::reply::{ModelFailure, Reply};

impl Decision {
    /// The start was recorded: the first iteration begins, or the one goes on that a limit cut.
    pub(crate) fn begin_loop(&mut self) {
        if self.state.has_draft() {
            self.drafted();
        } else if self.state.ledger.counters().iterations > 0 {
            self.next_turn();
        } else {
            self.next_iteration(None);
        }
    }

    /// Begins an iteration if the limit allows one more.
    fn next_iteration(&mut self, note: Option<Text>) {
        if !self.iterations_left() {
            return self.reach(LimitKind::Iterations, self.reached(LimitKind::Iterations), 0);
        }
        if self.state.iterates() {
            let iteration = self.reached(LimitKind::Iterations) + 1;
            self.record(IterationStarted { iteration, note });
        }
        self.next_turn();
    }

    fn iterations_left(&self) -> bool {
        let max = self.state.setup.policy().limit(LimitKind::Iterations);
        max.is_none_or(|max| self.reached(LimitKind::Iterations) < max)
    }

    /// An inner loop came to an answer: it is the run's, or another iteration follows.
    pub(crate) fn drafted(&mut self) {
        if !self.state.conversation.steering().is_empty() {
            // A steering message arrived while the model answered: it enters before the run ends (E21).
            return self.next_turn();
        }
        match self.state.setup.policy().replies.another {
            Another::Always if self.iterations_left() => {
                let note = self.state.setup.policy().wording.texts.another.clone();
                self.next_iteration(Some(note));
            }
            // All passes are used up, which is no limit that cut anything.
            Another::Never | Another::Always => self.take_draft(),
            Another::Judge if self.iterations_left() => self.judge(),
            Another::Judge => self.reach(LimitKind::Iterations, self.reached(LimitKind::Iterations), 0),
        }
    }

    /// The limit on iterations was raised: a draft that was not judged is judged now.
    pub(crate) fn go_on_raised(&mut self, limit: LimitKind) {
        if limit != LimitKind::Iterations {
            self.next_turn();
        } else if self.state.has_draft() {
            self.drafted();
        } else {
            self.next_iteration(None);
        }
    }

    fn judge(&mut self) {
        let turn = self.state.turn.number() + 1;
        self.begin(TurnStarted::first(turn, Purpose::Judge, ToolChoice::None));
    }

    pub(crate) fn judge_replied(&mut self, model_call: &ModelCall, reply: Reply) {
        let judged = reply.text.as_deref().and_then(verdict);
        self.record_read(model_call, reply);
        if self.state.stopping() {
            return self.after_stop();
        }
        match judged {
            Some(judged) => {
                self.record(judged.clone());
                self.judged(judged);
            }
            // A person has said something: the model hears it, and answers anew.
            None if !self.state.conversation.steering().is_empty() => self.next_turn(),
            None if self.state.progress.unread() > self.state.setup.policy().replies.parse_retries => {
                let error = format!(
                    "the judge's reply is not the JSON object that was asked for, after {} retries",
                    self.state.setup.policy().replies.parse_retries
                );
                self.end(Status::Failed(FailKind::Parse), self.state.draft(), Some(error.into()));
            }
            None => self.judge(),
        }
    }

    fn judged(&mut self, Judged { satisfied, missing }: Judged) {
        if !satisfied {
            let texts = &self.state.setup.policy().wording.texts;
            let note = if missing.is_empty() { texts.another.clone() } else { missing };
            self.next_iteration(Some(note));
        } else if self.state.conversation.steering().is_empty() {
            self.take_draft();
        } else {
            self.next_turn();
        }
    }

    /// The answer is the draft, for a judge could not be asked.
    pub(crate) fn judge_failed(&mut self, model_call: &ModelCall, failure: ModelFailure) {
        let error = self.words_of(model_call, &failure).into();
        self.record(TurnFailed::last(model_call, failure));
        self.end(Status::Failed(FailKind::Model), self.state.draft(), Some(error));
    }

    /// The last draft is the run's answer.
    fn take_draft(&mut self) {
        let text = self.state.draft().unwrap_or_else(|| "".into());
        if !self.takes_text_output() {
            return self.end(Status::Answered, Some(text), None);
        }
        match self.read_output(Some(&*text)) {
            Ok(output) => self.end_with(Status::Answered, Some(text), Some(output), None),
            // The agent's own check sees an output once it would end the run.
            Err(message) => {
                if self.reject(None, &message) {
                    self.next_turn();
                }
            }
        }
    }
}

impl Decision {
    /// Whether the blackboard is saved before a call of another tool than the last one: the state to go back to if the run gets stuck
    /// with it.
    pub(crate) fn saves_blackboard(&self, open: &OpenCall) -> bool {
        let (policy, progress) = (self.state.setup.policy(), &self.state.progress);
        let another = progress.consecutive_tool().is_none_or(|(last, _)| *last != open.call.name);
        let kept = policy.request.view == View::Blackboard && policy.calls.stuck != Stuck::Off;
        kept && another && progress.blackboard().has_changed()
    }

    /// One tool was called so many times in a row: the model is told.
    pub(crate) fn notice_stuck(&mut self) {
        let Stuck::After(most) = self.state.setup.policy().calls.stuck else { return };
        let Some((tool, times)) =
            self.state.progress.consecutive_tool().cloned().filter(|(_, times)| *times >= most)
        else {
            return;
        };
        let values = [("tool", &*tool), ("n", &*times.to_string())];
        let note = filled(&self.state.setup.policy().wording.texts.stuck, &values).into();
        self.record(BlackboardRestored { tool, times, note });
    }
}

impl State {
    /// Whether its iterations are counted: they are limited, or an answer need not be the last one.
    pub fn iterates(&self) -> bool {
        let policy = self.setup.policy();
        policy.limit(LimitKind::Iterations).is_some() || policy.replies.another != Another::Never
    }

    /// The text of the last reply, which came to an answer: as the model wrote it, calls that could not be read included.
    fn draft(&self) -> Option<Text> {
        match &**self.conversation.history().last_non_tool()? {
            Message::Assistant(reply) => reply.text.clone(),
            Message::System { .. }
            | Message::User { .. }
            | Message::TaskDelegation { .. }
            | Message::Tool(_) => None,
        }
    }

    /// Whether an answer waits that was not judged, because the iterations were used up.
    pub(crate) fn has_draft(&self) -> bool {
        let cut = self.cut_by().is_none_or(|cut| cut.limit == LimitKind::Iterations);
        let replied = |message: &std::sync::Arc<Message>| matches!(&**message, Message::Assistant(reply) if reply.calls.is_empty());
        cut && self.ledger.counters().iterations > 0
            && self.conversation.history().last().is_some_and(replied)
    }
}
