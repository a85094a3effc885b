//! Invariants checked each time: nothing lost, nothing repeated, no doubt unasked.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::event::{CallFact, InputReceived, ModelFact, PeopleFact, QuestionKind, RunFact};
use windlass_core::{Answer, CallId, CallOutcome, Fact, QuestionId};

use crate::home::Receipt;
use crate::look::Look;
use crate::scene::Kind;

/// The earlier events are still the beginning of the log, with the same boundaries.
///
/// # Errors
/// Says what is missing or different.
pub fn kept(before: &Look, after: &Look) -> Result<(), String> {
    if before.run != after.run {
        return Err(format!("the run is {}, it was {}", after.run, before.run));
    }
    appends_kept(before, after)?;
    for child in &before.family {
        let still = after.family.iter().find(|run| run.run == child.run);
        kept(child, still.ok_or_else(|| format!("run {}, a child of {}, is gone", child.run, before.run))?)?;
    }
    Ok(())
}

/// The same for the runs of a session, to which others may have come.
///
/// # Errors
/// Says what is missing or different.
pub(crate) fn all_kept(before: &[Look], after: &[Look]) -> Result<(), String> {
    for look in before {
        let still = after.iter().find(|run| run.run == look.run);
        appends_kept(look, still.ok_or_else(|| format!("run {} is gone", look.run))?)?;
    }
    Ok(())
}

fn appends_kept(before: &Look, after: &Look) -> Result<(), String> {
    for (place, batch) in before.batches.iter().enumerate() {
        if after.batches.get(place) != Some(batch) {
            let found = after.batches.get(place).map(|batch| format!("{batch:?}"));
            return Err(format!("append {place} was {batch:?}, now it is {found:?}"));
        }
    }
    Ok(())
}

/// A call as the events tell of it.
#[derive(Clone, Debug)]
struct LoggedCall {
    tool: String,
    n: u32,
    started: bool,
    finished: bool,
    attempt: Attempt,
}

/// Events of a call since its last start.
#[derive(Clone, Debug, Default)]
struct Attempt {
    /// It was on its way when a process died.
    lost: bool,
    doubted: bool,
    question: Option<QuestionId>,
    answer: Option<Answer>,
}

/// The calls of a run, in the order in which they were asked for.
fn calls(look: &Look) -> Result<BTreeMap<CallId, LoggedCall>, String> {
    let mut calls: BTreeMap<CallId, LoggedCall> = BTreeMap::new();
    for event in look.events() {
        if let Fact::Model(ModelFact::Completed(turn)) = &event.fact {
            for call in &turn.calls {
                let args: serde_json::Value = serde_json::from_str(&call.args).unwrap_or_default();
                let n = args.get("n").and_then(serde_json::Value::as_u64).unwrap_or_default() as u32;
                let logged = LoggedCall {
                    tool: call.name.to_string(),
                    n,
                    started: false,
                    finished: false,
                    attempt: Attempt::default(),
                };
                if calls.insert(call.id.clone(), logged).is_some() {
                    return Err(format!("the call id {} is used twice", call.id));
                }
            }
        } else if matches!(event.fact, Fact::Run(RunFact::Resumed(_))) {
            calls
                .values_mut()
                .filter(|call| call.started && !call.finished)
                .for_each(|call| call.attempt.lost = true);
        } else {
            step(&mut calls, &event.fact)?;
        }
    }
    Ok(calls)
}

/// The answer to a question about a call that was in doubt.
fn answered(calls: &mut BTreeMap<CallId, LoggedCall>, received: &InputReceived) {
    let asked = |call: &&mut LoggedCall| call.attempt.question.as_ref() == Some(&received.question);
    if let Some(call) = calls.values_mut().find(asked) {
        call.attempt.answer = Some(received.answer.clone());
    }
}

/// One more fact about a call, if it is one that may follow.
fn step(calls: &mut BTreeMap<CallId, LoggedCall>, fact: &Fact) -> Result<(), String> {
    let unknown = |id: &CallId| format!("{} of {id}, which nobody asked for", fact.kind());
    match fact {
        Fact::Call(CallFact::Doubted(doubted)) => {
            calls.get_mut(&doubted.call).ok_or_else(|| unknown(&doubted.call))?.attempt.doubted = true;
        }
        Fact::People(PeopleFact::InputRequested(asked)) if asked.kind == QuestionKind::Outcome => {
            let id = asked.call.as_ref().ok_or("a question about no call")?;
            calls.get_mut(id).ok_or_else(|| unknown(id))?.attempt.question = Some(asked.question.clone());
        }
        Fact::People(PeopleFact::InputReceived(received)) => answered(calls, received),
        Fact::Call(CallFact::Started(started)) => {
            let call = calls.get_mut(&started.call).ok_or_else(|| unknown(&started.call))?;
            may_start(&started.call, call)?;
            (call.started, call.attempt) = (true, Attempt::default());
        }
        Fact::Call(CallFact::Finished(finished)) => {
            let call = calls.get_mut(&finished.call).ok_or_else(|| unknown(&finished.call))?;
            may_finish(&finished.call, call, &finished.outcome)?;
            call.finished = true;
        }
        _ => {}
    }
    Ok(())
}

