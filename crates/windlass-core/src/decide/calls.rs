//! The calls of a turn: which may run, in what order, and what follows from their ends.

use super::delegation::Done;
use super::finish::Finish;
use super::limits::fill;
use super::{Decided, Decision};
use crate::action::Found;
use crate::args::check_args_beside;
use crate::event::{
    CallDecided, CallFinished, CallHeld, CallRetried, CallStarted, Decision as Verdict, InputRequested,
};
use crate::gate::Gate;
use crate::ids::{ActionId, CallId, Text};
use crate::message::{CallTarget, ToolCall};
use crate::nearest::Comparing;
use crate::open_call::{Asked, OpenCall, Stage};
use crate::outcome::{CallOutcome, DeniedBy, Status};
use crate::policy::{Batch, LimitKind, Watched};
use crate::question::QuestionKind;
use crate::shown::{shown_name, shown_value};
use crate::state::{Phase, State};
use crate::tool::{Effect, ToolKind, ToolSpec};

/// Calls of one turn that run at once where the batch is `staged`.
const STAGED_AT_ONCE: usize = 10;
/// Why a call beyond the limit is not run.
const CALLS_USED_UP: &str = "the limit on tool calls is reached";

impl Decision {
    /// A reply with calls was recorded: decides on each of them, in order, and starts what may run.
    pub(super) fn begin_calls(&mut self) {
        let finish = self.finish_in_turn();
        if let Finish::Valid(call, output) = &finish
            && self.state.conversation.steering.is_empty()
        {
            self.finish_with(call, output.clone(), Status::Answered);
            return;
        }
        if let Some((limit, reached)) = self.limit_after_usage().filter(|_| !self.some_started()) {
            let max = self.state.setup.policy.limit(limit).unwrap_or(0);
            self.skip_all(&format!("the limit of {} is reached", limit.amount(max)));
            self.reach(limit, reached, 0);
            return;
        }
        self.admit_calls(&finish);
    }

    /// Decides on each call of the turn that nothing has been decided on yet, in order, and starts what may run.
    fn admit_calls(&mut self, finish: &Finish) {
        let queued = |(_, open): &(usize, &OpenCall)| matches!(open.stage, Stage::Queued);
        let calls = self.open_calls().iter().enumerate().filter(queued);
        let calls: Vec<(usize, OpenCall)> = calls.map(|(place, open)| (place, open.clone())).collect();
        let mut comparing = Comparing::default();
        let faults: Vec<(CallId, CallOutcome)> = calls
            .iter()
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
        let mut sure = self.state.ledger.counters.tool_calls;
        for (place, open) in calls {
            let id = open.call.id.clone();
            if self.is_finish(&open.call) {
                self.finish_call(id, finish.outcome(&open.call.id));
            } else if place > 0 && self.state.setup.policy.calls.batch == Batch::First {
                self.skip(id, "only the first call of a reply is run", None);
            } else if let Some((_, outcome)) = faults.iter().find(|(call, _)| *call == id) {
                if !matches!(outcome, CallOutcome::UnknownTool { .. }) || !self.stops_repeating(&open) {
                    self.finish_call(id, outcome.clone());
                }
            } else if self.state.setup.policy.limit(LimitKind::ToolRounds) == Some(0) {
                self.skip(id, "no tool can be called any more", Some(LimitKind::ToolRounds));
            } else if open.attempt == 0 && self.used_up(sure) {
                self.skip(id, CALLS_USED_UP, Some(LimitKind::ToolCalls));
            } else {
                // One that was begun elsewhere is counted already.
                sure += u64::from(self.admit(&open) && open.attempt == 0);
            }
        }
        self.go_on();
    }

