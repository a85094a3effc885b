//! Facts of each run without the traces of restarts, and values derived from them.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_core::event::{
    CallFact, CallFinished, CallRetried, CodeFact, CodeFinished, DelegationDeferred, DelegationFact,
    LimitFact, ModelFact, PeopleFact, PlanFact, RunFact,
};
use windlass_core::message::ToolCall;
use windlass_core::model::FailureKind;
use windlass_core::run::{log_line, overshot};
use windlass_core::tool::{BRANCH_TOOL, PARENT_TOOL, RUN_CODE};
use windlass_core::{CallId, CallOutcome, Event, Fact, QuestionId, RunId, State, Text, evolve, replay};
use windlass_store::Batch;

use super::unscripted::Unscripted;
use crate::fixture::{AskedQuestion, Update};

/// One run of a pass.
#[derive(Clone, Debug)]
pub(crate) struct RunRecord {
    pub(crate) state: State,
    /// All events except those caused only by a restart.
    pub(crate) events: Vec<Event>,
    /// All events as they were appended.
    pub(crate) batches: Vec<Batch>,
    pub(crate) log_lines: Vec<String>,
    pub(crate) updates: Vec<Update>,
    pub(crate) asked: Vec<AskedQuestion>,
    pub(crate) requests: usize,
    pub(crate) executed: BTreeMap<String, Vec<Value>>,
    pub(crate) virtual_ms: u64,
    /// Whether a model call was lost with its process and not repeated: its usage is unknown.
    pub(crate) lost_for_good: bool,
    /// The first event that a replay of the run gives otherwise, in words.
    pub(crate) replay_differs: Option<String>,
    /// The first call of an agent's own tool that the case says nothing about.
    pub(crate) unscripted: Option<Unscripted>,
}

/// Leaves out what only a restart caused: the take-over, doubts, questions that the runner answered by itself, and a
/// second start of a model call or tool call that was lost.
pub(crate) fn without_restarts(batches: &[Batch], by_runner: &[QuestionId]) -> Vec<Event> {
    let mut running: BTreeMap<CallId, bool> = BTreeMap::new();
    let mut kept = Vec::new();
    for event in batches.iter().flat_map(|batch| batch.events.iter()) {
        let own = match &event.fact {
            Fact::Model(ModelFact::Started(turn)) => turn.after_loss,
            Fact::Run(RunFact::Resumed(_)) => true,
            Fact::Call(CallFact::Doubted(doubted)) => doubted.lost.is_none(),
            Fact::People(PeopleFact::InputRequested(asked)) => {
                let own = by_runner.contains(&asked.question);
                if let Some(call) = asked.call.as_ref().filter(|_| !own && asked.child_question.is_some()) {
                    running.insert(call.clone(), false);
                }
                own
            }
            Fact::People(PeopleFact::InputReceived(received)) => by_runner.contains(&received.question),
            Fact::Code(CodeFact::Started(started)) => {
                running.insert(started.call.clone(), true) == Some(true)
            }
            Fact::Call(CallFact::Started(started)) => {
                running.insert(started.call.clone(), true) == Some(true)
            }
            // An answer that a person gave goes on with the task; one that the runner gave is its own affair.
            Fact::Delegation(DelegationFact::Started(started)) => {
                running.insert(started.call.clone(), true) == Some(true)
            }
            Fact::Delegation(DelegationFact::Deferred(DelegationDeferred { call, .. }))
            | Fact::Call(CallFact::Retried(CallRetried { call, .. })) => {
                running.insert(call.clone(), false);
                false
            }
            Fact::Call(CallFact::Finished(CallFinished { call, .. }))
            | Fact::Code(CodeFact::Finished(CodeFinished { call, .. })) => {
                running.remove(call);
                false
            }
            _ => false,
        };
        kept.extend((!own).then(|| event.clone()));
    }
    kept
}

/// Whether a model call was lost with its process and came to no end of its own, in a run or in one that did a task of it.
pub(crate) fn lost_for_good(batches: &[Batch], batches_of: &dyn Fn(RunId) -> Vec<Batch>) -> bool {
    let (mut asked, mut lost) = (false, false);
    batches.iter().flat_map(|batch| batch.events.iter()).any(|event| {
        if let Fact::Delegation(DelegationFact::Started(started)) = &event.fact {
            return lost_for_good(&batches_of(started.run), batches_of);
        }
        if let Fact::Model(ModelFact::Failed(failed)) = &event.fact {
            if failed.remaining_model.is_some() {
                return false;
            }
            asked = false;
            return std::mem::take(&mut lost) && failed.failure.kind == FailureKind::Cancelled;
        }
        if matches!(event.fact, Fact::Model(ModelFact::Completed(_) | ModelFact::ProbeAnswered(_))) {
            (asked, lost) = (false, false);
        }
        lost |= asked && matches!(event.fact, Fact::Run(RunFact::Resumed(_)));
        asked |= matches!(event.fact, Fact::Model(ModelFact::Started(_)));
        false
    })
}

/// Whether a limit cut a run only because of what is reserved for model calls that a restart lost.
pub(crate) fn cut_by_reservation(batches: &[Batch]) -> bool {
    batches.iter().flat_map(|batch| batch.events.iter()).any(|event| {
        if let Fact::Limit(LimitFact::Reached(cut)) = &event.fact {
            cut.reserved > 0
                && cut.reached - cut.reserved < cut.max
                && cut.reached - cut.reserved + cut.needed <= cut.max
        } else {
            false
        }
    })
}

