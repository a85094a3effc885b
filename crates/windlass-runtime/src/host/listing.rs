//! Listing the runs of an agent.

use std::future::IntoFuture;
use std::time::Duration;

use futures_core::future::BoxFuture;
use windlass_core::{RunId, SessionId};
use windlass_store::{Cursor, Millis, Page, RunFilter, RunStatus, RunSummary};

use crate::agent::Agent;
use crate::platform::error::Error;

/// The runs of an agent, newest first. Awaiting it gives one page.
#[derive(Clone, Debug)]
#[must_use = "runs are listed when this is awaited"]
pub struct Listing<'a> {
    agent: &'a Agent,
    interrupted: bool,
    filter: RunFilter,
}

impl<'a> Listing<'a> {
    pub(crate) fn new(agent: &'a Agent) -> Self {
        let filter = RunFilter { agent: Some(agent.name().clone()), ..RunFilter::default() };
        Self { agent, interrupted: false, filter }
    }

    /// Only runs with this status. `Status::Answered` and [`RunState`](windlass_core::RunState)s will do, too.
    pub fn status(mut self, status: impl Into<RunStatus>) -> Self {
        self.filter.status = Some(status.into());
        self
    }

    /// Only runs whose process has died: running ones that no process drives. [`Agent::resume`] goes on with them.
    pub fn interrupted(mut self) -> Self {
        self.interrupted = true;
        self.status(RunStatus::Running)
    }

    /// Only runs begun so long ago or longer.
    pub fn older_than(mut self, age: Duration) -> Self {
        self.filter.until = Some(self.began(age).saturating_add(1));
        self
    }

    /// Only runs begun less than so long ago.
    pub fn newer_than(mut self, age: Duration) -> Self {
        self.filter.since = Some(self.began(age).saturating_add(1));
        self
    }

    /// The time so long ago.
    fn began(&self, age: Duration) -> Millis {
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        self.agent.environment().now().saturating_sub(age)
    }

    /// Only runs of this session.
    pub fn session(mut self, session: impl Into<SessionId>) -> Self {
        self.filter.session = Some(session.into());
        self
    }

    /// Only child runs of this run.
    pub fn parent(mut self, parent: RunId) -> Self {
        self.filter.parent = Some(parent);
        self
    }

    /// The next page: the runs after the page that gave this cursor.
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.filter.after = Some(cursor);
        self
    }

    /// Limits the listing to `runs` runs.
    pub fn limit(mut self, runs: usize) -> Self {
        self.filter.limit = runs;
        self
    }
}

impl<'a> IntoFuture for Listing<'a> {
    type Output = Result<Page<RunSummary>, Error>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { agent, interrupted, filter } = self;
            if !interrupted {
                return Ok(agent.log().list(filter).await?);
            }
            // A page may be short: only the index knows who holds a run, so that its cursor is the page's.
            let Page { items, next } = agent.log().list(filter).await?;
            let found = items.into_iter().filter(|run| run.holder.is_none()).collect();
            Ok(Page { items: found, next })
        })
    }
}
