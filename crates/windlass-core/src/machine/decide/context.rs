//! The context budget: warnings, and when the conversation is made smaller. What may go stands in `state/context.rs`.

use std::sync::Arc;

use crate::machine::decision::Decision;
use crate::policy::context::Compact;
use crate::policy::values::Hooks;
use crate::protocol::fact::context::{
    Compacted, CompactionSkipped, ContextMeasured, ContextWarned, NotCompacted,
};
use crate::protocol::fact::interrupts::Steered;
use crate::protocol::fact::turns::{TurnCompleted, TurnStarted};
use crate::state::context::{Covers, Sent, Skip, Warning, result_handle};
use crate::state::model_calls::ModelCall;
use crate::state::{Phase, State};
use crate::view::Growth;
use crate::vocabulary::amount::BYTES_A_TOKEN;
use crate::vocabulary::history::Splice;
use crate::vocabulary::ids::Text;
use crate::vocabulary::message::{Content, Message, ToolMessage};
use crate::vocabulary::payload::READ_RESULT;
use crate::vocabulary::purpose::{Place, Purpose, ToolChoice};
use crate::vocabulary::reply::{FailureKind, ModelFailure, Reply, StopReason, Usage};

impl Decision {
    /// Whether the next turn may begin now. It waits for a summary; then it begins with what the summary left.
    pub(crate) fn context_is_ready(&mut self) -> bool {
        if self.is_summarising() || self.compacts() {
            return false;
        }
        self.warn();
        true
    }

    /// A turn's calls have begun: a summary that the next turn needs is made beside them. A hook edits the conversation
    /// by places, so it is not changed before the hook has done so.
    pub(crate) fn compact_during_calls(&mut self) {
        let acting = matches!(self.state.phase, Phase::Acting(_)) && !self.state.stopping();
        let policy = self.state.setup.policy();
        let concurrently =
            policy.past.context.compact == Compact::Summarise && policy.calls.hooks == Hooks::None;
        if acting && concurrently && !self.is_summarising() && self.state.questions.pause().is_none() {
            self.compacts();
        }
    }

    fn is_summarising(&self) -> bool {
        self.state.model_calls.get(Purpose::Summarise, None).is_some()
    }

    /// Makes the conversation smaller where it is due. Says whether a summary is being made, which takes its time.
    fn compacts(&mut self) -> bool {
        if !self.state.compaction_is_due() {
            return false;
        }
        match self.state.setup.policy().past.context.compact {
            Compact::Off => false,
            Compact::DropResults => {
                let splices = self.state.droppable();
                self.replace(Compact::DropResults, splices, 0, None);
                false
            }
            Compact::Summarise => self.begin_summary(),
        }
    }

    fn begin_summary(&mut self) -> bool {
        let covers = self.state.before_last();
        if !self.state.summed_up(covers).any(|(_, message)| matches!(**message, Message::Assistant(_))) {
            self.not_compacted(NotCompacted::NothingToRemove);
            return false;
        }
        let turn = self.state.turn.number();
        let model = self.state.summariser();
        let next = TurnStarted { model, ..TurnStarted::first(turn, Purpose::Summarise, ToolChoice::None) };
        // Where no turn may follow, there is nothing to make room for.
        let (purpose, model) = (self.state.setup.policy().request.purpose, self.state.next_model());
        let act = TurnStarted { turn: turn + 1, purpose, model, ..next.clone() };
        let begins = self.is_admitted(&act) && self.is_admitted(&next);
        if begins {
            self.record(next);
        }
        begins
    }

