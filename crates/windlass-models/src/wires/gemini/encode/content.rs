//! Owns how messages become contents: roles, parts, calls with their signatures, and results.

use std::collections::BTreeMap;

use serde::Deserialize;
use windlass_core::message::{AssistantMessage, Content, Media, Part, ToolCall, ToolMessage};
use windlass_core::{CallId, Message, Text};

use super::super::NAME;
use super::media;
use crate::wires::Dialect;
use crate::wires::content::{note, object_args};
use crate::wires::json::{field, json_string};
use crate::wires::layout::{Kind, Placed, placed};

/// Stands in for the signature of a call that Gemini did not make ("Thought signatures", FAQ: for a history that comes from
/// another model).
const FOREIGN_CALL: &str = "skip_thought_signature_validator";

/// The user's message before a conversation that begins with calls: the API takes calls only behind something said.
const OPENING: &str = "Continue.";

/// A side of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    User,
    Model,
}

/// The encoded conversation. `THIRD`: for models of Gemini 3 and later, which want each step's first call signed and take media
/// in results.
#[derive(Debug)]
pub(super) struct Contents<const THIRD: bool> {
    /// The parts of `systemInstruction`.
    system: Vec<u8>,
    /// The elements of `contents`, of which the last one lacks its `]}`.
    bytes: Vec<u8>,
    side: Option<Side>,
    /// How the calls of the last reply were sent, by our ids.
    sent: BTreeMap<CallId, Sent>,
}

/// A call as it was sent.
#[derive(Debug)]
struct Sent {
    id: Option<Text>,
    name: Text,
}

/// The provider's data on a part beside its content.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Own {
    id: Option<Text>,
    thought_signature: Option<Text>,
}

