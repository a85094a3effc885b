//! Status of a run and outcome of a call.

use std::fmt;

use serde::{Deserialize, Serialize};
use windlass_macros::Named;

use crate::vocabulary::ids::Text;
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::message::Content;

/// The status of a run that has ended. *Suspended* is no end: such a run waits and goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "snake_case")]
#[named(copy)]
pub enum Status {
    /// The model (or a hook) gave the answer.
    Answered,
    /// A concluding step or a person ended it with a text.
    Concluded,
    /// The agent asks back instead of answering (plan loop, NOP).
    Clarification,
    /// A limit cut the loop.
    Limit(LimitKind),
    /// Cancellation was requested.
    Cancelled,
    /// It cannot go on.
    Failed(FailKind),
}

/// Why a run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "snake_case")]
#[named(all)]
pub enum FailKind {
    /// Replies were cut off at the token limit.
    Truncated,
    /// The model declined to answer.
    Refused,
    /// The provider's filter cut the replies off.
    Filtered,
    /// A reply was longer than its model's `max_reply_bytes`.
    TooLarge,
    /// The model neither called a tool nor answered.
    NoCall,
    /// The model's calls could not be understood.
    Malformed,
    /// The output never fitted its schema.
    Parse,
    /// The model answered before required tools had succeeded.
    Unproven,
    /// No model could be reached or would answer.
    Model,
    /// A tool failed in a way that ends the run.
    Tool,
    /// A hook aborted the run.
    Hook,
    /// A delegate failed in a way that ends the run.
    Delegate,
    /// A defect of Windlass.
    Internal,
}

impl fmt::Display for FailKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(limit) => write!(f, "limit({limit})"),
            Self::Failed(kind) => write!(f, "failed({kind})"),
            Self::Answered | Self::Concluded | Self::Clarification | Self::Cancelled => {
                f.write_str(self.name())
            }
        }
    }
}

/// The outcome of a call. Each call has exactly one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum CallOutcome {
    /// It ran and gave a result.
    Ok {
        /// The result.
        content: Content,
    },
    /// It ran and failed.
    Error {
        /// The error's kind (a type name, a code), if the tool gave one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<Text>,
        /// The error.
        message: Text,
    },
    /// It did not end within its time.
    TimedOut {
        /// The time it had, in milliseconds.
        after_ms: u64,
    },
    /// Its arguments are no JSON, or break the tool's schema.
    Malformed {
        /// Validation errors with their places.
        message: Text,
    },
    /// A call of the finish tool whose output does not fit: the model is asked to call it again.
    Rejected {
        /// Validation errors with their places.
        message: Text,
    },
    /// The tool does not exist or is not offered.
    UnknownTool {
        /// Tools with the nearest names.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        nearest: Vec<Text>,
    },
    /// A person or the policy forbade it.
    Denied {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Text>,
        /// The party that denied it.
        #[serde(default, skip_serializing_if = "DeniedBy::is_person")]
        by: DeniedBy,
    },
    /// It was not run.
    Skipped {
        /// Why.
        reason: Text,
    },
    /// It was stopped before it ended.
    Interrupted,
    /// It was to stop before it ended, ignored that, and was left behind or killed.
    Abandoned,
    /// It had started when the process died; whether it happened is unknown.
    Unknown,
}

/// The origin of a denial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeniedBy {
    /// A model that verified it.
    Verifier,
    /// A person who was asked.
    #[default]
    Person,
    /// The policy, without a question to a person.
    Policy,
}

impl DeniedBy {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
    fn is_person(&self) -> bool {
        *self == Self::Person
    }
}

impl CallOutcome {
    /// The result that the call gave.
    pub fn content(&self) -> Option<&Content> {
        let Self::Ok { content } = self else { return None };
        Some(content)
    }

    /// Whether the call gave a result.
    pub fn is_ok(&self) -> bool {
        matches!(self, Self::Ok { .. })
    }

    /// Whether another try may help: the tool ran and failed, or ran out of time.
    pub fn may_retry(&self) -> bool {
        matches!(self, Self::Error { .. } | Self::TimedOut { .. })
    }
}
