//! The size of requests, and the parts of the conversation that a compaction may remove.

use std::borrow::Cow;
use std::sync::Arc;

use crate::protocol::fact::context::Compacted;
use crate::state::State;
use crate::state::transcript::conversation_text;
use crate::vocabulary::amount::BYTES_A_TOKEN;
use crate::vocabulary::history::Splice;
use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::message::{Content, Message};

/// Size of requests, and places that compactions look at.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ContextTracker {
    /// The last request that a provider counted.
    counted: Option<Sent>,
    /// The estimate for it.
    estimated: u64,
    warning: Warning,
    /// The first message of the run's own input.
    begun: usize,
    /// The messages before it have been looked at: what may go has gone.
    swept: usize,
    /// The summary that a compaction left.
    summary: Option<Summary>,
    /// Replies since the last compaction.
    replies: u32,
    /// The old messages at the last attempt: a further one needs more of them.
    tried: Option<Covers>,
    skip: Skip,
}

/// Size of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Bytes of text.
    bytes: u64,
    /// Tokens: estimated, or as a provider counted them.
    tokens: u64,
}

impl Sent {
    /// Tokens: estimated, or as a provider counted them.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }
}

/// The beginning of the conversation, as long as nobody edits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Covers {
    /// The number of messages.
    until: usize,
    /// [`History::edits`] at that time.
    edits: u64,
}

impl Covers {
    /// The number of messages.
    pub(crate) fn until(&self) -> usize {
        self.until
    }

    /// [`History::edits`] at that time.
    pub(crate) fn edits(&self) -> u64 {
        self.edits
    }
}

/// The place of a summary in the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    at: usize,
    exchanges: u64,
}

impl Summary {
    pub(crate) fn exchanges(&self) -> u64 {
        self.exchanges
    }
}

/// Whether the budget's warning was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Warning {
    #[default]
    None,
    Given,
}

/// Whether it is on record that nothing could be removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Skip {
    #[default]
    None,
    Recorded,
}

/// Something that a compaction removed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LeftOut {
    /// The result of a call.
    Result(Content),
    /// Messages that a summary stands for.
    Messages(Arc<Vec<Arc<Message>>>),
}

/// Size of a run's requests, against its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextUse {
    /// Tokens that the next request would have: the provider's last count, and an estimate of what came since.
    pub tokens: u64,
    /// The estimate for the last request that a provider counted; 0: none was.
    pub estimated: u64,
    /// The provider's count of it.
    pub counted: u64,
    /// The budget; `None`: there is none.
    pub max_tokens: Option<u64>,
}

impl ContextUse {
    /// By how much the estimate for the last counted request was too high, in percent of the provider's count; negative: too
    /// low. `None`: none was counted.
    pub fn error_percent(&self) -> Option<f64> {
        let (estimated, counted) = (self.estimated as f64, self.counted as f64);
        // Two digits behind the point are more than an estimate is worth.
        (self.counted > 0).then(|| ((estimated - counted) / counted * 1e4).round() / 1e2)
    }
}

impl ContextTracker {
    pub(crate) fn warning(&self) -> Warning {
        self.warning
    }

    /// The first message of the run's own input.
    pub(crate) fn begun(&self) -> usize {
        self.begun
    }

    /// The messages before it have been looked at: what may go has gone.
    pub(crate) fn swept(&self) -> usize {
        self.swept
    }

    /// The summary that a compaction left.
    pub(crate) fn summary(&self) -> Option<Summary> {
        self.summary
    }

    /// Replies since the last compaction.
    pub(crate) fn replies(&self) -> u32 {
        self.replies
    }

    /// The old messages at the last attempt: a further one needs more of them.
    pub(crate) fn tried(&self) -> Option<Covers> {
        self.tried
    }

    pub(crate) fn skip(&self) -> Skip {
        self.skip
    }

    /// For a run that begins with this conversation.
    pub(crate) fn as_base(&self) -> Self {
        Self { warning: Warning::None, tried: None, skip: Skip::None, ..self.clone() }
    }

    /// Tokens of a request of so many bytes. A count of the provider is gone on from, so that what it counts beside the
    /// text (tools, roles) stays in.
    pub(crate) fn tokens(&self, bytes: u64) -> u64 {
        let Some(Sent { bytes: before, tokens }) = self.counted else { return bytes / BYTES_A_TOKEN };
        let more = bytes.saturating_sub(before) / BYTES_A_TOKEN;
        let less = before.saturating_sub(bytes) / BYTES_A_TOKEN;
        tokens.saturating_add(more).saturating_sub(less)
    }

    /// A request of so many bytes.
    pub(crate) fn sized(&self, bytes: u64) -> Sent {
        Sent { bytes, tokens: self.tokens(bytes) }
    }

    /// A provider has counted a request.
    pub(crate) fn counted_as(&mut self, sent: Sent, tokens: u64) {
        self.counted = Some(Sent { tokens, ..sent });
        self.estimated = sent.tokens;
    }

    /// The budget's warning is given.
    pub(crate) fn warned(&mut self) {
        self.warning = Warning::Given;
    }

    /// The conversation was edited: the warning may be given again.
    pub(crate) fn may_warn_again(&mut self) {
        self.warning = Warning::None;
    }

