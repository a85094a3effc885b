//! `evolve`: folds one fact into the state. It cannot fail, decides nothing, and its cost does not depend on the length of the
//! history.

mod fork;
mod start;

use std::sync::Arc;

use crate::asks::{Ask, Place};
use crate::budget::{Budget, Reservation};
use crate::call_args::CallArgs;
use crate::event::{
    Adjusted, CallDecided, CallFinished, CallHeld, Decision, Event, Fact, InputRequested, LimitReached,
    OutputRejected, TaskOrder, TurnCompleted, TurnFailed, TurnStarted,
};
use crate::ids::{CallId, Text};
use crate::json;
use crate::message::{AssistantMessage, Message, ToolCall};
use crate::open_call::{Asked, OpenCall, Origin, Stage};
use crate::outcome::CallOutcome;
use crate::policy::{Hooks, LimitKind};
use crate::question::QuestionKind;
use crate::reply::{StopReason, Usage};
use crate::results::{branch_message, tool_message};
use crate::state::{Branched, Closing, ClosingStage, Cut, Ending, OpenQuestion, Phase, Repeated, State};

/// Folds one fact into the state.
#[must_use]
pub fn evolve(mut state: State, event: &Event) -> State {
    state.apply(event);
    state
}

impl State {
    pub(crate) fn apply(&mut self, event: &Event) {
        self.version += 1;
        self.clock.now = self.clock.now.max(event.at);
        let seq = self.version;
        match &event.fact {
            Fact::RunStarted(start) => self.started(start, event.at, seq),
            Fact::RunResumed(resumed) => {
                self.clock.behind_ms = resumed.clock_behind_ms.unwrap_or(0);
                self.taken_over(resumed.by);
            }
            Fact::TurnStarted(turn) => self.turn_started(turn, seq),
            Fact::TurnCompleted(turn) => self.turn_completed(turn),
            Fact::TurnFailed(turn) => self.turn_failed(turn, seq),
            Fact::CallHeld(held) => self.call_held(held),
            Fact::CallDecided(decided) => self.call_decided(decided),
            Fact::ToolAllowed(allowed) => self.tool_allowed(allowed),
            Fact::CallStarted(started) => {
                if started.attempt == 1 {
                    self.count_call();
                }
                let own = self.run;
                if let Some(call) = self.call_mut(&started.call) {
                    call.key_run = Some(call.keyed_by(own));
                    call.attempt = started.attempt;
                    call.stage = Stage::Running { seq };
                }
            }
            Fact::CallRetried(retried) => {
                self.ledger.counters.retries += 1;
                if let Some(call) = self.call_mut(&retried.call) {
                    call.failed += 1;
                    call.stage = Stage::Retrying { seq, at: retried.retry_at };
                }
            }
            Fact::CallDoubted(doubted) => {
                self.stage(&doubted.call, Stage::Doubted { seq, asked: Asked::Tool });
            }
            Fact::CallFinished(finished) => self.call_finished(finished),
            Fact::DelegationStarted(started) => {
                if started.attempt == 1
                    && self.open_call(&started.call).is_none_or(|open| open.origin.is_model())
                {
                    self.count_call();
                }
                if let Some(call) = self.call_mut(&started.call) {
                    call.attempt = started.attempt;
                    call.lent = started.lent;
                    let (run, order) = (started.run, started.order.clone());
                    call.stage = Stage::Delegated { seq, run, order };
                }
                if started.order == TaskOrder::Stop {
                    self.questions.open.retain(|open| open.call.as_ref() != Some(&started.call));
                    if let Some(closing) = self.ending.closing_mut() {
                        closing.stage = ClosingStage::Stopping;
                    }
                }
            }
            Fact::DelegationFinished(finished) => {
                self.ledger.returned(finished);
                let (call, outcome) = (finished.call.clone(), finished.outcome.clone());
                self.call_finished(&CallFinished { call, outcome, note: None, limit: None });
            }
            Fact::InputRequested(asked) => self.input_requested(asked, seq),
            Fact::InputReceived(received) => self.questions.open.retain(|open| open.id != received.question),
            Fact::Steered(steered) => self.conversation.steering.push(steered.text.clone()),
            Fact::Adjusted(adjusted) => self.adjusted(adjusted, event.at, seq),
            Fact::HistoryEdited(edited) => self.conversation.history.edit(&edited.splices),
            Fact::StepBranched(branched) => self.acting(&branched.calls, Origin::Hook),
            Fact::OutputRejected(rejected) => self.output_rejected(rejected),
            Fact::LimitReached(reached) => self.limit_reached(reached, event.at, seq),
            Fact::LimitRaised(raised) => {
                self.ending = Ending::None;
                let policy = Arc::make_mut(&mut self.setup.policy);
                let watched = policy.calls.repetition.watched_mut();
                if let Some(repetition) = watched.filter(|_| raised.limit == LimitKind::Repetition) {
                    repetition.stop_at = u32::try_from(raised.max).unwrap_or(u32::MAX);
                } else if let Some(limit) = policy.bounds.limits.get_mut(&raised.limit) {
                    limit.max = raised.max;
                }
                self.offer_tools(self.toolbox.own.clone());
                if raised.limit == LimitKind::Seconds {
                    self.clock.deadline_seq = seq;
                }
            }
            Fact::CancelRequested(_) => {
                self.ending.cancel();
                self.questions.open.clear();
                self.give_up_waiting();
            }
            Fact::RunEnded(end) => {
                self.questions.open.clear();
                self.asks.clear();
                self.phase = Phase::Ended(Box::new(end.clone()));
            }
        }
    }

