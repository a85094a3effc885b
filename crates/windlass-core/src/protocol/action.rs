//! Actions: the work that should be going on.

use crate::protocol::fact::calls::TaskOrder;
use crate::vocabulary::ids::{ActionId, CallId, Millis, QuestionId, RunId};
use crate::vocabulary::purpose::Purpose;

/// Work that should be going on: in the imperative.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// Its identity: stays the same as long as the same work is wanted. Only the time of a timer may change: it is then
    /// started anew.
    pub id: ActionId,
    /// The work to do.
    pub work: ActionKind,
}

/// The work of an [`Action`]. Requests and arguments are built from the state when the work starts.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionKind {
    /// Ask the model ([`State::request`](crate::State::request)); ends with [`InputKind::Replied`](crate::InputKind::Replied) or [`InputKind::ModelFailed`](crate::InputKind::ModelFailed).
    CallModel {
        /// Purpose of the call.
        purpose: Purpose,
    },
    /// Run a tool ([`State::open_call`](crate::State::open_call)); ends with [`InputKind::CallEnded`](crate::InputKind::CallEnded) or [`InputKind::CallLost`](crate::InputKind::CallLost).
    RunTool {
        /// The call.
        call: CallId,
        /// Number of this attempt, from 1.
        attempt: u32,
    },
    /// Run code that a model wrote, from its beginning or on from its last calls, whose results the state holds
    /// ([`State::code_calls`](crate::State::code_calls)); ends with [`InputKind::CodeCalls`](crate::InputKind::CodeCalls) or [`InputKind::CodeEnded`](crate::InputKind::CodeEnded).
    RunCode {
        /// The call that runs the code.
        call: CallId,
    },
    /// Let another agent do a task; ends with [`InputKind::DelegateEnded`](crate::InputKind::DelegateEnded), or with a question of it ([`InputKind::DelegateAsks`](crate::InputKind::DelegateAsks)),
    /// or because it waits for a quota ([`InputKind::DelegateDeferred`](crate::InputKind::DelegateDeferred)).
    Delegate {
        /// The call.
        call: CallId,
        /// The run that does it: the same one after a take-over.
        run: RunId,
        /// The order for the child run.
        order: TaskOrder,
    },
    /// Find out whether a call happened before a crash; ends with [`InputKind::Checked`](crate::InputKind::Checked).
    CheckCall {
        /// The call.
        call: CallId,
    },
    /// Ask the agent's hook what is to change after a step ([`State::step`](crate::State::step)); ends with
    /// [`InputKind::HookEnded`](crate::InputKind::HookEnded). A hook that was asked when the process died is asked again.
    RunHook,
    /// Put a question to a person; ends with [`InputKind::Answered`](crate::InputKind::Answered). May wait for ever.
    Ask {
        /// The question.
        question: QuestionId,
    },
    /// Wake the run at a time; ends with [`InputKind::TimerFired`](crate::InputKind::TimerFired).
    SetTimer {
        /// When, in the time of inputs.
        at: Millis,
    },
}
