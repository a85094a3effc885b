//! Errors of a store, and the results of its methods.

use std::path::{Path, PathBuf};

use futures_core::future::BoxFuture;
use thiserror::Error;
use windlass_core::RunId;
use windlass_error::{AnyDiagnostic, Diagnostic};

/// Result of a store's method.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The fate of a log's file that was taken away while it was in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is not there any more.
    Removed,
    /// Another file has its name.
    Replaced,
    /// Its end is missing.
    CutShort,
}

impl std::fmt::Display for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Removed => "removed",
            Self::Replaced => "replaced by another file",
            Self::CutShort => "cut short",
        })
    }
}

/// The process that keeps a log locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// The process; `None`: the system does not say.
    pub process: Option<Locking>,
}

/// A process that keeps a log locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locking {
    /// Its id.
    pub pid: i64,
    /// Its program's name.
    pub name: String,
    /// It was stopped by a signal (SIGSTOP) or a debugger, and keeps the lock until it continues or dies.
    pub stopped: bool,
}

impl std::fmt::Display for LockHolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.process {
            Some(Locking { pid, name, stopped }) => {
                let stopped = if *stopped { ", and is stopped" } else { "" };
                write!(
                    f,
                    "process {pid} ({name}) has kept it locked for longer than the busy timeout{stopped}"
                )
            }
            None => f.write_str("another process has kept it locked for longer than the busy timeout"),
        }
    }
}

impl std::error::Error for LockHolder {}

fn head_name(head: Option<RunId>) -> String {
    head.map_or_else(|| "no run".to_owned(), |run| format!("run {run}"))
}

impl LockHolder {
    fn help(&self, log: &Path) -> String {
        match &self.process {
            Some(Locking { pid, stopped: true, .. }) => format!(
                "`kill -CONT {pid}` lets the process go on, `kill -9 {pid}` ends it; what was written stays whole"
            ),
            Some(Locking { pid, stopped: false, .. }) => {
                format!("wait for process {pid}, or end it: what was written stays whole")
            }
            None => format!("`fuser {}` names the processes that use it", log.display()),
        }
    }
}

const ELSEWHERE: &str = "another process goes on with this run: follow it there";
const DAMAGED: &str = "check every run of the log, and restore a backup of it";

