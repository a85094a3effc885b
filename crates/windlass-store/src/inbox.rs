//! The durable inbox: inputs that any process leaves for the holder of a run.

use windlass_core::event::Millis;
use windlass_core::{InputKind, Owner, RunId, Text};

use crate::error::Answer;
use crate::leases::Fence;

/// The most posted inputs that may wait in the inbox of one run. More are refused ([`InboxFull`](crate::StoreError::InboxFull)).
pub const INBOX_POSTS: usize = 10_000;

/// The place of a posted input in a run's inbox: ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PostId(pub u64);

/// The key under which a request may be sent twice: what was posted under it stays known as long as the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostKey {
    /// The owner whose key it is: equal keys of two owners are two keys.
    pub owner: Owner,
    /// The key.
    pub key: Text,
    /// SHA-256 of the request. Another request under the key is refused.
    pub digest: [u8; 32],
}

/// A post that came under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedPost {
    /// The run that it was posted to.
    pub run: RunId,
    /// Its place.
    pub post: PostId,
    /// The digest of its request.
    pub digest: [u8; 32],
    /// Whether an append has used it; `false`: it still waits in the run's inbox.
    pub is_used: bool,
}

/// An input to post.
#[derive(Clone, Debug, PartialEq)]
pub struct Post {
    /// When it is posted, in milliseconds since the epoch.
    pub at: Millis,
    /// The input.
    pub what: InputKind,
    /// Its key; `None`: sent twice, it is posted twice.
    pub key: Option<PostKey>,
}

impl Post {
    /// An input without a key.
    pub fn new(at: Millis, what: InputKind) -> Self {
        Self { at, what, key: None }
    }
}

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
    /// Leaves an input for the holder of the run, now or later. A request that was posted under its key already is not posted again,
    /// and its first place is given, also after the input was used and after the run has ended. An input that its holder refused
    /// frees its key.
    ///
    /// # Errors
    /// [`KeyReused`](crate::StoreError::KeyReused): another request has the key.
    /// [`InboxFull`](crate::StoreError::InboxFull), [`UnknownRun`](crate::StoreError::UnknownRun).
    /// [`Ended`](crate::StoreError::Ended): no holder of the run will ever read it.
    fn post(&self, run: RunId, post: Post) -> Answer<'_, PostId>;

    /// The posts of an owner that came under these keys, one for each in their order, to whichever run; found by an index. `None`: there is
    /// none, or all were refused or ended with their run unread. Of several under one key the newest that was used counts, else the newest
    /// that waits: what one run did not take may have been sent to the next.
    fn posted(&self, owner: &Owner, keys: &[Text]) -> Answer<'_, Vec<Option<KeyedPost>>>;

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
