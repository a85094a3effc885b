//! The calls of a turn: which may run, in what order, and what follows from their ends.

use windlass_text::find::nearest::Comparing;

use crate::machine::decide::delegation::Done;
use crate::machine::decide::finish::Finish;
use crate::machine::decide::gating::near;
use crate::machine::decide::limits::fill;
use crate::machine::decision::{Decided, Decision};
use crate::policy::values::{Batch, Watched};
use crate::protocol::fact::calls::{CallFinished, CallRetried, CallStarted};
use crate::protocol::fact::code::CodeFinished;
use crate::protocol::fact::iterations::BlackboardSaved;
use crate::state::open_call::{Asked, OpenCall, Origin, Stage};
use crate::state::{Phase, State};
use crate::vocabulary::ids::{ActionId, CallId, Text};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::message::ToolCall;
use crate::vocabulary::outcome::{CallOutcome, Status};
use crate::vocabulary::tool::{Effect, ToolKind, ToolSpec};

/// Calls of one turn that run at once where the batch is `staged`.
const STAGED_AT_ONCE: usize = 10;
/// Why a call beyond the limit is not run.
const CALLS_USED_UP: &str = "the limit on tool calls is reached";

/// How a call begins.
enum Beginning {
    /// A tool of that kind runs it; `None`: there is none of its name.
    Tool(Option<ToolKind>),
    /// Another agent does it.
    Delegate,
    /// It is code.
    Code,
    /// It has ended already: in a fork's base, or as a branch that cannot be.
    Ended(CallOutcome),
    /// A person is asked once more.
    Hold,
    /// A fork's base has begun it, and nobody knows whether it happened.
    Doubt,
}

impl Decision {
    /// A reply with calls was recorded: decides on each of them, in order, and starts what may run.
    pub(crate) fn begin_calls(&mut self) {
        let mut finish = self.finish_in_turn();
        if self.state.finish_tool().is_some_and(|tool| !self.is_allowed_now(&tool.name)) {
            finish = Finish::None;
        }
        if self.state.conversation.steering().is_empty() {
            finish = self.held_to_proof(finish);
        }
        if let Finish::Valid(call, output) = &finish
            && self.state.conversation.steering().is_empty()
        {
            self.finish_with(call, output.clone(), Status::Answered);
            return;
        }
        if let Some((limit, reached)) = self.limit_after_usage().filter(|_| !self.some_started()) {
            let max = self.state.setup.policy().limit(limit).unwrap_or(0);
            self.skip_all(&format!("the limit of {} is reached", limit.amount(max)));
            self.reach(limit, reached, 0);
            return;
        }
        self.admit_calls(&finish);
    }

    /// Decides on each call of the turn that nothing has been decided on yet, in order, and starts what may run.
    fn admit_calls(&mut self, finish: &Finish) {
        let queued = |(_, open): &(usize, &OpenCall)| {
            matches!(open.stage(), Stage::Queued) && open.origin().code().is_none()
        };
        let calls = self.open_calls().iter().enumerate().filter(queued);
        let calls: Vec<(usize, OpenCall)> = calls.map(|(place, open)| (place, open.clone())).collect();
        let mut comparing = Comparing::default();
        // A fork may stand between a plan and its step, whose call no model has made.
        let made = |(_, open): &&(usize, OpenCall)| *open.origin() != Origin::Plan;
        let faults: Vec<(CallId, CallOutcome)> = calls
            .iter()
            .filter(made)
            .filter_map(|(_, open)| Some((open.call.id.clone(), self.fault(open, &mut comparing)?)))
            .collect();
        if !self.finish_goes_on(finish) {
            return;
        }
        let malformed: Vec<_> = faults
            .iter()
            .filter(|(_, outcome)| matches!(outcome, CallOutcome::Malformed { .. }))
            .cloned()
            .collect();
        if self.malformed_ends(&malformed) {
            return;
        }
        // Calls that are sure to run; those that a person may still deny are counted when they start.
        let mut sure = self.state.ledger.counters().tool_calls;
        for (place, open) in calls {
            let id = open.call.id.clone();
            if open.origin().is_model() && !self.is_allowed_now(&open.call.name) {
                self.skip_beyond_choice(id);
            } else if self.is_finish(&open.call) {
                self.finish_call(id, finish.outcome(&open.call.id));
            } else if place > 0 && self.state.setup.policy().calls.batch == Batch::First {
                self.skip(id, "only the first call of a reply is run", None);
            } else if let Some((_, outcome)) = faults.iter().find(|(call, _)| *call == id) {
                if !matches!(outcome, CallOutcome::UnknownTool { .. }) || !self.stops_repeating(&open) {
                    self.finish_call(id, outcome.clone());
                }
            } else if self.state.setup.policy().limit(LimitKind::ToolRounds) == Some(0) {
                self.skip(id, "no tool can be called any more", Some(LimitKind::ToolRounds));
            } else if open.attempt() == 0 && *open.origin() != Origin::Plan && self.used_up(sure) {
                self.skip_beyond(id);
            } else {
                // One that was begun elsewhere is counted already.
                let counts = self.admit(&open) && open.attempt() == 0 && !self.is_code(&open);
                sure += u64::from(counts);
            }
        }
        // Those of code that a fork has found open.
        let waits = |open: &&OpenCall| matches!(open.stage(), Stage::CodeWaits);
        let codes: Vec<CallId> =
            self.state.open_calls().filter(waits).map(|open| open.call.id.clone()).collect();
        for code in &codes {
            self.admit_code_calls(code);
        }
        self.go_on();
    }

