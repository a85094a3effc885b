//! The durable inbox: inputs that any process leaves for the holder of a run.

use windlass_core::event::Millis;
use windlass_core::{InputKind, RunId};

use crate::leases::Fence;
use crate::store::Answer;

/// The most posted inputs that may wait in the inbox of one run. More are refused ([`InboxFull`](crate::StoreError::InboxFull)).
pub const INBOX_POSTS: usize = 10_000;

/// The place of a posted input in a run's inbox: ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PostId(pub u64);

/// An input posted for a run's holder.
#[derive(Clone, Debug, PartialEq)]
pub struct Posted {
    /// Its place.
    pub id: PostId,
    /// When it was posted, in milliseconds since the epoch.
    pub at: Millis,
    /// The input.
    pub what: InputKind,
}

/// Keeps posted inputs until the holder of their run has used or refused them.
pub trait Inbox: Send + Sync + std::fmt::Debug {
    /// Leaves an input for the holder of the run, now or later.
    ///
    /// # Errors
    /// [`InboxFull`](crate::StoreError::InboxFull), [`UnknownRun`](crate::StoreError::UnknownRun).
    /// [`Ended`](crate::StoreError::Ended): no holder of the run will ever read it.
    fn post(&self, run: RunId, at: Millis, what: InputKind) -> Answer<'_, PostId>;

    /// The posts after that place, in order. A successful append removes the post that it uses; if the process crashed
    /// in between, the post may still be listed, and [`Log::used`](crate::Log::used) names it.
    fn inbox(&self, run: RunId, after: Option<PostId>) -> Answer<'_, Vec<Posted>>;

    /// Ends when the inbox may hold something after that place. Another process' post is seen within 250 ms.
    fn inbox_changed(&self, run: RunId, after: Option<PostId>) -> Answer<'_, ()>;

    /// Removes a post that its holder refused, or that an append has used. Of no effect if it is gone.
    ///
    /// # Errors
    /// [`Fenced`](crate::StoreError::Fenced), [`NotHeld`](crate::StoreError::NotHeld): only the run's holder removes posts.
    fn discard(&self, run: RunId, post: PostId, fence: &Fence) -> Answer<'_, ()>;
}
