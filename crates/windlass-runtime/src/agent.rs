//! An agent: what a run needs to act. Everything that decides how it goes is data in the run's first event.

mod edges;
mod files;
mod models;
mod spec;
mod toolset;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::sync::watch;
use windlass_core::event::AgentRef;
use windlass_core::message::Ref;
use windlass_core::model::{ModelChoice, Prices};
use windlass_core::{Policy, State, Text, ToolSpec};
use windlass_models::Model;
use windlass_store::{Holder, Store};
use windlass_tools::{ServiceError, SharedService, Tool};

use crate::builder::AgentBuilder;
use crate::delegates::Delegate;
use crate::environment::Environment;
use crate::hooks::{OutputChecks, StepHook};
use crate::recall::Remembered;
pub(crate) use edges::{Edges, holder};
pub(crate) use files::AgentFiles;
pub(crate) use files::files_of_run;
pub use files::{kept_files, kept_files_of};
pub(crate) use models::{Chosen, ModelSet};
pub(crate) use spec::AgentSpec;
pub(crate) use toolset::{Current, Toolbox, Toolset, beside, with_beside};

/// An agent. Cloning shares it.
#[derive(Clone)]
pub struct Agent {
    parts: Arc<Parts>,
}

/// The parts of an agent, each with what belongs to it.
pub(crate) struct Parts {
    /// What it is told, and by which rules its runs go.
    pub(crate) spec: AgentSpec,
    /// What its runs call.
    pub(crate) tools: Toolset,
    /// What its runs ask.
    pub(crate) models: ModelSet,
    /// The world around it.
    pub(crate) edges: Edges,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("name", &self.parts.spec.name).finish_non_exhaustive()
    }
}

impl Agent {
    /// Returns a builder for an agent named `name`.
    pub fn builder(name: impl Into<Text>) -> AgentBuilder {
        AgentBuilder::new(name.into())
    }

    pub(crate) fn of(parts: Parts) -> Self {
        Self { parts: Arc::new(parts) }
    }

    pub(crate) fn spec(&self) -> &AgentSpec {
        &self.parts.spec
    }

    pub(crate) fn toolset(&self) -> &Toolset {
        &self.parts.tools
    }

    pub(crate) fn model_set(&self) -> &ModelSet {
        &self.parts.models
    }

    pub(crate) fn edges(&self) -> &Edges {
        &self.parts.edges
    }

    /// The agent's name.
    pub fn name(&self) -> &Text {
        &self.parts.spec.name
    }

    /// Its description: the purpose in words.
    pub fn description(&self) -> &Text {
        &self.parts.spec.description
    }

    /// Its name and digest, as its runs record them.
    pub fn agent_ref(&self) -> &AgentRef {
        &self.parts.spec.agent_ref
    }

    /// Its policy.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.parts.spec.policy
    }

    /// Its tools as data, as they are now.
    pub fn tools(&self) -> Arc<Vec<ToolSpec>> {
        self.toolbox().specs.clone()
    }

    pub(crate) fn toolbox(&self) -> Arc<Toolbox> {
        self.parts.tools.now.get()
    }

    /// The files that it was made of; `None`: it was built in Rust.
    pub(crate) fn files(&self) -> Option<&Arc<AgentFiles>> {
        self.parts.spec.files.as_ref()
    }

    /// How the runs of this agent name its files.
    pub(crate) fn reference_to_files(&self) -> Option<Arc<Ref>> {
        self.files().map(|files| files.reference().clone())
    }

    pub(crate) fn services(&self) -> &[SharedService] {
        &self.parts.tools.services
    }

    /// Checks the availability of each service and tool server, by name. A service is set up for the check.
    pub async fn health(&self) -> Vec<(String, Result<(), ServiceError>)> {
        let services = self
            .parts
            .tools
            .services
            .iter()
            .map(|service| async { (service.name().to_owned(), service.health().await) });
        let sources =
            self.parts.tools.sources.iter().map(|source| (source.name().to_owned(), source.health()));
        join_all(services).await.into_iter().chain(sources).collect()
    }

    /// Receivers that change whenever the tools of a source change.
    pub(crate) fn watches(&self) -> Vec<watch::Receiver<u64>> {
        self.parts.tools.watches()
    }

    /// Asks the sources again for their tools.
    pub(crate) fn refresh(&self) -> Arc<Vec<ToolSpec>> {
        self.parts.tools.refresh(&self.parts.spec)
    }

    /// Its models, in the order of fallback.
    pub fn models(&self) -> &Arc<Vec<ModelChoice>> {
        &self.parts.models.choices
    }

    /// The agent's models with what is known of them ([`ModelSet::known`]).
    pub(crate) fn known_models(&self, base: Option<&State>) -> Arc<Vec<ModelChoice>> {
        // Under another digest the same name may stand for another server.
        let base = base.filter(|base| base.agent() == Some(self.agent_ref()));
        self.parts.models.known(self.policy(), base, self.environment().now())
    }

    /// Stores the wires that a run detected for later runs.
    pub(crate) fn learn(&self, models: &[ModelChoice]) {
        self.parts.models.learn(models, self.environment().now());
    }

    /// The log that its runs are kept in.
    pub fn log(&self) -> &Arc<dyn Store> {
        &self.parts.edges.store
    }

    /// The program that runs code, where the model writes some.
    pub(crate) fn code(&self) -> Option<&windlass_code::Code> {
        self.parts.tools.code.as_ref()
    }

    pub(crate) fn environment(&self) -> &Arc<dyn Environment> {
        &self.parts.edges.environment
    }

    /// The holder of the leases on the runs that this process drives.
    pub fn holder(&self) -> &Holder {
        &self.parts.edges.holder
    }

    /// JSON Schema of its typed input, if it has one.
    pub fn input_schema(&self) -> Option<&Arc<Value>> {
        self.parts.spec.input.as_ref()
    }

    /// JSON Schema of its typed output, if it has one.
    pub fn output_schema(&self) -> Option<&Arc<Value>> {
        self.parts.spec.output.as_ref()
    }

    pub(crate) fn prices(&self) -> &Arc<BTreeMap<Text, Prices>> {
        &self.parts.models.prices
    }

    pub(crate) fn remembered(&self) -> &Remembered {
        &self.parts.edges.remembered
    }

    pub(crate) fn hook(&self) -> Option<&Arc<dyn StepHook>> {
        self.parts.tools.hook.as_ref()
    }

    pub(crate) fn checks(&self) -> &OutputChecks {
        &self.parts.tools.checks
    }

    pub(crate) fn delegate(&self, name: &str) -> Option<&Arc<dyn Delegate>> {
        self.parts.tools.delegate(name)
    }

    /// A tool of the agent that this one is a branch of, or of one above that.
    pub(crate) fn tool_above(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.parts.tools.above.as_ref()?.tool(name)
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.parts.tools.tool(name)
    }

    pub(crate) fn model(&self, name: &str) -> Option<&Arc<dyn Model>> {
        self.parts.models.by_name.get(name)
    }
}
