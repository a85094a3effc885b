//! The help of errors, where it takes more than a line at its variant.

use std::borrow::Cow;

use windlass_code::CodeError;
use windlass_core::RunId;
use windlass_core::budget::LOST_ATTEMPTS;
use windlass_error::Diagnostic as _;
use windlass_models::ModelError;
use windlass_models::providers::provider_names;
use windlass_tools::ToolSetError;

/// Maximum nesting depth of branches.
pub(crate) const MAX_BRANCH_DEPTH: usize = 16;

pub(super) const NO_SUCH_REQUIRED: &str = "name a tool of the agent, or remove the pattern";
pub(super) const NO_SUCH_TOOL: &str = "name a tool of the agent";
pub(super) const PRICES: &str = "give the model `prices: { input, output }` in USD per million tokens";
const CODE_CHILD: &str = "call `windlass::code_child()` as the first line of main, or name the `windlass` binary: \
     `Agent::builder(..).code_program(path)`";
const CODE_FEATURE: &str = "build with the feature `code`, or name the `windlass` binary: \
     `Agent::builder(..).code_program(path)`";
pub(super) const CHANGED_AGENT: &str = "`.with_changed_agent()` goes on with the agent as it is now; calls that wait for \
     approval, and have changed, are asked about anew";

/// The message for a run whose agent has changed.
pub(super) fn other_agent(run: RunId, expected: &str, found: &str, changes: &[String]) -> String {
    if changes.is_empty() {
        return format!("run {run} belongs to agent `{expected}`, found `{found}`");
    }
    format!("the agent of run {run} has changed since the run began: {}", changes.join("; "))
}

/// The names that may be meant, else other words.
pub(super) fn meant(nearest: &[String], otherwise: &'static str) -> Cow<'static, str> {
    if nearest.is_empty() {
        return otherwise.into();
    }
    format!("did you mean {}?", nearest.join(" or ")).into()
}

pub(super) fn for_tools(error: &ToolSetError) -> Option<Cow<'_, str>> {
    if matches!(error, ToolSetError::Clash { .. }) {
        return Some("rename one of them, or give a tool server another `name`".into());
    }
    error.help()
}

pub(super) fn lost_attempts() -> String {
    format!(
        "look at what the model replies and why the process dies; to resume the run by hand allows {LOST_ATTEMPTS} more \
         attempts"
    )
}

pub(super) fn for_code(error: &CodeError) -> &'static str {
    if matches!(error, CodeError::NotBuilt) { CODE_FEATURE } else { CODE_CHILD }
}

/// A remedy for a model that a program names.
pub(super) fn for_model(error: &ModelError) -> Option<Cow<'_, str>> {
    let object = "give the model as an object: `.model((NAME, HttpModel::new(config)?))`";
    if let ModelError::UnknownProvider { name, nearest } = error {
        return Some(unknown_provider(name, nearest, object).into());
    }
    if let ModelError::MissingKey { variable, .. } = error {
        return Some(format!("set {variable}, or {object}").into());
    }
    if matches!(error, ModelError::MissingBaseUrl { .. }) {
        return Some(object.into());
    }
    error.help()
}

fn unknown_provider(name: &str, nearest: &[String], object: &str) -> String {
    if name == "auto" {
        return "`windlass::models::choose_auto` finds one: `.model((found.name, found.model))`".to_owned();
    }
    let all: Vec<&str> = provider_names().collect();
    let supported = all.join(", ");
    if nearest.len() == all.len() {
        return format!("supported are {supported}; for any other server {object}");
    }
    format!("did you mean {}? Supported are {supported}", nearest.join(" or "))
}
