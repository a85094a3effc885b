//! Followers: what a subscriber of a run sees, from any position on.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::watch;
use windlass_core::event::{ModelFact, ToolChoice, TurnCompleted};
use windlass_core::{ActionId, Fact, RunId};
use windlass_store::{Batch, StoreError};

use super::hub::{Ahead, Hub, begins_another, is_over, reply_in};
use super::position::{AttemptPosition, Position, begins_with, next_piece};
use crate::driver::updates::Update;
use crate::platform::error::Error;

/// A subscriber of a run: facts and pieces of replies, each with the position behind it. Who stops at a position and comes back to it,
/// here, after a restart or in another process, sees what one sees who has stayed.
///
/// A reply's pieces come before its [`TurnCompleted`] and are all of it: those that were not seen while it was written are cut from the
/// stored reply. Pieces of a reply that was lost become void ([`Update::Void`]).
#[derive(Debug)]
pub struct Follower {
    hub: Arc<Hub>,
    changes: watch::Receiver<u64>,
    position: Position,
    /// Comes next, before anything else.
    ready: VecDeque<(Position, Update)>,
    /// A stored reply of which the rest comes next, a piece at a time.
    rest: Option<Rest>,
}

/// The rest of a reply that has completed, and the append that brings it.
#[derive(Debug)]
struct Rest {
    batch: Batch,
    read: AttemptPosition,
}

impl Follower {
    pub(super) fn new(hub: Arc<Hub>, position: Position) -> Self {
        let changes = hub.changes();
        Self { hub, changes, position, ready: VecDeque::new(), rest: None }
    }

    /// The run.
    pub fn run(&self) -> RunId {
        self.hub.run()
    }

    /// The position behind the last update.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The next update, with the position behind it; `None` once the run has ended and all was read.
    ///
    /// # Errors
    /// The log failed.
    pub async fn next(&mut self) -> Result<Option<(Position, Update)>, Error> {
        loop {
            if let Some((position, update)) = self.ready.pop_front() {
                self.position = position;
                return Ok(Some((position, update)));
            }
            if let Some(rest) = self.rest.take() {
                self.take_rest(rest);
                continue;
            }
            self.changes.borrow_and_update();
            match self.hub.ahead(self.position.version) {
                Ahead::Recent(batch) => self.take(batch).await?,
                Ahead::Page => match self.hub.read_from_log(self.position.version).await? {
                    Some(batch) => self.take(batch).await?,
                    None => self.wait().await,
                },
                Ahead::Ended => return Ok(None),
                Ahead::Broken(why) => return Err(Error::Log(StoreError::Failed(why.into()))),
                Ahead::Nothing => {
                    if !self.take_piece() {
                        self.wait().await;
                    }
                }
            }
        }
    }

    async fn wait(&mut self) {
        // The hub lives as long as its followers.
        let _gone = self.changes.changed().await;
    }

    fn action(&self, seq: u64) -> ActionId {
        ActionId { run: self.hub.run(), seq }
    }

    fn seen(&self) -> Option<AttemptPosition> {
        self.position.attempt.filter(AttemptPosition::has_any)
    }

    /// Makes the pieces that were seen of another call void.
    fn void(&mut self, seen: AttemptPosition) {
        let position = Position::after(self.position.version);
        // A round more, so that no later position is less than an earlier one.
        let attempt = Some(AttemptPosition::start(seen.action, seen.round + 1));
        self.ready
            .push_back((Position { attempt, ..position }, Update::Void { action: self.action(seen.action) }));
    }

    /// Takes the next piece of the reply that is being written; `false`: there is none.
    fn take_piece(&mut self) -> bool {
        let hub = self.hub.clone();
        let shared = hub.lock();
        let attempt = &shared.attempt;
        if self.position.version > shared.version {
            // What was read from the log may have the whole reply already.
            return false;
        }
        let read = AttemptPosition::start(attempt.action, attempt.round);
        let read = match self.seen() {
            // A driver elsewhere writes it, or its reply is about to come.
            Some(_) if attempt.action == 0 => return false,
            Some(seen) if (seen.action, seen.round) != (attempt.action, attempt.round) => {
                self.void(seen);
                return true;
            }
            Some(seen) => seen,
            None => read,
        };
        if attempt.since > self.position.version {
            return false;
        }
        let Some(piece) = attempt.after(&read) else { return false };
        let mut read = read;
        read.add(&piece);
        self.ready.push_back((Position { attempt: Some(read), ..self.position }, piece));
        true
    }

    /// Takes an append, behind the rest of the reply that it brings.
    async fn take(&mut self, batch: Batch) -> Result<(), Error> {
        if let Some((action, reply)) = reply_in(&batch) {
            if let Some(read) = self.read_of(action, reply).await? {
                self.rest = Some(Rest { batch, read });
                return Ok(());
            }
        } else if let Some(seen) = self.seen()
            && is_over(&batch, seen.action)
        {
            self.void(seen);
        }
        self.append(batch);
        Ok(())
    }

    /// The next piece of a stored reply, or behind its last one the append that brings it.
    fn take_rest(&mut self, rest: Rest) {
        let Rest { batch, mut read } = rest;
        let piece =
            reply_in(&batch).and_then(|(action, reply)| next_piece(reply, self.action(action), &read));
        match piece {
            Some(piece) => {
                read.add(&piece);
                self.ready.push_back((Position { attempt: Some(read), ..self.position }, piece));
                self.rest = Some(Rest { batch, read });
            }
            None => self.append(batch),
        }
    }

    fn append(&mut self, batch: Batch) {
        // A fact that comes while a reply is being written leaves that as it is.
        let last = self.ready.back().map_or(self.position, |(position, _)| *position);
        let ended = begins_another(&batch) || reply_in(&batch).is_some();
        let attempt = last.attempt.filter(|attempt| !ended && attempt.has_any());
        self.ready.push_back((Position { version: batch.last(), attempt }, Update::Events(batch)));
    }

    /// The position in a completed reply up to which it was read; `None`: no piece of it is shown.
    async fn read_of(
        &mut self,
        action: u64,
        reply: &TurnCompleted,
    ) -> Result<Option<AttemptPosition>, Error> {
        let mut seen = self.seen();
        if let Some(other) =
            seen.filter(|seen| seen.action != action || self.hub.lock().attempt.strayed(action))
        {
            self.void(other);
            seen = None;
        }
        if seen.is_none() && self.is_for_actions(action).await? {
            return Ok(None);
        }
        let read = seen.unwrap_or_else(|| AttemptPosition::start(action, 0));
        if begins_with(reply, &read) {
            return Ok(Some(read));
        }
        self.void(read);
        Ok(Some(AttemptPosition::start(action, read.round + 1)))
    }

    /// Whether a reply is for actions only: its text is no answer, and is not shown.
    async fn is_for_actions(&self, action: u64) -> Result<bool, Error> {
        if !self.hub.has_two_phases().await? {
            return Ok(false);
        }
        let freed = self.hub.event(action).await?;
        Ok(
            matches!(freed, Some(Fact::Model(ModelFact::Started(turn))) if turn.tool_choice == ToolChoice::Auto),
        )
    }
}
