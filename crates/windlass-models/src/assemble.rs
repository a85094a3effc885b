//! Owns how the pieces of a streamed reply become a [`Reply`]: the one fold behind streaming and blocking calls.

mod annotations;
pub(crate) mod places;

use std::collections::BTreeSet;

use futures_util::StreamExt;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use windlass_core::Text;
use windlass_core::message::{Media, ProviderMetadata, Reasoning};
use windlass_core::model::{FailureKind, MAX_REPLY_BYTES, ModelFailure, Reply, ReplyCall, StopReason, Usage};
use windlass_core::text::{steps, without_halves};

use crate::thoughts::{GAP, Thoughts};
use crate::{Delta, Deltas};
use annotations::Collected;
use places::Places;

/// The most tool calls that one reply may have.
pub const MAX_CALLS: usize = 4096;

/// Folds [`Delta`]s into a [`Reply`]. Costs well below a microsecond a piece.
///
/// The rules for the pieces of tool calls stand at [`Delta::Call`]; beyond them, providers are known to give every
/// parallel call the index 0 (another id or name then opens another call), to glue the arguments of parallel calls together
/// (each object is a call then), to repeat a call's name in each piece (the
/// first one counts) and to send arguments before the name (the name goes to the call that lacks one).
#[derive(Clone, Debug)]
pub struct Assembler {
    model: Text,
    max_reply_bytes: u64,
    text: String,
    reasoning: String,
    sealed: Option<ProviderMetadata>,
    media: Vec<Media>,
    /// Few replies have some.
    annotations: Option<Box<Collected>>,
    calls: Vec<OpenCall>,
    places: CallPlaces,
    usage: Usage,
    stop: Option<StopReason>,
    whole: Option<Box<Reply>>,
    bytes: u64,
}

/// A call that may still grow.
#[derive(Clone, Debug, Default)]
struct OpenCall {
    index: Option<u32>,
    id: Option<Text>,
    name: Option<Text>,
    args: String,
    brackets: Brackets,
}

/// Where calls stand.
#[derive(Clone, Debug, Default)]
struct CallPlaces {
    /// The last call of an index.
    index: Places<u32>,
    /// The last call of an id.
    id: Places<Text>,
    /// The first call of a name.
    name: Places<Text>,
}

/// The part of a call in one piece; empty fields count as absent.
#[derive(Clone, Copy)]
struct Piece<'p> {
    index: Option<u32>,
    id: Option<&'p str>,
    name: Option<&'p str>,
    args: &'p str,
}

impl Assembler {
    /// An empty reply of a model, by the name that was asked for.
    pub fn new(model: impl Into<Text>) -> Self {
        Self {
            model: model.into(),
            max_reply_bytes: MAX_REPLY_BYTES,
            text: String::new(),
            reasoning: String::new(),
            sealed: None,
            media: Vec::new(),
            annotations: None,
            calls: Vec::new(),
            places: CallPlaces::default(),
            usage: Usage::default(),
            stop: None,
            whole: None,
            bytes: 0,
        }
    }

    /// The same with another bound of the reply than [`MAX_REPLY_BYTES`].
    #[must_use]
    pub fn bounded(self, max_reply_bytes: u64) -> Self {
        Self { max_reply_bytes, ..self }
    }

    /// Adds a piece. A reply that came whole is moved, not copied.
    ///
    /// # Errors
    /// The reply is larger than its bound or has more than [`MAX_CALLS`] calls; the failure holds what was
    /// paid so far. Nothing may be added after it.
    pub fn push(&mut self, delta: Delta) -> Result<(), ModelFailure> {
        match delta {
            Delta::Text(text) => {
                self.grow(text.len())?;
                self.text.push_str(&text);
            }
            Delta::Reasoning(text) => {
                self.grow(text.len())?;
                self.reasoning.push_str(&text);
            }
            Delta::Sealed(sealed) => self.sealed = Some(sealed),
            Delta::Media(media) => {
                self.grow(usize::try_from(media.bytes()).unwrap_or(usize::MAX))?;
                self.media.push(media);
            }
            Delta::Call { index, id, name, args } => {
                let named = id.as_ref().map_or(0, String::len) + name.as_ref().map_or(0, String::len);
                self.grow(args.len() + named)?;
                let piece = Piece {
                    index,
                    id: id.as_deref().filter(|id| !id.is_empty()),
                    name: name.as_deref().filter(|name| !name.is_empty()),
                    args: &args,
                };
                self.add(piece)?;
            }
            // Annotations have bounds of their own, and never fail a reply.
            Delta::Annotation(annotation) => self.annotations.get_or_insert_default().add(*annotation),
            Delta::Usage(usage) => self.usage = usage,
            Delta::Stop(stop) => self.stop = Some(stop),
            Delta::Whole(reply) => {
                let bytes = bytes_of(&reply);
                self.whole = Some(reply);
                self.grow(bytes)?;
            }
            Delta::Thought => self.text_was_reasoning(),
        }
        Ok(())
    }

