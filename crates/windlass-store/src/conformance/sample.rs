//! Runs and events to try a log with.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_core::event::{AgentRef, Cause, Millis, RunEnded, RunInput, RunStarted, Steered};
use windlass_core::model::Usage;
use windlass_core::policy::Preset;
use windlass_core::{Event, Fact, InputKind, Message, RunId, RunState, SessionId, Status};

use super::works;
use crate::{Append, Batch, Claim, Fence, Holder, Store};

/// The time of the first event of every sample run, plus its number.
pub(super) const BEGAN: Millis = 1_700_000_000_000;

pub(super) fn holder(name: &str) -> Holder {
    Holder(name.into())
}

pub(super) fn fence(name: &str, epoch: u64) -> Fence {
    Fence { holder: holder(name), epoch }
}

/// A number that no other request for a lease has.
pub(super) fn claim() -> Claim {
    static LAST: AtomicU64 = AtomicU64::new(0);
    Claim(LAST.fetch_add(1, Ordering::Relaxed))
}

/// A run with a number, begun at [`BEGAN`] plus that number.
pub(super) fn id(number: u32) -> RunId {
    RunId::from_number(u128::from(number))
}

pub(super) fn started(number: u32, text: &str) -> RunStarted {
    let agent = AgentRef { name: "librarian".into(), digest: "d1".into() };
    let input = RunInput::Messages(vec![Arc::new(Message::user(text))]);
    RunStarted { policy: Arc::new(Preset::CHAT.policy()), ..RunStarted::new(id(number), agent, input) }
}

/// So many events, the first with that sequence number. They differ from each other and hold difficult text.
pub(super) fn steered(first: u64, count: u64) -> Arc<[Event]> {
    let event = |seq| {
        let text = format!("event {seq}: \"quotes\" \\ \u{0} line\nbreak and \u{1f9ed}");
        Event { at: BEGAN + seq, fact: Fact::from(Steered::from(text)) }
    };
    (first..first + count).map(event).collect()
}

/// The cause of the sample append that begins with that event: no two that follow each other are the same.
pub(super) fn cause(first: u64) -> Cause {
    if first == 1 { Cause::Start } else { Cause::TimerFired { action: first } }
}

pub(super) fn ended(status: Status) -> Arc<[Event]> {
    let usage = Usage::default();
    let fact = RunEnded { status, text: None, output: None, error: None, usage, cost: None }.into();
    Arc::new([Event { at: BEGAN + 1_000, fact }])
}

pub(super) fn steer(text: &str) -> InputKind {
    InputKind::Steer(text.into())
}

/// Starts a run with one event, held by `maker` with epoch 1.
pub(super) async fn begin(log: &dyn Store, number: u32) -> Result<RunId, String> {
    begin_as(log, number, started(number, "hello")).await
}

pub(super) async fn begin_as(log: &dyn Store, number: u32, started: RunStarted) -> Result<RunId, String> {
    let run = started.run;
    let events: Arc<[Event]> = Arc::new([Event { at: BEGAN + Millis::from(number), fact: started.into() }]);
    works("beginning a run", log.append(append(run, 0, events)).await)?;
    Ok(run)
}

/// The first append of a run, which moves no head.
pub(super) fn first(started: RunStarted) -> Append {
    let run = started.run;
    append(run, 0, Arc::new([Event { at: BEGAN, fact: started.into() }]))
}

/// An append of a running run by `maker` with epoch 1.
pub(super) fn append(run: RunId, expected: u64, events: Arc<[Event]>) -> Append {
    let first = expected + 1;
    let batch = Batch { first, cause: cause(first), events };
    Append::of(run, batch, fence("maker", 1), RunState::Running)
}

/// Ends a run that has so many events.
pub(super) async fn end(log: &dyn Store, run: RunId, expected: u64, status: Status) -> Result<(), String> {
    let append = Append { run_state: RunState::Ended(status), ..append(run, expected, ended(status)) };
    works("ending a run", log.append(append).await)
}

pub(super) fn in_session(started: RunStarted, session: &str) -> RunStarted {
    RunStarted { session: Some(SessionId::from(session)), ..started }
}

pub(super) fn flat(batches: &[Batch]) -> Vec<Event> {
    batches.iter().flat_map(|batch| batch.events.iter().cloned()).collect()
}
