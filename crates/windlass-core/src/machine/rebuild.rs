//! Replay: the input of an append is made again from its cause and its events, accepted again, and must give the same
//! cause and the same events.

use crate::codec::by_schema::rebuilt;
use crate::machine::decide::interrupts::pause_reason;
use crate::machine::decide::{Accepted, decide};
use crate::protocol::cause::{Cause, CheckResult, StepEnd};
use crate::protocol::fact::calls::{CallFinished, CallRetried, DelegationFinished};
use crate::protocol::fact::code::CodeFinished;
use crate::protocol::fact::run::{RunResumed, RunStarted};
use crate::protocol::fact::{
    Adjusted, CallFact, CodeFact, ContextFact, DelegationFact, Event, Fact, InputReceived, InputRequested,
    ModelFact, PeopleFact, RunFact,
};
use crate::protocol::input::{Found, HostCall, Input, InputKind, QuotaWait, StepEdits};
use crate::state::State;
use crate::vocabulary::ids::Text;
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::reply::{ModelFailure, Reply, ReplyCall};

/// An append that does not follow from its input any more.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The number of the first event that differs, within its run.
    pub seq: u64,
    /// The event in the log; `None`: the append has ended.
    pub expected: Option<Event>,
    /// The event computed; `None`: none is left.
    pub found: Option<Event>,
    /// Why nothing follows: no input can be made of cause and events, or the input is refused.
    pub reason: Option<String>,
}

/// The input that has led to these events of one append, in the state before them. Every value is taken from the events,
/// and what they do not hold from the cause. `None`: events of this cause begin otherwise.
///
/// Where the core has replaced a value of the input, such as an id that was taken, its replacement is given: it leads to the
/// same events.
pub fn rebuild(state: &State, cause: &Cause, events: &[Event]) -> Option<Input> {
    let first = events.first()?;
    let behind =
        if let Fact::Run(RunFact::Resumed(resumed)) = &first.fact { resumed.clock_behind_ms } else { None };
    let at = first.at.saturating_sub(behind.unwrap_or(0));
    Some(Input { at, what: input(state, cause, events)? })
}

fn input(state: &State, cause: &Cause, events: &[Event]) -> Option<InputKind> {
    let first = events.first()?;
    let freed = |seq: &u64| state.action(*seq);
    Some(match cause {
        Cause::Start => InputKind::Start(Box::new(started(first)?)),
        Cause::Resumed => taken_over(first, events)?,
        Cause::Replied { action } => {
            let (reply, objection) = reply(events)?;
            let lost = is_other_attempt(first).then(|| failure(first)).flatten().map(Box::new);
            InputKind::Replied { action: freed(action), reply, objection, lost }
        }
        Cause::ModelFailed { action, jitter } => {
            let failure = Box::new(failure(first)?);
            InputKind::ModelFailed { action: freed(action), failure, jitter: *jitter }
        }
        Cause::CallEnded { action } => {
            if let Fact::Call(CallFact::Doubted(doubted)) = &first.fact {
                return Some(InputKind::CallLost { action: freed(action), outcome: doubted.lost.clone()? });
            }
            InputKind::CallEnded { action: freed(action), outcome: outcome(first)? }
        }
        Cause::CodeCalls { action, unrecorded } => {
            let calls = unrecorded.clone().or_else(|| host_calls(first))?;
            InputKind::CodeCalls { action: freed(action), calls }
        }
        Cause::CodeEnded { action } => {
            let stdout = if let Fact::Code(CodeFact::Finished(finished)) = &first.fact {
                &finished.stdout
            } else {
                &None
            };
            InputKind::CodeEnded { action: freed(action), outcome: outcome(first)?, stdout: stdout.clone() }
        }
        Cause::DelegateEnded { action } => {
            let Fact::Delegation(DelegationFact::Finished(finished)) = &first.fact else { return None };
            let (outcome, usage, cost) = (finished.outcome.clone(), finished.usage, finished.cost);
            InputKind::DelegateEnded {
                action: freed(action),
                outcome,
                usage,
                cost,
                reserved: finished.reserved,
            }
        }
        Cause::DelegateAsks { action, unrecorded } => {
            let asked = unrecorded.as_deref().cloned().or_else(|| asked(first))?;
            let InputRequested { question, kind, text, suggestions, .. } = asked;
            InputKind::DelegateAsks { action: freed(action), question, kind, text, suggestions }
        }
        Cause::DelegateDeferred { action, unrecorded } => {
            let QuotaWait { model, until } = unrecorded.as_deref().cloned().or_else(|| waited(first))?;
            InputKind::DelegateDeferred { action: freed(action), model, until }
        }
        Cause::Checked { action, found } => {
            InputKind::Checked { action: freed(action), found: found_of(*found, first)? }
        }
        Cause::HookEnded { action, end, unrecorded } => {
            let edits = Box::new(edits(*end, unrecorded.as_deref(), events));
            InputKind::HookEnded { action: freed(action), edits }
        }
        Cause::Answered => answered(first)?,
        Cause::Steer | Cause::Pause | Cause::Queue | Cause::Cancel => control_input(first)?,
        Cause::ToolsChanged => {
            let Adjusted { tools, binding_digests, .. } = adjusted(first)?;
            InputKind::ToolsChanged { tools: tools?, binding_digests }
        }
        Cause::TimerFired { action } => InputKind::TimerFired { action: freed(action) },
    })
}