    /// Usage as counted by the provider so far: the charge if the stream breaks now.
    pub fn usage(&self) -> Usage {
        self.whole.as_ref().map_or(self.usage, |whole| whole.usage)
    }

    fn text_was_reasoning(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !self.reasoning.is_empty() && !text.trim().is_empty() {
            self.reasoning.push_str(GAP);
        }
        self.reasoning.push_str(text.trim());
    }

    /// The reasoning so far.
    pub fn reasoning(&self) -> &str {
        match &self.whole {
            Some(whole) => whole.reasoning.as_ref().map_or("", |reasoning| &reasoning.text),
            None => &self.reasoning,
        }
    }

    /// The text so far.
    pub fn text(&self) -> &str {
        match &self.whole {
            Some(whole) => whole.text.as_deref().unwrap_or_default(),
            None => &self.text,
        }
    }

    /// The arguments so far of the first call of that name.
    pub fn args_of(&self, name: &str) -> Option<&str> {
        if let Some(whole) = &self.whole {
            return whole.calls.iter().find(|call| *call.name == *name).map(|call| &*call.args);
        }
        let call = self.places.name.get(name).and_then(|at| self.calls.get(at));
        call.map(|call| call.args.as_str())
    }

    /// The reply. Arguments that are empty or `null` are `{}`. Without a stop reason it is [`StopReason::ToolCalls`] where there are calls, else
    /// [`StopReason::Stop`]. An empty text is no text.
    pub fn finish(self) -> Reply {
        let mut reply = match self.whole {
            Some(whole) => *whole,
            None => self.put_together(),
        };
        reply.text = reply.text.filter(|text| !text.is_empty());
        if reply.stop == StopReason::Stop && !reply.calls.is_empty() {
            reply.stop = StopReason::ToolCalls;
        }
        reply
    }

    fn put_together(mut self) -> Reply {
        if self.calls.iter().all(|call| call.index.is_some()) {
            self.calls.sort_by_key(|call| call.index);
        }
        let spoken = !self.reasoning.is_empty() || self.sealed.is_some();
        let reasoning =
            spoken.then(|| Reasoning { text: self.reasoning.into(), provider_metadata: self.sealed });
        let calls = apart(without_beginnings(self.calls));
        let calls = calls.into_iter().filter(|call| !call.is_empty()).map(|call| ReplyCall {
            id: call.id,
            name: call.name.unwrap_or_default(),
            args: match call.args.trim() {
                // Nothing, and a null, is how providers write a call without arguments.
                "" | "null" => "{}".into(),
                // A model may write half of a character; whoever reads the arguments later reads them as JSON.
                _ => without_halves(&call.args).unwrap_or(call.args).into(),
            },
        });
        let annotations = self.annotations.and_then(|annotations| annotations.finish(Some(&self.text)));
        Reply {
            text: (!self.text.is_empty()).then(|| self.text.into()),
            reasoning,
            media: self.media,
            calls: calls.collect(),
            annotations,
            stop: self.stop.unwrap_or_default(),
            usage: self.usage,
            model: self.model,
        }
    }

    fn add(&mut self, piece: Piece<'_>) -> Result<(), ModelFailure> {
        let at = match self.place(piece) {
            Some(at) => at,
            None if self.calls.len() >= MAX_CALLS => {
                return Err(self.too_large(format!("the reply has more than {MAX_CALLS} tool calls")));
            }
            None => {
                self.calls.push(OpenCall { index: piece.index, ..OpenCall::default() });
                self.calls.len() - 1
            }
        };
        if let Some(call) = self.calls.get_mut(at) {
            call.take(piece);
            self.places.note(at, call);
        }
        Ok(())
    }