    /// The messages of the run's own input begin there.
    pub(crate) fn input_begins(&mut self, place: usize) {
        self.begun = place;
    }

    /// A reply came.
    pub(crate) fn replied(&mut self) {
        self.replies = self.replies.saturating_add(1);
    }

    /// It is on record that nothing could be removed.
    pub(crate) fn skipped(&mut self) {
        self.skip = Skip::Recorded;
    }

    /// A compaction was tried with so many old messages.
    pub(crate) fn tried_with(&mut self, covers: Covers) {
        self.tried = Some(covers);
    }

    /// A run that goes on from here may compact with the same messages.
    pub(crate) fn may_compact_again(&mut self) {
        self.tried = None;
    }

    /// A compaction has removed messages, whose places have moved already.
    pub(crate) fn compacted(&mut self, compacted: &Compacted) {
        let inserted = compacted.splices.iter().rev().find(|splice| !splice.insert.is_empty());
        if let (Some(splice), true) = (inserted, compacted.exchanges > 0) {
            let at = splice.at as usize;
            self.summary = Some(Summary { at, exchanges: compacted.exchanges });
            self.swept = at;
        } else if let Some(splice) = inserted {
            self.swept = splice.at as usize + 1;
        }
        (self.replies, self.warning, self.skip) = (0, Warning::None, Skip::None);
    }

    /// Moves the places to where their messages are after an edit.
    pub(crate) fn follow(&mut self, splices: &[Splice]) {
        for Splice { at, remove, insert } in splices {
            let (at, remove) = (*at as usize, *remove as usize);
            let moved = |place: usize| {
                if place >= at.saturating_add(remove) {
                    place.saturating_sub(remove).saturating_add(insert.len())
                } else {
                    place.min(at)
                }
            };
            self.begun = moved(self.begun);
            self.swept = moved(self.swept);
            let gone = |place: usize| (at..at.saturating_add(remove)).contains(&place);
            self.summary = self.summary.filter(|summary| !gone(summary.at));
            if let Some(summary) = &mut self.summary {
                summary.at = moved(summary.at);
            }
        }
    }
}

/// The name under which the model reads a dropped result.
pub(crate) fn result_handle(call: &CallId) -> Text {
    format!("result_{call}").into()
}

impl State {
    /// Size of the requests against the budget.
    pub fn context_use(&self) -> ContextUse {
        let tracker = self.conversation.tracker();
        ContextUse {
            tokens: self.next_tokens(0),
            estimated: tracker.estimated,
            counted: tracker.counted.map_or(0, |sent| sent.tokens),
            max_tokens: self.setup.policy().past.context.max_tokens,
        }
    }

    /// Tokens of the next request, `more` bytes of text included that enter with it.
    pub(crate) fn next_tokens(&self, more: u64) -> u64 {
        let bytes = self.view_bytes(self.setup.policy().request.purpose, None, self.wire());
        self.conversation.tracker().tokens(bytes.saturating_add(more))
    }

    /// The conversation up to the last replies, which stay whole. Of an open turn the reply is in the conversation, and its
    /// results are not.
    pub(crate) fn before_last(&self) -> Covers {
        let history = self.conversation.history();
        let keep = self.setup.policy().past.context.keep_last as usize;
        let replies = (0..history.len())
            .rev()
            .filter(|at| matches!(history.get(*at).map(|message| &**message), Some(Message::Assistant(_))));
        let mut until = replies.take(keep).last().unwrap_or(0);
        // What the user said stays with the reply to it.
        let is_incoming = |at: usize| history.get(at).is_some_and(|message| message.is_incoming());
        while until > 0 && is_incoming(until - 1) {
            until -= 1;
        }
        Covers { until, edits: history.edits() }
    }

    /// Whether a message may give way to a summary: it is neither pinned, nor a system message, nor said by the user in
    /// this run.
    fn may_go(&self, at: usize, message: &Message) -> bool {
        match message {
            Message::System { .. } => {
                self.conversation.tracker().summary.is_some_and(|summary| summary.at == at)
            }
            Message::User { .. } | Message::TaskDelegation { .. } => {
                at < self.conversation.tracker().begun && !message.is_pinned()
            }
            Message::Assistant(_) | Message::Tool(_) => true,
        }
    }

    /// The messages that a summary of this part would stand for, with their places.
    pub(crate) fn summed_up(&self, covers: Covers) -> impl Iterator<Item = (usize, &Arc<Message>)> {
        let from = self.conversation.tracker().swept;
        let part =
            self.conversation.history().since(from).take(covers.until.saturating_sub(from)).enumerate();
        part.map(move |(place, message)| (from + place, message))
            .filter(|(at, message)| self.may_go(*at, message))
    }

    /// The text that the model reads under the handle of something that a compaction removed.
    pub fn left_out(&self, handle: &str) -> Option<Cow<'_, str>> {
        Some(match self.conversation.left_out().get(handle)? {
            LeftOut::Result(content) => content.text(),
            LeftOut::Messages(messages) => {
                conversation_text(messages.iter().map(|message| &**message), usize::MAX).into()
            }
        })
    }
}
