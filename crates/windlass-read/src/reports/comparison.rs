//! Two runs side by side: what they have in common, and what each did from there on.

use windlass_core::event::{CallFact, DelegationFact, ModelFact, RunFact, RunInput};
use windlass_core::model::Usage;
use windlass_core::{Event, Fact, RunId, Status};
use windlass_store::Log;

use crate::error::Error;
use crate::load::load;
use crate::load::pages::{DEEPEST_BASE, RunPages, numbered};

/// An event with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedEvent {
    /// The run that the event belongs to: a compared run, or its base.
    pub run: RunId,
    /// Its number in that run.
    pub seq: u64,
    /// The event.
    pub event: Event,
}

/// One side of a comparison: a run with everything that it is based on.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRun {
    /// The run.
    pub run: RunId,
    /// The events of its bases and its own. The start of a fork is left out: nothing happens there.
    pub events: Vec<PlacedEvent>,
    /// Final status; `None`: it has not ended.
    pub status: Option<Status>,
    /// Its tokens.
    pub usage: Usage,
    /// Their cost in US dollars; `None` where a price is unknown.
    pub cost_usd: Option<f64>,
}

/// Two runs side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The first run.
    pub a: ComparedRun,
    /// The second run.
    pub b: ComparedRun,
    /// The number of events that both begin with.
    pub common: usize,
}

impl Comparison {
    /// Whether both runs did the same.
    pub fn is_same(&self) -> bool {
        self.common == self.a.events.len() && self.common == self.b.events.len()
    }

    /// The number of common events that belong to a shared base, so that they are the very same.
    pub fn shared(&self) -> usize {
        let common = self.a.events.iter().zip(&self.b.events).take(self.common);
        common.filter(|(a, b)| a.run == b.run).count()
    }

    /// The first event on each side that differs; `None`: that side has no more.
    pub fn first_difference(&self) -> (Option<&PlacedEvent>, Option<&PlacedEvent>) {
        (self.a.events.get(self.common), self.b.events.get(self.common))
    }
}

/// Compares two runs of a log: events of a shared base, or equal facts from the start. Times, ids of runs and binding digests do not
/// count.
///
/// # Errors
/// One of the runs or of their bases is not in the log, or the log failed.
pub async fn compare_runs(log: &dyn Log, a: RunId, b: RunId) -> Result<Comparison, Error> {
    let (a, b) = (compared(log, a).await?, compared(log, b).await?);
    let common = a.events.iter().zip(&b.events).take_while(|(a, b)| is_same(a, b)).count();
    Ok(Comparison { a, b, common })
}

async fn compared(log: &dyn Log, run: RunId) -> Result<ComparedRun, Error> {
    let state = load(log, run).await?;
    let mut pieces = Vec::new();
    let (mut next, mut until) = (Some(run), u64::MAX);
    while let Some(run) = next.filter(|_| pieces.len() < DEEPEST_BASE) {
        let mut events = Vec::new();
        let mut pages = RunPages::new(log, run);
        while let Some(batches) = pages.next().await? {
            let own = batches.iter().flat_map(numbered).filter(|(seq, _)| *seq <= until);
            events.extend(own.map(|(seq, event)| PlacedEvent { run, seq, event: event.clone() }));
        }
        let base = events.first().and_then(|first| {
            if let Fact::Run(RunFact::Started(start)) = &first.event.fact { start.base.clone() } else { None }
        });
        if base.is_some() {
            events.retain(|placed| !is_fork(&placed.event));
        }
        pieces.push(events);
        next = base.as_ref().map(|base| base.run);
        until = base.map_or(0, |base| base.version);
    }
    Ok(ComparedRun {
        run,
        events: pieces.into_iter().rev().flatten().collect(),
        status: state.ended().map(|end| end.status),
        usage: *state.usage(),
        cost_usd: state.cost().map(|pico| pico as f64 / 1e12),
    })
}

fn is_fork(event: &Event) -> bool {
    matches!(&event.fact, Fact::Run(RunFact::Started(start)) if matches!(start.input, RunInput::Fork(_)))
}

fn is_same(a: &PlacedEvent, b: &PlacedEvent) -> bool {
    a.run == b.run && a.seq == b.seq || comparable(&a.event) == comparable(&b.event)
}

/// A fact without what differs between any two runs: ids, holders, binding digests and times.
pub fn comparable(event: &Event) -> Fact {
    let mut fact = event.fact.clone();
    match &mut fact {
        Fact::Run(RunFact::Started(start)) => {
            start.run = RunId::from_number(0);
            start.session = None;
            // Under salts of their own they say nothing about each other; the agent's digest does.
            start.binding_digests = None;
        }
        Fact::Run(RunFact::Adjusted(adjusted)) => adjusted.binding_digests = None,
        // It covers binding digests.
        Fact::Call(CallFact::ToolAllowed(allowed)) => allowed.digest = "".into(),
        Fact::Run(RunFact::Resumed(resumed)) => {
            resumed.epoch = 0;
            resumed.holder = "".into();
        }
        Fact::Call(CallFact::Retried(retried)) => retried.retry_at = 0,
        Fact::Delegation(DelegationFact::Deferred(waits)) => waits.until = 0,
        Fact::Model(ModelFact::Failed(failed)) => failed.retry_at = failed.retry_at.map(|_| 0),
        _ => {}
    }
    fact
}
