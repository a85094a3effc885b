//! Commands that outlive the process that ran them: after `kill -9`, the next holder must stop them.
//!
//! They are known by the key in their environment, which what they start inherits. Only Linux shows that (`/proc`), and
//! only for processes of the same user on the same machine.

#[cfg(target_os = "linux")]
use super::environ::{Sight, processes, sight};
use std::time::Duration;

/// Interval between checks whether they are gone.
const LOOK: Duration = Duration::from_millis(5);
/// Interval between checks whether a new process shows its environment.
const LOOK_AT_START: Duration = Duration::from_micros(200);
/// Time for a process to exit after it was killed; a system call in progress delays it.
const AFTER_KILL: Duration = Duration::from_secs(5);
/// Time for a process to complete `execve`. A process that stays unreadable for longer hides its environment.
const SETTLE: Duration = Duration::from_secs(1);

/// Stops every process that works under that idempotency key: SIGTERM, and SIGKILL after the grace. Returns when they
/// are gone, so that what they did or did not do can be found out.
#[cfg(target_os = "linux")]
pub(super) async fn stop(key: &str, grace: Duration) {
    use rustix::process::{Signal, kill_process};
    let begun = tokio::time::Instant::now();
    let mut asked = Vec::new();
    loop {
        let Found { marked, unsettled } = working_under(key);
        if marked.is_empty() && (unsettled == 0 || begun.elapsed() >= SETTLE) {
            return;
        }
        let late = begun.elapsed() >= grace;
        if begun.elapsed() >= grace + AFTER_KILL {
            let pids: Vec<_> = marked.iter().map(|pid| pid.as_raw_nonzero().get()).collect();
            tracing::warn!(
                key,
                ?pids,
                unsettled,
                "cannot stop a command that an earlier process left running"
            );
            return;
        }
        for process in marked {
            // An error means that the process has already exited.
            if late {
                kill_process(process, Signal::KILL).ok();
            } else if !asked.contains(&process) {
                tracing::info!(
                    key,
                    pid = process.as_raw_nonzero().get(),
                    "stops a command that an earlier process left running"
                );
                kill_process(process, Signal::TERM).ok();
                asked.push(process);
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) async fn stop(_key: &str, _grace: Duration) {}

/// Returns once a process that was just started could be found by the key: the system lets its parent go on before.
#[cfg(target_os = "linux")]
pub(super) async fn until_seen(key: &str, pid: Option<u32>) {
    let Some(pid) = pid.and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed())) else { return };
    let begun = tokio::time::Instant::now();
    let mark = mark(key);
    while sight(pid, &mark) == Sight::Unsettled && begun.elapsed() < SETTLE {
        tokio::time::sleep(LOOK_AT_START).await;
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) async fn until_seen(_key: &str, _pid: Option<u32>) {}

/// Result of a scan of all processes.
#[cfg(target_os = "linux")]
struct Found {
    /// They have the key in their environment.
    marked: Vec<rustix::process::Pid>,
    /// Number of processes within `execve`, whose environment cannot be read.
    unsettled: usize,
}

#[cfg(target_os = "linux")]
fn working_under(key: &str) -> Found {
    let mark = mark(key);
    let mut found = Found { marked: Vec::new(), unsettled: 0 };
    for pid in processes() {
        match sight(pid, &mark) {
            Sight::Marked => found.marked.push(pid),
            Sight::Unsettled => found.unsettled += 1,
            Sight::Other => {}
        }
    }
    found
}

#[cfg(target_os = "linux")]
fn mark(key: &str) -> String {
    format!("{}={key}", super::KEY_VARIABLE)
}
