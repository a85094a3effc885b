//! Owns the reply side of Gemini: a JSON body to a [`Reply`], pieces of a stream to [`Delta`]s.

use std::collections::VecDeque;

use serde_json::value::RawValue;
use windlass_core::Text;
use windlass_core::message::{Media, MediaSource};
use windlass_core::model::{FailureKind, MAX_REPLY_BYTES, Reply, StopReason, Usage};

use super::ERRORS;
use super::annotations::Annotating;
use super::elements::Elements;
use super::ends::{end_of, later, usage_of};
use super::metadata::MetadataBuilder;
use super::partial::OpenCall;
use super::shapes::{Blob, Body, Candidate, FileData, FunctionCall, PartialArg, WirePart, WireUsage};
use crate::http::{cut, report_of};
use crate::wires::json::compact;
use crate::wires::layout::Kind;
use crate::wires::{Asked, Decode, DecodeError, IdentifiedBy, PiecedTexts, estimate, quoted, text_in};
use crate::{Assembler, Delta, MAX_CALLS};

/// An end mark of other APIs, which gateways are known to add.
const DONE: &[u8] = b"[DONE]";

/// Turns the pieces of one streamed reply into [`Delta`]s. A whole reply is one piece.
#[derive(Debug)]
pub struct Decoder {
    label: Text,
    metadata: MetadataBuilder,
    /// Few replies have some.
    annotating: Option<Box<Annotating>>,
    /// Number of calls so far.
    calls: u32,
    open: Option<OpenCall>,
    counted: WireUsage,
    output_bytes: usize,
    finished: bool,
    /// Whether the reply ended by itself: a call that is still open then is whole.
    came_to_its_end: bool,
}

impl Decoder {
    /// A decoder for one reply of the provider with this label.
    pub fn new(label: &str) -> Self {
        Self {
            label: label.into(),
            metadata: MetadataBuilder::default(),
            annotating: None,
            calls: 0,
            open: None,
            counted: WireUsage::default(),
            output_bytes: 0,
            finished: false,
            came_to_its_end: false,
        }
    }

    /// Whether anything of the reply came.
    fn has_begun(&self) -> bool {
        self.finished || self.metadata.has_begun()
    }

