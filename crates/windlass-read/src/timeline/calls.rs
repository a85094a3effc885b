//! The calls of a run.

use windlass_core::event::Millis;
use windlass_core::message::ToolCall;
use windlass_core::{CallId, CallOutcome, Text};

/// The party that gave a run's end or a call's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// The agent or its tool.
    #[default]
    Agent,
    /// A person.
    Person,
}

/// A call of a tool or another agent.
#[derive(Clone, Debug)]
pub struct TimelineCall {
    /// Its id.
    pub id: CallId,
    /// Its tool or agent, as the model named it.
    pub name: Text,
    /// Its arguments, as JSON text.
    pub args: Text,
    /// When it began to run; `None`: it never did.
    pub began: Option<Millis>,
    /// When its last try began.
    pub tried: Option<Millis>,
    /// When it ended.
    pub ended: Option<Millis>,
    /// Number of failed tries before the last one.
    pub retries: u32,
    /// Its outcome, once it has ended.
    pub outcome: Option<CallOutcome>,
    /// The result that a verifier expected.
    pub expected: Option<Text>,
    /// The party that gave its result.
    pub result_by: By,
}

impl TimelineCall {
    /// How long it ran, from its first try on.
    pub fn ms(&self) -> u64 {
        self.began.zip(self.ended).map_or(0, |(began, ended)| ended.saturating_sub(began))
    }

    /// The last try alone.
    pub fn last_ms(&self) -> u64 {
        self.tried.zip(self.ended).map_or(0, |(began, ended)| ended.saturating_sub(began))
    }

    pub(super) fn opened(call: &ToolCall) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            args: call.args.to_text(),
            began: None,
            tried: None,
            ended: None,
            retries: 0,
            outcome: None,
            expected: None,
            result_by: By::Agent,
        }
    }

    pub(super) fn begins(&mut self, at: Millis) {
        self.began.get_or_insert(at);
        self.tried = Some(at);
    }

    /// Result as text.
    pub fn result(&self) -> Option<String> {
        self.outcome.as_ref()?.content().map(|content| content.text().into_owned())
    }

    /// Why it gave no result.
    pub fn error(&self) -> Option<String> {
        match self.outcome.as_ref()? {
            CallOutcome::Ok { .. } => None,
            CallOutcome::Error { message, .. }
            | CallOutcome::Malformed { message }
            | CallOutcome::Rejected { message } => Some(message.to_string()),
            CallOutcome::TimedOut { after_ms } => Some(format!("timed out after {after_ms} ms")),
            CallOutcome::UnknownTool { .. } => Some("unknown tool".to_owned()),
            CallOutcome::Denied { reason, .. } => Some(reason.as_deref().unwrap_or("denied").to_owned()),
            CallOutcome::Skipped { reason } => Some(format!("skipped: {reason}")),
            CallOutcome::Interrupted => Some("interrupted".to_owned()),
            CallOutcome::Abandoned => Some("abandoned".to_owned()),
            CallOutcome::Unknown => Some("unknown whether it happened".to_owned()),
        }
    }

    /// Whether the tool ran and failed: what its reliability counts. Calls that never reached it say nothing of it.
    pub fn verdict(&self) -> Option<bool> {
        match self.outcome.as_ref()? {
            CallOutcome::Ok { .. } => Some(self.result_by == By::Agent),
            CallOutcome::Error { .. } | CallOutcome::TimedOut { .. } => Some(false),
            CallOutcome::Malformed { .. }
            | CallOutcome::Rejected { .. }
            | CallOutcome::UnknownTool { .. }
            | CallOutcome::Denied { .. }
            | CallOutcome::Skipped { .. }
            | CallOutcome::Interrupted
            | CallOutcome::Abandoned
            | CallOutcome::Unknown => None,
        }
    }
}