fn answered(first: &Event) -> Option<InputKind> {
    let Fact::People(PeopleFact::InputReceived(InputReceived { question, answer, by })) = &first.fact else {
        return None;
    };
    Some(InputKind::Answered { question: question.clone(), answer: answer.clone(), by: by.clone() })
}

/// The input of people to a run.
fn control_input(first: &Event) -> Option<InputKind> {
    if let Fact::People(PeopleFact::Steered(steered)) = &first.fact {
        Some(InputKind::Steer(steered.clone()))
    } else if let Fact::People(PeopleFact::InputRequested(asked)) = &first.fact {
        Some(InputKind::Pause { reason: pause_reason(&asked.text) })
    } else if let Fact::People(PeopleFact::MessageQueued(queued)) = &first.fact {
        let crate::protocol::fact::MessageQueued { run, request_digest, messages } = queued.clone();
        Some(InputKind::Queue { run, request_digest, messages })
    } else if let Fact::People(PeopleFact::CancelRequested(request)) = &first.fact {
        Some(InputKind::Cancel { reason: request.reason.clone() })
    } else {
        None
    }
}

/// The input with which a run was taken over.
fn taken_over(first: &Event, events: &[Event]) -> Option<InputKind> {
    let RunResumed { holder, epoch, by, .. } = resumed(first)?;
    let adjusted = events.get(1).and_then(adjusted).map(Box::new);
    Some(InputKind::Resumed { holder, epoch, by, adjusted })
}

/// Accepts the input of an append again: gives the state after its events, if they follow from it.
///
/// # Errors
/// The first event that does not.
pub fn replay(state: &State, cause: &Cause, events: &[Event]) -> Result<State, Box<Difference>> {
    let differs = |place: usize, found: Option<&Event>, reason: Option<String>| {
        let seq = state.version + 1 + place as u64;
        Box::new(Difference { seq, expected: events.get(place).cloned(), found: found.cloned(), reason })
    };
    let Some(input) = rebuild(state, cause, events) else {
        let reason = format!("no input of the cause `{}` leads to such events", cause.name());
        return Err(differs(0, None, Some(reason)));
    };
    let accepted = decide(state, input).map_err(|invalid| differs(0, None, Some(invalid.to_string())))?;
    let Accepted { events: found, cause: again, state: next } = accepted;
    let same = events.iter().zip(&found).take_while(|(one, other)| one == other).count();
    if same < events.len() || same < found.len() {
        return Err(differs(same, found.get(same), None));
    }
    if again != *cause {
        let reason = format!("the cause is stored as {cause:?}, and is {again:?}");
        return Err(differs(0, found.first(), Some(reason)));
    }
    Ok(next)
}

fn started(first: &Event) -> Option<RunStarted> {
    if let Fact::Run(RunFact::Started(start)) = &first.fact { Some((**start).clone()) } else { None }
}

fn failure(first: &Event) -> Option<ModelFailure> {
    if let Fact::Model(ModelFact::Failed(failed)) = &first.fact { Some(failed.failure.clone()) } else { None }
}

fn resumed(first: &Event) -> Option<RunResumed> {
    if let Fact::Run(RunFact::Resumed(resumed)) = &first.fact { Some(resumed.clone()) } else { None }
}

fn adjusted(event: &Event) -> Option<Adjusted> {
    if let Fact::Run(RunFact::Adjusted(adjusted)) = &event.fact { Some(adjusted.clone()) } else { None }
}

