//! Replay: the input of an append is made again from its events, accepted again, and must give the same events.

use serde_json::Value;

use crate::action::{ActionKind, Found, HookEnd, Input, InputKind, StepEdits};
use crate::decide::{RAW_OUTPUT, decide};
use crate::event::{
    Adjusted, CallHeld, CallStarted, DelegationFinished, Event, Fact, InputRequested, RunEnded, RunResumed,
    TurnCompleted, TurnFailed,
};
use crate::ids::{ActionId, CallId};
use crate::open_call::Stage;
use crate::outcome::{FailKind, Status};
use crate::pending::pending;
use crate::question::QuestionKind;
use crate::reply::{Reply, ReplyCall};
use crate::state::{Phase, State};

/// The greatest share of a retry's wait that is left to chance, in thousandths.
const WHOLE_JITTER: u64 = 1_000;

/// An append that does not follow from its input any more.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The number of the first event that differs, within its run.
    pub seq: u64,
    /// What the log has there; `None`: the append is over.
    pub expected: Option<Event>,
    /// What follows now; `None`: nothing more.
    pub found: Option<Event>,
    /// Why nothing follows: no input can be made of these events, or the input is refused.
    pub reason: Option<String>,
}

/// The inputs that may have caused these events of one append, in a state. Where the first fact leaves it open which it
/// was, all are given: one of them fits if [`accept`](crate::accept) makes exactly these events of it.
pub fn rebuild(state: &State, events: &[Event]) -> Vec<Input> {
    let Some(first) = events.first() else { return Vec::new() };
    let behind = match &first.fact {
        Fact::RunResumed(resumed) => resumed.clock_behind_ms.unwrap_or(0),
        _ => 0,
    };
    let input = |what| Input { at: first.at.saturating_sub(behind), what };
    let mut inputs: Vec<Input> = causes(state, events).into_iter().map(input).collect();
    inputs.extend(stepped(state, events).map(input));
    if let Fact::TurnFailed(failed) = &first.fact {
        inputs.extend(model_failed(state, first, failed));
    }
    inputs
}

/// Accepts the input of these events again: gives the state after them, if they follow from it.
///
/// # Errors
/// The first event that does not.
pub fn replay(state: &State, events: &[Event]) -> Result<State, Box<Difference>> {
    let mut nearest: Option<(usize, Box<Difference>)> = None;
    let number = |place: usize| state.version + 1 + place as u64;
    for input in rebuild(state, events) {
        let (found, next, reason) = match decide(state, input) {
            Ok((found, next)) => (found, Some(next), None),
            Err(invalid) => (Vec::new(), None, Some(invalid.to_string())),
        };
        let same = events.iter().zip(&found).take_while(|(one, other)| one == other).count();
        match next {
            Some(next) if same == events.len() && same == found.len() => return Ok(next),
            _ if nearest.as_ref().is_some_and(|(most, _)| *most >= same) => {}
            _ => {
                let (expected, found) = (events.get(same).cloned(), found.get(same).cloned());
                nearest = Some((same, Box::new(Difference { seq: number(same), expected, found, reason })));
            }
        }
    }
    Err(nearest.map_or_else(
        || {
            let reason = Some("no input leads to such an event here".to_owned());
            Box::new(Difference { seq: number(0), expected: events.first().cloned(), found: None, reason })
        },
        |(_, difference)| difference,
    ))
}

