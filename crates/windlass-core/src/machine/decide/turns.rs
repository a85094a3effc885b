//! Model calls: when the next one begins, what follows from a reply or a failure.

use std::collections::BTreeSet;

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::codec::forms::ReadCall;
use crate::codec::phases::actions_in;
use crate::codec::{fenced, forms};
use crate::machine::decide::limits::fill;
use crate::machine::decide::repeats::merge_repeats;
use crate::machine::decision::Decision;
use crate::policy::iterations::Another;
use crate::policy::values::{Malformed, Talk, Turns};
use crate::protocol::fact::turns::{TurnCompleted, TurnStarted};
use crate::protocol::fact::{OutputRejected, Rejection, RunEnded};
use crate::protocol::stored_reply;
use crate::state::model_calls::ModelCall;
use crate::state::open_call::OpenCall;
use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::message::{AssistantMessage, Message, ToolCall};
use crate::vocabulary::model::Wire;
use crate::vocabulary::outcome::{CallOutcome, FailKind, Status};
use crate::vocabulary::purpose::ToolChoice;
use crate::vocabulary::reply::{Reply, StopReason, Usage};

/// After so many turns in a row with calls that were read but fit nothing, the reply is the answer after all.
const READABLE_RETRIES: u32 = 3;

/// Maximum number of retries after a reply that was truncated, refused or filtered.
const CUT_RETRIES: u32 = 1;

/// The most calls of one reply. What follows from a reply looks at each of its calls for each of them.
pub const MAX_CALLS: usize = 1_024;

impl Decision {
    /// Begins the next model call if it is admitted.
    pub(crate) fn next_turn(&mut self) {
        if self.deferred_by_pause(None) {
            return;
        }
        if self.state.plans() {
            return self.plan_on();
        }
        if !self.context_is_ready() {
            return;
        }
        // Where no call could be let run, only a finish is asked for.
        let choice = match (self.state.none_may_run(), self.state.finish_tool()) {
            (false, _) => self.state.choice_of_turn(),
            (true, Some(finish)) => ToolChoice::Named(finish.name.clone()),
            (true, None) => ToolChoice::None,
        };
        self.begin_turn(choice, None);
    }

    pub(crate) fn begin_turn(&mut self, choice: ToolChoice, note: Option<Text>) {
        let turn = self.state.turn.number() + 1;
        let purpose = self.state.setup.policy().request.purpose;
        let model = self.state.model_of_turn(&choice, note.as_deref());
        self.begin(TurnStarted { model, note, ..TurnStarted::first(turn, purpose, choice) });
    }

    /// A reply to the loop's own call: it is on record with its calls, then the loop goes on.
    pub(crate) fn turn_replied(&mut self, model_call: &ModelCall, reply: Reply) {
        let ignores = self.ignores_schema(model_call, &reply);
        let (completed, for_actions) =
            (self.read(model_call, reply, ignores), self.state.is_for_actions(model_call));
        let (stop, calls) = (completed.stop, completed.calls.len());
        let usage = completed.usage;
        self.record(completed);
        if ignores
            && let Some(adjusted) = self
                .adjusted(model_call.model(), |model| model.wire.replace(Wire::Fenced) != Some(Wire::Fenced))
        {
            self.record(adjusted);
        }
        self.measure(model_call.sent(), &usage);
        if self.state.stopping() {
            self.skip_all("the run was stopped");
            self.after_stop();
        } else if self.state.ending.closing().is_some() {
            if !self.forced_reply() {
                let text = self.reply_text();
                self.skip_all("no tool can be called any more");
                self.close_with(text);
            }
        } else if calls > MAX_CALLS {
            self.skip_all("the reply has too many calls");
            let error = format!("the reply has more than {MAX_CALLS} calls");
            self.fail(FailKind::Malformed, error.into());
        } else if let Some((reason, kind, note)) = self.cut(stop) {
            self.skip_all("the reply was not complete");
            self.ask_again_after_cut(reason, kind, note);
        } else if self.state.progress.demands().unmet() > 0 {
            self.demand_again();
        } else if calls > 0 {
            self.begin_calls();
            self.compact_during_calls();
        } else if stop == StopReason::Paused {
            // The reply stands in the conversation: sent back, the provider goes on with it.
            self.next_turn();
        } else if for_actions && self.state.conversation.steering().is_empty() {
            let note = self.state.setup.policy().wording.texts.answer_now.clone();
            self.begin_turn(ToolChoice::None, Some(note));
        } else if for_actions {
            self.next_turn();
        } else {
            self.talked();
        }
    }

