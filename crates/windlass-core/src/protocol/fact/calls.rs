//! Facts about tool calls and delegations.

use serde::{Deserialize, Serialize};

use crate::protocol::fact::InputReceived;
use crate::vocabulary::amount::Amount;
use crate::vocabulary::budget::Budget;
use crate::vocabulary::ids::{CallId, Millis, RunId, Text};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::message::{Content, ToolCall};
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::reply::Usage;

/// See [`CallFact::Held`](crate::event::CallFact::Held).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallHeld {
    /// The call.
    pub call: CallId,
    /// Digest that an approval is bound to: SHA-256 over the tool's name, description, schema and effect, its binding digests, the
    /// arguments and the policy.
    pub digest: Text,
}

/// A decision on a call, with its origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// A person allowed it as it is.
    Approved,
    /// A person allowed it with these arguments instead.
    Edited {
        /// The arguments that it runs with, as JSON text.
        args: Text,
    },
    /// A person denied it.
    Denied {
        /// Why, in their words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Text>,
    },
    /// A rule of the session allowed it: see [`CallFact::ToolAllowed`](crate::event::CallFact::ToolAllowed).
    Allowed,
    /// The policy's `deny` list forbids it.
    Forbidden {
        /// The pattern that did.
        pattern: Text,
    },
}

/// See [`CallFact::Decided`](crate::event::CallFact::Decided).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallDecided {
    /// The call.
    pub call: CallId,
    /// The decision.
    pub decision: Decision,
}

/// See [`CallFact::ToolAllowed`](crate::event::CallFact::ToolAllowed).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolAllowed {
    /// The call that the person was asked about.
    pub call: CallId,
    /// The tool.
    pub tool: Text,
    /// Digest that the rule is bound to: as of [`CallHeld`], without the arguments, and with the agent's name and the tool through
    /// which it is called.
    pub digest: Text,
}

/// See [`CallFact::Started`](crate::event::CallFact::Started).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallStarted {
    /// The call.
    pub call: CallId,
    /// Number of this attempt, from 1.
    pub attempt: u32,
}

/// See [`CallFact::Retried`](crate::event::CallFact::Retried).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallRetried {
    /// The call.
    pub call: CallId,
    /// Number of the failed attempt, from 1.
    pub attempt: u32,
    /// The outcome of the attempt.
    pub outcome: CallOutcome,
    /// When the next try begins.
    pub retry_at: Millis,
}

/// See [`CallFact::Doubted`](crate::event::CallFact::Doubted).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallDoubted {
    /// The call.
    pub call: CallId,
    /// How its answer was lost; `None`: with this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<CallOutcome>,
}

/// See [`CallFact::ResultSummarised`](crate::event::CallFact::ResultSummarised).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultSummarised {
    /// The call.
    pub call: CallId,
    /// The content that enters the conversation in place of the result; `None`: the result itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Content>,
}

/// See [`CallFact::Finished`](crate::event::CallFact::Finished).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallFinished {
    /// The call.
    pub call: CallId,
    /// The outcome with its result.
    pub outcome: CallOutcome,
    /// A note to the model that follows the turn's results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Text>,
    /// The limit that this call ran into: it cuts the loop once the turn's other calls have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitKind>,
}

/// See [`DelegationFact::Started`](crate::event::DelegationFact::Started).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DelegationStarted {
    /// The call.
    pub call: CallId,
    /// The agent.
    pub agent: Text,
    /// The run that does the task, where the agent runs on the same log.
    pub run: RunId,
    /// Number of this attempt, from 1. A take-over or an answer continues the same child run.
    pub attempt: u32,
    /// The order for the child run.
    #[serde(default, skip_serializing_if = "TaskOrder::is_work")]
    pub order: TaskOrder,
    /// The child run's part of this run's limits on tokens and cost; the same for each attempt.
    #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
    pub budget: Budget,
}

/// The order to the run that does a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskOrder {
    /// The task begins or continues.
    #[default]
    Work,
    /// It goes on with the answer to its question, which was put to people here.
    Answer(Box<InputReceived>),
    /// It comes to its end: the run that handed it the task is being stopped. It may have used something since, and must not
    /// be left open.
    Stop,
}

impl TaskOrder {
    /// The order for a run that is not being stopped.
    pub(crate) fn going_on(self) -> Self {
        if self == Self::Stop { Self::Work } else { self }
    }

    pub(crate) fn is_work(&self) -> bool {
        *self == Self::Work
    }
}

/// See [`DelegationFact::Deferred`](crate::event::DelegationFact::Deferred).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DelegationDeferred {
    /// The call.
    pub call: CallId,
    /// The model whose quota the other agent waits for.
    pub model: Text,
    /// When its quota opens.
    pub until: Millis,
}

/// See [`DelegationFact::Finished`](crate::event::DelegationFact::Finished).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DelegationFinished {
    /// The call.
    pub call: CallId,
    /// The outcome with its result.
    pub outcome: CallOutcome,
    /// Tokens that the other agent used: they count for limits of this run too.
    #[serde(default)]
    pub usage: Usage,
    /// Cost in pico-dollars; `None`: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
    /// The child run's reservations for model calls lost with their process. They count against this run's limits, too.
    #[serde(default, skip_serializing_if = "Amount::is_zero")]
    pub reserved: Amount,
}

/// See [`CallFact::StepBranched`](crate::event::CallFact::StepBranched).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepBranched {
    /// The branches, each as a call of the tool [`BRANCH_TOOL`](crate::tool::BRANCH_TOOL) that no model made.
    pub calls: Vec<ToolCall>,
}
