//! Owns one limiter: which of its requests is next, and when.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as Queue, Notify};
use tokio::time::{Instant, sleep_until};

use super::rate::{Load, MAX_PERMIT_WAIT_MS, Rate};
use super::window::Window;

/// The longest that a request waits because the provider asked for it, in milliseconds, where the settings say nothing. It is the
/// core's own `retry.max_wait_ms`: what waits longer fails at once, and the core decides.
pub(super) const HOLD_WAIT_MS: u64 = 30_000;

/// The longest that requests are held after one refusal, in milliseconds: five minutes. Then one of them asks the provider again, for
/// a limit may have been raised.
const MAX_HOLD_MS: u64 = 5 * 60 * 1000;

/// The longest hold after a good reply that says that nothing remains, in milliseconds: the windows of requests and tokens are
/// minutes. For a longer one the next request asks the provider, whose refusal says what is true.
const MAX_HINT_MS: u64 = 60_000;

/// The gap between requests that were held together, in milliseconds: if the provider refuses the first, few others were sent.
const GAP_MS: u64 = 100;

/// Time for which limits count for requests that have none of their own, in milliseconds: ten minutes since a request had them.
const RATE_MEMORY_MS: u64 = 10 * 60 * 1000;

/// The most requests that wait at one limiter.
const MAX_WAITING: u64 = 100_000;

/// Limits the requests with one key, to one model or to all.
#[derive(Debug)]
pub(in crate::http) struct Limiter {
    /// Whether anything has to be looked at before a request is sent. Without limits it never is.
    busy: AtomicBool,
    /// Those who wait, in the order in which they came: the head looks at the window.
    queue: Queue<()>,
    /// Something changed that may let the head go sooner.
    sooner: Notify,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The limits that were set last: they count for requests without any of their own.
    rate: Rate,
    /// When a request last had limits of its own.
    rated: Option<Instant>,
    window: Window,
    hold: Option<Hold>,
    /// Requests that were held go one after the other, until none is left.
    in_single_file: bool,
    last: Option<Instant>,
    waiting: Load,
}

/// The provider asked for a wait.
#[derive(Clone, Copy, Debug)]
struct Hold {
    /// All requests wait until then.
    until: Instant,
    /// Until when the provider asked to wait.
    announced: Instant,
}

/// The reason for a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Why {
    /// The limits of the settings.
    Limits(Rate),
    /// The provider asked for it.
    Asked,
    /// Too many wait already.
    Crowd,
}

/// When a request may go, and why not sooner.
#[derive(Clone, Copy, Debug)]
struct Wait {
    at: Instant,
    why: Why,
}

/// A request would wait longer than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct TooLong {
    pub(in crate::http) wait_ms: u64,
    pub(in crate::http) most_ms: u64,
    pub(in crate::http) why: Why,
}

/// The permit of a request that was let go, whose tokens are counted.
#[derive(Debug)]
pub(crate) struct Permit {
    limiter: Arc<Limiter>,
    slot: u64,
    tokens: AtomicU64,
}

impl Permit {
    /// Counts the tokens that the request took, in place of the estimate.
    pub(crate) fn took(&self, tokens: u64) {
        let before = self.tokens.swap(tokens, Ordering::Relaxed);
        self.limiter.state().window.correct(self.slot, before, tokens);
        if tokens < before {
            self.limiter.sooner.notify_one();
        }
    }
}

/// A request's place in the queue. Leaving it is counted, however it ends.
struct Place<'l> {
    limiter: &'l Limiter,
    load: Load,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.limiter.state();
        state.waiting = state.waiting.minus(self.load);
    }
}

impl Limiter {
    pub(super) fn new() -> Self {
        let state = State {
            rate: Rate::default(),
            rated: None,
            window: Window::new(Instant::now()),
            hold: None,
            in_single_file: false,
            last: None,
            waiting: Load::default(),
        };
        let (busy, queue, sooner) = (AtomicBool::new(false), Queue::new(()), Notify::new());
        Self { busy, queue, sooner, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request needs a permit.
    pub(in crate::http) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }

    /// Whether nothing would be lost with it.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        let mut state = self.state();
        state.window.forget(now);
        let held = state.hold.is_some_and(|hold| hold.announced > now);
        !held && state.window.is_empty() && state.waiting == Load::default()
    }

    /// Waits for a permit; `None`: the request may go, and its tokens are not counted. `report` is called once if there is a wait, with
    /// its length and reason.
    pub(in crate::http) async fn acquire(
        self: &Arc<Self>,
        rate: Option<Rate>,
        tokens: u64,
        report: impl Fn(u64, Why),
    ) -> Result<Option<Permit>, TooLong> {
        let arrived = Instant::now();
        let (rate, place) = self.enter(rate, tokens, arrived)?;
        let _head = self.queue.lock().await;
        let mut reported = false;
        loop {
            let now = Instant::now();
            let went = self.state().go(now, rate, place.load);
            let wait = match went {
                Ok(slot) => return Ok(self.begun(slot, rate, place)),
                Err(wait) => wait,
            };
            let too_long = self.state().too_long(rate, arrived, now, wait);
            if let Some(too_long) = too_long {
                return Err(too_long);
            }
            if !reported {
                report(ms_between(now, wait.at), wait.why);
                reported = true;
            }
            let (sleep, sooner) =
                (std::pin::pin!(sleep_until(wait.at)), std::pin::pin!(self.sooner.notified()));
            futures_util::future::select(sleep, sooner).await;
        }
    }

