//! How the work of each action begins.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use windlass_core::{
    Action, ActionId, ActionKind, CallId, Effect, InputKind, InputReceived, RunId, ToolKind,
};
use windlass_tools::Tool;

use super::Driver;
use crate::branches::BranchWork;
use crate::delegates::{Task, TaskEnd, context_of};
use crate::partial::Partial;
use crate::reading::ReadResult;
use crate::searching::SearchTools;
use crate::slots::Slot;
use crate::work::{self, ModelWork, ToolWork};

impl Driver {
    /// Begins the work of an action; `None`: nobody here can do it.
    pub(super) fn begin(&self, action: Action) -> Option<Slot> {
        let cancel = CancellationToken::new();
        let id = action.id;
        let future: BoxFuture<'static, Option<InputKind>> = match &action.work {
            ActionKind::CallModel { .. } => {
                let view = self.state.request()?;
                let request = work::request(&view, &self.prefix, self.publisher.heard());
                let model = self.agent.model(&view.model.name).cloned();
                let (publisher, environment) = (self.publisher.clone(), self.agent.environment().clone());
                let partial = if publisher.heard() { Partial::of(&self.state) } else { None };
                let cancel = cancel.clone();
                let work = ModelWork { action: id, model, request, publisher, partial, environment, cancel };
                Box::pin(work.run().map(Some))
            }
            ActionKind::RunTool { call, attempt } => {
                let (work, broken) = (self.tool_work(id, call, *attempt, &cancel)?, self.broken.clone());
                // Without the lease nothing of it was done, and nothing may be said of it.
                Box::pin(work.run().map(move |ended| (!broken.is_set()).then_some(ended)))
            }
            ActionKind::Delegate { call, run, answer, stop } => {
                if *stop {
                    cancel.cancel();
                }
                let task = self.task(call, *run, answer.clone(), &cancel)?;
                let open = self.state.open_call(call)?;
                let end: Option<BoxFuture<'static, TaskEnd>> = if open.reaches() {
                    let branch = BranchWork::of(&self.agent, &self.state, open, task);
                    branch.map(|branch| branch.run().boxed())
                } else {
                    self.agent.delegate(&open.call.name).map(|delegate| delegate.run(task))
                };
                let broken = self.broken.clone();
                Box::pin(
                    work::delegate(id, end)
                        .map(move |done| done.map_err(|error| broken.set(error)).ok().flatten()),
                )
            }
            ActionKind::RunHook => {
                let (hook, state) = (self.agent.hook().cloned(), self.state.clone());
                let prices = self.agent.prices().clone();
                Box::pin(work::ask_hook(id, hook, state, prices).map(Some))
            }
            ActionKind::CheckCall { call } => {
                Box::pin(self.tool_work(id, call, 1, &cancel)?.check().map(Some))
            }
            ActionKind::Ask { question } => {
                let question = self.state.questions().iter().find(|open| open.id == *question)?.clone();
                let people =
                    self.people.clone().filter(|people| work::answers(&**people, &self.state, &question))?;
                Box::pin(work::ask(people, self.state.clone(), question))
            }
            ActionKind::SetTimer { at } => {
                let sleep = self.agent.environment().sleep_until(self.clock.in_world(*at));
                Box::pin(async move {
                    sleep.await;
                    Some(InputKind::TimerFired { action: id })
                })
            }
        };
        let future = match &self.trace {
            Some(trace) => trace.work(&action, &self.state, self.agent.environment(), future),
            None => future,
        };
        Some(Slot { action, future, cancel, stopping: false, ended: false })
    }

    fn task(
        &self,
        call: &CallId,
        run: RunId,
        answer: Option<InputReceived>,
        cancel: &CancellationToken,
    ) -> Option<Task> {
        let args = self.state.open_call(call)?.value();
        Some(Task {
            run,
            parent: self.state.run(),
            task: args.get("task").and_then(|task| task.as_str()).unwrap_or_default().to_owned(),
            context: context_of(&self.state),
            answer,
            cancel: cancel.clone(),
            by_hand: self.by_hand,
            leave: self.leave.clone(),
        })
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
        let args = open.value();
        let tool: Option<Arc<dyn Tool>> = match spec.map(|tool| tool.kind) {
            Some(ToolKind::Read) => {
                Some(Arc::new(ReadResult::new(self.agent.log().clone(), &self.state, &args)))
            }
            Some(ToolKind::Search) => Some(Arc::new(SearchTools { tools: self.state.tools().clone() })),
            _ => self.agent.tool_of(&self.state, open),
        };
        let mut context = work::context(&self.state, call, attempt, cancel.clone())?;
        if spec.is_some_and(|tool| tool.kind == ToolKind::Run && tool.effect != Effect::ReadOnly) {
            context.lease = self.lease.lease(self.broken.clone());
        }
        Some(ToolWork {
            action,
            tool,
            context,
            args,
            timeout_ms,
            grace_ms: policy.bounds.grace_ms,
            environment: self.agent.environment().clone(),
        })
    }
}