    /// Error of a call that is invalid under any policy.
    fn fault(&self, open: &OpenCall, comparing: &mut Comparing) -> Option<CallOutcome> {
        let state = &self.state;
        if let Some(fault) = &open.call.fault {
            return Some(CallOutcome::Malformed { message: fault.clone() });
        }
        let delegates = |tool: &&ToolSpec| tool.kind == ToolKind::Delegate;
        let known = |tool: &&ToolSpec| tool.is_known();
        if open.call.target == CallTarget::Agent {
            // KAOS names all agents, not the nearest ones.
            return match state.tool(&open.call.name).filter(delegates).filter(known) {
                Some(_) => None,
                None => Some(CallOutcome::UnknownTool {
                    nearest: state
                        .toolbox
                        .all
                        .iter()
                        .filter(delegates)
                        .filter(known)
                        .map(|tool| tool.name.clone())
                        .collect(),
                }),
            };
        }
        // An agent that could not be reached is tried again at its next use (K20).
        let Some(tool) = state.tool(&open.call.name).filter(known) else {
            return Some(CallOutcome::UnknownTool { nearest: near(state, &open.call.name, comparing) });
        };
        if matches!(tool.kind, ToolKind::Finish(_)) {
            return None;
        }
        let check = |tool, args| check_args_beside(tool, args, &self.checks);
        let checked = if open.reaches() {
            let own = check(tool, &open.call.args);
            own.and_then(|own| state.target(open).map_or(Ok(own), |target| check(target, open.args())))
        } else {
            // Those of a run from elsewhere may have been edited there.
            check(tool, open.args())
        };
        checked.err().map(|message| CallOutcome::Malformed { message: message.into() })
    }

    /// Whether the limit on tool calls is reached by so many.
    fn used_up(&self, calls: u64) -> bool {
        self.state.setup.policy.limit(LimitKind::ToolCalls).is_some_and(|max| calls >= max)
    }

    /// Lets a sound call through the gate. Says whether it is sure to run.
    fn admit(&mut self, open: &OpenCall) -> bool {
        if self.stops_repeating(open) {
            return false;
        }
        let id = open.call.id.clone();
        let (name, own) = (open.target_name(), &open.call.name);
        let policy = self.state.setup.policy.clone();
        if let Some(pattern) = policy.denied(name).or_else(|| policy.denied(own)) {
            self.record(CallDecided {
                call: id.clone(),
                decision: Verdict::Forbidden { pattern: pattern.clone() },
            });
            let reason = (**pattern != **name).then(|| pattern.clone());
            self.finish_call(id, CallOutcome::Denied { reason, by: DeniedBy::Policy });
            return false;
        }
        let Some(tool) = self.state.target(open) else { return false };
        let (kind, approve) = (tool.kind, tool.approve || policy.wants_approval(own));
        if kind == ToolKind::Ask {
            self.ask_person(open);
            return true;
        }
        // Else it stays queued, and starts as soon as there is room.
        if matches!(kind, ToolKind::Finish(_)) || !(approve || policy.wants_approval(name)) {
            return true;
        }
        let allowed = self.state.allows(open);
        if allowed {
            self.record(CallDecided { call: id, decision: Verdict::Allowed });
        } else {
            self.hold(open);
        }
        allowed
    }

    /// Skips a call that was repeated too often, whatever its fate would be. Returns whether it did.
    fn stops_repeating(&mut self, open: &OpenCall) -> bool {
        let stops = self
            .state
            .setup
            .policy
            .calls
            .repetition
            .watched()
            .is_some_and(|repetition| open.repeat >= repetition.stop_at);
        if stops {
            let reason = format!("the same call came {} times in a row", open.repeat);
            self.skip(open.call.id.clone(), &reason, Some(LimitKind::Repetition));
        }
        stops
    }

    fn ask_person(&mut self, open: &OpenCall) {
        let args = open.value();
        let text = args.get("question").and_then(|question| question.as_str()).unwrap_or("");
        let suggestions = args.get("suggestions").and_then(|list| list.as_array()).into_iter().flatten();
        let question = self.next_question();
        self.record(InputRequested {
            question,
            kind: QuestionKind::Clarify,
            call: Some(open.call.id.clone()),
            text: text.into(),
            suggestions: suggestions.filter_map(|item| item.as_str().map(Text::from)).collect(),
            child: None,
        });
    }