    fn turn_started(&mut self, turn: &TurnStarted, seq: u64) {
        self.asks.open(Ask::from((turn, seq)));
        if turn.purpose.rules().place == Place::Turn {
            self.step_started(turn);
        }
        // Its request is the conversation as it stands now.
        self.asks.reserve(seq, self.reserve(turn));
    }

    /// The loop waits for this call.
    fn step_started(&mut self, turn: &TurnStarted) {
        if turn.turn != self.turn.number {
            if self.turn.malformed == 0 && self.turn.counted > 0 {
                self.streaks.malformed = 0;
            }
            self.hear();
            if let Some(closing) = self.ending.closing_mut() {
                let text = turn.note.is_some() || closing.stage == ClosingStage::TextAsked;
                closing.stage = if text { ClosingStage::TextAsked } else { ClosingStage::Called };
                if let Some(note) = closing.reached.note.take() {
                    self.conversation.history.push(Arc::new(Message::user(note)));
                }
            }
        }
        if let Some(note) = &turn.note {
            self.conversation.history.push(Arc::new(Message::user(note.clone())));
        }
        if turn.turn != self.turn.number {
            let beyond = self.beyond(turn.model);
            if let Some(closing) = self.ending.closing_mut() {
                closing.beyond = Some(beyond);
            }
            self.turn = self.turn.next(turn.turn);
        }
        self.phase = Phase::Asking;
    }

    /// Moves steering messages into the conversation.
    fn hear(&mut self) {
        for text in std::mem::take(&mut self.conversation.steering) {
            self.conversation.history.push(Arc::new(Message::user(text)));
        }
    }

    /// A model call has ended, well or not: what it used is counted at the prices of the model that was asked.
    fn asked_for(&mut self, usage: &Usage, ask: Option<&Ask>) {
        let asked = ask.map_or(0, |ask| ask.model as usize);
        let prices = self.setup.models.get(asked).and_then(|model| model.prices);
        self.ledger.count(usage, prices);
    }

