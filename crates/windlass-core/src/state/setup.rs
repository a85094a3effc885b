//! Configuration of a run, as the last events set it.

use std::sync::Arc;

use serde_json::Value;

use crate::policy::Policy;
use crate::protocol::fact::Adjusted;
use crate::protocol::fact::interrupts::Steered;
use crate::protocol::fact::limits::LimitRaised;
use crate::protocol::fact::run::{AgentRef, Recalled, RunInput, RunStarted, ToolRecord};
use crate::vocabulary::amount::METERED;
use crate::vocabulary::binding::BindingDigests;
use crate::vocabulary::budget::Budget;
use crate::vocabulary::ids::{Owner, SessionId, Text};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::message::Message;
use crate::vocabulary::model::ModelChoice;
use crate::vocabulary::payload::Ref;
use crate::vocabulary::tool::ToolSpec;

/// The agent and its settings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setup {
    agent: Option<AgentRef>,
    /// The files that the agent was made of.
    agent_files: Option<Arc<Ref>>,
    owner: Owner,
    session: Option<SessionId>,
    /// The span that tells of the run (`traceparent`), where one does.
    trace: Option<Text>,
    policy: Arc<Policy>,
    models: Arc<Vec<ModelChoice>>,
    /// The messages before the conversation.
    prompt: Arc<Vec<Arc<Message>>>,
    /// The objective that the system message was made of; `None`: the system message itself.
    objective: Option<Text>,
    /// Patterns of the tools that the run was given; `None`: all of its agent's.
    only_tools: Option<Arc<Vec<Text>>>,
    /// Earlier runs that it was reminded of.
    recalled: Arc<Vec<Recalled>>,
    /// How its tools did in earlier runs.
    tool_records: Arc<Vec<ToolRecord>>,
    /// JSON Schema of the typed output.
    output: Option<Arc<Value>>,
}

impl Setup {
    pub(crate) fn agent(&self) -> Option<&AgentRef> {
        self.agent.as_ref()
    }

    /// The files that the agent was made of.
    pub(crate) fn agent_files(&self) -> Option<&Arc<Ref>> {
        self.agent_files.as_ref()
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    pub(crate) fn session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }

    /// The span that tells of the run (`traceparent`), where one does.
    pub(crate) fn trace(&self) -> Option<&Text> {
        self.trace.as_ref()
    }

    pub(crate) fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    pub(crate) fn models(&self) -> &Arc<Vec<ModelChoice>> {
        &self.models
    }

    /// The messages before the conversation.
    pub(crate) fn prompt(&self) -> &Arc<Vec<Arc<Message>>> {
        &self.prompt
    }

    /// The objective that the system message was made of; `None`: the system message itself.
    pub(crate) fn objective(&self) -> Option<&Text> {
        self.objective.as_ref()
    }

    /// Patterns of the tools that the run was given; `None`: all of its agent's.
    pub(crate) fn only_tools(&self) -> Option<&Arc<Vec<Text>>> {
        self.only_tools.as_ref()
    }

    /// Earlier runs that it was reminded of.
    pub(crate) fn recalled(&self) -> &Arc<Vec<Recalled>> {
        &self.recalled
    }

    /// How its tools did in earlier runs.
    pub(crate) fn tool_records(&self) -> &Arc<Vec<ToolRecord>> {
        &self.tool_records
    }

    /// JSON Schema of the typed output.
    pub(crate) fn output(&self) -> Option<&Arc<Value>> {
        self.output.as_ref()
    }

    /// The run starts with these.
    pub(crate) fn started(&mut self, start: &RunStarted) {
        self.agent = Some(start.agent.clone());
        self.agent_files.clone_from(&start.agent_files);
        self.owner.clone_from(&start.owner);
        self.session.clone_from(&start.session);
        self.trace.clone_from(&start.traceparent);
        self.policy = start.policy.clone();
        self.models = start.models.clone();
        self.prompt = start.prompt.clone();
        self.objective.clone_from(&start.objective);
        self.only_tools.clone_from(&start.only_tools);
        self.recalled = Arc::new(start.recalled.clone());
        self.tool_records = Arc::new(start.tool_records.clone());
        self.output.clone_from(&start.output_schema);
    }

    /// The adjustments of an event take the place of the former values.
    pub(crate) fn adjusted(&mut self, adjusted: &Adjusted) {
        if let Some(policy) = &adjusted.policy {
            self.policy = policy.clone();
        }
        if let Some(models) = &adjusted.models {
            self.models = models.clone();
        }
        if let Some(prompt) = &adjusted.prompt {
            self.prompt = prompt.clone();
        }
        if let Some(switched) = &adjusted.switched {
            self.agent = Some(switched.agent.clone());
            self.agent_files.clone_from(&switched.agent_files);
        }
        if let Some(agent) = &adjusted.agent {
            self.agent = Some(agent.clone());
            self.agent_files.clone_from(&adjusted.agent_files);
            self.objective.clone_from(&adjusted.objective);
        }
    }

    /// This policy holds from here on.
    pub(crate) fn governed_by(&mut self, policy: Arc<Policy>) {
        self.policy = policy;
    }

