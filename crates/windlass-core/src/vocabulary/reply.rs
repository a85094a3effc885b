//! The result of a model call: a whole reply, or a failure classified by its remedy.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_macros::Named;

use crate::vocabulary::annotations::Annotations;
use crate::vocabulary::ids::Text;
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::message::{Content, Media, Reasoning};

/// A whole reply of a model, as the wire gave it: call ids may be missing, arguments may be no JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The text; `None` where the provider sent none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
    /// The reasoning, if the provider shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// Images and files that the model made, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// Native tool calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ReplyCall>,
    /// Steps of the provider's own tools, sources, and probabilities of tokens, if it sent some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Box<Annotations>>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// Usage as the provider counted it.
    pub usage: Usage,
    /// The model that answered, by the name that was asked for.
    pub model: Text,
}

/// A native tool call as the wire gave it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplyCall {
    /// The provider's id: may be missing, empty or used before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Text>,
    /// The tool's name.
    pub name: Text,
    /// The arguments as text; models are known to send no JSON.
    pub args: Text,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "snake_case")]
#[named(all)]
pub enum StopReason {
    /// It was done.
    #[default]
    Stop,
    /// It asks for tools.
    ToolCalls,
    /// The token limit cut it off.
    Length,
    /// It declined to answer.
    Refused,
    /// The provider's content filter cut it off.
    Filtered,
    /// The provider paused it amid its own work: it goes on once the reply is sent back (Anthropic's `pause_turn`).
    Paused,
}

/// Tokens used, as the provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    pub input: u64,
    /// Tokens of the reply, reasoning included.
    pub output: u64,
    /// Tokens of the request that came from the provider's cache (part of `input`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Tokens of the request that were written to the provider's cache (part of `input`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Tokens of the reply that were reasoning (part of `output`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// Whether the numbers are our own estimate (a quarter of the bytes), because the provider sent none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// The cost that the provider reported itself, in pico-dollars; 0: it reported none.
    #[serde(default, skip_serializing_if = "Pico::is_none")]
    #[schemars(with = "u64")]
    pub reported: Pico,
}

/// An amount in pico-dollars, up to 72,057 USD: it takes the room beside a flag, for there are many counts.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct Pico([u8; 7]);

impl Pico {
    /// The amount.
    pub fn get(self) -> u64 {
        self.0.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
    }

    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.0 == [0; 7]
    }
}

impl From<u64> for Pico {
    /// An amount that is too large becomes the largest.
    fn from(pico: u64) -> Self {
        let mut kept = [u8::MAX; 7];
        if pico >> 56 == 0 {
            kept.iter_mut().zip(pico.to_le_bytes()).for_each(|(kept, byte)| *kept = byte);
        }
        Self(kept)
    }
}

impl From<Pico> for u64 {
    fn from(pico: Pico) -> Self {
        pico.get()
    }
}

impl std::fmt::Debug for Pico {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// All tokens: input and output.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Adds another call's usage.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.estimated |= other.estimated;
        self.reported = self.reported.get().saturating_add(other.reported.get()).into();
    }
}

/// A model call that gave no reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelFailure {
    /// Kind of failure: decides whether a retry or another model can help.
    pub kind: FailureKind,
    /// The HTTP status, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's own words, or ours where it said nothing. Secrets are masked already.
    pub message: Text,
    /// Delay that the provider asks for, in milliseconds (`Retry-After`, RFC 9110, 10.2.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Whether it is about a quota that no wait refills: asking again is in vain.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_final: bool,
    /// Time limit that the call reached, in milliseconds, if it failed at one. The longest that is told are 49 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u32>,
    /// The part of the request that the server refuses, if its words name one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuses: Option<Refusal>,
    /// Parts that few failures have. In the log their fields stand beside the others.
    #[serde(flatten, with = "detail", skip_serializing_if = "Option::is_none")]
    pub detail: Option<Box<FailureDetail>>,
    /// Usage that was charged in spite of the failure (the stream broke after its usage was sent).
    #[serde(default)]
    pub usage: Usage,
    /// The model that was asked.
    pub model: Text,
}

/// Parts of a [`ModelFailure`] that few failures have.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FailureDetail {
    /// The tool that the server refuses the request for, if its words name one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Text>,
    /// The setting of the model that the server refuses the request for, by its key in agent files, if its words name one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<Text>,
    /// The body that the server sent, up to [`KEPT_REPLY_BYTES`] of it. Secrets are masked; bytes that are no UTF-8 are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Content>,
    /// Whether `reply` is only the beginning of what the server sent.
    #[serde(default, rename = "reply_cut", skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

/// The body is left out: a failure that is printed stays short.
impl fmt::Debug for FailureDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.reply.as_ref().map(|reply| reply.text().len());
        let mut debug = f.debug_struct("FailureDetail");
        debug.field("tool", &self.tool).field("setting", &self.setting);
        debug.field("reply_bytes", &bytes).field("is_cut", &self.is_cut).finish()
    }
}

