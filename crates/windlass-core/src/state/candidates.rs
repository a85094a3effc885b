//! Candidates: the items of a request that a provider may refuse for ever, and the conversation without some of them (E58).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::protocol::fact::refused::{CandidateItem, RefusalCandidate};
use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::vocabulary::history::{History, Splice};
use crate::vocabulary::ids::CallId;
use crate::vocabulary::message::{
    AssistantMessage, Content, Media, Message, Part, ProviderMetadata, ToolCall,
};

/// Maximum number of items of one search: the newest ones.
const MAX_CANDIDATES: usize = 256;

/// The identity of an item, the same wherever it stands.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Known<'m> {
    Media(&'m Media),
    Seal(&'m ProviderMetadata),
    Id(&'m CallId),
}

/// The items of a message, in order. No other id stands in for a call id yet.
fn items(message: &Message) -> Vec<(CandidateItem, Known<'_>)> {
    let content = match message {
        Message::User { content, .. } | Message::TaskDelegation { content } => content,
        Message::Tool(result) => &result.content,
        Message::Assistant(reply) => return items_of_reply(reply),
        Message::System { .. } => return Vec::new(),
    };
    let Content::Parts(parts) = content else { return Vec::new() };
    let media = (0_u32..).zip(parts).filter_map(|(part, content)| match content {
        Part::Image(media) => Some((CandidateItem::Image { part }, Known::Media(media))),
        Part::File(media) => Some((CandidateItem::File { part }, Known::Media(media))),
        Part::Text { .. } | Part::Stored(_) => None,
    });
    media.collect()
}

fn items_of_reply(reply: &AssistantMessage) -> Vec<(CandidateItem, Known<'_>)> {
    let media = (0_u32..).zip(&reply.media).map(|(part, media)| {
        let is_image = media.media_type.starts_with("image/");
        let what = if is_image { CandidateItem::Image { part } } else { CandidateItem::File { part } };
        (what, Known::Media(media))
    });
    let sealed = reply.reasoning.iter().filter_map(|reasoning| reasoning.provider_metadata.as_ref());
    let sealed = sealed.map(|seal| (CandidateItem::Reasoning, Known::Seal(seal)));
    let ids = reply.calls.iter().map(|ToolCall { id, .. }| {
        (CandidateItem::CallId { call: id.clone(), replacement: id.clone() }, Known::Id(id))
    });
    media.chain(sealed).chain(ids).collect()
}

/// The items of a conversation, the oldest first, each with the place of its message.
fn all_items(history: &History) -> impl Iterator<Item = (usize, CandidateItem, Known<'_>)> {
    let numbered = history.iter().enumerate();
    numbered.flat_map(|(at, message)| items(message).into_iter().map(move |(what, known)| (at, what, known)))
}

/// The provider in a model's name, `provider/model`; of a plain name the name itself.
fn provider_of(model: &str) -> &str {
    model.split_once('/').map_or(model, |(provider, _)| provider)
}

impl State {
    /// The items of an open call's request that its provider may refuse for ever, the oldest first: images, files, sealed
    /// reasoning of another model or of an earlier run, and ids of calls that another provider made.
    pub(crate) fn candidates(&self, model_call: &ModelCall) -> Vec<RefusalCandidate> {
        let Some(view) = self.view(self.action(model_call.seq())) else { return Vec::new() };
        let asked = self.model_name(model_call.model());
        let sent: Vec<Cow<'_, Message>> = view.messages.since(0).collect();
        let sent: BTreeSet<Known<'_>> =
            sent.iter().flat_map(|message| items(message)).map(|(_, known)| known).collect();
        let all = all_items(self.conversation.history());
        let all = all.filter(|(at, _, known)| sent.contains(known) && self.is_foreign(known, *at, &asked));
        let mut all: Vec<_> = all.map(|(at, what, _)| RefusalCandidate { at: at as u64, what }).collect();
        let mut newest = all.split_off(all.len().saturating_sub(MAX_CANDIDATES));
        // Nine letters and digits: every API takes such an id.
        let ids = (1_u32..).map(|number| CallId::from(format!("call{number:05}")));
        let mut free = ids.filter(|id| !self.conversation.call_ids().contains(id));
        for item in &mut newest {
            if let CandidateItem::CallId { replacement, .. } = &mut item.what
                && let Some(id) = free.next()
            {
                *replacement = id;
            }
        }
        newest
    }

    /// Whether the asked model may refuse an item of the message at that place, because it is not its own of this run and for
    /// these very messages. Media always may be refused.
    fn is_foreign(&self, item: &Known<'_>, place: usize, asked: &str) -> bool {
        let speaker = self.conversation.speaker(place).map(|speaker| &**speaker);
        match item {
            Known::Media(_) => true,
            Known::Id(_) => speaker.is_none_or(|speaker| provider_of(speaker) != provider_of(asked)),
            // Another key may have been used in an earlier run, and what stood before it may have been edited.
            Known::Seal(_) if speaker == Some(asked) => {
                place < self.conversation.tracker().begun() || self.conversation.history().edits() > 0
            }
            // Wires leave out the reasoning of another provider.
            Known::Seal(seal) => {
                let plain = |name: &str| !name.contains('/');
                let maker = speaker.map_or(&*seal.provider, provider_of);
                plain(asked) || speaker.is_some_and(plain) || maker == provider_of(asked)
            }
        }
    }

    /// Sealed reasoning behind the first of these candidates, but for what is a candidate itself.
    pub(crate) fn sealed_behind(&self, candidates: &[RefusalCandidate]) -> Vec<RefusalCandidate> {
        let Some(first) = candidates.first() else { return Vec::new() };
        let sealed = all_items(self.conversation.history())
            .filter(|(_, what, _)| *what == CandidateItem::Reasoning)
            .map(|(at, what, _)| RefusalCandidate { at: at as u64, what });
        sealed.filter(|item| item.at > first.at && !candidates.contains(item)).collect()
    }

    /// The state with placeholders in place of these items.
    pub(crate) fn leaving_out(&self, items: &[RefusalCandidate]) -> Cow<'_, Self> {
        if items.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut left = self.clone();
        left.conversation.exchange(&left_out(self.conversation.history(), items));
        Cow::Owned(left)
    }
}

/// The changes that put placeholders in place of these items.
pub(crate) fn left_out(history: &History, items: &[RefusalCandidate]) -> Vec<Splice> {
    let mut changes: BTreeMap<usize, Vec<&CandidateItem>> = BTreeMap::new();
    for RefusalCandidate { at, what } in items {
        let Ok(at) = usize::try_from(*at) else { continue };
        changes.entry(at).or_default().push(what);
        if let CandidateItem::CallId { call, .. } = what {
            let results = history.since(at.saturating_add(1)).map_while(|next| {
                if let Message::Tool(result) = &**next { Some(&result.call) } else { None }
            });
            for (behind, _) in results.enumerate().filter(|(_, of)| *of == call) {
                changes.entry(at + 1 + behind).or_default().push(what);
            }
        }
    }
    let splice = |(at, items): (usize, Vec<&CandidateItem>)| {
        let mut message = history.get(at)?.clone();
        leave_out(Arc::make_mut(&mut message), &items);
        Some(Splice { at: at as u64, remove: 1, insert: vec![message] })
    };
    changes.into_iter().filter_map(splice).collect()
}

fn leave_out(message: &mut Message, items: &[&CandidateItem]) {
    let content = match message {
        Message::User { content, .. } | Message::TaskDelegation { content } => content,
        Message::Tool(result) => {
            rename(&mut result.call, items);
            &mut result.content
        }
        Message::Assistant(reply) => return leave_out_of_reply(reply, items),
        Message::System { .. } => return,
    };
    let Content::Parts(parts) = content else { return };
    for (at, part) in (0_u32..).zip(parts) {
        if let Part::Image(media) | Part::File(media) = part
            && let Some(note) = placeholder(media, at, items)
        {
            *part = Part::Text { text: note.into() };
        }
    }
}

fn leave_out_of_reply(reply: &mut AssistantMessage, items: &[&CandidateItem]) {
    let (mut places, mut notes) = (0_u32.., Vec::new());
    let mut media = std::mem::take(&mut reply.media).into_vec();
    media.retain(|media| {
        let note = places.next().and_then(|at| placeholder(media, at, items));
        let is_kept = note.is_none();
        notes.extend(note);
        is_kept
    });
    reply.media = media.into();
    if !notes.is_empty() {
        notes.splice(..0, reply.text.iter().map(ToString::to_string));
        reply.text = Some(notes.join("\n").into());
    }
    if let Some(reasoning) = reply.reasoning.as_mut().filter(|_| items.contains(&&CandidateItem::Reasoning)) {
        // The readable part stays: calls may have been read from it. No wire sends it back without its seal.
        reasoning.provider_metadata = None;
    }
    for call in &mut reply.calls {
        if rename(&mut call.id, items) {
            call.provider_id = None;
        }
    }
}

/// The text in place of an image or a file, if it is among the items.
fn placeholder(media: &Media, at: u32, items: &[&CandidateItem]) -> Option<String> {
    let item = items.iter().find(|item| match item {
        CandidateItem::Image { part } | CandidateItem::File { part } => *part == at,
        CandidateItem::Reasoning | CandidateItem::CallId { .. } => false,
    })?;
    let name = media.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
    Some(format!("[{}{name} left out: the provider refused it]", item.name()))
}

/// Another id stands in for this one, if it is among the items. Whether it is.
fn rename(id: &mut CallId, items: &[&CandidateItem]) -> bool {
    for item in items {
        if let CandidateItem::CallId { call, replacement } = item
            && call == id
        {
            *id = replacement.clone();
            return true;
        }
    }
    false
}
