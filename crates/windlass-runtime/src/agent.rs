//! An agent: what a run needs to act. Everything that decides how it goes is data in the run's first event.

pub(crate) mod assemble;
pub(crate) mod binding;
pub(crate) mod branches;
pub(crate) mod builder;
pub(crate) mod calls;
pub(crate) mod changes;
pub(crate) mod delegates;
pub(crate) mod documents;
pub(crate) mod edges;
pub(crate) mod files;
pub(crate) mod hooks;
pub(crate) mod input;
pub(crate) mod models;
pub(crate) mod output;
pub(crate) mod people;
pub(crate) mod prices;
pub(crate) mod prompt;
pub(crate) mod recall;
pub(crate) mod schemas;
pub(crate) mod scope;
pub(crate) mod source;
pub(crate) mod spec;
pub(crate) mod toolset;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::sync::watch;
use windlass_agent_file::AgentFile;
use windlass_core::event::{AgentRef, BindingDigests};
use windlass_core::message::Ref;
use windlass_core::model::{ModelChoice, Prices};
use windlass_core::run::offered;
use windlass_core::secret::Secret;
use windlass_core::{Policy, State, Text, ToolSpec};
use windlass_models::resolve::Env;
use windlass_models::{Model, PrefixCell};
use windlass_read::reports::ToolStatistics;
use windlass_store::{Holder, Store};
use windlass_tools::{Bound, ServiceError, SharedService, Tool};

use crate::platform::environment::Environment;
use crate::platform::error::Error;
use assemble::assemble;
use assemble::error::AssembleError;
use binding::{LITERALS, digested, joined};
use builder::AgentBuilder;
use changes::{changes_since, check_agent, switch_changes};
use delegates::Delegate;
use edges::Edges;
use files::AgentFiles;
use hooks::{OutputChecks, StepHook};
use models::ModelSet;
use output::Wanted;
use recall::{Remembered, tool_reliability};
use spec::AgentSpec;
use toolset::{Toolbox, Toolset};

/// An agent. Cloning shares it.
#[derive(Clone)]
pub struct Agent {
    parts: Arc<Parts>,
}

/// The parts of an agent, each with what belongs to it.
pub(crate) struct Parts {
    /// Its instructions, and the rules of its runs.
    pub(crate) spec: AgentSpec,
    /// The tools that its runs call.
    pub(crate) tools: Toolset,
    /// The models that its runs call.
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

    /// An agent that is made of its file. Its runs are kept in that log, and its files with them.
    ///
    /// # Errors
    /// Something that the file says or names cannot be used.
    pub async fn from_file(
        path: impl AsRef<Path>,
        env: Env<'_>,
        log: Arc<dyn Store>,
    ) -> Result<Self, AssembleError> {
        let file = AgentFile::read(path.as_ref(), env)?;
        Ok(assemble(&file, env, log).await?.agent)
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

    /// The output that it wants of its models.
    pub(crate) fn wanted_output(&self) -> Wanted<'_> {
        Wanted { policy: self.policy(), schema: self.output_schema() }
    }

    /// The agent's models with what is known of them ([`ModelSet::known`]).
    pub(crate) fn known_models(&self, base: Option<&State>) -> Arc<Vec<ModelChoice>> {
        // Under another digest the same name may stand for another server.
        let base = base.filter(|base| base.agent() == Some(self.agent_ref()));
        self.parts.models.known(self.wanted_output(), base, self.environment().now())
    }

    /// Forms and encodings of its tools' schemas, shared by the requests of all its runs.
    pub(crate) fn prefix(&self) -> &PrefixCell {
        &self.parts.models.prefix
    }

    /// Stores what a run detected of its models for later runs.
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

