//! The runs in memory: plain data behind one lock. Nothing here waits.

mod leases;
mod listings;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use leases::Lease;

use super::keys::Keys;
use super::payloads::Payloads;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use windlass_core::{Event, Owner, RunId, RunState, SessionId};

use crate::error::StoreError;
use crate::opening::{self, Opening};
use crate::payload::{self, Digest};
use crate::{
    Append, Batch, Fence, Head, Headline, INBOX_POSTS, KeyedPost, Post, PostId, PostKey, Posted, RunSummary,
    Wake,
};

/// The head of each session, which is named by its owner and its name.
type Heads = HashMap<(Owner, SessionId), RunId>;

/// All runs of a log.
#[derive(Debug)]
pub(super) struct Runs {
    by_id: HashMap<RunId, Run>,
    /// Number of runs based on each run. Such a run is not dropped.
    based: HashMap<RunId, usize>,
    /// Ended runs in the order of their ends, without overdue ones that are a base.
    ended: VecDeque<RunId>,
    max_ended: usize,
    /// The head of each session.
    heads: Heads,
    keys: Keys,
    last_number: u64,
    last_post: u64,
    pub(super) payloads: Payloads,
}

#[derive(Debug)]
pub(super) struct Run {
    number: u64,
    batches: Vec<Batch>,
    version: u64,
    /// In a box: a table of runs has room for some that are not there.
    headline: Box<Headline>,
    state: RunState,
    /// Time at which it continues by itself, if it is suspended.
    wake: Option<Wake>,
    hold: Lease,
    /// The posts to it; most runs get nothing.
    posts: Option<Box<Posts>>,
    /// The payloads that its events refer to.
    payloads: Vec<Digest>,
    followers: Option<Arc<Notify>>,
    inbox_waiters: Option<Arc<Notify>>,
}

/// The posts to a run.
#[derive(Debug, Default)]
struct Posts {
    waiting: VecDeque<Posted>,
    /// The posts that its appends have used.
    used: BTreeSet<PostId>,
    /// The posts that came under a key.
    keys: Vec<(PostKey, PostId)>,
}

/// Work after a change, done outside the lock.
#[must_use]
pub(super) struct Effects {
    followers: Option<Arc<Notify>>,
    dropped: Vec<Run>,
}

impl Effects {
    pub(super) fn wake(self) {
        if let Some(followers) = self.followers {
            followers.notify_waiters();
        }
        drop(self.dropped);
    }
}

/// The next event for a follower.
pub(super) enum Next {
    Batches(Vec<Batch>),
    /// Nothing yet. Made under the lock, so that no append in between is missed.
    Wait(OwnedNotified),
    Ended,
}

