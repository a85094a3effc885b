//! Owns what is kept of a reply until its end: the order of its parts, with their signatures and what only Gemini understands.

use serde_json::value::RawValue;
use windlass_core::message::ProviderMetadata;
use windlass_core::model::MAX_REPLY_BYTES;

use super::NAME;
use crate::wires::json::{compact, json_value};
use crate::wires::layout::{Kind, Layout, Part};

/// About how much memory a part takes beside what it holds, in bytes.
const PART_BYTES: usize = 64;

/// The layout of a reply that is being read, with a count of its bytes.
#[derive(Debug, Default)]
pub(super) struct MetadataBuilder {
    layout: Layout,
    bytes: usize,
}

impl MetadataBuilder {
    /// Whether any part came.
    pub(super) fn has_begun(&self) -> bool {
        self.layout.last().is_some()
    }

    /// Counts bytes that are kept elsewhere until the reply ends.
    pub(super) fn count(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Whether more is kept than a reply may have: the bound of a reply does not look at it.
    pub(super) fn is_too_large(&self) -> bool {
        self.bytes as u64 > MAX_REPLY_BYTES
    }

    /// Adds text or reasoning. A part that is signed stays a part of its own ("Thought signatures": parts are not to be joined).
    pub(super) fn text(&mut self, kind: Kind, bytes: usize, signature: Option<&str>) {
        let last = self.layout.last().and_then(|last| self.layout.at_mut(last));
        match last {
            Some(last) if signature.is_none() && last.own.is_none() && last.kind == kind => {
                self.layout.add(kind, bytes);
            }
            _ => self.push(kind, bytes, own(None, signature)),
        }
    }

    /// Adds a medium.
    pub(super) fn medium(&mut self, signature: Option<&str>) {
        self.push(Kind::Media, 0, own(None, signature));
    }

    /// Adds a call, and says where it stands.
    pub(super) fn call(&mut self, id: Option<&str>, signature: Option<&str>) -> Option<usize> {
        self.push(Kind::Call, 0, own(id, signature));
        self.layout.last()
    }

    /// Adds the signature of a call that began before.
    pub(super) fn sign(&mut self, place: Option<usize>, id: Option<&str>, signature: &str) {
        if let Some(part) = place.and_then(|place| self.layout.at_mut(place)) {
            part.own = own(id, Some(signature));
            self.count(signature.len());
        }
    }

    /// Adds a part that only the provider understands, as it came, and says how many bytes it has. One that says nothing is none.
    pub(super) fn own(&mut self, raw: &RawValue) -> usize {
        let whole = compact(raw.get());
        if matches!(whole.as_str(), "{}" | "{\"thought\":true}" | "{\"thought\":false}") {
            return 0;
        }
        let bytes = whole.len();
        self.push(Kind::Own, 0, RawValue::from_string(whole).ok());
        bytes
    }

    /// The layout as the message keeps it.
    pub(super) fn seal(&self, label: &str) -> Option<ProviderMetadata> {
        self.layout.seal(label, NAME)
    }

    fn push(&mut self, kind: Kind, bytes: usize, own: Option<Box<RawValue>>) {
        self.count(PART_BYTES + own.as_ref().map_or(0, |own| own.get().len()));
        self.layout.push(Part { kind, bytes, own });
    }
}

/// The provider's data on a part: the id of a call as it gave it, and a signature.
fn own(id: Option<&str>, signature: Option<&str>) -> Option<Box<RawValue>> {
    if id.is_none() && signature.is_none() {
        return None;
    }
    let mut json = vec![b'{'];
    for (name, value) in [("id", id), ("thoughtSignature", signature)] {
        if let Some(value) = value {
            if json.len() > 1 {
                json.push(b',');
            }
            json_value(&mut json, name);
            json.push(b':');
            json_value(&mut json, value);
        }
    }
    json.push(b'}');
    String::from_utf8(json).ok().and_then(|json| RawValue::from_string(json).ok())
}
