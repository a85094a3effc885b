//! Requests to a store that are sent again because their replies were lost.

use windlass_core::event::Millis;
use windlass_store::{Answer, StoreError};

use crate::platform::environment::Environment;

/// For how long a request whose reply was lost is sent again, where no lease says how long there is, in milliseconds.
const PATIENCE_MS: Millis = 10_000;
/// The pause before a request is sent again, in milliseconds, and the longest one: each is twice as long as the one before.
const PAUSE_MS: std::ops::RangeInclusive<Millis> = 20..=1_000;

/// The pauses between requests whose replies are lost, until the time is over.
pub(crate) struct Pauses<'e> {
    environment: &'e dyn Environment,
    until: Millis,
    next: Millis,
}

impl<'e> Pauses<'e> {
    /// Pauses for so many milliseconds in all; `None`: the default patience.
    pub(crate) fn within(environment: &'e dyn Environment, ms: Option<Millis>) -> Self {
        let until = environment.now().saturating_add(ms.unwrap_or(PATIENCE_MS));
        Self { environment, until, next: *PAUSE_MS.start() }
    }

    /// Waits. `false`: the time is over.
    pub(crate) async fn wait(&mut self) -> bool {
        let at = self.environment.now().saturating_add(self.next);
        if at > self.until {
            return false;
        }
        self.next = (self.next * 2).min(*PAUSE_MS.end());
        self.environment.sleep_until(at).await;
        true
    }
}

/// Sends a request to the store again as long as its reply is lost: one that the store does once, however often it comes.
pub(crate) async fn again<'s, T>(
    environment: &dyn Environment,
    request: impl Fn() -> Answer<'s, T>,
) -> Result<T, StoreError> {
    let first = request().await;
    if !matches!(first, Err(StoreError::Unknown { .. })) {
        return first;
    }
    let mut pauses = Pauses::within(environment, None);
    while pauses.wait().await {
        let answered = request().await;
        if !matches!(answered, Err(StoreError::Unknown { .. })) {
            return answered;
        }
    }
    first
}
