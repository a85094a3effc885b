//! Runs as they are read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windlass_core::RunId;
use windlass_core::model::Usage;

/// A line of a listing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// Its agent's name.
    pub agent: String,
    /// Its owner.
    pub owner: String,
    /// Its session.
    pub session: Option<String>,
    /// The run that started it.
    pub parent: Option<RunId>,
    /// Its state in words: `running`, `interrupted` (it has no driver), `suspended`, or how it ended, such as `answered` or
    /// `limit(model_calls)`.
    pub status: String,
    /// Number of its events: its version.
    pub events: u64,
    /// When it began.
    pub started_at: u64,
    /// When its last event was written.
    pub updated_at: u64,
    /// When it ended.
    pub ended_at: Option<u64>,
    /// Its cost so far; `null`: a price is unknown.
    pub cost_usd: Option<f64>,
    /// The beginning of the question that it waits with.
    pub question: Option<String>,
    /// The beginning of its input.
    pub title: String,
    /// The process that drives it.
    pub holder: Option<String>,
    /// When a suspended run goes on by itself.
    pub wakes_at: Option<u64>,
    /// Whether messages are queued in its session, which a later run of it answers.
    #[serde(default)]
    pub queued: bool,
    /// The use of its own model calls so far, without those of its child runs; `null`: it is not known.
    #[serde(default)]
    pub spend: Option<Spend>,
}

/// What the model calls of a run have used, without those of its child runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spend {
    /// Tokens of requests, cached ones included.
    pub input: u64,
    /// Tokens of replies, reasoning included.
    pub output: u64,
    /// Tokens that came from a provider's cache.
    pub cached: u64,
    /// Tokens that were written to a provider's cache.
    pub cache_write: u64,
    /// Tokens of reasoning.
    pub reasoning: u64,
    /// The cost, as far as prices are known.
    pub known_cost_usd: f64,
    /// Tokens whose price is unknown.
    pub unpriced: u64,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The run.
    pub run: RunId,
    /// Its state in words, as in [`RunSummary::status`].
    pub status: String,
    /// Its line in a listing.
    pub summary: RunSummary,
    /// The position behind its last event: following from here shows only what is new.
    pub position: String,
    /// Its answer.
    pub text: Option<String>,
    /// Its typed output.
    pub output: Option<Value>,
    /// The sources that its answer cites, each once: title, address (`url`), or file at the provider.
    #[serde(default)]
    pub sources: Vec<Source>,
    /// Why it failed.
    pub error: Option<String>,
    /// Tokens used.
    pub usage: Usage,
    /// Cost; `null`: a price is unknown.
    pub cost_usd: Option<f64>,
    /// Model calls made.
    pub model_calls: u64,
    /// Tool calls made.
    pub tool_calls: u64,
    /// The questions that it waits with.
    pub questions: Vec<Question>,
    /// The calls with an effect that it made.
    pub receipts: Vec<Value>,
    /// How often its model call was lost with its process, if so often that only `resume` takes it up; `null`: it was not.
    pub given_up_after: Option<u64>,
    /// Its agent, the limit that cut it, limits that were exceeded, and a quota that it waits for.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// A page or file that an answer cites.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The name or id of a file at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// An open question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// Its id, used once in a run.
    pub id: String,
    /// Its digest: an answer names both, as `q1@3f2a91bc` (E75).
    pub digest: String,
    /// `approval`, `clarify`, `outcome`, `plan`, `result`, `pause`, `auth` or `limit`.
    pub kind: String,
    /// The tool call that it is about.
    pub call: Option<String>,
    /// The question.
    pub text: String,
    /// Answers to choose from.
    pub suggestions: Vec<String>,
    /// The answers that fit, in words.
    pub expects: String,
    /// The agent below that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its number; the first one is 1.
    pub seq: u64,
    /// When it happened.
    pub at: u64,
    /// Its name, such as `TurnCompleted`.
    pub event: String,
    /// Its fields, as in the log.
    pub data: Value,
    /// With the first event of an append: the input that caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Value>,
}

/// Events of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Events {
    /// The events, in order.
    pub items: Vec<Event>,
    /// The number of the event to ask from next; `null`: these were the last ones.
    pub next: Option<u64>,
}

/// A report on a run, or on two. Its fields are those of the command line's `--json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Its kind, such as `costs`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its fields.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// The long texts and files that a run keeps outside its events, and the images, sound and files that its models made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Artifacts {
    /// The artifacts, in the order of the events that brought them.
    pub items: Vec<Artifact>,
}

/// A long text or file that a run keeps, or one that its model made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// SHA-256 of its bytes, by which they are read.
    pub sha256: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// Its beginning, if it is text.
    pub head: String,
    /// Its media type, if a model made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Its name, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The event that brought it.
    pub seq: u64,
    /// The name of that event.
    pub event: String,
}
