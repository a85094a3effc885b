//! Branches: sub-agents that know the conversation so far (acorn).
//!
//! A branch is a run on a shared base: its conversation begins where the step stood that asked for it. Nothing is copied,
//! and what it brings comes back as the result of the call, or after a step where a hook asked for it.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::{Map, Value, json};
use windlass_core::budget::Amount;
use windlass_core::model::{SUMMARY_PROMPT, Usage};
use windlass_core::policy::{CachePoint, Merge, Stop};
use windlass_core::run::OpenCall;
use windlass_core::text::to_xml;
use windlass_core::tool::{BRANCH_ERROR, Offer, PARENT_TOOL, ToolKind};
use windlass_core::{CallOutcome, Policy, RunId, State, Status, Text, ToolSpec};
use windlass_read::load_until;
use windlass_tools::{Tool, ToolContext, ToolError, ToolResult};

use crate::agent::{Agent, Parts};
use crate::builder::AgentBuilder;
use crate::delegates::{Task, TaskEnd, cannot_go_on, carry_on, is_left, stalled, waits};
use crate::error::Error;
use crate::input::RunMessages;
use crate::run::Run;
use crate::starting::Beginning;

/// Maximum nesting depth of branches.
pub(crate) const MAX_BRANCH_DEPTH: usize = 16;
/// The root of a branch's output in XML (acorn).
const XML_ROOT: &str = "branch_result";

/// A branch of an agent in the making: an agent that begins with its parent's conversation, and may call its parent's
/// tools through `call_parent_tool`.
///
/// What it does not say it has from its parent: its models, log and world. It can do nothing that its parent
/// may not: the parent's lists of tools to approve or deny hold for it, too.
#[derive(Debug)]
pub struct Branch {
    pub(crate) agent: AgentBuilder,
    pub(crate) merge: Merge,
}

impl Branch {
    /// A branch that comes back with its output.
    pub fn new(agent: AgentBuilder) -> Self {
        Self { agent, merge: Merge::default() }
    }

    /// Sets the default merge mode, for calls that name none. Default: [`Merge::EndResult`].
    #[must_use]
    pub fn merge(mut self, merge: Merge) -> Self {
        self.merge = merge;
        self
    }
}

impl From<AgentBuilder> for Branch {
    fn from(agent: AgentBuilder) -> Self {
        Self::new(agent)
    }
}

/// A branch that can be started.
#[derive(Clone, Debug)]
pub(crate) struct OwnBranch {
    pub(crate) agent: Agent,
    pub(crate) merge: Merge,
    /// Whether a model is offered it; others are for hooks only.
    pub(crate) offered: bool,
}

impl OwnBranch {
    pub(crate) fn spec(&self) -> ToolSpec {
        let (name, description) = (self.agent.name().clone(), self.agent.description().clone());
        let input = self.agent.input_schema().map(|schema| &**schema);
        let mut spec = ToolSpec::one_branch(name, description, input);
        spec.offer = Offer::when(self.offered);
        spec
    }
}

/// The agent that a branch came from, as it stood then.
#[derive(Clone, Debug)]
pub(crate) struct Above {
    agent: Agent,
    /// Tools that its model was not offered.
    withheld: Vec<Text>,
}

impl Above {
    /// The tools of the agent above and of those above it, with its gate: timeouts, retries and approvals.
    pub(crate) fn tools(&self) -> Vec<ToolSpec> {
        let policy = self.agent.policy();
        let specs = self.agent.tools();
        let usable = |tool: &&ToolSpec| {
            tool.is_offered()
                && matches!(tool.kind, ToolKind::Run | ToolKind::Ask)
                && !self.withheld.contains(&tool.name)
        };
        let mut tools: Vec<ToolSpec> = specs
            .iter()
            .filter(usable)
            .map(|tool| {
                let mut tool = tool.clone();
                tool.timeout_ms.get_or_insert(policy.calls.tool_ms);
                tool.retries.get_or_insert(policy.calls.retries);
                tool.approve |= policy.wants_approval(&tool.name) || policy.approves_effect_of(&tool);
                tool
            })
            .collect();
        let higher = specs.iter().find(|tool| tool.kind == ToolKind::Parent);
        for tool in higher.into_iter().flat_map(|tool| tool.targets.iter()) {
            if !tools.iter().any(|own| own.name == tool.name) {
                tools.push(tool.clone());
            }
        }
        tools
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.agent.tool(name).or_else(|| self.agent.tool_above(name))
    }

    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }
}

