//! Errors of a log.

use std::path::PathBuf;

use thiserror::Error;
use windlass_core::RunId;

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

/// Errors of a store. Nothing half-done is ever visible.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No run of that id.
    #[error("no run {run} in this log")]
    UnknownRun {
        /// The id.
        run: RunId,
    },
    /// Another writer appended first.
    #[error("run {run} has {found} events, expected {expected}")]
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
    Unknown {
        /// The request, such as `an append`.
        request: &'static str,
    },
    /// Another request was posted to the run under the same key.
    #[error("the key `{key}` was used for another request to run {run}")]
    KeyReused {
        /// The run.
        run: RunId,
        /// The key.
        key: String,
    },
    /// The lease was taken over by another holder.
    #[error("run {run} was taken over by {holder} (epoch {current}, ours was {ours})")]
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
    NotHeld {
        /// The run.
        run: RunId,
        /// The epoch of the last hold.
        epoch: u64,
    },
    /// The run has a live holder.
    #[error("run {run} is held by {holder}")]
    Held {
        /// The run.
        run: RunId,
        /// The holder.
        holder: String,
    },
    /// The posted input is gone: it was used already.
    #[error("posted input {post} of run {run} has already been used")]
    PostUsed {
        /// The run.
        run: RunId,
        /// Its place.
        post: u64,
    },
    /// The run has ended, so that nobody will read a post.
    #[error("run {run} has ended")]
    Ended {
        /// The run.
        run: RunId,
    },
    /// Another run of the session has begun since its head was looked up, or a run that is not its head is continued.
    #[error("run {run} cannot begin: the head of its session is {}", head_name(*head))]
    HeadMoved {
        /// The run that did not begin.
        run: RunId,
        /// The head of the session.
        head: Option<RunId>,
    },
    /// The run cannot end before its holder has read what was posted.
    #[error("run {run} has posted inputs that its holder has not read")]
    Unheard {
        /// The run.
        run: RunId,
    },
    /// Too many inputs wait for the run's holder.
    #[error("run {run} already has {max} posted inputs waiting")]
    InboxFull {
        /// The run.
        run: RunId,
        /// The most that may wait.
        max: usize,
    },
    /// A listing was asked to go on at a place that this store did not make.
    #[error("`{cursor}` is no place in a listing of this log")]
    BadCursor {
        /// The cursor.
        cursor: String,
    },
    /// No payload of that digest, although something refers to it.
    #[error("no payload {sha256} in this log")]
    UnknownPayload {
        /// SHA-256 of the bytes.
        sha256: String,
    },
    /// A payload is larger than one may be.
    #[error("a payload of {bytes} bytes is too large: the maximum is {max}")]
    TooLarge {
        /// Its bytes.
        bytes: u64,
        /// The most.
        max: u64,
    },
    /// An append brought no event.
    #[error("an append to run {run} needs at least one event")]
    NoEvents {
        /// The run.
        run: RunId,
    },
    /// The log's file cannot be used.
    #[error("cannot use the log {path}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another process keeps the log locked.
    #[error("cannot use the log {path}")]
    Locked {
        /// The file.
        path: PathBuf,
        /// The holder.
        #[source]
        holder: LockHolder,
    },
    /// The log's file, or one beside it, was taken away under a process that had it open. Nothing more is written.
    #[error("{path} was {how} while the log was in use")]
    Gone {
        /// The file.
        path: PathBuf,
        /// What happened to the file.
        how: Taken,
    },
    /// The disk is full.
    #[error("no space left on the disk for the log {path}")]
    Full {
        /// The file.
        path: PathBuf,
        /// The database's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A newer version of Windlass wrote the log.
    #[error("the log {path} has format {found}; this version reads formats up to {known}")]
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
    Old {
        /// The file.
        path: PathBuf,
    },
    /// An event in the log cannot be read.
    #[error("cannot read event {seq} of run {run}")]
    Corrupt {
        /// The run.
        run: RunId,
        /// The event's number.
        seq: u64,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The database failed.
    #[error("the log failed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownRun { .. } => "store.unknown_run",
            Self::Conflict { .. } => "store.conflict",
            Self::Unknown { .. } => "store.unknown",
            Self::KeyReused { .. } => "store.key_reused",
            Self::Fenced { .. } => "store.fenced",
            Self::NotHeld { .. } => "store.not_held",
            Self::Held { .. } => "store.held",
            Self::PostUsed { .. } => "store.post_used",
            Self::Ended { .. } => "store.ended",
            Self::Unheard { .. } => "store.unheard",
            Self::HeadMoved { .. } => "store.head_moved",
            Self::InboxFull { .. } => "store.inbox_full",
            Self::BadCursor { .. } => "store.bad_cursor",
            Self::NoEvents { .. } => "store.no_events",
            Self::UnknownPayload { .. } => "store.unknown_payload",
            Self::TooLarge { .. } => "store.too_large",
            Self::Unusable { .. } => "store.unusable",
            Self::Locked { .. } => "store.locked",
            Self::Gone { .. } => "store.gone",
            Self::Full { .. } => "store.full",
            Self::Newer { .. } => "store.newer",
            Self::Old { .. } => "store.old",
            Self::Corrupt { .. } => "store.corrupt",
            Self::Failed(_) => "store.failed",
        }
    }

    /// A remedy, in words.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::UnknownRun { .. } => Some("`windlass runs list` shows the runs of this log".to_owned()),
            Self::Held { .. } => Some(
                "wait until it ends, or answer, steer or cancel it from here: that reaches its holder"
                    .to_owned(),
            ),
            Self::Conflict { .. } | Self::Fenced { .. } => {
                Some("another process goes on with this run; `windlass runs watch` follows it".to_owned())
            }
            Self::Unknown { .. } => Some("resume the run: its log says what was written".to_owned()),
            Self::KeyReused { .. } => Some("give another request a key of its own".to_owned()),
            Self::BadCursor { .. } => Some("begin the listing anew".to_owned()),
            Self::NotHeld { .. } => Some("take hold of the run first".to_owned()),
            Self::InboxFull { .. } => {
                Some("`windlass runs resume` lets the run take what waits for it".to_owned())
            }
            Self::TooLarge { .. } => {
                Some("let the tool write it to a file, and give the file's name".to_owned())
            }
            Self::PostUsed { .. }
            | Self::Ended { .. }
            | Self::Unheard { .. }
            | Self::HeadMoved { .. }
            | Self::NoEvents { .. }
            | Self::Failed(_) => None,
            Self::Unusable { path, .. } => Some(format!(
                "check that {} can be read and written, or name another log with --log",
                path.display()
            )),
            Self::Locked { path, holder } => Some(match &holder.process {
                Some(Locking { pid, stopped: true, .. }) => format!(
                    "`kill -CONT {pid}` lets the process go on, `kill -9 {pid}` ends it; what was written stays whole"
                ),
                Some(Locking { pid, stopped: false, .. }) => {
                    format!("wait for process {pid}, or end it: what was written stays whole")
                }
                None => format!("`fuser {}` names the processes that use it", path.display()),
            }),
            Self::Gone { .. } => Some(
                "put the file back, or a copy that `windlass runs backup` made, then resume: what was written since is \
                 not in it"
                    .to_owned(),
            ),
            Self::Full { .. } => {
                Some("make room and resume: everything up to the last event is kept".to_owned())
            }
            Self::Newer { .. } => {
                Some("use the version of Windlass that wrote it, or a later one".to_owned())
            }
            Self::Old { path } => Some(format!(
                "name another file with --log, or move this one away: `mv {0} {0}.old`; only the build that wrote it \
                 reads it",
                path.display()
            )),
            Self::Corrupt { .. } | Self::UnknownPayload { .. } => {
                Some("`windlass doctor --log FILE` checks every run of a log".to_owned())
            }
        }
    }
}
