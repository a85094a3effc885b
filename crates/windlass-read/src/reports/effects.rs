//! The ledger of effects: what each call of a run intended, how often it was tried, what came back, and what was in doubt.

use windlass_core::event::{CallFact, Millis, PeopleFact};
use windlass_core::tool::{Effect, Hint};
use windlass_core::{Answer, CallId, CallOutcome, Event, Fact, QuestionId, RunId, State, Text, evolve};
use windlass_macros::Named;
use windlass_store::Log;

use crate::error::Error;
use crate::load::pages::RunPages;
use crate::load::state_before;

/// A call that a run began, or whose result it has from its base.
#[derive(Clone, Debug, PartialEq)]
pub struct CallEffects {
    /// The call.
    pub call: CallId,
    /// Its tool.
    pub tool: Text,
    /// Effect of running the call twice; `None`: the run no longer has the tool.
    pub effect: Option<Effect>,
    /// Whether its tool's server says that it only reads.
    pub reads: bool,
    /// The idempotency key that the tool is given at each try.
    pub key: Text,
    /// The arguments that it ran with, as JSON text.
    pub args: Text,
    /// Steps, in order.
    pub entries: Vec<EffectEntry>,
}

/// One line of the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectEntry {
    /// The number of its event.
    pub seq: u64,
    /// When.
    pub at: Millis,
    /// The step.
    pub what: EffectStep,
}

/// A step of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum EffectStep {
    /// It was going to run: durable before it did.
    Intent {
        /// Number of the attempt, from 1.
        attempt: u32,
    },
    /// A try failed, and another one followed.
    Failed(CallOutcome),
    /// Whether it happened is unknown, and it must not be repeated blindly: its answer was lost in this way; `None`: with
    /// the process.
    Doubt(Option<CallOutcome>),
    /// A person was asked whether it had happened.
    Asked(QuestionId),
    /// The person's answer.
    Settled(Answer),
    /// Its one result.
    Receipt(CallOutcome),
}

impl CallEffects {
    /// Number of attempts.
    pub fn attempts(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry.what, EffectStep::Intent { .. })).count()
    }

    /// Its result, if it has one.
    pub fn receipt(&self) -> Option<&CallOutcome> {
        self.entries.iter().find_map(|entry| {
            if let EffectStep::Receipt(outcome) = &entry.what { Some(outcome) } else { None }
        })
    }

    /// Its doubts, each with how it was settled; `None`: it is open.
    pub fn doubts(&self) -> Vec<(u64, Option<Settlement>)> {
        let doubts = self.entries.iter().enumerate();
        let doubts = doubts.filter(|(_, entry)| matches!(entry.what, EffectStep::Doubt(_)));
        doubts.map(|(place, entry)| (entry.seq, settlement(&self.entries, place))).collect()
    }
}

/// How an unknown outcome was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Settlement {
    /// The tool's check: it had happened.
    #[named("check: it had happened")]
    CheckHappened,
    /// The tool's check: it had not happened, and ran again.
    #[named("check: it had not happened")]
    CheckNotHappened,
    /// A person gave its result.
    #[named("a person gave its result")]
    PersonResult,
    /// A person let it run again.
    #[named("a person let it run again")]
    PersonRunAgain,
    /// The outcome stayed unknown; the model was told so.
    Unknown,
    /// It was doubted anew before anybody could say.
    #[named("doubted again")]
    DoubtedAgain,
}

fn settlement(entries: &[EffectEntry], place: usize) -> Option<Settlement> {
    entries.iter().skip(place + 1).find_map(|entry| match &entry.what {
        EffectStep::Settled(Answer::Result(_)) => Some(Settlement::PersonResult),
        EffectStep::Settled(Answer::RunAgain) => Some(Settlement::PersonRunAgain),
        EffectStep::Settled(_) | EffectStep::Receipt(CallOutcome::Unknown) => Some(Settlement::Unknown),
        EffectStep::Receipt(_) => Some(Settlement::CheckHappened),
        EffectStep::Intent { .. } => Some(Settlement::CheckNotHappened),
        EffectStep::Doubt(_) => Some(Settlement::DoubtedAgain),
        EffectStep::Asked(_) | EffectStep::Failed(_) => None,
    })
}

