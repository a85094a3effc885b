//! Waiters for changes, and the watcher that detects the changes of other processes.
//!
//! The writer reports its own commits here directly. For those of other processes, one thread per open log looks at
//! SQLite's `data_version` every [`TICK`] as long as anybody waits, and asks further only if that has changed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use windlass_core::RunId;

use super::rows::Fault;
use super::{Place, closed, rows};
use crate::error::StoreError;
use crate::{PostId, Posted};

/// Interval at which the watcher checks for changes of other processes, while anything waits for them.
const TICK: Duration = Duration::from_millis(100);
/// Delay before the watcher's first check: runs that end sooner need no connection of its own.
const FIRST_TICK: Duration = Duration::from_millis(10);

/// A committed change.
#[derive(Debug)]
pub(super) enum Change {
    Appended { run: RunId, holds: bool, ended: bool, used: Option<PostId> },
    Posted { run: RunId, post: PostId },
    Discarded { run: RunId, post: PostId },
    Held { run: RunId },
    Released { run: RunId },
}

/// The subject that a waiter waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    Events,
    Inbox,
}

/// Shared by the log, its writer, its watcher and everybody who waits.
#[derive(Default)]
pub(super) struct Signals {
    state: Mutex<State>,
    /// Wakes the watcher: a waiter was added, or the log was closed.
    stir: Condvar,
}

#[derive(Default)]
struct State {
    waiting: HashMap<RunId, Waiting>,
    /// The runs that this process holds: only it appends to them.
    held: HashSet<RunId>,
    /// The posts that wait in inboxes, as far as we know: all once the watcher has looked.
    posts: HashMap<RunId, BTreeSet<u64>>,
    watcher: Option<JoinHandle<()>>,
    closed: bool,
}

#[derive(Default)]
struct Waiting {
    followers: usize,
    inbox_waiters: usize,
    events: Arc<Notify>,
    inbox: Arc<Notify>,
    /// The run's version when the watcher looked last.
    version: u64,
}

impl Waiting {
    fn count(&mut self, topic: Topic) -> &mut usize {
        match topic {
            Topic::Events => &mut self.followers,
            Topic::Inbox => &mut self.inbox_waiters,
        }
    }
}

/// A registered waiter; dropping it ends the registration.
pub(super) struct Waiter {
    signals: Arc<Signals>,
    run: RunId,
    topic: Topic,
}

impl Waiter {
    /// Ends with the next event of the run. Ask before looking, wait after.
    pub(super) fn changed(&self) -> Result<OwnedNotified, StoreError> {
        let state = self.signals.lock();
        let waiting = state.waiting.get(&self.run).filter(|_| !state.closed).ok_or_else(closed)?;
        Ok(Arc::clone(&waiting.events).notified_owned())
    }

    /// `None`: there is a post after that place. Else what ends when there may be.
    pub(super) fn posted(&self, after: Option<PostId>) -> Result<Option<OwnedNotified>, StoreError> {
        let state = self.signals.lock();
        let last = state.posts.get(&self.run).and_then(BTreeSet::last);
        if last.is_some_and(|post| Some(PostId(*post)) > after) {
            return Ok(None);
        }
        let waiting = state.waiting.get(&self.run).filter(|_| !state.closed).ok_or_else(closed)?;
        Ok(Some(Arc::clone(&waiting.inbox).notified_owned()))
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut state = self.signals.lock();
        if let Some(waiting) = state.waiting.get_mut(&self.run) {
            *waiting.count(self.topic) -= 1;
            if waiting.followers == 0 && waiting.inbox_waiters == 0 {
                state.waiting.remove(&self.run);
            }
        }
    }
}

impl Signals {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn holds(&self, run: RunId) -> bool {
        self.lock().held.contains(&run)
    }