    /// Reads calls out of a reply and gives them ids. Where no tool was offered, no text names an offered one. The reply
    /// stays whole: its text goes back to the model as it came.
    fn read(&self, model_call: &ModelCall, mut reply: Reply, ignores_schema: bool) -> TurnCompleted {
        let (offered, for_actions) =
            (*model_call.choice() != ToolChoice::None, self.state.is_for_actions(model_call));
        let mut calls: Vec<ReadCall> =
            std::mem::take(&mut reply.calls).into_iter().map(ReadCall::from).collect();
        let mut answer = None;
        let wire = if ignores_schema { Wire::Fenced } else { self.state.wire() };
        if let (Wire::Schema, true, Some(form)) = (wire, calls.is_empty(), self.state.by_schema(model_call)) {
            (calls, answer) = Self::calls_by_schema(model_call, form, &mut reply);
        }
        let source = stored_reply::source(reply.text.as_ref(), reply.reasoning.as_ref());
        match (wire, source) {
            // A reply that is held to the output's schema holds no calls.
            (Wire::Auto, Some(_)) if self.state.is_held_to_output(model_call.model()) => {}
            (Wire::Auto, Some(text)) if offered && calls.is_empty() => {
                calls = forms::calls_in(text, self.state.toolbox.all()).unwrap_or_default();
            }
            (Wire::Fenced, Some(text)) if for_actions && calls.is_empty() => {
                calls = actions_in(text);
            }
            (Wire::Fenced, _) if offered && calls.is_empty() => {
                calls = reply.text.as_ref().map_or_else(Vec::new, fenced::blocks_in);
            }
            (Wire::Auto | Wire::Schema | Wire::Fenced | Wire::Native, _) => {}
        }
        calls = merge_repeats(calls);
        // One too many says that there were more.
        calls.truncate(MAX_CALLS + 1);
        let (calls, objection) = (self.identify(model_call.turn(), calls), self.objection.clone());
        TurnCompleted { calls, objection, answer_form: answer, ..TurnCompleted::read_only(model_call, reply) }
    }

    /// Gives each call an id that is new in this conversation: the provider's own where it serves.
    pub(crate) fn identify(&self, turn: u32, calls: Vec<ReadCall>) -> Vec<ToolCall> {
        let mut taken: BTreeSet<CallId> = BTreeSet::new();
        let mut ids: Vec<CallId> = Vec::with_capacity(calls.len());
        for (place, read) in calls.iter().enumerate() {
            let given = read.id.as_ref().filter(|id| !id.trim().is_empty());
            let free = |id: &CallId| !self.state.conversation.call_ids().contains(id) && !taken.contains(id);
            let own = given.map(|id| CallId(id.clone())).filter(free);
            let id = own.unwrap_or_else(|| {
                let made = format!("call_{turn}_{}", place + 1);
                let numbered = (1..).map(|n: u32| if n == 1 { made.clone() } else { format!("{made}_{n}") });
                numbered.map(CallId::from).find(free).unwrap_or_else(|| CallId::from(made.clone()))
            });
            // One call has nobody to collide with.
            if calls.len() > 1 {
                taken.insert(id.clone());
            }
            ids.push(id);
        }
        calls
            .into_iter()
            .zip(ids)
            .map(|(read, id)| ToolCall {
                provider_id: read.id.filter(|given| **given != *id.0),
                id,
                name: read.name,
                args: read.args,
                place: read.place,
                target: read.target,
                fault: read.fault,
            })
            .collect()
    }

