//! A run that people follow: its newest facts and the reply that is being written, kept once for all of its followers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::StreamExt as _;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use windlass_core::event::{Cause, ModelFact, RunFact, TurnCompleted};
use windlass_core::policy::{Phases, Stop};
use windlass_core::{Fact, RunId};
use windlass_error::in_full;
use windlass_read::start_of;
use windlass_store::{Batch, Store, StoreError};

use super::position::AttemptPosition;
use crate::driver::updates::{Listener, Publisher, Update};
use crate::platform::error::Error;

/// The arguments of a call that are whole.
type Object = BTreeMap<String, serde_json::Value>;

/// The newest appends of a run that are kept for its followers.
const RECENT: usize = 64;
/// The events of a page that followers share.
const PAGE: u64 = 256;
/// The most pages that are kept for the followers of one run.
const PAGES: usize = 8;

/// A run with followers. It is gone with the last of them.
#[derive(Debug)]
pub(super) struct Hub {
    run: RunId,
    log: Arc<dyn Store>,
    shared: Mutex<Shared>,
    changed: watch::Sender<u64>,
    /// By number; the one read last stands last.
    pages: tokio::sync::Mutex<VecDeque<(u64, Arc<[Batch]>)>>,
    /// Whether replies of the run may be for actions only, which are not shown.
    two_phases: tokio::sync::OnceCell<bool>,
    feeder: Mutex<Option<AbortHandle>>,
}

#[derive(Debug)]
pub(super) struct Shared {
    /// The number of the last event that was heard.
    pub(super) version: u64,
    /// The number of the last event that the log is known to have: what was not heard is read from it.
    logged: u64,
    recent: VecDeque<Batch>,
    pub(super) attempt: Attempt,
    /// Whether the last event is the run's end.
    ended: bool,
    /// Why the log could not be read on.
    broken: Option<String>,
}

/// The reply that is being written.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    pub(super) action: u64,
    pub(super) round: u32,
    /// The version at which it began: who has read less reads the facts first.
    pub(super) since: u64,
    /// Its pieces as they came, each with what was read behind it.
    pieces: Vec<(Update, AttemptPosition)>,
    /// The call that is being written: its place, and its arguments so far.
    call: Option<(u32, String)>,
    /// A call began before the one before it was whole: from here on, calls come only with the stored reply, in its order.
    mixed: bool,
    /// The pieces of calls up to this one were not all seen.
    missed: u64,
    /// A stored reply did not begin with the pieces of this call.
    strayed: Option<u64>,
}

/// The next thing for a follower.
pub(super) enum Ahead {
    /// These facts, which begin with the one asked for or later.
    Recent(Batch),
    /// Facts that are to be read from the log.
    Page,
    /// Nothing yet.
    Nothing,
    /// The run has ended, and all was read.
    Ended,
    /// The log cannot be read.
    Broken(String),
}

