//! Stores that lose something: the second half of using a post, or replies.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::{Owner, RunId, Text};

use super::sample::{append, begin, claim, fence, flat, holder, steer, steered};
use super::{Verdict, holds, refused, same, works};
use crate::error::StoreError;
use crate::{
    Answer, Append, Claim, Due, Fence, Holder, Inbox, Leases, Log, Millis, Payloads, Post, PostId, PostKey,
    Posted, RunSummary, Store, Wake, forward_store,
};

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
    forward_store!(inner: post, posted);

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

/// The way in which the reply to a request is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The request itself was lost: nothing is done.
    Request,
    /// It was carried out, and the reply was lost.
    Reply,
}

/// A store around another one that loses requests and replies when it is told to, as a store across a network does. It then says
/// [`StoreError::Unknown`].
#[derive(Debug)]
pub struct LostReplies {
    inner: Arc<dyn Store>,
    coming: Mutex<VecDeque<Option<Lost>>>,
}

impl LostReplies {
    /// Loses nothing yet.
    pub fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { inner, coming: Mutex::default() })
    }

    /// The loss at each of the next requests that write, in their order; `None`: none. Later ones are answered.
    pub fn lose(&self, coming: impl IntoIterator<Item = Option<Lost>>) {
        *self.lock() = coming.into_iter().collect();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Option<Lost>>> {
        self.coming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lossy<'a, T: Send + 'a>(
        &self,
        request: &'static str,
        answer: impl FnOnce() -> Answer<'a, T>,
    ) -> Answer<'a, T> {
        let lost = self.lock().pop_front().flatten();
        let unknown = StoreError::Unknown { request };
        match lost {
            None => answer(),
            Some(Lost::Request) => Box::pin(std::future::ready(Err(unknown))),
            Some(Lost::Reply) => {
                let answer = answer();
                Box::pin(async move {
                    // What the store refuses is not known, either.
                    drop(answer.await);
                    Err(unknown)
                })
            }
        }
    }
}

impl Log for LostReplies {
    fn append(&self, append: Append) -> Answer<'_, ()> {
        self.lossy("an append", || self.inner.append(append))
    }

    forward_store!(inner: used, read, follow);
}

impl Inbox for LostReplies {
    fn post(&self, run: RunId, post: Post) -> Answer<'_, PostId> {
        self.lossy("a post", || self.inner.post(run, post))
    }

    fn discard(&self, run: RunId, post: PostId, fence: &Fence) -> Answer<'_, ()> {
        self.lossy("the removal of a post", || self.inner.discard(run, post, fence))
    }

    forward_store!(inner: posted, inbox, inbox_changed);
}

impl Payloads for LostReplies {
    fn put(&self, bytes: Arc<[u8]>) -> Answer<'_, Text> {
        self.lossy("a payload", || self.inner.put(bytes))
    }

    forward_store!(inner: get, size_in);
}

impl Leases for LostReplies {
    fn acquire(&self, run: RunId, holder: &Holder, claim: Claim) -> Answer<'_, Fence> {
        self.lossy("a lease", || self.inner.acquire(run, holder, claim))
    }

    fn acquire_due(&self, due: Due) -> Answer<'_, Vec<(RunSummary, Fence)>> {
        self.lossy("leases of due runs", || self.inner.acquire_due(due))
    }

    fn renew(&self, run: RunId, fence: &Fence) -> Answer<'_, Option<Millis>> {
        self.lossy("a renewal", || self.inner.renew(run, fence))
    }

    fn release(&self, run: RunId, fence: &Fence) -> Answer<'_, ()> {
        self.lossy("a release", || self.inner.release(run, fence))
    }

    fn park(&self, run: RunId, fence: &Fence, wake: Option<Wake>) -> Answer<'_, ()> {
        self.lossy("a release", || self.inner.park(run, fence, wake))
    }

    forward_store!(inner: probe);
}

forward_store!(Index for LostReplies => inner);

/// After an append whose reply was lost, a read from the expected version on says what became of it, and sending it again does it once.
pub async fn an_append_whose_reply_was_lost_is_found_out(log: Arc<dyn Store>) -> Verdict {
    let lossy = LostReplies::new(log);
    let log: &dyn Store = &*lossy;
    let run = begin(log, 1).await?;
    let post = works("a post", log.post(run, Post::new(1, steer("once"))).await)?;
    let next = Append { uses: Some(post), ..append(run, 1, steered(2, 2)) };
    lossy.lose([Some(Lost::Request)]);
    refused("an append that was lost", log.append(next.clone()).await, "store.unknown")?;
    same("what was written of it", &works("reading", log.read(run, 2, 9).await)?, &Vec::new())?;
    lossy.lose([Some(Lost::Reply)]);
    refused("an append whose reply was lost", log.append(next.clone()).await, "store.unknown")?;
    let there = works("reading", log.read(run, 2, 9).await)?;
    same("what was written", &flat(&there).as_slice(), &&*steered(2, 2))?;
    let [batch] = there.as_slice() else { return Err(format!("{} appends, promised one", there.len())) };
    same("its cause", &batch.cause, &next.cause)?;
    refused("the same append again", log.append(next).await, "store.conflict")?;
    same("the post", &works("used posts", log.used(run, &[post]).await)?, &vec![post])?;
    same("the number of events", &works("a summary", log.summary(run).await)?.version, &3)
}

/// Posts under a key, leases under a claim, renewals and payloads are sent again after a lost reply, and done once.
pub async fn what_is_sent_again_is_done_once(log: Arc<dyn Store>) -> Verdict {
    let lossy = LostReplies::new(log);
    let log: &dyn Store = &*lossy;
    let run = begin(log, 1).await?;
    for lost in [Lost::Request, Lost::Reply] {
        let name: Text = format!("{lost:?}").into();
        let lose = || lossy.lose([Some(lost)]);
        let key = PostKey { owner: Owner::default(), key: name.clone(), digest: [7; 32] };
        let post = Post { key: Some(key), ..Post::new(1, steer(&name)) };
        lose();
        refused("a post", log.post(run, post.clone()).await, "store.unknown")?;
        works("the same post again", log.post(run, post).await)?;
        let named = works("the inbox", log.inbox(run, None).await)?;
        let named = named.iter().filter(|posted| posted.what == steer(&name)).count();
        same("the number of posts", &named, &1)?;
        let bytes: Arc<[u8]> = name.as_bytes().into();
        lose();
        refused("a payload", log.put(bytes.clone()).await, "store.unknown")?;
        let digest = works("the same payload again", log.put(bytes.clone()).await)?;
        same("the payload", &works("reading", log.get(&digest, 0, 99).await)?.as_slice(), &&*bytes)?;
        let released = works("a summary", log.summary(run).await)?.holder;
        let held = fence("maker", 1);
        if released.is_some() {
            lose();
            refused("a renewal", log.renew(run, &held).await, "store.unknown")?;
            works("the same renewal again", log.renew(run, &held).await)?;
            lose();
            refused("a release", log.release(run, &held).await, "store.unknown")?;
            works("the same release again", log.release(run, &held).await)?;
        }
        let (next, claim) = (holder(&name), claim());
        lose();
        refused("a lease", log.acquire(run, &next, claim).await, "store.unknown")?;
        let fence = works("the same lease again", log.acquire(run, &next, claim).await)?;
        same("the lease once more", &works("a lease", log.acquire(run, &next, claim).await)?, &fence)?;
        holds("the lease is not renewed", log.renew(run, &fence).await.is_ok())?;
        works("a release", log.release(run, &fence).await)?;
    }
    Ok(())
}
