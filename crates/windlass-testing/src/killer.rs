//! Kills processes, as `kill -9` and the kernel do: at a chosen moment, without a last word.

use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval between two looks at a process.
const LOOK: Duration = Duration::from_micros(300);

/// When a process is killed.
pub enum Moment<'m> {
    /// Not at all: it runs to its end.
    Never,
    /// That long after its start, unless it has ended by then.
    After(Duration),
    /// As soon as this says so; it is asked every few hundred microseconds.
    When(&'m mut dyn FnMut() -> bool),
}

impl std::fmt::Debug for Moment<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Never => f.write_str("Never"),
            Self::After(time) => f.debug_tuple("After").field(time).finish(),
            Self::When(_) => f.write_str("When(..)"),
        }
    }
}

/// The end of a process.
#[derive(Clone, Debug)]
pub struct ProcessEnd {
    /// Whether a SIGKILL ended it, ours or another's.
    pub killed: bool,
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// Its stdout.
    pub stdout: String,
    /// Its stderr.
    pub stderr: String,
    /// Its duration.
    pub ran: Duration,
}

/// Starts a process and kills it at a chosen moment. Only the process itself is killed: what it started lives on, as
/// after a real `kill -9`.
///
/// ```
/// use std::process::Command;
/// use std::time::Duration;
/// use windlass_testing::{Moment, run_and_kill};
///
/// let mut sleeper = Command::new("sleep");
/// sleeper.arg("60");
/// let end = run_and_kill(&mut sleeper, Moment::After(Duration::from_millis(1)), Duration::from_secs(10))?;
/// assert!(end.killed && end.code.is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// It cannot be started, or it is still alive after `patience`: then it is killed, and the error is
/// [`io::ErrorKind::TimedOut`].
pub fn run_and_kill(
    command: &mut Command,
    mut moment: Moment<'_>,
    patience: Duration,
) -> io::Result<ProcessEnd> {
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (child.stdout.take().map(drain), child.stderr.take().map(drain));
    let mut late = false;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let ran = begun.elapsed();
        late = ran >= patience;
        let (now, wait) = match &mut moment {
            Moment::Never => (false, LOOK),
            Moment::After(time) => (ran >= *time, time.saturating_sub(ran).min(LOOK)),
            Moment::When(so) => (so(), LOOK),
        };
        if now || late {
            child.kill()?;
            break child.wait()?;
        }
        std::thread::sleep(wait);
    };
    let ran = begun.elapsed();
    let (stdout, stderr) = (text(stdout), text(stderr));
    if late {
        let message = format!("still alive after {patience:?}; it said: {stdout}{stderr}");
        return Err(io::Error::new(io::ErrorKind::TimedOut, message));
    }
    Ok(ProcessEnd { killed: killed(status), code: status.code(), stdout, stderr, ran })
}

fn killed(status: ExitStatus) -> bool {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(&status) == Some(9);
    #[cfg(not(unix))]
    return !status.success();
}

/// Reads a pipe to its end beside the process, so that it never waits for a reader.
fn drain(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error counts.
        let _partly = pipe.read_to_end(&mut bytes);
        bytes
    })
}

fn text(reader: Option<JoinHandle<Vec<u8>>>) -> String {
    let bytes = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
