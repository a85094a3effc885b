//! Differences between an agent and the version that a run recorded.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::event::{Adjusted, AgentRef, BindingDigests};
use windlass_core::model::ModelChoice;
use windlass_core::tool::Offer;
use windlass_core::{State, Text, ToolSpec};

use crate::agent::Agent;
use crate::agent::binding::{LITERALS, WHOLE_AGENT};
use crate::agent::scope::scoped;
use crate::platform::error::Error;

/// Changes of tools that both the run and the agent have. Added and removed tools are handled once the run continues.
pub(crate) fn changed_since(agent: &Agent, state: &State) -> Option<Adjusted> {
    let (known, fresh) = (state.own_tools(), agent.refresh());
    let now = |tool: &ToolSpec| {
        let mut now = fresh.iter().find(|other| other.name == tool.name).unwrap_or(tool).clone();
        now.offer = tool.offer;
        now
    };
    let tools: Vec<ToolSpec> = known.iter().map(now).collect();
    let binding_digests = agent.changed_binding_digests(state.binding_digests());
    let changed = tools != **known;
    (changed || binding_digests.is_some()).then(|| {
        let tools = if changed { Arc::new(tools) } else { known.clone() };
        Adjusted { tools: Some(tools), binding_digests, ..Adjusted::default() }
    })
}

/// Refuses a run of another agent.
pub(crate) fn check_agent(agent: &Agent, state: &State) -> Result<(), Error> {
    match state.agent() {
        Some(known) if known != agent.agent_ref() || literals_differ(agent, state) => {
            let show = |agent: &windlass_core::event::AgentRef| {
                format!("{} {}", agent.name, agent.digest.get(..12).unwrap_or(&agent.digest))
            };
            let (expected, found) = (show(known), show(agent.agent_ref()));
            let changes = if known.name == *agent.name() { changes_since(agent, state) } else { Vec::new() };
            Err(Error::AgentChanged { run: state.run(), expected, found, changes })
        }
        _ => Ok(()),
    }
}

/// The parts that differ between two lists of binding digests, by name.
fn differing(known: &BindingDigests, fresh: &BindingDigests) -> Vec<(Text, Vec<Text>)> {
    let names = known.digests.iter().chain(&fresh.digests).flat_map(|digest| digest.tools.iter());
    let names: BTreeSet<&Text> = names.collect();
    let differ = |name: &&Text| {
        let (before, now) = (known.parts(name), fresh.parts(name));
        let parts = before.into_iter().chain(now).flat_map(|parts| parts.keys());
        let parts: BTreeSet<&Text> = parts.collect();
        let same = |part: &&Text| before.and_then(|all| all.get(*part)) == now.and_then(|all| all.get(*part));
        parts.into_iter().filter(|part| !same(part)).cloned().collect::<Vec<_>>()
    };
    let all = names.into_iter().map(|name| (name.clone(), differ(&name)));
    all.filter(|(_, parts)| !parts.is_empty()).collect()
}

/// Whether literal text of the agent's file has changed that only a salted digest knows.
pub(crate) fn literals_differ(agent: &Agent, state: &State) -> bool {
    let Some(known) = state.binding_digests() else { return false };
    let fresh = agent.binding_digests(Some(&known.salt)).unwrap_or_default();
    differing(known, &fresh).iter().any(|(_, parts)| parts.iter().any(|part| **part == *LITERALS))
}

/// Differences between an agent and the version that a run recorded, in words.
pub(crate) fn changes_since(agent: &Agent, state: &State) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(known) = state.binding_digests() {
        let fresh = agent.binding_digests(Some(&known.salt)).unwrap_or_default();
        found.extend(differing(known, &fresh).into_iter().map(|(name, parts)| {
            let parts = parts.join(", ");
            if *name == *WHOLE_AGENT { parts } else { format!("{parts} of tool `{name}`") }
        }));
    }
    let (known, fresh) = (state.own_tools(), scoped(agent.tools(), state.only_tools()));
    let name = |tool: &ToolSpec| tool.name.clone();
    let gone = known.iter().filter(|tool| !fresh.iter().any(|other| other.name == tool.name));
    found.extend(gone.map(|tool| format!("tool `{}`, which was removed", name(tool))));
    for tool in fresh.iter() {
        match known.iter().find(|other| other.name == tool.name) {
            None => found.push(format!("tool `{}`, which was added", name(tool))),
            Some(before) if reachable(before) != reachable(tool) => {
                found.push(format!("description or settings of tool `{}`", name(tool)));
            }
            Some(_) => {}
        }
    }
    let parts = [
        ("loop settings", *state.policy() != *agent.policy()),
        ("models or their settings", !same_models(state.models(), agent.models())),
        ("output schema", state.output_schema() != agent.output_schema()),
    ];
    found.extend(parts.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name.to_owned()));
    if found.is_empty() {
        found.push("instructions, examples or other settings of its file".to_owned());
    }
    found
}

/// Changes that a switch of the run to this agent makes, in words. Empty: it is the run's own agent, or the run was imported and had
/// none here.
pub(crate) fn switch_changes(agent: &Agent, state: &State) -> Vec<String> {
    let imported = state.agent().is_some_and(AgentRef::is_imported);
    if imported || check_agent(agent, state).is_ok() { Vec::new() } else { changes_since(agent, state) }
}

/// Whether models have the same settings, whatever was detected of them.
fn same_models(known: &[ModelChoice], fresh: &[ModelChoice]) -> bool {
    let bare =
        |model: &ModelChoice| ModelChoice { structured: None, wire: None, output: None, ..model.clone() };
    known.iter().map(bare).eq(fresh.iter().map(bare))
}

/// Describes a tool as if it were available.
pub(crate) fn reachable(tool: &ToolSpec) -> ToolSpec {
    let mut tool = tool.clone();
    tool.offer = Offer::Offered;
    tool
}
