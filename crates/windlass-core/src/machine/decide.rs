//! `accept`: which facts follow when something comes from outside.

pub(crate) mod admission;
pub(crate) mod attempts;
pub(crate) mod by_schema;
pub(crate) mod calls;
pub(crate) mod code;
pub(crate) mod context;
pub(crate) mod delegation;
pub(crate) mod demands;
pub(crate) mod doubts;
pub(crate) mod finish;
pub(crate) mod fork;
pub(crate) mod gating;
pub(crate) mod hedging;
pub(crate) mod hooks;
pub(crate) mod interrupts;
pub(crate) mod iterations;
pub(crate) mod limits;
pub(crate) mod people;
pub(crate) mod planning;
pub(crate) mod proof;
pub(crate) mod remedies;
pub(crate) mod repeats;
pub(crate) mod results;
pub(crate) mod search;
pub(crate) mod takeover;
pub(crate) mod turns;
pub(crate) mod verification;

use std::mem;
use std::sync::{Arc, LazyLock};

use crate::machine::decide::delegation::Done;
use crate::machine::decision::{Decided, Decision};
use crate::machine::pending::pending;
use crate::protocol::cause::Cause;
use crate::protocol::fact::run::{RunInput, RunResumed};
use crate::protocol::fact::{Adjusted, CancelRequested, Event, InputRequested, MessageQueued};
use crate::protocol::input::{Input, InputKind};
use crate::protocol::invalid_input::InvalidInput;
use crate::state::ending::Closing;
use crate::state::open_call::Stage;
use crate::state::{Phase, State};
use crate::vocabulary::ids::{ActionId, CLOCK_JUMP_MS, Millis, RunId};
use crate::vocabulary::limit::LimitKind;

/// Decides which events follow from an input. The same state and input always give the same events.
///
/// # Errors
/// The input is invalid (late, duplicate, unknown, malformed): the state is unchanged and the run continues.
pub fn accept(state: &State, input: Input) -> Result<Vec<Event>, InvalidInput> {
    decide(state, input).map(|accepted| accepted.events)
}

/// The consequences of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    /// The events of one append.
    pub events: Vec<Event>,
    /// Stored with the events, so that [`rebuild`](crate::run::rebuild) recovers the input.
    pub cause: Cause,
    /// The state after them.
    pub state: State,
}

/// [`accept`] that also gives the cause that is stored with the facts, and the state after them, which the decision folded
/// anyway.
///
/// # Errors
/// As for [`accept`].
pub fn decide(state: &State, input: Input) -> Result<Accepted, InvalidInput> {
    let mut state = Arc::new(state.clone());
    let Advance { events, cause } = advance(&mut state, input).map_err(|refusal| refusal.invalid)?;
    Ok(Accepted { events, cause, state: Arc::unwrap_or_clone(state) })
}

/// The consequences of an input that has changed the state.
#[derive(Clone, Debug, PartialEq)]
pub struct Advance {
    /// The events of one append.
    pub events: Vec<Event>,
    /// Stored with the events, so that [`rebuild`](crate::run::rebuild) recovers the input.
    pub cause: Cause,
}

/// An input that was not accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Why.
    pub invalid: InvalidInput,
    /// Whether the state is as it was. If not, it is of no use any more and has to be read from the log. No known input leads
    /// there.
    pub is_clean: bool,
}

/// [`decide`] for a driver: the state becomes the one after the events. One that nobody else holds changes in place, so that
/// nothing of it is copied.
///
/// # Errors
/// As for [`accept`].
pub fn advance(state: &mut Arc<State>, input: Input) -> Result<Advance, Refusal> {
    /// Stands in the state's place while the decision has it.
    static AWAY: LazyLock<Arc<State>> = LazyLock::new(|| Arc::new(State::new(RunId::from_number(0))));
    // The clock is the latest seen: a run's time never goes back, wherever its inputs come from. A clock that still lies behind
    // goes on by as much as it did when the run was taken over last.
    let behind = if input.at < state.clock.now() { state.clock.behind_ms() } else { 0 };
    let at = input.at.saturating_add(behind).max(state.clock.now());
    let behind = Some(at - input.at).filter(|behind| *behind > CLOCK_JUMP_MS);
    let mut decision = Decision::new(mem::replace(state, AWAY.clone()), at, behind);
    let cause = Cause::of(&input.what);
    let decided = decision.decide(input.what);
    let (events, after) = decision.made();
    *state = after;
    match decided {
        Ok(()) => Ok(Advance { cause: cause.without_recorded(&events), events }),
        Err(invalid) => {
            debug_assert!(
                events.is_empty(),
                "an input is refused before anything is recorded: {invalid}: {events:?}"
            );
            Err(Refusal { invalid, is_clean: events.is_empty() })
        }
    }
}