fn may_start(id: &CallId, call: &LoggedCall) -> Result<(), String> {
    if call.finished {
        return Err(format!("{id} ({}) starts after it has finished", call.tool));
    }
    if !call.started {
        return Ok(());
    }
    if !call.attempt.lost {
        return Err(format!("{id} ({}) starts again, though nothing was lost", call.tool));
    }
    match Kind::of(&call.tool) {
        Some(Kind::ReadOnly | Kind::Idempotent) => Ok(()),
        Some(Kind::Checked) if call.attempt.doubted => Ok(()),
        Some(Kind::Once) if call.attempt.doubted && call.attempt.answer == Some(Answer::RunAgain) => Ok(()),
        _ => Err(format!("{id} ({}) runs again without a doubt being settled: {call:?}", call.tool)),
    }
}

fn may_finish(id: &CallId, call: &LoggedCall, outcome: &CallOutcome) -> Result<(), String> {
    if call.finished {
        return Err(format!("{id} ({}) finishes twice", call.tool));
    }
    if !matches!(outcome, CallOutcome::Ok { .. }) {
        return Err(format!("{id} ({}) ends with {outcome:?}", call.tool));
    }
    match Kind::of(&call.tool) {
        Some(Kind::Checked) if call.attempt.lost && !call.attempt.doubted => {
            Err(format!("{id} ({}) has a result from nowhere: {call:?}", call.tool))
        }
        Some(Kind::Once) if call.attempt.lost && !matches!(call.attempt.answer, Some(Answer::Result(_))) => {
            Err(format!("{id} ({}) has a result that nobody gave: {call:?}", call.tool))
        }
        Some(Kind::ReadOnly | Kind::Idempotent) if call.attempt.lost => {
            Err(format!("{id} ({}) has a result without a new attempt", call.tool))
        }
        _ => Ok(()),
    }
}

/// The story of all calls is one that may be told, and the receipts agree with it. Gives how often each finished call had
/// its effect.
///
/// # Errors
/// Says which call was repeated, started too early, or has a result without its effect.
pub fn receipts(look: Option<&Look>, receipts: &[Receipt]) -> Result<BTreeMap<(String, u32), usize>, String> {
    receipts_of(look.iter().flat_map(|look| look.all()), receipts)
}

/// The same for several runs.
///
/// # Errors
/// As there.
pub(crate) fn receipts_of<'l>(
    looks: impl Iterator<Item = &'l Look>,
    receipts: &[Receipt],
) -> Result<BTreeMap<(String, u32), usize>, String> {
    let mut calls = BTreeMap::new();
    for look in looks {
        let run = look.run.to_string();
        calls.extend(self::calls(look)?.into_iter().map(|(id, call)| ((run.clone(), id), call)));
    }
    let mut counts: BTreeMap<(String, u32), usize> = BTreeMap::new();
    let mut keys: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for receipt in receipts {
        let id = (receipt.run.clone(), CallId::from(receipt.call.as_str()));
        let call = calls.get(&id).filter(|call| call.started);
        let call = call.ok_or_else(|| format!("{receipt:?} of a call whose start is not in the log"))?;
        if (call.tool.as_str(), call.n) != (receipt.tool.as_str(), receipt.n) {
            return Err(format!("{receipt:?} belongs to another call: {call:?}"));
        }
        *counts.entry((receipt.tool.clone(), receipt.n)).or_insert(0) += 1;
        keys.entry((&receipt.run, &receipt.call)).or_default().insert(&receipt.key);
    }
    if let Some(((_, call), keys)) = keys.iter().find(|(_, keys)| keys.len() > 1) {
        return Err(format!("{call} was given several idempotency keys: {keys:?}"));
    }
    for ((tool, n), count) in &counts {
        if *count > 1 && matches!(Kind::of(tool), Some(Kind::Checked | Kind::Once)) {
            return Err(format!("the effect of {tool} {n} happened {count} times"));
        }
    }
    // What another agent does leaves the receipts of that one's calls.
    let finished = calls.values().filter(|call| call.finished && Kind::of(&call.tool).is_some());
    finished
        .map(|call| {
            let place = (call.tool.clone(), call.n);
            match counts.get(&place) {
                Some(count) => Ok((place, *count)),
                None => Err(format!("{} {} has a result, but never had its effect", call.tool, call.n)),
            }
        })
        .collect()
}

/// Finished calls never have their effect again.
///
/// # Errors
/// Names the first that did.
pub fn not_again(
    before: &BTreeMap<(String, u32), usize>,
    after: &BTreeMap<(String, u32), usize>,
) -> Result<(), String> {
    for (place, count) in before {
        if after.get(place) != Some(count) {
            let (tool, n) = place;
            return Err(format!(
                "{tool} {n} had finished after {count} effects, now there are {:?}",
                after.get(place)
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
