//! Attempts: the decisions after a model call of any purpose has ended.

use crate::machine::decision::{Decided, Decision};
use crate::protocol::fact::Adjusted;
use crate::protocol::fact::refused::{RefusedSetting, RefusedTool};
use crate::protocol::fact::turns::{TurnFailed, TurnStarted};
use crate::state::model_calls::ModelCall;
use crate::vocabulary::ids::ActionId;
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::model::Role;
use crate::vocabulary::purpose::Place;
use crate::vocabulary::reply::{FailureKind, ModelFailure, Reply};
use crate::vocabulary::tool::ToolKind;

impl TurnFailed {
    /// The end of a call that is not tried again.
    pub(crate) fn last(model_call: &ModelCall, failure: ModelFailure) -> Self {
        let (purpose, about) = (model_call.purpose(), model_call.about().cloned());
        Self {
            turn: model_call.turn(),
            purpose,
            about,
            failure,
            retry_at: None,
            next_model: None,
            for_quota: false,
            remaining_model: None,
        }
    }
}

impl Decision {
    pub(crate) fn replied(
        &mut self,
        action: ActionId,
        reply: Reply,
        lost: Option<Box<ModelFailure>>,
    ) -> Decided {
        let Some(model_call) = self.state.model_call(action).cloned() else {
            return Err(self.unknown(action));
        };
        self.outrun(&model_call, lost.map(|lost| *lost));
        if !self.probe_answered(&model_call, &reply) {
            (model_call.purpose().rules().replied)(self, &model_call, reply);
        }
        Ok(())
    }

    pub(crate) fn model_failed(&mut self, action: ActionId, failure: ModelFailure, jitter: u16) -> Decided {
        let Some(model_call) = self.state.model_call(action).cloned() else {
            return Err(self.unknown(action));
        };
        if self.other_goes_on(&model_call, &failure) {
            return Ok(());
        }
        if self.state.stopping() {
            self.record(TurnFailed::last(&model_call, failure));
            self.after_stop();
            return Ok(());
        }
        if let FailureKind::OverBudget(limit) = failure.kind {
            self.over_budget(&model_call, failure, limit);
            return Ok(());
        }
        if let Some(wait) = self.retry_wait(&model_call, &failure, jitter) {
            let next = TurnStarted { attempt: model_call.attempt() + 1, ..model_call.again() };
            self.begin_after(&model_call, failure, wait, next);
            return Ok(());
        }
        if self.forced_choice_refused(&model_call, &failure)
            || self.demand_refused(&model_call, &failure)
            || self.one_tool_refused(&model_call, &failure)
            || self.output_refused(&model_call, &failure)
            || self.setting_refused(&model_call, &failure)
            || self.tools_refused(&model_call, &failure)
        {
            return Ok(());
        }
        // A model with a role has one that can do its work whatever was wrong with it.
        let helps =
            self.state.role_of(model_call.model()) != Role::Main && failure.kind != FailureKind::Cancelled;
        if let Some(next) = self.state.stands_in_for(model_call.model())
            && (helps || failure.kind.may_fall_back())
        {
            let next = TurnStarted { model: next, attempt: 1, without: Vec::new(), ..model_call.again() };
            self.begin_after(&model_call, failure, 0, next);
            return Ok(());
        }
        if !self.search_on(&model_call, &failure) && !self.is_remedied(&model_call, &failure) {
            (model_call.purpose().rules().failed)(self, &model_call, failure);
        }
        Ok(())
    }

    /// The account that the run draws on could not pay for a call, which was not made: the run ends at that limit.
    fn over_budget(&mut self, model_call: &ModelCall, failure: ModelFailure, limit: LimitKind) {
        if self.state.ending.closing().is_some() || model_call.purpose().place() == Place::Background {
            (model_call.purpose().rules().failed)(self, model_call, failure);
            return;
        }
        let needed = model_call.reserved().sure.of(limit);
        self.record(TurnFailed::last(model_call, failure));
        self.reach(limit, self.reached(limit), needed);
    }