    /// Takes the last place of the queue, unless the permit would come too late. Gives the limits that count.
    fn enter(&self, own: Option<Rate>, tokens: u64, now: Instant) -> Result<(Rate, Place<'_>), TooLong> {
        let mut state = self.state();
        if let Some(rate) = own {
            (state.rate, state.rated) = (rate, Some(now));
            self.busy.store(true, Ordering::Release);
        } else if state.rated.is_some_and(|at| ms_between(at, now) > RATE_MEMORY_MS) {
            (state.rate, state.rated) = (Rate::default(), None);
        }
        let rate = own.unwrap_or(state.rate);
        let load = Load { requests: 1, tokens: tokens.min(rate.most().tokens) };
        state.window.forget(now);
        let ahead = state.waiting.plus(load);
        let wait = state.next(now, rate, ahead).unwrap_or(Wait { at: now, why: Why::Asked });
        if let Some(too_long) = state.too_long(rate, now, now, wait) {
            return Err(too_long);
        }
        if state.waiting.requests >= MAX_WAITING {
            return Err(TooLong { wait_ms: ms_between(now, wait.at), most_ms: 0, why: Why::Crowd });
        }
        state.waiting = ahead;
        Ok((rate, Place { limiter: self, load }))
    }

    /// A request goes. It was counted in this slot.
    fn begun(self: &Arc<Self>, slot: u64, rate: Rate, place: Place<'_>) -> Option<Permit> {
        let tokens = place.load.tokens;
        drop(place);
        let mut state = self.state();
        let last = state.waiting == Load::default();
        state.in_single_file &= !last;
        if last && !state.rate.limits() && state.hold.is_none() {
            self.busy.store(false, Ordering::Release);
        }
        drop(state);
        let counted = rate.tokens_per_minute.is_some();
        counted.then(|| Permit { limiter: self.clone(), slot, tokens: AtomicU64::new(tokens) })
    }

    /// The provider refused a request, and asks for a wait.
    pub(in crate::http) fn refused(&self, wait_ms: u64) {
        self.hold(wait_ms, MAX_HOLD_MS);
    }

    /// A good reply says that nothing remains for so long.
    pub(in crate::http) fn spent(&self, wait_ms: u64) {
        if wait_ms <= MAX_HINT_MS {
            self.hold(wait_ms, MAX_HINT_MS);
        }
    }

    fn hold(&self, wait_ms: u64, most_ms: u64) {
        let now = Instant::now();
        let after = |ms: u64| now.checked_add(Duration::from_millis(ms));
        let (Some(until), Some(announced)) = (after(wait_ms.min(most_ms)), after(wait_ms)) else { return };
        if wait_ms == 0 {
            return;
        }
        let mut state = self.state();
        let old = state.hold;
        let (until, announced) =
            old.map_or((until, announced), |old| (old.until.max(until), old.announced.max(announced)));
        state.hold = Some(Hold { until, announced });
        self.busy.store(true, Ordering::Release);
    }
}

impl State {
    /// When the last of these requests may go, and why not sooner; `None`: now.
    fn next(&self, now: Instant, rate: Rate, ahead: Load) -> Option<Wait> {
        let held = self.hold.map(|hold| hold.until).filter(|until| *until > now);
        let gap = self.last.filter(|_| self.in_single_file);
        let gap = gap.and_then(|last| last.checked_add(Duration::from_millis(GAP_MS)));
        let asked = held.max(gap.filter(|at| *at > now)).map(|at| Wait { at, why: Why::Asked });
        let limited = self.window.room_at(now, ahead, rate.most()).filter(|at| *at > now);
        let limited = limited.map(|at| Wait { at, why: Why::Limits(rate) });
        match (asked, limited) {
            (Some(asked), Some(limited)) => Some(if asked.at >= limited.at { asked } else { limited }),
            (asked, limited) => asked.or(limited),
        }
    }

    /// Counts the head of the queue as sent now, and gives its slot of the window; or when it may go, and why not sooner.
    fn go(&mut self, now: Instant, rate: Rate, load: Load) -> Result<u64, Wait> {
        self.window.forget(now);
        if let Some(wait) = self.next(now, rate, load) {
            return Err(wait);
        }
        if self.hold.take().is_some() {
            self.in_single_file = true;
        }
        self.last = Some(now);
        Ok(self.window.add(now, load))
    }

    /// Whether a request that `arrived` then waits longer than it may.
    fn too_long(&self, rate: Rate, arrived: Instant, now: Instant, wait: Wait) -> Option<TooLong> {
        let Wait { at, why } = wait;
        let default = if why == Why::Asked { HOLD_WAIT_MS } else { MAX_PERMIT_WAIT_MS };
        let most_ms = rate.max_wait_ms.unwrap_or(default);
        if ms_between(arrived, at) <= most_ms {
            return None;
        }
        let announced = self.hold.filter(|_| why == Why::Asked).map(|hold| hold.announced);
        Some(TooLong { wait_ms: ms_between(now, announced.unwrap_or(at).max(at)), most_ms, why })
    }
}

/// Milliseconds from one time to another, rounded up.
fn ms_between(from: Instant, to: Instant) -> u64 {
    let between = to.saturating_duration_since(from);
    u64::try_from(between.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