    pub(super) fn hold(&mut self, open: &OpenCall) {
        let call = open.call.id.clone();
        let gate = self.state.gate(open);
        let text = approval_text(open, &gate).into();
        self.record(CallHeld { call: call.clone(), digest: gate.digest });
        let question = self.next_question();
        let (kind, call, suggestions) = (QuestionKind::Approval, Some(call), Vec::new());
        self.record(InputRequested { question, kind, call, text, suggestions, child: None });
    }

    pub(super) fn open_calls(&self) -> &[OpenCall] {
        if let Phase::Acting(calls) = &self.state.phase { calls } else { &[] }
    }

    /// Starts the calls that may run now; if the turn has none left, the loop continues.
    pub(super) fn go_on(&mut self) {
        if self.state.stopping() {
            self.after_stop();
            return;
        }
        while let Some(id) = next_to_start(&self.state) {
            let counts = |open: &OpenCall| open.origin.is_model() && open.attempt == 0;
            let counts = self.state.open_call(&id).is_some_and(counts);
            if counts && self.used_up(self.state.ledger.counters.tool_calls) {
                self.skip(id, CALLS_USED_UP, Some(LimitKind::ToolCalls));
            } else {
                self.start_call(id);
            }
        }
        if matches!(self.state.phase, Phase::Between) {
            self.next_turn();
        }
    }

    pub(super) fn is_finish(&self, call: &ToolCall) -> bool {
        let finish = |tool: &ToolSpec| tool.is_offered() && matches!(tool.kind, ToolKind::Finish(_));
        call.fault.is_none() && self.state.tool(&call.name).is_some_and(finish)
    }

    /// Starts a call, unless the base of a fork has done so: what ended there never runs twice.
    pub(super) fn start_call(&mut self, call: CallId) {
        let Some(open) = self.state.open_call(&call).cloned() else { return };
        if open.allowed.is_some() && self.state.target(&open).is_some() && self.has_changed(&open) {
            // What was allowed is not what would run now.
            return self.hold(&open);
        }
        let delegate = self.state.target(&open).is_some_and(|tool| tool.kind == ToolKind::Delegate);
        if matches!(open.stage, Stage::Queued) {
            let known = open.known().map(|known| &known.outcome);
            if let Some(Some(outcome)) = known {
                return self.finish_call(call, outcome.clone());
            }
            if known.is_some() && !delegate && self.effect(&open).0 == Effect::Once {
                return self.doubt(&open);
            }
        }
        if let Some(message) = self.cannot_branch(&open) {
            self.finish_call(call, CallOutcome::Malformed { message: message.into() });
        } else if delegate {
            self.delegate(&open);
        } else {
            self.record(CallStarted { call, attempt: open.attempt + 1 });
        }
    }

    fn running(&self, action: ActionId) -> Option<OpenCall> {
        self.open_calls()
            .iter()
            .find(|open| {
                let going_on = matches!(open.stage, Stage::Running { seq } | Stage::Doubted { seq, asked: Asked::Tool }
                    if self.state.action(seq) == action);
                going_on
            })
            .cloned()
    }

    pub(super) fn call_ended(&mut self, action: ActionId, mut outcome: CallOutcome) -> Decided {
        if self.delegated(action).is_some() {
            return self.delegation_ended(action, Done::unpaid(outcome));
        }
        let Some(open) = self.running(action).filter(|open| matches!(open.stage, Stage::Running { .. }))
        else {
            return Err(self.unknown(action));
        };
        if let CallOutcome::UnknownTool { nearest: found } = &mut outcome {
            *found = near(&self.state, &open.call.name, &mut Comparing::default());
        }
        if self.state.stopping() && outcome.may_retry() {
            // What a tool says when it is made to stop is no failure of its own (E19).
            outcome = CallOutcome::Interrupted;
        }
        if !self.state.stopping() && outcome.may_retry() && self.try_again(&open, &outcome) {
            return Ok(());
        }
        self.finish_call(open.call.id, outcome);
        self.go_on();
        Ok(())
    }