/// Errors of a store. Nothing half-done is ever visible.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum StoreError {
    /// No run of that id.
    #[error("no run {run} in this log")]
    #[diagnostic(kind = NotFound, code = "store.unknown_run")]
    UnknownRun {
        /// The id.
        run: RunId,
    },
    /// Another writer appended first.
    #[error("run {run} has {found} events, expected {expected}")]
    #[diagnostic(kind = Conflict, code = "store.conflict", help = ELSEWHERE)]
    Conflict {
        /// The run.
        run: RunId,
        /// The expected version.
        expected: u64,
        /// The actual version.
        found: u64,
    },
    /// The reply to a request was lost: it was carried out, or will be, or never is.
    #[error("the store's reply to {request} was lost")]
    #[diagnostic(kind = Unavailable, code = "store.unknown", help = "resume the run: its log says what was written")]
    Unknown {
        /// The request, such as `an append`.
        request: &'static str,
    },
    /// Another request was posted to the run under the same key.
    #[error("the key `{key}` was used for another request to run {run}")]
    #[diagnostic(kind = Conflict, code = "store.key_reused", help = "give another request a key of its own")]
    KeyReused {
        /// The run.
        run: RunId,
        /// The key.
        key: String,
    },
    /// The lease was taken over by another holder.
    #[error("run {run} was taken over by {holder} (epoch {current}, ours was {ours})")]
    #[diagnostic(kind = Conflict, code = "store.fenced", help = ELSEWHERE)]
    Fenced {
        /// The run.
        run: RunId,
        /// The new holder.
        holder: String,
        /// The epoch of the append.
        ours: u64,
        /// The current epoch.
        current: u64,
    },
    /// The lease of this write was released.
    #[error("run {run} has no lease; its last one had epoch {epoch}")]
    #[diagnostic(kind = Conflict, code = "store.not_held", help = "take hold of the run first")]
    NotHeld {
        /// The run.
        run: RunId,
        /// The epoch of the last hold.
        epoch: u64,
    },
    /// The run has a live holder.
    #[error("run {run} is held by {holder}")]
    #[diagnostic(
        kind = Conflict,
        code = "store.held",
        help = "wait until it ends, or answer, steer or cancel it from here: that reaches its holder"
    )]
    Held {
        /// The run.
        run: RunId,
        /// The holder.
        holder: String,
    },
    /// The posted input is gone: it was used already.
    #[error("posted input {post} of run {run} has already been used")]
    #[diagnostic(kind = Conflict, code = "store.post_used")]
    PostUsed {
        /// The run.
        run: RunId,
        /// Its place.
        post: u64,
    },
    /// The run has ended, so that nobody will read a post.
    #[error("run {run} has ended")]
    #[diagnostic(kind = Conflict, code = "store.ended")]
    Ended {
        /// The run.
        run: RunId,
    },
    /// Another run of the session has begun since its head was looked up, or a run that is not its head is continued.
    #[error("run {run} cannot begin: the head of its session is {}", head_name(*head))]
    #[diagnostic(kind = Conflict, code = "store.head_moved")]
    HeadMoved {
        /// The run that did not begin.
        run: RunId,
        /// The head of the session.
        head: Option<RunId>,
    },
    /// The run cannot end before its holder has read what was posted.
    #[error("run {run} has posted inputs that its holder has not read")]
    #[diagnostic(kind = Conflict, code = "store.unheard")]
    Unheard {
        /// The run.
        run: RunId,
    },
    /// Too many inputs wait for the run's holder.
    #[error("run {run} already has {max} posted inputs waiting")]
    #[diagnostic(kind = Exhausted, code = "store.inbox_full", help = "resume the run: it takes what waits for it")]
    InboxFull {
        /// The run.
        run: RunId,
        /// The most that may wait.
        max: usize,
    },
    /// A listing was asked to go on at a place that this store did not make.
    #[error("`{cursor}` is no place in a listing of this log")]
    #[diagnostic(kind = Invalid, code = "store.bad_cursor", help = "begin the listing anew")]
    BadCursor {
        /// The cursor.
        cursor: String,
    },
    /// No payload of that digest, although something refers to it.
    #[error("no payload {sha256} in this log")]
    #[diagnostic(kind = Internal, code = "store.unknown_payload", help = DAMAGED)]
    UnknownPayload {
        /// SHA-256 of the bytes.
        sha256: String,
    },
    /// A payload is larger than one may be.
    #[error("a payload of {bytes} bytes is too large: the maximum is {max}")]
    #[diagnostic(
        kind = Exhausted,
        code = "store.too_large",
        help = "let the tool write it to a file, and give the file's name"
    )]
    TooLarge {
        /// Its bytes.
        bytes: u64,
        /// The most.
        max: u64,
    },
    /// An append brought no event.
    #[error("an append to run {run} needs at least one event")]
    #[diagnostic(kind = Internal, code = "store.no_events")]
    NoEvents {
        /// The run.
        run: RunId,
    },
    /// The log's file cannot be used.
    #[error("cannot use the log {path}")]
    #[diagnostic(
        kind = Unavailable,
        code = "store.unusable",
        help = format!("check that {} can be read and written, or use another file", path.display())
    )]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another process keeps the log locked.
    #[error("cannot use the log {path}")]
    #[diagnostic(kind = Unavailable, code = "store.locked", help = holder.help(path))]
    Locked {
        /// The file.
        path: PathBuf,
        /// The holder.
        #[source]
        holder: LockHolder,
    },
    /// The log's file, or one beside it, was taken away under a process that had it open. Nothing more is written.
    #[error("{path} was {how} while the log was in use")]
    #[diagnostic(
        kind = Internal,
        code = "store.gone",
        help = "put the file back, or a backup of it, then resume: what was written since is not in the backup"
    )]
    Gone {
        /// The file.
        path: PathBuf,
        /// The way in which the file was taken away.
        how: Taken,
    },
    /// The disk is full.
    #[error("no space left on the disk for the log {path}")]
    #[diagnostic(
        kind = Exhausted,
        code = "store.full",
        help = "make room and resume: everything up to the last event is kept"
    )]
    Full {
        /// The file.
        path: PathBuf,
        /// The database's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A newer version of Windlass wrote the log.
    #[error("the log {path} has format {found}; this version reads formats up to {known}")]
    #[diagnostic(
        kind = Invalid,
        code = "store.newer",
        help = "use the version of Windlass that wrote it, or a later one"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest that we know.
        known: u32,
    },
    /// A build of Windlass before log format 1 wrote the log. Nothing in it is changed.
    #[error("the log {path} was written before log format 1, and this version cannot read it")]
    #[diagnostic(
        kind = Invalid,
        code = "store.old",
        help = "use another file, or move this one away; only the build that wrote it reads it"
    )]
    Old {
        /// The file.
        path: PathBuf,
    },
    /// An event in the log cannot be read.
    #[error("cannot read event {seq} of run {run}")]
    #[diagnostic(kind = Internal, code = "store.corrupt", help = DAMAGED)]
    Corrupt {
        /// The run.
        run: RunId,
        /// The event's number.
        seq: u64,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// This store only reads the log of a server.
    #[error("the log of a server is only read here: it cannot {request}")]
    #[diagnostic(
        kind = Forbidden,
        code = "store.read_only",
        help = "use the verbs of the server: start, answer, steer, pause, cancel, resume, fork"
    )]
    ReadOnly {
        /// The request, such as `append events`.
        request: &'static str,
    },
    /// The server that has the log was not reached, or refused a request.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Remote(AnyDiagnostic),
    /// The database failed.
    #[error("the log failed")]
    #[diagnostic(kind = Internal, code = "store.failed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}
