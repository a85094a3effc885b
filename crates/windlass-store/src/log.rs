//! The event log: what every store promises.

use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use futures_core::future::BoxFuture;
use windlass_core::{Cause, Event, InputKind, Millis, RunId, RunState, SessionId, Text};

use crate::error::StoreError;

/// How many posted inputs may wait in the inbox of one run. More are refused ([`StoreError::InboxFull`]).
pub const INBOX_POSTS: usize = 10_000;

/// How many runs a listing has at most if its filter gives no limit.
pub const DEFAULT_LISTED: usize = 100;

/// The most bytes of one payload (1 GiB). More are refused ([`StoreError::TooLarge`]).
pub const PAYLOAD_BYTES: u64 = 1 << 30;

/// The events of one append, in order: an append is atomic and keeps its boundary.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The sequence number of the first event; a run's first event has number 1.
    pub first: u64,
    /// Which input led to the whole append, also where its first events are cut off.
    pub cause: Cause,
    /// The events.
    pub events: Arc<[Event]>,
}

impl Batch {
    /// The sequence number of the last event.
    pub fn last(&self) -> u64 {
        self.first + self.events.len() as u64 - 1
    }

    /// The part with numbers from `from` on: the whole batch, shared, if it begins there or later.
    pub fn starting_at(&self, from: u64) -> Self {
        let skip = usize::try_from(from.saturating_sub(self.first)).unwrap_or(usize::MAX);
        if skip == 0 {
            return self.clone();
        }
        let cause = self.cause.clone();
        Self { first: from, cause, events: self.events.get(skip..).unwrap_or_default().into() }
    }
}

/// Who holds a run: one per process (or per node).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder(pub Text);

/// The right to append to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// Who holds the run.
    pub holder: Holder,
    /// The hold's number: a later hold has a higher one, and appends with a lower one are refused.
    pub epoch: u64,
}

/// One atomic append.
#[derive(Clone, Debug)]
pub struct Append {
    /// The run.
    pub run: RunId,
    /// How many events the run has so far. 0 makes the run, and takes hold of it with the fence's epoch.
    pub expected: u64,
    /// The events: at least one.
    pub events: Arc<[Event]>,
    /// Which input led to them.
    pub cause: Cause,
    /// The hold under which this is written.
    pub fence: Fence,
    /// The posted input that these events use up, removed in the same step.
    pub uses: Option<PostId>,
    /// How the run stands then. `Ended` and `Suspended` give up the hold in the same step; `Ended` empties the inbox, since
    /// nothing in it can be used any more.
    pub standing: RunState,
}

/// The place of a posted input in a run's inbox: ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PostId(pub u64);

/// An input that somebody left for a run's holder.
#[derive(Clone, Debug, PartialEq)]
pub struct Posted {
    /// Its place.
    pub id: PostId,
    /// When it was posted, in milliseconds since the epoch.
    pub at: Millis,
    /// What.
    pub what: InputKind,
}

/// When a suspended run goes on by itself, by the clock of who gives it up, in milliseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// What the clock says now: a later look at an earlier time knows by it that the clock was set back.
    pub from: Millis,
    /// When it goes on.
    pub at: Millis,
}

/// Which runs to list: all given conditions hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFilter {
    /// Of this session.
    pub session: Option<SessionId>,
    /// Of this agent.
    pub agent: Option<Text>,
    /// With this standing: `running`, `suspended`, or a status' name (`answered`, `limit`, …).
    pub status: Option<Text>,
    /// Started by this run.
    pub parent: Option<RunId>,
    /// Begun at or after this time.
    pub since: Option<Millis>,
    /// Begun before this time.
    pub until: Option<Millis>,
    /// Only runs that can go on at this time, whoever holds them: those that are on, and suspended ones with something in
    /// their inbox or a timer that is due.
    pub due: Option<Millis>,
    /// Only runs with a lower number: the next page of a listing, after a run with this one.
    pub before: Option<RunNumber>,
    /// At most so many; 0 means [`DEFAULT_LISTED`].
    pub limit: usize,
}

/// The order in which the runs of a log began, by their first appends: a later run has a higher number than every run that is
/// there. Neither ids nor times can say that, because both come from a clock that may have been set back in between.
/// Numbers belong to one log (an imported run begins with its import), and may be given again once their runs are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// Its session.
    pub session: Option<SessionId>,
    /// The run that started it.
    pub parent: Option<RunId>,
    /// How it stands.
    pub standing: RunState,
    /// How many events it has.
    pub version: u64,
    /// When it began.
    pub started_at: Millis,
    /// When its last event was written.
    pub updated_at: Millis,
    /// The beginning of its first input, for people: at most 200 bytes.
    pub title: Text,
    /// When a suspended run goes on by itself; `None`: when somebody brings it on.
    pub wake_at: Option<Millis>,
    /// Who holds it now, if somebody alive does.
    pub holder: Option<Holder>,
}

/// A live stream of batches.
pub type Batches = Pin<Box<dyn Stream<Item = Result<Batch, StoreError>> + Send>>;

