//! Invariants after every run, whatever its case expects: the promises of the engine itself.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::event::{
    CallFact, CallFinished, CodeFact, CodeFinished, DelegationFact, DelegationFinished, ModelFact,
    PeopleFact, PlanFact, RunFact,
};
use windlass_core::model::Usage;
use windlass_core::{Answer, CallId, Event, Fact, Message, State, Status};

use super::pass::STEERED;
use super::record::RunRecord;
use crate::fixture::Mismatch;

type Checked = Result<(), Mismatch>;

/// Whether a run is sound: one end, one result for each call, a conversation that a provider takes, all usage counted,
/// and a replay that gives the same events.
pub(crate) fn run(run: &RunRecord) -> Checked {
    one_end(&run.state, &run.events)?;
    one_result_each(&run.state, &run.events)?;
    valid_history(&run.state)?;
    all_usage(&run.state, &run.events)?;
    match &run.replay_differs {
        Some(difference) => Err(fault("replay", "the same events", difference.clone())),
        None => Ok(()),
    }
}

/// A run that was cancelled after some event: it ended by that, or had come to its own end, or waits for a person
/// and was left before it heard.
pub(crate) fn cancelled(run: &RunRecord) -> Checked {
    self::run(run)?;
    let heard =
        run.events.iter().find(|event| matches!(event.fact, Fact::People(PeopleFact::CancelRequested(_))));
    let (Some(heard), Some(end)) = (heard, run.state.ended()) else { return Ok(()) };
    if end.status != Status::Cancelled {
        return Err(fault("status", "cancelled", end.status.to_string()));
    }
    let ended = run.events.last().map_or(heard.at, |event| event.at);
    let grace = run.state.policy().bounds.grace_ms;
    if ended - heard.at > grace {
        return Err(fault("cancel", format!("an end within {grace} ms"), format!("{} ms", ended - heard.at)));
    }
    Ok(())
}

/// A run to which something was said after some event: it is heard at the next turn, once.
pub(crate) fn steered(run: &RunRecord) -> Checked {
    self::run(run)?;
    let steered = run
        .events
        .iter()
        .position(|event| matches!(&event.fact, Fact::People(PeopleFact::Steered(message)) if &*message.text == STEERED));
    let Some(steered) = steered else { return Ok(()) };
    let turns = |events: &[Event]| {
        let numbers = events.iter().filter_map(|event| {
            if let Fact::Model(ModelFact::Started(turn)) = &event.fact { Some(turn.turn) } else { None }
        });
        numbers.collect::<BTreeSet<u32>>().len()
    };
    let (before, all) = (turns(run.events.get(..steered).unwrap_or_default()), turns(&run.events));
    let heard = run
        .state
        .history()
        .iter()
        // A preset may have its own words before it.
        .filter(
            |message| matches!(&***message, Message::User { content, .. } if content.text().ends_with(STEERED)),
        );
    let (heard, wanted) = (heard.count(), usize::from(all > before));
    if heard == wanted {
        return Ok(());
    }
    Err(fault("steering", format!("heard {wanted} times"), heard.to_string()))
}

/// A run that was paused after some event, and resumed: it begins no turn in between, and ends as it does without.
pub(crate) fn paused(run: &RunRecord, plain: Option<&RunRecord>) -> Checked {
    self::run(run)?;
    let mut stands = false;
    for event in &run.events {
        if let Fact::Model(ModelFact::Started(turn)) = &event.fact
            && stands
            && !turn.after_loss
        {
            return Err(fault("pause", "no turn before its end", super::record::line(event)));
        }
        let resumed = matches!(&event.fact, Fact::People(PeopleFact::InputReceived(received)) if matches!(received.answer, Answer::Resume { .. }));
        stands = (stands || matches!(event.fact, Fact::People(PeopleFact::Paused(_)))) && !resumed;
    }
    let end = |run: &RunRecord| run.state.ended().map(|end| (end.status, end.text.clone()));
    let (paused, plain) = (end(run), plain.and_then(end));
    // A case that waits for people waits with them.
    if plain.is_none() || paused == plain {
        return Ok(());
    }
    Err(fault("pause", format!("the same end: {plain:?}"), format!("{paused:?}")))
}

fn fault(place: &str, expected: impl Into<String>, found: impl Into<String>) -> Mismatch {
    Mismatch::new(expected, found).under(place).under("sound")
}

fn one_end(state: &State, events: &[Event]) -> Checked {
    let ends: Vec<usize> = events
        .iter()
        .enumerate()
        .filter(|(_, event)| matches!(event.fact, Fact::Run(RunFact::Ended(_))))
        .map(|(place, _)| place + 1)
        .collect();
    let wanted = if state.is_finished() { vec![events.len()] } else { Vec::new() };
    if ends == wanted {
        return Ok(());
    }
    Err(fault("end", format!("RunEnded at {wanted:?}"), format!("at {ends:?}")))
}

fn one_result_each(state: &State, events: &[Event]) -> Checked {
    let mut results: BTreeMap<&CallId, usize> = BTreeMap::new();
    for event in events {
        if let Fact::Model(ModelFact::Completed(turn)) = &event.fact {
            results.extend(turn.calls.iter().map(|call| (&call.id, 0)));
        } else if let Fact::Code(CodeFact::Called(code)) = &event.fact {
            results.extend(code.calls.iter().map(|call| (&call.id, 0)));
        } else if let Fact::Plan(PlanFact::Made(made)) = &event.fact {
            results.extend(made.call.iter().map(|call| (call, 0)));
        } else if let Fact::Call(CallFact::Finished(CallFinished { call, .. }))
        | Fact::Code(CodeFact::Finished(CodeFinished { call, .. }))
        | Fact::Delegation(DelegationFact::Finished(DelegationFinished { call, .. })) = &event.fact
        {
            *results.entry(call).or_default() += 1;
        }
    }
    let odd = |count: usize| count > 1 || state.is_finished() && count == 0;
    match results.into_iter().find(|(_, count)| odd(*count)) {
        Some((call, count)) => Err(fault("results", format!("one for call {call}"), count.to_string())),
        None => Ok(()),
    }
}

fn valid_history(state: &State) -> Checked {
    let mut waiting: Vec<&CallId> = Vec::new();
    for message in state.history().iter() {
        match &**message {
            Message::Tool(result) if waiting.first() == Some(&&result.call) => {
                waiting.remove(0);
            }
            Message::Tool(result) => {
                return Err(fault(
                    "history",
                    format!("results for {waiting:?}"),
                    format!("one for {}", result.call),
                ));
            }
            _ if !waiting.is_empty() => {
                return Err(fault(
                    "history",
                    format!("results for {waiting:?}"),
                    format!("a {} message", message.role()),
                ));
            }
            Message::Assistant(reply) => waiting = reply.calls.iter().map(|call| &call.id).collect(),
            Message::System { .. } | Message::User { .. } | Message::TaskDelegation { .. } => {}
        }
    }
    if state.is_finished() && !waiting.is_empty() {
        return Err(fault("history", format!("results for {waiting:?}"), "the end"));
    }
    Ok(())
}

fn all_usage(state: &State, events: &[Event]) -> Checked {
    let mut used = Usage::default();
    events.iter().filter_map(|event| event.fact.usage()).for_each(|usage| used.add(usage));
    if used == *state.usage() {
        return Ok(());
    }
    Err(fault("usage", format!("{used:?}"), format!("{:?}", state.usage())))
}
