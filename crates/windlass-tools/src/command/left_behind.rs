//! Commands that outlive the process that ran them: after `kill -9` nobody is left who would stop them.
//!
//! They are known by the key in their environment, which what they start inherits. Only Linux shows that (`/proc`), and
//! only for processes of the same user on the same machine.

use std::time::Duration;

/// How often to look whether they are gone.
const LOOK: Duration = Duration::from_millis(5);
/// How long a process may take to go after it was killed; one in the middle of a system call takes its time.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// Stops every process that works under that idempotency key: SIGTERM, and SIGKILL after the grace. Returns when they
/// are gone, so that what they did or did not do can be found out.
#[cfg(target_os = "linux")]
pub(super) async fn stop(key: &str, grace: Duration) {
    use rustix::process::{Signal, kill_process};
    let begun = tokio::time::Instant::now();
    let mut asked = Vec::new();
    loop {
        let alive = working_under(key);
        if alive.is_empty() {
            return;
        }
        let late = begun.elapsed() >= grace;
        if begun.elapsed() >= grace + AFTER_KILL {
            tracing::warn!(key, "what an earlier process left running cannot be stopped");
            return;
        }
        for process in alive {
            // An error says that it has gone by itself.
            if late {
                kill_process(process, Signal::KILL).ok();
            } else if !asked.contains(&process) {
                tracing::info!(
                    key,
                    pid = process.as_raw_nonzero().get(),
                    "stops what an earlier process left running"
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

/// The processes with that key in their environment (proc(5): `/proc/PID/environ`, items that end with a zero byte).
#[cfg(target_os = "linux")]
fn working_under(key: &str) -> Vec<rustix::process::Pid> {
    let mark = format!("{}={key}", super::KEY_VARIABLE);
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let marked = |pid: &i32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|item| item == mark.as_bytes())
    };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(marked).filter_map(rustix::process::Pid::from_raw).collect()
}
