//! Remedies: a model call has failed for good with every model that it may ask, and time or a person may help.

use crate::machine::decide::admission::Retry;
use crate::machine::decision::Decision;
use crate::protocol::fact::run::ResumedBy;
use crate::protocol::fact::turns::{TurnFailed, TurnStarted};
use crate::protocol::fact::{Adjusted, InputRequested};
use crate::state::Phase;
use crate::state::model_calls::ModelCall;
use crate::state::open_call::{OpenCall, Stage};
use crate::state::questions::OpenQuestion;
use crate::state::remedies::{Expired, Opening, QUOTA_WAITS, Remedies};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::purpose::Place;
use crate::vocabulary::question::{Answer, QuestionKind};
use crate::vocabulary::reply::ModelFailure;

/// The least length of the first wait for a quota, in milliseconds.
const LEAST_WAIT_MS: u64 = 1_000;

/// How many times it is doubled: the least length grows to about four minutes.
const LONGEST_DOUBLED: u32 = 8;

impl Decision {
    /// Whether the call is tried again once a quota opens, or once a person has renewed a key. What goes on by itself comes
    /// first. A closing call is not waited for: its run has come to its end.
    pub(crate) fn is_remedied(&mut self, model_call: &ModelCall, failure: &ModelFailure) -> bool {
        if !failure.kind.may_fall_back() || self.state.ending.closing().is_some() {
            return false;
        }
        let remedies = self.state.remedies_of(model_call, failure, self.at);
        if let Some(opening) = self.awaited(&remedies) {
            let next = TurnStarted { model: opening.model(), attempt: 1, ..model_call.again() };
            let retry = Retry { at: opening.at().max(self.at), for_quota: true };
            self.begin_at(model_call, failure.clone(), retry, next);
            return true;
        }
        match remedies.expired() {
            Some(expired) if model_call.purpose().place() == Place::Turn => {
                self.ask_for_key(model_call, failure, expired);
                true
            }
            Some(_) | None => false,
        }
    }

    /// The quota that the run waits for, if it is to wait and not in vain.
    fn awaited(&self, remedies: &Remedies) -> Option<Opening> {
        let waits = self.state.setup.policy().request.wait_for_quota && remedies.waits() < QUOTA_WAITS;
        let in_time =
            |opening: &Opening| self.state.deadline().is_none_or(|deadline| opening.at() < deadline);
        self.opening(remedies).filter(in_time).filter(|_| waits)
    }

    /// When the run goes on that waits for a quota. A provider may name a time that has passed, again and again: each wait in a row
    /// has a least length, twice that of the one before.
    fn opening(&self, remedies: &Remedies) -> Option<Opening> {
        let least = LEAST_WAIT_MS << remedies.waits().min(LONGEST_DOUBLED);
        remedies.first_opening().map(|opening| opening.not_before(self.at.saturating_add(least)))
    }

    /// Why a run ends whose model failed: the failure, and why its quota is not waited for.
    pub(crate) fn words_of(&self, model_call: &ModelCall, failure: &ModelFailure) -> String {
        let words = failure.to_string();
        let remedies = self.state.remedies_of(model_call, failure, self.at);
        let (policy, opening) = (self.state.setup.policy(), self.opening(&remedies));
        let Some(opening) = opening.filter(|_| policy.request.wait_for_quota) else { return words };
        let model = self.state.model_name(opening.model());
        let seconds = opening.at().saturating_sub(self.at).div_ceil(1_000);
        match policy.limit(LimitKind::Seconds) {
            Some(max) if self.state.deadline().is_some_and(|deadline| opening.at() >= deadline) => {
                let most = LimitKind::Seconds.amount(max);
                format!(
                    "{words}; the quota of model {model} opens in {seconds} s, after the run's limit of {most}"
                )
            }
            _ if remedies.waits() >= QUOTA_WAITS => {
                format!("{words}; the call has waited {QUOTA_WAITS} times for the quota of model {model}")
            }
            _ => words,
        }
    }

    fn ask_for_key(&mut self, model_call: &ModelCall, failure: &ModelFailure, expired: &Expired) {
        let model = expired.model();
        let text = expired.question(&self.state.model_name(model));
        let next = TurnStarted { model, attempt: 1, ..model_call.again() };
        self.record(TurnFailed::last(model_call, failure.clone()));
        let question = self.next_question();
        self.record(InputRequested {
            question,
            kind: QuestionKind::Auth,
            call: None,
            text: text.into(),
            suggestions: vec!["retry".into()],
            child_question: None,
            next: Some(Box::new(next)),
        });
    }

    /// A person has renewed the key: the same call is made again, or, if somebody has said something, a new one.
    pub(crate) fn key_renewed(&mut self, mut open: OpenQuestion, answer: Answer) {
        let next = open.take_next();
        self.received(open.id, answer);
        if self.state.phase != Phase::Between {
            return;
        }
        match next {
            Some(next) if self.state.conversation.steering().is_empty() => self.begin(*next),
            Some(_) | None => self.next_turn(),
        }
    }

    /// A holder has taken the run over, with what has changed meanwhile.
    pub(crate) fn resumed(&mut self, by: ResumedBy, adjusted: Option<Box<Adjusted>>) {
        let other_agent = adjusted.as_ref().is_some_and(|adjusted| adjusted.agent.is_some());
        if let Some(adjusted) = adjusted {
            self.record(*adjusted);
        }
        if other_agent {
            return self.go_on_from_base();
        }
        self.resume();
        self.try_now(by);
    }

    /// A person resumes the run: what waits for a quota is tried now.
    fn try_now(&mut self, by: ResumedBy) {
        if by != ResumedBy::Person || self.state.stopping() {
            return;
        }
        let waiting: Vec<TurnStarted> = self
            .state
            .model_calls
            .iter()
            .filter(|model_call| model_call.waits_for_quota())
            .map(ModelCall::again)
            .collect();
        let tasks: Vec<OpenCall> = self
            .open_calls()
            .iter()
            .filter(|open| matches!(open.stage(), Stage::DelegateDeferred { .. }))
            .cloned()
            .collect();
        for task in &tasks {
            self.delegate_after_wait(task);
        }
        for next in waiting {
            self.begin(next);
        }
    }
}
