//! Long work on large input, away from the thread that drives runs.
//!
//! Untrusted input is bounded and read in linear time. Even so, reading input near its bound may take longer than the other
//! runs of a thread should wait: it is done on a separate thread while the driving thread continues. Most input is small and is
//! read in place.

use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::available_parallelism;

use tokio::runtime::{Handle, Runtime};
use tokio::sync::{Semaphore, SemaphorePermit};

/// From so many bytes on, input is large. The slowest reader takes some 60 ns a byte (docs/speed.md), so that what is smaller
/// keeps its thread for 16 ms at most; to hand work over takes some 20 µs.
pub const LARGE_BYTES: u64 = 256 * 1024;

/// Number of threads of [`background_runtime`]: one slow reader does not block the others.
const BACKGROUND_THREADS: usize = 2;

/// Does some work on so many bytes of input: on another thread if that is much, on this one otherwise, or where no tokio
/// runtime is. A panic is resumed in the caller. Queued work is discarded when the future is dropped.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let text = "word ".repeat(100_000);
/// let words = windlass_threads::off_thread(text.len() as u64, move || text.split(' ').count()).await;
/// assert_eq!(words, 100_001);
/// # }
/// ```
pub async fn off_thread<T: Send + 'static>(bytes: u64, work: impl FnOnce() -> T + Send + 'static) -> T {
    match thread_for(bytes) {
        // The semaphore is never closed.
        Some(runtime) => handed_over(&runtime, places().acquire().await.ok(), work).await,
        None => work(),
    }
}

/// The same for work that runs code of others, which may wait for anything: it takes no place from work that does not, since
/// what it waits for may need one.
pub async fn off_thread_freely<T: Send + 'static>(
    bytes: u64,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    match thread_for(bytes) {
        Some(runtime) => handed_over(&runtime, None, work).await,
        None => work(),
    }
}

/// `None`: the work is done on the thread that asks.
fn thread_for(bytes: u64) -> Option<Handle> {
    if bytes < LARGE_BYTES { None } else { Handle::try_current().ok() }
}

async fn handed_over<T: Send + 'static>(
    runtime: &Handle,
    place: Option<SemaphorePermit<'static>>,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let work = Wanted(Arc::new(Mutex::new(Some(work))));
    let there = work.0.clone();
    let begun = runtime.spawn_blocking(move || {
        let _place = place;
        let work = there.lock().unwrap_or_else(PoisonError::into_inner).take();
        work.map(|work| work())
    });
    // Others have a turn each time, also where the work is done at once.
    tokio::task::yield_now().await;
    match begun.await {
        Ok(Some(done)) => done,
        // Nothing but the drop of this future takes the work away.
        Ok(None) => std::future::pending().await,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down and takes no work any more.
            Err(_) => match work.take() {
                Some(work) => work(),
                None => std::future::pending().await,
            },
        },
    }
}

/// A runtime of its own, for libraries that read large input within their own tasks: what they spawn in its context does not
/// keep the threads that drive runs. It is made at the first use and stays.
///
/// # Errors
/// The system gives no threads.
pub fn background_runtime() -> io::Result<&'static Handle> {
    static BACKGROUND: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = BACKGROUND.get() {
        return Ok(runtime.handle());
    }
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let made =
        builder.worker_threads(BACKGROUND_THREADS).thread_name("windlass-beside").enable_all().build()?;
    // Of two that are made at once one goes again; nothing was spawned in it.
    if let Err(second) = BACKGROUND.set(made) {
        second.shutdown_background();
    }
    BACKGROUND.get().map(Runtime::handle).ok_or_else(|| io::ErrorKind::Other.into())
}

/// Work that waits for a thread, unless its caller drops it.
struct Wanted<F>(Arc<Mutex<Option<F>>>);

impl<F> Wanted<F> {
    fn take(&self) -> Option<F> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<F> Drop for Wanted<F> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// At most as many such jobs run concurrently as the machine has processors: more would only slow the drivers.
fn places() -> &'static Semaphore {
    static PLACES: OnceLock<Semaphore> = OnceLock::new();
    PLACES.get_or_init(|| Semaphore::new(available_parallelism().map_or(1, std::num::NonZero::get)))
}

#[cfg(test)]
mod tests;
