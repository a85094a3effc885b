//! Owns the time limits of one call: one timer, moved only when it fires.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Time limits of a call, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To connect.
    pub connect_ms: u64,
    /// From the call to its first token. A call that is not streamed has no first token: only the total counts.
    pub first_token_ms: u64,
    /// Between two tokens. Comments that keep a connection open are no tokens.
    pub idle_ms: u64,
    /// Where the model reasons: from the head of the response to the first content, between two thoughts, and within an item of
    /// reasoning that is open. It stands in place of the two before.
    pub thinking_ms: u64,
    /// From the call to its end.
    pub total_ms: u64,
}

impl Default for Timeouts {
    /// 10 s to connect, 60 s to the first token, 60 s between tokens, 10 minutes of thinking, 10 minutes in all.
    fn default() -> Self {
        Self {
            connect_ms: 10_000,
            first_token_ms: 60_000,
            idle_ms: 60_000,
            thinking_ms: 600_000,
            total_ms: 600_000,
        }
    }
}

/// The limit that a call exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expired {
    FirstToken(u64),
    Idle(u64),
    Thinking(u64),
    Total(u64),
    /// The reply is whole, and the server keeps the connection open.
    Linger,
}

impl Expired {
    /// The limit, in milliseconds.
    pub(super) fn limit_ms(self) -> Option<u64> {
        match self {
            Self::FirstToken(ms) | Self::Idle(ms) | Self::Thinking(ms) | Self::Total(ms) => Some(ms),
            Self::Linger => None,
        }
    }

    /// The key of the limit under `timeouts`.
    pub(super) fn key(self) -> Option<&'static str> {
        match self {
            Self::FirstToken(_) => Some("first_token_ms"),
            Self::Idle(_) => Some("idle_ms"),
            Self::Thinking(_) => Some("thinking_ms"),
            Self::Total(_) => Some("total_ms"),
            Self::Linger => None,
        }
    }
}

impl fmt::Display for Expired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstToken(ms) => write!(f, "no first token within {ms} ms"),
            Self::Idle(ms) => write!(f, "no further token within {ms} ms"),
            Self::Thinking(ms) => write!(f, "no content within {ms} ms of thinking"),
            Self::Total(ms) => write!(f, "no end of the reply within {ms} ms"),
            Self::Linger => f.write_str("the connection stayed open after the reply"),
        }
    }
}

/// The event being waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Whole,
    FirstToken,
    /// A model that reasons brings no content yet, or has an item of reasoning open.
    Thinking,
    Tokens,
    Close,
    Linger,
}

/// Time for which an ended stream is read on, in milliseconds: a connection read to its end can be reused.
const LINGER_MS: u64 = 20;

/// Time for which the usage of a reply is waited for once its end came, in milliseconds.
const CLOSE_MS: u64 = 2_000;

/// The watch over one call.
#[derive(Debug)]
pub(super) struct Watch {
    timeouts: Timeouts,
    start: Instant,
    last: Instant,
    phase: Phase,
    /// Whether the model reasons.
    reasons: bool,
    /// The phase is another one, and its deadline may be sooner than the timer's.
    sooner: bool,
    sleep: Pin<Box<Sleep>>,
}

impl Watch {
    /// Starts to count. `stream`: there will be a first token. `reasons`: the model may think for long before it.
    pub(super) fn start(timeouts: Timeouts, stream: bool, reasons: bool) -> Self {
        let start = Instant::now();
        let phase = if stream { Phase::FirstToken } else { Phase::Whole };
        let (deadline, _) = phase.deadline(&timeouts, start, start);
        Self {
            timeouts,
            start,
            last: start,
            phase,
            reasons,
            sooner: false,
            sleep: Box::pin(sleep_until(deadline)),
        }
    }

    /// The head of the response came: from here on the model thinks, if it does.
    pub(super) fn head(&mut self) {
        if self.reasons && self.phase == Phase::FirstToken {
            self.last = Instant::now();
            self.enter(Phase::Thinking);
        }
    }

    /// A thought came at that time, or (`None`) the model thinks without a word.
    pub(super) fn thought(&mut self, at: Option<Instant>) {
        match at {
            Some(at) if !self.reasons => self.token(at),
            Some(at) => {
                self.last = at;
                self.enter(Phase::Thinking);
            }
            None if self.reasons && self.phase == Phase::Tokens => self.enter(Phase::Thinking),
            None => {}
        }
    }

    /// A token (or a part of a whole body) came. The timer is moved where the work has to be waited for, and only by the first
    /// one, whose successor may be due sooner: later ones move the deadline back, which the timer finds out when it fires.
    pub(super) fn token(&mut self, at: Instant) {
        self.last = at;
        self.enter(Phase::Tokens);
    }

    fn enter(&mut self, phase: Phase) {
        self.sooner |= self.phase != phase;
        self.phase = phase;
    }

    /// Whether the total is used up: asked where bytes come so fast that the timer is never polled.
    pub(super) fn total_over(&self, at: Instant) -> Option<Expired> {
        let total = self.timeouts.total_ms;
        (at.duration_since(self.start).as_millis() >= u128::from(total)).then_some(Expired::Total(total))
    }

    /// The reply's end came, and its usage did not.
    pub(super) fn close(&mut self) {
        if self.phase != Phase::Close {
            self.last = Instant::now();
            self.enter(Phase::Close);
        }
    }

    /// The reply is whole.
    pub(super) fn linger(&mut self) {
        if self.phase != Phase::Linger {
            self.last = Instant::now();
            self.enter(Phase::Linger);
        }
    }

    /// Ready when a limit is reached. If the timer fires before the true deadline, it is moved there.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Expired> {
        if std::mem::take(&mut self.sooner) {
            let (deadline, _) = self.deadline();
            if deadline < self.sleep.deadline() {
                self.sleep.as_mut().reset(deadline);
            }
        }
        loop {
            if self.sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            let (deadline, expired) = self.deadline();
            if deadline <= Instant::now() {
                return Poll::Ready(expired);
            }
            self.sleep.as_mut().reset(deadline);
        }
    }

    /// Waits for something, at most until a limit is reached. Takes it pinned: a future that was given would take its room twice.
    pub(super) async fn guard<F: Future>(&mut self, mut work: Pin<&mut F>) -> Result<F::Output, Expired> {
        poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => self.poll(cx).map(Err),
        })
        .await
    }

    fn deadline(&self) -> (Instant, Expired) {
        self.phase.deadline(&self.timeouts, self.start, self.last)
    }
}

impl Phase {
    /// When a call that began and went on at these times is late, and by which limit.
    fn deadline(self, timeouts: &Timeouts, start: Instant, last: Instant) -> (Instant, Expired) {
        let after = |from: Instant, ms: u64| from.checked_add(Duration::from_millis(ms)).unwrap_or(from);
        let total = (after(start, timeouts.total_ms), Expired::Total(timeouts.total_ms));
        let phase = match self {
            Self::Whole => return total,
            Self::FirstToken => {
                (after(start, timeouts.first_token_ms), Expired::FirstToken(timeouts.first_token_ms))
            }
            Self::Thinking => (after(last, timeouts.thinking_ms), Expired::Thinking(timeouts.thinking_ms)),
            Self::Tokens => (after(last, timeouts.idle_ms), Expired::Idle(timeouts.idle_ms)),
            Self::Close => return (after(last, CLOSE_MS), Expired::Linger),
            Self::Linger => return (after(last, LINGER_MS), Expired::Linger),
        };
        if total.0 <= phase.0 { total } else { phase }
    }
}