impl Hub {
    pub(super) fn new(log: Arc<dyn Store>, run: RunId, version: u64, ended: bool) -> Arc<Self> {
        let shared = Shared {
            version,
            logged: version,
            recent: VecDeque::new(),
            attempt: Attempt::default(),
            ended,
            broken: None,
        };
        Arc::new(Self {
            run,
            log,
            shared: Mutex::new(shared),
            changed: watch::Sender::new(0),
            pages: tokio::sync::Mutex::default(),
            two_phases: tokio::sync::OnceCell::new(),
            feeder: Mutex::new(None),
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes whenever something has come.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(super) fn run(&self) -> RunId {
        self.run
    }

    pub(super) fn log(&self) -> &dyn Store {
        &*self.log
    }

    /// The number of the last event that is known.
    pub(super) fn version(&self) -> u64 {
        let shared = self.lock();
        shared.version.max(shared.logged)
    }

    /// The log has this many events.
    pub(super) fn is_logged(&self, version: u64) {
        let mut shared = self.lock();
        if version > shared.logged {
            shared.logged = version;
            drop(shared);
            self.changed.send_modify(|changes| *changes += 1);
        }
    }

    /// Feeds the hub from the run's driver in this process.
    pub(super) fn feed_from(self: &Arc<Self>, publisher: &Publisher) {
        let hub = Arc::downgrade(self);
        {
            // What comes meanwhile waits for the lock.
            let mut shared = self.lock();
            publisher.set_listener(Some(hub));
            // Of a reply that began before, the first pieces may have been missed.
            shared.attempt = Attempt { missed: publisher.spoken(), ..Attempt::default() };
        }
        self.set_feeder(None);
    }

    /// Feeds the hub from the log, unless the run has ended. Where no task can be started, nobody can follow either.
    pub(super) fn feed_from_log(self: &Arc<Self>) {
        let ended = self.lock().ended;
        if let (false, Ok(runtime)) = (ended, Handle::try_current()) {
            self.set_feeder(Some(runtime.spawn(follow(Arc::downgrade(self))).abort_handle()));
        }
    }

    fn set_feeder(&self, feeder: Option<AbortHandle>) {
        let mut slot = self.feeder.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(former) = std::mem::replace(&mut *slot, feeder) {
            former.abort();
        }
    }

    fn take(&self, update: Update) {
        let mut shared = self.lock();
        match update {
            Update::Events(batch) => shared.add(&batch),
            Update::Void { action } => shared.attempt.void(action.seq),
            piece @ (Update::Text { .. } | Update::Reasoning { .. } | Update::Call { .. }) => {
                let version = shared.version;
                shared.attempt.add(piece, version);
            }
            // They follow from facts and pieces.
            Update::Partial { .. } | Update::Log(_) | Update::Refused { .. } => return,
        }
        drop(shared);
        self.changed.send_modify(|changes| *changes += 1);
    }

    /// The facts after that version.
    pub(super) fn ahead(&self, version: u64) -> Ahead {
        let shared = self.lock();
        if version >= shared.version {
            if version < shared.logged {
                return Ahead::Page;
            }
            return match &shared.broken {
                Some(why) => Ahead::Broken(why.clone()),
                None if shared.ended => Ahead::Ended,
                None => Ahead::Nothing,
            };
        }
        let known = shared.recent.front().is_some_and(|first| first.first <= version + 1);
        let next = shared.recent.iter().find(|batch| known && batch.last() > version);
        next.map_or(Ahead::Page, |batch| Ahead::Recent(batch.starting_at(version + 1)))
    }

    /// The append with the event after that version, read from the log once for all followers.
    pub(super) async fn read_from_log(&self, version: u64) -> Result<Option<Batch>, StoreError> {
        let number = version / PAGE;
        let mut pages = self.pages.lock().await;
        let found = |page: &Arc<[Batch]>| {
            let batch = page.iter().find(|batch| batch.last() > version)?;
            Some(batch.starting_at(version + 1))
        };
        let known = pages.iter().find(|(known, _)| *known == number);
        if let Some(batch) = known.and_then(|(_, page)| found(page)) {
            return Ok(Some(batch));
        }
        let most = usize::try_from(PAGE).unwrap_or(usize::MAX);
        let mut page = self.log.read(self.run, number * PAGE + 1, most).await?;
        if !page.iter().any(|batch| batch.last() > version) {
            // Its appends are long, so that fewer of them were read.
            page = self.log.read(self.run, version + 1, most).await?;
        }
        let page: Arc<[Batch]> = page.into();
        let batch = found(&page);
        pages.retain(|(known, _)| *known != number);
        pages.push_back((number, page));
        if pages.len() > PAGES {
            pages.pop_front();
        }
        Ok(batch)
    }

    /// Whether replies of the run may be for actions only, which are not shown.
    pub(super) async fn has_two_phases(&self) -> Result<bool, Error> {
        let look = || async {
            let replies = start_of(self.log(), self.run).await?.policy.replies.clone();
            Ok(replies.phases == Phases::Two && replies.stop == Stop::Text)
        };
        self.two_phases.get_or_try_init(look).await.copied()
    }

    /// The event of that number.
    pub(super) async fn event(&self, seq: u64) -> Result<Option<Fact>, StoreError> {
        let batch = self.read_from_log(seq.saturating_sub(1)).await?;
        Ok(batch.and_then(|batch| batch.events.first().map(|event| event.fact.clone())))
    }
}

impl Listener for Hub {
    fn hear(&self, update: Update) {
        self.take(update);
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if let Some(feeder) = self.feeder.lock().unwrap_or_else(PoisonError::into_inner).take() {
            feeder.abort();
        }
    }
}

/// Follows the log on.
async fn follow(hub: Weak<Hub>) {
    let batches = hub.upgrade().filter(|hub| !hub.lock().ended).map(|hub| {
        let mut shared = hub.lock();
        // Nobody here sees the rest of what was being written.
        shared.attempt.leave();
        let from = shared.version + 1;
        drop(shared);
        hub.log.follow(hub.run, from)
    });
    let Some(mut batches) = batches else { return };
    while let Some(batch) = batches.next().await {
        let Some(hub) = hub.upgrade() else { return };
        match batch {
            Ok(batch) => hub.take(Update::Events(batch)),
            Err(error) => {
                hub.lock().broken = Some(in_full(&error));
                hub.changed.send_modify(|changes| *changes += 1);
                return;
            }
        }
    }
}

impl Shared {
    fn add(&mut self, batch: &Batch) {
        if batch.last() <= self.version {
            return;
        }
        if batch.first > self.version + 1 {
            // It came to be listened to in the midst: those who lack what is between read it from the log.
            self.recent.clear();
        }
        let batch = batch.starting_at(self.version + 1);
        self.version = batch.last();
        self.ended |= batch.events.iter().any(|event| matches!(event.fact, Fact::Run(RunFact::Ended(_))));
        if let Some((action, reply)) = reply_in(&batch) {
            self.attempt.completed(action, reply);
        } else if is_over(&batch, self.attempt.action) {
            self.attempt.leave();
        }
        self.recent.push_back(batch);
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }
}

impl Attempt {
    fn add(&mut self, piece: Update, version: u64) {
        let (Update::Text { action, .. } | Update::Reasoning { action, .. } | Update::Call { action, .. }) =
            &piece
        else {
            return;
        };
        if action.seq <= self.missed {
            return;
        }
        if action.seq != self.action {
            *self = Self { action: action.seq, since: version, ..self.kept() };
        } else if self.pieces.is_empty() {
            self.since = version;
        }
        if let Update::Call { index, name, args, .. } = &piece
            && !self.takes_call(*index, name.is_some(), args)
        {
            return;
        }
        let mut read = self.read();
        read.add(&piece);
        self.pieces.push((piece, read));
    }

    /// Whether a piece of a call comes in the order in which calls are stored.
    fn takes_call(&mut self, index: Option<u32>, begins: bool, args: &str) -> bool {
        let last = self.call.as_ref().map(|(place, _)| *place);
        let next = last.map_or(0, |last| last + 1);
        let place = index.unwrap_or_else(|| last.filter(|_| !begins).unwrap_or(next));
        if last != Some(place) {
            let whole = |args: &str| serde_json::from_str::<Object>(args).is_ok();
            self.mixed |= place != next || self.call.as_ref().is_some_and(|(_, args)| !whole(args));
            self.call = Some((place, String::new()));
        }
        if let Some((_, known)) = &mut self.call {
            known.push_str(args);
        }
        !self.mixed
    }

    /// The position of a reader that has read all of it.
    fn read(&self) -> AttemptPosition {
        let last = self.pieces.last().map(|(_, read)| *read);
        last.unwrap_or_else(|| AttemptPosition::start(self.action, self.round))
    }

    fn void(&mut self, action: u64) {
        if action == self.action {
            *self = Self { action, round: self.round + 1, since: self.since, ..self.kept() };
        }
    }

    /// The part that holds for the calls after this one, too.
    fn kept(&self) -> Self {
        Self { missed: self.missed, strayed: self.strayed, ..Self::default() }
    }

    /// Nothing of it is being written any more, or not here.
    fn leave(&mut self) {
        *self = self.kept();
    }

    /// Whether the pieces stray from the reply that was stored.
    fn completed(&mut self, action: u64, reply: &TurnCompleted) {
        if action == self.action && !self.begins(reply) {
            self.strayed = Some(action);
        }
        self.leave();
    }

    /// Whether a reply begins with the pieces that came.
    fn begins(&self, reply: &TurnCompleted) -> bool {
        let (mut text, mut reasoning) = (
            reply.text.as_deref().unwrap_or_default(),
            reply.reasoning.as_ref().map_or("", |known| &known.text),
        );
        let calls: String = reply
            .calls
            .iter()
            .filter(|call| call.place.is_none())
            .flat_map(|call| [&*call.name, &*call.args])
            .collect();
        let mut calls = &*calls;
        self.pieces.iter().all(|(piece, _)| match piece {
            Update::Text { text: piece, .. } => text.strip_prefix(&**piece).map(|rest| text = rest).is_some(),
            Update::Reasoning { text: piece, .. } => {
                reasoning.strip_prefix(&**piece).map(|rest| reasoning = rest).is_some()
            }
            Update::Call { name, args, .. } => {
                let rest = calls.strip_prefix(name.as_deref().unwrap_or_default());
                rest.and_then(|rest| rest.strip_prefix(&**args)).map(|rest| calls = rest).is_some()
            }
            Update::Partial { .. }
            | Update::Void { .. }
            | Update::Events(_)
            | Update::Log(_)
            | Update::Refused { .. } => true,
        })
    }

    /// Whether the stored reply of a call did not begin with what was shown of it.
    pub(super) fn strayed(&self, action: u64) -> bool {
        self.strayed == Some(action)
    }

    /// The piece after what was read, or the rest of one.
    pub(super) fn after(&self, read: &AttemptPosition) -> Option<Update> {
        let is_read = |after: &AttemptPosition| {
            after.reasoning <= read.reasoning && after.text <= read.text && after.calls <= read.calls
        };
        let place = self.pieces.partition_point(|(_, after)| is_read(after));
        let (piece, _) = self.pieces.get(place)?;
        let before = place.checked_sub(1).and_then(|last| self.pieces.get(last)).map(|(_, after)| *after);
        part_of(piece, &before.unwrap_or_default(), read)
    }
}

/// The part of a piece behind what was read.
fn part_of(piece: &Update, before: &AttemptPosition, read: &AttemptPosition) -> Option<Update> {
    let skip = |read: u64, before: u64| usize::try_from(read.saturating_sub(before)).ok();
    match piece {
        Update::Text { action, text } => {
            let text = text.get(skip(read.text, before.text)?..)?;
            Some(Update::Text { action: *action, text: text.into() })
        }
        Update::Reasoning { action, text } => {
            let text = text.get(skip(read.reasoning, before.reasoning)?..)?;
            Some(Update::Reasoning { action: *action, text: text.into() })
        }
        Update::Call { action, index, name, args } => match skip(read.calls, before.calls)? {
            0 => Some(piece.clone()),
            bytes => {
                let args = args.get(bytes.checked_sub(name.as_deref().map_or(0, str::len))?..)?;
                Some(Update::Call { action: *action, index: *index, name: None, args: args.into() })
            }
        },
        Update::Partial { .. }
        | Update::Void { .. }
        | Update::Events(_)
        | Update::Log(_)
        | Update::Refused { .. } => None,
    }
}

/// Whether the reply that is being written for a call is no more: the call has failed, another one began, or the run went on elsewhere
/// or has ended.
pub(super) fn is_over(batch: &Batch, action: u64) -> bool {
    let fails = |failed: u64| failed == action;
    matches!(&batch.cause, Cause::ModelFailed { action, .. } if fails(*action)) || begins_another(batch)
}

/// Whether another reply may be written from an append on, and none that was before.
pub(super) fn begins_another(batch: &Batch) -> bool {
    let begins = |fact: &Fact| {
        matches!(
            fact,
            Fact::Model(ModelFact::Started(_)) | Fact::Run(RunFact::Resumed(_) | RunFact::Ended(_))
        )
    };
    batch.events.iter().any(|event| begins(&event.fact))
}

/// The reply that an append brought to people, and its call.
pub(super) fn reply_in(batch: &Batch) -> Option<(u64, &TurnCompleted)> {
    let Cause::Replied { action } = &batch.cause else {
        return None;
    };
    let reply = batch.events.iter().find_map(|event| {
        if let Fact::Model(ModelFact::Completed(reply)) = &event.fact { Some(reply) } else { None }
    });
    reply.filter(|reply| reply.speaks()).map(|reply| (*action, reply))
}

#[cfg(test)]
mod tests;
