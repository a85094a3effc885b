//! Start and take-over of a run: the data of [`RunFact::Started`](crate::event::RunFact::Started) and
//! [`RunFact::Resumed`](crate::event::RunFact::Resumed).

use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::policy::Policy;
use crate::protocol::fact::fork::Fork;
use crate::vocabulary::binding::BindingDigests;
use crate::vocabulary::budget::Budget;
use crate::vocabulary::ids::{Owner, RunId, SessionId, Text};
use crate::vocabulary::message::Message;
use crate::vocabulary::model::{Carried, ModelChoice};
use crate::vocabulary::payload::Ref;
use crate::vocabulary::tool::ToolSpec;

/// Reference to the agent of a run: enough to detect that the agent has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRef {
    /// The agent's name.
    pub name: Text,
    /// SHA-256 over everything about it that a run depends on.
    pub digest: Text,
}

impl AgentRef {
    /// The prefix of the agent digest of an imported run, so that it equals no agent's digest here.
    pub const IMPORTED: &'static str = "imported:";

    /// Whether the run came from elsewhere, and no agent here has gone on with it yet.
    pub fn is_imported(&self) -> bool {
        self.digest.starts_with(Self::IMPORTED)
    }

    /// The agent of a run that comes from elsewhere.
    #[must_use]
    pub fn imported(&self) -> Self {
        if self.is_imported() {
            return self.clone();
        }
        Self { name: self.name.clone(), digest: format!("{}{}", Self::IMPORTED, self.digest).into() }
    }

    /// The agent as it was known where the run came from.
    #[must_use]
    pub fn at_home(&self) -> Self {
        let digest = self.digest.strip_prefix(Self::IMPORTED).map_or_else(|| self.digest.clone(), Into::into);
        Self { name: self.name.clone(), digest }
    }
}

/// Another agent that goes on with a run, which keeps its policy, models and instructions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentSwitch {
    /// The agent.
    pub agent: AgentRef,
    /// The files that it was made of ([`RunStarted::agent_files`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_files: Option<Arc<Ref>>,
}

/// A place in another run's log that this run's history begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The run.
    pub run: RunId,
    /// Number of its events that belong to the base.
    pub version: u64,
    /// The digest of the base's conversation there ([`State::digest`](crate::State::digest)).
    pub digest: Text,
}

/// The input that a run starts from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunInput {
    /// New messages, added to the base's conversation.
    Messages(Vec<Arc<Message>>),
    /// No new message: continues a run that ended at a limit, with other limits and the counters carried over.
    Continue(Carried),
    /// A fork: the run continues from its base's state, with the base's work in progress.
    Fork(Fork),
}

impl RunInput {
    /// The prompt with the caller's system messages right behind the agent's own (KAOS).
    #[must_use]
    pub fn instruct(&self, prompt: &Arc<Vec<Arc<Message>>>) -> Arc<Vec<Arc<Message>>> {
        let Self::Messages(messages) = self else { return prompt.clone() };
        if !messages.iter().any(|message| message.instructs()) {
            return prompt.clone();
        }
        let own = usize::from(prompt.first().is_some_and(|first| first.instructs()));
        let callers = messages.iter().filter(|message| message.instructs());
        let all = prompt.iter().take(own).chain(callers).chain(prompt.iter().skip(own));
        Arc::new(all.cloned().collect())
    }
}

