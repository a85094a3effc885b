//! Why a loop cannot have a tool of the provider.

use thiserror::Error;
use windlass_core::Text;
use windlass_error::Diagnostic;

/// A loop wants of a tool that the model's provider runs what only tools that runs call can keep to.
#[derive(Debug, Error, Diagnostic)]
#[error(
    "`loop.{key}` of agent `{agent}` cannot hold for `{tool}`, which the model's provider runs within a call: {why}"
)]
#[diagnostic(
    kind = Invalid,
    code = "agent.hosted_loop",
    help = "leave the tool out of `loop.{key}`, or out of `tools`; `loop.deny` keeps it from being offered"
)]
#[non_exhaustive]
pub struct HostedFault {
    /// The agent.
    pub agent: String,
    /// The tool.
    pub tool: Text,
    /// The key of the loop.
    pub key: &'static str,
    /// The reason.
    pub why: &'static str,
}