    fn turn_completed(&mut self, turn: &TurnCompleted) {
        let ask = self.turns_ask().map(|ask| (ask.purpose, ask.about.clone()));
        let ask = ask.and_then(|(purpose, about)| self.asks.close(purpose, about.as_ref()));
        self.asked_for(&turn.usage, ask.as_ref());
        self.turn.stop = turn.stop;
        self.ledger.counters.model_calls += 1;
        if let Some(text) = turn.beside_calls().filter(|text| !text.trim().is_empty()) {
            self.conversation.last_text = Some(text);
        }
        self.conversation.history.push(Arc::new(Message::Assistant(AssistantMessage {
            text: turn.text.clone(),
            reasoning: turn.reasoning.clone(),
            calls: turn.calls.clone(),
        })));
        if !matches!(turn.stop, StopReason::Length | StopReason::Refused | StopReason::Filtered) {
            self.streaks.cut = 0;
        }
        if turn.calls.is_empty() {
            self.phase = Phase::Between;
            return;
        }
        self.streaks.prompts = 0;
        self.acting(&turn.calls, Origin::Model);
    }

    /// The calls of a turn are open, or the branches that a hook asked for.
    fn acting(&mut self, calls: &[ToolCall], origin: Origin) {
        let asked_at = (self.run, self.version.saturating_sub(1));
        let open = calls.iter().map(|call| {
            self.conversation.call_ids.insert_mut(call.id.clone());
            OpenCall {
                repeat: if origin.is_model() { self.count_repeat(&call.name, &call.args) } else { 0 },
                reached: self.reach(call, origin),
                call: call.clone(),
                edited: None,
                allowed: None,
                stage: Stage::Queued,
                attempt: 0,
                failed: 0,
                note: None,
                key_run: None,
                in_base: None,
                lent: Budget::default(),
                asked_at,
                origin,
                rejected: false,
            }
        });
        let open = open.collect();
        self.phase = Phase::Acting(open);
    }

    /// Counts consecutive equal calls, this one included.
    fn count_repeat(&mut self, name: &Text, args: &CallArgs) -> u32 {
        let exempt = self.tool(name).is_some_and(|tool| tool.poll);
        let same = |last: &&Repeated| !exempt && last.name == *name && same_args(&last.args, args);
        let times = 1 + self.streaks.repeated.as_ref().filter(same).map_or(0, |last| last.times);
        self.streaks.repeated = Some(Repeated { name: name.clone(), args: args.clone(), times });
        times
    }

    /// A call was let run, or put to a person: that is one more.
    fn count_call(&mut self) {
        self.ledger.counters.tool_calls += 1;
        self.turn.counted += 1;
        if self.turn.counted == 1 {
            self.streaks.rejected = 0;
            self.ledger.counters.tool_rounds += 1;
        }
    }

    fn turn_failed(&mut self, turn: &TurnFailed, seq: u64) {
        let failed = self.asks.close(turn.purpose, turn.about.as_ref());
        self.asked_for(&turn.failure.usage, failed.as_ref());
        let Some(failed) = failed else { return };
        let (model, attempt) = match turn.next_model {
            Some(model) => (model, 1),
            None => (failed.model, failed.attempt + 1),
        };
        if turn.retry_at.is_some() {
            let (retry_at, reserved) = (turn.retry_at, Reservation::default());
            self.asks.open(Ask { seq, model, attempt, retry_at, reserved, ..failed });
        } else if turn.purpose.rules().place == Place::Turn {
            self.phase = Phase::Between;
        }
    }

    fn call_mut(&mut self, id: &CallId) -> Option<&mut OpenCall> {
        let Phase::Acting(calls) = &mut self.phase else { return None };
        calls.iter_mut().find(|call| call.call.id == *id)
    }

    fn stage(&mut self, id: &CallId, stage: Stage) {
        if let Some(call) = self.call_mut(id) {
            call.stage = stage;
        }
    }

    fn call_held(&mut self, held: &CallHeld) {
        let Some(gate) = self.open_call(&held.call).map(|open| self.gate(open)) else { return };
        let gate = Arc::new(gate.under(&held.digest));
        if let Some(call) = self.call_mut(&held.call) {
            call.allowed = None;
            call.stage = Stage::Held { gate };
        }
    }

