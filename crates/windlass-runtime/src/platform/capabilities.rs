//! The capability cache: how calls go to models that take no tools, and which servers hold no reply to a schema, as runs detected it. It is kept for the whole process, and in
//! a small file where a program names one, so that no run meets the same refusal again.
//!
//! An entry expires, so that a server that takes tools by now is called with them again. A run takes what is known when it starts,
//! and keeps it in its log: to replay a run needs no file.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use windlass_core::event::Millis;
use windlass_core::policy::Wire;

/// An entry is believed for so many days.
pub const EXPIRES_DAYS: u64 = 14;
/// The most entries: of more, the oldest ones go.
pub const MAX_ENTRIES: usize = 256;
/// The most bytes of the file that are read.
const MAX_FILE_BYTES: u64 = 256 * 1024;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The entries of this process.
static PROCESS: Mutex<Memory> = Mutex::new(Memory { file: None, read: false, entries: BTreeMap::new() });

#[derive(Debug)]
struct Memory {
    file: Option<PathBuf>,
    /// Whether the file has been read.
    read: bool,
    entries: BTreeMap<String, Entry>,
}

/// The abilities of a model that were detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detected {
    /// How calls go to it, where it takes no tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
    /// Its server has refused to hold a reply to a schema.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_native_output: bool,
}

/// The same, with its age.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    detected: Detected,
    /// When, in milliseconds since the Unix epoch.
    at: Millis,
}

/// The file's content.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Content {
    models: BTreeMap<String, Entry>,
}

/// Keeps what is detected in this file, too, and takes what it holds. A file that cannot be read counts as empty.
pub fn keep_in(file: PathBuf) {
    let mut memory = memory();
    (memory.file, memory.read) = (Some(file), false);
}

/// The abilities that runs have lately detected of the model with this [id](windlass_models::Known::id).
pub fn detected(id: &str, now: Millis) -> Detected {
    let mut memory = memory();
    memory.read_once();
    memory.entries.get(id).filter(|entry| entry.holds(now)).map(|entry| entry.detected).unwrap_or_default()
}

/// Whether nothing is remembered of any model.
pub fn is_empty() -> bool {
    let mut memory = memory();
    memory.read_once();
    memory.entries.is_empty()
}

/// Remembers something of a model.
pub fn learn(id: &str, change: impl Fn(&mut Detected), now: Millis) {
    let mut memory = memory();
    memory.read_once();
    let with = |known: Option<&Entry>| {
        let known = known.filter(|entry| entry.holds(now)).cloned();
        let mut entry = known.unwrap_or(Entry { detected: Detected::default(), at: now });
        change(&mut entry.detected);
        entry
    };
    let entry = with(memory.entries.get(id));
    // What is known already keeps its time: it expires in spite of being used.
    if memory.entries.get(id) == Some(&entry) {
        return;
    }
    memory.write(now, |entries| {
        let entry = Entry { at: now, ..with(entries.get(id)) };
        entries.insert(id.to_owned(), entry);
    });
}

/// Forgets what was detected of a model. Returns whether there was something.
pub fn forget(id: &str, now: Millis) -> bool {
    let mut memory = memory();
    memory.read_once();
    let known = memory.entries.contains_key(id);
    if known {
        memory.write(now, |entries| entries.retain(|other, _| other != id));
    }
    known
}

fn memory() -> MutexGuard<'static, Memory> {
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Entry {
    fn holds(&self, now: Millis) -> bool {
        // An entry from the future is as old as one from the past: a clock was wrong.
        now.abs_diff(self.at) < EXPIRES_DAYS * DAY_MS
    }
}

impl Memory {
    fn read_once(&mut self) {
        if !std::mem::replace(&mut self.read, true) {
            let kept = self.kept();
            self.entries.extend(kept);
        }
    }

    /// The entries of the file.
    fn kept(&self) -> BTreeMap<String, Entry> {
        let Some(path) = &self.file else { return BTreeMap::new() };
        match content(path) {
            Ok(content) => content.models,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => {
                tracing::warn!(
                    file = %path.display(), %error, "what was learnt of models cannot be read and counts as forgotten"
                );
                BTreeMap::new()
            }
        }
    }

    /// Changes the entries, here and in the file, which another process may have changed.
    fn write(&mut self, now: Millis, change: impl FnOnce(&mut BTreeMap<String, Entry>)) {
        let kept = self.kept();
        for (id, entry) in kept {
            let own = self.entries.entry(id).or_insert_with(|| entry.clone());
            if own.at < entry.at {
                *own = entry;
            }
        }
        change(&mut self.entries);
        self.entries.retain(|_, entry| entry.holds(now));
        while self.entries.len() > MAX_ENTRIES {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.at).map(|(id, _)| id.clone());
            let Some(oldest) = oldest else { break };
            self.entries.remove(&oldest);
        }
        let Some(path) = &self.file else { return };
        if let Err(error) = replace(path, &Content { models: self.entries.clone() }) {
            tracing::warn!(file = %path.display(), %error, "what was learnt of a model cannot be kept");
        }
    }
}

fn content(path: &Path) -> std::io::Result<Content> {
    let mut text = Vec::new();
    // To open a pipe waits for its writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(std::io::Error::other(format!("it has more than {MAX_FILE_BYTES} bytes")));
    }
    Ok(serde_json::from_slice(&text)?)
}

/// Replaces the file. Readers see the old one or the new one, whole; only the user can read it.
fn replace(path: &Path, content: &Content) -> std::io::Result<()> {
    let text = serde_json::to_vec_pretty(content)?;
    if let Some(folder) = path.parent() {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}", std::process::id()));
    let fresh = PathBuf::from(fresh);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&fresh)?.write_all(&text).and_then(|()| std::fs::rename(&fresh, path));
    if written.is_err() {
        // Best effort: the first error counts.
        let _gone = std::fs::remove_file(&fresh);
    }
    written
}

#[cfg(test)]
mod tests;
