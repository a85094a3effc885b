//! Questions to people, and their answers.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_macros::Named;

use crate::vocabulary::ids::Text;
use crate::vocabulary::limit::LimitKind;

/// The kind of a question: which answers fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "snake_case")]
#[named(copy)]
pub enum QuestionKind {
    /// May this call run? Answers: [`Answer::Approve`], [`Answer::ApproveWith`], [`Answer::Always`], [`Answer::Deny`].
    Approval,
    /// A question that the agent asks with the tool `ask`. Answer: [`Answer::Text`].
    Clarify,
    /// Did this call happen before the crash? Answers: [`Answer::Result`], [`Answer::RunAgain`], [`Answer::Unknown`].
    Outcome,
    /// Is this plan right? Answers: [`Answer::Accept`], [`Answer::Plan`], [`Answer::Conclude`], [`Answer::Final`].
    Plan,
    /// The result of a step that failed. Answer: [`Answer::Result`].
    Result,
    /// Somebody has paused the run. Answer: [`Answer::Resume`].
    Pause,
    /// The key of a model was refused, and can be renewed. Answer: [`Answer::Retry`].
    Auth,
    /// A limit is reached. Answers: [`Answer::Conclude`], [`Answer::Final`], [`Answer::Raise`].
    Limit(LimitKind),
}

impl QuestionKind {
    /// The answers that fit, in words.
    pub fn expects(self) -> &'static str {
        match self {
            Self::Approval => {
                "approve, always, deny (with or without a reason) or approve with other arguments"
            }
            Self::Clarify => "a text",
            Self::Outcome => "the call's result, run_again or unknown",
            Self::Plan => "accept, another plan with its next step, a final answer, or conclude with a text",
            Self::Result => "the step's result",
            Self::Pause => "resume, with or without a message to the agent",
            Self::Auth => "retry, once the key is renewed",
            Self::Limit(_) => "conclude with a text, a final answer, or raise the limit to a number",
        }
    }
}

impl fmt::Display for QuestionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Named)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The call may run as it is.
    Approve,
    /// The call may run with these arguments instead.
    #[named("approve with other arguments")]
    ApproveWith {
        /// The arguments: an object that fits the tool's schema.
        args: Value,
    },
    /// The call may run as it is, and so may all later calls of its tool in this session (without a session: in this run), as
    /// long as the tool stays as it is.
    Always,
    /// The call must not run.
    Deny {
        /// Why; the model is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Text>,
    },
    /// A text.
    #[named("a text")]
    Text(Text),
    /// The call happened, with this result.
    #[named("a result")]
    Result(Text),
    /// The call did not happen, or may happen twice: run it again.
    RunAgain,
    /// Unknown; the model is told so.
    Unknown,
    /// The plan is right.
    Accept,
    /// Another plan instead.
    #[named("another plan")]
    Plan {
        /// One line a step.
        plan: Vec<Text>,
        /// Its next step, as a decision names it: `description`, `type`, `code`, `conclusion`. `None`: the model decides on it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<Value>,
    },
    /// The pause is over.
    Resume {
        /// A message to the agent, which enters at the next turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<Text>,
    },
    /// The key was renewed: the model is asked again.
    Retry,
    /// End the run with this text. Without one: with the last result that there is.
    Conclude(Text),
    /// End the run with this answer, and say how certain it is (the JSON form of the Session 10 agent).
    #[named("a final answer")]
    Final {
        /// The answer.
        final_answer: Text,
        /// Confidence, as a number in a text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confidence: Option<Text>,
        /// Whether the answer reaches the goal of the query.
        original_goal_achieved: bool,
    },
    /// Set the limit to this number (in the unit that people write: seconds, dollars, counts).
    Raise(f64),
}

impl Answer {
    /// Whether this answer fits a question of that kind.
    pub fn fits(&self, kind: QuestionKind) -> bool {
        match kind {
            QuestionKind::Approval => {
                matches!(self, Self::Approve | Self::ApproveWith { .. } | Self::Always | Self::Deny { .. })
            }
            QuestionKind::Clarify => matches!(self, Self::Text(_)),
            QuestionKind::Outcome => matches!(self, Self::Result(_) | Self::RunAgain | Self::Unknown),
            QuestionKind::Plan => {
                matches!(self, Self::Accept | Self::Plan { .. } | Self::Conclude(_) | Self::Final { .. })
            }
            QuestionKind::Result => matches!(self, Self::Result(_)),
            QuestionKind::Pause => matches!(self, Self::Resume { .. }),
            QuestionKind::Auth => matches!(self, Self::Retry),
            QuestionKind::Limit(_) => {
                matches!(self, Self::Conclude(_) | Self::Final { .. } | Self::Raise(_))
            }
        }
    }

    /// The text that ends the run, if this answer ends it; empty: with the last result that there is.
    pub fn conclusion(&self) -> Option<&Text> {
        match self {
            Self::Conclude(text) | Self::Final { final_answer: text, .. } => Some(text),
            Self::Approve
            | Self::ApproveWith { .. }
            | Self::Always
            | Self::Deny { .. }
            | Self::Text(_)
            | Self::Result(_)
            | Self::RunAgain
            | Self::Unknown
            | Self::Accept
            | Self::Plan { .. }
            | Self::Resume { .. }
            | Self::Retry
            | Self::Raise(_) => None,
        }
    }
}