impl Decision {
    fn decide(&mut self, what: InputKind) -> Decided {
        self.check_stage(&what)?;
        match what {
            InputKind::Start(start) => {
                let fork = matches!(start.input, RunInput::Fork(_));
                self.record(*start);
                if fork {
                    self.go_on_from_base();
                } else {
                    self.begin_loop();
                }
                Ok(())
            }
            InputKind::Resumed { holder, epoch, by, adjusted } => {
                self.record(RunResumed { holder, epoch, clock_behind_ms: self.behind, by });
                self.resumed(by, adjusted);
                Ok(())
            }
            InputKind::Replied { action, reply, objection, lost } => {
                self.objection = objection;
                self.replied(action, *reply, lost)
            }
            InputKind::ModelFailed { action, failure, jitter } => self.model_failed(action, *failure, jitter),
            InputKind::CallEnded { action, outcome } => self.call_ended(action, outcome),
            InputKind::CallLost { action, outcome } => self.call_lost(action, outcome),
            InputKind::CodeCalls { action, calls } => self.code_calls(action, calls),
            InputKind::CodeEnded { action, outcome, stdout } => self.code_ended(action, outcome, stdout),
            InputKind::DelegateEnded { action, outcome, usage, cost, reserved } => {
                self.delegation_ended(action, Done { outcome, usage, cost, reserved })
            }
            InputKind::DelegateAsks { action, question, kind, text, suggestions } => {
                let asked = InputRequested {
                    question,
                    kind,
                    call: None,
                    text,
                    suggestions,
                    child_question: None,
                    next: None,
                };
                self.delegate_asks(action, asked)
            }
            InputKind::DelegateDeferred { action, model, until } => {
                self.delegate_deferred(action, model, until)
            }
            InputKind::Checked { action, found } => self.checked(action, found),
            InputKind::HookEnded { action, edits } => self.hook_ended(action, *edits),
            InputKind::Answered { question, answer, by } => self.answered(&question, answer, by),
            InputKind::Steer(steered) => self.steer(steered),
            InputKind::Pause { reason } => self.pause(reason),
            InputKind::Queue { run, request_digest, messages } => {
                self.record(MessageQueued { run, request_digest, messages });
                Ok(())
            }
            InputKind::Cancel { reason } => self.cancel(CancelRequested { reason }),
            InputKind::ToolsChanged { tools, binding_digests } => {
                self.record(Adjusted { tools: Some(tools), binding_digests, ..Adjusted::default() });
                Ok(())
            }
            InputKind::TimerFired { action } => self.timer_fired(action),
        }
    }

    fn check_stage(&self, what: &InputKind) -> Decided {
        let run = self.state.run;
        if let Phase::Ended(end) = &self.state.phase {
            return Err(InvalidInput::Ended { run, status: end.status, found: name_of(what) });
        }
        let new = self.state.phase == Phase::New;
        let InputKind::Start(start) = what else {
            return if new { Err(InvalidInput::NotStarted { run }) } else { Ok(()) };
        };
        if !new {
            return Err(InvalidInput::AlreadyStarted { run });
        }
        let base = self.state.base.as_ref();
        if matches!(start.input, RunInput::Fork(_))
            && base.is_none_or(|base| base.is_finished() || base.version == 0)
        {
            return Err(InvalidInput::NothingToFork { run: base.map_or(run, |base| base.run) });
        }
        Ok(())
    }

    fn cancel(&mut self, request: CancelRequested) -> Decided {
        if self.state.ending.is_cancel() {
            return Err(InvalidInput::Stopping { run: self.state.run, found: "another request to cancel" });
        }
        self.record(request);
        self.close_idle_calls();
        self.after_stop();
        Ok(())
    }

