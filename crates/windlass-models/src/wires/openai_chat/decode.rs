//! Owns the reply side of OpenAI Chat Completions: a JSON body to a [`Reply`], chunks of a stream to [`Delta`]s.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::mem::take;
use std::sync::Arc;

use serde_json::Value;
use windlass_core::Text;
use windlass_core::message::ProviderMetadata;
use windlass_core::model::{FailureKind, MAX_REPLY_BYTES, Reply, StopReason, Usage};

use super::ERRORS;
use super::annotations::{self, Annotating};
use super::metadata::MetadataBuilder;
use super::parts::{Detail, Piece, Pieces};
use super::salvage::attempts;
use super::shapes::{Body, CallPiece, CallPieces, Choice, Function, ReplyMessage};
use super::usage::{WireUsage, usage_of};
use crate::http::{error_in, report, report_of};
use crate::wires::{
    Asked, Decode, DecodeError, Dialect, IdentifiedBy, PiecedTexts, estimate, quoted, text_in,
};
use crate::{Assembler, Delta, Thoughts};

/// Last event of a stream of chunks, as the API specifies.
const DONE: &[u8] = b"[DONE]";

/// Mark of a message whose readable reasoning goes back as `reasoning`; without a mark it is `reasoning_content`.
pub(super) const REASONING: &str = "reasoning";

/// Turns the chunks of one streamed reply into pieces.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about a reply")]
pub struct Decoder {
    /// The provider's label: what only it understands is sealed with it.
    label: Arc<str>,
    /// Readable reasoning goes back, too.
    returns: bool,
    /// The reply comes whole: its blocks are no pieces of each other.
    whole: bool,
    thoughts: Thoughts,
    metadata: MetadataBuilder,
    /// Few replies have some.
    annotating: Option<Box<Annotating>>,
    /// The number of the choice that is read, once one came.
    choice: Option<u32>,
    /// The field in which readable reasoning came.
    field: Option<&'static str>,
    refused: bool,
    finished: bool,
    done: bool,
    usage: Option<Usage>,
    /// The usage came by itself, and nothing was said since.
    is_counted: bool,
    /// Whether thoughts of Gemini models are counted nowhere, and whether this is one.
    thoughts_beside: bool,
    is_gemini: bool,
    output_bytes: usize,
}

impl Decoder {
    /// A decoder for one reply of a provider.
    pub fn new(dialect: &Dialect) -> Self {
        Self {
            label: dialect.label.clone(),
            returns: dialect.quirks.return_reasoning,
            thoughts_beside: dialect.quirks.thoughts_beside,
            ..Self::default()
        }
    }

    /// Whether anything of the reply came.
    fn has_begun(&self) -> bool {
        self.output_bytes > 0 || self.is_finished()
    }

    /// Passes on text or reasoning, sorted, and notes its place.
    fn speak(&mut self, delta: Delta, out: &mut VecDeque<Delta>) {
        let Ok(()) = self.thoughts.pass(delta, noted(&mut self.metadata, out));
    }

    fn reason(&mut self, text: String, out: &mut VecDeque<Delta>) {
        if !text.is_empty() {
            self.output_bytes += text.len();
            self.speak(Delta::Reasoning(text), out);
        }
    }

    fn text(&mut self, text: String, out: &mut VecDeque<Delta>) {
        if !text.is_empty() {
            self.output_bytes += text.len();
            self.speak(Delta::Text(text), out);
        }
    }

    fn pieces(&mut self, pieces: Pieces, out: &mut VecDeque<Delta>) {
        let parts = match pieces {
            Pieces::Text(text) => return self.text(text, out),
            Pieces::Parts(parts) => parts,
        };
        for piece in parts {
            match piece {
                Piece::Text(text) => self.text(text, out),
                Piece::Refusal(text) => {
                    self.refused = true;
                    self.text(text, out);
                }
                Piece::Thinking(text) => {
                    if self.returns {
                        self.metadata.thinking();
                    }
                    self.reason(text, out);
                }
                Piece::Image(media) => {
                    self.metadata.media();
                    self.output_bytes += usize::try_from(media.bytes()).unwrap_or(0);
                    out.push_back(Delta::Media(media));
                }
            }
        }
    }