    /// One piece: a `GenerateContentResponse`.
    fn piece(&mut self, data: &[u8], out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        let body: Body =
            serde_json::from_str(&text_in(data)).map_err(|error| DecodeError::unreadable(&error, data))?;
        if let Some(error) = body.error {
            return Err(DecodeError::reported(report_of(&error), &ERRORS));
        }
        if let Some(counted) = body.usage_metadata {
            self.counted = later(self.counted, counted);
            out.extend(usage_of(self.counted).map(Delta::Usage));
        }
        // A prompt that is blocked has no candidate.
        if body.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            self.finished = true;
            out.push_back(Delta::Stop(StopReason::Filtered));
        }
        match body.candidates.0 {
            Some(candidate) => self.candidate(candidate, out),
            None => Ok(()),
        }
    }

    fn candidate(&mut self, mut candidate: Candidate, out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        for raw in candidate.content.take().unwrap_or_default().parts.0 {
            self.part(&raw, out)?;
        }
        if candidate.is_annotated() {
            let bytes = self.annotating.get_or_insert_default().take(&mut candidate, out);
            self.metadata.count(bytes);
        }
        if self.metadata.is_too_large() {
            let words = format!("the parts of the reply are longer than {MAX_REPLY_BYTES} bytes");
            return Err(DecodeError { kind: FailureKind::TooLarge, ..DecodeError::protocol(words) });
        }
        let Some(reason) = candidate.finish_reason else { return Ok(()) };
        match end_of(&reason) {
            Ok(stop) => {
                self.finished = true;
                self.came_to_its_end = stop == StopReason::Stop;
                out.push_back(Delta::Stop(stop));
                Ok(())
            }
            Err(kind) => {
                let words = candidate.finish_message.filter(|words| !words.is_empty());
                let words = words.map(|words| format!(": {}", cut(&words))).unwrap_or_default();
                let message = format!("the reply ended with `{}`{words}", cut(&reason));
                Err(DecodeError { kind, ..DecodeError::protocol(message) })
            }
        }
    }

    fn part(&mut self, raw: &RawValue, out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        let part: WirePart = serde_json::from_str(raw.get())
            .map_err(|error| DecodeError::unreadable(&error, raw.get().as_bytes()))?;
        let thought = part.thought == Some(true);
        let signature = part.thought_signature.as_deref().filter(|signature| !signature.is_empty());
        match part {
            WirePart { function_call: Some(call), .. } => return self.call(call, signature, out),
            // A picture that is a thought is no part of the answer.
            WirePart { inline_data: Some(_), .. } if thought && signature.is_none() => {}
            WirePart { inline_data: Some(blob), .. } if !thought => {
                self.medium(media_of_blob(blob), signature, out);
            }
            WirePart { file_data: Some(file), .. } if !thought => {
                self.medium(media_of_file(file), signature, out);
            }
            WirePart { text: Some(text), inline_data: None, file_data: None, .. } => {
                let kind = if thought { Kind::Reasoning } else { Kind::Text };
                self.text(kind, text, signature, out);
            }
            _ => {
                self.annotating.get_or_insert_default().part(raw, out);
                self.output_bytes += self.metadata.own(raw);
            }
        }
        Ok(())
    }

    fn text(&mut self, kind: Kind, text: String, signature: Option<&str>, out: &mut VecDeque<Delta>) {
        if text.is_empty() && signature.is_none() {
            return;
        }
        self.metadata.text(kind, text.len(), signature);
        self.output_bytes += text.len();
        if !text.is_empty() {
            out.push_back(if kind == Kind::Reasoning { Delta::Reasoning(text) } else { Delta::Text(text) });
        }
    }

    fn medium(&mut self, media: Media, signature: Option<&str>, out: &mut VecDeque<Delta>) {
        self.metadata.medium(signature);
        out.push_back(Delta::Media(media));
    }

    fn call(
        &mut self,
        mut call: FunctionCall,
        signature: Option<&str>,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), DecodeError> {
        let name = call.name.take().unwrap_or_default();
        let goes_on = call.will_continue == Some(true);
        // A piece of an open call has no name, or the same one, and no arguments but its pieces.
        let open = match self.open.take() {
            Some(open) if call.args.is_none() && (name.is_empty() || name == open.name) => Some(open),
            Some(other) => {
                close(&other, other.args(), out);
                None
            }
            None => None,
        };
        let Some(mut open) = open else {
            // The last piece of a call may come after its end.
            let empty = name.is_empty() && call.args.is_none() && call.partial_args.0.is_empty();
            return if empty { Ok(()) } else { self.new_call(name, call, signature, out) };
        };
        if let Some(signature) = signature {
            self.metadata.sign(open.place, open.id.as_deref(), signature);
        }
        self.pieces(&mut open, call.partial_args.0)?;
        if goes_on {
            self.open = Some(open);
        } else {
            close(&open, open.args(), out);
        }
        Ok(())
    }

    fn new_call(
        &mut self,
        name: String,
        call: FunctionCall,
        signature: Option<&str>,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), DecodeError> {
        if self.calls as usize >= MAX_CALLS {
            return Err(DecodeError::protocol(format!("the reply has more than {MAX_CALLS} tool calls")));
        }
        let index = self.calls;
        self.calls += 1;
        let id = call.id.filter(|id| !id.is_empty());
        let place = self.metadata.call(id.as_deref(), signature);
        self.output_bytes += name.len();
        let goes_on = call.will_continue == Some(true);
        let whole = !goes_on && call.partial_args.0.is_empty();
        let args = if whole {
            call.args.map_or_else(|| "{}".to_owned(), |args| args_of(&args))
        } else {
            String::new()
        };
        self.output_bytes += args.len();
        out.push_back(Delta::Call { index: Some(index), id: id.clone(), name: Some(name.clone()), args });
        if whole {
            return Ok(());
        }
        let mut open = OpenCall::new(index, place, id, name);
        self.pieces(&mut open, call.partial_args.0)?;
        if goes_on {
            self.open = Some(open);
        } else {
            close(&open, open.args(), out);
        }
        Ok(())
    }

    fn pieces(&mut self, open: &mut OpenCall, pieces: Vec<PartialArg>) -> Result<(), DecodeError> {
        for piece in pieces {
            let bytes = piece.string_value.as_ref().map_or(0, String::len);
            self.output_bytes += bytes;
            self.metadata.count(bytes);
            let path = piece.json_path.clone();
            if !open.add(piece) {
                let path = cut(&path);
                let message = format!("`{path}` is no path within the arguments of `{}`", open.name);
                return Err(DecodeError::protocol(message));
            }
        }
        Ok(())
    }
}

/// The texts that come in pieces.
static PIECES: PiecedTexts = PiecedTexts {
    pieces: &[
        "candidates/content/parts/text",
        "candidates/content/parts/functionCall/partialArgs/stringValue",
    ],
    identified_by: &[
        IdentifiedBy { at: "candidates/content/parts", by: &["thought"] },
        IdentifiedBy { at: "candidates/content/parts/functionCall/partialArgs", by: &["jsonPath"] },
    ],
    begun_by: Some(("candidates/content/parts/functionCall", "name", None)),
    open_by: Some(("candidates/content/parts/functionCall", "willContinue")),
    over_by: Some("candidates/finishReason"),
    ..PiecedTexts::NONE
};

