//! Owns the layout of a reply's items: what their provider needs back.

use serde_json::value::RawValue;
use windlass_core::message::ProviderMetadata;

use super::super::super::NAME;
use super::super::super::own::Own;
use super::{Item, Items, Kind};
use crate::thoughts::GAP;
use crate::wires::layout::{self, Layout};

impl Items {
    /// The layout of the reply. `response`: its id, where the provider stores it.
    pub(in crate::wires::openai_responses) fn seal(
        &self,
        provider: &str,
        response: Option<&str>,
    ) -> Option<ProviderMetadata> {
        let messages = self.all.iter().filter(|item| item.kind == Kind::Message && !item.parts.is_empty());
        let mut annotated = self.all.iter().flat_map(|item| &item.parts);
        let telling = response.is_some()
            || messages.count() > 1
            || annotated.any(|part| part.refusal || part.annotations.is_some())
            || self.all.iter().any(|item| item.special);
        let mut layout = Layout::default();
        if let Some(id) = response {
            let own = Own { response: Some(id.to_owned()), ..Own::default() };
            layout.push(layout::Part { kind: layout::Kind::Own, bytes: 0, own: own.sealed() });
        }
        for item in &self.all {
            item.place(&mut layout, telling);
        }
        layout.seal(provider, NAME)
    }
}

impl Item {
    /// Adds its parts to a layout; `telling`: with what its provider needs back.
    fn place(&self, layout: &mut Layout, telling: bool) {
        let item = self.own.clone().filter(|_| telling);
        let kind = match self.kind {
            Kind::Message | Kind::Reasoning => return self.place_texts(layout, item, telling),
            // What was not given out is no call of the reply.
            Kind::Call | Kind::Client(_) if self.given == 0 => return,
            Kind::Call | Kind::Client(_) => layout::Kind::Call,
            Kind::Image if self.own.is_none() => return,
            Kind::Image => layout::Kind::Media,
            Kind::Own if item.is_none() => return,
            Kind::Own => layout::Kind::Own,
        };
        match (Own { item, ..Own::default() }).sealed() {
            Some(own) => layout.push(layout::Part { kind, bytes: 0, own: Some(own) }),
            None => layout.begin(kind),
        }
    }

    fn place_texts(&self, layout: &mut Layout, mut item: Option<Box<RawValue>>, telling: bool) {
        let kind = if self.kind == Kind::Message { layout::Kind::Text } else { layout::Kind::Reasoning };
        let content = self.content == Some(true);
        if self.parts.is_empty() && self.kind == Kind::Reasoning && item.is_some() {
            let own = Own { item, content, ..Own::default() };
            return layout.push(layout::Part { kind, bytes: 0, own: own.sealed() });
        }
        // Reasoning that does not go back needs its place only.
        let telling = telling && (self.kind == Kind::Message || item.is_some());
        for (at, part) in self.parts.iter().enumerate() {
            let first = self.gap && at == 0;
            let gap = if first { GAP.len() } else { 0 };
            let own = Own {
                item: item.take(),
                more: at > 0,
                gap: first || part.gap,
                refusal: part.refusal,
                content,
                annotations: part.annotations.clone(),
                ..Own::default()
            };
            let own = if telling { own.sealed() } else { None };
            let bytes = part.bytes + gap;
            let last = layout.last().and_then(|last| layout.at_mut(last));
            if own.is_none() && last.is_some_and(|last| last.own.is_none()) {
                layout.add(kind, bytes);
            } else {
                layout.push(layout::Part { kind, bytes, own });
            }
        }
    }
}