/// See [`RunFact::Started`](crate::event::RunFact::Started).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The run's id.
    pub run: RunId,
    /// The agent.
    pub agent: AgentRef,
    /// The files that the agent was made of, where it came from files: it goes on with the run whatever becomes of them. A child
    /// run's stand with its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_files: Option<Arc<Ref>>,
    /// The owner: the one who started the run. A child run has its parent's, a fork and an import those of the one who makes
    /// them.
    #[serde(default, skip_serializing_if = "Owner::is_local")]
    pub owner: Owner,
    /// SHA-256 of the request that began the run, in hexadecimal digits, where it came under an idempotency key. Another request under
    /// the key is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_digest: Option<Text>,
    /// The session that the run belongs to: one of its owner's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The run that delegated to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// Budget lent by that run; it caps this run's limits.
    #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
    pub budget: Budget,
    /// The base that the conversation continues from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Base>,
    /// Patterns of the tools that the run was given; `None`: all of its agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_tools: Option<Arc<Vec<Text>>>,
    /// Earlier runs of the agent that resemble this one and reached their goal, the most similar first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recalled: Vec<Recalled>,
    /// How the agent's tools did in earlier runs: plans are made with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_records: Vec<ToolRecord>,
    /// Input of the run.
    pub input: RunInput,
    /// The messages that stand before the conversation: the rendered instructions and worked examples.
    pub prompt: Arc<Vec<Arc<Message>>>,
    /// The objective, where a prompt builder made the system message of it. `None`: the system message is the objective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<Text>,
    /// The tools, offered or only known.
    pub tools: Arc<Vec<ToolSpec>>,
    /// The models to ask, in order of fallback.
    pub models: Arc<Vec<ModelChoice>>,
    /// The values of all policy slots.
    pub policy: Arc<Policy>,
    /// JSON Schema of the typed output, if the agent has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Arc<Value>>,
    /// The binding digests of the tools: what approvals are bound to beside the tools' descriptions. `None`: nothing is bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding_digests: Option<Arc<BindingDigests>>,
    /// Span of the run for tracing, as W3C Trace Context's `traceparent`. It does not affect the run; a take-over in another
    /// process continues the same trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Text>,
}

/// Empty lists that all starts share: each has memory of its own, which most starts would make and drop.
#[derive(Default)]
struct Nothing {
    prompt: Arc<Vec<Arc<Message>>>,
    tools: Arc<Vec<ToolSpec>>,
    models: Arc<Vec<ModelChoice>>,
}

impl RunStarted {
    /// The start of a run that has nothing but an agent and an input: no models, tools, prompt or session, and the default policy.
    pub fn new(run: RunId, agent: AgentRef, input: RunInput) -> Self {
        static NOTHING: LazyLock<Nothing> = LazyLock::new(Nothing::default);
        let Nothing { prompt, tools, models } = &*NOTHING;
        Self {
            run,
            agent,
            agent_files: None,
            owner: Owner::default(),
            request_digest: None,
            session: None,
            parent: None,
            budget: Budget::default(),
            base: None,
            only_tools: None,
            recalled: Vec::new(),
            tool_records: Vec::new(),
            input,
            prompt: prompt.clone(),
            objective: None,
            tools: tools.clone(),
            models: models.clone(),
            policy: Policy::shared_default(),
            output_schema: None,
            binding_digests: None,
            traceparent: None,
        }
    }
}

/// How a tool did in earlier runs of the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRecord {
    /// The tool.
    pub tool: Text,
    /// Its class: `reliable`, `unsteady`, `unreliable` or `avoid`.
    pub reliability: Text,
    /// Calls that ran and ended.
    pub calls: u64,
    /// Those of them that gave a result.
    pub succeeded: u64,
}

/// An earlier run that a run was reminded of when it began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recalled {
    /// The run.
    pub run: RunId,
    /// Its input.
    pub query: Text,
    /// Its answer.
    pub result: Text,
    /// Similarity, from 0 to 1.
    pub score: f64,
}

/// See [`RunFact::Resumed`](crate::event::RunFact::Resumed).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResumed {
    /// Identity of the new holder.
    pub holder: Text,
    /// The lease's fencing number.
    pub epoch: u64,
    /// Milliseconds by which the new holder's clock lags behind the run's latest time: it was set back, or the previous
    /// holder's clock was ahead. The run continues from its latest time. `None`: no more than
    /// [`CLOCK_JUMP_MS`](crate::event::CLOCK_JUMP_MS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_behind_ms: Option<crate::vocabulary::ids::Millis>,
    /// The authority that resumed the run.
    #[serde(default, skip_serializing_if = "ResumedBy::is_runtime")]
    pub by: ResumedBy,
}

/// The authority that resumes a run whose process is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumedBy {
    /// The runtime by itself: a run that was lost too often is left alone ([`State::is_given_up`](crate::State::is_given_up)).
    #[default]
    Runtime,
    /// A person, however many attempts at the run's model call were lost before.
    Person,
}

impl ResumedBy {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
    pub(crate) fn is_runtime(&self) -> bool {
        *self == Self::Runtime
    }
}