    /// Whether a failed call is tried again: then that is recorded.
    fn try_again(&mut self, open: &OpenCall, outcome: &CallOutcome) -> bool {
        let policy = &self.state.setup.policy;
        let tool = self.state.target(open);
        let most = tool.and_then(|tool| tool.retries).unwrap_or(policy.calls.retries);
        // A call with an effect that ran out of time may have happened: it is not run again blindly.
        let doubtful = matches!(outcome, CallOutcome::TimedOut { .. })
            && tool.is_none_or(|tool| tool.effect == Effect::Once);
        if open.failed >= most || doubtful {
            return false;
        }
        if policy.limit(LimitKind::Retries).is_some_and(|max| self.state.ledger.counters.retries >= max) {
            let call = open.call.id.clone();
            let limit = Some(LimitKind::Retries);
            self.record(CallFinished { call, outcome: outcome.clone(), note: None, limit });
            self.go_on();
            return true;
        }
        let retry_at = self.at.saturating_add(policy.calls.retry_wait_ms);
        let call = open.call.id.clone();
        self.record(CallRetried {
            call: call.clone(),
            attempt: open.attempt,
            outcome: outcome.clone(),
            retry_at,
        });
        if retry_at == self.at {
            self.start_call(call);
        }
        true
    }

    pub(super) fn checked(&mut self, action: ActionId, found: Found) -> Decided {
        let Some(open) = self.running(action).filter(|open| matches!(open.stage, Stage::Doubted { .. }))
        else {
            return Err(self.unknown(action));
        };
        let found = if self.state.stopping() { Found::Happened(CallOutcome::Unknown) } else { found };
        match found {
            Found::Happened(outcome) => self.finish_call(open.call.id, outcome),
            Found::NotHappened => self.start_call(open.call.id),
            Found::Unsure => self.ask_outcome(&open),
        }
        self.go_on();
        Ok(())
    }

    pub(super) fn ask_outcome(&mut self, open: &OpenCall) {
        let question = self.next_question();
        self.record(InputRequested {
            question,
            kind: QuestionKind::Outcome,
            call: Some(open.call.id.clone()),
            text: outcome_text(open).into(),
            suggestions: Vec::new(),
            child: None,
        });
    }

    pub(super) fn finish_call(&mut self, call: CallId, outcome: CallOutcome) {
        let policy = &self.state.setup.policy;
        let note = self.state.open_call(&call).and_then(|open| {
            let refused = matches!(outcome, CallOutcome::UnknownTool { .. } | CallOutcome::Denied { .. });
            let answered = refused || open.attempt > 0 || open.ran_below(&outcome);
            let noted = |watched: &Watched| open.repeat == watched.note_at && answered;
            let repetition = policy.calls.repetition.watched().filter(noted)?;
            let text = fill(&policy.wording.texts.repeated, "{n}", &repetition.note_at.to_string());
            Some(text.replace("{tool}", open.target_name()).into())
        });
        self.record(CallFinished { call, outcome, note, limit: None });
    }

    fn skip(&mut self, call: CallId, reason: &str, limit: Option<LimitKind>) {
        self.record(CallFinished {
            call,
            outcome: CallOutcome::Skipped { reason: reason.into() },
            note: None,
            limit,
        });
    }

    /// Gives every call that has no result yet one: it was not run.
    pub(super) fn skip_all(&mut self, reason: &str) {
        let open: Vec<CallId> = self
            .open_calls()
            .iter()
            .filter(|open| !matches!(open.stage, Stage::Done(_)))
            .map(|open| open.call.id.clone())
            .collect();
        for call in open {
            self.skip(call, reason, None);
        }
    }