fn causes(state: &State, events: &[Event]) -> Vec<InputKind> {
    let Some(first) = events.first() else { return Vec::new() };
    match &first.fact {
        Fact::RunStarted(start) => vec![InputKind::Start(Box::new(start.clone()))],
        Fact::RunResumed(resumed) => taken_over(resumed, events.get(1)).into_iter().collect(),
        Fact::TurnCompleted(turn) => replied(state, turn),
        // The two ways in which a turn fails: its call did, or its time was over.
        Fact::TurnFailed(_) | Fact::TurnStarted(_) | Fact::LimitReached(_) | Fact::RunEnded(_) => {
            timers(state)
        }
        // A call goes on, or is held because it has changed since it was allowed.
        Fact::CallStarted(CallStarted { call, .. }) | Fact::CallHeld(CallHeld { call, .. }) => {
            let checked = checked(state, call, Found::NotHappened);
            timers(state).into_iter().chain(checked).collect()
        }
        Fact::CallRetried(retried) => ended(state, &retried.call, &retried.outcome).into_iter().collect(),
        Fact::CallFinished(finished) => {
            let found = Found::Happened(finished.outcome.clone());
            let ended = ended(state, &finished.call, &finished.outcome);
            ended.into_iter().chain(checked(state, &finished.call, found)).collect()
        }
        Fact::InputRequested(asked) => {
            let delegate = delegate_asks(state, asked);
            let unsure = asked.call.iter().filter_map(|call| checked(state, call, Found::Unsure));
            unsure.chain(delegate).collect()
        }
        Fact::DelegationFinished(finished) => delegated(state, finished).into_iter().collect(),
        Fact::InputReceived(received) => {
            vec![InputKind::Answered { question: received.question.clone(), answer: received.answer.clone() }]
        }
        Fact::Steered(steered) => vec![InputKind::Steer { text: steered.text.clone() }],
        Fact::Adjusted(adjusted) => {
            let (tools, seals) = (adjusted.tools.clone(), adjusted.seals.clone());
            tools.into_iter().map(|tools| InputKind::ToolsChanged { tools, seals: seals.clone() }).collect()
        }
        Fact::CancelRequested(request) => vec![InputKind::Cancel { reason: request.reason.clone() }],
        // Another agent had a question when it was to stop: what it was plays no part any more.
        Fact::DelegationStarted(started) => {
            let asked = |action| InputKind::DelegateAsks {
                action,
                question: "".into(),
                kind: QuestionKind::Clarify,
                text: "".into(),
                suggestions: Vec::new(),
            };
            delegation(state, &started.call).map(asked).into_iter().collect()
        }
        // These only ever follow another fact.
        Fact::CallDecided(_)
        | Fact::CallDoubted(_)
        | Fact::HistoryEdited(_)
        | Fact::StepBranched(_)
        | Fact::OutputRejected(_)
        | Fact::LimitRaised(_) => Vec::new(),
    }
}

/// A take-over: what its append says next tells which one it was.
fn taken_over(resumed: &RunResumed, next: Option<&Event>) -> Option<InputKind> {
    let (holder, epoch, by) = (resumed.holder.clone(), resumed.epoch, resumed.by);
    let Some(Fact::Adjusted(adjusted)) = next.map(|event| &event.fact) else {
        return Some(InputKind::Resumed { holder, epoch, by });
    };
    if let Some(agent) = adjusted.agent.clone() {
        let adjusted = Box::new(Adjusted { agent: None, ..adjusted.clone() });
        return Some(InputKind::Adopted { holder, epoch, agent, adjusted, by });
    }
    let seals = adjusted.seals.clone();
    adjusted.tools.clone().map(|tools| InputKind::ResumedWithTools { holder, epoch, tools, seals, by })
}

fn timers(state: &State) -> Vec<InputKind> {
    let timers =
        pending(state).into_iter().filter(|action| matches!(action.work, ActionKind::SetTimer { .. }));
    timers.map(|action| InputKind::TimerFired { action: action.id }).collect()
}

/// The reply of a turn: its calls were native, or stood in the text.
fn replied(state: &State, turn: &TurnCompleted) -> Vec<InputKind> {
    let Some(ask) = state.turns_ask() else { return Vec::new() };
    let action = state.action(ask.seq);
    let native = turn.calls.iter().filter(|call| call.place.is_none()).map(|call| ReplyCall {
        id: Some(call.provider_id.clone().unwrap_or_else(|| call.id.0.clone())),
        name: call.name.clone(),
        args: call.args.to_text(),
    });
    let reply = Box::new(Reply {
        text: turn.text.clone(),
        reasoning: turn.reasoning.clone(),
        calls: native.collect(),
        stop: turn.stop,
        usage: turn.usage,
        model: turn.model.clone(),
    });
    vec![match turn.objection.clone() {
        Some(objection) => InputKind::Objected { action, reply, objection },
        None => InputKind::Replied { action, reply },
    }]
}

