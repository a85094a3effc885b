//! Starts the work of each action.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use windlass_core::budget::Budget;
use windlass_core::event::TaskOrder;
use windlass_core::tool::{Effect, ToolKind};
use windlass_core::{Action, ActionId, ActionKind, CallId, InputKind, RunId, State};
use windlass_models::PrefixCell;
use windlass_store::Payloads;
use windlass_tools::Tool;

use super::Driver;
use crate::account::paid;
use crate::agent::Agent;
use crate::asking::ModelWork;
use crate::branches::BranchWork;
use crate::coding::CodeWork;
use crate::delegates::{Task, TaskEnd, context_of};
use crate::off_thread::off_thread;
use crate::reading::ReadResult;
use crate::searching::SearchTools;
use crate::slots::Slot;
use crate::work::{self, ToolWork};

impl Driver {
    fn model_work(&self, action: ActionId, cancel: &CancellationToken) -> Option<ModelWork> {
        let asked = self.state.request(action)?.model;
        Some(ModelWork {
            action,
            model: self.agent.model(&asked.name).cloned(),
            state: Box::new(self.state.clone()),
            // Two requests at once do not write into the same bytes.
            prefix: if self.state.is_hedge(action) {
                PrefixCell::default()
            } else {
                self.prefixes.of(asked.role)
            },
            payloads: self.agent.log().clone(),
            publisher: self.publisher.clone(),
            floor: self.floor.clone(),
            content: self.state.stall_alarm().map(|_| self.content.clone()),
            environment: self.agent.environment().clone(),
            cancel: cancel.clone(),
        })
    }

    /// Starts the work of an action; `None`: it cannot be done here.
    pub(super) fn begin(&self, action: Action) -> Option<Slot> {
        let cancel = CancellationToken::new();
        let id = action.id;
        let future: BoxFuture<'static, Option<InputKind>> = match &action.work {
            ActionKind::CallModel { .. } => {
                let work = self.model_work(id, &cancel)?;
                match self.account.clone() {
                    Some(account) => Box::pin(paid(work, account).map(Some)),
                    None => Box::pin(work.run().map(Some)),
                }
            }
            ActionKind::RunTool { call, attempt } => {
                let (work, broken) = (self.tool_work(id, call, *attempt, &cancel)?, self.broken.clone());
                // Without the lease nothing of it was done, and nothing may be said of it.
                Box::pin(work.run().map(move |ended| (!broken.is_set()).then_some(ended)))
            }
            ActionKind::RunCode { .. } => {
                let runs = (self.agent.code().cloned(), self.code.clone());
                let edges = (self.agent.log().clone() as Arc<dyn Payloads>, self.agent.environment().clone());
                let work = CodeWork::of(&self.state, id, runs, edges, cancel.clone())?;
                Box::pin(work.run().map(Some))
            }
            ActionKind::Delegate { call, run, order } => {
                if *order == TaskOrder::Stop {
                    cancel.cancel();
                }
                let budget = *self.state.open_call(call)?.lent();
                let task = Task { budget, ..self.task(*run, order, &cancel) };
                let state = Box::new(self.state.clone());
                let end = handed_over(self.agent.clone(), state, call.clone(), task);
                let broken = self.broken.clone();
                Box::pin(
                    work::delegate(id, end.boxed())
                        .map(move |done| done.map_err(|error| broken.set(error)).ok().flatten()),
                )
            }
            ActionKind::RunHook => {
                let (hook, state) = (self.agent.hook().cloned(), self.state.clone());
                let prices = self.agent.prices().clone();
                Box::pin(work::ask_hook(id, hook, state, prices).map(Some))
            }
            ActionKind::CheckCall { call } => {
                let attempt = self.state.open_call(call)?.attempt();
                Box::pin(self.tool_work(id, call, attempt, &cancel)?.check().map(Some))
            }
            ActionKind::Ask { question } => {
                let question = self.state.questions().iter().find(|open| open.id == *question)?.clone();
                let people =
                    self.people.clone().filter(|people| work::answers(&**people, &self.state, &question))?;
                Box::pin(work::ask(people, self.state.clone(), question))
            }
            ActionKind::SetTimer { at } => {
                let fired = self.timer(*at).map(move |()| Some(InputKind::TimerFired { action: id }));
                Box::pin(fired)
            }
        };
        let future = match &self.trace {
            Some(trace) => trace.work(&action, &self.state, self.agent.environment(), future),
            None => future,
        };
        Some(Slot { action, future, cancel, stopping: false, ended: false })
    }

    /// A task without its words.
    fn task(&self, run: RunId, order: &TaskOrder, cancel: &CancellationToken) -> Task {
        let answer = if let TaskOrder::Answer(answer) = order { Some((**answer).clone()) } else { None };
        Task {
            run,
            owner: self.state.owner().clone(),
            parent: self.state.run(),
            task: String::new(),
            context: Vec::new(),
            answer,
            cancel: cancel.clone(),
            resumed_by: self.resumed_by,
            leave: self.leave.clone(),
            budget: Budget::default(),
            stall_ms: self.state.policy().calls.child_stall_ms,
            account: self.account.clone(),
        }
    }

    fn tool_work(
        &self,
        action: ActionId,
        call: &CallId,
        attempt: u32,
        cancel: &CancellationToken,
    ) -> Option<ToolWork> {
        let open = self.state.open_call(call)?;
        let policy = self.state.policy();
        let spec = self.state.target(open);
        let timeout_ms = spec.and_then(|tool| tool.timeout_ms).unwrap_or(policy.calls.tool_ms);
        let tool: Option<Arc<dyn Tool>> = match spec.map(|tool| tool.kind) {
            Some(ToolKind::Read) => {
                Some(Arc::new(ReadResult::new(self.agent.log().clone(), self.state.clone())))
            }
            Some(ToolKind::Search) => {
                let (tools, environment) = (self.state.tools().clone(), self.agent.environment().clone());
                Some(Arc::new(SearchTools { tools, environment }))
            }
            _ => self.agent.tool_of(&self.state, open),
        };
        let mut context = work::context(&self.state, call, attempt, cancel.clone())?;
        if spec.is_some_and(|tool| tool.kind == ToolKind::Run && tool.effect != Effect::ReadOnly) {
            context.lease = self.lease.lease(self.broken.clone(), self.agent.environment().clone());
        }
        Some(ToolWork {
            action,
            tool,
            context,
            open: Box::new(open.clone()),
            timeout_ms,
            grace_ms: policy.bounds.grace_ms,
            environment: self.agent.environment().clone(),
        })
    }
}

/// Lets another agent, or a branch, do the task that a call means. `None`: there is none of that name any more.
async fn handed_over(agent: Agent, state: Box<State>, call: CallId, mut task: Task) -> Option<TaskEnd> {
    let environment = agent.environment().clone();
    let args = state.open_call(&call)?.args().len() as u64;
    let heft = state.history().bytes().saturating_add(args);
    let end = off_thread(&*environment, heft, move || {
        let open = state.open_call(&call)?;
        if open.reaches() {
            return BranchWork::of(&agent, &state, open, task).map(|branch| branch.run().boxed());
        }
        let delegate = agent.delegate(&open.call.name)?;
        let args = open.value();
        args.get("task").and_then(|task| task.as_str()).unwrap_or_default().clone_into(&mut task.task);
        task.context = context_of(&state);
        Some(delegate.run(task))
    });
    Some(end.await?.await)
}