    /// Registers a waiter, and starts the watcher with the first one.
    pub(super) fn wait(
        self: &Arc<Self>,
        run: RunId,
        topic: Topic,
        place: &Place,
    ) -> Result<Waiter, StoreError> {
        let mut state = self.lock();
        if state.closed {
            return Err(closed());
        }
        if state.watcher.is_none() {
            let watcher =
                Watcher { signals: Arc::clone(self), place: place.clone(), connection: None, seen: None };
            let thread = std::thread::Builder::new()
                .name("windlass-log-watch".to_owned())
                .spawn(move || watcher.run())
                .map_err(|error| StoreError::Failed(Box::new(error)))?;
            state.watcher = Some(thread);
        }
        let sleeps = state.waiting.is_empty();
        *state.waiting.entry(run).or_default().count(topic) += 1;
        drop(state);
        if sleeps {
            self.stir.notify_one();
        }
        Ok(Waiter { signals: Arc::clone(self), run, topic })
    }

    /// Takes note of what this process has committed, and wakes who waits for it.
    pub(super) fn committed(&self, changes: Vec<Change>) {
        let mut wake: Vec<Arc<Notify>> = Vec::new();
        let mut state = self.lock();
        for change in changes {
            match change {
                Change::Appended { run, holds, ended, used } => {
                    if holds {
                        state.held.insert(run);
                    } else {
                        state.held.remove(&run);
                    }
                    if ended {
                        state.posts.remove(&run);
                    } else if let Some(used) = used {
                        state.forget_post(run, used.0);
                    }
                    let waiting = state.waiting.get(&run).filter(|waiting| waiting.followers > 0);
                    wake.extend(waiting.map(|waiting| Arc::clone(&waiting.events)));
                }
                Change::Posted { run, post } => {
                    // Otherwise the watcher finds it when the next waiter starts.
                    let wanted = !state.waiting.is_empty() || state.held.contains(&run);
                    if wanted && state.watcher.is_some() {
                        state.posts.entry(run).or_default().insert(post.0);
                    }
                    wake.extend(state.waiting.get(&run).map(|waiting| Arc::clone(&waiting.inbox)));
                }
                Change::Discarded { run, post } => state.forget_post(run, post.0),
                Change::Held { run } => drop(state.held.insert(run)),
                Change::Released { run } => drop(state.held.remove(&run)),
            }
        }
        drop(state);
        for notify in wake {
            notify.notify_waiters();
        }
    }

    /// The posts of a run that we know of. Ask before reading the inbox, [`Signals::read_inbox`] after.
    pub(super) fn known_posts(&self, run: RunId) -> Vec<u64> {
        self.lock().posts.get(&run).map(|posts| posts.iter().copied().collect()).unwrap_or_default()
    }

    /// Forgets posts that are gone: known before the inbox was read from `after` on, and not found there.
    pub(super) fn read_inbox(&self, run: RunId, known: &[u64], after: Option<PostId>, found: &[Posted]) {
        let gone = known
            .iter()
            .filter(|id| Some(PostId(**id)) > after && !found.iter().any(|posted| posted.id.0 == **id));
        let mut state = self.lock();
        gone.for_each(|id| state.forget_post(run, *id));
    }

    /// Wakes everybody for good and ends the watcher.
    pub(super) fn close(&self) {
        let watcher = {
            let mut state = self.lock();
            state.closed = true;
            state.waiting.values().for_each(|waiting| {
                waiting.events.notify_waiters();
                waiting.inbox.notify_waiters();
            });
            state.watcher.take()
        };
        self.stir.notify_one();
        if watcher.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the watcher thread of a log panicked");
        }
    }
}

impl State {
    fn forget_post(&mut self, run: RunId, post: u64) {
        if let Some(posts) = self.posts.get_mut(&run) {
            posts.remove(&post);
            if posts.is_empty() {
                self.posts.remove(&run);
            }
        }
    }
}

struct Watcher {
    signals: Arc<Signals>,
    place: Place,
    connection: Option<Connection>,
    /// The `data_version` when we looked last.
    seen: Option<i64>,
}

