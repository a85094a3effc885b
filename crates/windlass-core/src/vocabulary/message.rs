//! Messages: what a conversation is made of, independent of any provider's wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_macros::Named;

use crate::vocabulary::annotations::Annotations;
use crate::vocabulary::call_args::{CallArgs, Span};
use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::payload::Ref;

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
pub enum Message {
    /// Instructions that stand above the conversation.
    System {
        /// The instructions.
        text: Text,
    },
    /// A message of the user, a person or a program.
    User {
        /// Content of the message.
        content: Content,
        /// Whether no compaction may remove it, in later runs of the session either.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pinned: bool,
    },
    /// A task that another agent hands over; models see it as a user message (KAOS' role `task-delegation`).
    TaskDelegation {
        /// The task.
        content: Content,
    },
    /// The model's reply: text, reasoning and tool calls, each optional.
    Assistant(AssistantMessage),
    /// The one result of one tool call.
    Tool(ToolMessage),
}

/// The message of the model in one turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AssistantMessage {
    /// The whole text as the model wrote it, with the calls that were read from it; none if there was none.
    pub text: Option<Text>,
    /// The reasoning, if the provider shows it.
    pub reasoning: Option<Reasoning>,
    /// Images and files that the model made, in order.
    pub media: Box<[Media]>,
    /// The tool calls, in the model's order.
    pub calls: Vec<ToolCall>,
    /// Steps of the provider's own tools, sources, and probabilities of tokens; they are not sent back.
    pub annotations: Option<Box<Annotations>>,
}

/// The result of a tool call as the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolMessage {
    /// The call that this answers.
    pub call: CallId,
    /// The tool's name.
    pub name: Text,
    /// The result.
    pub content: Content,
    /// Whether the call failed, was denied, skipped or interrupted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// Target of a call in a text form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallTarget {
    /// A tool, which may be another agent as well.
    #[default]
    Tool,
    /// Another agent, in the form for tasks (KAOS' `delegate` block): no tool is meant.
    Agent,
}

impl CallTarget {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
    pub(crate) fn is_tool(&self) -> bool {
        *self == Self::Tool
    }
}

/// A tool call that the model asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Our id: the provider's if it was usable and new, else a generated one.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: Text,
    /// The arguments, as the JSON text that the model wrote (it need not parse: that is a malformed call).
    pub args: CallArgs,
    /// Position of the call in the reply's text or reasoning, if it was read from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Span>,
    /// The provider's own id, where it differs from ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<Text>,
    /// Target of the call.
    #[serde(default, skip_serializing_if = "CallTarget::is_tool")]
    pub target: CallTarget,
    /// Parse error, if its text form could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Text>,
}

impl ToolCall {
    fn bytes(&self) -> usize {
        self.name.len() + self.args.len()
    }
}

/// The reasoning of a model before its answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The readable part, which may be empty.
    pub text: Text,
    /// A signature or encrypted form that must go back unchanged, and only to the provider that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_metadata: Option<ProviderMetadata>,
}

impl Reasoning {
    /// The number of bytes that go back to its provider: none where nothing is sealed.
    fn bytes_back(&self) -> u64 {
        self.provider_metadata.as_ref().map_or(0, |sealed| (self.text.len() + sealed.data.len()) as u64)
    }
}

/// Reasoning in a form that only its provider can read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProviderMetadata {
    /// The provider that made it (`openai`, `anthropic`, …).
    pub provider: Text,
    /// Its signature or encrypted content.
    pub data: Text,
}

/// Text, or text mixed with media.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Plain text.
    Text(Text),
    /// Several parts, in order.
    Parts(Vec<Part>),
}

/// A part of a message's content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Text.
    Text {
        /// The text.
        text: Text,
    },
    /// An image, by reference or inline.
    Image(Media),
    /// A file or embedded resource, by reference or inline.
    File(Media),
    /// A text too long for an event: models see its ends and read the rest by ranges.
    Stored(Ref),
}

/// Bytes with a media type, by reference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Media {
    /// The media type, such as `image/png` (RFC 6838).
    pub media_type: Text,
    /// A name for people, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// Location of the bytes.
    pub source: MediaSource,
}

/// The place of the bytes of a [`Media`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaSource {
    /// In place, in base64 (RFC 4648, 4).
    Base64(Text),
    /// A URL that the provider fetches itself.
    Url(Text),
    /// The provider's id of a file that was uploaded to it.
    ProviderFile(Text),
    /// In the log's content-addressed store, in the base64 form.
    Stored(Ref),
}

impl Media {
    /// The number of bytes as they stand in a request: base64, an address, or the ends of what is stored.
    pub fn bytes(&self) -> u64 {
        match &self.source {
            MediaSource::Base64(data) => data.len() as u64,
            MediaSource::Url(place) | MediaSource::ProviderFile(place) => place.len() as u64,
            MediaSource::Stored(stored) => (stored.head.len() + stored.tail.len()) as u64,
        }
    }
}