    fn timer_fired(&mut self, action: ActionId) -> Decided {
        let now = self.at;
        if action.run != self.state.run {
            return Err(self.unknown(action));
        }
        if let Some(model_call) = self.state.model_calls.freed_by(action.seq)
            && let Some(at) = model_call.retry_at()
        {
            due(at, now)?;
            let next = model_call.again();
            self.begin(next);
            return Ok(());
        }
        let retrying = self.open_calls().iter().find_map(|open| {
            let Stage::Retrying { seq, at } = open.stage() else { return None };
            (*seq == action.seq).then(|| (open.call.id.clone(), *at))
        });
        if let Some((call, at)) = retrying {
            due(at, now)?;
            self.start_call(call);
            return Ok(());
        }
        if let Some((waiting, until)) = self.delegate_that_waits(action) {
            due(until, now)?;
            self.delegate_after_wait(&waiting);
            return Ok(());
        }
        if self.state.stopping() {
            return Err(self.unknown(action));
        }
        let calling = self.state.phase == Phase::Asking;
        let closing = self.state.ending.closing();
        if let Some(closing) = closing.filter(|closing| closing.reached().limit == LimitKind::Seconds) {
            if action.seq != closing.seq() || !calling {
                return Err(self.unknown(action));
            }
            due(closing.at().saturating_add(self.state.setup.policy().bounds.grace_ms), now)?;
            self.closing_overdue();
            return Ok(());
        }
        let (closes, called) = (closing.is_some(), closing.is_some_and(Closing::has_called));
        let Some(at) = self.state.alarm().filter(|_| action.seq == self.state.clock.deadline_seq()) else {
            return Err(self.unknown(action));
        };
        due(at, now)?;
        let late = self.state.deadline().is_some_and(|deadline| deadline <= now);
        if !late && self.hedges_due() {
            return Ok(());
        }
        // The closing call of another limit ends here; that limit stays the run's status.
        if closes && calling {
            self.closing_overdue();
        } else if called {
            // A pause held back what would have followed it.
            self.finish_closing(None);
        } else {
            self.cut_by(if late { LimitKind::Seconds } else { LimitKind::StallSeconds });
        }
        Ok(())
    }

    fn unknown(&self, found: ActionId) -> InvalidInput {
        InvalidInput::UnknownAction {
            found,
            expected: pending(&self.state).into_iter().map(|action| action.id).collect(),
        }
    }
}

fn due(due: Millis, found: Millis) -> Decided {
    if found < due { Err(InvalidInput::EarlyTimer { due, found }) } else { Ok(()) }
}

/// Whether another agent goes on with the run.
fn adopts(adjusted: Option<&Adjusted>) -> bool {
    adjusted.is_some_and(|adjusted| adjusted.agent.is_some())
}

fn name_of(what: &InputKind) -> &'static str {
    match what {
        InputKind::Start(_) => "a start",
        InputKind::Resumed { adjusted, .. } if adopts(adjusted.as_deref()) => "an adoption",
        InputKind::Resumed { .. } => "further inputs",
        InputKind::Replied { .. } => "a model's reply",
        InputKind::ModelFailed { .. } => "a model's failure",
        InputKind::CallEnded { .. } | InputKind::CallLost { .. } => "a call's end",
        InputKind::CodeCalls { .. } => "calls of code",
        InputKind::CodeEnded { .. } => "the end of code",
        InputKind::DelegateEnded { .. } => "a delegate's end",
        InputKind::DelegateAsks { .. } => "a delegate's question",
        InputKind::DelegateDeferred { .. } => "a delegate's wait",
        InputKind::Checked { .. } => "a check's result",
        InputKind::HookEnded { .. } => "a hook's edits",
        InputKind::Answered { .. } => "an answer",
        InputKind::Steer(_) => "a steering message",
        InputKind::Pause { .. } => "a request to pause",
        InputKind::Queue { .. } => "a message for a later run",
        InputKind::Cancel { .. } => "a request to cancel",
        InputKind::ToolsChanged { .. } => "changed tools",
        InputKind::TimerFired { .. } => "a timer",
    }
}
