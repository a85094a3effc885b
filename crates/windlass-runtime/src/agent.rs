//! An agent: what a run needs to act. Everything that decides how it goes is data in the run's first event.

mod files;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use futures_util::future::join_all;
use serde_json::Value;
use tokio::sync::watch;
use windlass_core::event::{AgentRef, BindingDigests};
use windlass_core::message::Ref;
use windlass_core::model::{ModelChoice, Prices};
use windlass_core::policy::Wire;
use windlass_core::{Message, Policy, State, Text, ToolSpec};
use windlass_models::{Known, Model};
use windlass_store::{Holder, Store};
use windlass_tools::{ServiceError, SharedService, Tool, ToolSet};

use crate::branches::{Above, OwnBranch};
use crate::builder::AgentBuilder;
use crate::delegates::Delegate;
use crate::environment::Environment;
use crate::hooks::{OutputChecks, StepHook};
use crate::learnt;
use crate::people::People;
use crate::prompt::Prompting;
use crate::recall::Remembered;
use crate::source::{ToolSource, together};
pub(crate) use files::AgentFiles;
pub use files::kept_files;
use windlass_agent_file::Written;

/// An agent. Cloning shares it.
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) name: Text,
    pub(crate) description: Text,
    pub(crate) agent_ref: AgentRef,
    /// Its digest as other agents know it.
    pub(crate) identity: Text,
    pub(crate) written: Written,
    /// The files that it was made of.
    pub(crate) files: Option<Arc<AgentFiles>>,
    /// The salt of the seals of runs that begin here.
    pub(crate) salt: Text,
    pub(crate) prompting: Prompting,
    /// The messages before the conversation, where they are the same for all runs.
    pub(crate) prompt: Arc<Vec<Arc<Message>>>,
    pub(crate) examples: Vec<Arc<Message>>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) input: Option<Arc<Value>>,
    pub(crate) output: Option<Arc<Value>>,
    pub(crate) hook: Option<Arc<dyn StepHook>>,
    pub(crate) checks: OutputChecks,
    pub(crate) people: Option<Arc<dyn People>>,
    pub(crate) delegates: Vec<Arc<dyn Delegate>>,
    pub(crate) branches: Vec<OwnBranch>,
    /// The agent that this one is a branch of.
    pub(crate) above: Option<Above>,
    /// The finish tool of a typed run; offered after the tools and delegates.
    pub(crate) finish: Option<ToolSpec>,
    pub(crate) own: ToolSet,
    pub(crate) sources: Vec<Arc<dyn ToolSource>>,
    pub(crate) services: Vec<SharedService>,
    pub(crate) tools: RwLock<Arc<Toolbox>>,
    pub(crate) models: BTreeMap<Text, Arc<dyn Model>>,
    pub(crate) choices: Arc<Vec<ModelChoice>>,
    /// Wires detected by runs of this process: the ones for models that refuse tools.
    pub(crate) wires: Arc<RwLock<BTreeMap<Text, Wire>>>,
    /// The prices of all models that a run of it may ask, those included that only a hook chooses.
    pub(crate) prices: Arc<BTreeMap<Text, Prices>>,
    /// Earlier runs that new ones may be reminded of.
    pub(crate) remembered: Arc<Remembered>,
    pub(crate) log: Arc<dyn Store>,
    /// The program that runs code, where the model writes some.
    pub(crate) code: Option<windlass_code::Code>,
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) holder: Holder,
}

impl Inner {
    /// Number of messages before the conversation.
    pub(crate) fn prompt_len(&self) -> usize {
        if self.prompting.varies() { 1 + self.examples.len() } else { self.prompt.len() }
    }

    /// Clones the agent's parts.
    pub(crate) fn again(&self) -> Self {
        let toolbox = self.tools.read().unwrap_or_else(PoisonError::into_inner).clone();
        Self {
            prompting: self.prompting.clone(),
            prompt: self.prompt.clone(),
            examples: self.examples.clone(),
            input: self.input.clone(),
            output: self.output.clone(),
            hook: self.hook.clone(),
            checks: self.checks.clone(),
            people: self.people.clone(),
            delegates: self.delegates.clone(),
            branches: self.branches.clone(),
            above: self.above.clone(),
            finish: self.finish.clone(),
            own: self.own.clone(),
            sources: self.sources.clone(),
            services: self.services.clone(),
            tools: RwLock::new(toolbox),
            ..self.bare()
        }
    }

