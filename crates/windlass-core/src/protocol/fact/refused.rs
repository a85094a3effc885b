//! Facts about a conversation, or a tool, that a provider refuses for ever (E58).

use serde::{Deserialize, Serialize};
use windlass_macros::Named;

use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::purpose::Purpose;
use crate::vocabulary::reply::Usage;

/// An item of the conversation that may be why a provider refuses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalCandidate {
    /// The place of its message in the conversation, from 0.
    pub at: u64,
    /// The item.
    #[serde(flatten)]
    pub what: CandidateItem,
}

/// The kinds of items that a provider may refuse for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(tag = "item", rename_all = "snake_case")]
pub enum CandidateItem {
    /// An image.
    Image {
        /// Its place among the message's parts, from 0.
        part: u32,
    },
    /// A file.
    File {
        /// Its place among the message's parts, from 0.
        part: u32,
    },
    /// Reasoning that only its provider can read, made by another model or in an earlier run.
    #[named("reasoning block")]
    Reasoning,
    /// The id of a call that another provider made.
    #[named("call id")]
    CallId {
        /// The id.
        call: CallId,
        /// The id that stands in for it.
        replacement: CallId,
    },
}

/// See [`ModelFact::ProbeAnswered`](super::ModelFact::ProbeAnswered).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeAnswered {
    /// The turn's number.
    pub turn: u32,
    /// Purpose of the call.
    #[serde(default, skip_serializing_if = "Purpose::is_act")]
    pub purpose: Purpose,
    /// Usage as the provider counted it.
    pub usage: Usage,
    /// Name of the model that answered.
    pub model: Text,
}

/// The items that a provider refused, and that placeholders stand for from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefusedItems {
    /// The items, by their places before the change.
    pub items: Vec<RefusalCandidate>,
    /// The model that refused them.
    pub model: Text,
    /// The provider's words.
    pub message: Text,
    /// Whether the search ran out of requests: items that are good may be among these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub search_exhausted: bool,
}

/// A setting of a model that its provider refused, and that is not sent from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefusedSetting {
    /// Its key in agent files.
    pub setting: Text,
    /// The model.
    pub model: Text,
    /// The provider's words.
    pub message: Text,
}

/// A tool that a provider refused, and that is offered no longer from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefusedTool {
    /// Its name.
    pub tool: Text,
    /// The model that refused it.
    pub model: Text,
    /// The provider's words.
    pub message: Text,
}
