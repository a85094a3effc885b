//! Payloads that are too large for events: they are stored first, once, and go through the core by name.
//!
//! A model sees the beginning, the end and a line that says how to read more; the tool for that is offered as soon as a
//! conversation holds such a payload, and not before.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::event::{Compacted, Fact, HistoryEdited, MadeCall, RunInput};
use crate::ids::{CallId, Text};
use crate::message::{Content, Media, MediaSource, Message, Part};
use crate::outcome::CallOutcome;
use crate::state::State;
use crate::tool::{ToolKind, ToolSpec};

/// Default number of bytes above which a tool result is stored apart (64 KiB).
pub const SPILL_BYTES: u64 = 65_536;
/// The name of the tool that reads stored payloads.
pub const READ_RESULT: &str = "read_result";
/// The most bytes that one call of [`READ_RESULT`] gives.
pub const READ_MOST: u64 = 32_768;
/// Default number of bytes that a [`READ_RESULT`] call returns.
pub const READ_USUAL: u64 = 8_192;
/// The most bytes of a payload's beginning that stand in its place, and the most of its end.
const SHOWN: u64 = 4_096;
/// Number of digest digits in a handle: 64 bits, unique within one conversation.
const HANDLE_DIGITS: usize = 16;

/// A payload that was stored first and goes through the core by name only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ref {
    /// SHA-256 of the bytes, in lower-case hexadecimal.
    pub sha256: Text,
    /// Length in bytes.
    pub bytes: u64,
    /// The beginning, as models see it.
    pub head: Text,
    /// The end, as models see it.
    pub tail: Text,
}

impl Ref {
    /// Placeholder for a text that is stored under `sha256` because it exceeds `spill_bytes`.
    pub fn to_text(sha256: Text, text: &str, spill_bytes: u64) -> Self {
        let (head, tail) = ends(text, spill_bytes);
        Self { sha256, bytes: text.len() as u64, head: head.into(), tail: tail.into() }
    }

    /// Placeholder for data that models cannot read as text.
    pub fn to_data(sha256: Text, bytes: u64) -> Self {
        Self { sha256, bytes, head: "".into(), tail: "".into() }
    }

    /// The name by which a model reads it: the beginning of the digest.
    pub fn handle(&self) -> &str {
        self.sha256.get(..HANDLE_DIGITS).unwrap_or(&self.sha256)
    }

    /// The text that a model sees in its place.
    pub fn shown(&self) -> String {
        let Self { bytes, head, tail, .. } = self;
        let left = bytes.saturating_sub((head.len() + tail.len()) as u64);
        let (handle, next) = (self.handle(), head.len());
        format!(
            "{head}\n[... {left} of {bytes} bytes are left out here; `{READ_RESULT}` reads them: \
             {{\"handle\": \"{handle}\", \"offset\": {next}}} ...]\n{tail}"
        )
    }
}

/// The beginning and end of a stored text that its placeholder shows, cut at character boundaries.
fn ends(text: &str, spill_bytes: u64) -> (&str, &str) {
    let each = usize::try_from(SHOWN.min(spill_bytes / 2)).unwrap_or_default().min(text.len() / 2);
    let head = text.get(..text.floor_char_boundary(each)).unwrap_or_default();
    let tail = text.get(text.ceil_char_boundary(text.len() - each)..).unwrap_or_default();
    (head, tail)
}

/// A text that is too long and kept nowhere else (an error's words): its beginning and end, and how much is gone.
pub fn shortened(text: &str, spill_bytes: u64) -> String {
    let (head, tail) = ends(text, spill_bytes);
    let left = text.len() - head.len() - tail.len();
    format!("{head}\n[... {left} of {} bytes are left out ...]\n{tail}", text.len())
}

/// The beginning and the end of a text that is to be read once, with at most about so many bytes. More of its beginning stays.
pub fn cut(text: &str, most: u64) -> String {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.get(..text.floor_char_boundary(most / 4 * 3)).unwrap_or_default();
    let tail = text.get(text.ceil_char_boundary(text.len() - most / 4)..).unwrap_or_default();
    let left = text.len() - head.len() - tail.len();
    format!("{head}\n[... {left} of {} bytes are left out ...]\n{tail}", text.len())
}

/// The tool that reads stored payloads, as models are told of it.
pub fn read_result() -> &'static ToolSpec {
    static SPEC: OnceLock<ToolSpec> = OnceLock::new();
    SPEC.get_or_init(|| {
        let parameters = json!({
            "type": "object",
            "properties": {
                "handle": { "type": "string", "description": "The handle that stands where the text was cut." },
                "offset": { "type": "integer", "minimum": 0, "default": 0,
                    "description": "The byte to begin with, from 0." },
                "length": { "type": "integer", "minimum": 1, "maximum": READ_MOST, "default": READ_USUAL,
                    "description": "How many bytes." },
            },
            "required": ["handle"],
            "additionalProperties": false,
        });
        let about = "Reads a part of a long result of which only the beginning and the end were shown.";
        let mut spec = ToolSpec::read_only(READ_RESULT, about, parameters);
        (spec.kind, spec.origin) = (ToolKind::Read, "windlass".into());
        spec
    })
}