/// Accepts each rebuilt input again (point 4 of the contract): what differs first, if anything does.
pub(crate) fn replay_differs(run: &State, base: Option<&State>, batches: &[Batch]) -> Option<String> {
    let mut state = base.map_or_else(|| State::new(run.run()), |base| State::on_base(run.run(), base));
    for batch in batches {
        match replay(&state, &batch.cause, &batch.events) {
            Ok(next) => state = next,
            Err(difference) => {
                let show = |event: &Option<Event>| event.as_ref().map_or_else(|| "nothing".to_owned(), line);
                let (expected, found) = (show(&difference.expected), show(&difference.found));
                let reason = difference.reason.as_deref().unwrap_or_default();
                return Some(format!("event {}: {expected}; found {found} {reason}", difference.seq));
            }
        }
    }
    (state != *run).then(|| "the events are the same, and the state is not".to_owned())
}

/// The lines that the preset logs.
pub(crate) fn log_lines(run: &State, base: Option<&State>, batches: &[Batch]) -> Vec<String> {
    let start = base.map_or_else(|| State::new(run.run()), |base| State::on_base(run.run(), base));
    let mut lines = Vec::new();
    batches.iter().flat_map(|batch| batch.events.iter()).fold(start, |state, event| {
        let next = evolve(state.clone(), event);
        let over = overshot(&state.overshot_limits(), &next);
        lines.extend(log_line(&next, event).into_iter().chain(over).map(|line| line.text));
        next
    });
    lines
}

/// The questions that were put to people. One that comes from another agent is about that agent's call.
pub(crate) fn asked(events: &[Event], batches_of: &dyn Fn(RunId) -> Vec<Batch>) -> Vec<AskedQuestion> {
    let mut names: BTreeMap<CallId, Text> = BTreeMap::new();
    let mut children: BTreeMap<CallId, RunId> = BTreeMap::new();
    let mut asked = Vec::new();
    for event in events {
        if let Fact::Model(ModelFact::Completed(turn)) = &event.fact {
            names.extend(turn.calls.iter().map(|call| (call.id.clone(), meant(call))));
        } else if let Fact::Code(CodeFact::Called(code)) = &event.fact {
            names.extend(code.calls.iter().map(|call| (call.id.clone(), meant(call))));
        } else if let Fact::Plan(PlanFact::Made(made)) = &event.fact {
            names.extend(made.call.iter().map(|call| (call.clone(), RUN_CODE.into())));
        } else if let Fact::Delegation(DelegationFact::Started(started)) = &event.fact {
            children.insert(started.call.clone(), started.run);
        } else if let Fact::People(PeopleFact::InputRequested(question)) = &event.fact {
            let own = || question.call.as_ref().and_then(|call| names.get(call)).map(ToString::to_string);
            let child = question.call.as_ref().and_then(|call| children.get(call));
            let tool = match (&question.child_question, child) {
                (Some(asked), Some(run)) => asked_in(*run, asked, batches_of),
                _ => own(),
            };
            let (kind, text) = (question.kind.name().to_owned(), question.text.to_string());
            asked.push(AskedQuestion { kind, tool, text });
        }
    }
    asked
}

/// The tool that a call means: one that reaches others names it.
fn meant(call: &ToolCall) -> Text {
    let reaches = [BRANCH_TOOL, PARENT_TOOL].contains(&&*call.name);
    let args: Option<Value> = serde_json::from_str(&call.args).ok().filter(|_| reaches);
    let name = args.as_ref().and_then(|args| args.get("name")?.as_str());
    name.map_or_else(|| call.name.clone(), Text::from)
}

/// The tool that a question of another agent's run is about.
fn asked_in(run: RunId, question: &QuestionId, batches_of: &dyn Fn(RunId) -> Vec<Batch>) -> Option<String> {
    let batches = batches_of(run);
    let events: Vec<Event> = batches.iter().flat_map(|batch| batch.events.iter().cloned()).collect();
    let place = events.iter().filter_map(|event| {
        if let Fact::People(PeopleFact::InputRequested(asked)) = &event.fact {
            Some(&asked.question)
        } else {
            None
        }
    });
    let place = place.into_iter().position(|asked| asked == question)?;
    asked(&events, batches_of).into_iter().nth(place)?.tool
}

/// An event in one line, as a diff shows it.
pub(crate) fn line(event: &Event) -> String {
    let at = event.at - crate::sim::BEGINNING;
    let detail = if let Fact::Run(RunFact::Started(start)) = &event.fact {
        format!("agent {}", start.agent.name)
    } else if let Fact::Model(ModelFact::Started(turn)) = &event.fact {
        format!("turn {} attempt {}", turn.turn, turn.attempt)
    } else if let Fact::Model(ModelFact::Completed(turn)) = &event.fact {
        let calls: Vec<_> =
            turn.calls.iter().map(|call| format!("{}({}) {}", call.name, call.args, call.id)).collect();
        let text = turn.text_without_calls().map(|text| format!("{text:?} ")).unwrap_or_default();
        format!("{text}{}", calls.join(", "))
    } else if let Fact::Call(CallFact::Finished(finished)) = &event.fact {
        format!("{} {}", finished.call, outcome(&finished.outcome))
    } else {
        event.fact.body().unwrap_or_default()
    };
    format!("{at:>6} ms  {} {}", event.fact.kind(), detail.chars().take(200).collect::<String>())
}

fn outcome(outcome: &CallOutcome) -> String {
    serde_json::to_string(outcome).unwrap_or_default()
}