impl Runs {
    pub(super) fn new(max_ended: usize) -> Self {
        Self {
            by_id: HashMap::new(),
            based: HashMap::new(),
            ended: VecDeque::new(),
            max_ended,
            heads: HashMap::new(),
            keys: Keys::default(),
            last_number: 0,
            last_post: 0,
            payloads: Payloads::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn append(&mut self, append: Append) -> Result<Effects, StoreError> {
        let Append { run, expected, events, cause, fence, uses, heard, head, headline, run_state } = append;
        if events.is_empty() {
            return Err(StoreError::NoEvents { run });
        }
        let version = events.len() as u64;
        let batch = Batch { first: expected + 1, cause, events };
        let ended = matches!(run_state, RunState::Ended(_));
        let needed = payload::needed(&batch.events)?;
        self.payloads.check(&needed)?;
        let followers = match self.by_id.get_mut(&run) {
            Some(there) => {
                there.check(run, expected, &fence)?;
                if ended && there.waiting().any(|post| Some(post.id) > heard && Some(post.id) != uses) {
                    return Err(StoreError::Unheard { run });
                }
                if let Some(post) = uses {
                    there.use_post(run, post)?;
                }
                there.batches.push(batch);
                there.version += version;
                there.state = run_state;
                // Kept of heads only.
                let queued = headline.queued && there.is_head(run, &self.heads);
                *there.headline = Headline { queued, ..headline };
                there.hold.held = run_state == RunState::Running;
                if ended {
                    there.posts.iter_mut().for_each(|posts| posts.waiting.clear());
                }
                there.followers.clone()
            }
            None if expected > 0 => return Err(StoreError::UnknownRun { run }),
            None => {
                if let Some(post) = uses {
                    return Err(StoreError::PostUsed { run, post: post.0 });
                }
                self.move_head(run, head, &batch)?;
                if let Some(base) = opening::base(batch.events.first()) {
                    *self.based.entry(base).or_default() += 1;
                }
                self.last_number += 1;
                let queued = headline.queued && matches!(head, Head::Moves { .. });
                let headline = Headline { queued, ..headline };
                self.by_id.insert(run, Run::new(self.last_number, batch, headline, run_state, fence));
                None
            }
        };
        for digest in needed {
            if let Some(there) = self.by_id.get_mut(&run).filter(|there| !there.payloads.contains(&digest)) {
                there.payloads.push(digest);
                self.payloads.refer(digest);
            }
        }
        let dropped = if ended { self.note_end(run) } else { Vec::new() };
        Ok(Effects { followers, dropped })
    }

    /// Makes a run that begins the head of its session, where its append says so.
    fn move_head(&mut self, run: RunId, head: Head, first: &Batch) -> Result<(), StoreError> {
        let Opening { owner, session, .. } = Opening::of(first.events.first());
        let (Head::Moves { from }, Some(session)) = (head, session) else { return Ok(()) };
        let there = self.heads.entry((owner, session));
        let found = if let Entry::Occupied(there) = &there { Some(*there.get()) } else { None };
        if found != from {
            return Err(StoreError::HeadMoved { run, head: found });
        }
        there.insert_entry(run);
        if let Some(former) = from.and_then(|from| self.by_id.get_mut(&from)) {
            former.headline.queued = false;
        }
        Ok(())
    }

    pub(super) fn head(&self, owner: &Owner, session: &SessionId) -> Option<RunId> {
        self.heads.get(&(owner.clone(), session.clone())).copied()
    }

    /// A run that goes leaves its session to the run that it continued.
    fn give_up_head(&mut self, run: RunId, gone: &Run) {
        let first = gone.first();
        let Opening { owner, session: Some(session), .. } = Opening::of(first) else { return };
        let place = (owner, session);
        if self.heads.get(&place) != Some(&run) {
            return;
        }
        let base_run = opening::base(first).filter(|base| {
            let Opening { owner, session, .. } = Opening::of(self.by_id.get(base).and_then(Run::first));
            owner == place.0 && session.as_ref() == Some(&place.1)
        });
        match base_run {
            Some(base_run) => drop(self.heads.insert(place, base_run)),
            None => drop(self.heads.remove(&place)),
        }
    }

    pub(super) fn read(&self, run: RunId, from: u64, max: usize) -> Result<Vec<Batch>, StoreError> {
        Ok(self.get(run)?.read(from, max))
    }

    pub(super) fn used(&self, run: RunId, posts: &[PostId]) -> Result<Vec<PostId>, StoreError> {
        let there = self.get(run)?;
        let used = |post: &PostId| there.posts.as_ref().is_some_and(|known| known.used.contains(post));
        Ok(posts.iter().copied().filter(used).collect())
    }

    pub(super) fn next(&mut self, run: RunId, from: u64, max: usize) -> Result<Next, StoreError> {
        let there = self.get_mut(run)?;
        if from <= there.version {
            return Ok(Next::Batches(there.read(from, max)));
        }
        if matches!(there.state, RunState::Ended(_)) {
            return Ok(Next::Ended);
        }
        Ok(Next::Wait(Arc::clone(there.followers.get_or_insert_default()).notified_owned()))
    }

    pub(super) fn post(
        &mut self,
        run: RunId,
        post: Post,
    ) -> Result<(PostId, Option<Arc<Notify>>), StoreError> {
        let id = PostId(self.last_post + 1);
        let there = self.get_mut(run)?;
        let Post { at, what, key } = post;
        if let Some(key) = &key
            && let Some((known, id)) = there.known_key(key)
        {
            let reused = || StoreError::KeyReused { run, key: key.key.to_string() };
            return if known.digest == key.digest { Ok((*id, None)) } else { Err(reused()) };
        }
        if matches!(there.state, RunState::Ended(_)) {
            return Err(StoreError::Ended { run });
        }
        if there.waiting().len() >= INBOX_POSTS {
            return Err(StoreError::InboxFull { run, max: INBOX_POSTS });
        }
        let posts = there.posts.get_or_insert_default();
        posts.waiting.push_back(Posted { id, at, what });
        posts.keys.extend(key.clone().map(|key| (key, id)));
        let waiters = there.inbox_waiters.clone();
        if let Some(key) = &key {
            self.keys.add(key, run);
        }
        self.last_post = id.0;
        Ok((id, waiters))
    }

    pub(super) fn posted(&self, owner: &Owner, key: &str) -> Option<KeyedPost> {
        let found = self.keys.runs(owner, key).iter().filter_map(|run| {
            let posts = self.by_id.get(run)?.posts.as_ref()?;
            let (known, post) =
                posts.keys.iter().find(|(known, _)| &*known.key == key && known.owner == *owner)?;
            let is_used = posts.used.contains(post);
            let waits = || posts.waiting.iter().any(|posted| posted.id == *post);
            let found = KeyedPost { run: *run, post: *post, digest: known.digest, is_used };
            (is_used || waits()).then_some(found)
        });
        found.max_by_key(|found| (found.is_used, found.post))
    }

    pub(super) fn inbox(&self, run: RunId, after: Option<PostId>) -> Result<Vec<Posted>, StoreError> {
        let there = self.get(run)?;
        Ok(there.waiting().filter(|posted| Some(posted.id) > after).cloned().collect())
    }

    pub(super) fn discard(&mut self, run: RunId, post: PostId, fence: &Fence) -> Result<(), StoreError> {
        self.renew(run, fence)?;
        let there = self.get_mut(run)?;
        let Some(posts) = &mut there.posts else { return Ok(()) };
        posts.waiting.retain(|posted| posted.id != post);
        if !posts.used.contains(&post) {
            let freed: Vec<_> = posts.keys.extract_if(.., |(_, id)| *id == post).collect();
            for (key, _) in &freed {
                self.keys.remove(key, run);
            }
        }
        Ok(())
    }

    /// `None`: there is something already.
    pub(super) fn inbox_waiter(
        &mut self,
        run: RunId,
        after: Option<PostId>,
    ) -> Result<Option<OwnedNotified>, StoreError> {
        let there = self.get_mut(run)?;
        if there.waiting().next_back().is_some_and(|posted| Some(posted.id) > after) {
            return Ok(None);
        }
        Ok(Some(Arc::clone(there.inbox_waiters.get_or_insert_default()).notified_owned()))
    }

    pub(super) fn summary(&self, run: RunId) -> Result<RunSummary, StoreError> {
        Ok(self.get(run)?.summary(run))
    }

    /// Takes a run out, and the bases that were only kept for its sake. Empty: the run is held, a base, or not there.
    pub(super) fn remove(&mut self, run: RunId) -> Vec<Run> {
        if self.based.contains_key(&run)
            || self.get(run).is_ok_and(|there| there.hold.held && !there.hold.dead)
        {
            return Vec::new();
        }
        self.ended.retain(|ended| *ended != run);
        self.take(run)
    }

    /// Counts an end, and takes out the oldest ended runs beyond the bound.
    fn note_end(&mut self, run: RunId) -> Vec<Run> {
        self.ended.push_back(run);
        let mut dropped = Vec::new();
        while self.ended.len() > self.max_ended {
            let Some(oldest) = self.ended.pop_front() else { break };
            // A base is kept for the runs that need it, and goes with the last of them.
            if !self.based.contains_key(&oldest) {
                dropped.extend(self.take(oldest));
            }
        }
        dropped
    }

    /// The size of a payload that an event of the run refers to.
    pub(super) fn size_in(&self, run: RunId, digest: &Digest) -> Option<u64> {
        self.by_id.get(&run).filter(|there| there.payloads.contains(digest))?;
        self.payloads.size(digest)
    }

    /// Takes out a run that is no base, then each base that nothing else needs and that was due before.
    fn take(&mut self, run: RunId) -> Vec<Run> {
        let mut taken = Vec::new();
        let mut due = Some(run);
        while let Some((run, there)) = due.and_then(|run| self.by_id.remove_entry(&run)) {
            self.give_up_head(run, &there);
            due = opening::base(there.first());
            due = due.filter(|base| self.no_longer_needs(*base));
            there.payloads.iter().for_each(|digest| self.payloads.let_go(digest));
            let keys = there.posts.iter().flat_map(|posts| &posts.keys);
            keys.for_each(|(key, _)| self.keys.remove(key, run));
            taken.push(there);
        }
        taken
    }

    /// Whether that was the last run on this base, and the base has ended and was due to go already.
    fn no_longer_needs(&mut self, base: RunId) -> bool {
        let Some(count) = self.based.get_mut(&base) else { return false };
        *count -= 1;
        if *count > 0 {
            return false;
        }
        self.based.remove(&base);
        let ended = self.get(base).is_ok_and(|there| matches!(there.state, RunState::Ended(_)));
        ended && !self.ended.contains(&base)
    }

    fn get(&self, run: RunId) -> Result<&Run, StoreError> {
        self.by_id.get(&run).ok_or(StoreError::UnknownRun { run })
    }

    fn get_mut(&mut self, run: RunId) -> Result<&mut Run, StoreError> {
        self.by_id.get_mut(&run).ok_or(StoreError::UnknownRun { run })
    }
}

impl Run {
    fn new(number: u64, first: Batch, headline: Headline, run_state: RunState, fence: Fence) -> Self {
        Self {
            number,
            version: first.last(),
            batches: vec![first],
            headline: Box::new(headline),
            state: run_state,
            wake: None,
            hold: Lease::first(fence, run_state == RunState::Running),
            posts: None,
            payloads: Vec::new(),
            followers: None,
            inbox_waiters: None,
        }
    }

    fn is_head(&self, run: RunId, heads: &Heads) -> bool {
        let Opening { owner, session, .. } = Opening::of(self.first());
        session.is_some_and(|session| heads.get(&(owner, session)) == Some(&run))
    }

    /// The lease is checked before the version: a lost lease is reported as such, not as a conflict.
    fn check(&self, run: RunId, expected: u64, fence: &Fence) -> Result<(), StoreError> {
        if expected > 0 && self.hold.fence != *fence {
            let current = &self.hold.fence;
            return Err(StoreError::Fenced {
                run,
                holder: current.holder.0.to_string(),
                ours: fence.epoch,
                current: current.epoch,
            });
        }
        if expected != self.version {
            return Err(StoreError::Conflict { run, expected, found: self.version });
        }
        if !self.hold.held {
            return Err(StoreError::NotHeld { run, epoch: self.hold.fence.epoch });
        }
        Ok(())
    }

    /// The run's first event.
    fn first(&self) -> Option<&Event> {
        self.batches.first().and_then(|batch| batch.events.first())
    }

    /// The posts that nobody has used or refused.
    fn waiting(&self) -> std::collections::vec_deque::Iter<'_, Posted> {
        self.posts.as_ref().map(|posts| posts.waiting.iter()).unwrap_or_default()
    }

    fn known_key(&self, key: &PostKey) -> Option<&(PostKey, PostId)> {
        let posts = self.posts.as_ref()?;
        posts.keys.iter().find(|(known, _)| known.key == key.key && known.owner == key.owner)
    }

    fn use_post(&mut self, run: RunId, post: PostId) -> Result<(), StoreError> {
        let gone = StoreError::PostUsed { run, post: post.0 };
        let Some(posts) = &mut self.posts else { return Err(gone) };
        let at = posts.waiting.iter().position(|posted| posted.id == post);
        at.and_then(|at| posts.waiting.remove(at)).ok_or(gone)?;
        posts.used.insert(post);
        Ok(())
    }

    fn read(&self, from: u64, max: usize) -> Vec<Batch> {
        let from = from.max(1);
        let start = self.batches.partition_point(|batch| batch.last() < from);
        let mut found: Vec<Batch> = Vec::new();
        let mut count = 0;
        for batch in self.batches.iter().skip(start) {
            if count > 0 && count + batch.events.len() > max {
                break;
            }
            count += batch.events.len();
            found.push(batch.starting_at(from));
        }
        found
    }
}
