//! Suspects: the items of a request that a provider may refuse for ever, and the conversation without some of them (E58).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::protocol::fact::refused::{CandidateItem, RefusalCandidate};
use crate::state::State;
use crate::state::halving::MAX_CANDIDATES;
use crate::state::model_calls::ModelCall;
use crate::vocabulary::history::{History, Splice};
use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::message::{AssistantMessage, Content, Media, Message, Part, Reasoning, ToolMessage};

/// The provider in a model's name, `provider/model`; of a plain name the name itself.
fn provider_of(model: &str) -> &str {
    model.split_once('/').map_or(model, |(provider, _)| provider)
}

/// The items that a request sends.
#[derive(Default)]
struct Sent {
    media: Vec<Media>,
    sealed_data: BTreeSet<Text>,
    calls: BTreeSet<CallId>,
}

impl Sent {
    fn add(&mut self, message: &Message) {
        match message {
            Message::User { content, .. } | Message::TaskDelegation { content } => self.add_content(content),
            Message::Tool(result) => self.add_content(&result.content),
            Message::Assistant(reply) => {
                self.media.extend(reply.media.iter().cloned());
                self.sealed_data.extend(sealed(reply).cloned());
                self.calls.extend(reply.calls.iter().map(|call| call.id.clone()));
            }
            Message::System { .. } => {}
        }
    }

    fn add_content(&mut self, content: &Content) {
        self.media.extend(media(content).map(|(_, media)| media.clone()));
    }
}

fn sealed(reply: &AssistantMessage) -> Option<&Text> {
    reply.reasoning.as_ref()?.provider_metadata.as_ref().map(|sealed| &sealed.data)
}

/// Images and files among the parts of a content, as suspects would be, with their bytes.
fn media(content: &Content) -> impl Iterator<Item = (CandidateItem, &Media)> {
    let parts = match content {
        Content::Text(_) => &[][..],
        Content::Parts(parts) => parts,
    };
    (0_u32..).zip(parts).filter_map(|(part, content)| match content {
        Part::Image(media) => Some((CandidateItem::Image { part }, media)),
        Part::File(media) => Some((CandidateItem::File { part }, media)),
        Part::Text { .. } | Part::Stored(_) => None,
    })
}

impl State {
    /// The items of an open call's request that its provider may refuse for ever, the oldest first: images, files, sealed
    /// reasoning of another model or of an earlier run, and ids of calls that another provider made.
    pub(crate) fn candidates(&self, model_call: &ModelCall) -> Vec<RefusalCandidate> {
        let Some(model) = self.setup.models().get(model_call.model() as usize) else { return Vec::new() };
        let Some(view) = self.view(self.action(model_call.seq())) else { return Vec::new() };
        let mut sent = Sent::default();
        view.messages.since(0).for_each(|message| sent.add(&message));
        let mut all = Vec::new();
        for (place, message) in self.conversation.history().iter().enumerate() {
            let found = match &**message {
                Message::User { content, .. } | Message::TaskDelegation { content } => {
                    in_content(content, &sent)
                }
                Message::Tool(result) => in_content(&result.content, &sent),
                Message::Assistant(reply) => self.in_reply(place, reply, &model.name, &sent),
                Message::System { .. } => Vec::new(),
            };
            all.extend(found.into_iter().map(|what| RefusalCandidate { at: place as u64, what }));
        }
        let newest = all.split_off(all.len().saturating_sub(MAX_CANDIDATES));
        self.with_new_ids(newest)
    }

