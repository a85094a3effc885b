//! Owns what only the provider understands of a reply, and how it goes back: blocks of reasoning (`reasoning_details`), signatures
//! beside calls and text (`extra_content`), reasoning in parts of the content.
//!
//! Sources: OpenRouter, "Reasoning tokens" (the blocks go back in their order, unchanged); Google, "Thought signatures" (a call goes
//! back with the `extra_content` that it came with); Mistral, "Reasoning" (content parts of type `thinking`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use windlass_core::message::{AssistantMessage, ProviderMetadata};
use windlass_core::model::MAX_REPLY_BYTES;

use super::encode::is_long;
use super::parts::Detail;
use crate::assemble::places::Places;
use crate::wires::layout::{Kind, Layout, Part, placed};

/// The wire's name in layouts.
const WIRE: &str = "openai_chat";

/// The data on a part by its provider.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Own {
    /// A block of `reasoning_details`, without its readable text, which is the part's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<Detail>,
    /// The part is one of the content's, of type `thinking`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    thinking: bool,
    /// The `extra_content` of a call or of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    extra_content: Option<Box<RawValue>>,
    /// The call has an id that only its maker takes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    long_id: bool,
}

impl Own {
    fn raw(&self) -> Option<Box<RawValue>> {
        serde_json::value::to_raw_value(self).ok()
    }
}

/// Collects the parts of one reply as it comes.
#[derive(Debug, Default)]
pub(super) struct MetadataBuilder {
    layout: Layout,
    /// The block of reasoning that may go on, and whether it is the layout's last part.
    open: Option<Detail>,
    /// Whether the layout's last part is reasoning of the content.
    thinking: bool,
    calls: Vec<Mark>,
    /// The last call of an index and of an id.
    by_index: Places<u32>,
    by_id: Places<String>,
    extra_content: Option<Box<RawValue>>,
    /// Whether any part has something of its own.
    some: bool,
    /// Text became reasoning after it had come: the order is not known any more.
    moved: bool,
    bytes: usize,
}

/// A call and what came with it.
#[derive(Debug)]
struct Mark {
    index: Option<u32>,
    id: Option<String>,
    extra_content: Option<Box<RawValue>>,
}

/// The key of a block's readable text.
fn text_key(detail: &Detail) -> Option<&'static str> {
    match detail.get("type").and_then(Value::as_str) {
        Some("reasoning.text") => Some("text"),
        Some("reasoning.summary") => Some("summary"),
        _ => None,
    }
}

impl MetadataBuilder {
    /// Whether more was kept than one reply may have.
    pub(super) fn is_too_large(&self) -> bool {
        self.bytes as u64 > MAX_REPLY_BYTES
    }

    /// Adds bytes of text, sorted from thoughts.
    pub(super) fn text(&mut self, bytes: usize) {
        self.close();
        self.layout.add(Kind::Text, bytes);
    }

    /// Adds bytes of readable reasoning to the open block, if there is one.
    pub(super) fn reasoning(&mut self, bytes: usize) {
        self.layout.add(Kind::Reasoning, bytes);
    }

    /// Adds an image.
    pub(super) fn media(&mut self) {
        self.close();
        self.layout.begin(Kind::Media);
    }

    /// The text so far is reasoning.
    pub(super) fn moved(&mut self) {
        self.moved = true;
    }

    /// Begins readable reasoning that belongs to no block, or goes on with it.
    pub(super) fn plain(&mut self) {
        if self.open.is_some() || self.thinking {
            self.close();
            self.layout.begin(Kind::Reasoning);
        }
    }

    /// Begins reasoning of the content, or goes on with it.
    pub(super) fn thinking(&mut self) {
        if self.thinking {
            return;
        }
        self.close();
        self.thinking = true;
        self.some = true;
        let own = Own { thinking: true, ..Own::default() };
        self.layout.push(Part { kind: Kind::Reasoning, bytes: 0, own: own.raw() });
    }

    /// Adds a block of reasoning and gives its readable text. In a stream (`pieces`) it may go on with the block before.
    pub(super) fn detail(&mut self, mut detail: Detail, pieces: bool) -> Option<String> {
        self.some = true;
        let key = text_key(&detail);
        let text = key.and_then(|key| match detail.get(key) {
            Some(Value::String(_)) => detail.remove(key),
            _ => None,
        });
        let text = text.and_then(|text| if let Value::String(text) = text { Some(text) } else { None });
        if let Some(open) =
            self.open.as_mut().filter(|open| pieces && key.is_some() && goes_on(open, &detail))
        {
            let key = key.unwrap_or_default();
            for (name, value) in detail {
                // What a later piece leaves out stays as the earlier one said it.
                if !value.is_null() || !open.contains_key(&name) {
                    self.bytes += name.len() + value.as_str().map_or(8, str::len);
                    open.insert(name, value);
                }
            }
            if text.is_some() {
                open.remove(key);
            }
            return text;
        }
        self.close();
        self.bytes += serde_json::to_string(&detail).map_or(0, |json| json.len());
        if key.is_some() {
            self.layout.begin(Kind::Reasoning);
            self.open = Some(detail);
        } else {
            let own = Own { detail: Some(detail), ..Own::default() };
            self.layout.push(Part { kind: Kind::Own, bytes: 0, own: own.raw() });
        }
        text
    }

    /// Writes down what is known of the open block.
    fn close(&mut self) {
        self.thinking = false;
        let Some(detail) = self.open.take() else { return };
        let own = Own { detail: Some(detail), ..Own::default() };
        if let Some(part) = self.layout.last().and_then(|last| self.layout.at_mut(last)) {
            part.own = own.raw();
        }
    }