/// The stored form of a failure's detail: without any of its fields there is none.
mod detail {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::vocabulary::reply::FailureDetail;

    #[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
    pub(crate) fn serialize<S: Serializer>(
        detail: &Option<Box<FailureDetail>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        detail.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Box<FailureDetail>>, D::Error> {
        let detail = FailureDetail::deserialize(deserializer)?;
        Ok((detail != FailureDetail::default()).then(|| Box::new(detail)))
    }
}

/// Maximum number of bytes that are kept of the body of a failed model call (64 KiB).
pub const KEPT_REPLY_BYTES: usize = 64 * 1024;

impl std::fmt::Display for ModelFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "model {} failed", self.model)?;
        // The provider's words name it already.
        if let Some(status) = self.status.filter(|status| !self.message.contains(&format!("({status})"))) {
            write!(f, " (HTTP {status})")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl ModelFailure {
    /// A failure of this kind, without a status, a wait, or anything paid.
    pub fn new(kind: FailureKind, message: impl Into<Text>, model: impl Into<Text>) -> Self {
        Self {
            kind,
            status: None,
            message: message.into(),
            retry_after_ms: None,
            is_final: false,
            after_ms: None,
            refuses: None,
            detail: None,
            usage: Usage::default(),
            model: model.into(),
        }
    }

    /// The tool that the server refuses the request for, if its words name one.
    pub fn tool(&self) -> Option<&Text> {
        self.detail.as_ref()?.tool.as_ref()
    }

    /// The setting that the server refuses the request for, if its words name one.
    pub fn setting(&self) -> Option<&Text> {
        self.detail.as_ref()?.setting.as_ref()
    }

    /// Whether its words may name a setting: the request was refused, and not for a part of it that is known already.
    pub fn may_name_setting(&self) -> bool {
        matches!(self.kind, FailureKind::BadRequest | FailureKind::Unsupported)
            && self.refuses.is_none()
            && self.tool().is_none()
    }

    /// The body that the server sent, as far as it is kept.
    pub fn reply(&self) -> Option<&Content> {
        self.detail.as_ref()?.reply.as_ref()
    }

    /// The same failure with the reply of another: `None` takes it away.
    #[must_use]
    pub fn with_reply_of(mut self, other: Option<&Self>) -> Self {
        let kept = other.and_then(|other| other.detail.as_deref()).filter(|detail| detail.reply.is_some());
        let (tool, setting) =
            self.detail.take().map(|detail| (detail.tool, detail.setting)).unwrap_or_default();
        self.detail = match kept {
            Some(kept) => Some(FailureDetail { tool, setting, ..kept.clone() }),
            None if tool.is_none() && setting.is_none() => None,
            None => Some(FailureDetail { tool, setting, ..FailureDetail::default() }),
        }
        .map(Box::new);
        self
    }

    /// Whether tools are what the model or its server refuses: the wire has read so from the reply.
    pub fn refuses_tools(&self) -> bool {
        match self.refuses {
            Some(Refusal::Tools | Refusal::ToolChoice) => true,
            Some(Refusal::Schema) => false,
            None => self.kind == FailureKind::Unsupported,
        }
    }
}

/// The part of a request that a server refuses. Each wire knows the words of its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// Tools of any kind.
    Tools,
    /// A forced choice of a tool.
    ToolChoice,
    /// A schema that the reply must fit.
    Schema,
}

/// Failures of a model call, sorted by what can be done about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// No connection: DNS, refused, reset, TLS.
    Connect,
    /// No first token, no further token, or no end within its time.
    Timeout,
    /// 429.
    RateLimited,
    /// 503 or 529.
    Overloaded,
    /// Another 5xx.
    Server,
    /// The stream broke after it had begun.
    Cut,
    /// The reply is not what the wire promises.
    Protocol,
    /// The reply is longer than the model's `max_reply_bytes`.
    TooLarge,
    /// 400, 413 or 422: the request itself is at fault.
    BadRequest,
    /// 401 or 403.
    Auth,
    /// 404: no such model or path.
    NotFound,
    /// The conversation is longer than the model's window.
    ContextLength,
    /// The model or server knows no tools, no forced tool choice, or no schemas of replies.
    Unsupported,
    /// The call was stopped from this side.
    Cancelled,
    /// The budget that the run shares with others has too little left of this limit: nothing was sent.
    OverBudget(LimitKind),
}

impl FailureKind {
    /// Whether the same request may succeed a little later.
    pub fn retryable(self) -> bool {
        matches!(
            self,
            Self::Connect | Self::Timeout | Self::RateLimited | Self::Overloaded | Self::Server | Self::Cut
        )
    }

    /// Whether another model may succeed where this one failed for good: all but a request at fault.
    pub fn may_fall_back(self) -> bool {
        !matches!(self, Self::BadRequest | Self::Cancelled | Self::OverBudget(_))
    }
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerForm {
    /// A text.
    Text,
    /// A value of the output's schema, whose JSON is the text of the reply.
    Output,
}