    /// A call has failed, and the same turn is asked again at once.
    pub(crate) fn record_retried(&mut self, model_call: &ModelCall, failure: &ModelFailure) {
        let retry_at = Some(self.at);
        self.record(TurnFailed { retry_at, ..TurnFailed::last(model_call, failure.clone()) });
    }

    /// A call has failed, and the same turn is asked again at once, with these changes.
    fn ask_again(&mut self, model_call: &ModelCall, failure: &ModelFailure, adjusted: Adjusted) -> bool {
        self.record_retried(model_call, failure);
        self.record(adjusted);
        self.begin(TurnStarted { attempt: 1, ..model_call.again() });
        true
    }

    /// A provider refuses a request because of one tool, which its words name (E58): the run goes on without it. A tool that the
    /// request cannot do without stays: the one that it demands, and the one that ends the run.
    fn one_tool_refused(&mut self, model_call: &ModelCall, failure: &ModelFailure) -> bool {
        let Some(name) = failure.tool() else { return false };
        let demanded = model_call.choice().tools().contains(name);
        let offered =
            self.state.toolbox.visible().iter().find(|tool| tool.name == *name && tool.is_offered());
        if demanded || offered.is_none_or(|tool| matches!(tool.kind, ToolKind::Finish(_))) {
            return false;
        }
        let (tool, model) = (name.clone(), self.state.model_name(model_call.model()));
        let refused = RefusedTool { tool, model, message: failure.message.clone() };
        self.ask_again(model_call, failure, Adjusted { refused: Some(refused), ..Adjusted::default() })
    }

    /// A provider refuses a setting, which its words name: the run goes on without it, and says so. Each setting goes once.
    fn setting_refused(&mut self, model_call: &ModelCall, failure: &ModelFailure) -> bool {
        let Some(setting) = failure.setting() else { return false };
        let Some(adjusted) = self.adjusted(model_call.model(), |choice| choice.unset(setting)) else {
            return false;
        };
        let model = self.state.model_name(model_call.model());
        let refused = RefusedSetting { setting: setting.clone(), model, message: failure.message.clone() };
        let adjusted = Adjusted { refused_setting: Some(Box::new(refused)), ..adjusted };
        self.ask_again(model_call, failure, adjusted)
    }

    /// A model or server that holds no reply to the output's schema: from here on it is asked for the output in another way, and the
    /// same turn is asked again. It happens once a model.
    fn output_refused(&mut self, model_call: &ModelCall, failure: &ModelFailure) -> bool {
        let Some(by) = self.state.output_after(model_call, failure) else { return false };
        let adjusted = self.adjusted(model_call.model(), |model| model.output.replace(by) != Some(by));
        adjusted.is_some_and(|adjusted| self.ask_again(model_call, failure, adjusted))
    }

    /// A model or server that takes no tools, or no schemas: from here on calls go to it in another form, and the same turn is asked
    /// again. It happens twice a model at most, because each form is left once.
    fn tools_refused(&mut self, model_call: &ModelCall, failure: &ModelFailure) -> bool {
        let Some(wire) = self.state.wire_after(model_call, failure) else { return false };
        let adjusted = self.adjusted(model_call.model(), |model| model.wire.replace(wire) != Some(wire));
        adjusted.is_some_and(|adjusted| self.ask_again(model_call, failure, adjusted))
    }

    /// Delay before a retry with the same model; `None`: the failure is final.
    fn retry_wait(&self, model_call: &ModelCall, failure: &ModelFailure, jitter: u16) -> Option<u64> {
        let transport = self.state.setup.policy().transport;
        if !failure.kind.retryable() || failure.is_final || model_call.attempt() > transport.retries {
            return None;
        }
        if failure.kind == FailureKind::Timeout && model_call.remedies().has_timed_out(model_call.model()) {
            return None;
        }
        if let Some(asked) = failure.retry_after_ms {
            return (asked <= transport.max_wait_ms).then_some(asked);
        }
        let doubled = transport.wait_ms.saturating_mul(1 << (model_call.attempt() - 1).min(20));
        let most = doubled.min(transport.max_wait_ms);
        // Up to half of the wait is left to chance, so that clients that failed together do not come back together.
        Some(most - most * u64::from(jitter.min(1_000)) / 2_000)
    }
}