    fn message(&mut self, message: &mut ReplyMessage, out: &mut VecDeque<Delta>) {
        let named = !message.reasoning_content.0.is_empty();
        let plain = take(if named { &mut message.reasoning_content.0 } else { &mut message.reasoning.0 });
        let blocks = take(&mut message.reasoning_details.0);
        let readable = |key: &str| blocks.iter().any(|block| block.get(key).is_some_and(Value::is_string));
        // The blocks repeat the readable reasoning.
        if !plain.is_empty() && !readable("text") && !readable("summary") {
            self.field = Some(if named { "" } else { REASONING });
            self.metadata.plain();
            self.reason(plain, out);
        }
        if !blocks.is_empty() {
            self.details(blocks, out);
        }
        self.pieces(take(&mut message.content), out);
        self.pieces(take(&mut message.images), out);
        if !message.refusal.0.is_empty() {
            self.refused = true;
            self.text(take(&mut message.refusal.0), out);
        }
        if !message.tool_calls.0.is_empty() {
            self.calls(take(&mut message.tool_calls), out);
        }
        // Some servers send an empty one beside each message.
        let says = |call: &Function| {
            call.name.as_ref().is_some_and(|name| !name.is_empty())
                || !matches!(&*call.arguments.0, "" | "{}" | "null")
        };
        if let Some(call) = message.function_call.take_if(|call| says(call)) {
            let Function { name, arguments } = *call;
            self.metadata.call(None, None, name.is_some(), None);
            out.push_back(self.call(None, None, name, arguments.0));
        }
        if let Some(extra) = &message.extra_content {
            self.metadata.keep_extra_content(extra);
        }
        if let Some(all) = message.annotations.take() {
            annotations::citations(&all.0, out);
        }
        if let Some(mut audio) = message.audio.take() {
            self.text(audio.transcript.take().unwrap_or_default(), out);
            self.annotating.get_or_insert_default().speak(&audio);
        }
    }

    fn details(&mut self, blocks: Vec<Detail>, out: &mut VecDeque<Delta>) {
        for block in blocks {
            if let Some(text) = self.metadata.detail(block, !self.whole) {
                self.reason(text, out);
            }
        }
    }

    fn calls(&mut self, pieces: CallPieces, out: &mut VecDeque<Delta>) {
        for CallPiece { index, id, function, extra_content } in pieces.0 {
            let Function { name, arguments } = function.unwrap_or_default();
            self.metadata.call(index, id.as_deref(), name.is_some(), extra_content);
            out.push_back(self.call(index, id, name, arguments.0));
        }
    }

    fn call(&mut self, index: Option<u32>, id: Option<String>, name: Option<String>, args: String) -> Delta {
        self.output_bytes += args.len() + name.as_ref().map_or(0, String::len);
        Delta::Call { index, id, name, args }
    }

    fn count(&mut self, usage: Option<Box<WireUsage>>) -> Option<Usage> {
        let counted = usage_of(*usage?, self.usage, self.thoughts_beside && self.is_gemini)?;
        self.usage = Some(counted);
        Some(counted)
    }

    /// Of several choices whose pieces alternate, only the one that came first is read.
    fn is_read(&mut self, choice: &Choice) -> bool {
        let index = choice.index.unwrap_or(0);
        *self.choice.get_or_insert(index) == index
    }

    /// Takes what one body says.
    fn take(&mut self, body: Body, data: &[u8], out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        let Body { choices, usage, model, error, x_groq, message, detail, citations, search_results } = body;
        self.is_gemini |= model.is_some_and(|model| model.is_gemini);
        let groq = x_groq.map(|groq| *groq).unwrap_or_default();
        let own = choices.0.is_some();
        let mut choice = choices.0.filter(|choice| self.is_read(choice)).unwrap_or_default();
        // What was paid counts whatever went wrong.
        let counted = self.count(usage.or(choice.usage.take()).or(groq.usage));
        if let Some(error) = error.or(choice.error.take()).or(groq.error) {
            return self.malformed(&error, out).ok_or_else(|| reported(&error));
        }
        let words = |value: &Option<Box<Value>>| value.as_deref().is_some_and(Value::is_string);
        if !own && (words(&message) || words(&detail)) {
            return Err(DecodeError::reported(report(data), &ERRORS));
        }
        if citations.is_some() || search_results.is_some() {
            let (addresses, results) = (citations.as_deref(), search_results.as_deref());
            let annotating = self.annotating.get_or_insert_default();
            annotating.listed(addresses.map(|all| all.0.as_slice()), results.map(|all| all.0.as_slice()));
        }
        let before = self.output_bytes;
        if let Some(message) = choice.delta.as_mut().or(choice.message.as_deref_mut()) {
            self.message(message, out);
        }
        if let Some(tokens) = choice.logprobs.take() {
            annotations::tokens(*tokens, out);
        }
        // Counts beside a piece are running ones, of which a later one may be the last; a chunk of counts alone has all that was
        // said before it.
        self.is_counted = self.output_bytes == before && (self.is_counted || (!own && counted.is_some()));
        if let Some(counted) = counted {
            out.push_back(Delta::Usage(counted));
        }
        let kept = self.annotating.as_ref().map_or(0, |annotating| annotating.bytes() as u64);
        if self.metadata.is_too_large() || kept > MAX_REPLY_BYTES {
            let words = "the reply has too much that only its provider understands";
            return Err(DecodeError { kind: FailureKind::TooLarge, ..DecodeError::protocol(words) });
        }
        let Some(stop) = choice.finish_reason.as_deref().map(|reason| stop_reason(reason, self.refused))
        else {
            return Ok(());
        };
        if let Some(stop) = stop? {
            self.finished = true;
            self.close(out);
            out.push_back(Delta::Stop(stop));
            // With the end it is known that no other counts are to be waited for.
            out.extend(self.usage.filter(|_| self.is_counted && counted.is_none()).map(Delta::Usage));
        }
        Ok(())
    }