    fn call_decided(&mut self, decided: &CallDecided) {
        let Some(call) = self.call_mut(&decided.call) else { return };
        match &decided.decision {
            Decision::Approved | Decision::Allowed => {}
            Decision::Edited { args } => call.edited = Some(args.clone()),
            Decision::Denied { .. } | Decision::Forbidden { .. } => return,
        }
        let asked = std::mem::replace(&mut call.stage, Stage::Queued);
        let edited = matches!(decided.decision, Decision::Edited { .. });
        let allowed = if let Stage::Held { gate } = asked
            && !edited
        {
            Some(gate)
        } else {
            // Allowed is what runs with these arguments.
            self.open_call(&decided.call).map(|open| Arc::new(self.gate(open)))
        };
        if let Some(call) = self.call_mut(&decided.call) {
            call.allowed = allowed;
        }
        if decided.decision == Decision::Allowed {
            // A question that was put before the rule was made needs no answer.
            self.questions.open.retain(|open| open.call.as_ref() != Some(&decided.call));
        }
    }

    fn call_finished(&mut self, finished: &CallFinished) {
        let own = self.open_call(&finished.call).is_none_or(|open| open.origin.is_model());
        match &finished.outcome {
            CallOutcome::Malformed { .. } => {
                // A hook's request is no fault of the model's.
                if own {
                    self.streaks.malformed += u32::from(self.turn.malformed == 0);
                    self.turn.malformed += 1;
                }
            }
            CallOutcome::Rejected { .. } | CallOutcome::Skipped { .. } => {}
            CallOutcome::Ok { content } => {
                self.conversation.outputs += 1;
                self.keep_stored(content);
                self.turn.accepted += 1;
            }
            CallOutcome::Error { .. }
            | CallOutcome::TimedOut { .. }
            | CallOutcome::Denied { .. }
            | CallOutcome::UnknownTool { .. }
            | CallOutcome::Interrupted
            | CallOutcome::Abandoned
            | CallOutcome::Unknown => self.turn.accepted += 1,
        }
        self.questions.open.retain(|open| open.call.as_ref() != Some(&finished.call));
        let Some(call) = self.call_mut(&finished.call) else { return };
        // What the base ran counts as run.
        let ran_below = call.ran_below(&finished.outcome);
        call.stage = Stage::Done(finished.outcome.clone());
        call.note.clone_from(&finished.note);
        let repeat = call.repeat;
        if let Some(limit) = finished.limit {
            self.turn.cut.get_or_insert(Cut { limit, repeat });
        }
        if ran_below {
            self.count_call();
        }
        self.commit_round();
    }

    /// Moves the results of a turn into the conversation once all its calls have ended: in call order, whatever the order in
    /// which they ended.
    fn commit_round(&mut self) {
        let cut = self.ending != Ending::None;
        let Phase::Acting(calls) = &mut self.phase else { return };
        if !calls.iter().all(|call| matches!(call.stage, Stage::Done(_))) {
            return;
        }
        let calls = std::mem::take(calls);
        let seq = self.version;
        // No hook is asked about a step that a limit or a cancel cut short.
        let asked = self.setup.policy.calls.hooks == Hooks::AfterSteps && !cut;
        self.phase = if asked { Phase::Stepping { seq } } else { Phase::Between };
        let mut notes = Vec::new();
        for mut open in calls {
            if let Stage::Done(outcome) = std::mem::replace(&mut open.stage, Stage::Queued) {
                let message = if open.origin == Origin::Hook {
                    let args = open.call.args.to_text();
                    self.turn.branched.push(Branched { args, outcome: outcome.clone() });
                    branch_message(&self.setup.policy, &open, outcome)
                } else {
                    tool_message(&self.setup.policy, &open, outcome)
                };
                self.conversation.history.push(Arc::new(message));
            }
            notes.extend(open.note);
        }
        for note in notes {
            self.conversation.history.push(Arc::new(Message::user(note)));
        }
    }

