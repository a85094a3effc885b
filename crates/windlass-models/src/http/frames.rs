//! Owns how the body of a streamed reply is cut into events.

use self::lines::LineReader;
use super::sse::SseParser;

pub mod lines;

/// How a streamed reply is split into events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events (WHATWG HTML, 9.2.6).
    Events,
    /// Lines of JSON.
    Lines,
}

impl Framing {
    /// Whether a content type, without parameters, says that a body is a stream in this form.
    pub(crate) fn is_named_by(self, kind: &str) -> bool {
        match self {
            Self::Events => kind == "text/event-stream",
            Self::Lines => matches!(kind, "application/x-ndjson" | "application/jsonl"),
        }
    }
}

/// An event is longer than its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventTooLong;

/// The reader of a stream: bytes go in, the data of whole events come out.
#[derive(Debug)]
pub(crate) enum Frames {
    Events(SseParser),
    Lines(LineReader),
}

impl Frames {
    pub(crate) fn bounded(framing: Framing, max_event_bytes: usize) -> Self {
        match framing {
            Framing::Events => Self::Events(SseParser::bounded(max_event_bytes)),
            Framing::Lines => Self::Lines(LineReader::bounded(max_event_bytes)),
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        match self {
            Self::Events(parser) => parser.push(bytes),
            Self::Lines(reader) => reader.push(bytes),
        }
    }

    /// Nothing more will come: what stands counts as whole.
    pub(crate) fn end(&mut self) {
        match self {
            Self::Events(parser) => parser.end(),
            Self::Lines(reader) => reader.end(),
        }
    }

    /// Finds the next whole event and says how many bytes of [`data`](Self::data) it has; `None`: more bytes are needed.
    pub(crate) fn find(&mut self) -> Option<usize> {
        match self {
            Self::Events(parser) => parser.next_event(),
            Self::Lines(reader) => reader.find(),
        }
    }

    /// Whether something came that is not of the framing. Each line that is not blank is an event of lines.
    pub(crate) fn is_foreign(&self) -> bool {
        match self {
            Self::Events(parser) => parser.is_foreign(),
            Self::Lines(_) => false,
        }
    }

    /// The data of the event that was found last, until more bytes are added.
    pub(crate) fn data(&self) -> &[u8] {
        match self {
            Self::Events(parser) => parser.data(),
            Self::Lines(reader) => reader.line(),
        }
    }
}
