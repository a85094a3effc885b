//! Take-overs: what becomes of the work that was going on when its process died.

use crate::machine::decision::Decision;
use crate::protocol::fact::turns::TurnStarted;
use crate::state::model_calls::ModelCall;
use crate::state::open_call::{Asked, OpenCall, Stage};
use crate::vocabulary::reply::{FailureKind, ModelFailure, Usage};
use crate::vocabulary::tool::Effect;

impl Decision {
    /// After a take-over: what had started and not finished runs again or is in doubt, by its declared effect.
    pub(crate) fn resume(&mut self) {
        let lost: Vec<OpenCall> = self
            .open_calls()
            .iter()
            .filter(|open| {
                matches!(
                    open.stage(),
                    Stage::Running { .. }
                        | Stage::Coding { .. }
                        | Stage::Delegated { .. }
                        | Stage::Doubted { asked: Asked::Tool, .. }
                )
            })
            .cloned()
            .collect();
        for open in lost {
            if matches!(open.stage(), Stage::Delegated { .. }) && self.state.stopping() {
                self.stop_delegate(&open);
            } else {
                self.take_up(&open);
            }
        }
        if self.state.stopping() {
            // What its call may have cost is reserved since the take-over.
            self.abandon_turn("the process died while the run was being stopped", Usage::default());
            self.after_stop();
        } else {
            let lost: Vec<TurnStarted> = self
                .state
                .model_calls
                .in_progress()
                .map(|model_call| TurnStarted { after_loss: true, ..model_call.again() })
                .collect();
            for lost in lost {
                self.begin(lost);
            }
        }
    }

    /// Settles a call that was lost while it ran.
    pub(crate) fn take_up(&mut self, open: &OpenCall) {
        let id = open.call.id.clone();
        if self.state.stopping() {
            return self.finish_call(id, self.lost(open));
        }
        if open.is_coding() {
            return self.start_code(open);
        }
        if matches!(open.stage(), Stage::Delegated { .. }) {
            return self.delegate(open);
        }
        match self.effect(open).0 {
            Effect::ReadOnly | Effect::Idempotent => self.start_call(id),
            Effect::Once => self.doubt(open, None),
        }
    }

    /// Effect of running a call again, and whether its tool can check if it happened.
    pub(crate) fn effect(&self, open: &OpenCall) -> (Effect, bool) {
        let tool = self.state.target(open).map(|tool| (tool.effect, tool.has_check));
        tool.unwrap_or((Effect::Once, false))
    }

    /// Ends the model calls without work in progress.
    pub(crate) fn abandon_turn(&mut self, why: &str, usage: Usage) {
        let model_calls: Vec<ModelCall> = self.state.model_calls.in_progress().cloned().collect();
        for model_call in model_calls {
            let model = self.state.model_name(model_call.model());
            let failure = ModelFailure { usage, ..ModelFailure::new(FailureKind::Cancelled, why, model) };
            self.record(self.ended(&model_call, failure));
        }
    }
}