    /// A limit that cut the run is raised.
    pub(crate) fn raise(&mut self, raised: &LimitRaised) {
        let policy = Arc::make_mut(&mut self.policy);
        let watched = policy.calls.repetition.watched_mut();
        if let Some(repetition) = watched.filter(|_| raised.limit == LimitKind::Repetition) {
            repetition.stop_at = u32::try_from(raised.max).unwrap_or(u32::MAX);
        } else if let Some(limit) = policy.bounds.limits.get_mut(&raised.limit) {
            limit.max = raised.max;
        }
    }

    /// The limits on tokens and cost are no higher than what was lent.
    pub(crate) fn stay_within(&mut self, budget: &Budget) {
        for kind in METERED {
            let Some(lent) = budget.get(kind) else { continue };
            if self.policy.limit(kind).is_none_or(|own| own > lent) {
                Arc::make_mut(&mut self.policy).set_limit_value(kind, lent);
            }
        }
    }

    /// The caller's instructions stand behind the agent's own.
    pub(crate) fn instructed(&mut self, input: &RunInput) {
        self.prompt = input.instruct(&self.prompt);
    }

    /// Puts a new objective, or the system message made of it, in the place of the agent's own. Worked examples and reminders
    /// stay.
    pub(crate) fn pursue(&mut self, steered: &Steered) {
        let own = usize::from(self.prompt.first().is_some_and(|first| first.instructs()));
        let system = Message::system(steered.prompt.as_ref().unwrap_or(&steered.text).clone());
        let system = std::iter::once(Arc::new(system));
        self.prompt = Arc::new(system.chain(self.prompt.iter().skip(own).cloned()).collect());
        if steered.prompt.is_some() || self.objective.is_some() {
            self.objective = Some(steered.text.clone());
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
        Self {
            agent: None,
            agent_files: None,
            owner: Owner::default(),
            session: None,
            trace: None,
            policy: Policy::shared_default(),
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
    own: Arc<Vec<ToolSpec>>,
    /// The same, with those of Windlass: what reads stored payloads once there is one, what finds tools.
    all: Arc<Vec<ToolSpec>>,
    /// Tools that requests show.
    visible: Arc<Vec<ToolSpec>>,
    /// Facts of few runs, behind one pointer.
    rare: Option<Arc<RareTools>>,
    /// Binding digests that approvals are bound to beside the tools' descriptions.
    binding_digests: Option<Arc<BindingDigests>>,
}

/// Facts about tools that few runs have.
#[derive(Clone, Debug, Default, PartialEq)]
struct RareTools {
    /// Those that a provider refused: they are offered no longer.
    refused: Vec<Text>,
    /// The visible ones without the finish tool, where a model answers with the output instead.
    without_finish: Option<Arc<Vec<ToolSpec>>>,
}

impl Toolbox {
    /// The agent's tools, the same with those of Windlass, and those that requests show.
    pub(crate) fn offer(
        &mut self,
        own: Arc<Vec<ToolSpec>>,
        all: Arc<Vec<ToolSpec>>,
        visible: Arc<Vec<ToolSpec>>,
    ) {
        (self.own, self.all, self.visible) = (own, all, visible);
    }

    /// A provider has refused a tool.
    pub(crate) fn refuse(&mut self, tool: Text) {
        Arc::make_mut(self.rare.get_or_insert_default()).refused.push(tool);
    }

    /// Other models may take what those before refused.
    pub(crate) fn forget_refusals(&mut self) {
        if let Some(rare) = &mut self.rare {
            Arc::make_mut(rare).refused.clear();
        }
    }

    /// The tools for models that are not told of the finish tool; `None`: all models are.
    pub(crate) fn hide_finish(&mut self, without_finish: Option<Arc<Vec<ToolSpec>>>) {
        if self.rare.is_some() || without_finish.is_some() {
            Arc::make_mut(self.rare.get_or_insert_default()).without_finish = without_finish;
        }
    }

    /// The visible tools without the finish tool, where some model is not told of it.
    pub(crate) fn without_finish(&self) -> Option<&Arc<Vec<ToolSpec>>> {
        self.rare.as_ref()?.without_finish.as_ref()
    }

    /// Approvals are bound to these digests.
    pub(crate) fn bind(&mut self, digests: Option<&Arc<BindingDigests>>) {
        self.binding_digests = digests.cloned();
    }

    /// The part that can change in a run whose tools are given.
    #[cfg(test)]
    pub(crate) fn bare(self) -> Self {
        Self { visible: self.visible, binding_digests: self.binding_digests, ..Self::default() }
    }

    /// The agent's tools.
    pub(crate) fn own(&self) -> &Arc<Vec<ToolSpec>> {
        &self.own
    }

    /// The same, with those of Windlass: what reads stored payloads once there is one, what finds tools.
    pub(crate) fn all(&self) -> &Arc<Vec<ToolSpec>> {
        &self.all
    }

    /// Tools that requests show.
    pub(crate) fn visible(&self) -> &Arc<Vec<ToolSpec>> {
        &self.visible
    }

    /// Those that a provider refused: they are offered no longer.
    pub(crate) fn refused(&self) -> &[Text] {
        self.rare.as_ref().map_or(&[], |rare| &rare.refused)
    }

    /// Binding digests that approvals are bound to beside the tools' descriptions.
    pub(crate) fn binding_digests(&self) -> Option<&Arc<BindingDigests>> {
        self.binding_digests.as_ref()
    }
}
