//! Owns how an item ends: what it is as a whole completes what was streamed of it.

use std::collections::VecDeque;

use serde_json::value::RawValue;
use windlass_core::message::{Media, MediaSource};

use super::super::super::encode::is_odd;
use super::super::super::own::{CLIENT_CALLS, wrapped};
use super::super::super::shapes::{Fields, compacted};
use super::{Items, Kind, TextPart, Voice, annotations};
use crate::Delta;
use crate::thoughts::GAP;
use crate::wires::DecodeError;
use crate::wires::annotations::{logprobs, step};

/// The fields of a message that say nothing which the provider needs back.
const PLAIN_MESSAGE: [&str; 5] = ["id", "type", "role", "status", "content"];

/// Those of a function call.
const PLAIN_CALL: [&str; 6] = ["id", "type", "status", "call_id", "name", "arguments"];

impl Items {
    /// Ends an item with what it is as a whole.
    pub(in crate::wires::openai_responses) fn finish(
        &mut self,
        place: usize,
        whole: &Fields<'_>,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), DecodeError> {
        let unreadable = |error: serde_json::Error| DecodeError::protocol(error.to_string());
        match self.kind(place) {
            Some(Kind::Message) => self.finish_message(place, whole, out).map_err(unreadable)?,
            Some(Kind::Reasoning) => self.finish_reasoning(place, whole, out).map_err(unreadable)?,
            Some(Kind::Call) => self.finish_call(place, whole, out),
            Some(Kind::Client(kind)) => self.finish_client_call(place, kind, whole, out),
            Some(Kind::Image) => self.finish_image(place, whole, out),
            Some(Kind::Own) => {
                if let Some(one) = annotations::step(whole) {
                    step(out, one);
                }
                self.keep(place, whole.without(&[]), true);
            }
            None => {}
        }
        self.bounded()
    }

    fn finish_message(
        &mut self,
        place: usize,
        whole: &Fields<'_>,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), serde_json::Error> {
        let (mut text, mut parts, mut cited) = (String::new(), Vec::new(), Vec::new());
        for part in whole.objects("content")? {
            let refusal = part.text("refusal");
            let words = part.text("text").or_else(|| refusal.clone()).unwrap_or_default();
            let annotations = part.get("annotations").map(compacted).filter(|list| list != "[]");
            if let Some(list) = &annotations {
                cited.extend(annotations::citations(list, &words, text.len()));
            }
            if let Some(list) = part.get("logprobs").filter(|list| list.get() != "[]") {
                logprobs(out, annotations::tokens(list));
            }
            parts.push(TextPart {
                bytes: words.len(),
                refusal: refusal.is_some(),
                annotations: annotations.and_then(|list| RawValue::from_string(list).ok()),
                ..TextPart::default()
            });
            text.push_str(&words);
        }
        self.refused |= parts.iter().any(|part| part.refusal);
        let special = whole.names().any(|name| !PLAIN_MESSAGE.contains(&name) && whole.get(name).is_some())
            || whole.text("status").is_some_and(|status| status != "completed");
        self.settle(place, text, parts);
        if let Some(item) = self.all.get_mut(place) {
            item.cited = cited;
        }
        self.keep(place, whole.without(&["type", "role", "content"]), special);
        self.release(Voice::Text, out);
        Ok(())
    }

