//! The tools that a run is given: all of its agent's, or only those that patterns name.

use std::sync::Arc;

use windlass_core::text::{covers, nearest};
use windlass_core::tool::ToolKind;
use windlass_core::{Text, ToolSpec};

use crate::agent::Agent;
use crate::platform::error::Error;

/// The tools that a run with this scope has. The finish tool of a typed run always belongs to them.
pub(crate) fn scoped(tools: Arc<Vec<ToolSpec>>, only: Option<&Arc<Vec<Text>>>) -> Arc<Vec<ToolSpec>> {
    let Some(only) = only else { return tools };
    let kept = |tool: &&ToolSpec| {
        matches!(tool.kind, ToolKind::Finish(_)) || only.iter().any(|pattern| covers(pattern, &tool.name))
    };
    Arc::new(tools.iter().filter(kept).cloned().collect())
}

/// Refuses a pattern that names none of the agent's tools.
pub(crate) fn check_scope(agent: &Agent, only: &[Text]) -> Result<(), Error> {
    let tools = agent.tools();
    let names = || tools.iter().map(|tool| &*tool.name);
    match only.iter().find(|pattern| !names().any(|name| covers(pattern, name))) {
        None => Ok(()),
        Some(pattern) => Err(Error::UnknownTool {
            agent: agent.name().to_string(),
            pattern: pattern.clone(),
            nearest: nearest(&pattern.replace(['*', '?'], ""), names()),
        }),
    }
}