/// The failure of a model call. How long the next try waits says how much of the wait was left to chance.
fn model_failed(state: &State, event: &Event, failed: &TurnFailed) -> Vec<Input> {
    let Some(ask) = state.asks.get(failed.purpose, failed.about.as_ref()) else { return Vec::new() };
    let action = state.action(ask.seq);
    let input = |jitter: u64| {
        let what = InputKind::ModelFailed {
            action,
            failure: Box::new(failed.failure.clone()),
            jitter: u16::try_from(jitter).unwrap_or(u16::MAX),
        };
        Input { at: event.at, what }
    };
    let mut inputs = vec![input(0)];
    let longest = decide(state, input(0)).ok().and_then(|(events, _)| match &events.first()?.fact {
        Fact::TurnFailed(longest) => longest.retry_at?.checked_sub(event.at),
        _ => None,
    });
    let waited = failed.retry_at.and_then(|at| at.checked_sub(event.at));
    if let (Some(longest), Some(waited)) = (longest.filter(|wait| *wait > 0), waited) {
        // The smallest share that shortens the wait so far: the share is halved and rounded down when it is used.
        let shorter = longest.saturating_sub(waited);
        let jitter = shorter.saturating_mul(2 * WHOLE_JITTER).div_ceil(longest);
        if jitter > 0 {
            inputs.push(input(jitter.min(WHOLE_JITTER)));
        }
    }
    inputs
}

fn ended(state: &State, call: &CallId, outcome: &crate::outcome::CallOutcome) -> Option<InputKind> {
    match state.open_call(call)?.stage {
        Stage::Running { seq } => {
            Some(InputKind::CallEnded { action: state.action(seq), outcome: outcome.clone() })
        }
        _ => None,
    }
}

fn checked(state: &State, call: &CallId, found: Found) -> Option<InputKind> {
    match state.open_call(call)?.stage {
        Stage::Doubted { seq, asked: false } => Some(InputKind::Checked { action: state.action(seq), found }),
        _ => None,
    }
}

/// What a hook made of a step: its edits stand in the events, and its end in the run's.
fn stepped(state: &State, events: &[Event]) -> Option<InputKind> {
    let Phase::Stepping { seq } = state.phase else { return None };
    let mut edits = StepEdits::default();
    for event in events {
        match &event.fact {
            Fact::Adjusted(adjusted) => edits.adjusted = Some(adjusted.clone()),
            Fact::HistoryEdited(edited) => edits.splices.clone_from(&edited.splices),
            Fact::StepBranched(branched) => {
                edits.branches = branched.calls.iter().map(|call| call.args.to_text()).collect();
            }
            Fact::RunEnded(end) => edits.end = hook_end(end),
            _ => {}
        }
    }
    Some(InputKind::Stepped { action: state.action(seq), edits: Box::new(edits) })
}

fn hook_end(end: &RunEnded) -> Option<HookEnd> {
    match end.status {
        Status::Answered => {
            let text = || end.text.as_deref().map(Value::from);
            Some(HookEnd::Finish(end.output.clone().or_else(text).unwrap_or_default()))
        }
        Status::Failed(FailKind::Hook) => Some(HookEnd::Abort(end.error.clone()?)),
        Status::Failed(FailKind::Parse) => {
            let (_, raw) = end.error.as_deref()?.rsplit_once(RAW_OUTPUT)?;
            Some(HookEnd::Finish(serde_json::from_str(raw).ok()?))
        }
        _ => None,
    }
}

fn delegation(state: &State, call: &CallId) -> Option<ActionId> {
    match state.open_call(call)?.stage {
        Stage::Delegated { seq, .. } => Some(state.action(seq)),
        _ => None,
    }
}

fn delegated(state: &State, finished: &DelegationFinished) -> Option<InputKind> {
    let action = delegation(state, &finished.call)?;
    let (outcome, usage, cost) = (finished.outcome.clone(), finished.usage, finished.cost);
    Some(InputKind::Delegated { action, outcome, usage, cost, reserved: finished.reserved })
}

fn delegate_asks(state: &State, asked: &InputRequested) -> Option<InputKind> {
    Some(InputKind::DelegateAsks {
        action: delegation(state, asked.call.as_ref()?)?,
        question: asked.child.clone()?,
        kind: asked.kind,
        text: asked.text.clone(),
        suggestions: asked.suggestions.clone(),
    })
}
