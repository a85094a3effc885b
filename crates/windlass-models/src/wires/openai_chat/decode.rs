//! Owns the reply side of OpenAI Chat Completions: a JSON body to a [`Reply`], chunks of a stream to [`Delta`]s.

use std::collections::VecDeque;

use windlass_core::Text;
use windlass_core::message::SealedReasoning;
use windlass_core::model::{Reply, StopReason, Usage};

use super::ERRORS;
use super::shapes::{Body, CallPiece, Function, Said, WireUsage};
use crate::http::report_of;
use crate::wires::{Decode, DecodeError, estimate, quoted};
use crate::{Assembler, Delta};

/// Last event of a stream of chunks, as the API specifies.
const DONE: &[u8] = b"[DONE]";

/// Turns the chunks of one streamed reply into pieces.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Seals readable reasoning with this label, once, so that it goes back to the same provider.
    seal: Option<Text>,
    refused: bool,
    finished: bool,
    done: bool,
    usage: Option<Usage>,
    output_bytes: usize,
}

impl Decoder {
    /// A decoder for one reply. With `seal`, its reasoning is marked as this provider's own.
    pub fn new(seal: Option<Text>) -> Self {
        Self { seal, ..Self::default() }
    }

    /// Whether anything of the reply came.
    fn has_begun(&self) -> bool {
        self.output_bytes > 0 || self.is_finished()
    }

    fn said(&mut self, said: Said, out: &mut VecDeque<Delta>) {
        let reasoning =
            if said.reasoning_content.0.is_empty() { said.reasoning.0 } else { said.reasoning_content.0 };
        if !reasoning.is_empty() {
            self.output_bytes += reasoning.len();
            out.push_back(Delta::Reasoning(reasoning));
            if let Some(provider) = self.seal.take() {
                out.push_back(Delta::Sealed(SealedReasoning { provider, data: Text::default() }));
            }
        }
        if !said.content.0.is_empty() {
            self.output_bytes += said.content.0.len();
            out.push_back(Delta::Text(said.content.0));
        }
        if !said.refusal.0.is_empty() {
            self.refused = true;
            self.output_bytes += said.refusal.0.len();
            out.push_back(Delta::Text(said.refusal.0));
        }
        for CallPiece { index, id, function } in said.tool_calls.0 {
            let Function { name, arguments } = function.unwrap_or_default();
            self.output_bytes += arguments.0.len() + name.as_ref().map_or(0, String::len);
            out.push_back(Delta::Call { index, id, name, args: arguments.0 });
        }
        if let Some(Function { name, arguments }) = said.function_call {
            self.output_bytes += arguments.0.len() + name.as_ref().map_or(0, String::len);
            out.push_back(Delta::Call { index: None, id: None, name, args: arguments.0 });
        }
    }
}

impl Decode for Decoder {
    fn event(&mut self, data: &[u8], out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        if data == DONE {
            self.done = true;
            return Ok(());
        }
        if data.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let body = parse(data)?;
        let mut usage = body.usage;
        if let Some(choice) = body.choices.0 {
            if let Some(said) = choice.delta.or(choice.message) {
                self.said(said, out);
            }
            if let Some(reason) = choice.finish_reason.as_deref() {
                self.finished = true;
                out.extend(stop_reason(reason, self.refused).map(Delta::Stop));
            }
            usage = usage.or(choice.usage);
        }
        if let Some(usage) = usage.and_then(usage_of) {
            self.usage = Some(usage);
            out.push_back(Delta::Usage(usage));
        }
        Ok(())
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
        if self.refused && !self.finished {
            out.push_back(Delta::Stop(StopReason::Refused));
        }
        if self.usage.is_none() {
            out.push_back(Delta::Usage(self.usage(content_bytes)));
        }
        true
    }
}

/// Decodes a whole reply. `content_bytes` are the request's, for an estimate where the provider counted nothing.
///
/// # Errors
/// The body is no JSON of the expected shape, it is an error that the provider reports, or it has no choice.
pub fn decode(
    data: &[u8],
    model: &Text,
    seal: Option<Text>,
    content_bytes: usize,
) -> Result<Reply, DecodeError> {
    let mut decoder = Decoder::new(seal);
    let mut deltas = VecDeque::new();
    let mut body = parse(data)?;
    let Some(mut choice) = body.choices.0.take() else {
        return Err(DecodeError::protocol(format!("the reply has no choice: {}", quoted(data))));
    };
    if let Some(mut said) = choice.message.take().or(choice.delta.take()) {
        // Whole calls stand one after another, whatever index they claim.
        for (at, call) in said.tool_calls.0.iter_mut().enumerate() {
            call.index = u32::try_from(at).ok();
        }
        decoder.said(said, &mut deltas);
    }
    if let Some(reason) = choice.finish_reason.as_deref() {
        deltas.extend(stop_reason(reason, decoder.refused).map(Delta::Stop));
    } else if decoder.refused {
        deltas.push_back(Delta::Stop(StopReason::Refused));
    }
    decoder.usage = body.usage.or(choice.usage).and_then(usage_of);
    decoder.finished = true;
    deltas.push_back(Delta::Usage(decoder.usage(content_bytes)));
    // The caller that takes the whole reply checks its length.
    let mut assembler = Assembler::new(model.clone()).bounded(u64::MAX);
    for delta in &deltas {
        assembler.push(delta).map_err(|failure| DecodeError::protocol(&*failure.message))?;
    }
    Ok(assembler.finish())
}

fn parse(data: &[u8]) -> Result<Body, DecodeError> {
    let body: Body = serde_json::from_slice(data).map_err(|error| DecodeError::unreadable(&error, data))?;
    match body.error {
        Some(error) => Err(DecodeError::reported(report_of(&error), &ERRORS)),
        None => Ok(body),
    }
}

/// Maps OpenAI's reasons and other servers' names for them. `None` for an undefined word.
fn stop_reason(reason: &str, refused: bool) -> Option<StopReason> {
    match reason {
        "stop" | "eos" | "end_turn" | "stop_sequence" if refused => Some(StopReason::Refused),
        "stop" | "eos" | "end_turn" | "stop_sequence" => Some(StopReason::Stop),
        "tool_calls" | "function_call" | "tool_use" => Some(StopReason::ToolCalls),
        "length" | "max_tokens" | "model_length" => Some(StopReason::Length),
        "content_filter" => Some(StopReason::Filtered),
        "refusal" => Some(StopReason::Refused),
        _ if refused => Some(StopReason::Refused),
        _ => None,
    }
}

/// `None` where nothing was counted: some servers send an empty object in each chunk.
fn usage_of(usage: WireUsage) -> Option<Usage> {
    if usage.prompt_tokens.is_none() && usage.completion_tokens.is_none() {
        return None;
    }
    let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
    Some(Usage {
        input: usage.prompt_tokens.unwrap_or(0),
        output: usage.completion_tokens.unwrap_or(0),
        cached: cached.or(usage.prompt_cache_hit_tokens).unwrap_or(0),
        cache_write: 0,
        reasoning: usage.completion_tokens_details.and_then(|details| details.reasoning_tokens).unwrap_or(0),
        estimated: false,
    })
}

#[cfg(test)]
mod tests;
