//! The digests of an agent in the making.

use std::sync::Arc;

use windlass_agent_file::Written;
use windlass_core::model::ModelChoice;
use windlass_core::{Message, Policy, Text, ToolSpec};

use super::AgentBuilder;
use crate::agent::binding::{digest, digest_parts};
use crate::agent::branches::OwnBranch;
use crate::agent::files::AgentFiles;
use crate::agent::prompt::has_tags;

impl AgentBuilder {
    /// Sets the parts of the agent's file other than tools, as written: part of its digest.
    pub(crate) fn written(mut self, written: Written) -> Self {
        self.written = written;
        self
    }

    /// Sets the files that the agent is made of: its runs keep them.
    pub(crate) fn files(mut self, files: Option<Arc<AgentFiles>>) -> Self {
        self.files = files;
        self
    }

    /// Marks a model as chosen in this environment. It is no part of the digest of agents that delegate to this one.
    pub(crate) fn chosen_model(mut self, name: impl Into<Text>) -> Self {
        self.chosen.push(name.into());
        self
    }

    /// The agent's digest, and that by which other agents know it: with `auto` in place of what that found.
    pub(super) fn digests(
        &self,
        specs: &[ToolSpec],
        examples: &[Arc<Message>],
        choices: &[ModelChoice],
        policy: &Policy,
    ) -> [Text; 2] {
        let tools = self.tools.iter().filter_map(|tool| digest_parts(&tool.spec().name, &tool.binding()));
        let sources = self.sources.iter().map(|source| {
            let name = source.name();
            digest_parts(name, &source.binding()).unwrap_or_else(|| (name.to_owned(), Vec::new()))
        });
        let delegates =
            self.delegates.iter().filter_map(|agent| digest_parts(agent.name(), &agent.binding()));
        let bound: Vec<_> = tools.chain(sources).chain(delegates).collect();
        let references = &self.written.references;
        let auto = |choice: &ModelChoice| {
            let name = if self.chosen.contains(&choice.name) { "auto".into() } else { choice.name.clone() };
            ModelChoice { name, ..choice.clone() }
        };
        let general: Vec<ModelChoice> = choices.iter().map(auto).collect();
        [choices, &general].map(|choices| {
            let own = match (&self.input, &self.output) {
                (None, None) => digest(&(&self.name, &self.instructions, examples, specs, choices, policy)),
                types => digest(&(&self.name, &self.instructions, examples, specs, choices, policy, types)),
            };
            // Only with tags is it another text for the model.
            let tagged = self.verbatim && has_tags(&self.instructions);
            let own = if tagged { digest(&(own, "verbatim")) } else { own };
            let own = match &self.prompt {
                None => own,
                Some(builder) => digest(&(own, builder.identity())),
            };
            if bound.is_empty() && references.is_empty() { own } else { digest(&(own, &bound, references)) }
        })
    }
}

/// An agent is another one if its branches are.
pub(super) fn with_branches(own: Text, branches: &[OwnBranch]) -> Text {
    if branches.is_empty() {
        return own;
    }
    let of = |branch: &OwnBranch| (branch.agent.agent_ref().digest.clone(), branch.merge, branch.offered);
    digest(&(own, branches.iter().map(of).collect::<Vec<_>>()))
}