impl Part {
    /// Its text, if it is one.
    pub(crate) fn text(&self) -> Option<&Text> {
        match self {
            Self::Text { text } => Some(text),
            Self::Stored(_) | Self::Image(_) | Self::File(_) => None,
        }
    }
}

impl Content {
    /// The text of all text parts, one after another; of stored ones what models see in their place.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Text(text) => text.as_ref().into(),
            Self::Parts(parts) => parts
                .iter()
                .filter_map(|part| match part {
                    Part::Text { text } => Some(std::borrow::Cow::from(text.as_ref())),
                    Part::Stored(stored) => Some(stored.placeholder().into()),
                    Part::Image(_) | Part::File(_) => None,
                })
                .collect::<Vec<_>>()
                .join("\n")
                .into(),
        }
    }

    /// Words it by a template with one `place`, where the first text comes.
    pub(crate) fn word(&mut self, template: &str, place: &str) {
        let (before, after) = template.split_once(place).unwrap_or((template, ""));
        let around = |text: &Text| Text::from(format!("{before}{text}{after}"));
        match self {
            Self::Text(text) => *text = around(text),
            Self::Parts(parts) => {
                let first = parts.iter_mut().find_map(|part| match part {
                    Part::Text { text } => Some(text),
                    Part::Stored(_) | Part::Image(_) | Part::File(_) => None,
                });
                // What is stored is no text yet, and is sent whole behind these words.
                match first {
                    Some(text) => *text = around(text),
                    None => {
                        parts.insert(0, Part::Text { text: format!("{before}{after}").trim_end().into() });
                    }
                }
            }
        }
    }

    /// The number of bytes of text and inline media: the base of token estimates.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Parts(parts) => parts.iter().map(Part::bytes).sum(),
        }
    }
}

impl Part {
    /// The number of bytes of its text or inline media.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Text { text } => text.len() as u64,
            Self::Stored(stored) => (stored.head.len() + stored.tail.len()) as u64,
            Self::Image(media) | Self::File(media) => media.bytes(),
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl Message {
    /// Whether it is a system message.
    pub fn instructs(&self) -> bool {
        matches!(self, Self::System { .. })
    }

    /// Whether a person or another agent said it.
    pub(crate) fn is_incoming(&self) -> bool {
        matches!(self, Self::User { .. } | Self::TaskDelegation { .. })
    }

    /// Whether no compaction may remove it.
    pub fn is_pinned(&self) -> bool {
        matches!(self, Self::User { pinned: true, .. })
    }

    /// The same, pinned: no compaction may remove it. Only user messages can be.
    #[must_use]
    pub fn pinned(self) -> Self {
        if let Self::User { content, .. } = self { Self::User { content, pinned: true } } else { self }
    }

    /// A user message of plain text.
    pub fn user(text: impl Into<Text>) -> Self {
        Self::User { content: Content::Text(text.into()), pinned: false }
    }

    /// A system message.
    pub fn system(text: impl Into<Text>) -> Self {
        Self::System { text: text.into() }
    }

    /// An assistant message of plain text.
    pub fn assistant(text: impl Into<Text>) -> Self {
        Self::Assistant(AssistantMessage { text: Some(text.into()), ..AssistantMessage::default() })
    }

    /// The role's name, as fixtures and exports write it.
    pub fn role(&self) -> &'static str {
        match self {
            Self::System { .. } => "system",
            Self::User { .. } => "user",
            Self::TaskDelegation { .. } => "task-delegation",
            Self::Assistant(_) => "assistant",
            Self::Tool(_) => "tool",
        }
    }

    /// The number of bytes of text, calls included: the base of token estimates.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::System { text } => text.len() as u64,
            Self::User { content, .. } | Self::TaskDelegation { content } => content.bytes(),
            Self::Assistant(message) => {
                let text = message.text.as_ref().map_or(0, |text| text.len());
                let calls: usize = message.calls.iter().map(ToolCall::bytes).sum();
                let reasoning = message.reasoning.as_ref().map_or(0, Reasoning::bytes_back);
                let media: u64 = message.media.iter().map(Media::bytes).sum();
                (text + calls) as u64 + reasoning + media
            }
            Self::Tool(message) => message.content.bytes(),
        }
    }

    /// Bytes of calls that the text contains, too. They are sent twice only where calls are sent natively.
    pub(crate) fn bytes_again(&self) -> u64 {
        let Self::Assistant(message) = self else { return 0 };
        if !message.has_calls_in_text() {
            return 0;
        }
        message.calls.iter().map(ToolCall::bytes).sum::<usize>() as u64
    }
}

/// The kind of a message to a running agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Named)]
#[serde(rename_all = "snake_case")]
#[named(all)]
pub enum SteerKind {
    /// Something to take into account from here on.
    #[default]
    Steering,
    /// Something that the agent has got wrong.
    Correction,
    /// The meaning of an earlier message.
    Clarification,
    /// Another objective: it takes the place of the instructions from the next turn on.
    Objective,
}

impl SteerKind {
    /// Whether it is the usual kind, which is not written.
    pub fn is_default(&self) -> bool {
        *self == Self::Steering
    }
}
