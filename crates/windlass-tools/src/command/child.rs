//! A child process that leads a group of its own: started, fed, read, and ended with everything that it started.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::future;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio_util::sync::CancellationToken;
use windlass_core::secret::SECRET_MARGIN;

use super::gate::{self, Gate};
use crate::tool::ToolError;

/// Number of bytes of stderr's end that are reported. More is kept until secrets are masked.
pub(super) const STDERR_TAIL: usize = 2_000;

/// Time to wait for output after the group has ended: a process that left the group may hold the pipe open.
const DRAIN: Duration = Duration::from_millis(500);

/// Size of one read.
const CHUNK: usize = 16 * 1024;

/// Exit status and output of a child.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    /// Whether there was more on stdout than was allowed; the child was killed then.
    pub(super) overflow: bool,
    /// The end of stderr.
    pub(super) stderr: Vec<u8>,
    /// Whether it was asked to stop.
    pub(super) cancelled: bool,
    /// Why its gate stayed shut: the program was never started.
    pub(super) refused: Option<ToolError>,
}

/// Why a child has no end.
#[derive(Debug)]
pub(super) struct Unfinished {
    pub(super) error: io::Error,
    /// Whether it was started.
    pub(super) started: bool,
}

/// Limits of a child.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// Maximum size of stdout, in bytes.
    pub(super) stdout: usize,
    /// Grace period after SIGTERM.
    pub(super) grace: Duration,
}

/// Runs a command to its end; one behind a gate gets its input only once that opens. When this future is dropped the child's process group is killed.
///
/// On a cancel the group gets SIGTERM, and SIGKILL after the grace period. When the child has ended, the rest of its group is
/// killed, too: nothing outlives the call.
///
/// # Errors
/// It cannot be started, or waited for.
pub(super) async fn run(
    mut command: Command,
    input: &[u8],
    gate: Option<Gate<'_>>,
    limits: &Limits,
    cancel: &CancellationToken,
) -> Result<Finished, Unfinished> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| Unfinished { error, started: false })?;
    let group = Group::of(&child);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (overflow, ended) = (CancellationToken::new(), CancellationToken::new());
    let (mut out, mut tail, mut refused) = (Vec::new(), Vec::new(), None);
    let pid = child.id();

    let pipes = async {
        let read = async {
            if read_bounded(stdout, &mut out, limits.stdout).await == Flow::Overflow {
                overflow.cancel();
            }
        };
        let feed = async { refused = feed(stdin, input, gate, pid).await.err() };
        let all = future::join3(feed, read, read_tail(stderr, &mut tail));
        let late = async {
            ended.cancelled().await;
            tokio::time::sleep(DRAIN).await;
        };
        future::select(std::pin::pin!(all), std::pin::pin!(late)).await;
    };
    let end = async {
        let result = wait(&mut child, &group, limits.grace, cancel, &overflow).await;
        group.kill();
        ended.cancel();
        result
    };
    let (result, ()) = future::join(end, pipes).await;
    let (status, cancelled) = result.map_err(|error| Unfinished { error, started: true })?;
    Ok(Finished { status, stdout: out, overflow: overflow.is_cancelled(), stderr: tail, cancelled, refused })
}

/// Waits for the child; says whether it was asked to stop.
async fn wait(
    child: &mut Child,
    group: &Group,
    grace: Duration,
    cancel: &CancellationToken,
    overflow: &CancellationToken,
) -> io::Result<(ExitStatus, bool)> {
    tokio::select! {
        status = child.wait() => return Ok((status?, false)),
        () = cancel.cancelled() => {}
        () = overflow.cancelled() => {
            group.kill();
            return Ok((child.wait().await?, false));
        }
    }
    group.terminate();
    if let Ok(status) = tokio::time::timeout(grace, child.wait()).await {
        return Ok((status?, true));
    }
    group.kill();
    Ok((child.wait().await?, true))
}

/// Writes the input; a child need not read it.
///
/// # Errors
/// The gate stays shut: the shell before it sees the end of its input, and ends.
async fn feed(
    stdin: Option<ChildStdin>,
    input: &[u8],
    gate: Option<Gate<'_>>,
    pid: Option<u32>,
) -> Result<(), ToolError> {
    let Some(mut stdin) = stdin else { return Ok(()) };
    if let Some(gate) = gate {
        gate.pass(pid).await?;
        // Nothing is waited for between the lease and this write.
        stdin.write_all(gate::OPEN).await.ok();
    }
    stdin.write_all(input).await.ok();
    stdin.shutdown().await.ok();
    Ok(())
}

#[derive(PartialEq, Eq)]
enum Flow {
    Ended,
    Overflow,
}

async fn read_bounded(pipe: Option<ChildStdout>, out: &mut Vec<u8>, limit: usize) -> Flow {
    let Some(pipe) = pipe else { return Flow::Ended };
    let mut pipe = pipe.take(limit as u64 + 1);
    while matches!(pipe.read_buf(out).await, Ok(1..)) {}
    if out.len() > limit { Flow::Overflow } else { Flow::Ended }
}

async fn read_tail(pipe: Option<ChildStderr>, tail: &mut Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    let mut chunk = Vec::with_capacity(CHUNK);
    while matches!(pipe.read_buf(&mut chunk).await, Ok(1..)) {
        tail.append(&mut chunk);
        let surplus = tail.len().saturating_sub(STDERR_TAIL + SECRET_MARGIN);
        tail.drain(..surplus);
    }
}

/// The child's process group. Killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
    killed: std::sync::atomic::AtomicBool,
}

impl Group {
    pub(crate) fn of(child: &Child) -> Self {
        #[cfg(not(unix))]
        let _ = child;
        Self {
            #[cfg(unix)]
            leader: child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())),
            killed: std::sync::atomic::AtomicBool::new(false),
        }
    }

    fn terminate(&self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::TERM);
    }

    /// Kills the group once: later its id may be another's.
    pub(crate) fn kill(&self) {
        if !self.killed.swap(true, std::sync::atomic::Ordering::SeqCst) {
            #[cfg(unix)]
            self.signal(rustix::process::Signal::KILL);
        }
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(leader) = self.leader {
            // An error means that no process is left.
            rustix::process::kill_process_group(leader, signal).ok();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