impl<const THIRD: bool> Contents<THIRD> {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { system: Vec::new(), bytes: Vec::with_capacity(bytes), side: None, sent: BTreeMap::new() }
    }

    /// The parts of the instructions, and the contents without the end of the last one.
    pub(super) fn bytes(&self) -> (&[u8], &[u8]) {
        (&self.system, &self.bytes)
    }

    pub(super) fn message(&mut self, dialect: &Dialect, message: &Message) {
        match message {
            // Instructions within a conversation have no place of their own in the API.
            Message::System { text } if self.side.is_none() => self.instruction(text),
            Message::System { text } => self.text(Side::User, text, false, None),
            Message::User { content, .. } | Message::TaskDelegation { content } => self.user(content),
            Message::Assistant(reply) => self.reply(dialect, reply),
            Message::Tool(result) => self.result(result),
        }
    }

    fn instruction(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.system.is_empty() {
            self.system.push(b',');
        }
        self.system.extend_from_slice(b"{\"text\":");
        json_string(&mut self.system, text);
        self.system.push(b'}');
    }

    /// Begins a part: in the open content, or in a new one if the other side spoke last.
    fn part(&mut self, side: Side) -> &mut Vec<u8> {
        let role: &[u8] = match side {
            Side::User => b"{\"role\":\"user\",\"parts\":[",
            Side::Model => b"{\"role\":\"model\",\"parts\":[",
        };
        match self.side.replace(side) {
            Some(last) if last == side => self.bytes.push(b','),
            Some(_) => {
                self.bytes.extend_from_slice(b"]},");
                self.bytes.extend_from_slice(role);
            }
            None => self.bytes.extend_from_slice(role),
        }
        &mut self.bytes
    }

    /// A part of text. The API refuses one that is empty, unless it carries a signature.
    fn text(&mut self, side: Side, text: &str, thought: bool, signature: Option<&str>) {
        if text.is_empty() && signature.is_none() {
            return;
        }
        let out = self.part(side);
        out.extend_from_slice(b"{\"text\":");
        json_string(out, text);
        if thought {
            out.extend_from_slice(b",\"thought\":true");
        }
        sign(out, signature);
        out.push(b'}');
    }

    fn medium(&mut self, side: Side, what: &str, medium: &Media, signature: Option<&str>) {
        let mut part = vec![b'{'];
        if media::write(&mut part, medium) {
            sign(&mut part, signature);
            part.push(b'}');
            self.part(side).extend_from_slice(&part);
        } else {
            self.text(side, &note(what, medium), false, signature);
        }
    }

    fn user(&mut self, content: &Content) {
        let parts = match content {
            Content::Text(text) => return self.text(Side::User, text, false, None),
            Content::Parts(parts) => parts,
        };
        for part in parts {
            match part {
                Part::Text { text } => self.text(Side::User, text, false, None),
                Part::Stored(stored) => self.text(Side::User, &stored.placeholder(), false, None),
                Part::Image(medium) => self.medium(Side::User, "image", medium, None),
                Part::File(medium) => self.medium(Side::User, "file", medium, None),
            }
        }
    }

    fn reply(&mut self, dialect: &Dialect, reply: &AssistantMessage) {
        if !reply.calls.is_empty() {
            self.sent.clear();
            if self.side.is_none() {
                self.text(Side::User, OPENING, false, None);
            }
        }
        // The first call of a step carries the signature of the step.
        let mut unsigned = THIRD;
        if let Some(parts) = placed(reply, &dialect.label, NAME) {
            for part in parts {
                self.placed(reply, &part, &mut unsigned);
            }
            return;
        }
        self.text(Side::Model, reply.text.as_deref().unwrap_or_default(), false, None);
        for medium in &reply.media {
            self.medium(Side::Model, media::kind(medium), medium, None);
        }
        for call in &reply.calls {
            let own = Own { id: Some(call.id.0.clone()), thought_signature: None };
            self.call(call, own, &mut unsigned);
        }
    }

    /// A part as this provider sent it.
    fn placed(&mut self, reply: &AssistantMessage, part: &Placed<'_>, unsigned: &mut bool) {
        let read = |own: &serde_json::value::RawValue| serde_json::from_str::<Own>(own.get()).ok();
        let own = part.own.as_deref().and_then(read).unwrap_or_default();
        let signature = own.thought_signature.as_deref();
        match part.kind {
            Kind::Text => self.text(Side::Model, part.text, false, signature),
            Kind::Reasoning => self.text(Side::Model, part.text, true, signature),
            Kind::Media => {
                if let Some(medium) = reply.media.get(part.at) {
                    self.medium(Side::Model, media::kind(medium), medium, signature);
                }
            }
            Kind::Call => {
                if let Some(call) = reply.calls.get(part.at) {
                    self.call(call, own, unsigned);
                }
            }
            Kind::Own => {
                if let Some(whole) = &part.own {
                    self.part(Side::Model).extend_from_slice(whole.get().as_bytes());
                }
            }
        }
    }

    fn call(&mut self, call: &ToolCall, own: Own, unsigned: &mut bool) {
        let foreign = std::mem::take(unsigned).then_some(FOREIGN_CALL);
        let out = self.part(Side::Model);
        out.extend_from_slice(b"{\"functionCall\":{");
        if let Some(id) = &own.id {
            out.extend_from_slice(b"\"id\":");
            json_string(out, id);
            out.push(b',');
        }
        out.extend_from_slice(b"\"name\":");
        json_string(out, &call.name);
        field(out, "args");
        out.extend_from_slice(object_args(&call.args).trim().as_bytes());
        out.push(b'}');
        sign(out, own.thought_signature.as_deref().or(foreign));
        out.push(b'}');
        self.sent.insert(call.id.clone(), Sent { id: own.id, name: call.name.clone() });
    }

    /// The result of a call, under the name and the id that the call went out with. Its `response` is an object: `output`, or
    /// `error` for a call that failed (`FunctionResponse`).
    fn result(&mut self, result: &ToolMessage) {
        let sent = self.sent.get(&result.call);
        let id = sent.map_or_else(|| Some(result.call.0.clone()), |sent| sent.id.clone());
        let name = sent.map_or_else(|| result.name.clone(), |sent| sent.name.clone());
        let mut media_parts = Vec::new();
        let text = match &result.content {
            Content::Text(text) => text.to_string(),
            Content::Parts(parts) => {
                let texts: Vec<String> =
                    parts.iter().filter_map(|part| Self::result_part(part, &mut media_parts)).collect();
                texts.join("\n")
            }
        };
        let out = self.part(Side::User);
        out.extend_from_slice(b"{\"functionResponse\":{");
        if let Some(id) = &id {
            out.extend_from_slice(b"\"id\":");
            json_string(out, id);
            out.push(b',');
        }
        out.extend_from_slice(b"\"name\":");
        json_string(out, &name);
        out.extend_from_slice(b",\"response\":{\"");
        out.extend_from_slice(if result.failed { b"error" } else { b"output" });
        out.extend_from_slice(b"\":");
        json_string(out, &text);
        out.push(b'}');
        if !media_parts.is_empty() {
            field(out, "parts");
            out.push(b'[');
            out.extend_from_slice(&media_parts);
            out.push(b']');
        }
        out.extend_from_slice(b"}}");
    }

    /// A part of a result: its text, or a medium in `media_parts` if the API takes it there.
    fn result_part(part: &Part, media_parts: &mut Vec<u8>) -> Option<String> {
        let (what, medium) = match part {
            Part::Text { text } => return Some(text.to_string()),
            Part::Stored(stored) => return Some(stored.placeholder()),
            Part::Image(medium) => ("image", medium),
            Part::File(medium) => ("file", medium),
        };
        if THIRD && media::goes_into_results(medium) {
            media_parts.extend_from_slice(if media_parts.is_empty() { b"{" } else { b",{" });
            media::write(media_parts, medium);
            media_parts.push(b'}');
            return None;
        }
        Some(note(what, medium))
    }
}

fn sign(out: &mut Vec<u8>, signature: Option<&str>) {
    if let Some(signature) = signature {
        field(out, "thoughtSignature");
        json_string(out, signature);
    }
}
