//! The log of runs: appending, reading and following.

use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use windlass_core::event::Cause;
use windlass_core::{Event, RunId, RunState};

use crate::error::{Answer, StoreError};
use crate::inbox::PostId;
use crate::index::Headline;
use crate::leases::Fence;

/// The events of one append, in order: an append is atomic and keeps its boundary.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The sequence number of the first event; a run's first event has number 1.
    pub first: u64,
    /// The input that caused the whole append, even if its first events are cut off.
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

/// The effect of a run's first append on the head of its session: the run that the next message continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Head {
    /// The head stays: the run has no session, or belongs to one without continuing it (an import).
    #[default]
    Stays,
    /// The run becomes the head of its session, provided that the head is still this run.
    Moves {
        /// The run that the new one continues; `None`: the session has no head.
        from: Option<RunId>,
    },
}

/// One atomic append.
#[derive(Clone, Debug)]
pub struct Append {
    /// The run.
    pub run: RunId,
    /// Expected number of events of the run. 0 creates the run and acquires its lease with the fence's epoch.
    pub expected: u64,
    /// The events: at least one.
    pub events: Arc<[Event]>,
    /// The input that caused them.
    pub cause: Cause,
    /// The lease under which this is written.
    pub fence: Fence,
    /// The posted input that these events use. The append's record keeps its id, and it leaves the inbox.
    pub uses: Option<PostId>,
    /// The last post that the holder has read. An append that ends the run is refused as long as the inbox has later ones.
    pub heard: Option<PostId>,
    /// The effect of a run's first append on the head of its session.
    pub head: Head,
    /// The fields of the run that listings show after the append.
    pub headline: Headline,
    /// The state of the run after the append. `Ended` and `Suspended` give up the lease in the same step. `Ended` empties the
    /// inbox, since nothing in it can be used any more.
    pub run_state: RunState,
}

impl Append {
    /// An append that uses no post, looks at no inbox and moves no head.
    pub fn of(run: RunId, batch: Batch, fence: Fence, run_state: RunState) -> Self {
        let Batch { first, cause, events } = batch;
        let expected = first.saturating_sub(1);
        Self {
            run,
            expected,
            events,
            cause,
            fence,
            uses: None,
            heard: None,
            head: Head::Stays,
            headline: Headline::default(),
            run_state,
        }
    }
}

/// A live stream of batches.
pub type Batches = Pin<Box<dyn Stream<Item = Result<Batch, StoreError>> + Send>>;

/// Appends events to runs, and reads and follows them.
pub trait Log: Send + Sync + std::fmt::Debug {
    /// Appends events atomically. Durable when the future ends well; if it ends with an error, nothing is visible.
    ///
    /// The one exception is [`StoreError::Unknown`]: the reply was lost, as happens with a store across a network, so that the
    /// append is visible, will be, or never is. The holder reads the run from the expected version on. Its own append there is the
    /// success; no append there lets it send the same bytes again, and a conflict on that is settled by reading once more; another
    /// append is the conflict. What is read after an `Unknown` must be no older than the newest append.
    ///
    /// The append's record keeps the id of the post that it uses ([`Append::uses`]), so that [`Self::used`] names the post
    /// from then on. Removing the post from the inbox is a second step that a crash may lose, in a store that cannot change
    /// both at once.
    ///
    /// # Errors
    /// [`StoreError::Conflict`], [`StoreError::Fenced`], [`StoreError::NotHeld`], [`StoreError::UnknownRun`],
    /// [`StoreError::NoEvents`], [`StoreError::UnknownPayload`].
    /// [`StoreError::PostUsed`]: the post is not in the run's inbox, or an append has used it.
    /// [`StoreError::HeadMoved`]: another run of the session has begun meanwhile.
    /// [`StoreError::Unknown`]: the store cannot say whether it was written.
    /// [`StoreError::Unheard`]: the append ends the run, and its inbox has posts that its holder has not read.
    fn append(&self, append: Append) -> Answer<'_, ()>;

    /// Returns the given posts that the run's appends have used, by the ids in their records: in any order, each once, without
    /// ids that no append has used.
    ///
    /// A driver asks before it takes posts from an inbox, because the inbox may still list a post whose removal was lost.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`].
    fn used(&self, run: RunId, posts: &[PostId]) -> Answer<'_, Vec<PostId>>;

    /// Reads the events with numbers from `from` on (a batch that begins before is cut), at most about `max` of them (never less than one batch).
    fn read(&self, run: RunId, from: u64, max: usize) -> Answer<'_, Vec<Batch>>;

    /// Reads from `from` on, then follows live, without gaps or repeats, until the run has ended.
    /// An append of another process is seen within 250 ms.
    fn follow(&self, run: RunId, from: u64) -> Batches;
}
