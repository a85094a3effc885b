//! Payloads that are too large for events: they are stored first, once, and go through the core by name.

use serde::{Deserialize, Serialize};

use crate::vocabulary::ids::Text;
use crate::vocabulary::message::{Content, Media, MediaSource, Message, Part};

/// Default number of bytes above which a tool result is stored apart (64 KiB).
pub const SPILL_BYTES: u64 = 65_536;

/// The name of the tool that reads stored payloads.
pub const READ_RESULT: &str = "read_result";

/// The most bytes of a payload's beginning that stand in its place, and the most of its end.
const SHOWN: u64 = 4_096;

/// Number of digest digits in a handle: 64 bits, unique within one conversation.
const HANDLE_DIGITS: usize = 16;

/// A payload that was stored first and goes through the core by name only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
    pub fn placeholder(&self) -> String {
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

impl Content {
    /// The payloads that this refers to.
    pub fn refs(&self) -> impl Iterator<Item = &Ref> {
        let parts = match self {
            Self::Text(_) => &[][..],
            Self::Parts(parts) => parts,
        };
        parts.iter().filter_map(Part::stored)
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

impl Part {
    /// The payload that it refers to.
    pub fn stored(&self) -> Option<&Ref> {
        match self {
            Self::Stored(stored)
            | Self::Image(Media { source: MediaSource::Stored(stored), .. })
            | Self::File(Media { source: MediaSource::Stored(stored), .. }) => Some(stored),
            Self::Text { .. } | Self::Image(_) | Self::File(_) => None,
        }
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