    pub(crate) fn cut(&self, stop: StopReason) -> Option<(Rejection, FailKind, Text)> {
        let texts = &self.state.setup.policy().wording.texts;
        match stop {
            StopReason::Length => Some((Rejection::Truncated, FailKind::Truncated, texts.truncated.clone())),
            StopReason::Refused => Some((Rejection::Refused, FailKind::Refused, texts.refused.clone())),
            StopReason::Filtered => Some((Rejection::Filtered, FailKind::Filtered, texts.filtered.clone())),
            StopReason::Stop | StopReason::ToolCalls | StopReason::Paused => None,
        }
    }

    pub(crate) fn ask_again_after_cut(&mut self, reason: Rejection, kind: FailKind, note: Text) {
        if self.state.turn.consecutive().cut() >= CUT_RETRIES {
            let error = if kind == FailKind::Truncated {
                "the model's replies were cut off at the token limit"
            } else if kind == FailKind::Refused {
                "the model declined to answer"
            } else {
                "the provider's content filter stopped the replies"
            };
            self.fail(kind, error.into());
        } else {
            self.record(OutputRejected { reason, note, call: None, run_only: true });
            self.next_turn();
        }
    }

    /// A turn without a call.
    pub(crate) fn talked(&mut self) {
        let text = self.reply_text();
        if self.takes_text_output() {
            self.text_output(text);
            return;
        }
        let policy = self.state.setup.policy();
        let prompt = match policy.replies.talk {
            Talk::Answer => None,
            Talk::Remind(most) => Some((most, policy.wording.texts.reminder.clone())),
            Talk::Clarify(most) => text
                .as_deref()
                .is_none_or(|text| text.trim().is_empty())
                .then(|| (most, policy.wording.texts.clarification.clone())),
            Talk::Correct(most) => (self.state.conversation.outputs() == 0)
                .then(|| (most, policy.wording.texts.correction.clone())),
        };
        match prompt {
            None => self.answered_with(text),
            Some((most, _)) if self.state.turn.consecutive().prompts() >= most => {
                let texts = &policy.wording.texts;
                let error =
                    if policy.bounds.turns == Turns::One { &texts.no_call_at_once } else { &texts.no_call };
                let error = fill(error, "{n}", &most.to_string());
                let text = Some(texts.no_call_text.clone()).filter(|text| !text.is_empty());
                self.end(Status::Failed(FailKind::NoCall), text, Some(error.into()));
            }
            Some((_, note)) => {
                self.record(OutputRejected { reason: Rejection::NoCall, note, call: None, run_only: false });
                self.next_turn();
            }
        }
    }

    /// The last reply of the conversation, if at most its results follow it.
    pub(crate) fn last_reply(&self) -> Option<&AssistantMessage> {
        let last = self.state.conversation.history().last_non_tool();
        last.and_then(|last| if let Message::Assistant(reply) = &**last { Some(reply) } else { None })
    }

    /// The text of the reply that the conversation ends with, beside its calls.
    pub(crate) fn reply_text(&self) -> Option<Text> {
        let Message::Assistant(reply) = &**self.state.conversation.history().last()? else { return None };
        reply.text_without_calls()
    }

    fn answered_with(&mut self, text: Option<Text>) {
        if self.state.conversation.steering().is_empty() {
            if let Some(note) = self.unproven() {
                return self.again_with(note);
            }
            if self.state.setup.policy().replies.another == Another::Never {
                return self.end(Status::Answered, Some(text.unwrap_or_else(|| "".into())), None);
            }
        }
        self.drafted();
    }

