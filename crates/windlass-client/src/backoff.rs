//! Pauses between two tries.

use std::time::Duration;

use tokio::time::Instant;

/// The first pause.
const FIRST: Duration = Duration::from_millis(50);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(2);

/// Pauses that double, until the patience is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    patience: Duration,
    pause: Duration,
    /// When the patience is over; `None`: nothing has failed.
    until: Option<Instant>,
}

impl Backoff {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, pause: FIRST, until: None }
    }

    /// The pause before the next try, at least as long as the server asks for. `None`: it has been tried for long enough.
    pub(crate) fn pause(&mut self, least: Option<Duration>) -> Option<Duration> {
        let now = Instant::now();
        let until = *self.until.get_or_insert(now + self.patience);
        // Clients that a server has lost at the same moment do not come back at the same moment.
        let share = u32::try_from(uuid::Uuid::now_v7().as_u128() % 128).unwrap_or(0);
        let pause = (self.pause / 2 + self.pause * share / 256).max(least.unwrap_or_default());
        self.pause = (self.pause * 2).min(LONGEST);
        (now + pause <= until).then_some(pause)
    }

    /// The server is there.
    pub(crate) fn reached(&mut self) {
        self.until = None;
    }

    /// The server has done something.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.patience);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_and_end() {
        let mut backoff = Backoff::new(Duration::from_secs(10));
        let mut pauses = Vec::new();
        while let Some(pause) = backoff.pause(None) {
            tokio::time::advance(pause).await;
            pauses.push(pause);
        }
        assert!(pauses.len() > 6 && pauses.len() < 30, "{pauses:?}");
        assert!(pauses.iter().all(|pause| *pause <= LONGEST), "{pauses:?}");
        assert!(pauses.iter().sum::<Duration>() <= Duration::from_secs(10), "{pauses:?}");
        backoff.reached();
        assert!(backoff.pause(None).unwrap() >= LONGEST / 2, "only what was done makes it quick again");
        backoff.reset();
        assert!(backoff.pause(None).unwrap() <= FIRST);
        assert_eq!(backoff.pause(Some(Duration::from_secs(3))), Some(Duration::from_secs(3)));
        assert_eq!(backoff.pause(Some(Duration::from_secs(30))), None);
    }
}
