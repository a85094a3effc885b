//! The plan of a run: its versions with their steps, what perception said last, and failures to remember.

use std::collections::VecDeque;

use crate::protocol::fact::plan::{
    Perception, PlanMade, PlanProposed, PlanStep, StepFinished, StepStatus, StepWork,
};
use crate::protocol::fact::{OutputRejected, Rejection};
use crate::state::State;
use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::question::Answer;

/// Bytes of a result that a failure keeps (S).
const FAILURE_BYTES: usize = 300;

/// Failures that perception is reminded of.
pub(crate) const REMEMBERED: usize = 3;

/// A plan with its history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The query.
    pub query: Text,
    /// Its versions.
    pub versions: Vec<PlanVersion>,
    /// The last perception.
    pub perception: Option<Perception>,
    /// The steps that were of no use, the last three.
    pub failures: VecDeque<FailedStep>,
    /// Stage of the loop.
    stage: PlanStage,
    /// The last reply, and what was wrong with it.
    rejected: Option<(Text, Text)>,
    /// Text of the last reply.
    last_reply: Text,
    /// Number of messages of the conversation when the run began.
    from: usize,
}

/// A version of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanVersion {
    /// One line a step.
    pub text: Vec<Text>,
    /// The steps that were decided on under it.
    pub steps: Vec<DoneStep>,
}

/// A step that was decided on.
#[derive(Clone, Debug, PartialEq)]
pub struct DoneStep {
    /// The step.
    pub step: PlanStep,
    /// The call that runs its code.
    pub call: Option<CallId>,
    /// The outcome of its code.
    pub outcome: Option<CallOutcome>,
    /// Further tries of its code.
    pub retries: u32,
    /// How it ended.
    pub status: Option<StepStatus>,
    /// The result that a person gave.
    pub result: Option<Text>,
    /// The findings of perception on it.
    pub perception: Option<Perception>,
}

/// A step that was of no use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedStep {
    /// The step in words.
    pub description: Text,
    /// The beginning of its result or error.
    pub result: Text,
}

/// The next action of the loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum PlanStage {
    /// Perceive the query.
    #[default]
    Begun,
    /// Decide, or end.
    Perceived,
    /// Ask a person about a plan.
    Proposed(Box<PlanProposed>),
    /// Carry a step out.
    Made,
    /// Perceive its result.
    StepDone,
}

impl Plan {
    /// Stage of the loop.
    pub(crate) fn stage(&self) -> &PlanStage {
        &self.stage
    }

    /// The last reply, and what was wrong with it.
    pub(crate) fn rejected(&self) -> Option<&(Text, Text)> {
        self.rejected.as_ref()
    }

    /// Text of the last reply.
    pub(crate) fn last_reply(&self) -> &Text {
        &self.last_reply
    }

    /// Number of messages of the conversation when the run began.
    pub(crate) fn from(&self) -> usize {
        self.from
    }

    /// The current version.
    pub fn version(&self) -> Option<&PlanVersion> {
        self.versions.last()
    }

    /// The step that was decided on last.
    pub fn step(&self) -> Option<&DoneStep> {
        self.versions.iter().rev().find_map(|version| version.steps.last())
    }

    fn step_mut(&mut self) -> Option<&mut DoneStep> {
        self.versions.iter_mut().rev().find_map(|version| version.steps.last_mut())
    }

    /// A plan for that query that does not stand yet; the run began behind so many messages.
    pub(crate) fn of(query: Text, from: usize) -> Self {
        Self { query, from, ..Self::default() }
    }

    /// Messages were replaced: those behind the place where the run began have moved.
    pub(crate) fn spliced(&mut self, moved: impl FnOnce(usize) -> usize) {
        self.from = moved(self.from);
    }

    /// A perception or decision came, which is not read yet.
    pub(crate) fn replied(&mut self, text: Option<&Text>) {
        self.last_reply = text.cloned().unwrap_or_else(|| "".into());
    }

    /// The last reply was not accepted. What was cut off is not shown again.
    pub(crate) fn reject(&mut self, rejected: &OutputRejected) {
        let reply = if rejected.reason == Rejection::Invalid { self.last_reply.clone() } else { "".into() };
        self.rejected = Some((reply, rejected.note.clone()));
    }

