//! Owns the decoding of a streamed reply: bytes go in, pieces come out. A large event is decoded on another thread.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use serde::de::IgnoredAny;
use windlass_core::model::Usage;
use windlass_threads::{LARGE_BYTES, off_thread};

use super::frames::{EventTooLong, Frames};
use super::mending::{Halves, lenient};
use crate::wires::{Decode, DecodeError};
use crate::{Delta, Progress};

/// The reader of one stream's events.
pub(super) struct EventReader {
    /// `None`: they are away with a large event.
    parts: Option<Box<Parts>>,
    away: Option<Away>,
    queue: VecDeque<Delta>,
    progress: Progress,
    /// Whether content came, and whether the last piece of progress was a thought.
    has_content: bool,
    last_was_thought: bool,
    events: usize,
    /// The usage came with the reply's end or after it.
    settled: bool,
}

struct Parts {
    frames: Frames,
    decoder: Box<dyn Decode>,
    halves: Halves,
    /// No more bytes will come.
    closed: bool,
}

impl Parts {
    /// Finds the next event of a reply that is not over.
    fn find(&mut self) -> Option<usize> {
        if self.decoder.is_done() { None } else { self.frames.find() }
    }

    /// Says of the halves that still wait that they stay alone: nothing more comes.
    fn release(&mut self, out: &mut VecDeque<Delta>) {
        for rest in self.halves.rest() {
            // A stream that does not end well for it is one that was cut.
            self.decoder.event(&rest, out).ok();
        }
    }

    /// Decodes the event that was found.
    fn decode(&mut self, out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        let data = self.frames.data();
        let mended = self.halves.take(data).unwrap_or_default();
        for rest in mended.before {
            // What is wrong with the reply as a whole is said by the event itself.
            self.decoder.event(&rest, out).ok();
        }
        let decoder = &mut *self.decoder;
        let decoded = lenient(data, mended.data.as_deref().unwrap_or(data), |data| decoder.event(data, out));
        // A body that ends within an event was cut: what stands of the event is no violation of the API.
        let was_cut = || is_part(data).is_some_and(|part| part || self.decoder.is_finished());
        if decoded.is_err() && self.closed && was_cut() { Ok(()) } else { decoded }
    }
}

/// Whether data are the beginning of a JSON value, as far as they go; `None`: they are a whole one.
fn is_part(data: &[u8]) -> Option<bool> {
    let error = serde_json::from_slice::<IgnoredAny>(data).err()?;
    // A number that ends in its point or sign is no end of the data for the parser, but wrong at its last byte.
    let last_line = data.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let lines = memchr::memchr_iter(b'\n', data).count() + 1;
    Some(error.is_eof() || (error.line() == lines && error.column() >= last_line.len()))
}

/// A large event that is being decoded elsewhere: what was lent comes back, with what was found.
type Away = Pin<Box<dyn Future<Output = (Box<Parts>, VecDeque<Delta>, Result<(), DecodeError>)> + Send>>;

impl EventReader {
    pub(super) fn new(frames: Frames, decoder: Box<dyn Decode>) -> Self {
        let halves = Halves::new(decoder.pieces());
        let parts = Some(Box::new(Parts { frames, decoder, halves, closed: false }));
        Self {
            parts,
            away: None,
            queue: VecDeque::new(),
            progress: Progress::default(),
            has_content: false,
            last_was_thought: false,
            events: 0,
            settled: false,
        }
    }

