//! Owns the decoding of recorded replies: the way of a live one, without a connection.

use windlass_core::model::{FailureKind, MAX_REPLY_BYTES, ModelFailure, Reply, Usage};
use windlass_core::secret::mask;

use super::events::EventReader;
use super::frames::Frames;
use super::mending::tolerant;
use crate::wires::{Asked, DecodeError, Dialect, Wire};
use crate::{Assembler, Delta, Thoughts};

/// The most bytes of one recorded event (64 MiB): four times the largest reply, because of its wrapping.
const MAX_EVENT_BYTES: usize = 4 * MAX_REPLY_BYTES as usize;

/// Decodes the body of a streamed reply, whose bytes came in these pieces. It takes the way of a live call: framing,
/// the wire's decoder, reasoning within text, assembly. A body that ends before its reply does is a failure.
///
/// ```
/// use windlass_models::http::replay;
/// use windlass_models::wires::{Asked, Dialect, openai_chat::OpenAiChat};
///
/// let asked = Asked { model: "test/m".into(), content_bytes: 8 };
/// let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
/// let reply = replay(&OpenAiChat, &Dialect::default(), &asked, body.chunks(7))?;
/// assert_eq!(reply.text.as_deref(), Some("Hi"));
/// # Ok::<(), windlass_models::ModelFailure>(())
/// ```
///
/// # Errors
/// As a live call: the body violates the API, ends too early, is too large, or holds an error of the provider.
pub fn replay<'b>(
    wire: &dyn Wire,
    dialect: &Dialect,
    asked: &Asked,
    pieces: impl IntoIterator<Item = &'b [u8]>,
) -> Result<Reply, ModelFailure> {
    let frames = Frames::bounded(wire.facts().framing, MAX_EVENT_BYTES);
    let mut reader = EventReader::new(frames, wire.decoder(dialect));
    let mut fold = Fold::new(asked);
    for piece in pieces.into_iter().map(Some).chain([None]) {
        match piece {
            Some(piece) => {
                if reader.push(piece).is_err() {
                    let words = format!("an event of the stream is longer than {MAX_EVENT_BYTES} bytes");
                    return Err(fold.failure(FailureKind::TooLarge, &words, paid(&reader, asked)));
                }
            }
            None => reader.close(),
        }
        loop {
            match reader.next_event() {
                Ok(true) => fold.take(&mut reader)?,
                Ok(false) => break,
                Err(error) => return Err(fold.undecoded(error, paid(&reader, asked))),
            }
        }
    }
    if reader.end(asked.content_bytes) {
        fold.take(&mut reader)?;
        return fold.finish();
    }
    let (kind, words) = if reader.is_foreign() {
        (FailureKind::Protocol, "the reply is not a stream of events")
    } else {
        (FailureKind::Cut, "the stream ended before the reply did")
    };
    Err(fold.failure(kind, words, paid(&reader, asked)))
}

/// Decodes the body of a reply that was not streamed, as a live call does.
///
/// # Errors
/// The body violates the API, or it is an error that the provider reports.
pub fn replay_whole(
    wire: &dyn Wire,
    dialect: &Dialect,
    asked: &Asked,
    body: &[u8],
) -> Result<Reply, ModelFailure> {
    let mut fold = Fold::new(asked);
    match tolerant(body, |body| wire.decode(dialect, body, asked)) {
        Ok(reply) => {
            fold.push(Delta::Whole(Box::new(reply)))?;
            fold.finish()
        }
        Err(error) => Err(fold.undecoded(error, Usage::default())),
    }
}

fn paid(reader: &EventReader, asked: &Asked) -> Usage {
    reader.usage(asked.content_bytes)
}

/// The fold from pieces to a reply, as [`assemble`](crate::assemble) does it.
struct Fold<'a> {
    asked: &'a Asked,
    thoughts: Thoughts,
    assembler: Assembler,
}

impl<'a> Fold<'a> {
    fn new(asked: &'a Asked) -> Self {
        Self { asked, thoughts: Thoughts::default(), assembler: Assembler::new(asked.model.clone()) }
    }

    fn take(&mut self, reader: &mut EventReader) -> Result<(), ModelFailure> {
        while let Some(delta) = reader.pop() {
            self.push(delta)?;
        }
        Ok(())
    }

    fn push(&mut self, delta: Delta) -> Result<(), ModelFailure> {
        self.thoughts.pass(delta, |delta| self.assembler.push(delta))
    }

    fn finish(mut self) -> Result<Reply, ModelFailure> {
        self.thoughts.end(|delta| self.assembler.push(delta))?;
        Ok(self.assembler.finish())
    }

    fn failure(&self, kind: FailureKind, message: &str, usage: Usage) -> ModelFailure {
        ModelFailure { usage, ..ModelFailure::new(kind, mask(message), self.asked.model.clone()) }
    }

    fn undecoded(&self, error: DecodeError, usage: Usage) -> ModelFailure {
        let DecodeError { kind, status, retry_after_ms, refuses, message, usage: counted } = error;
        let usage = if usage == Usage::default() { counted } else { usage };
        ModelFailure { status, retry_after_ms, refuses, ..self.failure(kind, &message, usage) }
    }
}
