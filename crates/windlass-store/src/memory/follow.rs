//! Following a run in memory: what there is, then what comes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::stream;
use windlass_core::RunId;

use super::lock;
use super::runs::{Next, Runs};
use crate::error::StoreError;
use crate::{Batch, Batches};

/// Number of events that a follower reads at a time.
const STEP_EVENTS: usize = 256;

struct Follower {
    runs: Arc<Mutex<Runs>>,
    run: RunId,
    next: u64,
    taken: VecDeque<Batch>,
    failed: bool,
}

pub(super) fn follow(runs: Arc<Mutex<Runs>>, run: RunId, from: u64) -> Batches {
    let follower = Follower { runs, run, next: from.max(1), taken: VecDeque::new(), failed: false };
    Box::pin(stream::unfold(follower, |mut follower| async move {
        let item = follower.next().await?;
        follower.failed = item.is_err();
        Some((item, follower))
    }))
}

impl Follower {
    async fn next(&mut self) -> Option<Result<Batch, StoreError>> {
        if self.failed {
            return None;
        }
        loop {
            if let Some(batch) = self.taken.pop_front() {
                return Some(Ok(batch));
            }
            let next = lock(&self.runs).next(self.run, self.next, STEP_EVENTS);
            match next {
                Ok(Next::Batches(batches)) => {
                    self.next = batches.last().map_or(self.next, |batch| batch.last() + 1);
                    self.taken = batches.into();
                }
                Ok(Next::Wait(changed)) => changed.await,
                Ok(Next::Ended) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
