//! The index: which runs there are, and how they stand.

use windlass_core::budget::Spend;
pub(crate) mod usage;

use windlass_core::event::Millis;
use windlass_core::run::RunStatus;
use windlass_core::{Owner, RunId, RunState, SessionId, Text};

use self::usage::{DailyUsage, UsageFilter};
use crate::error::Answer;
use crate::leases::Holder;
use crate::pruning::Pruning;

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
    /// Only runs that have ended as the head of their session while messages are queued there ([`Headline::queued`]): another run
    /// that moves the head answers the next one.
    pub queued: bool,
    /// Only runs that wait with an open question ([`Headline::question`]): none that has ended.
    pub asks: bool,
    /// The next page of a listing with the same conditions: what comes after the page that gave this cursor.
    pub after: Option<Cursor>,
    /// Maximum number of runs; 0 means [`DEFAULT_LISTED`].
    pub limit: usize,
}

/// A place in a listing, made by a store and read by no one else. It stays valid while runs come and go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cursor(Text);

impl Cursor {
    /// The cursor as text, for a client that comes back with it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Text>> From<T> for Cursor {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

/// A page of a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The lines.
    pub items: Vec<T>,
    /// Where the next page begins; `None`: this is the last one.
    pub next: Option<Cursor>,
}

impl<T> std::ops::Deref for Page<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> IntoIterator for Page<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

/// The fields of a run that listings show beside its events. Its holder gives them with each append, so that no store folds events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headline {
    /// The cost of the run's model calls so far, those of its child runs included once they have ended, in picodollars (10^-12 US
    /// dollars); `None`: a price is unknown.
    pub cost: Option<u64>,
    /// The usage of the run's own model calls so far. Child runs are runs of the store and say so of themselves: a sum over runs
    /// counts each call once. `None`: not known.
    pub spend: Option<Spend>,
    /// The question that the run waits with, or the first of several: at most [`HEADLINE_BYTES`] of its words.
    pub question: Option<Text>,
    /// Whether messages are queued in the run's session, which a later run of it answers. Kept of the head of a session only: an
    /// append that moves the head takes it from the run that was the head.
    pub queued: bool,
}

/// The most bytes of a question in a [`Headline`].
pub const HEADLINE_BYTES: usize = 200;

/// A line of a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
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
    /// When it ended; `None`: it has not.
    pub ended_at: Option<Millis>,
    /// Its cost and its open question, as of its last append. A run with a question and a live holder waits at that process, such
    /// as at a terminal.
    pub headline: Headline,
    /// The beginning of its first input, for people: at most 200 bytes.
    pub title: Text,
    /// Time at which a suspended run continues by itself; `None`: it waits for outside input.
    pub wake_at: Option<Millis>,
    /// Its live holder, if any.
    pub holder: Option<Holder>,
}

impl RunSummary {
    /// Whether the process that drove it has died: it is running, and nobody holds it.
    pub fn is_interrupted(&self) -> bool {
        self.run_state == RunState::Running && self.holder.is_none()
    }
}

/// How many runs a store has, by how they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// Running ones, held or not.
    pub running: u64,
    /// Suspended ones.
    pub suspended: u64,
    /// Those that have ended.
    pub ended: u64,
    /// Those of the first two that can go on, that nobody alive holds, and that no other run started: a supervisor takes them up
    /// ([`Leases::acquire_due`](crate::Leases::acquire_due)).
    pub due: u64,
    /// Since when the one of them can go on that has waited longest: since its last append if it is running, else since its timer or
    /// the first of its posts. `None`: none is due.
    pub due_since: Option<Millis>,
}

/// Filter of a listing of sessions: all given conditions hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFilter {
    /// Of this owner; `None`: of any.
    pub owner: Option<Owner>,
    /// Only sessions whose head is a run of this agent.
    pub agent: Option<Text>,
    /// The next page, as in [`RunFilter::after`].
    pub after: Option<Cursor>,
    /// Maximum number of sessions; 0 means [`DEFAULT_LISTED`].
    pub limit: usize,
}

/// A session in a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionSummary {
    /// Its name, unique among its owner's.
    pub session: SessionId,
    /// Its head: the run that its next message continues. Owner, agent, state and cost are the head's.
    pub head: RunSummary,
    /// Number of its runs in this store, imported ones and those beside the head's chain included.
    pub runs: u64,
    /// When the first of them began.
    pub started_at: Millis,
}

/// Lists runs, and those of a session, an agent or a parent.
pub trait Index: Send + Sync + std::fmt::Debug {
    /// Lists runs, newest first by the store: by the order in which it took their first appends, as far as it knows one, and not by
    /// ids or clocks. Pages do not overlap, and leave out no run that was there when the first one was made.
    ///
    /// # Errors
    /// [`BadCursor`](crate::StoreError::BadCursor).
    fn list(&self, filter: RunFilter) -> Answer<'_, Page<RunSummary>>;

    /// Lists sessions, the one whose head began last first. A session that moves its head while pages are read goes to the front.
    ///
    /// # Errors
    /// [`BadCursor`](crate::StoreError::BadCursor).
    fn sessions(&self, filter: SessionFilter) -> Answer<'_, Page<SessionSummary>>;

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

    /// Sums up what runs have used, by the day (UTC) on which they began: the newest day first, then by owner and agent. Sums that
    /// exceed 64 bits are the greatest number.
    fn usage(&self, filter: UsageFilter) -> Answer<'_, Vec<DailyUsage>>;

    /// Counts runs as of a time. A look at them takes no lease. The store reads the runs that are due, and of the others no more than
    /// how they stand.
    fn counts(&self, now: Millis) -> Answer<'_, RunCounts>;

    /// Takes runs out of this store; `None`: this store cannot.
    fn pruning(&self) -> Option<&dyn Pruning>;
}