    /// When the run is being stopped: ends the calls without work in progress.
    pub(super) fn close_idle_calls(&mut self) {
        let asks = |open: &&OpenCall| matches!(open.stage, Stage::DelegateAsks { .. });
        let asking: Vec<OpenCall> = self.open_calls().iter().filter(asks).cloned().collect();
        for open in &asking {
            self.stop_delegate(open);
        }
        let idle: Vec<CallId> = self
            .open_calls()
            .iter()
            .filter(|open| match open.stage {
                Stage::Queued | Stage::Held { .. } | Stage::Asking | Stage::Retrying { .. } => true,
                Stage::Doubted { asked, .. } => asked == Asked::Person,
                Stage::Running { .. }
                | Stage::Delegated { .. }
                | Stage::DelegateAsks { .. }
                | Stage::Done(_) => false,
            })
            .map(|open| open.call.id.clone())
            .collect();
        for call in idle {
            let doubted =
                self.state.open_call(&call).is_some_and(|open| matches!(open.stage, Stage::Doubted { .. }));
            let outcome = if doubted { CallOutcome::Unknown } else { CallOutcome::Interrupted };
            self.finish_call(call, outcome);
        }
    }
}

/// A call as people see it: its id tells it from an equal one.
fn shown_call(open: &OpenCall) -> String {
    format!("call {}", shown_name(open.call.id.as_str()))
}

/// The question whether a call may run. Asked again, it says why.
fn approval_text(open: &OpenCall, gate: &Gate) -> String {
    let (tool, args, call) = (shown_name(open.target_name()), shown_value(&open.value()), shown_call(open));
    let text = format!("May `{tool}` run with {args}? ({call})");
    let Some(before) = open.asked_with() else { return text };
    let changes = before.changes(gate);
    let what = if changes.is_empty() { "what it would do".to_owned() } else { changes.join(", ") };
    format!("{text} You are asked again, because this has changed since: {what}.")
}

/// The question whether a call that was lost has happened.
fn outcome_text(open: &OpenCall) -> String {
    let (tool, args, call) = (shown_name(open.target_name()), shown_value(&open.value()), shown_call(open));
    format!(
        "`{tool}` ({call}) had started with {args} when the process died. Did it happen? Give its result, let it run \
         again, or say unknown."
    )
}

/// The offered tools whose names come nearest.
fn near(state: &State, name: &str, comparing: &mut Comparing) -> Vec<Text> {
    let offered = state.toolbox.all.iter().filter(|tool| tool.is_offered()).map(|tool| &*tool.name);
    comparing.nearest_or_any(name, offered).into_iter().map(Into::into).collect()
}

/// The next call of the turn that is allowed and has room.
fn next_to_start(state: &State) -> Option<CallId> {
    let Phase::Acting(calls) = &state.phase else { return None };
    let busy = |open: &OpenCall| {
        matches!(
            open.stage,
            Stage::Running { .. } | Stage::Delegated { .. } | Stage::Retrying { .. } | Stage::Doubted { .. }
        )
    };
    let unfinished = |open: &OpenCall| !matches!(open.stage, Stage::Done(_));
    let running = calls.iter().filter(|open| busy(open)).count();
    let place = calls.iter().position(|open| matches!(open.stage, Stage::Queued))?;
    let open = calls.get(place)?;
    let before = calls.get(..place).unwrap_or_default();
    let once = |open: &OpenCall| state.target(open).is_none_or(|tool| tool.effect == Effect::Once);
    let free = match state.setup.policy.calls.batch {
        Batch::Concurrent(most) => running < most as usize,
        Batch::First | Batch::Serial => !before.iter().any(unfinished),
        Batch::Staged if once(open) => !before.iter().any(unfinished) && running == 0,
        Batch::Staged => {
            running < STAGED_AT_ONCE && !before.iter().any(|other| unfinished(other) && once(other))
        }
    };
    free.then(|| open.call.id.clone())
}
