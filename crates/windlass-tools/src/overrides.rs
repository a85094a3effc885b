//! Settings of an agent that override a tool's own description.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::tool::{Effect, EffectApproval};
use windlass_core::{CallOutcome, Text, ToolSpec};

use crate::binding::Bound;
use crate::tool::{Tool, ToolContext, ToolError, ToolResult};

/// Changes to a tool's description; `None` leaves what the tool says. Any tool entry of an agent file takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolOverrides {
    /// Timeout of one attempt, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Effect of running it twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// Whether a person must allow each call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approve: Option<bool>,
    /// Maximum number of retries of a failed call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Results above this many bytes enter the conversation as a model's summary of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_above: Option<u64>,
    /// Whether equal calls in a row are legitimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll: Option<bool>,
    /// Whether the provider holds calls to the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// Whether the provider's tool search has to find it first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defer: Option<bool>,
    /// Put before the name, with nothing between: sets tools of equal names apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<Text>,
}

impl ToolOverrides {
    /// The keys, as an agent file writes them.
    pub const KEYS: [&str; 9] =
        ["timeout_ms", "effect", "approve", "retries", "summary_above", "poll", "strict", "defer", "prefix"];

    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same tool with the changed description.
    pub fn apply(&self, tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
        if self.is_empty() {
            return tool;
        }
        let mut spec = tool.spec().clone();
        if let Some(prefix) = &self.prefix {
            spec.name = format!("{prefix}{}", spec.name).into();
        }
        spec.timeout_ms = self.timeout_ms.or(spec.timeout_ms);
        spec.retries = self.retries.or(spec.retries);
        spec.summary_above = self.summary_above.or(spec.summary_above);
        spec.effect = self.effect.unwrap_or(spec.effect);
        spec.approve = self.approve.unwrap_or(spec.approve);
        if self.approve.is_some() {
            spec.effect_approval = EffectApproval::of(self.approve);
        }
        spec.poll = self.poll.unwrap_or(spec.poll);
        spec.strict = self.strict.or(spec.strict);
        spec.defer = self.defer.unwrap_or(spec.defer);
        Arc::new(Overridden { spec, tool })
    }
}

/// A tool under a changed description.
#[derive(Debug)]
pub(crate) struct Overridden {
    pub(crate) spec: ToolSpec,
    pub(crate) tool: Arc<dyn Tool>,
}

impl Tool for Overridden {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn binding(&self) -> Vec<Bound> {
        self.tool.binding()
    }

    fn call(&self, context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        self.tool.call(context, args)
    }

    fn check(
        &self,
        context: ToolContext,
        args: Value,
    ) -> BoxFuture<'_, Result<Option<CallOutcome>, ToolError>> {
        self.tool.check(context, args)
    }

    fn stop_left_behind(&self, context: ToolContext) -> BoxFuture<'_, ()> {
        self.tool.stop_left_behind(context)
    }
}
