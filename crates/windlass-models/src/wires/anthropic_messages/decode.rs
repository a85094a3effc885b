//! Owns the reply side of Anthropic Messages: a JSON body to a [`Reply`], events of a stream to [`Delta`]s.

use std::collections::VecDeque;

use serde_json::Value;
use serde_json::value::RawValue;
use windlass_core::model::{Reply, StopReason, Usage};

use self::blocks::Blocks;
use self::shapes::{Counts, End, Event, Whole};
use super::ERRORS;
use crate::http::report_of;
use crate::wires::replies::ReplyIds;
use crate::wires::{
    Asked, Decode, DecodeError, Dialect, IdentifiedBy, PiecedTexts, estimate, quoted, text_in,
};
use crate::{Assembler, Delta};

mod annotations;
mod blocks;
mod shapes;
mod usage;

/// OpenAI's end of a stream, which gateways add to streams of this API as well.
const DONE: &[u8] = b"[DONE]";

/// Turns the events of one streamed reply into pieces.
#[derive(Debug)]
pub struct Decoder {
    dialect: Dialect,
    replies: ReplyIds,
    blocks: Blocks,
    counts: Counts,
    finished: bool,
    done: bool,
}

impl Decoder {
    /// A decoder for one reply.
    pub fn new(dialect: &Dialect) -> Self {
        Self {
            dialect: dialect.clone(),
            replies: ReplyIds::default(),
            blocks: Blocks::new(dialect),
            counts: Counts::default(),
            finished: false,
            done: false,
        }
    }

    fn count(&mut self, counts: Option<Counts>, out: &mut VecDeque<Delta>) {
        let Some(counts) = counts else { return };
        self.counts.go_on(counts);
        out.extend(self.counts.usage().map(Delta::Usage));
    }

    /// Ends the reply, if a reason came.
    fn finish(&mut self, end: End, out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        let Some(reason) = end.stop_reason.filter(|_| !self.finished) else { return Ok(()) };
        let Some(stop) = stop_reason(&reason) else {
            return Err(DecodeError::protocol(format!("the reply has an unknown stop_reason: `{reason}`")));
        };
        self.blocks.end_all(out);
        let explanation = end.stop_details.and_then(|details| details.explanation);
        // A refusal is often empty: then its explanation is all that anybody can be told.
        if let Some(words) = explanation.filter(|_| stop == StopReason::Refused && !self.blocks.has_text) {
            self.blocks.plain(words, out);
        }
        out.extend(self.blocks.seal(&self.dialect.label).map(Delta::Sealed));
        out.push_back(Delta::Stop(stop));
        self.finished = true;
        Ok(())
    }
}

/// The texts that come in pieces.
static PIECES: PiecedTexts = PiecedTexts {
    pieces: &["delta/text", "delta/thinking", "delta/partial_json"],
    identified_by: &[IdentifiedBy { at: "", by: &["index"] }],
    over: &["message_delta", "message_stop", "error"],
    ends: &["content_block_start", "content_block_stop"],
    ..PiecedTexts::NONE
};