    /// The open call that a piece belongs to; `None`: it opens one.
    fn place(&self, piece: Piece<'_>) -> Option<usize> {
        if let Some(index) = piece.index {
            let at = self.places.index.get(&index)?;
            return self.calls.get(at).is_some_and(|call| !call.is_other(piece)).then_some(at);
        }
        if let Some(id) = piece.id
            && let Some(at) = self.places.id.get(id)
        {
            return Some(at);
        }
        let last = self.calls.last()?;
        let opens = match (piece.id, piece.name) {
            (Some(_), name) => last.id.is_some() || (name.is_some() && last.name.is_some()),
            (None, Some(_)) => last.name.is_some(),
            (None, None) => false,
        };
        (!opens).then_some(self.calls.len() - 1)
    }

    fn grow(&mut self, bytes: usize) -> Result<(), ModelFailure> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes > self.max_reply_bytes {
            let words = format!("the reply is longer than max_reply_bytes ({} bytes)", self.max_reply_bytes);
            return Err(ModelFailure { kind: FailureKind::TooLarge, ..self.too_large(words) });
        }
        Ok(())
    }

    fn too_large(&self, message: String) -> ModelFailure {
        let failure = ModelFailure::new(FailureKind::Protocol, message, self.model.clone());
        ModelFailure { usage: self.usage(), ..failure }
    }
}

/// The calls with those apart that were glued together under one index or id: their arguments are several objects then. A call
/// without a name has that of the one before it at its place.
fn apart(mut calls: Vec<OpenCall>) -> Vec<OpenCall> {
    let mut before: Option<(Option<u32>, Option<Text>)> = None;
    for call in &mut calls {
        if let Some((index, name)) = &before
            && call.name.is_none()
            && call.index.is_some()
            && call.index == *index
        {
            call.name.clone_from(name);
        }
        before = Some((call.index, call.name.clone()));
    }
    if calls.iter().all(|call| call.brackets.whole != Some(false)) {
        return calls;
    }
    let mut all = Vec::with_capacity(calls.len() + 1);
    for call in calls {
        let glued = call.objects().unwrap_or_default();
        if glued.len() < 2 || all.len() + glued.len() > MAX_CALLS {
            all.push(call);
            continue;
        }
        let id = call.id.clone().filter(|id| !id.trim().is_empty());
        let mut seen: Vec<Value> = Vec::new();
        for (at, args) in glued.into_iter().enumerate() {
            // What comes twice under one id is one call, glued together or not (E7).
            if id.is_some() {
                let read = serde_json::from_str(args).unwrap_or_default();
                if seen.contains(&read) {
                    continue;
                }
                seen.push(read);
            }
            all.push(OpenCall {
                // An id stands for one call.
                id: call.id.clone().filter(|_| at == 0),
                name: call.name.clone(),
                args: args.to_owned(),
                ..OpenCall::default()
            });
        }
    }
    all
}

/// The calls without those that are the mere beginning of another one, before its arguments came: they have its id and its
/// name (E7).
fn without_beginnings(mut calls: Vec<OpenCall>) -> Vec<OpenCall> {
    let is_bare = |call: &OpenCall| call.args.is_empty() && call.id.is_some();
    if calls.len() < 2 || !calls.iter().any(is_bare) {
        return calls;
    }
    let named = |call: &OpenCall| Some((call.id.clone()?, call.name.clone()));
    let begun: BTreeSet<_> = calls.iter().filter(|call| !call.args.is_empty()).filter_map(named).collect();
    calls.retain(|call| !is_bare(call) || named(call).is_none_or(|named| !begun.contains(&named)));
    calls
}

impl OpenCall {
    /// The objects that the arguments consist of; `None`: they are something else, too.
    fn objects(&self) -> Option<Vec<&str>> {
        if self.brackets.whole != Some(false) || !self.args.trim_start().starts_with('{') {
            return None;
        }
        let values = serde_json::Deserializer::from_str(&self.args).into_iter::<&RawValue>();
        let objects = values
            .take(MAX_CALLS + 1)
            .map(|value| value.ok().map(RawValue::get).filter(|raw| raw.starts_with('{')));
        objects.collect()
    }

