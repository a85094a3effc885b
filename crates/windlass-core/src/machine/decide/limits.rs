//! Limits: only here are they checked, and what follows from them is decided.

use crate::machine::decision::Decision;
use crate::policy::limits::AtLimit;
use crate::policy::texts::filled;
use crate::policy::values::{Stop, Turns};
use crate::protocol::fact::InputRequested;
use crate::protocol::fact::limits::LimitReached;
use crate::vocabulary::amount::METERED;
use crate::vocabulary::ids::{QuestionId, Text};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::outcome::Status;
use crate::vocabulary::purpose::ToolChoice;
use crate::vocabulary::question::QuestionKind;

impl Decision {
    /// Current amount that counts against a limit, in its stored unit.
    pub(crate) fn reached(&self, kind: LimitKind) -> u64 {
        let state = &self.state;
        match kind {
            LimitKind::ModelCalls => state.ledger.counters().model_calls,
            LimitKind::Iterations => state.ledger.counters().iterations,
            LimitKind::PlanSteps => state.ledger.counters().plan_steps,
            LimitKind::ToolRounds => state.ledger.counters().tool_rounds,
            LimitKind::ToolCalls => state.ledger.counters().tool_calls,
            LimitKind::Retries => state.ledger.counters().retries,
            LimitKind::Tokens | LimitKind::InputTokens | LimitKind::OutputTokens | LimitKind::CostUsd => {
                state.committed(kind, &state.ledger, None)
            }
            LimitKind::Seconds => state.clock.elapsed(self.at),
            LimitKind::StallSeconds => state.stalled_for(self.at),
            LimitKind::Repetition => {
                state.turn.consecutive().repeated().map_or(0, |repeated| u64::from(repeated.times()))
            }
        }
    }

    /// After a usage: whether a limit on tokens or cost is used up, so that nothing more may begin.
    pub(crate) fn limit_after_usage(&self) -> Option<(LimitKind, u64)> {
        METERED.into_iter().find_map(|kind| {
            let max = self.state.setup.policy().limit(kind)?;
            let reached = self.reached(kind);
            (reached >= max).then_some((kind, reached))
        })
    }

    /// A limit is reached, and nothing but calls beside the loop is going on.
    pub(crate) fn reach(&mut self, limit: LimitKind, reached: u64, needed: u64) {
        let fact = LimitReached { needed, ..self.limit_fact(limit, reached) };
        self.record(fact.clone());
        if self.state.stopping() {
            // A call beside the loop is going on.
            self.close_idle_calls();
            self.after_stop();
        } else {
            self.after_limit(&fact);
        }
    }

    fn limit_fact(&self, limit: LimitKind, reached: u64) -> LimitReached {
        let policy = self.state.setup.policy();
        let single = policy.bounds.turns == Turns::One && limit == LimitKind::ModelCalls;
        let max = if single { 1 } else { policy.most(limit).unwrap_or(0) };
        let then = if single { AtLimit::None } else { policy.at_limit(limit).clone() };
        // A forced finish leaves the conversation as it is, so that the provider's cache of it holds (acorn).
        let noted = matches!(then, AtLimit::WrapUp)
            || matches!(then, AtLimit::ForceFinish) && policy.replies.stop != Stop::FinishTool;
        let note = (noted && max > 0).then(|| {
            let values = [("n", &*limit.show(max)), ("limit", limit.noun(max))];
            filled(&policy.wording.texts.wrap_up, &values).into()
        });
        let reserved = self.state.ledger.reserved().of(limit);
        LimitReached { limit, max, reached, reserved, needed: 0, at_limit: then, note }
    }

    /// Applies the limit's outcome once no work is in progress.
    pub(crate) fn after_limit(&mut self, reached: &LimitReached) {
        let status = Status::Limit(reached.limit);
        let rendered = |text: &Text| -> Text {
            let values = [("n", &*reached.limit.show(reached.max)), ("limit", reached.limit.name())];
            filled(text, &values).into()
        };
        match &reached.at_limit {
            AtLimit::Text(text) => self.end(status, Some(rendered(text)), None),
            AtLimit::LastText(fallback) => {
                let last = self.state.conversation.last_text().cloned();
                self.end(status, last.or_else(|| fallback.as_ref().map(rendered)), None);
            }
            // A closing call goes beyond the limit, but never where the limit is 0.
            AtLimit::ForceFinish if reached.max > 0 && self.state.finish_tool().is_some() => {
                self.force_finish();
            }
            // Where there is no output to give, none is forced (acorn).
            AtLimit::ForceFinish if self.state.setup.policy().replies.stop == Stop::FinishTool => {
                self.end(status, None, None);
            }
            AtLimit::WrapUp | AtLimit::ForceFinish if reached.max > 0 => {
                self.begin_turn(ToolChoice::None, None);
            }
            AtLimit::WrapUp | AtLimit::ForceFinish => {
                let text = self.state.conversation.last_text().cloned();
                self.end(status, text, None);
            }
            AtLimit::Ask => self.ask_about_limit(reached),
            AtLimit::Fail | AtLimit::None => self.end(status, None, None),
        }
    }

    fn ask_about_limit(&mut self, reached: &LimitReached) {
        let texts = &self.state.setup.policy().wording.texts;
        let steps = reached.limit == LimitKind::PlanSteps && !texts.ask_steps.is_empty();
        let template = if steps { &texts.ask_steps } else { &texts.ask_limit };
        let (amount, most) = (reached.limit.amount(reached.max), reached.limit.show(reached.max));
        let so_far = reached.limit.show(reached.reached);
        let text = filled(template, &[("amount", &amount), ("n", &most), ("reached", &so_far)]).into();
        let suggestions = texts.limit_suggestions.lines().map(Text::from).collect();
        let question = self.next_question();
        self.record(InputRequested {
            question,
            kind: QuestionKind::Limit(reached.limit),
            call: None,
            text,
            suggestions,
            child_question: None,
            next: None,
        });
    }

    pub(crate) fn next_question(&self) -> QuestionId {
        QuestionId::from(format!("q{}", self.state.questions.asked() + 1))
    }

    /// Handles the deadline: stops all work first.
    pub(crate) fn deadline_passed(&mut self) {
        self.cut_by(LimitKind::Seconds);
    }

    /// A limit on time is reached: all work is stopped first.
    pub(crate) fn cut_by(&mut self, limit: LimitKind) {
        let fact = self.limit_fact(limit, self.reached(limit));
        self.record(fact.clone());
        self.close_idle_calls();
        if self.state.stopping() {
            self.after_stop();
        } else {
            self.after_limit(&fact);
        }
    }
}

/// Puts a number into a text.
pub(crate) fn fill(text: &Text, place: &str, value: &str) -> String {
    text.replace(place, value)
}
