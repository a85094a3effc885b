//! A model's reply in the log: its text is stored once, and calls within it as positions.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::protocol::fact::turns::TurnCompleted;
use crate::vocabulary::annotations::Annotations;
use crate::vocabulary::call_args::Span;
use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::message::{AssistantMessage, Media, Reasoning, ToolCall};
use crate::vocabulary::purpose::Purpose;
use crate::vocabulary::reply::{AnswerForm, StopReason, Usage};

/// The text that calls are read from: of a reply without text, its reasoning.
pub(crate) fn source<'t>(text: Option<&'t Text>, reasoning: Option<&'t Reasoning>) -> Option<&'t Text> {
    let filled = text.filter(|text| !text.trim().is_empty());
    filled.or(reasoning.map(|reasoning| &reasoning.text))
}

/// A text without the calls that were read from it. `None`: nothing is left.
fn without_calls(text: Option<&Text>, calls: &[ToolCall]) -> Option<Text> {
    let text = text?;
    let mut places: Vec<Span> = calls.iter().filter_map(|call| call.place).collect();
    if places.is_empty() {
        return Some(text.clone());
    }
    if text.trim().is_empty() {
        return None;
    }
    places.retain(|place| place.in_text(text).is_some());
    places.sort_unstable();
    let (mut left, mut from) = (String::new(), 0);
    for Span(start, end) in places {
        left.push_str(text.get(from..start).unwrap_or_default());
        from = from.max(end);
    }
    left.push_str(text.get(from..).unwrap_or_default());
    let left = left.trim();
    (!left.is_empty()).then(|| left.into())
}

impl AssistantMessage {
    /// The text without the calls that were read from it; `None` if nothing is left.
    pub fn text_without_calls(&self) -> Option<Text> {
        without_calls(self.text.as_ref(), &self.calls)
    }

    /// Whether calls were read from the text, so that it holds them.
    pub fn has_calls_in_text(&self) -> bool {
        self.calls.iter().any(|call| call.place.is_some())
            && self.text.as_ref().is_some_and(|text| !text.trim().is_empty())
    }
}

impl TurnCompleted {
    /// The text without the calls that were read from it; `None` if nothing is left.
    pub fn text_without_calls(&self) -> Option<Text> {
        without_calls(self.text.as_ref(), &self.calls)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AssistantMessage")]
struct StoredMessage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(default, skip_serializing_if = "<[Media]>::is_empty")]
    media: Box<[Media]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    annotations: Option<Box<Annotations>>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TurnCompleted")]
struct StoredTurn {
    turn: u32,
    #[serde(default, skip_serializing_if = "Purpose::is_act")]
    purpose: Purpose,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<CallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(default, skip_serializing_if = "<[Media]>::is_empty")]
    media: Box<[Media]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    annotations: Option<Box<Annotations>>,
    #[serde(default)]
    stop: StopReason,
    usage: Usage,
    model: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    objection: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer_form: Option<AnswerForm>,
}

/// Stores arguments that are a part of the text beside them as the place where they stand there.
macro_rules! stored_once {
    ($($reply:ident as $stored:ident),+) => {$(
        impl Serialize for $reply {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if !self.calls.iter().any(|call| call.args.is_part()) {
                    return $stored::serialize(self, serializer);
                }
                let mut stored = self.clone();
                let text = source(self.text.as_ref(), self.reasoning.as_ref());
                stored.calls.iter_mut().for_each(|call| call.args.relative_to(text));
                $stored::serialize(&stored, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $reply {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut reply = $stored::deserialize(deserializer)?;
                let text = source(reply.text.as_ref(), reply.reasoning.as_ref());
                reply.calls.iter_mut().for_each(|call| call.args.found_in(text));
                Ok(reply)
            }
        }
    )+};
}

stored_once!(AssistantMessage as StoredMessage, TurnCompleted as StoredTurn);

#[cfg(test)]
mod tests;