    /// Whether a piece with this call's index is nevertheless the beginning of another call.
    fn is_other(&self, piece: Piece<'_>) -> bool {
        let Some(name) = piece.name else { return self.is_whole_before(piece) };
        let Some(own) = self.name.as_deref() else { return false };
        match (piece.id, self.id.as_deref()) {
            (Some(id), Some(own)) => id != own,
            (Some(_), None) => true,
            (None, _) => name != own || (!piece.args.is_empty() && self.brackets.whole == Some(true)),
        }
    }

    /// Whether a piece without a name begins another call: it has an id of its own, and this call's arguments are whole.
    fn is_whole_before(&self, piece: Piece<'_>) -> bool {
        let other = matches!((piece.id, self.id.as_deref()), (Some(id), Some(own)) if id != own);
        other && self.brackets.whole == Some(true) && piece.args.trim_start().starts_with('{')
    }

    fn take(&mut self, piece: Piece<'_>) {
        if self.id.is_none() {
            self.id = piece.id.map(Into::into);
        }
        if self.name.is_none() {
            self.name = piece.name.map(Into::into);
        }
        let before = self.args.len();
        self.args.push_str(piece.args);
        self.brackets.go_on(&self.args, before);
    }

    fn is_empty(&self) -> bool {
        self.id.is_none() && self.name.is_none() && self.args.is_empty()
    }
}

impl CallPlaces {
    fn note(&mut self, at: usize, call: &OpenCall) {
        if let Some(index) = call.index {
            self.index.insert(index, at);
        }
        if let Some(id) = &call.id
            && self.id.get(id).is_none_or(|last| last < at)
        {
            self.id.insert(id.clone(), at);
        }
        if let Some(name) = &call.name
            && self.name.get(name).is_none_or(|first| first > at)
        {
            self.name.insert(name.clone(), at);
        }
    }
}

/// Whether arguments that come in pieces are a whole list or object: looked at byte by byte as they come, and read once.
#[derive(Clone, Debug, Default)]
struct Brackets {
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// `Some`: the outermost bracket was closed, or there is none; whether what stands is one value.
    whole: Option<bool>,
}

impl Brackets {
    fn go_on(&mut self, args: &str, from: usize) {
        let new = args.as_bytes().get(from..).unwrap_or_default();
        steps::add(new.len());
        for (at, byte) in new.iter().enumerate() {
            match (self.whole, byte) {
                (Some(false), _) => return,
                (_, b' ' | b'\t' | b'\n' | b'\r') if !self.in_text => {}
                (Some(true), _) => self.whole = Some(false),
                (None, _) if self.in_text => {
                    self.in_text = self.escaped || *byte != b'"';
                    self.escaped = !self.escaped && *byte == b'\\';
                }
                (None, b'{' | b'[') => self.depth += 1,
                (None, _) if self.depth == 0 => self.whole = Some(false),
                (None, b'"') => self.in_text = true,
                (None, b'}' | b']') => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        steps::add(from + at);
                        let so_far = args.get(..=from + at).unwrap_or_default();
                        self.whole = Some(serde_json::from_str::<IgnoredAny>(so_far).is_ok());
                    }
                }
                (None, _) => {}
            }
        }
    }
}

fn bytes_of(reply: &Reply) -> usize {
    let calls = reply
        .calls
        .iter()
        .map(|call| call.args.len() + call.name.len() + call.id.as_ref().map_or(0, |id| id.len()));
    reply.text.as_ref().map_or(0, |text| text.len())
        + reply.reasoning.as_ref().map_or(0, |reasoning| reasoning.text.len())
        + calls.sum::<usize>()
}

/// Reads a stream to its end: the blocking form of a call. Reasoning in its text becomes reasoning ([`Thoughts`]).
///
/// # Errors
/// The stream's own failure, or the reply is too large ([`Assembler::push`]).
pub async fn assemble(mut deltas: Deltas, model: impl Into<Text>) -> Result<Reply, ModelFailure> {
    let mut assembler = Assembler::new(model);
    let mut thoughts = Thoughts::default();
    while let Some(delta) = deltas.next().await {
        thoughts.pass(delta?, |delta| assembler.push(delta))?;
    }
    thoughts.end(|delta| assembler.push(delta))?;
    Ok(assembler.finish())
}

#[cfg(test)]
mod tests;