    /// Whether the limit on tool calls is reached by so many.
    pub(crate) fn used_up(&self, calls: u64) -> bool {
        self.state.setup.policy().limit(LimitKind::ToolCalls).is_some_and(|max| calls >= max)
    }

    pub(crate) fn open_calls(&self) -> &[OpenCall] {
        if let Phase::Acting(calls) = &self.state.phase { calls } else { &[] }
    }

    /// Starts the calls that may run now; if the turn has none left, the loop continues.
    pub(crate) fn go_on(&mut self) {
        if self.state.stopping() {
            self.after_stop();
            return;
        }
        self.sum_up_results();
        while let Some(id) = next_to_start(&self.state) {
            // The code of a plan's step is no call of a tool: what it calls is admitted one by one.
            let counts = |open: &OpenCall| {
                open.origin().counts() && *open.origin() != Origin::Plan && open.attempt() == 0
            };
            let counts = self.state.open_call(&id).is_some_and(counts);
            if counts && self.used_up(self.state.ledger.counters().tool_calls) {
                self.skip_beyond(id);
            } else {
                self.start_call(id);
            }
        }
        // A call that a fork's base had ended has ended here, too.
        self.sum_up_results();
        if matches!(self.state.phase, Phase::Between) {
            self.notice_stuck();
            self.next_turn();
        }
    }

    pub(crate) fn is_finish(&self, call: &ToolCall) -> bool {
        let finish = |tool: &ToolSpec| tool.is_offered() && matches!(tool.kind, ToolKind::Finish(_));
        call.fault.is_none() && self.state.tool(&call.name).is_some_and(finish)
    }

    /// Starts a call, unless the base of a fork has done so: what ended there never runs twice.
    pub(crate) fn start_call(&mut self, call: CallId) {
        let Some(open) = self.state.open_call(&call) else { return };
        let tool = match self.beginning_of(open) {
            Beginning::Tool(tool) => tool,
            Beginning::Ended(outcome) => return self.finish_call(call, outcome),
            // A copy for what few calls need.
            Beginning::Hold => return self.hold(&open.clone()),
            Beginning::Doubt => return self.doubt(&open.clone(), None),
            Beginning::Delegate => return self.delegate(&open.clone()),
            Beginning::Code => return self.start_code(&open.clone()),
        };
        let (attempt, saves) = (open.attempt() + 1, self.saves_blackboard(open));
        if saves {
            self.record(BlackboardSaved { turn: self.state.turn.number() });
        }
        self.record(CallStarted { call: call.clone(), attempt });
        if tool == Some(ToolKind::Blackboard) {
            // The fold writes it: no edge has anything to do.
            self.finish_call(call, CallOutcome::Ok { content: "Noted.".into() });
        }
    }

    /// How a call begins.
    fn beginning_of(&self, open: &OpenCall) -> Beginning {
        let tool = self.state.target(open).map(|tool| tool.kind);
        if open.allowed().is_some() && tool.is_some() && self.has_changed(open) {
            // What was allowed is not what would run now.
            return Beginning::Hold;
        }
        let delegate = tool == Some(ToolKind::Delegate);
        if matches!(open.stage(), Stage::Queued)
            && let Some(known) = open.known()
        {
            if let Some(outcome) = known.outcome() {
                return Beginning::Ended(outcome.clone());
            }
            if !delegate && self.effect(open).0 == Effect::Once {
                return Beginning::Doubt;
            }
        }
        if let Some(message) = self.cannot_branch(open) {
            Beginning::Ended(CallOutcome::Malformed { message: message.into() })
        } else if delegate {
            Beginning::Delegate
        } else if self.is_code(open) {
            Beginning::Code
        } else {
            Beginning::Tool(tool)
        }
    }

