//! The tasks that a run handed to other agents.

use windlass_core::event::{DelegationFact, Millis};
use windlass_core::model::Usage;
use windlass_core::{CallId, CallOutcome, Event, Fact, RunId, Text};

/// A task that a run handed to another agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The call.
    pub call: CallId,
    /// The agent.
    pub agent: Text,
    /// The run that does it.
    pub run: RunId,
    /// When it was handed over first.
    pub began: Millis,
    /// When its result came back.
    pub ended: Option<Millis>,
    /// Its result.
    pub outcome: Option<CallOutcome>,
    /// Its tokens as it gave them back.
    pub usage: Usage,
    /// Their cost in pico-dollars; `None`: unknown, or not yet back.
    pub pico_usd: Option<u64>,
}

/// Takes in what an event says of tasks. A task that is handed over again, such as with an answer, stays one.
pub(super) fn learn(tasks: &mut Vec<Task>, event: &Event) {
    if let Fact::Delegation(DelegationFact::Started(started)) = &event.fact {
        if tasks.iter().any(|task| task.run == started.run) {
            return;
        }
        tasks.push(Task {
            call: started.call.clone(),
            agent: started.agent.clone(),
            run: started.run,
            began: event.at,
            ended: None,
            outcome: None,
            usage: Usage::default(),
            pico_usd: None,
        });
    } else if let Fact::Delegation(DelegationFact::Finished(finished)) = &event.fact
        && let Some(task) = tasks.iter_mut().rev().find(|task| task.call == finished.call)
    {
        let free = (finished.usage.total() == 0).then_some(0);
        task.ended = Some(event.at);
        task.outcome = Some(finished.outcome.clone());
        (task.usage, task.pico_usd) = (finished.usage, finished.cost.or(free));
    }
}