    /// A malformed call in place of a reply, or a reply without the call that it must have: the model is told of it.
    fn malformed(&mut self, error: &Value, out: &mut VecDeque<Delta>) -> Option<()> {
        let attempts = attempts(error)?;
        self.close(out);
        let stop = if attempts.is_empty() { StopReason::Stop } else { StopReason::ToolCalls };
        for attempt in attempts {
            out.push_back(self.call(None, None, Some(attempt.name), attempt.args));
        }
        self.finished = true;
        out.push_back(Delta::Stop(stop));
        Some(())
    }

    /// Sorts the text that is held back.
    fn close(&mut self, out: &mut VecDeque<Delta>) {
        let Ok(()) = self.thoughts.end(noted(&mut self.metadata, out));
    }

    /// The metadata that goes back to the provider with this reply.
    fn seal(&mut self) -> Option<ProviderMetadata> {
        if let Some(sealed) = self.metadata.seal(&self.label) {
            return Some(sealed);
        }
        let field = self.field.filter(|_| self.returns)?;
        Some(ProviderMetadata { provider: self.label.clone(), data: field.into() })
    }
}

/// Notes the place of a piece that is sorted, and passes it on.
fn noted<'a>(
    metadata: &'a mut MetadataBuilder,
    out: &'a mut VecDeque<Delta>,
) -> impl FnMut(Delta) -> Result<(), Infallible> + 'a {
    |delta| {
        match &delta {
            Delta::Text(text) => metadata.text(text.len()),
            Delta::Reasoning(text) => metadata.reasoning(text.len()),
            Delta::Thought => metadata.moved(),
            Delta::Sealed(_)
            | Delta::Media(_)
            | Delta::Call { .. }
            | Delta::Annotation(_)
            | Delta::Usage(_)
            | Delta::Stop(_)
            | Delta::Whole(_) => {}
        }
        out.push_back(delta);
        Ok(())
    }
}

/// The texts that come in pieces.
static PIECES: PiecedTexts = PiecedTexts {
    pieces: &[
        "choices/delta/content",
        "choices/delta/content/text",
        "choices/delta/content/thinking",
        "choices/delta/content/thinking/text",
        "choices/delta/reasoning_content",
        "choices/delta/reasoning",
        "choices/delta/reasoning_details/text",
        "choices/delta/reasoning_details/summary",
        "choices/delta/refusal",
        ARGUMENTS,
        "choices/delta/function_call/arguments",
    ],
    identified_by: &[
        IdentifiedBy { at: "choices", by: &["index"] },
        IdentifiedBy { at: "choices/delta/tool_calls", by: &["index", "id"] },
        IdentifiedBy { at: "choices/delta/reasoning_details", by: &["index"] },
    ],
    // Some servers give every parallel call the index 0.
    begun_by: Some(("choices/delta/tool_calls", "id", Some(ARGUMENTS))),
    over_by: Some("choices/finish_reason"),
    ..PiecedTexts::NONE
};

const ARGUMENTS: &str = "choices/delta/tool_calls/function/arguments";

