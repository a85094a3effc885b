//! Whose runs a client sees: a host as one owner may use it.

use std::future::Ready;

use windlass_core::{Owner, RunId, SessionId, State};
use windlass_store::{
    DailyUsage, Page, RunFilter, RunSummary, SessionFilter, SessionSummary, StoreError, UsageFilter,
};

use super::Host;
use super::driving::{LiveRun, Start};
use super::follower::Follower;
use super::position::Position;
use crate::host::admission::Admitted;
use crate::platform::error::Error;

/// An owner that acts, and whose runs it sees: its own, or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    owner: Owner,
    sees_all: bool,
}

impl Scope {
    /// An owner that sees its own runs and sessions. The owner `local` sees all.
    pub fn of(owner: impl Into<Owner>) -> Self {
        let owner = owner.into();
        Self { sees_all: owner.is_local(), owner }
    }

    /// An owner that sees the runs and sessions of all.
    pub fn all(owner: impl Into<Owner>) -> Self {
        Self { owner: owner.into(), sees_all: true }
    }

    /// The owner that acts.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Whether runs and sessions of this owner are seen.
    pub fn sees(&self, owner: &Owner) -> bool {
        self.sees_all || self.owner == *owner
    }

    /// The owner of a listing in which somebody asks for these owners; `None`: of any.
    ///
    /// # Errors
    /// Nothing of the owner that was asked for is seen.
    fn narrowed(&self, asked: Option<Owner>) -> Result<Option<Owner>, Unseen> {
        match asked {
            Some(owner) if self.sees(&owner) => Ok(Some(owner)),
            Some(_) => Err(Unseen),
            None => Ok((!self.sees_all).then(|| self.owner.clone())),
        }
    }
}

impl Default for Scope {
    /// That of the owner `local`, who sees all.
    fn default() -> Self {
        Self::of(Owner::default())
    }
}

/// Nothing of an owner is seen.
struct Unseen;

/// A host as a client sees it ([`Host::within`]). A run or session that its scope does not see is as unknown as one that is not there,
/// to each verb and in each listing. A child run has its parent's owner.
#[derive(Clone, Debug)]
pub struct Scoped {
    pub(super) host: Host,
    scope: Scope,
}

impl Host {
    /// The host as a client of that scope sees it.
    ///
    /// ```
    /// use windlass_runtime::host::{Host, Scope, Start};
    /// use windlass_runtime::{Admitted, Agent, Error};
    /// use windlass_store::RunFilter;
    ///
    /// async fn serve(host: &Host, agent: &Agent, user: &str) -> Result<usize, Error> {
    ///     let client = host.within(Scope::of(user));
    ///     // The run is the user's, and only the user's runs are listed.
    ///     let Admitted::Started(run) = client.start(Start::new(agent, "Go.")).await? else { return Ok(0) };
    ///     assert_eq!(client.summary(run.id()).await?.owner, user.into());
    ///     Ok(client.runs(RunFilter::default()).await?.len())
    /// }
    /// ```
    pub fn within(&self, scope: Scope) -> Scoped {
        Scoped { host: self.clone(), scope }
    }
}

impl Scoped {
    /// The scope.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Starts a run of the scope's owner, or gives a message to one of its sessions ([`Host::start`]).
    ///
    /// # Errors
    /// As for [`Host::start`].
    pub async fn start(&self, start: Start) -> Result<Admitted<LiveRun>, Error> {
        self.start_within(start, None::<Ready<Result<(), Error>>>).await
    }

    /// The same, within limits of the caller's own, if there are any. They are asked before anything begins, but not for a request that was
    /// sent before: a repeat meets no limit (E65).
    ///
    /// # Errors
    /// As for [`start`](Self::start), and those of the limits.
    pub async fn start_within<E: From<Error>>(
        &self,
        start: Start,
        limits: Option<impl Future<Output = Result<(), E>>>,
    ) -> Result<Admitted<LiveRun>, E> {
        let mut start = start;
        start.options.owner = self.scope.owner.clone();
        if let Some(limits) = limits {
            if let Some(admitted) = Box::pin(self.host.fate_before(&start)).await? {
                return Ok(admitted);
            }
            limits.await?;
        }
        Ok(Box::pin(self.host.started(start)).await?)
    }

    /// Follows a run from a position on ([`Host::follow`]).
    ///
    /// # Errors
    /// As for [`Host::follow`].
    pub async fn follow(&self, run: RunId, from: Position) -> Result<Follower, Error> {
        self.summary(run).await?;
        self.host.follow(run, from).await
    }

    /// A run's summary.
    ///
    /// # Errors
    /// The run is unknown, or the log failed.
    pub async fn summary(&self, run: RunId) -> Result<RunSummary, Error> {
        let summary = self.host.log().summary(run).await?;
        self.scope.sees(&summary.owner).then_some(summary).ok_or_else(|| unknown(run))
    }

    /// Lists runs, newest first, a page at a time.
    ///
    /// # Errors
    /// The cursor is none of this log, or the log failed.
    pub async fn runs(&self, filter: RunFilter) -> Result<Page<RunSummary>, Error> {
        match self.scope.narrowed(filter.owner.clone()) {
            Ok(owner) => Ok(self.host.log().list(RunFilter { owner, ..filter }).await?),
            Err(Unseen) => Ok(nothing()),
        }
    }

    /// Lists sessions, the one whose head began last first, a page at a time.
    ///
    /// # Errors
    /// The cursor is none of this log, or the log failed.
    pub async fn sessions(&self, filter: SessionFilter) -> Result<Page<SessionSummary>, Error> {
        match self.scope.narrowed(filter.owner.clone()) {
            Ok(owner) => Ok(self.host.log().sessions(SessionFilter { owner, ..filter }).await?),
            Err(Unseen) => Ok(nothing()),
        }
    }

    /// Sums up what runs have used, by the day on which they began.
    ///
    /// # Errors
    /// The log failed.
    pub async fn usage(&self, filter: UsageFilter) -> Result<Vec<DailyUsage>, Error> {
        match self.scope.narrowed(filter.owner.clone()) {
            Ok(owner) => Ok(self.host.log().usage(UsageFilter { owner, ..filter }).await?),
            Err(Unseen) => Ok(Vec::new()),
        }
    }

    /// The head of a session of the scope's owner: the run that its next message continues. `None`: there is no such session.
    ///
    /// # Errors
    /// The log failed.
    pub async fn head(&self, session: &SessionId) -> Result<Option<RunId>, Error> {
        Ok(self.host.log().head(&self.scope.owner, session).await?)
    }

    /// Refuses a run that the scope does not see.
    ///
    /// # Errors
    /// The run is unknown, or the log failed.
    pub(super) async fn check_seen(&self, run: RunId) -> Result<(), Error> {
        if self.scope.sees_all {
            // Each verb says itself where a run is not there.
            return Ok(());
        }
        self.summary(run).await.map(drop)
    }

    /// Refuses a request to the run of that name, which led to a run that the scope does not see.
    ///
    /// # Errors
    /// The run is unknown.
    pub(super) fn check_owner(&self, named: RunId, reached: &State) -> Result<(), Error> {
        self.scope.sees(reached.owner()).then_some(()).ok_or_else(|| unknown(named))
    }
}

/// The refusal of a run that is not there: one that is not seen has the same.
fn unknown(run: RunId) -> Error {
    StoreError::UnknownRun { run }.into()
}

fn nothing<T>() -> Page<T> {
    Page { items: Vec::new(), next: None }
}
