//! How a child ended that did not say so.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;

use crate::{Failure, FailureKind, Limit, Limits};

/// Maximum size of what is read from stderr, in bytes.
const MOST_BYTES: u64 = 4096;
/// Maximum time that is waited for it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The beginning of what a child wrote to stderr.
pub(super) async fn last_words(stderr: Option<ChildStderr>) -> String {
    let mut bytes = Vec::new();
    if let Some(stderr) = stderr {
        let mut some = stderr.take(MOST_BYTES);
        // What came in time is enough.
        let _late = tokio::time::timeout(PATIENCE, some.read_to_end(&mut bytes)).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The failure of a child that ended so.
pub(super) fn of(status: Option<ExitStatus>, stderr: &str, limits: &Limits) -> Failure {
    let signal = status.and_then(|status| status.signal());
    if signal == Some(Signal::XCPU.as_raw()) {
        return too_slow(limits);
    }
    // Rust's own words at an allocation that failed, and at the end of a stack.
    if stderr.contains("memory allocation of") {
        let text =
            format!("the code needed more than {} MiB of memory\nhint: keep less at once", limits.memory_mb);
        return limited(Limit::Memory, text);
    }
    if stderr.contains("has overflowed its stack") {
        let text = "the code, or a value of it, is nested too deeply\nhint: use loops in place of nesting";
        return limited(Limit::Depth, text.to_owned());
    }
    let mut message = format!("the process that ran the code ended: {}", display_status(status));
    if let Some(line) = stderr.lines().find(|line| !line.trim().is_empty()) {
        message.push_str(": ");
        message.push_str(line.trim());
    }
    message.push_str("\nhint: write the code another way");
    Failure { kind: FailureKind::Crashed, message, line: None }
}

/// The failure of a child that was killed because it took too long.
pub(super) fn too_slow(limits: &Limits) -> Failure {
    let text = format!(
        "the code ran for longer than {} s\nhint: do less in one step, or look for a loop without an end",
        limits.seconds
    );
    limited(Limit::Seconds, text)
}

/// An exit status in words.
pub(super) fn display_status(status: Option<ExitStatus>) -> String {
    match status {
        Some(status) => status.to_string(),
        None => "its end is not known".to_owned(),
    }
}

fn limited(limit: Limit, message: String) -> Failure {
    Failure { kind: FailureKind::Limit(limit), message, line: None }
}

#[cfg(test)]
mod tests;