    /// A summary has come: it takes the place of its messages, unless that is no gain.
    pub(crate) fn summarised(&mut self, model_call: &ModelCall, stop: StopReason, text: Option<Text>) {
        let Some(covers) =
            model_call.covers().filter(|covers| covers.edits() == self.state.history().edits())
        else {
            return self.not_compacted(NotCompacted::Edited);
        };
        let text = text.filter(|text| !text.trim().is_empty());
        let Some(text) = text.filter(|_| !matches!(stop, StopReason::Refused | StopReason::Filtered)) else {
            return self.not_compacted(NotCompacted::NoSummary);
        };
        let handle: Text = format!("exchanges_{}", self.state.version).into();
        let (splices, exchanges) = self.state.with_summary(covers, &text, &handle);
        self.replace(Compact::Summarise, splices, exchanges, Some(handle));
    }

    /// Records a compaction if it makes the conversation smaller.
    fn replace(&mut self, how: Compact, splices: Vec<Splice>, exchanges: u64, handle: Option<Text>) {
        if splices.is_empty() {
            return self.not_compacted(NotCompacted::NothingToRemove);
        }
        let before = self.state.history().bytes();
        let mut history = self.state.history().clone();
        history.edit(&splices);
        let after = history.bytes();
        if after >= before {
            return self.not_compacted(NotCompacted::NotSmaller);
        }
        self.record(Compacted {
            kind: how,
            splices,
            exchanges,
            handle,
            bytes_before: before,
            bytes_after: after,
        });
    }

    /// Everything stays as it was. That nothing can be removed is recorded once, until something was.
    pub(crate) fn not_compacted(&mut self, reason: NotCompacted) {
        let again = reason == NotCompacted::NothingToRemove
            && self.state.conversation.tracker().skip() == Skip::Recorded;
        if !again {
            self.record(CompactionSkipped { reason });
        }
    }

    /// After the end of a summary: the turn that waited for it begins.
    pub(crate) fn go_on_after_summary(&mut self) {
        if self.state.phase == Phase::Between && self.state.ending.closing().is_none() {
            self.next_turn();
        }
    }

    /// Records a reply that is only read.
    pub(crate) fn record_read(&mut self, model_call: &ModelCall, reply: Reply) {
        let objection = self.objection.clone();
        self.record(TurnCompleted { objection, ..TurnCompleted::read_only(model_call, reply) });
    }

    /// A call beside the loop has ended: whether the run is being stopped, so that nothing follows from it.
    pub(crate) fn background_call_stopped(&mut self) -> bool {
        let stopping = self.state.stopping();
        if stopping {
            self.after_stop();
        }
        stopping
    }

    /// Warns once when a request reaches the share of the budget that the policy names. Nothing is cut.
    fn warn(&mut self) {
        let context = &self.state.setup.policy().past.context;
        let (Some(max_tokens), Some(at)) = (context.max_tokens, context.tokens_at(context.warn_at)) else {
            return;
        };
        if self.state.conversation.tracker().warning() == Warning::Given {
            return;
        }
        let tokens = self.state.next_tokens(self.steering_bytes());
        if tokens >= at {
            self.record(ContextWarned { tokens, max_tokens });
        }
    }

    fn steering_bytes(&self) -> u64 {
        self.state.conversation.steering().iter().map(Steered::bytes).sum()
    }

    /// Records an estimate that the provider's count differs from by more than a tenth, where a budget depends on it.
    pub(crate) fn measure(&mut self, sent: Option<Sent>, usage: &Usage) {
        let budget = self.state.setup.policy().past.context.max_tokens;
        let Some(sent) = sent.filter(|_| budget.is_some() && usage.input > 0 && !usage.estimated) else {
            return;
        };
        let (estimated, counted) = (sent.tokens(), usage.input);
        if estimated.abs_diff(counted).saturating_mul(10) > counted {
            self.record(ContextMeasured { estimated, counted });
        }
    }