    /// Perception has looked at the query, or at the step that has ended. A step of code that was of no use is remembered.
    pub(crate) fn perceived(&mut self, perception: &Perception) {
        self.rejected = None;
        if self.stage == PlanStage::StepDone
            && let Some(step) = self.step_mut()
        {
            step.perception = Some(perception.clone());
            if !perception.local_goal_achieved && matches!(step.step.work, StepWork::Code(_)) {
                let text = step.outcome_text();
                let result = text.get(..text.floor_char_boundary(FAILURE_BYTES)).unwrap_or_default().into();
                let description = step.step.description.clone();
                self.failures.push_back(FailedStep { description, result });
                while self.failures.len() > REMEMBERED {
                    self.failures.pop_front();
                }
            }
        }
        self.perception = Some(perception.clone());
        self.stage = PlanStage::Perceived;
    }

    /// A person is to be asked about a plan.
    pub(crate) fn proposed(&mut self, proposed: &PlanProposed) {
        self.rejected = None;
        self.stage = PlanStage::Proposed(Box::new(proposed.clone()));
    }

    /// A step was decided on, possibly under a new version.
    pub(crate) fn made(&mut self, made: &PlanMade) {
        self.rejected = None;
        self.stage = PlanStage::Made;
        if made.version as usize > self.versions.len() {
            self.versions.push(PlanVersion { text: made.text.clone(), steps: Vec::new() });
        }
        let Some(step) = &made.step else { return };
        if let Some(version) = self.versions.last_mut() {
            version.steps.push(DoneStep::decided(step, made.call.as_ref()));
        }
    }

    /// The code of the step has come to its end.
    pub(crate) fn step_ran(&mut self, outcome: CallOutcome, retries: u32) {
        if let Some(step) = self.step_mut() {
            (step.outcome, step.retries) = (Some(outcome), retries);
        }
    }

    /// The step is over. Whether it was one of code.
    pub(crate) fn step_finished(&mut self, finished: &StepFinished) -> bool {
        self.stage = PlanStage::StepDone;
        let Some(step) = self.step_mut() else { return false };
        (step.status, step.result) = (Some(finished.status), finished.result.clone());
        matches!(step.step.work, StepWork::Code(_))
    }

    /// A person's final answer is what the plan has found, with the person's confidence.
    pub(crate) fn finally_answered(&mut self, answer: &Answer) {
        let Answer::Final { final_answer, confidence, original_goal_achieved } = answer else {
            return;
        };
        if let Some(found) = self.perception.as_mut() {
            found.solution_summary = final_answer.clone();
            found.original_goal_achieved = *original_goal_achieved;
            found.confidence = confidence.clone().unwrap_or_else(|| found.confidence.clone());
        }
    }

    /// All steps of all versions, in order.
    pub fn steps(&self) -> impl Iterator<Item = &DoneStep> {
        self.versions.iter().flat_map(|version| &version.steps)
    }
}

impl DoneStep {
    /// A step that nothing was done about yet.
    fn decided(step: &PlanStep, call: Option<&CallId>) -> Self {
        Self {
            step: step.clone(),
            call: call.cloned(),
            outcome: None,
            retries: 0,
            status: None,
            result: None,
            perception: None,
        }
    }

    /// Its result or error in words.
    pub fn outcome_text(&self) -> String {
        if let Some(result) = &self.result {
            return result.to_string();
        }
        if let StepWork::Conclude(text) = &self.step.work {
            return text.to_string();
        }
        match &self.outcome {
            Some(CallOutcome::Ok { content }) => content.text().into_owned(),
            Some(CallOutcome::Error { message, .. }) => message.to_string(),
            Some(CallOutcome::Skipped { reason }) => format!("skipped: {reason}"),
            Some(outcome) => crate::state::results::plain_failure(outcome, "code"),
            None => String::new(),
        }
    }

    /// Whether it has a result.
    pub fn is_completed(&self) -> bool {
        matches!(self.status, Some(StepStatus::Completed | StepStatus::HumanProvided))
    }
}

impl State {
    /// The plan, where the loop has one.
    pub fn plan(&self) -> Option<&Plan> {
        self.progress.plan().map(|plan| &**plan)
    }
}
