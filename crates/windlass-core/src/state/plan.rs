//! The plan of a run: its versions with their steps, what perception said last, and failures to remember.

use std::collections::VecDeque;

use crate::protocol::fact::plan::{Perception, PlanProposed, PlanStep, StepStatus};
use crate::state::State;
use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::outcome::CallOutcome;

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
    pub(crate) stage: PlanStage,
    /// The last reply, and what was wrong with it.
    pub(crate) rejected: Option<(Text, Text)>,
    /// Text of the last reply.
    pub(crate) said: Text,
    /// Number of messages of the conversation when the run began.
    pub(crate) from: usize,
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
    /// What perception said of it.
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

/// What the loop does next.
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
    /// The current version.
    pub fn version(&self) -> Option<&PlanVersion> {
        self.versions.last()
    }

    /// The step that was decided on last.
    pub fn step(&self) -> Option<&DoneStep> {
        self.versions.iter().rev().find_map(|version| version.steps.last())
    }

    pub(crate) fn step_mut(&mut self) -> Option<&mut DoneStep> {
        self.versions.iter_mut().rev().find_map(|version| version.steps.last_mut())
    }

    /// All steps of all versions, in order.
    pub fn steps(&self) -> impl Iterator<Item = &DoneStep> {
        self.versions.iter().flat_map(|version| &version.steps)
    }
}

impl DoneStep {
    /// Its result or error in words.
    pub fn told(&self) -> String {
        if let Some(result) = &self.result {
            return result.to_string();
        }
        if let crate::protocol::fact::plan::StepWork::Conclude(text) = &self.step.work {
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
        self.progress.plan.as_deref()
    }
}
