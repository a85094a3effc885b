//! Listing the runs of an agent.

use std::future::IntoFuture;

use futures_core::future::BoxFuture;
use windlass_core::{RunId, SessionId, Text};
use windlass_store::{Index, RunFilter, RunNumber, RunSummary};

use crate::agent::Agent;
use crate::error::Error;

/// The runs of an agent, newest first. Awaiting it gives one page.
#[derive(Clone, Debug)]
#[must_use = "runs are listed when this is awaited"]
pub struct Listing<'a> {
    log: &'a dyn Index,
    filter: RunFilter,
}

impl Agent {
    /// Lists the runs of agents with this agent's name, newest first: 100 of them unless a limit is set.
    ///
    /// ```no_run
    /// # use windlass_runtime::{Agent, Error};
    /// # async fn show(agent: Agent) -> Result<(), Error> {
    /// for run in agent.runs().status("suspended").limit(20).await? {
    ///     println!("{} {}", run.run, run.title);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn runs(&self) -> Listing<'_> {
        let filter = RunFilter { agent: Some(self.name().clone()), ..RunFilter::default() };
        Listing { log: &**self.log(), filter }
    }
}

impl Listing<'_> {
    /// Only runs with this status: `running`, `suspended`, `answered`, `concluded`, `clarification`, `limit`, `cancelled` or
    /// `failed`.
    pub fn status(mut self, status: impl Into<Text>) -> Self {
        self.filter.status = Some(status.into());
        self
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

    /// Only runs begun before the run with this number: the next page after the last run of a page.
    pub fn before(mut self, run: RunNumber) -> Self {
        self.filter.before = Some(run);
        self
    }

    /// Limits the listing to `runs` runs.
    pub fn limit(mut self, runs: usize) -> Self {
        self.filter.limit = runs;
        self
    }
}

impl<'a> IntoFuture for Listing<'a> {
    type Output = Result<Vec<RunSummary>, Error>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(self.log.list(self.filter).await?) })
    }
}