impl Agent {
    /// The branch of that name.
    pub(crate) fn branch(&self, name: &str) -> Option<&OwnBranch> {
        self.toolset().branch(name)
    }

    /// The tool that a call runs.
    pub(crate) fn tool_of(&self, state: &State, open: &OpenCall) -> Option<Arc<dyn Tool>> {
        match state.tool(&open.call.name).map(|tool| tool.kind) {
            Some(ToolKind::Branch | ToolKind::Parent) if !open.reaches() => {
                Some(Arc::new(Listing { spec: ToolSpec::new("", "", json!({})), said: state.listing(open) }))
            }
            Some(ToolKind::Parent) => self.tool_above(open.target_name()),
            _ => self.tool(&open.call.name),
        }
    }

    /// Nesting depth of the branches below this agent.
    pub(crate) fn branch_depth(&self) -> usize {
        self.toolset().branches.iter().map(|branch| branch.agent.branch_depth() + 1).max().unwrap_or(0)
    }

    /// This agent as a branch of another one, which stands so.
    fn under(&self, parent: &Self, state: &State) -> Self {
        let withheld =
            state.own_tools().iter().filter(|tool| !tool.is_offered()).map(|tool| tool.name.clone());
        let above = Above { agent: parent.clone(), withheld: withheld.collect() };
        let mut policy = Policy::clone(self.policy());
        policy.tools.approve.extend(parent.policy().tools.approve.iter().cloned());
        policy.tools.deny.extend(parent.policy().tools.deny.iter().cloned());
        Self::of(Parts {
            spec: self.spec().under(policy),
            tools: self.toolset().below(above),
            models: self.model_set().clone(),
            edges: self.edges().clone(),
        })
    }

    /// A branch of so many inherited messages. If its parent marks as usual what a provider's cache should keep, the system
    /// message is marked here and the last inherited one, so that the parent's conversation is not paid for anew.
    fn caching(&self, inherited: usize) -> Self {
        let marks = self
            .toolset()
            .above
            .as_ref()
            .is_some_and(|above| above.agent.policy().request.cache.said() == CachePoint::usual());
        let before = self.spec().prompt_len();
        let Some(last) = (before + inherited).checked_sub(1).filter(|_| marks && inherited > 0) else {
            return self.clone();
        };
        let mut policy = Policy::clone(self.policy());
        policy.request.cache.0 =
            Some(vec![CachePoint::role("system"), CachePoint::at(i64::try_from(last).unwrap_or(i64::MAX))]);
        Self::of(Parts {
            spec: self.spec().under(policy),
            tools: self.toolset().again(),
            models: self.model_set().clone(),
            edges: self.edges().clone(),
        })
    }

    /// The agent that sums up a run of this one: its models with one prompt, and nothing else.
    fn summing_up(&self) -> Self {
        let policy = self.policy().summary();
        Self::of(Parts {
            models: self.model_set().for_summaries(&policy),
            spec: self.spec().told(SUMMARY_PROMPT, policy),
            tools: self.toolset().none(),
            edges: self.edges().alone(),
        })
    }
}

/// Error text for a call to `branch` or `delegate` that names an unknown target.
#[derive(Debug)]
struct Listing {
    spec: ToolSpec,
    said: Result<String, String>,
}

impl Tool for Listing {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, _: ToolContext, _: Value) -> BoxFuture<'_, ToolResult> {
        let said = self.said.clone();
        Box::pin(async move {
            said.map(Into::into).map_err(|message| {
                let mut error = ToolError::new(message);
                error.kind = Some(BRANCH_ERROR.into());
                error
            })
        })
    }
}

