//! Configuration of a run, as the last events set it.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::policy::Policy;
use crate::protocol::fact::interrupts::Steered;
use crate::protocol::fact::run::{AgentRef, Recalled, ToolRecord};
use crate::vocabulary::binding::BindingDigests;
use crate::vocabulary::ids::{Owner, SessionId, Text};
use crate::vocabulary::message::Message;
use crate::vocabulary::model::ModelChoice;
use crate::vocabulary::payload::Ref;
use crate::vocabulary::tool::ToolSpec;

/// The agent and its settings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setup {
    pub(crate) agent: Option<AgentRef>,
    /// The files that the agent was made of.
    pub(crate) agent_files: Option<Arc<Ref>>,
    pub(crate) owner: Owner,
    pub(crate) session: Option<SessionId>,
    /// The span that tells of the run (`traceparent`), where one does.
    pub(crate) trace: Option<Text>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) models: Arc<Vec<ModelChoice>>,
    /// The messages before the conversation.
    pub(crate) prompt: Arc<Vec<Arc<Message>>>,
    /// The objective that the system message was made of; `None`: the system message itself.
    pub(crate) objective: Option<Text>,
    /// Patterns of the tools that the run was given; `None`: all of its agent's.
    pub(crate) only_tools: Option<Arc<Vec<Text>>>,
    /// Earlier runs that it was reminded of.
    pub(crate) recalled: Arc<Vec<Recalled>>,
    /// How its tools did in earlier runs.
    pub(crate) tool_records: Arc<Vec<ToolRecord>>,
    /// JSON Schema of the typed output.
    pub(crate) output: Option<Arc<Value>>,
}

impl Setup {
    /// Puts a new objective, or the system message made of it, in the place of the agent's own. Worked examples and reminders
    /// stay.
    pub(crate) fn pursue(&mut self, said: &Steered) {
        let own = usize::from(self.prompt.first().is_some_and(|first| first.instructs()));
        let system = Message::system(said.prompt.as_ref().unwrap_or(&said.text).clone());
        let system = std::iter::once(Arc::new(system));
        self.prompt = Arc::new(system.chain(self.prompt.iter().skip(own).cloned()).collect());
        if said.prompt.is_some() || self.objective.is_some() {
            self.objective = Some(said.text.clone());
        }
    }

    /// The messages that say the objective: the system messages, the first one as it was before a builder worked on it.
    pub(crate) fn objectives(&self) -> impl Iterator<Item = Arc<Message>> + '_ {
        let given = self.objective.iter().map(|text| Arc::new(Message::system(text.clone())));
        let made = usize::from(self.objective.is_some());
        given.chain(self.prompt.iter().filter(|message| message.instructs()).skip(made).cloned())
    }
}

impl Default for Setup {
    fn default() -> Self {
        // Each run has its own policy from its first event on: until then all of them share one.
        static FIRST: OnceLock<Arc<Policy>> = OnceLock::new();
        Self {
            agent: None,
            agent_files: None,
            owner: Owner::default(),
            session: None,
            trace: None,
            policy: FIRST.get_or_init(Arc::default).clone(),
            models: Arc::default(),
            prompt: Arc::default(),
            objective: None,
            only_tools: None,
            recalled: Arc::default(),
            tool_records: Arc::default(),
            output: None,
        }
    }
}

/// The tools of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Toolbox {
    /// The agent's tools.
    pub(crate) own: Arc<Vec<ToolSpec>>,
    /// The same, with those of Windlass: what reads stored payloads once there is one, what finds tools.
    pub(crate) all: Arc<Vec<ToolSpec>>,
    /// Tools that requests show.
    pub(crate) shown: Arc<Vec<ToolSpec>>,
    /// Those that a provider refused, if any: they are offered no longer.
    pub(crate) refused: Option<Arc<Vec<Text>>>,
    /// Binding digests that approvals are bound to beside the tools' descriptions.
    pub(crate) binding_digests: Option<Arc<BindingDigests>>,
}
