//! Turns: calls of models, their replies and failures.

use serde::{Deserialize, Serialize};

use crate::protocol::fact::calls::DelegationFinished;
use crate::protocol::fact::refused::{ProbeAnswered, RefusalCandidate};
use crate::protocol::fact::{DelegationFact, Fact, ModelFact};
use crate::vocabulary::annotations::Annotations;
use crate::vocabulary::ids::{CallId, Millis, Text};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::message::{Media, Reasoning, ToolCall};
use crate::vocabulary::purpose::{Purpose, ToolChoice};
use crate::vocabulary::reply::{AnswerForm, ModelFailure, StopReason, Usage};

/// See [`ModelFact::Started`](super::ModelFact::Started).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnStarted {
    /// The turn's number within the run, from 1; a repeat after a failure keeps it.
    pub turn: u32,
    /// Purpose of the call.
    #[serde(default)]
    pub purpose: Purpose,
    /// The tool call that it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<CallId>,
    /// Index of the model in the run's list, from 0.
    #[serde(default)]
    pub model: u32,
    /// Number of this attempt with this model, from 1.
    pub attempt: u32,
    /// Whether this repeats an attempt that was lost with its process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after_loss: bool,
    /// Allowed calls.
    #[serde(default)]
    pub tool_choice: ToolChoice,
    /// Note to the model, sent with the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Text>,
    /// Items of the conversation that the request leaves out, in the search for the one that the provider refuses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<RefusalCandidate>,
}

impl TurnStarted {
    /// The first attempt of a call, with the first model.
    pub(crate) fn first(turn: u32, purpose: Purpose, choice: ToolChoice) -> Self {
        Self {
            turn,
            purpose,
            about: None,
            model: 0,
            attempt: 1,
            after_loss: false,
            tool_choice: choice,
            note: None,
            without: Vec::new(),
        }
    }
}

/// See [`ModelFact::Completed`](super::ModelFact::Completed).
#[derive(Clone, Debug, PartialEq)]
pub struct TurnCompleted {
    /// The turn's number.
    pub turn: u32,
    /// Purpose of the call.
    pub purpose: Purpose,
    /// The tool call that it was about, if it was about one.
    pub about: Option<CallId>,
    /// The whole text as the model wrote it: the answer, what stands beside the calls, and the calls that were read from it.
    pub text: Option<Text>,
    /// The reasoning.
    pub reasoning: Option<Reasoning>,
    /// Images and files that the model made.
    pub media: Box<[Media]>,
    /// The calls with their final ids, native or read from the text.
    pub calls: Vec<ToolCall>,
    /// Steps of the provider's own tools, sources, and probabilities of tokens.
    pub annotations: Option<Box<Annotations>>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// Usage as the provider counted it.
    pub usage: Usage,
    /// Name of the model that answered.
    pub model: Text,
    /// Objection of the agent's own check to the output of this reply, which fits the schema.
    pub objection: Option<Text>,
    /// The reply was an object by schema, and the text is the answer in it.
    pub answer_form: Option<AnswerForm>,
}

impl TurnCompleted {
    /// Whether it is the model speaking ([`Purpose::speaks`]).
    pub fn speaks(&self) -> bool {
        self.purpose.speaks()
    }
}

/// See [`ModelFact::Failed`](super::ModelFact::Failed).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnFailed {
    /// The turn's number.
    pub turn: u32,
    /// Purpose of the call.
    #[serde(default, skip_serializing_if = "Purpose::is_act")]
    pub purpose: Purpose,
    /// The tool call that it was about, if it was about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<CallId>,
    /// The failure.
    pub failure: ModelFailure,
    /// When it is tried again, with the same model or the next; `None`: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Millis>,
    /// The model to try next, by its place in the run's list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_model: Option<u32>,
    /// Whether `retry_at` is when a quota opens: the run is suspended until then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_quota: bool,
    /// The model whose attempt at the same call goes on, or has brought the reply, by its place in the run's list: this one
    /// was one of two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_model: Option<u32>,
}

/// An attempt at a model call, which sends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelAttempt<'f> {
    /// Purpose of the call.
    pub purpose: Purpose,
    /// The tool call that it is about, if it is about one.
    pub about: Option<&'f CallId>,
    /// The model that is asked, by its place in the run's list.
    pub model: u32,
    /// Whether another attempt at the same call goes on.
    pub alongside: bool,
}

impl Fact {
    /// The attempt at a model call that begins with this fact, if one does.
    pub fn attempt(&self) -> Option<ModelAttempt<'_>> {
        if let Self::Model(ModelFact::Started(turn)) = self {
            let about = turn.about.as_ref();
            Some(ModelAttempt { purpose: turn.purpose, about, model: turn.model, alongside: false })
        } else if let Self::Model(ModelFact::Hedged(turn)) = self {
            let about = turn.about.as_ref();
            Some(ModelAttempt { purpose: turn.purpose, about, model: turn.model, alongside: true })
        } else {
            None
        }
    }

    /// Usage of the model call or of the other agent's task that ends with this fact; `None`: it is no such end.
    pub fn usage(&self) -> Option<&Usage> {
        if let Self::Model(
            ModelFact::Completed(TurnCompleted { usage, .. })
            | ModelFact::Failed(TurnFailed { failure: ModelFailure { usage, .. }, .. })
            | ModelFact::ProbeAnswered(ProbeAnswered { usage, .. }),
        )
        | Self::Delegation(DelegationFact::Finished(DelegationFinished { usage, .. })) = self
        {
            return Some(usage);
        }
        None
    }
}

/// See [`ModelFact::Hedged`](super::ModelFact::Hedged).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnHedged {
    /// The turn's number.
    pub turn: u32,
    /// Purpose of the call.
    #[serde(default, skip_serializing_if = "Purpose::is_act")]
    pub purpose: Purpose,
    /// The tool call that it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<CallId>,
    /// The model that is asked beside the first one, by its place in the run's list.
    pub model: u32,
}

/// See [`ModelFact::HedgeSkipped`](super::ModelFact::HedgeSkipped).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HedgeSkipped {
    /// The turn's number.
    pub turn: u32,
    /// Purpose of the call.
    #[serde(default, skip_serializing_if = "Purpose::is_act")]
    pub purpose: Purpose,
    /// The tool call that it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<CallId>,
    /// The model that would have been asked, by its place in the run's list.
    pub model: u32,
    /// The limit that leaves too little for it; `None`: its price is unknown, and cost is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitKind>,
}
