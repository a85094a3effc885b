//! Following a run: facts and pieces, each with the position behind it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_macros::Named;

use crate::runs::Event;

/// Something new of a run. In an event stream, the event's name is the `type`, and its id the position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Named)]
#[named(names)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Update {
    /// The events of one append, which is atomic.
    Events {
        /// The events, in order.
        events: Vec<Event>,
    },
    /// A piece of a reply's text.
    Text {
        /// The model call, by the number of the event that freed it.
        action: u64,
        /// The piece.
        text: String,
    },
    /// A piece of a reply's reasoning.
    Reasoning {
        /// The model call.
        action: u64,
        /// The piece.
        text: String,
    },
    /// A piece of a tool call.
    Call {
        /// The model call.
        action: u64,
        /// The call's place in the reply.
        index: Option<u32>,
        /// The tool, with the first piece.
        name: Option<String>,
        /// A piece of its arguments, which are JSON.
        args: String,
    },
    /// The output as far as it was written.
    Partial {
        /// The model call.
        action: u64,
        /// The output.
        output: Value,
    },
    /// The pieces of this model call so far are void: the reply is written anew.
    Void {
        /// The model call.
        action: u64,
    },
    /// A line for people.
    Log {
        /// Whether it is a warning.
        warning: bool,
        /// The line.
        text: String,
    },
    /// A request to the run was refused.
    Refused {
        /// Its code.
        code: String,
        /// Why.
        message: String,
    },
}

/// An update with the position behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Positioned {
    /// The position behind the update: who comes back with it sees what follows. It is opaque, and stays valid over restarts.
    pub position: String,
    /// The update.
    pub update: Update,
}

/// The reply of a long poll.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Updates {
    /// What is new, in order.
    pub updates: Vec<Positioned>,
    /// The position to ask from next.
    pub position: String,
    /// Why nothing more comes; `null`: ask again.
    pub end: Option<EndReason>,
}

/// The last event of a stream (`end`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamEnd {
    /// Why nothing more comes.
    pub reason: EndReason,
    /// The position to come back to.
    pub position: String,
    /// The error's words, where the log failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Why nothing more comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The run has ended, and all was sent.
    Finished,
    /// The run waits for something outside, and the request asked to be told then.
    Waiting,
    /// The server ends: come back to the position.
    Restarting,
    /// The stream has lasted as long as one may: come back to the position.
    Expired,
    /// The log failed.
    Failed,
}
