//! The one trait of a tool.

use futures_core::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use windlass_core::message::Content;
use windlass_core::{CallId, CallOutcome, RunId, Text, ToolSpec};
use windlass_error::{Diagnostic, Kind};

use crate::binding::Bound;
use crate::lease::Lease;

/// The context of a call, for the tool that serves it.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The run.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// Number of this attempt, from 1; for a check, that of the attempt that it asks about.
    pub attempt: u32,
    /// The same for every try of this call, after a crash too: pass it on to what you call.
    pub idempotency_key: Text,
    /// Asks the tool to stop: it has the run's grace to do so, then its future is dropped.
    pub cancelled: CancellationToken,
    /// Confirms that the run is still this process' own: asked right before an effect.
    pub lease: Lease,
    /// The skills whose text stands in the conversation, in the order of their activation. Only the tools of skills are told of them.
    pub active_skills: Vec<Text>,
}

/// A tool's failure: the model gets the message, and the loop continues.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Diagnostic)]
#[error("{message}")]
#[diagnostic(kind = if *unknown_tool { Kind::NotFound } else { Kind::Unavailable }, code = "tool.failed")]
pub struct ToolError {
    /// A type name or code, if there is one; `typed` shows it to the model.
    pub kind: Option<Text>,
    /// The error, in words that a model can act on.
    pub message: Text,
    /// Whether there is no such tool any more (a server took it away): the call counts as unknown.
    pub unknown_tool: bool,
    /// Whether the call may have happened all the same: it was sent, and its answer is lost. A call with effect `once` is then
    /// settled by its check or a person before anything follows from it; any other has failed.
    pub in_doubt: bool,
    /// Whether the call certainly never began. A call that ran out of time has then failed with this error, and is not in doubt.
    pub unsent: bool,
}

impl ToolError {
    /// A failure without a kind.
    pub fn new(message: impl Into<Text>) -> Self {
        Self { kind: None, message: message.into(), unknown_tool: false, in_doubt: false, unsent: false }
    }

    /// A failure of a kind.
    pub fn of_kind(kind: impl Into<Text>, message: impl Into<Text>) -> Self {
        Self { kind: Some(kind.into()), ..Self::new(message) }
    }

    /// A failure after which nobody knows whether the call happened: it was sent, and its answer did not come. Any other failure
    /// is the tool's own word that the call failed, or that it was refused before it began.
    pub fn in_doubt(message: impl Into<Text>) -> Self {
        Self { in_doubt: true, ..Self::new(message) }
    }

    /// This failure, of a call that may have happened if `sent`.
    pub(crate) fn doubted_if(self, sent: bool) -> Self {
        Self { in_doubt: self.in_doubt || sent, ..self }
    }
}

/// The result of a tool.
pub type ToolResult = Result<Content, ToolError>;

/// A tool. Arguments have been checked against its schema before it is called.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tool",
    note = "`#[tool]` above a function makes it a tool; a type may implement `Tool`"
)]
pub trait Tool: Send + Sync + std::fmt::Debug {
    /// The description of the tool, for the model and for the policy of its calls.
    fn spec(&self) -> &ToolSpec;

    /// The settings that decide the effect of a call beside the spec and the arguments, with the values that will be used. Approvals
    /// are bound to them, too. Default: none.
    fn binding(&self) -> Vec<Bound> {
        Vec::new()
    }

    /// Runs it. The future must not block its thread.
    fn call(&self, context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult>;

    /// Says after a crash whether this call happened, and with which result. Called only if the spec says `has_check`.
    /// After an `Err` a person is asked.
    fn check(
        &self,
        context: ToolContext,
        args: Value,
    ) -> BoxFuture<'_, Result<Option<CallOutcome>, ToolError>> {
        let _ = (context, args);
        Box::pin(async { Err(ToolError::new("this tool cannot say whether the call happened")) })
    }

    /// Stops a program that the dead process may have left running for this call, before the call is settled after a crash, so that
    /// it has no effect later. Default: nothing outlives its process.
    fn stop_left_behind(&self, context: ToolContext) -> BoxFuture<'_, ()> {
        let _ = context;
        Box::pin(std::future::ready(()))
    }
}
