//! Facts of the plan loop.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::vocabulary::ids::{CallId, Text};

/// The findings of perception on the input, or on the result of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Perception {
    /// Entities that it found.
    pub entities: Vec<Value>,
    /// The result that the query asks for.
    pub result_requirement: Text,
    /// Whether the query is answered.
    pub original_goal_achieved: bool,
    /// Confidence, as a number in a text.
    pub confidence: Text,
    /// Why.
    pub reasoning: Text,
    /// Whether the step was useful.
    pub local_goal_achieved: bool,
    /// Why.
    pub local_reasoning: Text,
    /// The last use of a tool.
    pub last_tooluse_summary: Text,
    /// The answer so far.
    pub solution_summary: Text,
}

/// See [`PlanFact::Perceived`](crate::event::PlanFact::Perceived).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Perceived {
    /// Its finding.
    pub perception: Perception,
}

/// The work of a planned step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepWork {
    /// Python source.
    Code(Text),
    /// The conclusion that ends the run.
    Conclude(Text),
    /// Nothing: the agent asks back.
    Nop,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// Its number over all versions, from 0.
    pub index: u32,
    /// The step in words.
    pub description: Text,
    /// Its work.
    pub work: StepWork,
}

/// See [`PlanFact::Proposed`](crate::event::PlanFact::Proposed).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanProposed {
    /// The plan, one line a step.
    pub text: Vec<Text>,
    /// Its next step.
    pub step: PlanStep,
}

/// See [`PlanFact::Made`](crate::event::PlanFact::Made).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanMade {
    /// The version's number, from 1. The same text continues a version.
    pub version: u32,
    /// The plan, one line a step.
    pub text: Vec<Text>,
    /// The next step; `None`: it is decided on next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<PlanStep>,
    /// The call that runs the step's code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// With a result.
    Completed,
    /// Without one.
    Failed,
    /// A person gave the result.
    HumanProvided,
}

/// See [`PlanFact::StepFinished`](crate::event::PlanFact::StepFinished).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepFinished {
    /// The step's number over all versions, from 0.
    pub index: u32,
    /// How it ended.
    pub status: StepStatus,
    /// Further tries of its code.
    #[serde(default)]
    pub retries: u32,
    /// The result that a person gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Text>,
}