impl Decode for Decoder {
    fn pieces(&self) -> &'static PiecedTexts {
        &PIECES
    }

    fn event(&mut self, data: &[u8], out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        let data = data.trim_ascii();
        if data.is_empty() || data == DONE {
            return Ok(());
        }
        if data.first() != Some(&b'[') {
            return self.piece(data, out);
        }
        // Without `alt=sse` the pieces are a list; errors come in a list, too.
        let mut elements = Elements::of(data).peekable();
        if elements.peek().is_none() {
            return Err(DecodeError::protocol(format!("the reply has no candidate: {}", quoted(data))));
        }
        elements.try_for_each(|element| self.piece(element, out))
    }

    fn is_done(&self) -> bool {
        // The API has no end mark, and counts may follow the reason for the end.
        false
    }

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn usage(&self, content_bytes: usize) -> Usage {
        match usage_of(self.counted) {
            Some(usage) => usage,
            None if self.has_begun() => estimate(content_bytes, self.output_bytes),
            None => Usage::default(),
        }
    }

    fn end(&mut self, content_bytes: usize, out: &mut VecDeque<Delta>) -> bool {
        if !self.finished {
            return false;
        }
        if let Some(open) = self.open.take() {
            close(&open, if self.came_to_its_end { open.args() } else { open.cut_args() }, out);
        }
        if let Some(annotating) = self.annotating.take() {
            annotating.end(out);
        }
        out.extend(self.metadata.seal(&self.label).map(Delta::Sealed));
        if usage_of(self.counted).is_none() {
            out.push_back(Delta::Usage(self.usage(content_bytes)));
        }
        true
    }
}

/// Decodes a whole reply: an object, or all pieces of a stream in a list.
///
/// # Errors
/// The body is no JSON of the expected shape, it is an error that the provider reports, it has no candidate, or its end is
/// none that a reply may have.
pub fn decode(data: &[u8], label: &str, asked: &Asked) -> Result<Reply, DecodeError> {
    let mut decoder = Decoder::new(label);
    let mut deltas = VecDeque::new();
    let counted = |decoder: &Decoder, error| {
        let usage = decoder.usage(asked.content_bytes);
        DecodeError { usage, ..error }
    };
    decoder.event(data, &mut deltas).map_err(|error| counted(&decoder, error))?;
    if !decoder.has_begun() {
        return Err(DecodeError::protocol(format!("the reply has no candidate: {}", quoted(data))));
    }
    // Gateways leave the reason out of a whole reply; a list of pieces without one was cut.
    decoder.finished |= data.trim_ascii().first() == Some(&b'{');
    if !decoder.end(asked.content_bytes, &mut deltas) {
        let cut = DecodeError::protocol("the list of pieces ended before the reply did");
        return Err(counted(&decoder, DecodeError { kind: FailureKind::Cut, ..cut }));
    }
    // The caller that takes the whole reply checks its length.
    let mut assembler = Assembler::new(asked.model.clone()).bounded(u64::MAX);
    for delta in deltas {
        assembler.push(delta).map_err(|failure| DecodeError::protocol(&*failure.message))?;
    }
    Ok(assembler.finish())
}

/// Says the arguments of a call that came in pieces.
fn close(open: &OpenCall, args: String, out: &mut VecDeque<Delta>) {
    out.push_back(Delta::Call { index: Some(open.index), id: None, name: None, args });
}

/// Arguments as JSON text: an object, or (against the specification) a text that holds one; `null` and nothing are `{}`.
fn args_of(raw: &RawValue) -> String {
    let args = raw.get();
    let text = match serde_json::from_str::<Option<String>>(args) {
        Ok(text) => text.unwrap_or_default(),
        Err(_) => compact(args),
    };
    if text.trim().is_empty() { "{}".to_owned() } else { text }
}

fn media_of_blob(blob: Blob) -> Media {
    Media {
        media_type: blob.mime_type.unwrap_or_default().into(),
        name: blob.display_name.map(Into::into),
        source: MediaSource::Base64(blob.data.unwrap_or_default().into()),
    }
}

fn media_of_file(file: FileData) -> Media {
    Media {
        media_type: file.mime_type.unwrap_or_default().into(),
        name: file.display_name.map(Into::into),
        source: MediaSource::Url(file.file_uri.unwrap_or_default().into()),
    }
}

#[cfg(test)]
mod tests;
