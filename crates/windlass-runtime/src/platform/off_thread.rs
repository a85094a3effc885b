//! Long work of a run on large input, away from the thread that drives it.
//!
//! Such work is: input masked and decided on, requests and the pieces of replies, arguments read, tasks and starts of runs made.
//! Small input stays where it is.

use crate::platform::environment::Environment;

/// Does some work on so many bytes of input, on another thread if that is much and the environment has any.
pub(crate) async fn off_thread<T: Send + 'static>(
    environment: &dyn Environment,
    bytes: u64,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if environment.has_threads() { windlass_threads::off_thread(bytes, work).await } else { work() }
}
