//! Owns the reply side of the Responses API: a JSON body to a [`Reply`], the events of a stream to [`Delta`]s.
//!
//! A whole reply takes the same way as the end of a stream, so that both give the same.

use std::collections::VecDeque;
use std::sync::Arc;

use windlass_core::model::{Reply, StopReason, Usage};

use self::items::{At, Items, Kind};
use super::ends::{error_event, reported, stop_reason};
use super::shapes::{Fields, usage_of};
use crate::wires::replies::ReplyIds;
use crate::wires::{
    Asked, Decode, DecodeError, Dialect, IdentifiedBy, PiecedTexts, estimate, quoted, text_in,
};
use crate::{Assembler, Delta};

mod items;

/// The last event of other APIs' streams, which some servers send here, too.
const DONE: &[u8] = b"[DONE]";

/// Turns the events of one streamed reply into pieces.
#[derive(Debug)]
pub struct Decoder {
    label: Arc<str>,
    /// Whether the provider stores replies.
    stored: bool,
    items: Items,
    response: Option<String>,
    replies: ReplyIds,
    /// The response's own end came.
    finished: bool,
    /// `[DONE]` came.
    marked: bool,
    usage: Option<Usage>,
}

impl Decoder {
    /// A decoder for one reply.
    pub fn new(dialect: &Dialect) -> Self {
        Self {
            label: dialect.label.clone(),
            stored: dialect.quirks.stored_replies,
            items: Items::default(),
            response: None,
            replies: ReplyIds::default(),
            finished: false,
            marked: false,
            usage: None,
        }
    }

    /// The item that an event is about; it begins if it is new.
    fn item(&mut self, event: &Fields<'_>, kind: Kind) -> Result<usize, DecodeError> {
        let (id, index) = (event.text("item_id"), event.number("output_index"));
        match self.items.find(kind, id.as_deref(), index) {
            Some(at) => Ok(at),
            None => self.items.begin(kind, id.as_deref(), index),
        }
    }

    /// An item begins.
    fn added(&mut self, event: &Fields<'_>, out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        let Some(item) = event.object("item") else { return Ok(()) };
        let kind = Kind::of(&item);
        let at = self.items.begin(kind, Items::id_of(&item).as_deref(), event.number("output_index"))?;
        if kind == Kind::Call {
            self.items.name_call(at, &item, out);
        }
        Ok(())
    }

    /// An item is whole. Some servers give it another id than before.
    fn done(&mut self, event: &Fields<'_>, out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        let Some(item) = event.object("item") else { return Ok(()) };
        let (kind, id, index) = (Kind::of(&item), Items::id_of(&item), event.number("output_index"));
        let at = match self.items.find(kind, id.as_deref(), index) {
            Some(at) if !self.items.is_done(at) => at,
            Some(_) if index.is_none_or(|index| self.items.has_index(index)) => return Ok(()),
            _ => self.items.begin(kind, id.as_deref(), index)?,
        };
        self.items.finish(at, &item, out)
    }

    /// More of a text: in the field `delta`, or all of it in `whole` where no delta came.
    fn more(
        &mut self,
        event: &Fields<'_>,
        kind: Kind,
        whole: Option<&str>,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), DecodeError> {
        let at = self.item(event, kind)?;
        if whole.is_some() && !self.items.is_silent(at) {
            return Ok(());
        }
        let Some(more) = event.text(whole.unwrap_or("delta")) else { return Ok(()) };
        let name = event.text("type").unwrap_or_default();
        let place = At {
            index: event.number("summary_index").or_else(|| event.number("content_index")),
            refusal: name.contains("refusal"),
            content: !name.contains("summary"),
        };
        if kind == Kind::Call {
            return self.items.add_args(at, &more, out);
        }
        self.items.add_text(at, place, &more, out)
    }

    /// The response is over: takes out of it what did not stand in the events.
    ///
    /// `status`: the response's status where it does not say it itself.
    fn end_of(
        &mut self,
        response: &Fields<'_>,
        status: &str,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), DecodeError> {
        self.note(response);
        let output = response.objects("output").map_err(|error| DecodeError::protocol(error.to_string()))?;
        let mut streamed = self.items.unmatched();
        for (place, item) in output.iter().enumerate() {
            let (kind, id) = (Kind::of(item), Items::id_of(item));
            match streamed.take(&self.items, kind, id.as_deref(), place) {
                Some(at) if self.items.is_done(at) => {}
                Some(at) => self.items.finish(at, item, out)?,
                None => {
                    let at = self.items.begin(kind, id.as_deref(), None)?;
                    self.items.finish(at, item, out)?;
                }
            }
        }
        let stop = stop_reason(response, status, self.items.refused)?;
        self.close(Some(stop), out);
        self.finished = true;
        Ok(())
    }

    /// The facts that any event gives of the response as a whole.
    fn note(&mut self, response: &Fields<'_>) {
        if self.stored
            && let Some(id) = response.text("id").filter(|id| !id.is_empty())
        {
            self.response = Some(id.into_owned());
        }
        self.usage = usage_of(response).or(self.usage);
    }

    fn close(&mut self, stop: Option<StopReason>, out: &mut VecDeque<Delta>) {
        self.items.end(out);
        out.extend(self.items.seal(&self.label, self.response.as_deref()).map(Delta::Sealed));
        out.extend(self.usage.map(Delta::Usage));
        out.extend(stop.map(Delta::Stop));
    }
}