    /// The call whose work an action is.
    pub(crate) fn running(&self, action: ActionId) -> Option<&OpenCall> {
        self.open_calls().iter().find(|open| {
            let going_on = matches!(open.stage(), Stage::Running { seq } | Stage::Doubted { seq, asked: Asked::Tool, .. }
                if self.state.action(*seq) == action);
            going_on
        })
    }

    pub(crate) fn call_ended(&mut self, action: ActionId, mut outcome: CallOutcome) -> Decided {
        if self.delegated(action).is_some() {
            return self.delegation_ended(action, Done::unpaid(outcome));
        }
        if matches!(outcome, CallOutcome::TimedOut { .. }) {
            return self.call_lost(action, outcome);
        }
        let Some(open) = self.running(action).filter(|open| matches!(open.stage(), Stage::Running { .. }))
        else {
            return Err(self.unknown(action));
        };
        if let CallOutcome::UnknownTool { nearest: found } = &mut outcome {
            *found = near(&self.state, &open.call.name, &mut Comparing::default());
        }
        let call = open.call.id.clone();
        if self.state.stopping() && outcome.may_retry() {
            // What a tool says when it is made to stop is no failure of its own (E19).
            outcome = CallOutcome::Interrupted;
        }
        self.call_over(call, outcome);
        Ok(())
    }

    /// A call has come to an end that leaves no doubt: it is tried again, or has its result.
    pub(crate) fn call_over(&mut self, call: CallId, outcome: CallOutcome) {
        if !self.state.stopping() && outcome.may_retry() && self.try_again(&call, &outcome) {
            return;
        }
        self.finish_call(call, outcome);
        self.go_on();
    }

    /// Whether a failed call is tried again: then that is recorded.
    pub(crate) fn try_again(&mut self, call: &CallId, outcome: &CallOutcome) -> bool {
        let Some(open) = self.state.open_call(call).cloned() else { return false };
        let open = &open;
        let policy = self.state.setup.policy();
        let tool = self.state.target(open);
        // The step of a plan is tried again, not each of its calls.
        let step = open.origin().code().and_then(|code| self.state.open_call(code));
        let default_retries =
            if step.is_some_and(|step| *step.origin() == Origin::Plan) { 0 } else { policy.calls.retries };
        let most = tool.and_then(|tool| tool.retries).unwrap_or(default_retries);
        if open.failed() >= most {
            return false;
        }
        if policy.limit(LimitKind::Retries).is_some_and(|max| self.state.ledger.counters().retries >= max) {
            self.end_call(open.call.id.clone(), outcome.clone(), None, Some(LimitKind::Retries));
            self.go_on();
            return true;
        }
        let retry_at = self.at.saturating_add(policy.calls.retry_wait_ms);
        let call = open.call.id.clone();
        self.record(CallRetried {
            call: call.clone(),
            attempt: open.attempt(),
            outcome: outcome.clone(),
            retry_at,
        });
        if retry_at == self.at {
            self.start_call(call);
        }
        true
    }

    pub(crate) fn finish_call(&mut self, call: CallId, outcome: CallOutcome) {
        let note = self.note_of(&call, &outcome);
        self.end_call(call, outcome, note, None);
    }

    /// The note that follows the result of a call which came several times in a row.
    fn note_of(&self, call: &CallId, outcome: &CallOutcome) -> Option<Text> {
        let policy = self.state.setup.policy();
        let open = self.state.open_call(call)?;
        let refused = matches!(outcome, CallOutcome::UnknownTool { .. } | CallOutcome::Denied { .. });
        let answered = refused || open.attempt() > 0 || open.ran_in_base(outcome);
        let noted = |watched: &Watched| open.repeat() == watched.note_at && answered;
        let repetition = policy.calls.repetition.watched().filter(noted)?;
        let text = fill(&policy.wording.texts.repeated, "{n}", &repetition.note_at.to_string());
        Some(text.replace("{tool}", open.target_name()).into())
    }

    /// Records the one result of a call. Code that has begun has a fact of its own.
    fn end_call(&mut self, call: CallId, outcome: CallOutcome, note: Option<Text>, limit: Option<LimitKind>) {
        let begun = |open: &OpenCall| open.attempt() > 0 && (open.is_coding() || self.is_code(open));
        if self.state.open_call(&call).is_some_and(begun) {
            self.record(CodeFinished { call, outcome, stdout: None, note, limit });
        } else {
            self.record(CallFinished { call, outcome, note, limit });
        }
    }

    /// The end of code that has printed something.
    pub(crate) fn finish_code(&mut self, call: CallId, outcome: CallOutcome, stdout: Option<Text>) {
        let note = self.note_of(&call, &outcome);
        self.record(CodeFinished { call, outcome, stdout, note, limit: None });
    }

