//! Detaching from a run: this process is to end, the run is not.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use windlass_core::{CallOutcome, InputKind};

use super::Driver;
use super::work::Work;
use crate::platform::error::Error;

/// The longest wait for work that is stopping, in milliseconds: each tool has the run's grace, and agents that do tasks have
/// graces of their own.
const LONGEST_MS: u64 = 60_000;

impl<W: Work> Driver<W> {
    /// Stops all work within its grace period and gives the lease up. Completed work is recorded; the rest is not, so the next
    /// holder finds the run as after a crash.
    pub(super) async fn detach(&mut self) -> Result<(), Error> {
        self.slots.detach();
        let environment = self.agent.environment().clone();
        let mut late = pin!(environment.sleep_until(environment.now().saturating_add(LONGEST_MS)));
        while !self.slots.is_empty() {
            let slots = &mut self.slots;
            let ended = poll_fn(|context| match late.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => slots.poll_next(context).map(Some),
            });
            match ended.await {
                None => break,
                Some(Some(what)) if is_good(&what) => {
                    // It may have been settled in another way.
                    let _taken = self.take(what, None).await?;
                }
                Some(_) => {}
            }
        }
        if let Some(error) = self.broken.take() {
            return Err(Error::Log(error));
        }
        if self.state.is_finished() {
            return Ok(());
        }
        match self.state.quota_wait() {
            // It goes on by itself at that time, and not before.
            Some(wait) => {
                let wake = self.clock.wake(wait.until, &*environment);
                Box::pin(self.lease.park(&*environment, Some(wake))).await?;
            }
            None => Box::pin(self.lease.release(&*environment)).await?,
        }
        Ok(())
    }
}

/// Whether work came to its own end, not to that of this process.
fn is_good(what: &InputKind) -> bool {
    matches!(
        what,
        InputKind::Replied { .. }
            | InputKind::CodeCalls { .. }
            | InputKind::CallEnded { outcome: CallOutcome::Ok { .. }, .. }
    )
}
