//! A monotonic clock, for durations that must not depend on changes of the wall clock.

/// Milliseconds since the machine started, its sleep included where the system counts it (Linux). Never goes back, and is
/// the same clock for all processes until the machine starts anew.
pub fn up_ms() -> u64 {
    system()
}

#[cfg(unix)]
fn system() -> u64 {
    use rustix::time::{ClockId, clock_gettime};
    // macOS counts sleep by this name, and has no other.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const CLOCK: ClockId = ClockId::Monotonic;
    let now = clock_gettime(CLOCK);
    let (seconds, nanos) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
    seconds.saturating_mul(1_000).saturating_add(nanos / 1_000_000)
}

#[cfg(not(unix))]
fn system() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed().as_millis() as u64
}
