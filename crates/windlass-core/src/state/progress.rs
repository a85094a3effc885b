//! A run's way to its answer: where its input and its last round stand, which attempts were in vain, and the conversation
//! without them.

use std::ops::Range;
use std::sync::Arc;

use crate::state::blackboard::Blackboard;
use crate::state::demands::{Demands, NONE};
use crate::state::plan::Plan;
use crate::vocabulary::history::{History, Splice};
use crate::vocabulary::ids::Text;
use crate::vocabulary::message::{AssistantMessage, Message};
use crate::vocabulary::outcome::CallOutcome;

/// Progress of a run towards its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    /// The plan of a loop that a perception ends.
    plan: Option<Arc<Plan>>,
    /// Consecutive replies of the judge that could not be read.
    unread: u32,
    /// Places of the run's input in the conversation.
    input: Range<usize>,
    /// Places of the messages that people sent while it ran.
    steered: Vec<usize>,
    /// Place of the last reply with calls.
    round: Option<usize>,
    /// Place from which on stands what a closing call is told.
    closing: Option<usize>,
    /// The blackboard, where the view is made of it.
    blackboard: Blackboard,
    /// The tool of the last call, and how many calls in a row it had.
    consecutive_tool: Option<(Text, u32)>,
    /// Places of replies that were in vain, with the results of their calls.
    vain: Vec<usize>,
    /// The conversation without them and without reasoning, where the view is made of it.
    essence: Essence,
    /// The calls that turns must make, up to this turn; `None`: none was demanded yet.
    demands: Option<Box<Demands>>,
}

/// A conversation without reasoning and without attempts that were in vain. It only grows, so that the request's prefix
/// stays the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Essence {
    history: History,
    /// Number of the conversation's messages that it was made of.
    upto: usize,
    /// Number of the conversation's edits by then.
    edits: u64,
}

impl Progress {
    /// The calls that turns must make, up to this turn.
    pub(crate) fn demands(&self) -> &Demands {
        self.demands.as_deref().unwrap_or(&NONE)
    }

    /// The same, for a reply that came.
    pub(crate) fn demands_mut(&mut self) -> &mut Demands {
        self.demands.get_or_insert_default()
    }

    /// The plan of a loop that a perception ends.
    pub(crate) fn plan(&self) -> Option<&Arc<Plan>> {
        self.plan.as_ref()
    }

    /// Consecutive replies of the judge that could not be read.
    pub(crate) fn unread(&self) -> u32 {
        self.unread
    }

    /// Places of the run's input in the conversation.
    pub(crate) fn input(&self) -> &Range<usize> {
        &self.input
    }

    /// Places of the messages that people sent while it ran.
    pub(crate) fn steered(&self) -> &[usize] {
        &self.steered
    }

    /// Place of the last reply with calls.
    pub(crate) fn round(&self) -> Option<usize> {
        self.round
    }

    /// Place from which on stands what a closing call is told.
    pub(crate) fn closing(&self) -> Option<usize> {
        self.closing
    }

    /// The blackboard, where the view is made of it.
    pub(crate) fn blackboard(&self) -> &Blackboard {
        &self.blackboard
    }

    /// The tool of the last call, and how many calls in a row it had.
    pub(crate) fn consecutive_tool(&self) -> Option<&(Text, u32)> {
        self.consecutive_tool.as_ref()
    }

    /// The conversation without attempts in vain and without reasoning.
    pub(crate) fn into_essence(self) -> History {
        self.essence.history
    }

    /// The run begins with these messages.
    pub(crate) fn begin_with(&mut self, input: Range<usize>) {
        self.input = input;
    }

    /// A person's message to the running agent stands there.
    pub(crate) fn heard(&mut self, place: usize) {
        self.steered.push(place);
    }

    /// The last message is a reply with calls.
    pub(crate) fn round_began(&mut self, conversation: &History) {
        self.round = conversation.len().checked_sub(1);
    }

    /// The note for the closing call stands from there on.
    pub(crate) fn closing_note_added(&mut self, place: usize) {
        self.closing = Some(place);
    }

    /// A reply of the judge came: it counts as unread until its verdict is on record.
    pub(crate) fn judge_reply_recorded(&mut self) {
        self.unread += 1;
    }

    /// The verdict of the judge is on record.
    pub(crate) fn judged(&mut self) {
        self.unread = 0;
    }