impl Watcher {
    fn run(mut self) {
        let mut pause = FIRST_TICK;
        while self.sleep(pause) {
            pause = TICK;
            if let Err(fault) = self.look() {
                tracing::warn!(log = %self.place.path.display(), ?fault, "changes of other processes cannot be seen");
                // Look again from scratch, with a new connection.
                (self.connection, self.seen) = (None, None);
            }
        }
    }

    /// Sleeps for `pause`, then until there is a waiter. `false`: the log was closed.
    fn sleep(&self, pause: Duration) -> bool {
        let state = self.signals.lock();
        let open = self
            .signals
            .stir
            .wait_timeout_while(state, pause, |state| !state.closed)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        let state = self
            .signals
            .stir
            .wait_while(open, |state| !state.closed && state.waiting.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        !state.closed
    }

    fn look(&mut self) -> Result<(), Fault> {
        if self.connection.is_none() {
            self.connection = Some(self.place.connect()?);
        }
        let Some(connection) = &self.connection else { return Ok(()) };
        let now: i64 = connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if self.seen == Some(now) {
            return Ok(());
        }
        let transaction = connection.unchecked_transaction()?;
        let inboxes = Inboxes::read(&transaction)?;
        let followed: Vec<RunId> = {
            let state = self.signals.lock();
            let followed = state
                .waiting
                .iter()
                .filter(|(run, waiting)| waiting.followers > 0 && !state.held.contains(run));
            followed.map(|(run, _)| *run).collect()
        };
        let mut versions = Vec::with_capacity(followed.len());
        for run in followed {
            let (no, _) = rows::find(&transaction, run)?;
            versions.push((run, rows::version(&transaction, no)?));
        }
        drop(transaction);
        self.seen = Some(now);
        self.tell(inboxes, versions);
        Ok(())
    }

    fn tell(&self, mut inboxes: Inboxes, versions: Vec<(RunId, u64)>) {
        let mut wake: Vec<Arc<Notify>> = Vec::new();
        let mut state = self.signals.lock();
        for (run, posts) in &state.posts {
            // Our own posts that were committed after the watcher had looked.
            let later: Vec<u64> = posts.range(inboxes.newest + 1..).copied().collect();
            if !later.is_empty() {
                inboxes.posts.entry(*run).or_default().extend(later);
            }
        }
        for (run, posts) in &inboxes.posts {
            let old = state.posts.get(run).and_then(BTreeSet::last);
            if posts.last() > old {
                wake.extend(state.waiting.get(run).map(|waiting| Arc::clone(&waiting.inbox)));
            }
        }
        state.posts = inboxes.posts;
        for (run, version) in versions {
            if let Some(waiting) = state.waiting.get_mut(&run).filter(|waiting| waiting.version != version) {
                waiting.version = version;
                wake.push(Arc::clone(&waiting.events));
            }
        }
        drop(state);
        for notify in wake {
            notify.notify_waiters();
        }
    }
}

/// All posts that wait.
struct Inboxes {
    posts: HashMap<RunId, BTreeSet<u64>>,
    /// The newest post there ever was, used or not.
    newest: u64,
}

impl Inboxes {
    fn read(connection: &Connection) -> Result<Self, Fault> {
        let mut posts: HashMap<RunId, BTreeSet<u64>> = HashMap::new();
        let mut query = connection
            .prepare_cached("SELECT inbox.id, runs.run FROM inbox JOIN runs ON runs.no = inbox.run")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            posts.entry(rows::run_id(row, 1)?).or_default().insert(row.get::<_, i64>(0)?.cast_unsigned());
        }
        let newest: i64 = connection
            .prepare_cached("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'inbox'")?
            .query_row([], |row| row.get(0))?;
        Ok(Self { posts, newest: newest.cast_unsigned() })
    }
}
