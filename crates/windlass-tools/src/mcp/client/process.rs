//! Owns a server's child process: its environment, its process group and its end.
//!
//! The child leads a process group of its own. However its handle ends (close, drop, a cancelled start, the end of the
//! runtime), the whole group is signalled, so that the server's helper processes end with it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use windlass_core::secret::{SECRET_MARGIN, mask_and_cut};

use super::error::McpError;
use crate::command::program;
use crate::mcp::config::{McpConfig, McpTransport};

/// Number of bytes of stderr's end that are reported. More is kept until secrets are masked.
const STDERR_BYTES: usize = 4 * 1024;

/// Time to wait for output after the child has ended: a process that left the group may hold the pipe.
pub(super) const DRAIN: Duration = Duration::from_millis(500);

/// Interval between checks of a group that was told to exit.
const POLL: Duration = Duration::from_millis(10);

/// The variables that every child gets.
const INHERITED: [&str; 2] = ["PATH", "HOME"];

/// The child's pipes.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
}

/// Exit status and time of the child.
#[derive(Clone, Debug)]
pub(super) struct Exit {
    pub(super) how: String,
    pub(super) at: Instant,
}

/// A child and its process group. Dropping it kills the group at once.
#[derive(Debug)]
pub(super) struct ChildGroup {
    group: Arc<Group>,
    exit: watch::Receiver<Option<Exit>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    drained: watch::Receiver<bool>,
    reader: JoinHandle<()>,
}

impl ChildGroup {
    /// Starts the command of a config.
    ///
    /// # Errors
    /// The config is no command, the folder or the program is missing, or the system refuses.
    pub(super) fn spawn(config: &McpConfig) -> Result<(Self, Pipes), McpError> {
        let server = || config.name.clone();
        let (mut command, program) = command(config)?;
        let mut child = command.spawn().map_err(|source| {
            if source.kind() == std::io::ErrorKind::NotFound {
                McpError::NotInstalled { server: server(), command: program.clone(), source }
            } else {
                McpError::Spawn { server: server(), command: program.clone(), source }
            }
        })?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let (Some(pid), Some(stdin), Some(stdout), Some(stderr)) =
            (pid, child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            let source = std::io::Error::other("the child has no id or lacks a pipe");
            return Err(McpError::Spawn { server: server(), command: program, source });
        };
        let group = Arc::new(Group { pid, gone: Mutex::new(false), closing: AtomicBool::new(false) });
        let (exit_sender, exit) = watch::channel(None);
        let (drained_sender, drained) = watch::channel(false);
        let tail = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(watch_child(child, KillOnDrop(group.clone()), exit_sender));
        let reader = tokio::spawn(drain(stderr, tail.clone(), drained_sender));
        Ok((Self { group, exit, stderr: tail, drained, reader }, Pipes { stdin, stdout }))
    }

    /// The child's exit, if it has exited.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.exit.borrow().clone()
    }

    /// Waits for the child's end.
    pub(super) async fn ended(&self) -> Exit {
        self.watch_exit().await
    }

    /// As [`ended`](Self::ended), without keeping the child alive.
    pub(super) fn watch_exit(&self) -> impl Future<Output = Exit> + Send + 'static {
        let mut exit = self.exit.clone();
        async move {
            let ended = exit.wait_for(Option::is_some).await;
            match ended.ok().and_then(|exit| exit.clone()) {
                Some(exit) => exit,
                // The task that waits for the child is gone: the runtime ends.
                None => Exit { how: "exit status unknown".to_owned(), at: Instant::now() },
            }
        }
    }

    /// The end of what the child wrote to stderr, after a short wait for the rest if the child is dead.
    pub(super) async fn last_words(&self) -> String {
        if self.exit().is_some() {
            let mut drained = self.drained.clone();
            let _ = timeout(DRAIN, drained.wait_for(|drained| *drained)).await;
        }
        let bytes = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        mask_and_cut(&String::from_utf8_lossy(&bytes), STDERR_BYTES).trim().to_owned()
    }

    /// Kills the group at once.
    pub(super) fn kill(&self) {
        self.group.kill();
    }

    /// Asks the group to end (SIGTERM), and kills what is left of it after `grace`.
    pub(super) async fn stop(&self, grace: Duration) {
        self.group.closing.store(true, Ordering::SeqCst);
        self.group.signal(Signal::TERM);
        let _ = timeout(grace, async {
            self.ended().await;
            while self.group.has_members() {
                sleep(POLL).await;
            }
        })
        .await;
        self.group.kill();
        // The kernel has the last word: wait for the child to be reaped, so that nothing of it is left to see.
        let _ = timeout(grace, self.ended()).await;
    }
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        self.group.kill();
        self.reader.abort();
    }
}

