//! Tools that change while a run is driven, and models of which more becomes known.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::future::BoxFuture;
use tokio::sync::watch;
use windlass_core::event::RunFact;
use windlass_core::policy::Hooks;
use windlass_core::tool::ToolKind;
use windlass_core::{Event, Fact, InputKind, ToolSpec};

use super::Driver;
use super::work::Work;
use crate::agent::scope::scoped;
use crate::agent::source::changed;
use crate::platform::error::Error;

/// Ends when the tools of a source have changed.
pub(super) type Changes = BoxFuture<'static, Vec<watch::Receiver<u64>>>;

impl<W: Work> Driver<W> {
    /// Updates the run's tools to those that the agent has now.
    pub(super) async fn adjust(&mut self) -> Result<(), Error> {
        let known = self.state.own_tools();
        let hooks = self.state.policy().calls.hooks == Hooks::AfterSteps;
        let fresh = scoped(self.agent.refresh(), self.state.only_tools());
        let kept = hooks || fresh.iter().any(|tool| tool.kind == ToolKind::Delegate);
        let tools = if kept { as_offered(&fresh, known, hooks) } else { fresh };
        let binding_digests = self.agent.changed_binding_digests(self.state.binding_digests());
        let differs = !Arc::ptr_eq(&tools, known) && tools != *known;
        if !differs {
            // Those of a run that was loaded are as they were written.
            self.state.tools().iter().zip(tools.iter()).for_each(|(known, own)| known.check_as(own));
        }
        if !self.state.is_finished() && (differs || binding_digests.is_some()) {
            drop(self.take(InputKind::ToolsChanged { tools, binding_digests }, None).await?);
        }
        Ok(())
    }

    /// The agent knows what an adjustment says of its models.
    pub(super) fn learn_models(&self, events: &[Event]) {
        for event in events {
            if let Fact::Run(RunFact::Adjusted(adjusted)) = &event.fact
                && let Some(models) = &adjusted.models
            {
                self.agent.learn(models);
            }
        }
    }

    /// Takes note of a change of the tools that has come already.
    pub(super) async fn adjust_now(&mut self) -> Result<(), Error> {
        let changes = &mut self.changes;
        let changed = poll_fn(|context| Poll::Ready(poll_changes(changes, context).is_ready())).await;
        if changed { self.adjust().await } else { Ok(()) }
    }
}

/// Keeps a hook's changes of the offered tools when the tools themselves change, and the list of agents that were available
/// when the run began (KAOS), because the prompt must not change between attempts.
fn as_offered(fresh: &[ToolSpec], known: &Arc<Vec<ToolSpec>>, hooks: bool) -> Arc<Vec<ToolSpec>> {
    let kept = fresh.iter().map(|tool| {
        let mut tool = tool.clone();
        let before = known.iter().find(|other| other.name == tool.name);
        if let Some(before) = before.filter(|_| hooks || tool.kind == ToolKind::Delegate) {
            tool.offer = before.offer;
        }
        tool
    });
    let kept: Vec<ToolSpec> = kept.collect();
    if kept == **known { known.clone() } else { Arc::new(kept) }
}

/// Ready once the tools of a source have changed.
pub(super) fn poll_changes(changes: &mut Option<Changes>, context: &mut Context<'_>) -> Poll<()> {
    let Some(change) = changes else { return Poll::Pending };
    change.as_mut().poll(context).map(|watches| *changes = Some(Box::pin(changed(watches))))
}
