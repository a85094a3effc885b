//! Calls of the agent's own tools that the case says nothing about: a case that passes with them would test nothing.

use std::collections::HashMap;

use windlass_core::{CallId, CallOutcome, Event, Fact};
use windlass_runtime::agent_file::{AgentFile, ToolEntry};

use super::record::RunRecord;
use crate::fixture::{Case, Mismatch};

/// The first call of a run that belongs to the agent, has no entry in the case and ended as an unknown tool.
pub(super) fn call(case: &Case, run: &RunRecord) -> Option<Mismatch> {
    if case.unknown {
        return None;
    }
    let env = |name: &str| case.variable(name);
    let file = case.agent.read(&env).ok()?;
    let events = || run.batches.iter().flat_map(|batch| batch.events.iter());
    let mut names = HashMap::new();
    for event in events() {
        if let Fact::TurnCompleted(turn) = &event.fact {
            names.extend(turn.calls.iter().map(|call| (&call.id, &*call.name)));
        }
    }
    let name =
        events().filter_map(unknown).filter_map(|call| names.get(call)).find(|name| owns(&file, name))?;
    let found = format!(
        "`{name}` was called, which has none: it needs an entry under `tools:` of the case, or `unknown: true` there"
    );
    Some(Mismatch::new("an entry for each of the agent's own tools that is called", found).under("script"))
}

fn unknown(event: &Event) -> Option<&CallId> {
    let Fact::CallFinished(finished) = &event.fact else { return None };
    matches!(finished.outcome, CallOutcome::UnknownTool { .. }).then_some(&finished.call)
}

/// Whether a tool of that name would be the agent's: of one of its servers or services. Commands, built-ins and delegates are
/// known to the case itself.
fn owns(file: &AgentFile, tool: &str) -> bool {
    file.tools.iter().any(|entry| match entry {
        ToolEntry::Mcp(server) => {
            let prefix = server.tool_prefix();
            !prefix.is_empty() && tool.starts_with(&prefix)
        }
        ToolEntry::Service(service) => service.tool_names().iter().any(|name| *name == *tool),
        ToolEntry::Command(command) => command.name == tool,
        ToolEntry::Builtin(builtin) => builtin.tool.name == tool,
    })
}
