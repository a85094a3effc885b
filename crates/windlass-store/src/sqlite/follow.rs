//! Following a run in SQLite: what there is, then what comes.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::stream;
use windlass_core::RunId;

use super::Inner;
use super::rows::{self, Next};
use super::watch::{Topic, Waiter};
use crate::error::StoreError;
use crate::{Batch, Batches};

/// Number of events that a follower reads at a time.
const STEP_EVENTS: usize = 256;

struct Follower {
    log: Arc<Inner>,
    run: RunId,
    next: u64,
    taken: VecDeque<Batch>,
    waiter: Option<Waiter>,
    failed: bool,
}

pub(super) fn follow(log: Arc<Inner>, run: RunId, from: u64) -> Batches {
    let follower =
        Follower { log, run, next: from.max(1), taken: VecDeque::new(), waiter: None, failed: false };
    Box::pin(stream::unfold(follower, |mut follower| async move {
        let item = follower.next().await.transpose()?;
        follower.failed = item.is_err();
        Some((item, follower))
    }))
}

impl Follower {
    async fn next(&mut self) -> Result<Option<Batch>, StoreError> {
        while !self.failed {
            if let Some(batch) = self.taken.pop_front() {
                return Ok(Some(batch));
            }
            // Asked before looking: what comes after the look ends it.
            let changed = self.waiter.as_ref().map(Waiter::changed).transpose()?;
            let (run, from) = (self.run, self.next);
            let next = self
                .log
                .readers
                .read(move |connection| rows::next(connection, run, from, STEP_EVENTS))
                .await?;
            match next {
                Next::Batches(batches) => {
                    self.next = batches.last().map_or(self.next, |batch| batch.last() + 1);
                    self.taken = batches.into();
                }
                Next::Ended => return Ok(None),
                Next::Nothing => match changed {
                    Some(changed) => changed.await,
                    None => self.waiter = Some(self.log.wait(run, Topic::Events)?),
                },
            }
        }
        Ok(None)
    }
}
