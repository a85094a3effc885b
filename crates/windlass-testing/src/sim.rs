//! An environment without real time: a clock that jumps to the next timer, ids that count, and an executor that drives one
//! future in it. Two runs of the same script take the same steps.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures_core::future::BoxFuture;
use windlass_core::event::Millis;
use windlass_core::{RunId, Text};
use windlass_runtime::Environment;

/// The time at which every simulated environment begins (2023-11-14T22:13:20Z), in milliseconds since the Unix epoch.
pub const BEGINNING: Millis = 1_700_000_000_000;

/// A simulated environment. Cloning shares it.
#[derive(Clone, Debug)]
pub struct SimEnvironment {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    now: Millis,
    timers: BTreeMap<(Millis, u64), Waker>,
    next_timer: u64,
    next_run: u128,
}

impl Default for SimEnvironment {
    fn default() -> Self {
        let inner = Inner { now: BEGINNING, timers: BTreeMap::new(), next_timer: 0, next_run: 1 };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }
}

impl SimEnvironment {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the clock jump, as a suspended machine's does. Timers that are due fire at the next look.
    pub fn jump(&self, ms: u64) {
        let mut inner = self.lock();
        inner.now = inner.now.saturating_add(ms);
    }

    /// Sets the clock back. Timers wait until their time comes again.
    pub fn jump_back(&self, ms: u64) {
        let mut inner = self.lock();
        inner.now = inner.now.saturating_sub(ms);
    }

    /// Drives a future until it ends. Whenever nothing can go on, the clock jumps to the next timer.
    /// `None`: nothing can go on, and no timer is set; or `stop` said so after a step.
    pub fn run<F: Future>(&self, future: F, stop: impl Fn() -> bool) -> Option<F::Output> {
        let mut future = pin!(future);
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        let waker = Waker::from(flag.clone());
        let mut context = Context::from_waker(&waker);
        loop {
            while flag.0.swap(false, Ordering::SeqCst) {
                if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                    return Some(output);
                }
                if stop() {
                    return None;
                }
            }
            if !self.advance() {
                return None;
            }
        }
    }

    /// Moves the clock to the next timer and fires all that are due then.
    fn advance(&self) -> bool {
        let mut due = Vec::new();
        {
            let mut inner = self.lock();
            let Some((first, _)) = inner.timers.keys().next().copied() else { return false };
            inner.now = inner.now.max(first);
            while let Some(entry) = inner.timers.first_entry().filter(|entry| entry.key().0 <= first) {
                due.push(entry.remove());
            }
        }
        due.into_iter().for_each(Waker::wake);
        true
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Environment for SimEnvironment {
    fn now(&self) -> Millis {
        self.lock().now
    }

    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()> {
        Box::pin(Sleep { environment: self.clone(), at, key: None })
    }

    fn new_run(&self) -> RunId {
        let mut inner = self.lock();
        let number = inner.next_run;
        inner.next_run += 1;
        RunId::from_number(number)
    }

    fn salt(&self) -> Text {
        "the salt of a simulated world".into()
    }

    fn chance(&self) -> u16 {
        0
    }
}

struct Sleep {
    environment: SimEnvironment,
    at: Millis,
    key: Option<(Millis, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let environment = self.environment.clone();
        let mut inner = environment.lock();
        if let Some(key) = self.key.take() {
            inner.timers.remove(&key);
        }
        if inner.now >= self.at {
            return Poll::Ready(());
        }
        let key = (self.at, inner.next_timer);
        inner.next_timer += 1;
        inner.timers.insert(key, context.waker().clone());
        self.key = Some(key);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.environment.lock().timers.remove(&key);
        }
    }
}

/// Gives the turn to others once.
pub async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
