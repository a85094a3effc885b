//! Location of Windlass's files, and the log that a command uses.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use windlass_store::{Durability, SqliteLog, SqliteOptions};

use crate::failure::{Exit, Failure};

/// The environment as the process has it: for agent files and providers.
pub(crate) fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The folder of all of Windlass's files: `WINDLASS_HOME`, else the user's data folder (XDG Base Directory 0.8).
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(home) = set("WINDLASS_HOME") {
        return std::path::absolute(&home).map_err(|error| {
            Failure::new(Exit::Internal, format!("cannot use WINDLASS_HOME ({})", home.display()))
                .cause(error.to_string())
        });
    }
    // The specification has relative paths ignored.
    let data = set("XDG_DATA_HOME").filter(|path| path.is_absolute());
    data.or_else(|| set("HOME").map(|home| home.join(".local/share")))
        .map(|data| data.join("windlass"))
        .ok_or_else(|| {
            Failure::new(Exit::Internal, "cannot locate Windlass's files: HOME is not set")
                .hint("set WINDLASS_HOME to a folder, or name a log with --log")
        })
}

/// The file with the token that this machine's command line uses: the first start of a server makes it.
pub(crate) fn server_token() -> Result<PathBuf, Failure> {
    Ok(folder()?.join("server-token"))
}

/// The log to use, or the server that has it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LogArgs {
    /// The log to use [default: log.db in WINDLASS_HOME]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) log: Option<PathBuf>,
    /// The server to use in place of a log: http://HOST:PORT, https://HOST or unix:/PATH [env: WINDLASS_SERVER]
    #[arg(long, value_name = "URL", global = true, conflicts_with = "log")]
    server: Option<String>,
    /// When an event counts as written: `full`, once it is on the disk; `normal`, once the system has it (the loss of
    /// power may take the last ones)
    #[arg(long, value_name = "WHEN", global = true, env = "WINDLASS_LOG_SYNC", hide = true)]
    log_sync: Option<LogSync>,
    /// With `--log-sync normal`: the longest time until an event is on the disk, in milliseconds
    #[arg(long, value_name = "MS", global = true, env = "WINDLASS_LOG_FLUSH_MS", hide = true)]
    log_flush_ms: Option<u64>,
}

/// When an event counts as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogSync {
    Full,
    Normal,
}

impl LogArgs {
    /// The address of the server to use, of a command that works on a server and on a log alike. A log that is named comes before the
    /// environment.
    pub(crate) fn server(&self) -> Option<String> {
        let given = || env("WINDLASS_SERVER").filter(|address| self.log.is_none() && !address.is_empty());
        self.server.clone().or_else(given)
    }

    /// The same arguments, of a command that works with what is on this machine: a server is refused, and that of the environment passed
    /// over.
    pub(crate) fn local(mut self) -> Result<Self, Failure> {
        if let Some(server) = &self.server {
            let message = format!("this command works on this machine, and not on the server {server}");
            return Err(Failure::new(Exit::Usage, message).hint(
                "leave `--server` out; `windlass run --server URL AGENT INPUT` runs an agent of a server",
            ));
        }
        if self.server().is_some() {
            // Its hints are about this log, whatever the environment says.
            self.log = Some(self.path()?);
        }
        Ok(self)
    }

    /// The log's file.
    pub(crate) fn path(&self) -> Result<PathBuf, Failure> {
        match &self.log {
            Some(path) => Ok(path.clone()),
            None => Ok(folder()?.join("log.db")),
        }
    }

    /// Opens the log; makes it if need be.
    pub(crate) fn open(&self) -> Result<Arc<SqliteLog>, Failure> {
        self.open_at(&self.path()?)
    }

    /// Opens a log in that file.
    pub(crate) fn open_at(&self, path: &Path) -> Result<Arc<SqliteLog>, Failure> {
        let durability = match self.log_sync {
            Some(LogSync::Normal) => Durability::Normal { flush_ms: self.log_flush_ms },
            Some(LogSync::Full) | None => Durability::Full,
        };
        let options = SqliteOptions { durability, ..SqliteOptions::default() };
        Ok(Arc::new(SqliteLog::open_with(path, options)?))
    }

    /// Opens a log to read it: looking at runs makes none. `None`: the usual one has not been made yet. One that was named, by
    /// `--log` or with `WINDLASS_HOME`, and is not there is an error: there may be a typing mistake in the name.
    pub(crate) fn open_existing(&self) -> Result<Option<Arc<SqliteLog>>, Failure> {
        let path = self.path()?;
        if path.exists() {
            return self.open_at(&path).map(Some);
        }
        if self.log.is_some() {
            return Err(self.missing());
        }
        if env("WINDLASS_HOME").is_some_and(|home| !home.is_empty()) {
            let home = folder()?;
            if home.exists() && !home.is_dir() {
                let message = format!("{} is no folder (WINDLASS_HOME)", home.display());
                return Err(Failure::new(Exit::Failed, message).hint("mend the variable"));
            }
            if !home.is_dir() {
                let message = format!("the folder {} does not exist (WINDLASS_HOME)", home.display());
                return Err(Failure::new(Exit::Failed, message)
                    .hint("mend the variable, or begin there: `windlass run FILE INPUT` makes the folder"));
            }
        }
        Ok(None)
    }

    /// The log is not there.
    pub(crate) fn missing(&self) -> Failure {
        let path = self.path().map(|path| path.display().to_string()).unwrap_or_default();
        Failure::new(Exit::Failed, format!("the log {path} does not exist"))
            .hint("`windlass run FILE INPUT` creates it, or name another log with --log")
    }

    /// There is no run yet, and what makes one.
    pub(crate) fn no_runs(&self) -> String {
        let first = match self.server() {
            Some(_) => format!("`windlass run{} AGENT \"your question\"`", self.words()),
            None => format!("`windlass{} \"What is 17% of 2350?\"`", self.words()),
        };
        format!("no runs yet; {first} makes the first one")
    }

    /// The arguments for this log or server in suggested commands, with a leading space.
    pub(crate) fn words(&self) -> String {
        if let Some(server) = &self.server {
            return format!(" --server {}", quoted(server));
        }
        self.log
            .as_ref()
            .map(|path| format!(" --log {}", quoted(&path.display().to_string())))
            .unwrap_or_default()
    }
}

/// Replaces a file in Windlass's folder. Readers see the old file or the new one, whole; only the user can read it.
pub(crate) fn replace(path: &Path, text: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}", std::process::id()));
    let fresh = PathBuf::from(fresh);
    let mut out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    let written = out.write_all(text).and_then(|()| std::fs::rename(&fresh, path));
    if written.is_err() {
        // Best effort: what matters is the first error.
        let _gone = std::fs::remove_file(&fresh);
    }
    written
}

/// A word as a POSIX shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let safe = |char: char| char.is_ascii_alphanumeric() || "-_./:=@%+,".contains(char);
    if !word.is_empty() && word.chars().all(safe) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The command that sets the first of these variables: `A or B`.
pub(crate) fn export(variables: &str) -> String {
    format!("`export {}=...`", variables.split(" or ").next().unwrap_or(variables))
}

/// Whether the file is one of YAML by its name.
pub(crate) fn is_yaml(path: &Path) -> bool {
    let kinds = ["yaml", "yml"];
    path.extension().is_some_and(|found| kinds.iter().any(|kind| found.eq_ignore_ascii_case(kind)))
}

/// A path as one can use it from any folder.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
