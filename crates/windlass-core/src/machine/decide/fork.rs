//! Forks: a run that continues from its base's state, including the base's work in progress.
//!
//! The fold has taken over the base's state. Here everything that was going on there begins anew, as after a take-over:
//! what the base has ended never runs twice, what it lost follows its declared effect, and people are asked anew.

use crate::machine::decision::Decision;
use crate::policy::limits::AtLimit;
use crate::protocol::fact::limits::LimitReached;
use crate::protocol::fact::turns::TurnStarted;
use crate::state::Phase;
use crate::state::ending::Closing;
use crate::state::model_calls::ModelCall;
use crate::state::open_call::{Asked, OpenCall, Origin, Stage};
use crate::vocabulary::message::Message;
use crate::vocabulary::outcome::Status;
use crate::vocabulary::reply::{StopReason, Usage};

impl Decision {
    /// The start of a fork was recorded: what follows from where the base stood.
    pub(crate) fn go_on_from_base(&mut self) {
        if self.state.stopping() {
            // Work that was being stopped elsewhere no longer has a driver.
            self.abandon_turn("the run went on elsewhere while it was being stopped", Usage::default());
            self.settle_started();
            self.close_idle_calls();
            self.after_stop();
            return;
        }
        let model_calls: Vec<ModelCall> = self.state.model_calls.iter().cloned().collect();
        // Before the model calls: one that the limits refuse makes the loop go on by itself.
        match self.state.phase.clone() {
            Phase::Acting(_) => self.go_on_with_calls(),
            Phase::Between => self.go_on_between(),
            // The call begins anew below; the hook is asked by this run.
            Phase::Asking | Phase::Stepping { .. } | Phase::New | Phase::Ended(_) => {}
        }
        for model_call in model_calls {
            if self.state.model_calls.freed_by(model_call.seq()) == Some(&model_call) {
                self.call_again(&model_call);
            }
        }
    }

    /// A model call that was going on, or waited for its next try, begins anew.
    fn call_again(&mut self, next: &ModelCall) {
        let known = (next.model() as usize) < self.state.setup.models().len();
        let next = next.again();
        self.begin(if known { next } else { TurnStarted { model: 0, attempt: 1, ..next } });
    }

    fn go_on_with_calls(&mut self) {
        if let Some(closing) = self.state.ending.closing().cloned() {
            if self.closing_call_began(closing.reached()) {
                if !self.forced_reply() {
                    let text = self.reply_text();
                    self.skip_all("no tool can be called any more");
                    self.finish_closing(text);
                }
            } else {
                self.close_lost_calls();
                self.close_idle_calls();
                self.close_waiting_code();
                self.after_limit(closing.reached());
            }
        } else if self.state.open_calls().any(|open| *open.origin() == Origin::Hook) {
            self.settle_started();
            self.start_branches();
        } else if let Some((reason, kind, note)) = self.cut(self.state.turn.stop()) {
            self.skip_all("the reply was not complete");
            self.ask_again_after_cut(reason, kind, note);
        } else {
            self.settle_started();
            self.begin_calls();
        }
    }

    /// Calls that were going on elsewhere when a limit was reached.
    fn close_lost_calls(&mut self) {
        let running: Vec<OpenCall> =
            self.state.open_calls().filter(|open| open.in_flight()).cloned().collect();
        for open in running {
            let known = open.known().and_then(|known| known.outcome().cloned());
            let outcome = known.unwrap_or_else(|| self.lost(&open));
            self.finish_call(open.call.id, outcome);
        }
    }

    pub(crate) fn some_started(&self) -> bool {
        let started = |open: &OpenCall| open.attempt() > 0 && !matches!(open.stage(), Stage::Queued);
        self.state.open_calls().any(started)
    }

    /// Calls that the base had started by then: its result, or as after a take-over.
    fn settle_started(&mut self) {
        let started: Vec<OpenCall> =
            self.state.open_calls().filter(|open| open.attempt() > 0).cloned().collect();
        for open in started {
            let ended = open.known().and_then(|known| known.outcome().cloned());
            let stopping = self.state.stopping();
            match open.stage() {
                Stage::CodeWaits if !self.state.has_results(&open.call.id) => {}
                Stage::Running { .. } | Stage::Coding { .. } | Stage::CodeWaits | Stage::Delegated { .. } => {
                    match ended {
                        Some(outcome) => self.finish_call(open.call.id, outcome),
                        None => self.take_up(&open),
                    }
                }
                // The try had failed, and the next one begins at once.
                Stage::Retrying { .. } if !stopping => self.start_call(open.call.id),
                Stage::Doubted { asked: Asked::Tool, .. } if stopping => self.take_up(&open),
                Stage::Retrying { .. }
                | Stage::Doubted { .. }
                | Stage::Queued
                | Stage::Verifying
                | Stage::Held { .. }
                | Stage::Asking
                | Stage::DelegateAsks { .. }
                | Stage::DelegateDeferred { .. }
                | Stage::Done(_) => {}
            }
        }
    }

    /// The base stood between two steps: within an append, or with a question about a limit.
    fn go_on_between(&mut self) {
        if let Some(closing) = self.state.ending.closing().cloned() {
            if self.closing_call_began(closing.reached()) {
                if !self.forced_reply() {
                    let text = self.reply_text();
                    self.finish_closing(text);
                }
            } else {
                self.after_limit(closing.reached());
            }
            return;
        }
        if self.state.plans() {
            return self.plan_on();
        }
        let last = self.state.conversation.history().last().cloned().filter(|_| self.state.turn.number() > 0);
        let replied = matches!(last.as_deref(), Some(Message::Assistant(_)));
        let acted = matches!(last.as_deref(), Some(Message::Tool(_)));
        let cut = self.cut(self.state.turn.stop()).filter(|_| replied || acted);
        if let Some((reason, kind, note)) = cut {
            return self.ask_again_after_cut(reason, kind, note);
        }
        if replied && self.state.turn.stop() != StopReason::Paused {
            return self.talked();
        }
        let over = acted && (self.malformed_ends(&[]) || self.finished());
        if !over {
            self.next_turn();
        }
    }

    /// Whether the last reply finished the run: then its end is recorded.
    fn finished(&mut self) -> bool {
        let Some(reply) =
            self.last_reply().cloned().filter(|_| self.state.conversation.steering().is_empty())
        else {
            return false;
        };
        let text = reply.text_without_calls().filter(|text| !text.trim().is_empty());
        let mut finishes = reply.calls.iter().filter(|call| self.is_finish(call));
        let Some(output) = finishes.find_map(|call| self.output_of(call).ok()) else { return false };
        self.end_with(Status::Answered, text, output, None);
        true
    }

    /// Whether the one call beyond a limit has begun.
    fn closing_call_began(&self, reached: &LimitReached) -> bool {
        let called = matches!(reached.at_limit, AtLimit::WrapUp | AtLimit::ForceFinish) && reached.max > 0;
        called && self.state.ending.closing().is_some_and(Closing::has_called)
    }
}
