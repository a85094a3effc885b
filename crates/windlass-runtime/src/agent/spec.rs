//! The data of an agent: its instructions, and the rules of its runs.

use std::sync::Arc;

use serde_json::Value;
use windlass_agent_file::Written;
use windlass_core::event::AgentRef;
use windlass_core::{Message, Policy, Text};

use crate::agent::files::AgentFiles;
use crate::agent::prompt::Prompting;

/// The part of an agent that its digest covers, apart from tools and models.
#[derive(Clone)]
pub(crate) struct AgentSpec {
    pub(crate) name: Text,
    pub(crate) description: Text,
    pub(crate) agent_ref: AgentRef,
    /// Its digest as other agents know it.
    pub(crate) identity: Text,
    pub(crate) written: Written,
    /// The files that it was made of; `None`: it was built in Rust, or is a branch of another agent.
    pub(crate) files: Option<Arc<AgentFiles>>,
    /// The salt of the binding digests of runs that begin here.
    pub(crate) salt: Text,
    pub(crate) prompting: Prompting,
    /// The messages before the conversation, where they are the same for all runs.
    pub(crate) prompt: Arc<Vec<Arc<Message>>>,
    pub(crate) examples: Vec<Arc<Message>>,
    pub(crate) policy: Arc<Policy>,
    /// JSON Schema of its typed input.
    pub(crate) input: Option<Arc<Value>>,
    /// JSON Schema of its typed output.
    pub(crate) output: Option<Arc<Value>>,
}

impl AgentSpec {
    /// Number of messages before the conversation.
    pub(crate) fn prompt_len(&self) -> usize {
        if self.prompting.varies() { 1 + self.examples.len() } else { self.prompt.len() }
    }

    /// The same under another policy, made of no files: a run of it does not name them.
    pub(crate) fn under(&self, policy: Policy) -> Self {
        Self { policy: Arc::new(policy), files: None, ..self.clone() }
    }

    /// The same with this system message and nothing else.
    pub(crate) fn with_system(&self, system: &str, policy: Policy) -> Self {
        Self {
            prompting: Prompting::default(),
            prompt: Arc::new(vec![Arc::new(Message::system(system))]),
            examples: Vec::new(),
            input: None,
            output: None,
            ..self.under(policy)
        }
    }
}