/// What a method of a log gives.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// An append-only log of runs. All methods may be called from any thread and any process that shares the log.
pub trait EventLog: Send + Sync + std::fmt::Debug {
    /// Appends atomically. Durable when the future ends well; if it ends with an error, nothing is visible.
    fn append(&self, append: Append) -> Answer<'_, ()>;

    /// Reads the events with numbers from `from` on (a batch that begins before is cut), at most about `max` of them (never less than one batch).
    fn read(&self, run: RunId, from: u64, max: usize) -> Answer<'_, Vec<Batch>>;

    /// Reads from `from` on, then goes on live, with no gap and no repeat, until the run has ended.
    /// An append of another process is seen within 250 ms.
    fn follow(&self, run: RunId, from: u64) -> Batches;

    /// Leaves an input for whoever holds the run, now or later.
    fn post(&self, run: RunId, at: Millis, what: InputKind) -> Answer<'_, PostId>;

    /// What is in the inbox after that place, in order.
    fn inbox(&self, run: RunId, after: Option<PostId>) -> Answer<'_, Vec<Posted>>;

    /// Ends when the inbox may hold something after that place. Another process' post is seen within 250 ms.
    fn inbox_changed(&self, run: RunId, after: Option<PostId>) -> Answer<'_, ()>;

    /// Takes a post out that its holder refused. Of no effect if it is gone. Default: it stays.
    ///
    /// # Errors
    /// [`StoreError::Fenced`], [`StoreError::NotHeld`]: only the run's holder takes posts out.
    fn discard(&self, run: RunId, post: PostId, fence: &Fence) -> Answer<'_, ()> {
        let _ = (run, post, fence);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Keeps bytes once, however often they are given, under their SHA-256 in lower-case hexadecimal. Durable when the
    /// future ends well. They stay as long as an event refers to them ([`Fact::refs`](windlass_core::Fact::refs)); an
    /// append whose events refer to bytes that are not there is refused ([`StoreError::UnknownPayload`]).
    /// Default: nothing is kept, which is an error.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] above [`PAYLOAD_BYTES`].
    fn put(&self, bytes: Arc<[u8]>) -> Answer<'_, Text> {
        let none = format!("this log keeps no payloads, found one of {} bytes", bytes.len());
        Box::pin(std::future::ready(Err(StoreError::Failed(none.into()))))
    }

    /// At most `max` bytes of a payload from the byte `from` on (0 is the first); fewer only at its end. Default: there
    /// is none.
    ///
    /// # Errors
    /// [`StoreError::UnknownPayload`].
    fn payload(&self, sha256: &str, from: u64, max: usize) -> Answer<'_, Vec<u8>> {
        let _ = (from, max);
        let unknown = StoreError::UnknownPayload { sha256: sha256.to_owned() };
        Box::pin(std::future::ready(Err(unknown)))
    }

    /// Takes hold of a run that nobody alive holds, with a new epoch.
    ///
    /// # Errors
    /// [`StoreError::Held`] names the living holder; [`StoreError::UnknownRun`].
    fn hold(&self, run: RunId, holder: &Holder) -> Answer<'_, Fence>;

    /// Gives up a hold; of no effect if somebody else took over.
    fn release(&self, run: RunId, fence: &Fence) -> Answer<'_, ()>;

    /// Confirms that a hold still stands: asked right before something is done that cannot be taken back. A log whose
    /// holders are known by heartbeats sends one first, so that the hold stands for some seconds more.
    /// Default: the run's [summary](Self::summary) names the holder.
    ///
    /// # Errors
    /// [`StoreError::Fenced`], [`StoreError::NotHeld`], or [`StoreError::Held`] by default: the hold was lost or given up.
    fn confirm(&self, run: RunId, fence: &Fence) -> Answer<'_, ()> {
        let fence = fence.clone();
        Box::pin(async move {
            match self.summary(run).await?.holder {
                Some(holder) if holder == fence.holder => Ok(()),
                Some(holder) => Err(StoreError::Held { run, holder: holder.0.to_string() }),
                None => Err(StoreError::NotHeld { run, epoch: fence.epoch }),
            }
        })
    }

    /// Gives up a hold as [`release`](Self::release) does, of a run that only somebody from outside can bring on: it is
    /// listed as suspended until its next append. It is [`park_until`](Self::park_until) without a timer.
    fn park(&self, run: RunId, fence: &Fence) -> Answer<'_, ()> {
        self.park_until(run, fence, None)
    }

    /// As [`park`](Self::park), for a run with a timer: it is listed as due from then on ([`RunFilter::due`]), and at any time
    /// that lies more than [`CLOCK_JUMP_MS`](windlass_core::CLOCK_JUMP_MS) before the one at which the timer was set: the clock was
    /// set back then. `None`: only somebody can bring it on. Default: the hold is given up, the listing stays as it is, and nobody is told of the timer.
    fn park_until(&self, run: RunId, fence: &Fence, wake: Option<Wake>) -> Answer<'_, ()> {
        let _ = wake;
        self.release(run, fence)
    }

    /// Lists runs, newest first: by their numbers, whatever their ids and times say.
    fn list(&self, filter: RunFilter) -> Answer<'_, Vec<RunSummary>>;

    /// One run's summary.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`].
    fn summary(&self, run: RunId) -> Answer<'_, RunSummary>;
}
