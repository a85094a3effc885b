//! The code that an agent's runs call: tools, agents and branches, hooks and checks.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;
use windlass_code::Code;
use windlass_core::event::BindingDigests;
use windlass_core::{Text, ToolSpec};
use windlass_tools::{SharedService, Tool, ToolSet};

use super::AgentSpec;
use crate::binding::digested;
use crate::branches::{Above, OwnBranch};
use crate::delegates::Delegate;
use crate::hooks::{OutputChecks, StepHook};
use crate::source::{ToolSource, together};

/// An agent's tools, and what else of its author's code its runs call.
#[derive(Default)]
pub(crate) struct Toolset {
    /// Its own tools, without those of sources.
    pub(crate) own: ToolSet,
    pub(crate) sources: Vec<Arc<dyn ToolSource>>,
    pub(crate) services: Vec<SharedService>,
    pub(crate) delegates: Vec<Arc<dyn Delegate>>,
    pub(crate) branches: Vec<OwnBranch>,
    /// The agent that this one is a branch of.
    pub(crate) above: Option<Above>,
    /// The finish tool of a typed run; offered after the tools and delegates.
    pub(crate) finish: Option<ToolSpec>,
    /// The program that runs code, where the model writes some.
    pub(crate) code: Option<Code>,
    pub(crate) hook: Option<Arc<dyn StepHook>>,
    pub(crate) checks: OutputChecks,
    pub(crate) now: Current,
}

/// The tools as the sources offer them now.
#[derive(Default)]
pub(crate) struct Current(RwLock<Arc<Toolbox>>);

/// An agent's tools as they are now.
#[derive(Default)]
pub(crate) struct Toolbox {
    pub(crate) tools: ToolSet,
    pub(crate) specs: Arc<Vec<ToolSpec>>,
    /// Under the agent's own salt.
    pub(crate) digests: Option<Arc<BindingDigests>>,
}

impl Current {
    pub(crate) fn new(toolbox: Toolbox) -> Self {
        Self(RwLock::new(Arc::new(toolbox)))
    }

    pub(crate) fn get(&self) -> Arc<Toolbox> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, toolbox: Toolbox) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(toolbox);
    }
}

impl Toolset {
    /// The same for a branch of that agent.
    pub(crate) fn below(&self, above: Above) -> Self {
        Self { above: Some(above), ..self.again() }
    }

    /// The same, with its own view of what the sources offer.
    pub(crate) fn again(&self) -> Self {
        Self {
            own: self.own.clone(),
            sources: self.sources.clone(),
            services: self.services.clone(),
            delegates: self.delegates.clone(),
            branches: self.branches.clone(),
            above: self.above.clone(),
            finish: self.finish.clone(),
            code: self.code.clone(),
            hook: self.hook.clone(),
            checks: self.checks.clone(),
            now: Current(RwLock::new(self.now.get())),
        }
    }

    /// No tools. Code that a run has begun already may still be run.
    pub(crate) fn none(&self) -> Self {
        Self { code: self.code.clone(), ..Self::default() }
    }

    pub(crate) fn delegate(&self, name: &str) -> Option<&Arc<dyn Delegate>> {
        self.delegates.iter().find(|delegate| *delegate.name() == *name)
    }

    pub(crate) fn branch(&self, name: &str) -> Option<&OwnBranch> {
        self.branches.iter().find(|branch| **branch.agent.name() == *name)
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.now.get().tools.get(name).cloned()
    }

    /// Receivers that change whenever the tools of a source change.
    pub(crate) fn watches(&self) -> Vec<watch::Receiver<u64>> {
        let own = self.sources.iter().map(|source| source.changes());
        let above = self.above.iter().flat_map(|above| above.agent().watches());
        own.chain(above).collect()
    }

    /// Asks the sources again for their tools.
    pub(crate) fn refresh(&self, spec: &AgentSpec) -> Arc<Vec<ToolSpec>> {
        let before = self.now.get().specs.clone();
        if let Some(above) = &self.above {
            above.agent().refresh();
        } else if self.sources.is_empty() && self.delegates.is_empty() {
            return before;
        }
        let tools = together(&self.own, &self.sources);
        let delegates = self.delegates.iter().map(|delegate| delegate.spec());
        let beside = beside(delegates, &self.branches, self.above.as_ref(), self.finish.as_ref());
        let specs = with_beside(tools.specs(), &beside);
        // Equal ones stay the same, with the schemas that were compiled already.
        let specs = if specs == before { before } else { specs };
        let digests = digested(&spec.salt, &self.bound(&tools, &spec.written));
        self.now.set(Toolbox { tools, specs: specs.clone(), digests });
        specs
    }

    /// A model of an agent or branch that does tasks of it, whose price is unknown.
    pub(crate) fn unpriced(&self) -> Option<Text> {
        let below = self.delegates.iter().find_map(|delegate| delegate.unpriced());
        below.or_else(|| self.branches.iter().find_map(|branch| branch.agent.unpriced()))
    }
}

/// Tools offered beside an agent's own: delegates, branches, the tools of parent agents, and the finish tool.
pub(crate) fn beside(
    delegates: impl Iterator<Item = ToolSpec>,
    branches: &[OwnBranch],
    above: Option<&Above>,
    finish: Option<&ToolSpec>,
) -> Vec<ToolSpec> {
    let above = above.map(Above::tools).filter(|tools| !tools.is_empty());
    delegates
        .chain(branch_tool(branches))
        .chain(above.map(ToolSpec::parent_tools))
        .chain(finish.cloned())
        .collect()
}

/// The tool that starts branches, if there are any.
fn branch_tool(branches: &[OwnBranch]) -> Option<ToolSpec> {
    let all = || branches.iter().map(OwnBranch::spec).collect();
    (!branches.is_empty()).then(|| ToolSpec::branches(all()))
}

/// The tools' descriptions, followed by those offered beside them.
pub(crate) fn with_beside(specs: Arc<Vec<ToolSpec>>, beside: &[ToolSpec]) -> Arc<Vec<ToolSpec>> {
    if beside.is_empty() {
        return specs;
    }
    Arc::new(specs.iter().chain(beside).cloned().collect())
}