    /// The run ends while calls beside the loop are going on: their requests are counted by estimate.
    pub(crate) fn abandon_background_calls(&mut self) {
        let in_background = |model_call: &&ModelCall| model_call.purpose().place() == Place::Background;
        let background: Vec<ModelCall> =
            self.state.model_calls.in_progress().filter(in_background).cloned().collect();
        for model_call in background {
            let model = self.state.model_name(model_call.model());
            let input = self.state.view_bytes(model_call.purpose(), model_call.about(), self.state.wire())
                / BYTES_A_TOKEN;
            let usage = Usage { input, estimated: true, ..Usage::default() };
            let failure = ModelFailure::new(FailureKind::Cancelled, "the run ended", model);
            self.record(self.ended(&model_call, ModelFailure { usage, ..failure }));
        }
    }
}

impl State {
    /// Whether the conversation is to be made smaller: it has grown beyond the policy's share of the budget, or for as
    /// many replies as the policy says, and there are old messages that no attempt has seen.
    fn compaction_is_due(&self) -> bool {
        let (context, tracker) = (&self.setup.policy().past.context, self.conversation.tracker());
        if context.compact == Compact::Off
            || !self.shows_old_messages()
            || tracker.tried() == Some(self.before_last())
        {
            return false;
        }
        let many = context.every.is_some_and(|every| tracker.replies() >= every);
        many || context.tokens_at(context.at).is_some_and(|at| self.next_tokens(0) >= at)
    }

    /// Whether requests hold old messages. Where they do not, nothing that a compaction removes would make them smaller.
    fn shows_old_messages(&self) -> bool {
        self.growth_of(self.setup.policy().request.purpose) == Growth::Appended
    }

    /// Old tool results, each replaced by a note that says how to read it, where that is shorter.
    fn droppable(&self) -> Vec<Splice> {
        let covers = self.before_last();
        let from = self.conversation.tracker().swept();
        let part =
            self.conversation.history().since(from).take(covers.until().saturating_sub(from)).enumerate();
        let dropped = part.filter_map(|(place, message)| {
            let Message::Tool(result) = &**message else { return None };
            let Content::Text(text) = &result.content else { return None };
            let handle = result_handle(&result.call);
            if self.conversation.left_out().contains_key(&handle) {
                // It is a summary already, and what it stands for is kept under that name.
                return None;
            }
            let note = format!(
                "[{} bytes of this result are left out; `{READ_RESULT}` reads them: {{\"handle\": \"{handle}\"}}]",
                text.len()
            );
            (note.len() < text.len()).then(|| {
                let message = ToolMessage { content: note.into(), ..result.clone() };
                let insert = vec![Arc::new(Message::Tool(message))];
                Splice { at: (from + place) as u64, remove: 1, insert }
            })
        });
        dropped.collect()
    }

    /// The changes that put a summary in place of its messages, and the number of exchanges that it stands for. It stands
    /// behind what stays of them, because it tells how the work went on after the user's request.
    fn with_summary(&self, covers: Covers, text: &str, handle: &str) -> (Vec<Splice>, u64) {
        let mut splices: Vec<Splice> = Vec::new();
        let (mut exchanges, mut bytes, mut messages, mut gone) = (0, 0, 0, 0_u64);
        let mut next = None;
        for (at, message) in self.summed_up(covers) {
            (bytes, messages) = (bytes + message.bytes(), messages + 1);
            exchanges += u64::from(matches!(**message, Message::Assistant(_)));
            match splices.last_mut().filter(|_| next == Some(at)) {
                Some(splice) => splice.remove += 1,
                None => splices.push(Splice { at: at as u64 - gone, remove: 1, insert: Vec::new() }),
            }
            gone += 1;
            next = Some(at + 1);
        }
        exchanges += self.conversation.tracker().summary().map_or(0, |summary| summary.exchanges());
        if let Some(last) = splices.last_mut() {
            let summary = format!(
                "[Summary of previous {exchanges} exchanges]\n{}\n[{messages} messages, {bytes} bytes, are left out; \
                 `{READ_RESULT}` reads them: {{\"handle\": \"{handle}\"}}]",
                text.trim()
            );
            last.insert.push(Arc::new(Message::system(summary)));
        }
        (splices, exchanges)
    }
}
