//! The index: which runs there are, and how they stand.

use windlass_core::event::Millis;
use windlass_core::run::RunStatus;
use windlass_core::{Owner, RunId, RunState, SessionId, Text};

use crate::leases::Holder;
use crate::pruning::Pruning;
use crate::store::Answer;

/// The most runs of a listing whose filter gives no limit.
pub const DEFAULT_LISTED: usize = 100;

/// Filter of a listing: all given conditions hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFilter {
    /// Of this owner; `None`: of any.
    pub owner: Option<Owner>,
    /// Of this session.
    pub session: Option<SessionId>,
    /// Of this agent.
    pub agent: Option<Text>,
    /// In this state.
    pub status: Option<RunStatus>,
    /// Started by this run.
    pub parent: Option<RunId>,
    /// Begun at or after this time.
    pub since: Option<Millis>,
    /// Begun before this time.
    pub until: Option<Millis>,
    /// Only runs that can go on at this time, held or not: running ones, and suspended ones with something in
    /// their inbox or a timer that is due.
    pub due: Option<Millis>,
    /// Only runs with a lower number: the next page of a listing, after a run with this one.
    pub before: Option<RunNumber>,
    /// Maximum number of runs; 0 means [`DEFAULT_LISTED`].
    pub limit: usize,
}

/// The order in which the runs of a log began, by their first appends: a later run has a higher number than every run that is
/// there. Neither ids nor times can say that, because both come from a clock that may have been set back in between.
/// Numbers belong to one log (an imported run begins with its import), and may be given again once their runs are gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunNumber(pub u64);

/// A line of a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// Its place in the order in which the runs of this log began.
    pub number: RunNumber,
    /// Its agent's name.
    pub agent: Text,
    /// Its owner.
    pub owner: Owner,
    /// Its session, one of its owner's.
    pub session: Option<SessionId>,
    /// The run that started it.
    pub parent: Option<RunId>,
    /// Its state.
    pub run_state: RunState,
    /// Number of its events.
    pub version: u64,
    /// When it began.
    pub started_at: Millis,
    /// When its last event was written.
    pub updated_at: Millis,
    /// The beginning of its first input, for people: at most 200 bytes.
    pub title: Text,
    /// Time at which a suspended run continues by itself; `None`: it waits for outside input.
    pub wake_at: Option<Millis>,
    /// Its live holder, if any.
    pub holder: Option<Holder>,
}

/// Lists runs, and those of a session, an agent or a parent.
pub trait Index: Send + Sync + std::fmt::Debug {
    /// Lists runs, newest first: ordered by their numbers, not by ids or times.
    fn list(&self, filter: RunFilter) -> Answer<'_, Vec<RunSummary>>;

    /// One run's summary.
    ///
    /// # Errors
    /// [`UnknownRun`](crate::StoreError::UnknownRun).
    fn summary(&self, run: RunId) -> Answer<'_, RunSummary>;

    /// The head of a session: the run that the next message continues. `None`: there is no such session.
    ///
    /// The first append of a run moves it ([`Head::Moves`](crate::Head::Moves)); pruning moves it from a run that goes to the
    /// run's base, where that is of the same session, and else takes the session away.
    fn head(&self, owner: &Owner, session: &SessionId) -> Answer<'_, Option<RunId>>;

    /// Takes runs out of this store; `None`: this store cannot.
    fn pruning(&self) -> Option<&dyn Pruning>;
}