    /// The agent's name and environment, without prompt and tools.
    pub(crate) fn bare(&self) -> Self {
        Self {
            name: self.name.clone(),
            description: self.description.clone(),
            agent_ref: self.agent_ref.clone(),
            identity: self.identity.clone(),
            written: self.written.clone(),
            files: None,
            salt: self.salt.clone(),
            prompting: Prompting::default(),
            prompt: Arc::default(),
            examples: Vec::new(),
            policy: self.policy.clone(),
            input: None,
            output: None,
            hook: None,
            checks: OutputChecks::default(),
            people: None,
            delegates: Vec::new(),
            branches: Vec::new(),
            above: None,
            finish: None,
            own: ToolSet::default(),
            sources: Vec::new(),
            services: Vec::new(),
            tools: RwLock::default(),
            wires: self.wires.clone(),
            prices: self.prices.clone(),
            remembered: self.remembered.clone(),
            models: self.models.clone(),
            choices: self.choices.clone(),
            log: self.log.clone(),
            code: self.code.clone(),
            environment: self.environment.clone(),
            holder: self.holder.clone(),
        }
    }

    /// The tools that are offered beside its own.
    fn beside(&self) -> Vec<ToolSpec> {
        let delegates = self.delegates.iter().map(|delegate| delegate.spec());
        beside(delegates, &self.branches, self.above.as_ref(), self.finish.as_ref())
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

/// An agent's tools as they are now.
#[derive(Default)]
pub(crate) struct Toolbox {
    pub(crate) tools: ToolSet,
    pub(crate) specs: Arc<Vec<ToolSpec>>,
    /// Under the agent's own salt.
    pub(crate) digests: Option<Arc<BindingDigests>>,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("name", &self.inner.name).finish_non_exhaustive()
    }
}

impl Agent {
    /// Returns a builder for an agent named `name`.
    pub fn builder(name: impl Into<Text>) -> AgentBuilder {
        AgentBuilder::new(name.into())
    }

    pub(crate) fn from_inner(inner: Inner) -> Self {
        Self { inner: Arc::new(inner) }
    }

    /// The agent's name.
    pub fn name(&self) -> &Text {
        &self.inner.name
    }

    /// Its description: the purpose in words.
    pub fn description(&self) -> &Text {
        &self.inner.description
    }

    /// Its name and digest, as its runs record them.
    pub fn agent_ref(&self) -> &AgentRef {
        &self.inner.agent_ref
    }

    /// Its policy.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.inner.policy
    }

    /// Its tools as data, as they are now.
    pub fn tools(&self) -> Arc<Vec<ToolSpec>> {
        self.toolbox().specs.clone()
    }