    /// Adds a piece of a call. Which call it belongs to is decided as [`Delta::Call`](crate::Delta::Call) says.
    pub(super) fn call(
        &mut self,
        index: Option<u32>,
        id: Option<&str>,
        named: bool,
        extra_content: Option<Box<RawValue>>,
    ) {
        let extra_content = extra_content.and_then(|raw| compact(&raw));
        self.bytes += extra_content.as_ref().map_or(0, |raw| raw.get().len());
        self.some |= extra_content.is_some();
        let id = id.filter(|id| !id.is_empty());
        let at = match index {
            Some(index) => self.by_index.get(&index),
            None => id.and_then(|id| self.by_id.get(id)),
        };
        let same = |mark: &&Mark| id.is_none() || mark.id.is_none() || mark.id.as_deref() == id;
        let at = at.filter(|at| self.calls.get(*at).as_ref().is_some_and(same));
        // A piece that says nothing of its call goes on with the last one.
        let last = (index.is_none() && id.is_none() && !named).then(|| self.calls.len().checked_sub(1));
        let at = at.or(last.flatten()).unwrap_or_else(|| {
            self.calls.push(Mark { index, id: None, extra_content: None });
            self.calls.len() - 1
        });
        if let Some(index) = index {
            self.by_index.insert(index, at);
        }
        let Some(mark) = self.calls.get_mut(at) else { return };
        if let Some(id) = id.filter(|_| mark.id.is_none()) {
            self.some |= is_long(id);
            mark.id = Some(id.to_owned());
            self.by_id.insert(id.to_owned(), at);
        }
        if extra_content.is_some() {
            mark.extra_content = extra_content;
        }
    }

    /// Keeps what stands beside the message, if it holds a signature.
    pub(super) fn keep_extra_content(&mut self, extra_content: &RawValue) {
        let signed = |raw: &RawValue| {
            let value: Option<Value> = serde_json::from_str(raw.get()).ok();
            value
                .is_some_and(|value| value.pointer("/google/thought_signature").is_some_and(Value::is_string))
        };
        if signed(extra_content)
            && let Some(extra_content) = compact(extra_content)
        {
            self.some = true;
            self.bytes += extra_content.get().len();
            self.extra_content = Some(extra_content);
        }
    }

    /// The metadata that goes back to the provider. `None`: there is nothing of its own.
    pub(super) fn seal(&mut self, provider: &str) -> Option<ProviderMetadata> {
        self.close();
        if !self.some || self.moved {
            return None;
        }
        let mut layout = std::mem::take(&mut self.layout);
        let mut calls = std::mem::take(&mut self.calls);
        if calls.iter().all(|call| call.index.is_some()) {
            calls.sort_by_key(|call| call.index);
        }
        for call in calls {
            let long_id = call.id.as_deref().is_some_and(is_long);
            let own = Own { extra_content: call.extra_content, long_id, ..Own::default() };
            let says = own.extra_content.is_some() || long_id;
            layout.push(Part { kind: Kind::Call, bytes: 0, own: own.raw().filter(|_| says) });
        }
        if let Some(extra) = self.extra_content.take() {
            let own = Own { extra_content: Some(extra), ..Own::default() };
            layout.push(Part { kind: Kind::Own, bytes: 0, own: own.raw() });
        }
        layout.seal(provider, WIRE)
    }
}

/// The same JSON without blanks: a whole reply may be indented, and a stream of it is not.
fn compact(raw: &RawValue) -> Option<Box<RawValue>> {
    let value: Value = serde_json::from_str(raw.get()).ok()?;
    serde_json::value::to_raw_value(&value).ok()
}

/// Whether a piece goes on with an open block: both are of one type, and neither names another place.
fn goes_on(open: &Detail, piece: &Detail) -> bool {
    let same = |key: &str| match (open.get(key), piece.get(key)) {
        (Some(one), Some(other)) => one == other || one.is_null() || other.is_null(),
        _ => true,
    };
    open.get("type") == piece.get("type") && same("index") && same("id")
}

/// The data that goes back with a message of this provider.
#[derive(Debug, Default)]
pub(super) struct Returned<'m> {
    /// Blocks of reasoning with their readable text.
    pub(super) details: Vec<Detail>,
    /// The parts of the content, where reasoning is one: whether it is, and its text.
    pub(super) content: Vec<(bool, &'m str)>,
    /// `extra_content` of the message.
    pub(super) extra_content: Option<Box<RawValue>>,
    /// `extra_content` of calls by their places.
    pub(super) calls: BTreeMap<usize, Box<RawValue>>,
}

/// Reads what the provider said of a message. `None`: another one made it, or it was changed since.
pub(super) fn returned<'m>(reply: &'m AssistantMessage, provider: &str) -> Option<Returned<'m>> {
    let mut all = Returned::default();
    let mut within = false;
    for part in placed(reply, provider, WIRE)? {
        let own: Own = match &part.own {
            Some(raw) => serde_json::from_str(raw.get()).ok()?,
            None => Own::default(),
        };
        within |= own.thinking;
        match part.kind {
            Kind::Text => all.content.push((false, part.text)),
            Kind::Reasoning if own.thinking => all.content.push((true, part.text)),
            Kind::Call => all.calls.extend(own.extra_content.map(|extra| (part.at, extra))),
            Kind::Own if own.detail.is_none() => all.extra_content = own.extra_content,
            Kind::Reasoning | Kind::Own => {
                all.details.extend(own.detail.map(|mut detail| {
                    if let Some(key) = text_key(&detail).filter(|key| !detail.contains_key(*key)) {
                        detail.insert(key.to_owned(), part.text.into());
                    }
                    detail
                }));
            }
            Kind::Media => {}
        }
    }
    if !within {
        all.content.clear();
    }
    Some(all)
}