    /// Adds bytes as they came. What comes after the end of the reply is of no interest.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        match &mut self.parts {
            Some(parts) if !parts.decoder.is_done() => parts.frames.push(bytes),
            _ => Ok(()),
        }
    }

    /// No more bytes will come: the last event may lack its end.
    pub(super) fn close(&mut self) {
        if let Some(parts) = &mut self.parts {
            parts.frames.end();
            parts.closed = true;
        }
    }

    /// Decodes the next whole event, at once or elsewhere if it is large. `false`: there is none.
    pub(super) fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Result<bool, DecodeError>> {
        loop {
            if let Some(away) = &mut self.away {
                let (parts, queue, decoded) = ready!(away.as_mut().poll(context));
                (self.parts, self.away) = (Some(parts), None);
                self.queue.extend(queue);
                return Poll::Ready(decoded.map(|()| true));
            }
            let Some(mut parts) = self.parts.take() else { return Poll::Ready(Ok(false)) };
            let Some(bytes) = parts.find() else {
                self.parts = Some(parts);
                return Poll::Ready(Ok(false));
            };
            self.events += 1;
            let bytes = bytes as u64;
            if bytes < LARGE_BYTES {
                let decoded = parts.decode(&mut self.queue);
                self.parts = Some(parts);
                return Poll::Ready(decoded.map(|()| true));
            }
            self.away = Some(Box::pin(off_thread(bytes, move || {
                let mut queue = VecDeque::new();
                let decoded = parts.decode(&mut queue);
                (parts, queue, decoded)
            })));
        }
    }

    /// Decodes the next whole event at once, whatever its size. `false`: there is none.
    pub(super) fn next_event(&mut self) -> Result<bool, DecodeError> {
        let Some(parts) = &mut self.parts else { return Ok(false) };
        if parts.find().is_none() {
            return Ok(false);
        }
        self.events += 1;
        parts.decode(&mut self.queue).map(|()| true)
    }

    /// The next piece that was decoded.
    pub(super) fn pop(&mut self) -> Option<Delta> {
        self.queue.pop_front()
    }

    /// Whether the event that was decoded last, none of whose pieces were taken yet, brings something.
    pub(super) fn makes_progress(&mut self) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        self.settled |= self.is_finished() && self.queue.iter().any(|delta| matches!(delta, Delta::Usage(_)));
        let mut made = false;
        for delta in &self.queue {
            if !self.progress.is_made_by(delta) {
                continue;
            }
            made = true;
            match delta {
                Delta::Text(_) | Delta::Call { .. } | Delta::Media(_) | Delta::Whole(_) => {
                    (self.has_content, self.last_was_thought) = (true, false);
                }
                Delta::Reasoning(_) => self.last_was_thought = true,
                Delta::Sealed(_)
                | Delta::Annotation(_)
                | Delta::Usage(_)
                | Delta::Stop(_)
                | Delta::Thought => {}
            }
        }
        made
    }

    /// Whether the model thinks: no content came yet, an item of reasoning is open, or the last piece was a thought.
    pub(super) fn thinks(&self) -> bool {
        let open = self.parts.as_ref().is_some_and(|parts| parts.decoder.is_thinking());
        !self.has_content || self.last_was_thought || open
    }

    /// Forgets what was decoded.
    pub(super) fn clear(&mut self) {
        self.queue.clear();
    }

    /// Whether no event came, but something else that is no stream of events. Comments alone are one that was cut.
    pub(super) fn is_foreign(&self) -> bool {
        self.events == 0 && self.parts.as_ref().is_some_and(|parts| parts.frames.is_foreign())
    }

    /// Whether nothing more is to be waited for: the provider said so, or the reply's end and its usage came.
    pub(super) fn is_done(&self) -> bool {
        self.settled || self.parts.as_ref().is_some_and(|parts| parts.decoder.is_done())
    }

    /// Whether the reply is whole.
    pub(super) fn is_finished(&self) -> bool {
        self.parts.as_ref().is_some_and(|parts| parts.decoder.is_finished())
    }

    /// Usage so far.
    pub(super) fn usage(&self, content_bytes: usize) -> Usage {
        self.parts.as_ref().map(|parts| parts.decoder.usage(content_bytes)).unwrap_or_default()
    }

    /// Decodes what is held back: nothing more comes, or not in time.
    pub(super) fn release(&mut self) {
        if let Some(parts) = &mut self.parts {
            parts.release(&mut self.queue);
        }
    }

    /// Ends the stream. `false`: the reply is not whole.
    pub(super) fn end(&mut self, content_bytes: usize) -> bool {
        self.release();
        self.parts.as_mut().is_some_and(|parts| parts.decoder.end(content_bytes, &mut self.queue))
    }
}

#[cfg(test)]
mod tests;