impl Content {
    /// The payloads that this refers to.
    pub fn refs(&self) -> impl Iterator<Item = &Ref> {
        let parts = match self {
            Self::Text(_) => &[][..],
            Self::Parts(parts) => parts,
        };
        parts.iter().filter_map(|part| match part {
            Part::Stored(stored)
            | Part::Image(Media { source: MediaSource::Stored(stored), .. })
            | Part::File(Media { source: MediaSource::Stored(stored), .. }) => Some(stored),
            Part::Text { .. } | Part::Image(_) | Part::File(_) => None,
        })
    }

    /// The payloads that a model may read as text.
    pub(crate) fn readable(&self) -> impl Iterator<Item = &Ref> {
        let parts = match self {
            Self::Text(_) => &[][..],
            Self::Parts(parts) => parts,
        };
        parts.iter().filter_map(|part| match part {
            Part::Stored(stored) => Some(stored),
            Part::Text { .. } | Part::Image(_) | Part::File(_) => None,
        })
    }
}

impl Message {
    /// Content of the fact that may hold stored payloads.
    pub fn content(&self) -> Option<&Content> {
        match self {
            Self::User { content, .. } | Self::TaskDelegation { content } => Some(content),
            Self::Tool(result) => Some(&result.content),
            Self::System { .. } | Self::Assistant(_) => None,
        }
    }
}

impl Fact {
    /// The call that this fact ends, and its outcome.
    pub(crate) fn call_end(&self) -> Option<(&CallId, &CallOutcome)> {
        if let Self::CallFinished(finished) = self {
            Some((&finished.call, &finished.outcome))
        } else if let Self::DelegationFinished(finished) = self {
            Some((&finished.call, &finished.outcome))
        } else if let Self::CodeFinished(finished) = self {
            Some((&finished.call, &finished.outcome))
        } else {
            None
        }
    }

    /// The payloads that this fact refers to: a log keeps them as long as it keeps the fact.
    pub fn refs(&self) -> Vec<&Ref> {
        let mut refs: Vec<&Ref> = self.agent_files().into_iter().collect();
        let contents: Vec<&Content> = if let Self::RunStarted(start) = self {
            match &start.input {
                RunInput::Messages(messages) => {
                    messages.iter().filter_map(|message| message.content()).collect()
                }
                RunInput::Fork(fork) => {
                    let own = fork.calls.iter().filter_map(|call| call.outcome.as_ref()?.content());
                    let made = fork.calls.iter().flat_map(|call| &call.made).filter_map(MadeCall::content);
                    own.chain(made).collect()
                }
                RunInput::Continue(_) => Vec::new(),
            }
        } else if let Self::HistoryEdited(HistoryEdited { splices, .. })
        | Self::Compacted(Compacted { splices, .. }) = self
        {
            let inserted = splices.iter().flat_map(|splice| &splice.insert);
            inserted.filter_map(|message| message.content()).collect()
        } else if let Self::TurnFailed(turn) = self {
            turn.failure.reply().into_iter().collect()
        } else {
            self.call_end().and_then(|(_, outcome)| outcome.content()).into_iter().collect()
        };
        refs.extend(contents.into_iter().flat_map(Content::refs));
        refs
    }

    /// The files of the agent that goes on from this fact on.
    pub fn agent_files(&self) -> Option<&Ref> {
        if let Self::RunStarted(start) = self {
            start.agent_files.as_deref()
        } else if let Self::Adjusted(adjusted) = self {
            let switched = adjusted.switched.as_ref().and_then(|switched| switched.agent_files.as_deref());
            switched.or(adjusted.agent_files.as_deref())
        } else {
            None
        }
    }
}

impl State {
    /// The stored payload of this conversation that has that handle.
    pub fn stored(&self, handle: &str) -> Option<&Ref> {
        self.conversation.stored.get(handle)
    }

    /// The handles of what the conversation holds in part only: stored payloads, and what compactions left out.
    pub fn handles(&self) -> impl Iterator<Item = &Text> {
        self.conversation.stored.keys().chain(self.conversation.left_out.keys())
    }

    /// Remembers stored payloads, and offers the tool that reads them from the first one on.
    pub(crate) fn keep_stored(&mut self, content: &Content) {
        for stored in content.readable() {
            let first = !self.conversation.has_more_to_read();
            self.conversation.stored.insert_mut(stored.handle().into(), stored.clone());
            if first {
                self.offer_tools(self.toolbox.own.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