/// A process group, by the id of its leader.
#[derive(Debug)]
struct Group {
    pid: Pid,
    /// Whether the group was killed for good: its id may then be another's.
    gone: Mutex<bool>,
    /// Whether the group was asked to end and has its grace.
    closing: AtomicBool,
}

impl Group {
    fn signal(&self, signal: Signal) {
        let gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        if !*gone {
            // An error means that no process is left.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    fn kill(&self) {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        if !*gone {
            let _ = kill_process_group(self.pid, Signal::KILL);
            *gone = true;
        }
    }

    fn has_members(&self) -> bool {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        *gone = *gone || test_kill_process_group(self.pid).is_err();
        !*gone
    }
}

/// Kills the group when the task that waits for the leader goes away: the runtime may end before its handle.
struct KillOnDrop(Arc<Group>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if !self.0.closing.load(Ordering::SeqCst) {
            self.0.kill();
        }
    }
}

/// Reaps the child, and takes the rest of its group with it unless that has its grace.
async fn watch_child(mut child: Child, group: KillOnDrop, exit: watch::Sender<Option<Exit>>) {
    let how = match child.wait().await {
        Ok(status) => describe(status),
        Err(error) => error.to_string(),
    };
    drop(group);
    exit.send_replace(Some(Exit { how, at: Instant::now() }));
}

/// Reads stderr to its end and keeps the last bytes.
async fn drain(mut stderr: ChildStderr, tail: Arc<Mutex<Vec<u8>>>, drained: watch::Sender<bool>) {
    let mut buffer = vec![0; STDERR_BYTES];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(buffer.get(..read).unwrap_or_default());
        let surplus = tail.len().saturating_sub(STDERR_BYTES + SECRET_MARGIN);
        tail.drain(..surplus);
    }
    drained.send_replace(true);
}

/// The command of a config, with nothing inherited but [`INHERITED`], and the program's name for messages.
fn command(config: &McpConfig) -> Result<(Command, String), McpError> {
    let bad = |what: String| McpError::BadConfig { server: config.name.clone(), what };
    let McpTransport::Stdio { command: words, env, folder } = &config.transport else {
        return Err(bad("it has no command".to_owned()));
    };
    let Some((program, arguments)) = words.split_first() else {
        return Err(bad("its command is empty".to_owned()));
    };
    if let Some(folder) = folder.as_deref().filter(|folder| !folder.is_dir()) {
        return Err(bad(format!("its folder `{}` does not exist", folder.display())));
    }
    let inherited = INHERITED.into_iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
    let own = env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value.expose())));
    let variables: BTreeMap<_, _> = inherited.chain(own).collect();
    let mut command = program::command(
        &resolved(program, folder.as_deref()),
        variables.get(OsStr::new("PATH")).map(OsString::as_os_str),
        folder.as_deref().unwrap_or(Path::new("")),
    );
    command.args(arguments).env_clear().envs(variables);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    Ok((command, program.clone()))
}

/// A program that is given by a relative path is looked for from the child's folder; the system leaves that open.
fn resolved(program: &str, folder: Option<&Path>) -> PathBuf {
    match folder {
        Some(folder) if program.contains('/') && Path::new(program).is_relative() => folder.join(program),
        _ => PathBuf::from(program),
    }
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}