    /// Calls that cannot be understood end the run: by policy, or because there were too many in a row.
    pub(crate) fn malformed_ends(&mut self, faults: &[(CallId, CallOutcome)]) -> bool {
        // In a fork some of the turn's faults may have been recorded already.
        let some = self.state.turn.malformed() > 0;
        let before = self.state.turn.consecutive().malformed().saturating_sub(u32::from(some));
        let verdict = match self.state.setup.policy().replies.malformed {
            Malformed::FeedBack(most) => before >= most,
            Malformed::Answer => before >= READABLE_RETRIES || self.open_calls().iter().any(unreadable),
            Malformed::Fail => true,
        };
        if faults.is_empty() && !some || !verdict {
            return false;
        }
        // The text as the model wrote it, calls and all.
        let raw = self.last_reply().and_then(|reply| reply.text.clone());
        for (call, outcome) in faults {
            self.finish_call(call.clone(), outcome.clone());
        }
        self.skip_all("the run ended");
        if self.state.setup.policy().replies.malformed == Malformed::Answer {
            self.answered_with(raw);
        } else {
            let first = faults.iter().find_map(|(_, outcome)| {
                if let CallOutcome::Malformed { message } = outcome { Some(message.clone()) } else { None }
            });
            self.fail(
                FailKind::Malformed,
                first.unwrap_or_else(|| "the model's calls cannot be understood".into()),
            );
        }
        true
    }

    pub(crate) fn fail(&mut self, kind: FailKind, error: Text) {
        self.end(Status::Failed(kind), None, Some(error));
    }

    pub(crate) fn end(&mut self, status: Status, text: Option<Text>, error: Option<Text>) {
        self.end_with(status, text, None, error);
    }

    pub(crate) fn end_with(
        &mut self,
        status: Status,
        text: Option<Text>,
        output: Option<Value>,
        error: Option<Text>,
    ) {
        self.abandon_background_calls();
        self.queue_unheard();
        let (usage, cost) = (*self.state.usage(), self.state.cost());
        self.record(RunEnded { status, text, output, error, usage, cost });
    }

    /// Work that was going on is being stopped; once all of it has ended, the run goes where the stop leads.
    pub(crate) fn after_stop(&mut self) {
        if self.state.stopping() {
            self.close_waiting_code();
        }
        if !self.state.stopping() || self.state.in_flight() || self.state.is_finished() {
            return;
        }
        if self.state.ending.is_cancel() {
            let text = self.state.setup.policy().wording.texts.cancelled.clone();
            self.end(Status::Cancelled, Some(text).filter(|text| !text.is_empty()), None);
        } else if let Some(closing) = self.state.ending.closing().cloned() {
            self.after_limit(closing.reached());
        }
    }

    /// Ends the run after the closing call, successful or not. The status is the limit in either case.
    pub(crate) fn finish_closing(&mut self, text: Option<Text>) {
        let Some(closing) = self.state.ending.closing().cloned() else { return };
        let text = text.filter(|text| !text.trim().is_empty());
        let text = text.or_else(|| self.state.conversation.last_text().cloned());
        self.end(Status::Limit(closing.reached().limit), text, None);
    }

    /// The closing call did not end within its grace after a deadline.
    pub(crate) fn closing_overdue(&mut self) {
        let why = "stopped: the closing call did not end within the grace after the deadline";
        // The usage is unknown, because the request had been sent (E41).
        let input =
            self.state.estimated_input((self.state.setup.policy().request.purpose, None), self.state.wire());
        self.abandon_turn(why, Usage { input, estimated: true, ..Usage::default() });
        let reached = self.state.ending.closing().map(|closing| closing.reached().limit);
        let text = self.state.conversation.last_text().cloned();
        self.end(Status::Limit(reached.unwrap_or(LimitKind::Seconds)), text, None);
    }
}

/// Whether a call is no JSON, so that nothing but text can be made of it.
fn unreadable(open: &OpenCall) -> bool {
    match &open.call.fault {
        Some(fault) => !fenced::readable(fault),
        None => serde_json::from_str::<IgnoredAny>(&open.call.args).is_err(),
    }
}