/// A branch that a run asks for.
pub(crate) struct BranchWork {
    branch: OwnBranch,
    agent: Agent,
    task: Task,
    input: Map<String, Value>,
    merge: Merge,
    base: (RunId, u64),
}

impl BranchWork {
    /// The branch that a call of a run asks for. `None`: the agent has no such branch any more.
    pub(crate) fn of(parent: &Agent, state: &State, open: &OpenCall, task: Task) -> Option<Self> {
        let branch = parent.branch(open.target_name())?.clone();
        Some(Self {
            agent: branch.agent.under(parent, state),
            merge: open.merge().unwrap_or(branch.merge),
            input: open.value().as_object().cloned().unwrap_or_default(),
            base: open.asked_at(),
            branch,
            task,
        })
    }

    /// Drives the branch to its end, and brings its end back.
    pub(crate) async fn run(self) -> TaskEnd {
        match carry_on(&self.agent, &self.task, Box::pin(self.begin())).await {
            Ok(Some(run)) if is_left(&self.task, &run) => TaskEnd::Left,
            Ok(Some(run)) => self.end_of(&run).await,
            Ok(None) => Used::default().stopped(),
            Err(error) => {
                let message = format!("Branch execution failed: {}", crate::error::in_full(&error));
                cannot_go_on(&self.agent, &self.task, error, failure(message)).await
            }
        }
    }

    async fn begin(&self) -> Result<crate::run::Prepared, Error> {
        let (run, version) = self.base;
        let base = load_until(&**self.agent.log(), run, version).await?;
        let typed =
            self.agent.input_schema().is_some() || self.agent.policy().replies.stop == Stop::FinishTool;
        // acorn gives the fields as they are where there is no schema.
        let input = if typed {
            RunMessages::from(self.input.clone())
        } else {
            RunMessages::from(Value::Object(self.input.clone()).to_string())
        };
        let agent = self.agent.caching(base.history().len());
        agent.begin(Beginning::of_task(&self.task, input).on(Some(base))).await
    }

    async fn end_of(&self, run: &Run) -> TaskEnd {
        let state = run.state();
        let used = Used::of(state);
        let Some(end) = state.ended() else {
            return match state.questions().first() {
                Some(question) => TaskEnd::Asks(Box::new(question.clone())),
                None => waits(state).unwrap_or_else(|| used.stopped()),
            };
        };
        let missing = end.output.is_none() && self.agent.output_schema().is_some();
        if end.status == Status::Cancelled {
            return used.stopped();
        }
        if let Some(stalled) = stalled(&self.agent, state) {
            return used.done(stalled);
        }
        if missing || matches!(end.status, Status::Failed(_)) {
            let why = end.error.as_deref().or(end.text.as_deref()).unwrap_or_default();
            let message = format!("Branch execution failed: it ended as {}: {why}", end.status);
            return used.done(failure(message.trim_end_matches(": ").to_owned()));
        }
        match &end.output {
            Some(output) if self.merge == Merge::EndResult => {
                let content = self.xml(output).into();
                used.done(CallOutcome::Ok { content })
            }
            output => self.sum_up(run, &result_text(output.as_ref(), end.text.as_deref())).await,
        }
    }

    /// The output as acorn writes it: in the order of its schema, without descriptions.
    fn xml(&self, output: &Value) -> String {
        let Value::Object(fields) = output else {
            let only = Map::from_iter([("output".to_owned(), output.clone())]);
            return to_xml(XML_ROOT, &only, &Value::Null);
        };
        let schema = self.agent.output_schema().and_then(|schema| schema.get("properties")?.as_object());
        let known = schema.into_iter().flat_map(Map::keys);
        let first = known.filter_map(|key| fields.get_key_value(key));
        let mut ordered: Map<String, Value> =
            first.map(|(key, value)| (key.clone(), value.clone())).collect();
        for (key, value) in fields {
            ordered.entry(key.clone()).or_insert_with(|| value.clone());
        }
        to_xml(XML_ROOT, &ordered, &Value::Null)
    }

