//! How long a task has to wait for another one of the same thread.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// The computing time of this thread, in microseconds. Other users of the machine play no part.
fn computed_us() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1_000
}

/// The findings of [`during`].
pub(super) struct Waited<T> {
    pub(super) output: T,
    /// How long it took, in milliseconds.
    pub(super) took_ms: f64,
    /// The longest time that the thread worked on something else between two turns of a task which is always ready.
    pub(super) longest_ms: f64,
}

/// Awaits a future while another task of the same thread takes each turn that it gets. Needs a current-thread runtime.
pub(super) async fn during<T>(future: impl Future<Output = T>) -> Waited<T> {
    let longest = Arc::new(AtomicU64::new(0));
    let seen = longest.clone();
    let ticker = tokio::spawn(async move {
        let mut last = computed_us();
        loop {
            tokio::task::yield_now().await;
            let now = computed_us();
            seen.fetch_max(now - last, Relaxed);
            last = now;
        }
    });
    // It has begun once it has had a turn.
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    let begun = Instant::now();
    let output = future.await;
    let took_ms = begun.elapsed().as_secs_f64() * 1e3;
    // What ended the future was a turn, too.
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    ticker.abort();
    Waited { output, took_ms, longest_ms: longest.load(Relaxed) as f64 / 1e3 }
}