    pub(crate) fn toolbox(&self) -> Arc<Toolbox> {
        self.inner.tools.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The files that it was made of; `None`: it was built in Rust.
    pub(crate) fn files(&self) -> Option<&Arc<AgentFiles>> {
        self.inner.files.as_ref()
    }

    /// How the runs of this agent name its files.
    pub(crate) fn reference_to_files(&self) -> Option<Arc<Ref>> {
        self.files().map(|files| files.reference().clone())
    }

    pub(crate) fn services(&self) -> &[SharedService] {
        &self.inner.services
    }

    /// Checks the availability of each service and tool server, by name. A service is set up for the check.
    pub async fn health(&self) -> Vec<(String, Result<(), ServiceError>)> {
        let services = self
            .inner
            .services
            .iter()
            .map(|service| async { (service.name().to_owned(), service.health().await) });
        let sources = self.inner.sources.iter().map(|source| (source.name().to_owned(), source.health()));
        join_all(services).await.into_iter().chain(sources).collect()
    }

    /// Receivers that change whenever the tools of a source change.
    pub(crate) fn watches(&self) -> Vec<watch::Receiver<u64>> {
        let own = self.inner.sources.iter().map(|source| source.changes());
        let above = self.inner.above.iter().flat_map(|above| above.agent().watches());
        own.chain(above).collect()
    }

    /// Asks the sources again for their tools.
    pub(crate) fn refresh(&self) -> Arc<Vec<ToolSpec>> {
        let before = self.tools();
        if let Some(above) = &self.inner.above {
            above.agent().refresh();
        } else if self.inner.sources.is_empty() && self.inner.delegates.is_empty() {
            return before;
        }
        let tools = together(&self.inner.own, &self.inner.sources);
        let specs = with_beside(tools.specs(), &self.inner.beside());
        // Equal ones stay the same, with the schemas that were compiled already.
        let specs = if specs == before { before } else { specs };
        let digests = self.inner.binding_digests_of(&tools);
        let fresh = Arc::new(Toolbox { tools, specs: specs.clone(), digests });
        *self.inner.tools.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        specs
    }

    /// Its models, in the order of fallback.
    pub fn models(&self) -> &Arc<Vec<ModelChoice>> {
        &self.inner.choices
    }

    /// The agent's models with what is known of them: what their providers' entries say, and their detected wires, from this
    /// process, from the run that a session continues, or from what is [kept](learnt).
    pub(crate) fn known_models(&self, base: Option<&State>) -> Arc<Vec<ModelChoice>> {
        let own = &self.inner.choices;
        let learnt_here = self.inner.wires.read().unwrap_or_else(PoisonError::into_inner);
        // Under another digest the same name may stand for another server.
        let base = base.filter(|base| base.agent() == Some(self.agent_ref()));
        let before = |name: &Text| base?.models().iter().find(|model| model.name == *name)?.wire;
        let now = self.environment().now();
        let open = self.policy().request.wire == Wire::Auto;
        let sampled = self.policy().request.temperature.is_some();
        let known = own.iter().map(|model| {
            let name = &model.name;
            let known =
                self.inner.models.get(name).filter(|_| open || sampled).map(|model| model.known(name));
            let Known { id, structured, wire, sampling } = known.unwrap_or_default();
            let sampling = model.sampling.or(sampling.filter(|_| sampled));
            if !open {
                return ModelChoice { sampling, ..model.clone() };
            }
            let remembered = || id.and_then(|id| learnt::wire_of(&id, now));
            let own = learnt_here.get(name).copied().or_else(|| before(name));
            ModelChoice {
                structured: model.structured.or(structured),
                sampling,
                wire: own.or_else(remembered).or(wire),
                ..model.clone()
            }
        });
        let known: Vec<ModelChoice> = known.collect();
        if known == **own { own.clone() } else { Arc::new(known) }
    }

    /// Stores the wires that a run detected for later runs.
    pub(crate) fn learn(&self, models: &[ModelChoice]) {
        let own = |model: &&ModelChoice| self.inner.models.contains_key(&model.name);
        for (name, wire) in models.iter().filter(own).filter_map(|model| Some((&model.name, model.wire?))) {
            if let Some(id) = self.inner.models.get(name).and_then(|model| model.known(name).id) {
                learnt::learn(&id, wire, self.environment().now());
            } else {
                let mut wires = self.inner.wires.write().unwrap_or_else(PoisonError::into_inner);
                wires.insert(name.clone(), wire);
            }
        }
    }

    /// The log that its runs are kept in.
    pub fn log(&self) -> &Arc<dyn Store> {
        &self.inner.log
    }

    /// The program that runs code, where the model writes some.
    pub(crate) fn code(&self) -> Option<&windlass_code::Code> {
        self.inner.code.as_ref()
    }

    pub(crate) fn environment(&self) -> &Arc<dyn Environment> {
        &self.inner.environment
    }

    /// The holder of the leases on the runs that this process drives.
    pub fn holder(&self) -> &Holder {
        &self.inner.holder
    }

    /// JSON Schema of its typed input, if it has one.
    pub fn input_schema(&self) -> Option<&Arc<Value>> {
        self.inner.input.as_ref()
    }

    /// JSON Schema of its typed output, if it has one.
    pub fn output_schema(&self) -> Option<&Arc<Value>> {
        self.inner.output.as_ref()
    }

    pub(crate) fn prices(&self) -> &Arc<BTreeMap<Text, Prices>> {
        &self.inner.prices
    }

    pub(crate) fn remembered(&self) -> &Remembered {
        &self.inner.remembered
    }

    pub(crate) fn hook(&self) -> Option<&Arc<dyn StepHook>> {
        self.inner.hook.as_ref()
    }

    pub(crate) fn checks(&self) -> &OutputChecks {
        &self.inner.checks
    }

    pub(crate) fn delegate(&self, name: &str) -> Option<&Arc<dyn Delegate>> {
        self.inner.delegates.iter().find(|delegate| *delegate.name() == *name)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// A tool of the agent that this one is a branch of, or of one above that.
    pub(crate) fn tool_above(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.inner.above.as_ref()?.tool(name)
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.toolbox().tools.get(name).cloned()
    }

    pub(crate) fn model(&self, name: &str) -> Option<&Arc<dyn Model>> {
        self.inner.models.get(name)
    }
}

/// The tools' descriptions, followed by those offered beside them.
pub(crate) fn with_beside(specs: Arc<Vec<ToolSpec>>, beside: &[ToolSpec]) -> Arc<Vec<ToolSpec>> {
    if beside.is_empty() {
        return specs;
    }
    Arc::new(specs.iter().chain(beside).cloned().collect())
}