    fn in_reply(
        &self,
        place: usize,
        reply: &AssistantMessage,
        asked: &str,
        sent: &Sent,
    ) -> Vec<CandidateItem> {
        let mut found: Vec<CandidateItem> = Vec::new();
        let media = (0_u32..).zip(&reply.media).filter(|(_, media)| sent.media.contains(media));
        found.extend(media.map(|(part, media)| {
            if media.media_type.starts_with("image/") {
                CandidateItem::Image { part }
            } else {
                CandidateItem::File { part }
            }
        }));
        let speaker = self.conversation.speaker(place);
        // Another key may have been used in an earlier run, and what stood before it may have been edited.
        let earlier = place < self.conversation.tracker().begun() || self.conversation.history().edits() > 0;
        if sealed(reply).is_some_and(|data| sent.sealed_data.contains(data))
            && may_be_foreign(reply, speaker, asked, earlier)
        {
            found.push(CandidateItem::Reasoning);
        }
        if speaker.is_none_or(|speaker| provider_of(speaker) != provider_of(asked)) {
            let calls = reply.calls.iter().filter(|call| sent.calls.contains(&call.id));
            found.extend(
                calls.map(|call| CandidateItem::CallId {
                    call: call.id.clone(),
                    replacement: call.id.clone(),
                }),
            );
        }
        found
    }

    /// Sealed reasoning behind the first of these suspects, but for what is a suspect itself.
    pub(crate) fn sealed_behind(&self, candidates: &[RefusalCandidate]) -> Vec<RefusalCandidate> {
        let Some(first) = candidates.first() else { return Vec::new() };
        let from = usize::try_from(first.at).unwrap_or(usize::MAX).saturating_add(1);
        let behind = self.conversation.history().since(from).enumerate();
        let seal = behind.filter_map(|(place, message)| {
            let seal = RefusalCandidate { at: (from + place) as u64, what: CandidateItem::Reasoning };
            let sealed = matches!(&**message, Message::Assistant(reply) if sealed(reply).is_some());
            (sealed && !candidates.contains(&seal)).then_some(seal)
        });
        seal.collect()
    }

    /// Gives each call id one that stands in for it: nine letters and digits, which every API takes.
    fn with_new_ids(&self, mut candidates: Vec<RefusalCandidate>) -> Vec<RefusalCandidate> {
        let taken = self.conversation.call_ids();
        let mut free = (1_u32..).map(|number| CallId::from(format!("call{number:05}")));
        for candidate in &mut candidates {
            if let CandidateItem::CallId { replacement, .. } = &mut candidate.what
                && let Some(id) = free.find(|id| !taken.contains(id))
            {
                *replacement = id;
            }
        }
        candidates
    }

    /// The state as a probe's request is made from it. `None`: the call is no probe, or the conversation was edited since.
    pub(crate) fn probed(&self, model_call: &ModelCall) -> Option<Self> {
        self.search_of(model_call)?;
        Some(self.leaving_out(model_call.without()))
    }

    /// The state with placeholders in place of these items.
    pub(crate) fn leaving_out(&self, items: &[RefusalCandidate]) -> Self {
        let mut left = self.clone();
        left.conversation.exchange(&left_out(self.conversation.history(), items));
        left
    }
}

fn in_content(content: &Content, sent: &Sent) -> Vec<CandidateItem> {
    media(content).filter(|(_, media)| sent.media.contains(media)).map(|(item, _)| item).collect()
}

/// Whether sealed reasoning goes to the provider of the asked model, and is not that model's own of this run and for these
/// very messages.
fn may_be_foreign(reply: &AssistantMessage, speaker: Option<&Text>, asked: &str, earlier: bool) -> bool {
    let plain = |name: &str| !name.contains('/');
    match speaker {
        Some(speaker) if **speaker == *asked => earlier,
        // Wires leave out the reasoning of another provider.
        Some(speaker) => plain(speaker) || plain(asked) || provider_of(speaker) == provider_of(asked),
        None => {
            let provider =
                reply.reasoning.as_ref().and_then(|reasoning| reasoning.provider_metadata.as_ref());
            plain(asked) || provider.is_some_and(|sealed| *sealed.provider == *provider_of(asked))
        }
    }
}