/// The texts that come in pieces.
static PIECES: PiecedTexts = PiecedTexts {
    pieces: &["delta"],
    identified_by: &[
        IdentifiedBy { at: "", by: &["type"] },
        IdentifiedBy { at: "", by: &["output_index", "item_id"] },
        IdentifiedBy { at: "", by: &["content_index"] },
        IdentifiedBy { at: "", by: &["summary_index"] },
    ],
    over: &["response.completed", "response.incomplete", "response.failed", "response.cancelled", "error"],
    ends: &[
        "response.output_item.done",
        "response.output_text.done",
        "response.refusal.done",
        "response.reasoning.done",
        "response.reasoning_text.done",
        "response.reasoning_summary_text.done",
        "response.function_call_arguments.done",
    ],
    ..PiecedTexts::NONE
};

impl Decode for Decoder {
    fn pieces(&self) -> &'static PiecedTexts {
        &PIECES
    }

    fn event(&mut self, data: &[u8], out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        // A body that was cut may end within the mark.
        if !data.is_empty() && DONE.starts_with(data) {
            self.marked |= data == DONE;
            return Ok(());
        }
        if self.finished || data.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let text = text_in(data);
        let event = Fields::read(&text).map_err(|error| DecodeError::unreadable(&error, data))?;
        let name = event.text("type").unwrap_or_default();
        if let Err(error) = self.replies.only_one()
            && brings_something(&event, &name)
        {
            return Err(error);
        }
        match &*name {
            "response.output_item.added" => self.added(&event, out),
            "response.output_item.done" => self.done(&event, out),
            "response.output_text.delta" | "response.refusal.delta" => {
                self.more(&event, Kind::Message, None, out)
            }
            "response.output_text.done" => self.more(&event, Kind::Message, Some("text"), out),
            "response.refusal.done" => self.more(&event, Kind::Message, Some("refusal"), out),
            "response.reasoning_text.delta"
            | "response.reasoning.delta"
            | "response.reasoning_summary_text.delta" => self.more(&event, Kind::Reasoning, None, out),
            "response.reasoning_text.done" | "response.reasoning_summary_text.done" => {
                self.more(&event, Kind::Reasoning, Some("text"), out)
            }
            "response.function_call_arguments.delta" => self.more(&event, Kind::Call, None, out),
            "response.function_call_arguments.done" => self.more(&event, Kind::Call, Some("arguments"), out),
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                let status = name.strip_prefix("response.").unwrap_or_default();
                self.end_of(&event.object("response").unwrap_or_default(), status, out)
            }
            "error" => Err(error_event(&event, data)),
            "response.created" => {
                let response = event.object("response").unwrap_or_default();
                if let Some(id) = response.text("id").filter(|id| !id.is_empty()) {
                    self.replies.begin(id.into_owned());
                }
                self.note(&response);
                Ok(())
            }
            // Some servers report an error without a type.
            "" => reported(&event).map_or(Ok(()), Err),
            _ => {
                if let Some(response) = event.object("response") {
                    self.note(&response);
                }
                Ok(())
            }
        }
    }

    fn is_done(&self) -> bool {
        self.finished
    }

    fn is_thinking(&self) -> bool {
        self.items.are_thoughts_open()
    }

    fn is_finished(&self) -> bool {
        self.finished || (self.marked && self.items.are_done())
    }

    fn usage(&self, content_bytes: usize) -> Usage {
        match self.usage {
            Some(usage) => usage,
            None if self.items.has_begun() || self.finished => {
                estimate(content_bytes, self.items.output_bytes)
            }
            None => Usage::default(),
        }
    }

    fn end(&mut self, content_bytes: usize, out: &mut VecDeque<Delta>) -> bool {
        if !self.is_finished() {
            return false;
        }
        if !self.finished {
            let refused = self.items.refused.then_some(StopReason::Refused);
            self.close(refused, out);
            self.finished = true;
        }
        if self.usage.is_none() {
            out.push_back(Delta::Usage(self.usage(content_bytes)));
        }
        true
    }
}

/// Whether an event brings more than that something began.
fn brings_something(event: &Fields<'_>, name: &str) -> bool {
    if name == "response.output_item.added" {
        return event
            .object("item")
            .is_some_and(|item| !matches!(Kind::of(&item), Kind::Message | Kind::Reasoning));
    }
    let more =
        name.rsplit('.').next() == Some("delta") && event.text("delta").is_some_and(|more| !more.is_empty());
    let ends = matches!(name.rsplit('.').next(), Some("done" | "completed" | "incomplete"));
    more || ends
}

/// Decodes a whole reply.
///
/// # Errors
/// The body is no JSON of the expected shape, it is an error that the provider reports, or it has no output.
pub fn decode(dialect: &Dialect, data: &[u8], asked: &Asked) -> Result<Reply, DecodeError> {
    let text = text_in(data);
    let response = Fields::read(&text).map_err(|error| DecodeError::unreadable(&error, data))?;
    if response.get("output").is_none() && response.get("status").is_none() {
        return Err(reported(&response).unwrap_or_else(|| no_output(&response, data)));
    }
    let mut decoder = Decoder::new(dialect);
    let mut deltas = VecDeque::new();
    let ended = decoder.end_of(&response, "completed", &mut deltas);
    ended.map_err(|error| DecodeError { usage: decoder.usage.unwrap_or_default(), ..error })?;
    decoder.end(asked.content_bytes, &mut deltas);
    // The caller that takes the whole reply checks its length.
    let mut assembler = Assembler::new(asked.model.clone()).bounded(u64::MAX);
    for delta in deltas {
        assembler.push(delta).map_err(|failure| DecodeError::protocol(&*failure.message))?;
    }
    Ok(assembler.finish())
}

/// A body that is neither a response nor an `error`: perhaps the words of one without a name.
fn no_output(body: &Fields<'_>, data: &[u8]) -> DecodeError {
    match body.get("message") {
        Some(_) => error_event(body, data),
        None => DecodeError::protocol(format!("the reply has no output: {}", quoted(data))),
    }
}

#[cfg(test)]
mod tests;