    /// A call beyond the limit on tool calls is not run.
    pub(crate) fn skip_beyond(&mut self, call: CallId) {
        self.skip(call, CALLS_USED_UP, Some(LimitKind::ToolCalls));
    }

    pub(crate) fn skip(&mut self, call: CallId, reason: &str, limit: Option<LimitKind>) {
        self.end_call(call, CallOutcome::Skipped { reason: reason.into() }, None, limit);
    }

    /// Gives every call that has no result yet one: it was not run. The turn ends with it: no result waits for a summary.
    pub(crate) fn skip_all(&mut self, reason: &str) {
        let left = |open: &&OpenCall| !matches!(open.stage(), Stage::Done(_));
        let mut open: Vec<&OpenCall> = self.open_calls().iter().filter(left).collect();
        // Code ends after the calls that it made: its result is the last of them.
        open.sort_by_key(|open| open.origin().code().is_none());
        let open: Vec<CallId> = open.into_iter().map(|open| open.call.id.clone()).collect();
        for call in open {
            self.skip(call, reason, None);
        }
        self.enter_whole_results();
    }

    /// When the run is being stopped: ends the calls without work in progress.
    pub(crate) fn close_idle_calls(&mut self) {
        let asks = |open: &&OpenCall| {
            matches!(open.stage(), Stage::DelegateAsks { .. } | Stage::DelegateDeferred { .. })
        };
        let asking: Vec<OpenCall> = self.open_calls().iter().filter(asks).cloned().collect();
        for open in &asking {
            self.stop_delegate(open);
        }
        let idle: Vec<CallId> = self
            .open_calls()
            .iter()
            .filter(|open| match open.stage() {
                Stage::Queued
                | Stage::Verifying
                | Stage::Held { .. }
                | Stage::Asking
                | Stage::Retrying { .. } => true,
                Stage::Doubted { asked, .. } => *asked == Asked::Person,
                Stage::Running { .. }
                | Stage::Coding { .. }
                | Stage::CodeWaits
                | Stage::Delegated { .. }
                | Stage::DelegateAsks { .. }
                | Stage::DelegateDeferred { .. }
                | Stage::Done(_) => false,
            })
            .map(|open| open.call.id.clone())
            .collect();
        for call in idle {
            let doubted =
                self.state.open_call(&call).is_some_and(|open| matches!(open.stage(), Stage::Doubted { .. }));
            let outcome = if doubted { CallOutcome::Unknown } else { CallOutcome::Interrupted };
            self.finish_call(call, outcome);
        }
        self.close_waiting_code();
    }
}

/// The next call of the turn that is allowed and has room. Calls of code wait for one another, and not for those of the turn.
fn next_to_start(state: &State) -> Option<CallId> {
    let Phase::Acting(calls) = &state.phase else { return None };
    let mut seen: Vec<Option<&CallId>> = Vec::new();
    calls.iter().enumerate().find_map(|(place, open)| {
        let group = open.origin().code();
        if !matches!(open.stage(), Stage::Queued) || seen.contains(&group) {
            return None;
        }
        seen.push(group);
        has_room(state, calls, place, open).then(|| open.call.id.clone())
    })
}

fn has_room(state: &State, calls: &[OpenCall], place: usize, open: &OpenCall) -> bool {
    let busy = |open: &OpenCall| {
        matches!(
            open.stage(),
            Stage::Running { .. }
                | Stage::Coding { .. }
                | Stage::CodeWaits
                | Stage::Delegated { .. }
                | Stage::Retrying { .. }
                | Stage::Doubted { asked: Asked::Tool, .. }
        )
    };
    let same_origin = |other: &OpenCall| other.origin().code().is_some() == open.origin().code().is_some();
    let running = calls.iter().filter(|other| busy(other) && same_origin(other)).count();
    // Nobody waits for a person who settles a call in doubt.
    let over = |stage: &Stage| matches!(stage, Stage::Done(_) | Stage::Doubted { asked: Asked::Person, .. });
    let unfinished = |other: &OpenCall| !over(other.stage());
    let before = || {
        let before = calls.get(..place).unwrap_or_default().iter();
        before.filter(|other| other.origin().code() == open.origin().code())
    };
    let once = |open: &OpenCall| state.target(open).is_none_or(|tool| tool.effect == Effect::Once);
    match state.setup.policy().calls.batch {
        Batch::Concurrent(most) => running < most as usize,
        Batch::First | Batch::Serial => !before().any(unfinished),
        Batch::Staged if once(open) => !before().any(unfinished) && running == 0,
        Batch::Staged => running < STAGED_AT_ONCE && !before().any(|other| unfinished(other) && once(other)),
    }
}