    fn input_requested(&mut self, asked: &InputRequested, seq: u64) {
        self.questions.asked += 1;
        self.questions.open.push(OpenQuestion {
            seq,
            id: asked.question.clone(),
            kind: asked.kind,
            call: asked.call.clone(),
            text: asked.text.clone(),
            suggestions: asked.suggestions.clone(),
        });
        if let (QuestionKind::Limit(_), Some(closing)) = (asked.kind, self.ending.closing_mut())
            && asked.child.is_none()
        {
            closing.stage = ClosingStage::Idle;
        }
        if asked.kind == QuestionKind::Clarify && asked.child.is_none() {
            self.count_call();
        }
        let Some(call) = asked.call.as_ref().and_then(|id| self.call_mut(id)) else { return };
        if let (Some(question), Stage::Delegated { run, .. }) = (&asked.child, &call.stage) {
            call.stage = Stage::DelegateAsks { run: *run, question: question.clone() };
            return;
        }
        if asked.kind == QuestionKind::Clarify {
            call.stage = Stage::Asking;
        } else if let Stage::Doubted { asked: put, .. } = &mut call.stage
            && asked.kind == QuestionKind::Outcome
        {
            *put = Asked::Person;
        }
    }

    fn output_rejected(&mut self, rejected: &OutputRejected) {
        use crate::event::Rejection::{Filtered, Invalid, NoCall, Refused, Truncated};
        match rejected.reason {
            Truncated | Refused | Filtered => self.streaks.cut += 1,
            NoCall => self.streaks.prompts += 1,
            Invalid => self.streaks.rejected += 1,
        }
        if let Some(call) = &rejected.call {
            if let Some(open) = self.call_mut(call) {
                open.rejected = true;
            }
            return;
        }
        self.conversation.history.push(Arc::new(Message::user(rejected.note.clone())));
    }

    fn adjusted(&mut self, adjusted: &Adjusted, at: u64, seq: u64) {
        let policy = self.setup.policy.clone();
        if let Some(fresh) = &adjusted.policy {
            self.setup.policy = fresh.clone();
            self.stay_within_budget();
        }
        if let Some(tools) = adjusted.tools.as_ref().or(adjusted.policy.as_ref().map(|_| &self.toolbox.own)) {
            self.offer_tools(tools.clone());
        }
        if adjusted.seals.is_some() {
            self.toolbox.seals.clone_from(&adjusted.seals);
        }
        if let Some(models) = &adjusted.models {
            self.setup.models = models.clone();
        }
        if let Some(prompt) = &adjusted.prompt {
            self.setup.prompt = prompt.clone();
        }
        if let Some(agent) = &adjusted.agent {
            self.setup.agent = Some(agent.clone());
            self.adopted(&policy, at, seq);
        }
    }

    fn limit_reached(&mut self, reached: &LimitReached, at: u64, seq: u64) {
        self.give_up_waiting();
        let stopping = self.in_flight();
        self.turn.cut = None;
        // A question about another limit is moot: this one has cut the loop.
        self.questions.open.retain(|open| !matches!(open.kind, QuestionKind::Limit(_)));
        let stage = if stopping { ClosingStage::Stopping } else { ClosingStage::Idle };
        let closing = Closing { reached: reached.clone(), seq, at, stage, beyond: None };
        self.ending = Ending::Limit(Box::new(closing));
        self.streaks.rejected = 0;
    }

    /// A model call that waited for its next try is not tried again, a hook is not asked any more.
    fn give_up_waiting(&mut self) {
        self.asks.give_up_waiting();
        let asking = self.turns_ask().is_some();
        if matches!(self.phase, Phase::Asking if !asking) || matches!(self.phase, Phase::Stepping { .. }) {
            self.phase = Phase::Between;
        }
    }
}

/// Whether two argument texts mean the same JSON.
fn same_args(one: &str, other: &str) -> bool {
    let dense = |text: &str| text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count();
    one == other
        || dense(one) == dense(other)
            && json::read(one).is_ok_and(|one| json::read(other).is_ok_and(|other| one == other))
}
