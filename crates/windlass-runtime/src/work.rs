//! How the actions of a run are carried out: model calls, tool calls, tasks, code, hooks, questions.

pub(crate) mod branches;
pub(crate) mod code;
pub(crate) mod delegates;
pub(crate) mod hook;
pub(crate) mod model_call;
pub(crate) mod paying;
pub(crate) mod people;
pub(crate) mod prepared;
pub(crate) mod read_result;
pub(crate) mod search_tools;
pub(crate) mod tasks;
pub(crate) mod tool_call;

use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use windlass_core::budget::Budget;
use windlass_core::event::TaskOrder;
use windlass_core::tool::{Effect, ToolKind};
use windlass_core::{Action, ActionId, ActionKind, CallId, InputKind, RunId, State};
use windlass_tools::Tool;
use windlass_tools::skills::{active, asks_for_active};

use crate::agent::calls::{context, tool_of};
use crate::agent::delegates::Task;
use crate::driver::work::{Running, Work};
use code::{CodeSessions, CodeWork};
use hook::run_hook;
use model_call::display_lock::DisplayLock;
use model_call::{ModelWork, Prefixes};
use paying::paid;
use people::{answers, ask};
use read_result::ReadResult;
use search_tools::SearchTools;
use tasks::{ended_task, hand_over};
use tool_call::{Args, ToolWork};

/// Carries out the actions of one run, and keeps what its actions share.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    prefixes: Prefixes,
    display: DisplayLock,
    /// The children of code that wait.
    code: CodeSessions,
}

impl Work for Worker {
    fn begin(
        &self,
        run: &Running<'_>,
        action: &Action,
        cancel: &CancellationToken,
    ) -> Option<BoxFuture<'static, Option<InputKind>>> {
        let id = action.id;
        Some(match &action.work {
            ActionKind::CallModel { .. } => {
                let work = self.model_work(run, id, cancel)?;
                match run.account.cloned() {
                    Some(account) => Box::pin(paid(work, account).map(Some)),
                    None => Box::pin(work.run().map(Some)),
                }
            }
            ActionKind::RunTool { call, attempt } => {
                let (work, broken) = (tool_work(run, id, call, *attempt, cancel)?, run.broken.clone());
                // Without the lease nothing of it was done, and nothing may be recorded of it.
                Box::pin(work.run().map(move |ended| (!broken.is_set()).then_some(ended)))
            }
            ActionKind::RunCode { .. } => {
                let work = CodeWork::of(run, id, self.code.clone(), cancel.clone())?;
                Box::pin(work.run().map(Some))
            }
            ActionKind::Delegate { call, run: child, order } => {
                if *order == TaskOrder::Stop {
                    cancel.cancel();
                }
                let budget = *run.state.open_call(call)?.lent();
                let task = Task { budget, ..task(run, *child, order, cancel) };
                let state = run.state.clone();
                let end = hand_over(run.agent.clone(), state, call.clone(), task);
                let broken = run.broken.clone();
                Box::pin(
                    ended_task(id, end.boxed())
                        .map(move |done| done.map_err(|error| broken.set(error)).ok().flatten()),
                )
            }
            ActionKind::RunHook => {
                let (hook, state) = (run.agent.hook().cloned(), run.state.clone());
                let prices = run.agent.prices().clone();
                Box::pin(run_hook(id, hook, state, prices).map(Some))
            }
            ActionKind::CheckCall { call } => {
                let attempt = run.state.open_call(call)?.attempt();
                Box::pin(tool_work(run, id, call, attempt, cancel)?.check().map(Some))
            }
            ActionKind::Ask { question } => {
                let question = run.state.questions().iter().find(|open| open.id == *question)?.clone();
                let people = run.people.filter(|people| answers(&***people, run.state, &question))?;
                Box::pin(ask(people.clone(), run.state.clone(), question))
            }
            // The driver's own.
            ActionKind::SetTimer { .. } => return None,
        })
    }

    fn keep_open(&self, state: &State) {
        self.code.keep_open(state);
    }
}

impl Worker {
    fn model_work(
        &self,
        run: &Running<'_>,
        action: ActionId,
        cancel: &CancellationToken,
    ) -> Option<ModelWork> {
        let request = run.state.request(action)?.model;
        Some(ModelWork {
            action,
            model: run.agent.model(&request.name).cloned(),
            state: run.state.clone(),
            prefix: self.prefixes.of(run.agent.prefix(), run.state, action, request.role),
            payloads: run.agent.log().clone(),
            publisher: run.publisher.clone(),
            display: self.display.clone(),
            content: run.state.stall_alarm().map(|_| run.content.clone()),
            environment: run.agent.environment().clone(),
            cancel: cancel.clone(),
        })
    }
}

/// A task without its words.
fn task(run: &Running<'_>, child: RunId, order: &TaskOrder, cancel: &CancellationToken) -> Task {
    let answer = if let TaskOrder::Answer(answer) = order { Some((**answer).clone()) } else { None };
    Task {
        run: child,
        owner: run.state.owner().clone(),
        parent: run.state.run(),
        task: String::new(),
        context: Vec::new(),
        answer,
        cancel: cancel.clone(),
        resumed_by: run.resumed_by,
        detach: run.detach.token().clone(),
        budget: Budget::default(),
        inactivity_ms: run.state.policy().calls.child_stall_ms,
        account: run.account.cloned(),
    }
}

fn tool_work(
    run: &Running<'_>,
    action: ActionId,
    call: &CallId,
    attempt: u32,
    cancel: &CancellationToken,
) -> Option<ToolWork> {
    let (agent, state) = (run.agent, run.state);
    let open = state.open_call(call)?;
    let policy = state.policy();
    let spec = state.target(open);
    let timeout_ms = spec.and_then(|tool| tool.timeout_ms).unwrap_or(policy.calls.tool_ms);
    let tool: Option<Arc<dyn Tool>> = match spec.map(|tool| tool.kind) {
        Some(ToolKind::Read) => Some(Arc::new(ReadResult::new(agent.log().clone(), state.clone()))),
        Some(ToolKind::Search) => {
            let (tools, environment) = (state.tools().clone(), agent.environment().clone());
            Some(Arc::new(SearchTools { tools, environment }))
        }
        _ => tool_of(agent, state, open),
    };
    let mut context = context(state, call, attempt, cancel.clone())?;
    if spec.is_some_and(|tool| tool.kind == ToolKind::Run && tool.effect != Effect::ReadOnly) {
        context.lease = run.lease.lease(run.broken.clone(), agent.environment().clone());
    }
    if spec.is_some_and(asks_for_active) {
        context.active_skills = active(state.history().iter().map(|message| &**message));
    }
    Some(ToolWork {
        action,
        tool,
        context,
        args: Args::of(open),
        timeout_ms,
        grace_ms: policy.bounds.grace_ms,
        environment: agent.environment().clone(),
    })
}
