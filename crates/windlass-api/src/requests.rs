//! The bodies of requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windlass_core::event::SteerKind;
use windlass_core::{Answer, RunId};

/// A run to be started, or a message to a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRun {
    /// The agent's name.
    pub agent: String,
    /// The input.
    pub input: Input,
    /// The session that the run continues; each owner has sessions of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub session: Option<String>,
    /// Patterns (`*`, `?`) of the tools that the run is given. Default: all of the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_tools: Option<Vec<String>>,
    /// How long the reply is held back for the run to end or to wait, in milliseconds: at most 10,000. Default: 0. Models are asked for
    /// whole replies where it is more than 0, until somebody follows the run: start it with 0 to see each reply as it is written.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = 10_000))]
    pub wait_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// An input: a text, parts of a message, or an object for an agent with typed input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Input {
    /// A text.
    Text(String),
    /// Texts, images and files of one message.
    Parts(Vec<InputPart>),
    /// An object that fits the agent's input schema.
    Object(Map<String, Value>),
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum InputPart {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// Its media type, such as `image/png`.
        media_type: String,
        /// A name for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The bytes.
        source: AttachmentSource,
    },
    /// A file.
    File {
        /// Its media type, such as `application/pdf`.
        media_type: String,
        /// A name for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The bytes.
        source: AttachmentSource,
    },
}

/// The bytes of an attachment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentSource {
    /// In base64 (RFC 4648, 4).
    Base64(String),
    /// A public `https` address, from which the model's provider gets them.
    Url(String),
    /// The provider's id of a file that was uploaded to it.
    ProviderFile(String),
}

/// The fate of a message (E61).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It has begun a run.
    Started,
    /// It has entered the conversation of the session's run.
    Steered,
    /// It waits for the end of the session's run, and the run named here will answer it.
    Queued,
    /// The same request came before under its key: the run named here is its run.
    Repeated,
}

/// The outcome of a start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Started {
    /// The run that answers the message.
    pub run: RunId,
    /// The fate of the message.
    pub fate: Fate,
    /// The run that the message waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<RunId>,
    /// The run's state in words; `null`: it has not begun.
    pub status: Option<String>,
    /// Its answer, if it has ended with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its typed output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The path where it is read.
    pub href: String,
}

/// An answer to a question. The log keeps the owner of the token as the one who gave it: another name would be the client's word alone,
/// so there is no field for one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerQuestion {
    /// The question with its digest, such as `q1@3f2a91bc` (E75).
    pub question: String,
    /// The answer.
    pub answer: Answer,
}

/// A message to a run, which enters at its next turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SteerRun {
    /// The message.
    pub message: String,
    /// Images and files that go with it. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<InputPart>,
    /// The kind of the message: how it is worded for the model. An `objective` is refused (`request.objective`): no client writes an agent's
    /// instructions. Default: `steering`.
    #[serde(default, skip_serializing_if = "SteerKind::is_default")]
    pub kind: SteerKind,
    /// Whether no compaction of the conversation may remove the message. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pin: bool,
    /// The version of the run that its sender saw: one that has gone on refuses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<u64>,
}

/// A pause of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PauseRun {
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The version of the run that its sender saw: one that has gone on refuses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<u64>,
}

/// A request to stop a run for good.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CancelRun {
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The version of the run that its sender saw: one that has gone on refuses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<u64>,
    /// How long the reply is held back for the run to be still, in milliseconds: at most 10,000. Default: 2,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 10_000))]
    pub wait_ms: Option<u64>,
}

/// A run to be taken up: one that was interrupted, that is paused, or that a limit has cut.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResumeRun {
    /// A message to the agent with the end of its pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Limits set anew, by name, in the unit that people write. A run that a limit has cut goes on as a new run.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub limits: Map<String, Value>,
    /// An agent of the server to go on with, in place of the run's own. Needs `seen`: the version that `GET /v1/runs/{run}/switch` compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
    /// The version of the run that its sender saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<u64>,
}

/// A switch of a run to another agent that is to be previewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewSwitch {
    /// The agent of the server that would take the place of the run's own.
    pub with: String,
    /// The number of the event that a fork would stand on. Default: the run's last one, as for `resume`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub at: Option<u64>,
}

/// The preview of a switch of a run to another agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchPreview {
    /// The run.
    pub run: RunId,
    /// The version of the run that was compared: `resume` takes it as `seen`, and refuses a run that has gone on since.
    pub version: u64,
    /// The agent that the run has; `null`: none is known.
    pub from: Option<AgentVersion>,
    /// The agent that it would have.
    pub to: AgentVersion,
    /// The parts that would be different, in words. Empty: it is the run's own agent, or the run was imported and had none here.
    pub changes: Vec<String>,
}

/// An agent as it was at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentVersion {
    /// Its name.
    pub name: String,
    /// SHA-256 over everything about it that a run depends on.
    pub digest: String,
}

/// A new run that continues from any event of another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkRun {
    /// The number of the event that the fork stands on.
    #[schemars(range(min = 1))]
    pub at: u64,
    /// An agent of the server in place of the run's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// A message to the agent, or a new input where the run had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The session of the fork, which must be new. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A request that a run has taken, or will take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Taken {
    /// The run.
    pub run: RunId,
    /// How far the request has come.
    pub state: TakenState,
    /// The run's state in words.
    pub status: String,
    /// The position behind the run's last event.
    pub position: String,
}

/// How far a request to a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TakenState {
    /// The run has taken it.
    Taken,
    /// A process drives the run, and takes it at its next step.
    Posted,
    /// The run has no driver. The next one takes the request with the run.
    Waiting,
    /// The run is being stopped: its end comes with its events.
    Stopping,
    /// The run is still.
    Done,
}