/// The ledger of a run, in the order in which its calls began.
///
/// # Errors
/// The run or one of its bases is not in the log, or the log failed.
pub async fn effects(log: &dyn Log, run: RunId) -> Result<Vec<CallEffects>, Error> {
    effects_and(log, run, |_, _| ()).await
}

/// The same; `seen` is given each event with its number.
pub(super) async fn effects_and(
    log: &dyn Log,
    run: RunId,
    mut seen: impl FnMut(u64, &Event) + Send,
) -> Result<Vec<CallEffects>, Error> {
    let mut state = state_before(log, run).await?;
    let mut ledger = Ledger::default();
    let mut pages = RunPages::new(log, run);
    while let Some(batches) = pages.next().await? {
        for event in batches.iter().flat_map(|batch| batch.events.iter()) {
            let after = evolve(state.clone(), event);
            ledger.note(&state, event, &after);
            seen(after.version(), event);
            state = after;
        }
    }
    Ok(ledger.calls)
}

#[derive(Default)]
struct Ledger {
    calls: Vec<CallEffects>,
    asked: Vec<(QuestionId, CallId)>,
}

impl Ledger {
    fn note(&mut self, before: &State, event: &Event, after: &State) {
        let (call, what, begins) = match &event.fact {
            Fact::Call(CallFact::Started(one)) => {
                (&one.call, EffectStep::Intent { attempt: one.attempt }, true)
            }
            Fact::Call(CallFact::Retried(retried)) => {
                (&retried.call, EffectStep::Failed(retried.outcome.clone()), false)
            }
            Fact::Call(CallFact::Doubted(doubted)) => {
                (&doubted.call, EffectStep::Doubt(doubted.lost.clone()), true)
            }
            Fact::Call(CallFact::Finished(finished)) => {
                let from_base = before.has_ended_in_base(&finished.call, &finished.outcome);
                (&finished.call, EffectStep::Receipt(finished.outcome.clone()), from_base)
            }
            Fact::People(PeopleFact::InputRequested(asked)) => {
                let Some(call) = &asked.call else { return };
                self.asked.push((asked.question.clone(), call.clone()));
                (call, EffectStep::Asked(asked.question.clone()), false)
            }
            Fact::People(PeopleFact::InputReceived(received)) => {
                let asked = self.asked.iter().find(|(question, _)| *question == received.question);
                let Some((_, call)) = asked.cloned() else { return };
                let what = EffectStep::Settled(received.answer.clone());
                self.add(&call, event, after, what);
                return;
            }
            _ => return,
        };
        if begins && !self.calls.iter().any(|known| known.call == *call) {
            let state = if after.open_call(call).is_some() { after } else { before };
            self.calls.extend(begun(state, before, call));
        }
        self.add(call, event, after, what);
    }

    fn add(&mut self, call: &CallId, event: &Event, after: &State, what: EffectStep) {
        // What people decided before a call began is no part of its effects.
        if let Some(known) = self.calls.iter_mut().rev().find(|known| known.call == *call) {
            known.entries.push(EffectEntry { seq: after.version(), at: event.at, what });
        }
    }
}

fn begun(state: &State, before: &State, call: &CallId) -> Option<CallEffects> {
    let open = state.open_call(call).or_else(|| before.open_call(call))?;
    Some(CallEffects {
        call: call.clone(),
        tool: open.target_name().clone(),
        effect: state.target(open).map(|tool| tool.effect),
        reads: state.target(open).is_some_and(|tool| tool.hint == Hint::ReadOnly),
        key: state.call_key(call).or_else(|| before.call_key(call))?,
        args: open.args().into(),
        entries: Vec::new(),
    })
}
