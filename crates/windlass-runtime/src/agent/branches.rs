//! Branches: sub-agents that know the conversation so far (acorn), and the agents that are derived for them.

use std::sync::Arc;

use windlass_core::model::SUMMARY_PROMPT;
use windlass_core::policy::{CachePoint, Merge};
use windlass_core::tool::{Offer, PARENT_TOOL, ToolKind};
use windlass_core::{Policy, State, Text, ToolSpec};
use windlass_tools::Tool;

use crate::agent::{Agent, Parts};

/// A branch that can be started.
#[derive(Clone, Debug)]
pub(crate) struct OwnBranch {
    pub(crate) agent: Agent,
    pub(crate) merge: Merge,
    /// Whether a model is offered it; others are for hooks only.
    pub(crate) offered: bool,
}

impl OwnBranch {
    pub(crate) fn spec(&self) -> ToolSpec {
        let (name, description) = (self.agent.name().clone(), self.agent.description().clone());
        let input = self.agent.input_schema().map(|schema| &**schema);
        let mut spec = ToolSpec::one_branch(name, description, input);
        spec.offer = Offer::when(self.offered);
        spec
    }
}

/// The agent that a branch came from, as it stood then.
#[derive(Clone, Debug)]
pub(crate) struct ParentAgent {
    agent: Agent,
    /// Tools that its model was not offered.
    withheld: Vec<Text>,
}

impl ParentAgent {
    /// The tools of the parent and of its own parents, with the parent's timeouts, retries and approvals.
    pub(crate) fn tools(&self) -> Vec<ToolSpec> {
        let policy = self.agent.policy();
        let specs = self.agent.tools();
        let usable = |tool: &&ToolSpec| {
            tool.is_offered()
                && matches!(tool.kind, ToolKind::Run | ToolKind::Ask)
                && !self.withheld.contains(&tool.name)
        };
        let mut tools: Vec<ToolSpec> = specs
            .iter()
            .filter(usable)
            .map(|tool| {
                let mut tool = tool.clone();
                tool.timeout_ms.get_or_insert(policy.calls.tool_ms);
                tool.retries.get_or_insert(policy.calls.retries);
                tool.approve |= policy.wants_approval(&tool.name) || policy.approves_effect_of(&tool);
                tool
            })
            .collect();
        let inherited = specs.iter().find(|tool| tool.kind == ToolKind::Parent);
        for tool in inherited.into_iter().flat_map(|tool| tool.targets.iter()) {
            if !tools.iter().any(|own| own.name == tool.name) {
                tools.push(tool.clone());
            }
        }
        tools
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.agent.tool(name).or_else(|| self.agent.parent_tool(name))
    }

    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }
}

/// The agent of a branch of a run in this state.
pub(crate) fn branch_of(parent: &Agent, branch: &OwnBranch, state: &State) -> Agent {
    let own = &branch.agent;
    let withheld = state.own_tools().iter().filter(|tool| !tool.is_offered()).map(|tool| tool.name.clone());
    let withheld = withheld.collect();
    let mut policy = Policy::clone(own.policy());
    policy.tools.approve.extend(parent.policy().tools.approve.iter().cloned());
    policy.tools.deny.extend(parent.policy().tools.deny.iter().cloned());
    Agent::of(Parts {
        spec: own.spec().under(policy),
        tools: own.toolset().of_branch(ParentAgent { agent: parent.clone(), withheld }),
        models: own.model_set().clone(),
        edges: own.edges().clone(),
    })
}

/// A branch's agent with so many inherited messages. If its parent marks by default what a provider's cache should keep, the system
/// message is marked here and the last inherited one, so that the parent's conversation is not paid for anew.
pub(crate) fn caching(agent: &Agent, inherited: usize) -> Agent {
    let marks =
        |parent: &ParentAgent| parent.agent.policy().request.cache.explicit() == CachePoint::default_points();
    let marks = agent.toolset().parent.as_ref().is_some_and(marks);
    let before = agent.spec().prompt_len();
    let Some(last) = (before + inherited).checked_sub(1).filter(|_| marks && inherited > 0) else {
        return agent.clone();
    };
    let mut policy = Policy::clone(agent.policy());
    policy.request.cache.0 =
        Some(vec![CachePoint::role("system"), CachePoint::at(i64::try_from(last).unwrap_or(i64::MAX))]);
    Agent::of(Parts {
        spec: agent.spec().under(policy),
        tools: agent.toolset().copied(),
        models: agent.model_set().clone(),
        edges: agent.edges().clone(),
    })
}

/// The agent that sums up a run of a branch: the branch's models with one prompt, and nothing else.
pub(crate) fn summing_up(agent: &Agent) -> Agent {
    let policy = agent.policy().summary();
    Agent::of(Parts {
        models: agent.model_set().for_summaries(&policy),
        spec: agent.spec().with_system(SUMMARY_PROMPT, policy),
        tools: agent.toolset().none(),
        edges: agent.edges().alone(),
    })
}

/// Names that a branch's own tools must not have.
pub(crate) fn reserved(agent: &Agent) -> Option<Text> {
    let specs = agent.tools();
    specs.iter().find(|tool| *tool.name == *PARENT_TOOL).map(|tool| tool.origin.clone())
}