impl Decode for Decoder {
    fn pieces(&self) -> &'static PiecedTexts {
        &PIECES
    }

    fn event(&mut self, data: &[u8], out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        if data == DONE {
            self.done = true;
            return Ok(());
        }
        if data.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        self.take(parse(data)?, data, out)
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_finished(&self) -> bool {
        self.finished || self.done
    }

    fn usage(&self, content_bytes: usize) -> Usage {
        match self.usage {
            Some(usage) => usage,
            None if self.has_begun() => estimate(content_bytes, self.output_bytes),
            None => Usage::default(),
        }
    }

    fn end(&mut self, content_bytes: usize, out: &mut VecDeque<Delta>) -> bool {
        if !self.is_finished() {
            return false;
        }
        self.close(out);
        if let Some(mut annotating) = self.annotating.take() {
            if annotating.has_audio() {
                self.metadata.media();
            }
            annotating.end(out);
        }
        if self.refused && !self.finished {
            out.push_back(Delta::Stop(StopReason::Refused));
        }
        out.extend(self.seal().map(Delta::Sealed));
        if self.usage.is_none() {
            out.push_back(Delta::Usage(self.usage(content_bytes)));
        }
        true
    }
}

/// Decodes a whole reply.
///
/// # Errors
/// The body is no JSON of the expected shape, it is an error that the provider reports, or it has no choice.
pub fn decode(dialect: &Dialect, data: &[u8], asked: &Asked) -> Result<Reply, DecodeError> {
    let mut decoder = Decoder { whole: true, ..Decoder::new(dialect) };
    let mut body = parse(data)?;
    if let Some(Choice { message, delta, .. }) = &mut body.choices.0 {
        // Perplexity sends an empty piece beside the whole.
        let piece = delta.take();
        *message = message.take().or_else(|| piece.map(Box::new));
        // Whole calls stand one after another, whatever index they claim.
        let calls = message.iter_mut().flat_map(|reply| &mut reply.tool_calls.0);
        calls.enumerate().for_each(|(at, call)| call.index = u32::try_from(at).ok());
    }
    let empty = body.choices.0.is_none();
    let mut deltas = VecDeque::new();
    decoder.take(body, data, &mut deltas)?;
    if empty && !decoder.finished {
        return Err(DecodeError::protocol(format!("the reply has no choice: {}", quoted(data))));
    }
    decoder.done = true;
    put_together(decoder, deltas, asked)
}

/// The reply in the body of an error that reports a malformed call.
pub(super) fn decode_error(dialect: &Dialect, data: &[u8], asked: &Asked) -> Option<Reply> {
    let error = error_in(serde_json::from_str(&text_in(data)).ok()?);
    let mut decoder = Decoder::new(dialect);
    let mut deltas = VecDeque::new();
    decoder.malformed(&error, &mut deltas)?;
    put_together(decoder, deltas, asked).ok()
}

fn put_together(
    mut decoder: Decoder,
    mut deltas: VecDeque<Delta>,
    asked: &Asked,
) -> Result<Reply, DecodeError> {
    decoder.end(asked.content_bytes, &mut deltas);
    // The caller that takes the whole reply checks its length.
    let mut assembler = Assembler::new(asked.model.clone()).bounded(u64::MAX);
    for delta in deltas {
        assembler.push(delta).map_err(|failure| DecodeError::protocol(&*failure.message))?;
    }
    Ok(assembler.finish())
}

fn parse(data: &[u8]) -> Result<Body, DecodeError> {
    serde_json::from_str(&text_in(data)).map_err(|error| DecodeError::unreadable(&error, data))
}

fn reported(error: &Value) -> DecodeError {
    DecodeError::reported(report_of(error), &ERRORS)
}

/// Maps OpenAI's reasons and other servers' names for them. `None`: it is not a reason yet.
///
/// # Errors
/// The word is no reason of a success: `error` (OpenRouter, Mistral), `insufficient_system_resource` (DeepSeek), `abort` (vLLM),
/// or one that nobody knows.
fn stop_reason(reason: &str, refused: bool) -> Result<Option<StopReason>, DecodeError> {
    let word = reason.trim().to_ascii_lowercase();
    Ok(Some(match &*word {
        // Some servers send these in each chunk.
        "" | "null" => return Ok(None),
        "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" if refused => StopReason::Refused,
        "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" => StopReason::Stop,
        "tool_calls" | "tool_call" | "function_call" | "tool_use" => StopReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => StopReason::Length,
        "content_filter" | "safety" | "sensitive" => StopReason::Filtered,
        "refusal" => StopReason::Refused,
        filtered if filtered.starts_with("content_filter:") => StopReason::Filtered,
        _ => {
            let word: Text = crate::http::cut(reason).into();
            return Err(DecodeError::protocol(format!("the reply ended with `{word}`")));
        }
    }))
}

#[cfg(test)]
mod tests;
