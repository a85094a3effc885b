//! The code that an agent's runs call: tools, agents and branches, hooks and checks.

use std::sync::{Arc, PoisonError, RwLock};

use serde_json::json;
use tokio::sync::watch;
use windlass_agent_file::Written;
use windlass_code::Code;
use windlass_core::event::BindingDigests;
use windlass_core::tool::{BRANCH_TOOL, PARENT_TOOL};
use windlass_core::{Text, ToolSpec};
use windlass_tools::{Bound, SharedService, Tool, ToolSet};

use crate::agent::binding::{WHOLE_AGENT, digested, joined, literals_of};
use crate::agent::branches::{OwnBranch, ParentAgent};
use crate::agent::delegates::Delegate;
use crate::agent::hooks::{OutputChecks, StepHook};
use crate::agent::source::{ToolSource, together};
use crate::agent::spec::AgentSpec;

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
    pub(crate) parent: Option<ParentAgent>,
    /// Tools that the model's provider runs.
    pub(crate) hosted: Vec<ToolSpec>,
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
    pub(crate) fn of_branch(&self, parent: ParentAgent) -> Self {
        Self { parent: Some(parent), ..self.copied() }
    }

    /// The same, with its own view of what the sources offer.
    pub(crate) fn copied(&self) -> Self {
        Self {
            own: self.own.clone(),
            sources: self.sources.clone(),
            services: self.services.clone(),
            delegates: self.delegates.clone(),
            branches: self.branches.clone(),
            parent: self.parent.clone(),
            hosted: self.hosted.clone(),
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
        let parents = self.parent.iter().flat_map(|parent| parent.agent().watches());
        own.chain(parents).collect()
    }

    /// Asks the sources again for their tools.
    pub(crate) fn refresh(&self, spec: &AgentSpec) -> Arc<Vec<ToolSpec>> {
        let before = self.now.get().specs.clone();
        if let Some(parent) = &self.parent {
            parent.agent().refresh();
        } else if self.sources.is_empty() && self.delegates.is_empty() {
            return before;
        }
        let tools = together(&self.own, &self.sources);
        let delegates = self.delegates.iter().map(|delegate| delegate.spec());
        let (parent, finish) = (self.parent.as_ref(), self.finish.as_ref());
        let further = further_tools(delegates, &self.branches, parent, &self.hosted, finish);
        let specs = with_further(tools.specs(), &further);
        // Equal ones stay the same, with the schemas that were compiled already.
        let specs = if specs == before { before } else { specs };
        let digests = digested(&spec.salt, &self.bound(&tools, &spec.written));
        self.now.set(Toolbox { tools, specs: specs.clone(), digests });
        specs
    }

    /// Everything with a name that is bound, with its parts, where these are its tools now.
    pub(crate) fn bound(&self, tools: &ToolSet, written: &Written) -> Vec<(Text, Vec<Bound>)> {
        let own = tools.iter().map(|tool| (tool.spec().name.clone(), tool.binding()));
        let delegates = self.delegates.iter().map(|delegate| (delegate.name().into(), delegate.binding()));
        let inherited: Vec<(ToolSpec, Vec<Bound>)> = self.parent.iter().flat_map(inherited_tools).collect();
        let lent = (!self.branches.is_empty()).then(|| lent(tools, &inherited));
        let branches = self.branches.iter().map(|branch| {
            let name = format!("{BRANCH_TOOL}/{}", branch.agent.name()).into();
            (name, branch.agent.binding().into_iter().chain(lent.clone()).collect())
        });
        let of_parents = inherited
            .iter()
            .map(|(spec, parts)| (format!("{PARENT_TOOL}/{}", spec.name).into(), parts.clone()));
        let whole = literals_of(written).map(|part| (WHOLE_AGENT.into(), vec![part]));
        let all = own.chain(delegates).chain(branches).chain(of_parents).chain(whole);
        all.filter(|(_, parts)| !parts.is_empty()).collect()
    }

    /// Nesting depth of the branches.
    pub(crate) fn branch_depth(&self) -> usize {
        self.branches.iter().map(|branch| branch.agent.toolset().branch_depth() + 1).max().unwrap_or(0)
    }

    /// A model of an agent or branch that does tasks of it, whose price is unknown.
    pub(crate) fn unpriced(&self) -> Option<Text> {
        let of_delegate = self.delegates.iter().find_map(|delegate| delegate.unpriced());
        of_delegate.or_else(|| self.branches.iter().find_map(|branch| branch.agent.unpriced()))
    }
}

/// Name of the digest's part for tools lent by parent agents. It is stored.
const LENT: &str = "tools of the agent above";

/// Tools offered with an agent's own: delegates, branches, the tools of parent agents, those of the provider, and the finish tool.
pub(crate) fn further_tools(
    delegates: impl Iterator<Item = ToolSpec>,
    branches: &[OwnBranch],
    parent: Option<&ParentAgent>,
    hosted: &[ToolSpec],
    finish: Option<&ToolSpec>,
) -> Vec<ToolSpec> {
    let inherited = parent.map(ParentAgent::tools).filter(|tools| !tools.is_empty());
    delegates
        .chain(branch_tool(branches))
        .chain(inherited.map(ToolSpec::parent_tools))
        .chain(hosted.iter().cloned())
        .chain(finish.cloned())
        .collect()
}

/// The tool that starts branches, if there are any.
fn branch_tool(branches: &[OwnBranch]) -> Option<ToolSpec> {
    let all = || branches.iter().map(OwnBranch::spec).collect();
    (!branches.is_empty()).then(|| ToolSpec::branches(all()))
}

/// The tools' descriptions, followed by the further ones.
pub(crate) fn with_further(specs: Arc<Vec<ToolSpec>>, further: &[ToolSpec]) -> Arc<Vec<ToolSpec>> {
    if further.is_empty() {
        return specs;
    }
    Arc::new(specs.iter().chain(further).cloned().collect())
}

/// The tools of parent agents, with their parts.
fn inherited_tools(parent: &ParentAgent) -> impl Iterator<Item = (ToolSpec, Vec<Bound>)> {
    parent.tools().into_iter().map(|spec| {
        let tool = parent.tool(&spec.name);
        (spec, tool.map(|tool| tool.binding()).unwrap_or_default())
    })
}

/// The tools of parent agents that a branch may call, as one part: descriptions and bindings.
fn lent(own: &ToolSet, inherited: &[(ToolSpec, Vec<Bound>)]) -> Bound {
    let own = own.iter().map(|tool| (tool.spec(), tool.binding()));
    let inherited = inherited.iter().map(|(spec, parts)| (spec, parts.clone()));
    let lines = own.chain(inherited).map(|(spec, parts)| {
        let settings = json!([spec.effect, spec.kind, spec.has_check, spec.retries]);
        let described = json!([spec.name, spec.description, spec.parameters, settings]).to_string();
        let values = parts.iter().flat_map(|part| [&*part.what, part.value.expose()]);
        joined(std::iter::once(&*described).chain(values))
    });
    let lines: Vec<String> = lines.collect();
    Bound::hidden(LENT, joined(lines.iter().map(String::as_str)))
}
