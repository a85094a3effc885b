//! The fold of the plan loop.

use std::sync::Arc;

use serde_json::json;

use crate::policy::own_tools::run_code::{CODE_FIELD, RUN_CODE};
use crate::policy::values::Stop;
use crate::protocol::fact::plan::{Perceived, PlanMade, PlanProposed, StepFinished, StepWork};
use crate::protocol::fact::turns::TurnCompleted;
use crate::protocol::fact::{OutputRejected, Rejection};
use crate::state::open_call::Origin;
use crate::state::plan::{DoneStep, FailedStep, Plan, PlanStage, PlanVersion, REMEMBERED};
use crate::state::{Phase, State};
use crate::vocabulary::call_args::CallArgs;
use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::message::{AssistantMessage, Message, ToolCall};
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::question::Answer;
use crate::vocabulary::reply::StopReason;

/// Bytes of a result that a failure keeps (S).
const FAILURE_BYTES: usize = 300;

impl State {
    /// Whether the loop is a plan loop.
    pub(crate) fn plans(&self) -> bool {
        self.setup.policy().replies.stop == Stop::Judge
    }

    fn plan_mut(&mut self) -> &mut Plan {
        Arc::make_mut(self.progress.plan.get_or_insert_default())
    }

    /// A run begins: with its query.
    pub(crate) fn begin_plan(&mut self, messages: &[Arc<Message>]) {
        if !self.plans() {
            return;
        }
        let said = messages
            .iter()
            .filter(|message| matches!(***message, Message::User { .. } | Message::TaskDelegation { .. }));
        let texts: Vec<String> =
            said.filter_map(|message| Some(message.content()?.text().into_owned())).collect();
        let (query, from) = (texts.join("\n").into(), self.conversation.history.len());
        self.progress.plan = Some(Arc::new(Plan { query, from, ..Plan::default() }));
    }

    /// A run that began without a plan goes on in a loop of plans: its query is its input.
    pub(crate) fn plan_anew(&mut self) {
        if !self.plans() || self.progress.plan.is_some() {
            return;
        }
        let input = self.progress.input.clone();
        let messages: Vec<Arc<Message>> =
            input.filter_map(|place| self.conversation.history.get(place).cloned()).collect();
        self.begin_plan(&messages);
    }

    /// The hook has seen the step of a plan, and the loop goes on.
    pub(crate) fn leave_hook(&mut self) {
        if matches!(self.phase, Phase::Stepping { .. }) {
            self.phase = Phase::Between;
        }
    }

    /// A perception or decision came: it writes no conversation.
    pub(crate) fn planned_said(&mut self, turn: &TurnCompleted) {
        self.turn.stop = turn.stop;
        if !matches!(turn.stop, StopReason::Length | StopReason::Refused | StopReason::Filtered) {
            self.turn.consecutive.cut = 0;
        }
        self.plan_mut().said = turn.text.clone().unwrap_or_else(|| "".into());
    }

    /// A reply of the plan loop was not accepted: the note goes with the next request. Whether it was one.
    pub(crate) fn plan_rejected(&mut self, rejected: &OutputRejected) -> bool {
        if !self.plans() || self.ending.closing().is_some() {
            return false;
        }
        let note = rejected.note.clone();
        let plan = self.plan_mut();
        // What was cut off is not shown again.
        let said = if rejected.reason == Rejection::Invalid { plan.said.clone() } else { "".into() };
        plan.rejected = Some((said, note));
        true
    }

    pub(crate) fn perceived(&mut self, perceived: &Perceived) {
        self.turn.consecutive.rejected = 0;
        let perception = perceived.perception.clone();
        let plan = self.plan_mut();
        plan.rejected = None;
        if plan.stage == PlanStage::StepDone
            && let Some(step) = plan.step_mut()
        {
            step.perception = Some(perception.clone());
            if !perception.local_goal_achieved && matches!(step.step.work, StepWork::Code(_)) {
                let told = step.told();
                let result = told.get(..told.floor_char_boundary(FAILURE_BYTES)).unwrap_or_default().into();
                let description = step.step.description.clone();
                plan.failures.push_back(FailedStep { description, result });
                while plan.failures.len() > REMEMBERED {
                    plan.failures.pop_front();
                }
            }
        }
        plan.perception = Some(perception);
        plan.stage = PlanStage::Perceived;
    }

    pub(crate) fn plan_proposed(&mut self, proposed: &PlanProposed) {
        self.turn.consecutive.rejected = 0;
        let plan = self.plan_mut();
        plan.rejected = None;
        plan.stage = PlanStage::Proposed(Box::new(proposed.clone()));
    }

    pub(crate) fn plan_made(&mut self, made: &PlanMade) {
        self.turn.consecutive.rejected = 0;
        let plan = self.plan_mut();
        plan.rejected = None;
        plan.stage = PlanStage::Made;
        if made.version as usize > plan.versions.len() {
            plan.versions.push(PlanVersion { text: made.text.clone(), steps: Vec::new() });
        }
        let Some(step) = &made.step else { return };
        if let Some(version) = plan.versions.last_mut() {
            version.steps.push(DoneStep {
                step: step.clone(),
                call: made.call.clone(),
                outcome: None,
                retries: 0,
                status: None,
                result: None,
                perception: None,
            });
        }
        if let (StepWork::Code(code), Some(call)) = (&step.work, &made.call) {
            self.acting(&[code_call(call, code)], &Origin::Plan);
        }
    }

    /// The code of a step has come to its end.
    pub(crate) fn step_outcome(&mut self, outcome: CallOutcome, retries: u32) {
        if let Some(step) = self.plan_mut().step_mut() {
            (step.outcome, step.retries) = (Some(outcome), retries);
        }
    }

    pub(crate) fn step_finished(&mut self, finished: &StepFinished) {
        let plan = self.plan_mut();
        plan.stage = PlanStage::StepDone;
        let Some(step) = plan.step_mut() else { return };
        (step.status, step.result) = (Some(finished.status), finished.result.clone());
        let code = matches!(step.step.work, StepWork::Code(_));
        self.ledger.counters.plan_steps += u64::from(code);
    }

    /// A person's final answer is what the plan has found, with the person's confidence.
    pub(crate) fn finally_answered(&mut self, answer: &Answer) {
        let Answer::Final { final_answer, confidence, original_goal_achieved } = answer else {
            return;
        };
        if self.progress.plan.is_none() {
            return;
        }
        if let Some(found) = self.plan_mut().perception.as_mut() {
            found.solution_summary = final_answer.clone();
            found.original_goal_achieved = *original_goal_achieved;
            found.confidence = confidence.clone().unwrap_or_else(|| found.confidence.clone());
        }
    }

    /// The end of a plan loop stands in the conversation, so that a session goes on under any preset.
    pub(crate) fn plan_ended(&mut self, text: Option<&Text>) {
        if let Some(text) = text.filter(|_| self.plans() && self.progress.plan.is_some()) {
            let said = AssistantMessage { text: Some(text.clone()), ..AssistantMessage::default() };
            self.conversation.history.push(Arc::new(Message::Assistant(said)));
        }
    }
}

/// The call that runs the code of a step.
pub(crate) fn code_call(id: &CallId, code: &Text) -> ToolCall {
    let args = CallArgs::from(Text::from(json!({ CODE_FIELD: &**code }).to_string()));
    ToolCall { id: id.clone(), name: RUN_CODE.into(), args, ..ToolCall::default() }
}
