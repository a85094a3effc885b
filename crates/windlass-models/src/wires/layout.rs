//! Owns the order of a reply's parts and what only its provider understands of them, kept beside the reply so that it goes back
//! as it came.
//!
//! Signatures of thinking, encrypted reasoning, ids of items and blocks of hosted tools belong to places between text,
//! reasoning and calls. A [`Layout`] lists the parts in order: of text and readable reasoning only how many bytes belong to a part,
//! because they stand in the message. It is stored as the message's [`ProviderMetadata`] and read by the wire that wrote it. Where
//! it does not fit the message any more (a secret was masked, a person edited the message), the wire writes the message without it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use windlass_core::message::{AssistantMessage, ProviderMetadata};

/// A part of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The next bytes of the text.
    Text,
    /// The next bytes of the readable reasoning.
    Reasoning,
    /// The next call.
    Call,
    /// The next image or file that the model made.
    Media,
    /// A part that only the provider understands.
    Own,
}

/// One part with what its provider said of it beside its text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    #[serde(rename = "k")]
    pub(crate) kind: Kind,
    /// Bytes of text or reasoning.
    #[serde(rename = "n", default, skip_serializing_if = "is_zero")]
    pub(crate) bytes: usize,
    /// The provider's own data, as the wire writes it: a signature, an id, a whole block.
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    pub(crate) own: Option<Box<RawValue>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The parts of one reply, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct Stored<'l> {
    wire: &'l str,
    parts: &'l [Part],
}

#[derive(Deserialize)]
struct Read {
    wire: String,
    parts: Vec<Part>,
}

impl Layout {
    /// Begins a part.
    pub(crate) fn begin(&mut self, kind: Kind) {
        self.parts.push(Part { kind, bytes: 0, own: None });
    }

    /// Adds bytes of text or reasoning to the last part, or to a new one if the last is of another kind.
    pub(crate) fn add(&mut self, kind: Kind, bytes: usize) {
        match self.parts.last_mut() {
            Some(last) if last.kind == kind => last.bytes += bytes,
            _ => self.parts.push(Part { kind, bytes, own: None }),
        }
    }

    /// Adds a whole part.
    pub(crate) fn push(&mut self, part: Part) {
        self.parts.push(part);
    }

    /// The place of the last part.
    pub(crate) fn last(&self) -> Option<usize> {
        self.parts.len().checked_sub(1)
    }

    /// The part at a place, to add what became known of it later.
    pub(crate) fn at_mut(&mut self, place: usize) -> Option<&mut Part> {
        self.parts.get_mut(place)
    }

    /// The layout as a message keeps it. `None`: the message itself says as much.
    pub(crate) fn seal(&self, provider: &str, wire: &str) -> Option<ProviderMetadata> {
        let kinds: Vec<Kind> = self
            .parts
            .iter()
            .filter(|part| part.kind != Kind::Text || part.bytes > 0)
            .map(|part| part.kind)
            .collect();
        let rank = |kind: &Kind| match kind {
            Kind::Reasoning => 0,
            Kind::Text => 1,
            Kind::Media => 2,
            Kind::Call | Kind::Own => 3,
        };
        let once = |kind| kinds.iter().filter(|other| **other == kind).count() <= 1;
        let plain = self.parts.iter().all(|part| part.own.is_none())
            && kinds.is_sorted_by_key(rank)
            && once(Kind::Text)
            && once(Kind::Reasoning);
        if plain {
            return None;
        }
        let data = serde_json::to_string(&Stored { wire, parts: &self.parts }).ok()?;
        Some(ProviderMetadata { provider: provider.into(), data: data.into() })
    }
}

/// The same layout for a message whose text was changed as a whole, from so many bytes to so many others: all of it belongs to its last
/// part. `None`: the data is no layout, or it has other text.
pub(crate) fn reworded(sealed: &ProviderMetadata, before: usize, now: usize) -> Option<ProviderMetadata> {
    let mut read: Read = serde_json::from_str(&sealed.data).ok()?;
    let mut texts: Vec<&mut Part> = read.parts.iter_mut().filter(|part| part.kind == Kind::Text).collect();
    if texts.iter().map(|part| part.bytes).sum::<usize>() != before {
        return None;
    }
    for part in &mut texts {
        part.bytes = 0;
    }
    texts.last_mut()?.bytes = now;
    let data = serde_json::to_string(&Stored { wire: &read.wire, parts: &read.parts }).ok()?;
    Some(ProviderMetadata { provider: sealed.provider.clone(), data: data.into() })
}

/// A part of a message with its content.
#[derive(Debug)]
pub(crate) struct Placed<'m> {
    pub(crate) kind: Kind,
    /// The text or reasoning of the part; empty for the others.
    pub(crate) text: &'m str,
    /// The place of the call or medium in the message.
    pub(crate) at: usize,
    pub(crate) own: Option<Box<RawValue>>,
}

/// The parts of a message as this provider sent them on this wire. `None`: another provider made it, or it was changed since.
pub(crate) fn placed<'m>(reply: &'m AssistantMessage, provider: &str, wire: &str) -> Option<Vec<Placed<'m>>> {
    let reasoning = reply.reasoning.as_ref()?;
    let sealed = reasoning.provider_metadata.as_ref().filter(|sealed| &*sealed.provider == provider)?;
    let read: Read = serde_json::from_str(&sealed.data).ok().filter(|read: &Read| read.wire == wire)?;
    let all = fitted(reply, &reasoning.text, read);
    if all.is_none() {
        misfit(provider, wire);
    }
    all
}

/// The parts with their content; `None`: they do not fit the message.
fn fitted<'m>(reply: &'m AssistantMessage, thoughts: &'m str, read: Read) -> Option<Vec<Placed<'m>>> {
    let (mut text, mut thought) = (reply.text.as_deref().unwrap_or_default(), thoughts);
    let (mut calls, mut media) = (0, 0);
    let mut all = Vec::with_capacity(read.parts.len());
    for Part { kind, bytes, own } in read.parts {
        let (content, at) = match kind {
            Kind::Text => (split_off(&mut text, bytes)?, 0),
            Kind::Reasoning => (split_off(&mut thought, bytes)?, 0),
            Kind::Call => ("", next(&mut calls)),
            Kind::Media => ("", next(&mut media)),
            Kind::Own => ("", 0),
        };
        all.push(Placed { kind, text: content, at, own });
    }
    let whole =
        text.is_empty() && thought.is_empty() && calls == reply.calls.len() && media == reply.media.len();
    whole.then_some(all)
}

/// Says in the log that what a provider needs back of a reply is left out.
fn misfit(provider: &str, wire: &str) {
    tracing::warn!(
        provider,
        wire,
        "signatures and order of a reply are not sent back, because the message is not as its provider sent it"
    );
}

fn next(count: &mut usize) -> usize {
    *count += 1;
    *count - 1
}

fn split_off<'t>(rest: &mut &'t str, bytes: usize) -> Option<&'t str> {
    let (head, tail) = rest.split_at_checked(bytes)?;
    *rest = tail;
    Some(head)
}

#[cfg(test)]
mod tests;