/// The changes that put placeholders in place of these items.
pub(crate) fn left_out(history: &History, items: &[RefusalCandidate]) -> Vec<Splice> {
    let mut changes: BTreeMap<usize, Vec<&CandidateItem>> = BTreeMap::new();
    for candidate in items {
        let Ok(at) = usize::try_from(candidate.at) else { continue };
        changes.entry(at).or_default().push(&candidate.what);
        if let CandidateItem::CallId { call, .. } = &candidate.what {
            let results = history.since(at.saturating_add(1)).take_while(|next| is_result(next));
            let own = results.enumerate().filter(|(_, result)| answers(result, call));
            for (behind, _) in own {
                changes.entry(at + 1 + behind).or_default().push(&candidate.what);
            }
        }
    }
    let splice = |(at, items): (usize, Vec<&CandidateItem>)| {
        let message = Arc::new(without((**history.get(at)?).clone(), &items));
        Some(Splice { at: at as u64, remove: 1, insert: vec![message] })
    };
    changes.into_iter().filter_map(splice).collect()
}

fn is_result(message: &Message) -> bool {
    matches!(message, Message::Tool(_))
}

fn answers(message: &Message, call: &CallId) -> bool {
    matches!(message, Message::Tool(result) if result.call == *call)
}

fn without(message: Message, items: &[&CandidateItem]) -> Message {
    match message {
        Message::User { content, pinned } => Message::User { content: placeholders(content, items), pinned },
        Message::TaskDelegation { content } => {
            Message::TaskDelegation { content: placeholders(content, items) }
        }
        Message::Tool(result) => {
            let call = renamed(&result.call, items);
            Message::Tool(ToolMessage { call, content: placeholders(result.content, items), ..result })
        }
        Message::Assistant(reply) => Message::Assistant(reply_without(reply, items)),
        Message::System { text } => Message::System { text },
    }
}

fn reply_without(mut reply: AssistantMessage, items: &[&CandidateItem]) -> AssistantMessage {
    let (mut kept, mut notes) = (Vec::new(), Vec::new());
    for (part, media) in (0_u32..).zip(std::mem::take(&mut reply.media)) {
        match placeholder(&media, part, items) {
            Some(note) => notes.push(note),
            None => kept.push(media),
        }
    }
    reply.media = kept;
    if !notes.is_empty() {
        let text_so_far = reply.text.iter().map(ToString::to_string);
        reply.text = Some(text_so_far.chain(notes).collect::<Vec<_>>().join("\n").into());
    }
    if items.contains(&&CandidateItem::Reasoning) {
        // The readable part stays: calls may have been read from it. No wire sends it back without its seal.
        reply.reasoning = reply.reasoning.map(|reasoning| Reasoning { provider_metadata: None, ..reasoning });
    }
    for call in &mut reply.calls {
        let id = renamed(&call.id, items);
        if id != call.id {
            (call.id, call.provider_id) = (id, None);
        }
    }
    reply
}

fn placeholders(content: Content, items: &[&CandidateItem]) -> Content {
    let parts = match content {
        Content::Text(text) => return Content::Text(text),
        Content::Parts(parts) => parts,
    };
    let parts = (0_u32..).zip(parts).map(|(at, part)| match part {
        Part::Image(media) => match placeholder(&media, at, items) {
            Some(note) => Part::Text { text: note.into() },
            None => Part::Image(media),
        },
        Part::File(media) => match placeholder(&media, at, items) {
            Some(note) => Part::Text { text: note.into() },
            None => Part::File(media),
        },
        Part::Text { text } => Part::Text { text },
        Part::Stored(stored) => Part::Stored(stored),
    });
    Content::Parts(parts.collect())
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

fn renamed(id: &CallId, items: &[&CandidateItem]) -> CallId {
    let found = items.iter().find_map(|item| match item {
        CandidateItem::CallId { call, replacement } if call == id => Some(replacement),
        CandidateItem::CallId { .. }
        | CandidateItem::Image { .. }
        | CandidateItem::File { .. }
        | CandidateItem::Reasoning => None,
    });
    found.unwrap_or(id).clone()
}
