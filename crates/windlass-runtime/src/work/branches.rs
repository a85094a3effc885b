//! Branches, carried out (acorn).
//!
//! A branch is a run on a shared base: its conversation begins where the step stood that asked for it. Nothing is copied,
//! and what it brings comes back as the result of the call, or after a step where a hook asked for it.

use std::sync::Arc;

use serde_json::{Map, Value};
use windlass_core::budget::Amount;
use windlass_core::model::Usage;
use windlass_core::policy::{Merge, Stop};
use windlass_core::run::OpenCall;
use windlass_core::text::to_xml;
use windlass_core::tool::BRANCH_ERROR;
use windlass_core::{CallOutcome, RunId, State, Status};
use windlass_error::in_full;
use windlass_read::load_until;

use crate::agent::Agent;
use crate::agent::branches::{OwnBranch, branch_of, caching, summing_up};
use crate::agent::delegates::{Task, TaskEnd};
use crate::agent::input::RunMessages;
use crate::driver::run::Run;
use crate::driver::starting::{Beginning, begin};
use crate::platform::child_runs::summary_of;
use crate::platform::error::Error;
use crate::work::delegates::{cannot_go_on, carry_on, inactive, is_detached, waits};
use crate::work::prepared::Prepared;

/// The root of a branch's output in XML (acorn).
const XML_ROOT: &str = "branch_result";

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
        let branch = parent.toolset().branch(open.target_name())?.clone();
        Some(Self {
            agent: branch_of(parent, &branch, state),
            merge: open.merge().unwrap_or(branch.merge),
            input: open.value().as_object().cloned().unwrap_or_default(),
            base: open.asked_at(),
            branch,
            task,
        })
    }

    /// Drives the branch to its end, and brings its end back.
    pub(crate) async fn run(self) -> TaskEnd {
        match carry_on(&self.agent, &self.task, Box::pin(self.prepare())).await {
            Ok(Some(run)) if is_detached(&self.task, &run) => TaskEnd::Detached,
            Ok(Some(run)) => self.end_of(&run).await,
            Ok(None) => Used::default().stopped(),
            Err(error) => {
                let message = format!("Branch execution failed: {}", in_full(&error));
                cannot_go_on(&self.agent, &self.task, error, failure(message)).await
            }
        }
    }

    async fn prepare(&self) -> Result<Prepared, Error> {
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
        let agent = caching(&self.agent, base.history().len());
        begin(&agent, Beginning::of_task(&self.task, input).on(Some(base))).await.map(Prepared::new)
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
        if let Some(outcome) = inactive(&self.agent, state) {
            return used.done(outcome);
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
        let agent = summing_up(&self.branch.agent);
        let task = Task {
            run: summary_of(branch.id()),
            owner: branch.state().owner().clone(),
            parent: branch.id(),
            task: String::new(),
            context: Vec::new(),
            answer: None,
            cancel: self.task.cancel.clone(),
            resumed_by: self.task.resumed_by,
            detach: self.task.detach.clone(),
            // It is a part of the same task.
            budget: branch.state().unused_budget(),
            inactivity_ms: self.task.inactivity_ms,
            account: self.task.account.clone(),
        };
        let prepare = async {
            let input = RunMessages::from(format!("Final result:\n{result}"));
            let beginning = Beginning::of_task(&task, input).on(Some(branch.state().clone()));
            begin(&agent, beginning).await.map(Prepared::new)
        };
        let used = Used::of(branch.state());
        let summary = match carry_on(&agent, &task, Box::pin(prepare)).await {
            Ok(Some(run)) if is_detached(&task, &run) => return TaskEnd::Detached,
            Ok(Some(run)) => run,
            Ok(None) => return used.stopped(),
            Err(Error::Log(error)) => return TaskEnd::LogFailed(Arc::new(error)),
            Err(error) => {
                let why = in_full(&error);
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
                let text = summary.text().unwrap_or_default();
                let content = format!("Branch summary:\n{text}\n\nFinal result:\n{result}").into();
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
