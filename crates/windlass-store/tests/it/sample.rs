//! Runs and events for the tests of this crate.

use std::sync::Arc;

use windlass_core::event::{AgentRef, Base, Cause, RunEnded, RunInput, RunStarted, Steered};
use windlass_core::model::Usage;
use windlass_core::policy::Preset;
use windlass_core::{Event, Fact, Message, RunId, RunState, Status};
use windlass_store::{Append, Batch, Fence, Holder, Store};

pub(crate) fn id(number: u128) -> RunId {
    RunId::from_number(number)
}

pub(crate) fn fence(name: &str, epoch: u64) -> Fence {
    Fence { holder: Holder(name.into()), epoch }
}

pub(crate) fn started(run: RunId, base: Option<RunId>) -> Arc<[Event]> {
    let agent = AgentRef { name: "librarian".into(), digest: "d".into() };
    let input = RunInput::Messages(vec![Arc::new(Message::user("hello"))]);
    let fact = RunStarted {
        base: base.map(|run| Base { run, version: 2, digest: "d".into() }),
        policy: Arc::new(Preset::CHAT.policy()),
        ..RunStarted::new(run, agent, input)
    };
    Arc::new([Event { at: 1, fact: fact.into() }])
}

pub(crate) fn said(text: &str) -> Arc<[Event]> {
    Arc::new([Event { at: 2, fact: Fact::from(Steered::from(text)) }])
}

pub(crate) fn ended() -> Arc<[Event]> {
    let (status, usage) = (Status::Answered, Usage::default());
    let fact = RunEnded { status, text: None, output: None, error: None, usage, cost: None };
    Arc::new([Event { at: 3, fact: fact.into() }])
}

pub(crate) fn append(run: RunId, expected: u64, events: Arc<[Event]>) -> Append {
    let cause = if expected == 0 { Cause::Start } else { Cause::Steer };
    let batch = Batch { first: expected + 1, cause, events };
    Append::of(run, batch, fence("maker", 1), RunState::Running)
}

pub(crate) fn end(run: RunId, expected: u64) -> Append {
    Append { run_state: RunState::Ended(Status::Answered), ..append(run, expected, ended()) }
}

pub(crate) async fn begin(log: &dyn Store, number: u128) -> RunId {
    log.append(append(id(number), 0, started(id(number), None))).await.unwrap();
    id(number)
}

/// The whole chain of an error, as people see it.
pub(crate) fn words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words = format!("{words}: {cause}");
        source = cause.source();
    }
    words
}
