//! Delegates: other agents that a run hands tasks to, each offered as a tool of its name.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use windlass_core::budget::{Amount, Budget};
use windlass_core::event::{InputReceived, Millis, ResumedBy};
use windlass_core::model::Usage;
use windlass_core::run::OpenQuestion;
use windlass_core::tool::{Offer, ToolKind};
use windlass_core::{CallOutcome, Message, Owner, RunId, Text, ToolSpec};
use windlass_store::StoreError;
use windlass_tools::Bound;

use crate::agent::Agent;
use crate::platform::account::SharedAccount;

/// Another agent that does tasks.
pub trait Delegate: Send + Sync + std::fmt::Debug {
    /// Its name: the tool's name.
    fn name(&self) -> &str;

    /// Description for the model.
    fn description(&self) -> &str;

    /// Whether it can be reached: others are known to the model as unavailable, and tried again later.
    fn available(&self) -> bool {
        true
    }

    /// A model that it may ask and whose price is unknown: agents with a limit on cost cannot have such a delegate. Default:
    /// none.
    fn unpriced(&self) -> Option<Text> {
        None
    }

    /// Binding of its tasks: part of the digest of agents that have it, and of approvals. It excludes the current address.
    /// Default: empty.
    fn binding(&self) -> Vec<Bound> {
        Vec::new()
    }

    /// Does a task. A take-over and an answered question ask for the same run again.
    fn run(&self, task: Task) -> BoxFuture<'static, TaskEnd>;

    /// It as a tool.
    fn spec(&self) -> ToolSpec {
        let parameters = json!({
            "type": "object",
            "properties": { "task": { "type": "string", "description": "What to do, in words" } },
            "required": ["task"]
        });
        // A repeat continues the same child run, whose calls have their own effects.
        let mut spec = ToolSpec::read_only(self.name(), self.description(), parameters);
        spec.kind = ToolKind::Delegate;
        spec.origin = "agents".into();
        if !self.available() {
            spec.offer = Offer::Unreachable;
        }
        spec
    }
}

/// A task for another agent.
#[derive(Clone, Debug)]
pub struct Task {
    /// The run that does it.
    pub run: RunId,
    /// The owner of the parent run, and of this one.
    pub owner: Owner,
    /// The parent run.
    pub parent: RunId,
    /// The task in words.
    pub task: String,
    /// The last messages of the parent's conversation, where its policy hands them on (KAOS).
    pub context: Vec<Message>,
    /// The answer to the question that the task ended with the last time.
    pub answer: Option<InputReceived>,
    /// Cancelled when the task is no longer wanted. If it is cancelled from the start, the parent is being stopped: cancel the
    /// child run if it was started, and do not work on it.
    pub cancel: CancellationToken,
    /// The authority that resumed the parent run ([`DriveOptions::resumed_by`](crate::DriveOptions::resumed_by)).
    pub resumed_by: ResumedBy,
    /// Ends when this process is to end: work is stopped, the run that does the task stays as it is, and the task ends as
    /// [`TaskEnd::Detached`].
    pub detach: CancellationToken,
    /// Part of the parent's limits that the child run may use.
    pub budget: Budget,
    /// After how many milliseconds without content, a tool's result or usage the child run is to end; `None`: never.
    pub inactivity_ms: Option<u64>,
    /// Account for its model calls, where limits are shared.
    pub(crate) account: Option<Arc<SharedAccount>>,
}

/// The end of a task, or its wait for a person.
#[derive(Clone, Debug)]
pub enum TaskEnd {
    /// It is done, or cannot be.
    Done {
        /// The outcome.
        outcome: CallOutcome,
        /// Tokens used.
        usage: Usage,
        /// Cost in pico-dollars; `None`: unknown.
        cost: Option<u64>,
        /// Reservations for model calls lost with their process; they may have been charged.
        reserved: Amount,
    },
    /// The child run was detached from. When the parent run is resumed, the task is delegated again.
    Detached,
    /// The log failed under it: the run that handed the task over ends with that error, and can be resumed.
    LogFailed(Arc<StoreError>),
    /// It waits for a person: the question is put to people at the parent.
    Asks(Box<OpenQuestion>),
    /// It waits for the quota of a model, and holds nothing: the parent asks for the same run again then.
    Waits {
        /// The model.
        model: Text,
        /// When its quota opens.
        until: Millis,
    },
}

/// An agent in this process as a delegate. Its runs are in its own log.
#[derive(Debug)]
pub struct AgentDelegate {
    pub(crate) agent: Agent,
}

impl AgentDelegate {
    /// That agent.
    pub fn new(agent: Agent) -> Self {
        Self { agent }
    }
}
