//! Timers. The one for inactivity is moved by content that comes before.

use futures_core::future::BoxFuture;
use windlass_core::event::Millis;

use super::Driver;
use super::work::Work;

impl<W: Work> Driver<W> {
    /// Ends at that time of the run.
    pub(super) fn timer(&self, at: Millis) -> BoxFuture<'static, ()> {
        let environment = self.agent.environment().clone();
        let due = self.clock.in_world(at);
        let Some(inactivity) = self.state.stall_alarm().filter(|alarm| alarm.at == at) else {
            return environment.sleep_until(due);
        };
        let (content, other) = (self.content.clone(), inactivity.other.map(|at| self.clock.in_world(at)));
        Box::pin(async move {
            let mut due = due;
            loop {
                environment.sleep_until(other.map_or(due, |other| other.min(due))).await;
                let after = content.last().saturating_add(inactivity.after_ms);
                if after <= environment.now() || other.is_some_and(|other| other <= environment.now()) {
                    return;
                }
                due = after;
            }
        })
    }
}