    /// A call of this tool began: it is one more of it in a row.
    pub(crate) fn called(&mut self, tool: Text) {
        let before = self.consecutive_tool.take().filter(|(last, _)| *last == tool);
        self.consecutive_tool = Some((tool, before.map_or(1, |(_, times)| times + 1)));
    }

    /// A call has ended: its result or error is noted, or it has `written` on the blackboard with these arguments.
    pub(crate) fn note_outcome(&mut self, tool: &Text, outcome: &CallOutcome, written: Option<&str>) {
        self.blackboard.note(tool, outcome, written);
    }

    /// A snapshot of the blackboard is taken.
    pub(crate) fn save_blackboard(&mut self) {
        self.blackboard.save();
    }

    /// The blackboard goes back to its last snapshot, and no call came in a row.
    pub(crate) fn restore_blackboard(&mut self) {
        self.blackboard.restore();
        self.consecutive_tool = None;
    }

    /// A plan takes the place of the one before.
    pub(crate) fn plan_begun(&mut self, plan: Plan) {
        self.plan = Some(Arc::new(plan));
    }

    /// Something happens in the plan.
    pub(crate) fn in_plan<T>(&mut self, happens: impl FnOnce(&mut Plan) -> T) -> T {
        happens(Arc::make_mut(self.plan.get_or_insert_default()))
    }

    /// A reply was in vain: it and everything after it up to `end`.
    pub(crate) fn in_vain(&mut self, reply: usize, end: usize) {
        self.vain.extend(reply..end);
    }

    /// Whether a message is an attempt that was in vain, or says nothing.
    pub(crate) fn is_vain(&self, place: usize, message: &Message) -> bool {
        self.vain.binary_search(&place).is_ok()
            || matches!(message, Message::Assistant(reply) if says_nothing(reply))
    }

    /// Messages were replaced: the places move with the messages that are left.
    pub(crate) fn spliced(&mut self, splice: &Splice) {
        let at = usize::try_from(splice.at).unwrap_or(usize::MAX);
        let end = at.saturating_add(usize::try_from(splice.remove).unwrap_or(usize::MAX));
        let moved = |place: usize| {
            if place >= end { place - (end - at) + splice.insert.len() } else { place.min(at) }
        };
        let kept = |place: &usize| !(at..end).contains(place);
        self.input = moved(self.input.start)..moved(self.input.end);
        for places in [&mut self.steered, &mut self.vain] {
            places.retain(kept);
            for place in places.iter_mut() {
                *place = moved(*place);
            }
        }
        self.round = self.round.map(moved);
        self.closing = self.closing.map(moved);
        if let Some(plan) = &mut self.plan {
            Arc::make_mut(plan).spliced(moved);
        }
    }

    /// Takes what was said since into the essence.
    pub(crate) fn distil(&mut self, conversation: &History) {
        let mut essence = std::mem::take(&mut self.essence);
        if essence.edits != conversation.edits() || essence.upto > conversation.len() {
            let history = History::after_edits(conversation.edits());
            essence = Essence { history, upto: 0, edits: conversation.edits() };
        }
        for (place, message) in (essence.upto..).zip(conversation.since(essence.upto)) {
            if let Some(message) = self.essential(place, message) {
                essence.history.push(message);
            }
        }
        essence.upto = conversation.len();
        self.essence = essence;
    }

    /// The form of a message in the essence.
    pub(crate) fn essential(&self, place: usize, message: &Arc<Message>) -> Option<Arc<Message>> {
        if self.is_vain(place, message) {
            return None;
        }
        match &**message {
            // Calls that were read from reasoning are positions in it, and a provider wants back what it sealed.
            Message::Assistant(reply)
                if reply
                    .reasoning
                    .as_ref()
                    .is_some_and(|reasoning| reasoning.provider_metadata.is_none())
                    && !reply.calls.iter().any(|call| call.place.is_some()) =>
            {
                let reply = AssistantMessage { reasoning: None, ..reply.clone() };
                Some(Arc::new(Message::Assistant(reply)))
            }
            Message::Assistant(_)
            | Message::System { .. }
            | Message::User { .. }
            | Message::TaskDelegation { .. }
            | Message::Tool(_) => Some(message.clone()),
        }
    }
}

/// Whether a reply has neither text nor calls.
fn says_nothing(reply: &AssistantMessage) -> bool {
    reply.calls.is_empty() && reply.text.as_deref().is_none_or(|text| text.trim().is_empty())
}