    /// One model call that sums the branch up: a run of its own on the branch's end, so that it is durable, counted and
    /// stopped like any other.
    async fn sum_up(&self, branch: &Run, result: &str) -> TaskEnd {
        let agent = self.branch.agent.summing_up();
        let task = Task {
            run: summary_of(branch.id()),
            owner: branch.state().owner().clone(),
            parent: branch.id(),
            task: String::new(),
            context: Vec::new(),
            answer: None,
            cancel: self.task.cancel.clone(),
            resumed_by: self.task.resumed_by,
            leave: self.task.leave.clone(),
            // It is a part of the same task.
            budget: branch.state().unused_budget(),
            stall_ms: self.task.stall_ms,
            account: self.task.account.clone(),
        };
        let prepare = async {
            let input = RunMessages::from(format!("Final result:\n{result}"));
            agent.begin(Beginning::of_task(&task, input).on(Some(branch.state().clone()))).await
        };
        let used = Used::of(branch.state());
        let summary = match carry_on(&agent, &task, Box::pin(prepare)).await {
            Ok(Some(run)) if is_left(&task, &run) => return TaskEnd::Left,
            Ok(Some(run)) => run,
            Ok(None) => return used.stopped(),
            Err(Error::Log(error)) => return TaskEnd::LogFailed(Arc::new(error)),
            Err(error) => {
                let why = crate::error::in_full(&error);
                return used
                    .done(failure(format!("Branch execution failed: it cannot be summarized: {why}")));
            }
        };
        if let Some(waits) = waits(summary.state()) {
            return waits;
        }
        let used = used.and(&Used::of(summary.state()));
        match summary.status() {
            Some(Status::Cancelled) => used.stopped(),
            Some(Status::Answered) => {
                let said = summary.text().unwrap_or_default();
                let content = format!("Branch summary:\n{said}\n\nFinal result:\n{result}").into();
                used.done(CallOutcome::Ok { content })
            }
            status => {
                let status = status.map_or("open", Status::name);
                let why = summary.error().unwrap_or(status);
                used.done(failure(format!(
                    "The branch has ended, and its summary failed: {why}\n\nFinal result:\n{result}"
                )))
            }
        }
    }
}

/// The run that sums a branch up.
pub(crate) fn summary_of(branch: RunId) -> RunId {
    branch.derived("summary")
}

/// A branch's result as one text.
fn result_text(output: Option<&Value>, text: Option<&str>) -> String {
    match output {
        Some(output) => serde_json::to_string_pretty(output).unwrap_or_default(),
        None => text.filter(|text| !text.is_empty()).unwrap_or("None").to_owned(),
    }
}

fn failure(message: String) -> CallOutcome {
    CallOutcome::Error { kind: Some(BRANCH_ERROR.into()), message: message.into() }
}

/// Usage of a branch.
struct Used {
    usage: Usage,
    cost: Option<u64>,
    reserved: Amount,
}

impl Default for Used {
    fn default() -> Self {
        Self { usage: Usage::default(), cost: Some(0), reserved: Amount::default() }
    }
}

impl Used {
    fn of(state: &State) -> Self {
        Self { usage: *state.usage(), cost: state.cost(), reserved: state.reserved_if_lost() }
    }

    fn and(mut self, other: &Self) -> Self {
        self.usage.add(&other.usage);
        let cost = self.cost.zip(other.cost).map(|(one, other)| one.saturating_add(other));
        Self { cost, reserved: self.reserved.plus(other.reserved), ..self }
    }

    fn done(self, outcome: CallOutcome) -> TaskEnd {
        let Self { usage, cost, reserved } = self;
        TaskEnd::Done { outcome, usage, cost, reserved }
    }

    fn stopped(self) -> TaskEnd {
        self.done(CallOutcome::Interrupted)
    }
}

/// Names that a branch's own tools must not have.
pub(crate) fn reserved(agent: &Agent) -> Option<Text> {
    let specs = agent.tools();
    specs.iter().find(|tool| *tool.name == *PARENT_TOOL).map(|tool| tool.origin.clone())
}