    /// A tool of the agent that this one is a branch of, or of a parent of that.
    pub(crate) fn parent_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.parts.tools.parent.as_ref()?.tool(name)
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.parts.tools.tool(name)
    }

    pub(crate) fn model(&self, name: &str) -> Option<&Arc<dyn Model>> {
        self.parts.models.by_name.get(name)
    }

    /// A model that a run of this agent may call, or one of an agent or branch that does tasks of it, whose price is unknown.
    pub(crate) fn unpriced(&self) -> Option<Text> {
        self.model_set().unpriced().cloned().or_else(|| self.toolset().unpriced())
    }

    /// Estimated tokens of the system message, at four bytes a token or as the prompt builder says. Templates count as they are
    /// written where their input is not known. The tools' schemas and the examples are not counted.
    ///
    /// # Errors
    /// [`Error::Prompt`]: the prompt builder makes no prompt.
    pub fn prompt_tokens(&self) -> Result<u64, Error> {
        self.spec().prompting.tokens(self.name(), || offered(self.policy(), &self.tools()))
    }

    /// How reliable the tools of this agent's newest runs ([`RELIABILITY_RUNS`](windlass_read::reports::RELIABILITY_RUNS)) were.
    ///
    /// # Errors
    /// The log failed.
    pub async fn tool_reliability(&self) -> Result<Vec<ToolStatistics>, Error> {
        tool_reliability(self).await
    }

    /// Whether this is the agent that the run has.
    pub fn is_of(&self, state: &State) -> bool {
        check_agent(self, state).is_ok()
    }

    /// Differences between this agent and the version that a run recorded, in words.
    pub fn changes_since(&self, state: &State) -> Vec<String> {
        changes_since(self, state)
    }

    /// Changes that a switch of the run to this agent makes, in words ([`Resume::with_changed_agent`](crate::Resume::with_changed_agent)):
    /// the preview of the switch. Empty: it is the run's own agent, or the run was imported and had none here.
    pub fn switch_changes(&self, state: &State) -> Vec<String> {
        switch_changes(self, state)
    }

    /// Binding of the agent's tasks: everything that its digest covers, and the values that its tools use.
    pub(crate) fn binding(&self) -> Vec<Bound> {
        let identity = &self.spec().identity;
        let parts = self.toolset().bound(&self.toolbox().tools, &self.spec().written);
        let values = |literal: bool| {
            let all = parts.iter().flat_map(|(_, parts)| parts);
            let wanted = all.filter(move |part| (*part.what == *LITERALS) == literal);
            joined(wanted.map(|part| part.value.expose()))
        };
        let models = self.model_set().bound();
        let mut all = vec![Bound {
            what: "agent".into(),
            cleartext: Some(identity.clone()),
            value: Secret::unmasked(format!("{identity}{}{models}", values(false))),
        }];
        let literals = values(true);
        if !literals.is_empty() {
            all.push(Bound::hidden(LITERALS, literals));
        }
        all
    }

    /// The binding digests of its tools under the salt of a run.
    pub(crate) fn binding_digests(&self, salt: Option<&Text>) -> Option<Arc<BindingDigests>> {
        let toolbox = self.toolbox();
        match salt.filter(|salt| **salt != self.spec().salt) {
            None => toolbox.digests.clone(),
            Some(salt) => digested(salt, &self.toolset().bound(&toolbox.tools, &self.spec().written)),
        }
    }

    /// The binding digests for a run that has these, if they have changed.
    pub(crate) fn changed_binding_digests(
        &self,
        known: Option<&Arc<BindingDigests>>,
    ) -> Option<Arc<BindingDigests>> {
        let fresh = self.binding_digests(known.map(|binding_digests| &binding_digests.salt));
        match (fresh, known) {
            (Some(fresh), Some(known)) => (fresh != *known).then_some(fresh),
            (Some(fresh), None) => Some(fresh),
            (None, Some(known)) if known.digests.is_empty() => None,
            (None, Some(known)) => Some(Arc::new(BindingDigests::new(known.salt.clone()))),
            (None, None) => None,
        }
    }
}