/// The reply of a turn, and the objection to it. Calls with a place were read from its text; the others were native.
/// The end of another attempt at the same call may stand before it, or what the last request of a search for refused items found.
fn reply(events: &[Event]) -> Option<(Box<Reply>, Option<Text>)> {
    let mut facts = events.iter().filter(|event| !is_other_attempt(event)).map(|event| &event.fact);
    let first = facts.find(
        |fact| !matches!(fact, Fact::Context(ContextFact::HistoryEdited(edited)) if edited.refused.is_some()),
    )?;
    if let Fact::Model(ModelFact::ProbeAnswered(probe)) = first {
        // The rest of it counts for nothing.
        let reply = Reply { usage: probe.usage, model: probe.model.clone(), ..Reply::default() };
        return Some((Box::new(reply), None));
    }
    let Fact::Model(ModelFact::Completed(turn)) = first else { return None };
    let native = turn.calls.iter().filter(|call| call.place.is_none()).map(|call| ReplyCall {
        id: Some(call.provider_id.clone().unwrap_or_else(|| call.id.0.clone())),
        name: call.name.clone(),
        args: call.args.to_text(),
    });
    let text = match (&turn.text, turn.answer_form) {
        (Some(answer), Some(form)) => Some(rebuilt(answer, form, turn.stop)),
        (text, _) => text.clone(),
    };
    let reply = Reply {
        text,
        reasoning: turn.reasoning.clone(),
        media: turn.media.to_vec(),
        calls: native.collect(),
        annotations: turn.annotations.clone(),
        stop: turn.stop,
        usage: turn.usage,
        model: turn.model.clone(),
    };
    Some((Box::new(reply), turn.objection.clone()))
}

fn is_other_attempt(event: &Event) -> bool {
    matches!(&event.fact, Fact::Model(ModelFact::Failed(failed)) if failed.remaining_model.is_some())
}

/// The calls that code made at once.
fn host_calls(first: &Event) -> Option<Vec<HostCall>> {
    let Fact::Code(CodeFact::Called(called)) = &first.fact else { return None };
    let calls = called.calls.iter();
    Some(calls.map(|call| HostCall { name: call.name.clone(), args: call.args.to_text() }).collect())
}

/// The question of a delegate, by its id in the delegate's own run.
fn asked(first: &Event) -> Option<InputRequested> {
    let Fact::People(PeopleFact::InputRequested(asked)) = &first.fact else { return None };
    let mut asked = asked.clone();
    asked.question = asked.child_question.take()?;
    Some(asked)
}

/// The wait of a delegate.
fn waited(first: &Event) -> Option<QuotaWait> {
    let Fact::Delegation(DelegationFact::Deferred(waits)) = &first.fact else { return None };
    Some(QuotaWait { model: waits.model.clone(), until: waits.until })
}

fn found_of(result: CheckResult, first: &Event) -> Option<Found> {
    Some(match result {
        CheckResult::Happened => Found::Happened(outcome(first)?),
        CheckResult::NotHappened => Found::NotHappened,
        CheckResult::Unsure => Found::Unsure,
    })
}

/// The end of a call, at the beginning of an append.
fn outcome(first: &Event) -> Option<CallOutcome> {
    if let Fact::Call(
        CallFact::Finished(CallFinished { outcome, .. }) | CallFact::Retried(CallRetried { outcome, .. }),
    )
    | Fact::Code(CodeFact::Finished(CodeFinished { outcome, .. }))
    | Fact::Delegation(DelegationFact::Finished(DelegationFinished { outcome, .. })) = &first.fact
    {
        return Some(outcome.clone());
    }
    None
}

/// The edits of a hook: those stored in the append's events, and those that were not made.
fn edits(ended: Option<StepEnd>, unrecorded: Option<&StepEdits>, events: &[Event]) -> StepEdits {
    let mut edits = unrecorded.cloned().unwrap_or_default();
    for event in events {
        if let Fact::Run(RunFact::Adjusted(adjusted)) = &event.fact {
            edits.adjusted = Some(adjusted.clone());
        } else if let Fact::Context(ContextFact::HistoryEdited(edited)) = &event.fact {
            edits.splices.clone_from(&edited.splices);
        } else if let Fact::Call(CallFact::StepBranched(branched)) = &event.fact {
            edits.branches = branched.calls.iter().map(|call| call.args.to_text()).collect();
        } else if let Fact::Run(RunFact::Ended(run)) = &event.fact
            && let Some(ended) = ended
        {
            edits.end = ended.whole(run);
        }
    }
    edits
}
