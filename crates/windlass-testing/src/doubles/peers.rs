//! Peers: agents that a case's agent hands tasks to.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use windlass_core::budget::Amount;
use windlass_core::model::Usage;
use windlass_core::{CallOutcome, Message, Text};
use windlass_runtime::{AgentDelegate, Delegate, Task, TaskEnd};

use crate::fixture::{During, PeerStep, SentRequest};
use crate::script::{GivenTask, Script};
use crate::sim::yield_now;

/// A task of a peer as a request, for expectations.
fn sent(task: &Task) -> SentRequest {
    let own = Message::TaskDelegation { content: task.task.as_str().into() };
    let messages = task.context.iter().cloned().chain([own]).map(Arc::new).collect();
    SentRequest { messages, ..SentRequest::default() }
}

/// A peer whose answers are given.
#[derive(Debug)]
pub(crate) struct ScriptedPeer {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) does: Vec<PeerStep>,
    /// Its own part.
    pub(crate) script: Script,
}

impl ScriptedPeer {
    fn step(&self, nth: usize) -> Option<&PeerStep> {
        self.does.get(nth).or_else(|| self.does.last())
    }
}

impl Delegate for ScriptedPeer {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn available(&self) -> bool {
        let next = self.script.lock().tasks_of(self.script.path());
        self.step(next) != Some(&PeerStep::Unreachable)
    }

    fn run(&self, task: Task) -> BoxFuture<'static, TaskEnd> {
        let script = self.script.clone();
        let (place, cancelled) = {
            let mut inner = script.lock();
            let before = inner.tasks_of(script.path());
            let place = inner.given(script.path(), GivenTask { run: task.run, sent: sent(&task) });
            // Its work is a call like a tool's; one that a crash lost is the same one.
            inner.tool_calls += u32::from(place == before);
            let number = inner.tool_calls;
            (place, inner.cancels(During::Tool, number))
        };
        let step = self.step(place).cloned();
        let name = self.name.clone();
        Box::pin(async move {
            if cancelled {
                yield_now().await;
            }
            script.turns.rest().await;
            if task.cancel.is_cancelled() {
                return done(CallOutcome::Interrupted);
            }
            let failed = |message: String| CallOutcome::Error { kind: None, message: message.into() };
            done(match step {
                Some(PeerStep::Reply(text)) => CallOutcome::Ok { content: text.into() },
                Some(PeerStep::Error(message)) => failed(message),
                Some(PeerStep::Unreachable) => {
                    failed(format!("Agent {name} unavailable: it cannot be reached"))
                }
                None => {
                    script.problem(format!("the peer {name} was given a task, but `does` is empty"));
                    failed("the script says nothing".to_owned())
                }
            })
        })
    }
}

fn done(outcome: CallOutcome) -> TaskEnd {
    TaskEnd::Done { outcome, usage: Usage::default(), cost: Some(0), reserved: Amount::default() }
}

/// A real agent with its own script.
#[derive(Debug)]
pub(crate) struct AgentPeer {
    pub(crate) agent: AgentDelegate,
    /// Its own part.
    pub(crate) script: Script,
}

impl Delegate for AgentPeer {
    fn name(&self) -> &str {
        self.agent.name()
    }

    fn description(&self) -> &str {
        self.agent.description()
    }

    fn unpriced(&self) -> Option<Text> {
        self.agent.unpriced()
    }

    fn run(&self, task: Task) -> BoxFuture<'static, TaskEnd> {
        let given = GivenTask { run: task.run, sent: sent(&task) };
        self.script.lock().given(self.script.path(), given);
        self.agent.run(task)
    }
}
