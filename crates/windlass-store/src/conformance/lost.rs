//! A store that loses the second half of using a post.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::RunId;

use crate::{Answer, Append, Fence, Inbox, Log, PostId, Posted, Store, forward_store};

/// A store around another one whose inbox goes on listing the posts that appends have used, as if the process had died
/// between each append and the removal of its post. [`Inbox::discard`] removes them.
///
/// It shows what a store without transactions over several keys may do. A driver over it must use no post twice.
#[derive(Debug)]
pub struct LostRemovals {
    inner: Arc<dyn Store>,
    left: Mutex<BTreeMap<(RunId, PostId), Posted>>,
}

impl LostRemovals {
    /// Loses the removals of that store.
    pub fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { inner, left: Mutex::default() })
    }

    /// Number of posts listed although an append has used them.
    pub fn left(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(RunId, PostId), Posted>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn left_in(&self, run: RunId, after: Option<PostId>) -> Vec<Posted> {
        let left = self.lock();
        let posts = left.iter().filter(|((of, post), _)| *of == run && Some(*post) > after);
        posts.map(|(_, posted)| posted.clone()).collect()
    }
}

impl Log for LostRemovals {
    fn append(&self, append: Append) -> Answer<'_, ()> {
        Box::pin(async move {
            let (run, uses) = (append.run, append.uses);
            let listed = if uses.is_some() { self.inner.inbox(run, None).await? } else { Vec::new() };
            self.inner.append(append).await?;
            let used = listed.into_iter().filter(|posted| Some(posted.id) == uses);
            self.lock().extend(used.map(|posted| ((run, posted.id), posted)));
            Ok(())
        })
    }

    forward_store!(inner: used, read, follow);
}

impl Inbox for LostRemovals {
    forward_store!(inner: post);

    fn inbox(&self, run: RunId, after: Option<PostId>) -> Answer<'_, Vec<Posted>> {
        Box::pin(async move {
            let mut posts = self.inner.inbox(run, after).await?;
            posts.extend(self.left_in(run, after));
            posts.sort_by_key(|posted| posted.id);
            Ok(posts)
        })
    }

    fn inbox_changed(&self, run: RunId, after: Option<PostId>) -> Answer<'_, ()> {
        if self.left_in(run, after).is_empty() {
            return self.inner.inbox_changed(run, after);
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn discard(&self, run: RunId, post: PostId, fence: &Fence) -> Answer<'_, ()> {
        let fence = fence.clone();
        Box::pin(async move {
            self.inner.discard(run, post, &fence).await?;
            self.lock().remove(&(run, post));
            Ok(())
        })
    }
}

forward_store!(Leases, Payloads, Index for LostRemovals => inner);
