//! Owns the file of a memory and what is asked of it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Value, json};

use super::{MAX_GIVEN, MAX_MEMORIES};
use crate::tool::ToolError;

/// Time to wait for another writing process.
const BUSY: Duration = Duration::from_secs(5);
/// acorn's table. Times are texts in UTC; ours have milliseconds.
const TABLE: &str = "
CREATE TABLE IF NOT EXISTS memories (
    key TEXT PRIMARY KEY,
    content TEXT NOT NULL,
    tags TEXT DEFAULT '[]',
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
);
CREATE INDEX IF NOT EXISTS memories_by_update ON memories (updated_at);";
/// Each save is later than all before it, so that the order of entries never depends on the clock.
const SAVE: &str = "
INSERT INTO memories (key, content, tags, updated_at) VALUES (?1, ?2, ?3,
    max(strftime('%Y-%m-%d %H:%M:%f', 'now'),
        coalesce((SELECT strftime('%Y-%m-%d %H:%M:%f', max(updated_at), '+0.001 seconds') FROM memories), '')))
ON CONFLICT (key) DO UPDATE SET content = excluded.content, tags = excluded.tags, updated_at = excluded.updated_at";
const SEARCH: &str = "
SELECT key, content, tags FROM memories
WHERE key LIKE ?1 ESCAPE '\\' OR content LIKE ?1 ESCAPE '\\' OR tags LIKE ?1 ESCAPE '\\'
ORDER BY updated_at DESC, key LIMIT ?2";
const LIST: &str = "SELECT key, content, tags FROM memories ORDER BY updated_at DESC, key LIMIT ?1";

/// The entries of a memory.
#[derive(Debug)]
pub(super) struct Store {
    /// `None`: they are kept in the process.
    path: Option<PathBuf>,
    connection: Mutex<Option<Connection>>,
}

impl Store {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { path, connection: Mutex::new(None) }
    }

    /// The file; `None`: it lives in memory.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Does something with the store, off the thread where it may have to wait for a disk.
    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        if self.path.is_none() {
            return work(self);
        }
        let store = self.clone();
        match tokio::task::spawn_blocking(move || work(&store)).await {
            Ok(done) => done,
            Err(_) => Err(ToolError::in_doubt("the program is shutting down, or the memory panicked")),
        }
    }

    pub(super) fn open(&self) -> Result<(), ToolError> {
        let mut slot = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() {
            let connection = self.connect().map_err(|why| self.unusable(&*why))?;
            *slot = Some(connection);
        }
        Ok(())
    }

    /// Closes the file. What is kept in the process stays.
    pub(super) fn close(&self) -> Result<(), ToolError> {
        if self.path.is_none() {
            return Ok(());
        }
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner).take();
        connection.map_or(Ok(()), |connection| connection.close().map_err(|(_, why)| self.unusable(&why)))
    }

    pub(super) fn look(&self) -> Result<(), ToolError> {
        self.with(|connection| connection.query_row("SELECT count(*) FROM memories", [], |_| Ok(())))
    }

    pub(super) fn save(&self, key: &str, content: &str, tags: &[String]) -> Result<String, ToolError> {
        let tags = json!(tags).to_string();
        let full = self.with(|connection| {
            let transaction =
                connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let known: Option<i64> = transaction
                .query_row("SELECT 1 FROM memories WHERE key = ?1", [key], |row| row.get(0))
                .optional()?;
            let count: i64 = transaction.query_row("SELECT count(*) FROM memories", [], |row| row.get(0))?;
            if known.is_none() && count >= MAX_MEMORIES {
                return Ok(true);
            }
            transaction.execute(SAVE, params![key, content, tags])?;
            transaction.commit()?;
            Ok(false)
        })?;
        if full {
            let what =
                format!("the memory is full ({MAX_MEMORIES} entries): delete what is no longer needed");
            return Err(ToolError::new(what));
        }
        Ok(format!("Saved memory: {key}"))
    }

    pub(super) fn delete(&self, key: &str) -> Result<String, ToolError> {
        let gone =
            self.with(|connection| connection.execute("DELETE FROM memories WHERE key = ?1", [key]))?;
        Ok(if gone > 0 { format!("Deleted memory: {key}") } else { format!("Memory not found: {key}") })
    }

    pub(super) fn search(&self, query: &str, limit: u32) -> Result<String, ToolError> {
        let mut pattern = String::with_capacity(query.len() + 2);
        pattern.push('%');
        for char in query.chars() {
            if matches!(char, '%' | '_' | '\\') {
                pattern.push('\\');
            }
            pattern.push(char);
        }
        pattern.push('%');
        let found = self.with(|connection| {
            let mut search = connection.prepare(SEARCH)?;
            search.query_map(params![pattern, limit], entry)?.collect()
        })?;
        Ok(rendered(found, "No memories found."))
    }

    pub(super) fn list_all(&self, limit: u32) -> Result<String, ToolError> {
        let found = self.with(|connection| {
            let mut list = connection.prepare(LIST)?;
            list.query_map([limit], entry)?.collect()
        })?;
        Ok(rendered(found, "No memories stored."))
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, ToolError> {
        let mut slot = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(connection) = slot.as_mut() else {
            return Err(ToolError::new("the memory is not open: its service was not set up"));
        };
        work(connection).map_err(|why| self.unusable(&why))
    }

    fn connect(&self) -> Result<Connection, Box<dyn std::error::Error>> {
        let connection = match &self.path {
            None => Connection::open_in_memory()?,
            Some(path) => {
                make(path)?;
                let connection = Connection::open(path)?;
                connection.pragma_update(None, "journal_mode", "wal")?;
                connection
            }
        };
        connection.busy_timeout(BUSY)?;
        connection.execute_batch(TABLE)?;
        Ok(connection)
    }

    fn unusable(&self, why: &dyn std::error::Error) -> ToolError {
        let place = self.path.as_ref().map(|path| format!(" {}", path.display())).unwrap_or_default();
        ToolError::new(format!("cannot use the memory{place}: {why}"))
    }
}

/// Creates the file and its folders if they do not exist, readable only by the owner.
fn make(path: &std::path::Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

fn entry(row: &Row<'_>) -> Result<Value, rusqlite::Error> {
    let (key, content): (String, String) = (row.get(0)?, row.get(1)?);
    let tags: Option<String> = row.get(2)?;
    let tags: Vec<String> = tags.and_then(|tags| serde_json::from_str(&tags).ok()).unwrap_or_default();
    Ok(if tags.is_empty() {
        json!({ "key": key, "content": content })
    } else {
        json!({ "key": key, "content": content, "tags": tags })
    })
}

/// Entries as JSON; those beyond [`MAX_GIVEN`] are left out, and a line says so.
fn rendered(mut found: Vec<Value>, none: &str) -> String {
    if found.is_empty() {
        return none.to_owned();
    }
    let mut bytes = 0;
    let fits = found.iter().take_while(|entry| {
        bytes += entry.to_string().len();
        bytes <= MAX_GIVEN
    });
    let fits = fits.count();
    let left = found.split_off(fits).len();
    let mut text = serde_json::to_string_pretty(&Value::Array(found)).unwrap_or_default();
    if left > 0 {
        let more = format!("\n[{left} more match but are omitted: together they are too long]");
        text.push_str(&more);
    }
    text
}