    fn finish_reasoning(
        &mut self,
        place: usize,
        whole: &Fields<'_>,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), serde_json::Error> {
        let texts = |name: &str| -> Result<Vec<String>, serde_json::Error> {
            let parts = whole.objects(name)?;
            Ok(parts.iter().map(|part| part.text("text").unwrap_or_default().into_owned()).collect())
        };
        let (summary, content) = (texts("summary")?, texts("content")?);
        let streamed = self.all.get(place).and_then(|item| item.content);
        let has_text = |parts: &[String]| parts.iter().any(|text| !text.is_empty());
        let as_content = streamed.unwrap_or_else(|| !has_text(&summary) && has_text(&content));
        let chosen = if as_content { content } else { summary };
        let (mut text, mut parts) = (String::new(), Vec::new());
        for thought in chosen {
            let gap = if text.is_empty() { "" } else { GAP };
            text.extend([gap, thought.as_str()]);
            parts.push(TextPart {
                bytes: gap.len() + thought.len(),
                gap: !gap.is_empty(),
                ..TextPart::default()
            });
        }
        self.settle(place, text, parts);
        if let Some(item) = self.all.get_mut(place) {
            item.content = Some(as_content);
        }
        // Without its encrypted form the provider knows a reply by its id alone, which it does not store.
        let returnable =
            whole.text("encrypted_content").is_some_and(|sealed| !sealed.is_empty()) || as_content;
        let left = if as_content { ["type", "content"] } else { ["type", "summary"] };
        self.keep(place, whole.without(&left).filter(|_| returnable), returnable);
        self.release(Voice::Reasoning, out);
        Ok(())
    }

    fn finish_call(&mut self, place: usize, whole: &Fields<'_>, out: &mut VecDeque<Delta>) {
        let args = whole.text_or_json("arguments");
        let streamed = self.all.get(place).map(|item| item.text.as_str()).unwrap_or_default();
        let rest = args.strip_prefix(streamed).unwrap_or_default().to_owned();
        self.call(place, whole, &rest, out);
        // The reply says who made an id that goes back as it came.
        let special = whole.names().any(|name| !PLAIN_CALL.contains(&name) && whole.get(name).is_some())
            || whole.text("call_id").is_some_and(|id| !id.is_empty() && is_odd(&id));
        self.keep(place, whole.without(&["type", "call_id", "name", "arguments"]), special);
        if let Some(item) = self.all.get_mut(place) {
            item.text = String::new();
        }
    }

    fn finish_client_call(
        &mut self,
        place: usize,
        kind: usize,
        whole: &Fields<'_>,
        out: &mut VecDeque<Delta>,
    ) {
        let field = CLIENT_CALLS.get(kind).map_or("", |(.., field)| *field);
        let args = match whole.get(field) {
            Some(raw) if raw.get().starts_with('{') => compacted(raw),
            Some(raw) => wrapped(field, raw),
            None => String::new(),
        };
        self.call(place, whole, &args, out);
        self.keep(place, whole.without(&["call_id"]), true);
    }

    fn finish_image(&mut self, place: usize, whole: &Fields<'_>, out: &mut VecDeque<Delta>) {
        if let Some(one) = annotations::step(whole) {
            step(out, one);
        }
        let Some(data) = whole.text("result").filter(|data| !data.is_empty()) else {
            if let Some(item) = self.all.get_mut(place) {
                item.kind = Kind::Own;
            }
            return self.keep(place, whole.without(&[]), true);
        };
        let format = whole.text("output_format").unwrap_or_else(|| format_of(&data).into());
        self.output_bytes += data.len();
        out.push_back(Delta::Media(Media {
            media_type: format!("image/{format}").into(),
            name: None,
            source: MediaSource::Base64(data.into()),
        }));
        self.keep(place, whole.without(&["result"]), true);
    }

    /// Takes an item's text from the item itself, if what was streamed is its beginning. Else what was streamed counts,
    /// because it was seen.
    fn settle(&mut self, place: usize, text: String, parts: Vec<TextPart>) {
        if let Some(item) = self.all.get_mut(place)
            && text.starts_with(&item.text)
        {
            self.kept = self.kept.saturating_add((text.len() - item.text.len()) as u64);
            (item.text, item.parts) = (text, parts);
        }
    }

    fn keep(&mut self, place: usize, own: Option<Box<RawValue>>, special: bool) {
        if let Some(item) = self.all.get_mut(place) {
            self.kept = self.kept.saturating_add(own.as_ref().map_or(0, |own| own.get().len()) as u64);
            (item.own, item.special, item.done) = (own, special, true);
        }
    }
}

/// The format of an image by the first bytes of its base64 form (PNG, JPEG and WebP are what the API makes).
fn format_of(data: &str) -> &'static str {
    if data.starts_with("/9j/") {
        "jpeg"
    } else if data.starts_with("UklGR") {
        "webp"
    } else {
        "png"
    }
}