impl Decode for Decoder {
    fn pieces(&self) -> &'static PiecedTexts {
        &PIECES
    }

    fn event(&mut self, data: &[u8], out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        if data == DONE || data.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let text = text_in(data);
        let event: Event<'_> =
            serde_json::from_str(&text).map_err(|error| DecodeError::unreadable(&error, data))?;
        if let Some(error) = &event.error {
            return Err(reported(error));
        }
        if matches!(
            &*event.kind,
            "content_block_start" | "content_block_delta" | "message_delta" | "message_stop"
        ) {
            self.replies.only_one()?;
        }
        match &*event.kind {
            "message_start" => {
                let start = event.message.unwrap_or_default();
                if let Some(Value::String(id)) = start.id {
                    self.replies.begin(id);
                }
                self.count(start.usage, out);
            }
            "content_block_start" if !self.finished => {
                if let Some(block) = event.content_block {
                    self.blocks.begin(event.index, block, out)?;
                }
            }
            "content_block_delta" if !self.finished => {
                if let Some(delta) = event.delta {
                    self.blocks.add(event.index, delta, out)?;
                }
            }
            "content_block_stop" => self.blocks.end(event.index, out),
            "message_delta" => {
                self.count(event.usage, out);
                if let Some(delta) = event.delta {
                    let end = serde_json::from_str(delta.get());
                    self.finish(end.map_err(|error| DecodeError::unreadable(&error, data))?, out)?;
                }
            }
            "message_stop" => {
                self.blocks.end_all(out);
                self.done = true;
            }
            "error" => return Err(reported(&Value::Null)),
            // Pings, and events that came later than this code ("Streaming messages": they are to be passed over).
            _ => {}
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_thinking(&self) -> bool {
        self.blocks.is_thinking()
    }

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn usage(&self, content_bytes: usize) -> Usage {
        match self.counts.usage() {
            Some(usage) => usage,
            None if self.blocks.output_bytes > 0 || self.finished => {
                estimate(content_bytes, self.blocks.output_bytes)
            }
            None => Usage::default(),
        }
    }

    fn end(&mut self, content_bytes: usize, out: &mut VecDeque<Delta>) -> bool {
        if self.finished && self.counts.usage().is_none() {
            out.push_back(Delta::Usage(self.usage(content_bytes)));
        }
        self.finished
    }
}

/// Decodes a whole reply.
///
/// # Errors
/// The body is no JSON of the expected shape, it is an error that the provider reports, or it has neither content nor an end.
pub fn decode(dialect: &Dialect, data: &[u8], asked: &Asked) -> Result<Reply, DecodeError> {
    let unreadable = |error| DecodeError::unreadable(&error, data);
    let text = text_in(data);
    let body: Whole<'_> = serde_json::from_str(&text).map_err(unreadable)?;
    if let Some(error) = &body.error {
        return Err(reported(error));
    }
    if body.content.is_none() && body.stop_reason.is_none() {
        return Err(DecodeError::protocol(format!("the reply has no content: {}", quoted(data))));
    }
    let mut decoder = Decoder::new(dialect);
    let mut deltas = VecDeque::new();
    decoder.count(body.usage, &mut deltas);
    match body.content.map(RawValue::get) {
        None | Some("null") => {}
        Some(content) if content.starts_with('"') => {
            let text = serde_json::from_str(content).map_err(unreadable)?;
            decoder.blocks.plain(text, &mut deltas);
        }
        Some(content) => {
            let all: Vec<&RawValue> = serde_json::from_str(content).map_err(unreadable)?;
            for block in all {
                decoder.blocks.begin(None, block, &mut deltas)?;
                decoder.blocks.end(None, &mut deltas);
            }
        }
    }
    let stop_reason = body.stop_reason.or_else(|| Some("end_turn".to_owned()));
    decoder.finish(End { stop_reason, stop_details: body.stop_details }, &mut deltas)?;
    decoder.end(asked.content_bytes, &mut deltas);
    // The caller that takes the whole reply checks its length.
    let mut assembler = Assembler::new(asked.model.clone()).bounded(u64::MAX);
    for delta in deltas {
        assembler.push(delta).map_err(|failure| DecodeError::protocol(&*failure.message))?;
    }
    Ok(assembler.finish())
}

/// The meaning of a reason ("Stop reasons and fallback"). `None` for an unknown word.
fn stop_reason(reason: &str) -> Option<StopReason> {
    match reason {
        "end_turn" | "stop_sequence" => Some(StopReason::Stop),
        "tool_use" => Some(StopReason::ToolCalls),
        "max_tokens" | "model_context_window_exceeded" => Some(StopReason::Length),
        "refusal" => Some(StopReason::Refused),
        // After a compaction the reply is sent back as after a pause ("Compaction").
        "pause_turn" | "compaction" => Some(StopReason::Paused),
        _ => None,
    }
}

/// An error within a reply. Its type stands for the status that it has elsewhere ("Errors").
fn reported(error: &Value) -> DecodeError {
    let mut report = report_of(error);
    report.status = report.status.or(match &*report.code {
        "invalid_request_error" => Some(400),
        "authentication_error" => Some(401),
        "billing_error" => Some(402),
        "permission_error" => Some(403),
        "not_found_error" => Some(404),
        "request_too_large" => Some(413),
        "rate_limit_error" => Some(429),
        "api_error" => Some(500),
        "timeout_error" => Some(504),
        "overloaded_error" => Some(529),
        _ => None,
    });
    DecodeError::reported(report, &ERRORS)
}

#[cfg(test)]
mod tests;
