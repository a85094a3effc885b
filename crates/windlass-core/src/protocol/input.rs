//! Actions: the work that should be going on now, and the inputs by which its end comes back.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::protocol::fact::Adjusted;
use crate::protocol::fact::interrupts::{AnsweredBy, Steered};
use crate::protocol::fact::run::{ResumedBy, RunStarted};
use crate::vocabulary::amount::Amount;
use crate::vocabulary::binding::BindingDigests;
use crate::vocabulary::history::Splice;
use crate::vocabulary::ids::{ActionId, Millis, QuestionId, RunId, Text};
use crate::vocabulary::message::Message;
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::question::{Answer, QuestionKind};
use crate::vocabulary::reply::{ModelFailure, Reply, Usage};
use crate::vocabulary::tool::ToolSpec;

/// Something that came from outside, with its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// When it came.
    pub at: Millis,
    /// The input.
    pub what: InputKind,
}

/// A call that code makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostCall {
    /// The tool's name.
    pub name: Text,
    /// The arguments, as JSON text.
    pub args: Text,
}

/// The finding of a tool's check about a call that had started when the process died.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// It happened, with this end.
    Happened(CallOutcome),
    /// It did not happen.
    NotHappened,
    /// It cannot be said: a person is asked.
    Unsure,
}

/// Edits of a hook after a step, before the next model call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepEdits {
    /// Other tools, models or instructions from here on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjusted: Option<Adjusted>,
    /// Changes of the conversation, one after another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splices: Vec<Splice>,
    /// The end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<HookEnd>,
    /// Branches to start, each as the arguments of a call of the tool [`BRANCH_TOOL`](crate::tool::BRANCH_TOOL), as JSON text.
    /// Where there are any, nothing else of these edits is made: the hook is asked again once they have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<Text>,
}

/// The end of a run by its hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEnd {
    /// With this output, which must fit the agent's schema.
    Finish(Value),
    /// As failed, with this error.
    Abort(Text),
}

/// The kinds of inputs, with their data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// Start the run.
    Start(Box<RunStarted>),
    /// A holder takes the run over: offered first after a restart.
    Resumed {
        /// Identity of the new holder.
        holder: Text,
        /// The lease's fencing number.
        epoch: u64,
        /// The authority that resumes the run.
        #[serde(default, skip_serializing_if = "ResumedBy::is_runtime")]
        by: ResumedBy,
        /// The change that came while the run had no holder: it is recorded before any work restarts, so an approval holds only for
        /// an unchanged call. With an agent in it ([`Adjusted::agent`]), another agent goes on with a run that came from elsewhere,
        /// and every open call passes its gate anew. `None`: nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        adjusted: Option<Box<Adjusted>>,
    },
    /// A model call brought a reply.
    Replied {
        /// The action.
        action: ActionId,
        /// The reply.
        reply: Box<Reply>,
        /// Feedback to the model where the output fits the schema and the agent's own check does not accept it: why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        objection: Option<Text>,
        /// The end of another attempt at the same call, with its usage: two models were asked, and that one was stopped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost: Option<Box<ModelFailure>>,
    },
    /// A model call failed.
    ModelFailed {
        /// The action.
        action: ActionId,
        /// The failure.
        failure: Box<ModelFailure>,
        /// Random part of the retry delay, in thousandths (0 to 1000). Randomness is an input to the core.
        jitter: u16,
    },
    /// A call ended, or was stopped.
    CallEnded {
        /// The action.
        action: ActionId,
        /// The outcome.
        outcome: CallOutcome,
    },
    /// A call was sent, and its answer is lost: with the connection, the server, the process of the tool, or its time. Whether
    /// it happened is not known.
    CallLost {
        /// The action.
        action: ActionId,
        /// How the answer was lost: the outcome of a call that may be repeated.
        outcome: CallOutcome,
    },
    /// Code asks for calls, all at once. It goes on once each of them has its result.
    CodeCalls {
        /// The action.
        action: ActionId,
        /// The calls, in order.
        calls: Vec<HostCall>,
    },
    /// Code came to its end, or was stopped.
    CodeEnded {
        /// The action.
        action: ActionId,
        /// The outcome, with the value that the code returned as JSON text.
        outcome: CallOutcome,
        /// Text that it printed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stdout: Option<Text>,
    },
    /// Another agent has done its task, or could not.
    DelegateEnded {
        /// The action.
        action: ActionId,
        /// The outcome.
        outcome: CallOutcome,
        /// Tokens that it used.
        usage: Usage,
        /// Cost in pico-dollars; `None`: unknown.
        cost: Option<u64>,
        /// The child run's reservations for model calls that were lost with their process.
        #[serde(default, skip_serializing_if = "Amount::is_zero")]
        reserved: Amount,
    },
    /// Another agent has a question to a person: it is answered here.
    DelegateAsks {
        /// The action.
        action: ActionId,
        /// The question's id in its own run.
        question: QuestionId,
        /// Kind of answer expected.
        kind: QuestionKind,
        /// The question in words.
        text: Text,
        /// Answers to choose from.
        suggestions: Vec<Text>,
    },
    /// Another agent waits for the quota of a model.
    DelegateDeferred {
        /// The action.
        action: ActionId,
        /// The model.
        model: Text,
        /// When it goes on.
        until: Millis,
    },
    /// The tool knows whether the call happened.
    Checked {
        /// The action.
        action: ActionId,
        /// Result of the check.
        found: Found,
    },
    /// The hook has seen a step.
    HookEnded {
        /// The action.
        action: ActionId,
        /// The changes that the hook makes.
        edits: Box<StepEdits>,
    },
    /// A person answered.
    Answered {
        /// The question.
        question: QuestionId,
        /// The answer.
        answer: Answer,
        /// The giver, and the place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<AnsweredBy>,
    },
    /// A message to the running agent.
    Steer(Steered),
    /// A request to pause the run: what is going on comes to its end, and the model is not asked again until a person
    /// [resumes](Answer::Resume) the run.
    Pause {
        /// Why, or who.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Text>,
    },
    /// A message to the session that a run of its own answers after this one.
    Queue {
        /// The id of that run.
        run: RunId,
        /// SHA-256 of the request, where it came under an idempotency key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_digest: Option<Text>,
        /// The message.
        messages: Vec<Arc<Message>>,
    },
    /// A request to cancel the run.
    Cancel {
        /// Why, or who.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Text>,
    },
    /// The tools changed while the run is on (a tool server's list, a hook).
    ToolsChanged {
        /// All tools from now on.
        tools: Arc<Vec<ToolSpec>>,
        /// All binding digests from now on; `None`: as before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        binding_digests: Option<Arc<BindingDigests>>,
    },
    /// A timer's time came.
    TimerFired {
        /// The action.
        action: ActionId,
    },
}

impl InputKind {
    /// A take-over with nothing changed.
    pub fn resumed(holder: impl Into<Text>, epoch: u64, by: ResumedBy) -> Self {
        Self::Resumed { holder: holder.into(), epoch, by, adjusted: None }
    }

    /// A model's reply, with no objection to it, and no other attempt at the call.
    pub fn replied(action: ActionId, reply: impl Into<Box<Reply>>) -> Self {
        Self::Replied { action, reply: reply.into(), objection: None, lost: None }
    }
}

/// The quota that a run waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaWait {
    /// The model that is asked then.
    pub model: Text,
    /// When the run goes on.
    pub until: Millis,
}
