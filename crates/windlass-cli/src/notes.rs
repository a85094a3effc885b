//! The file that an agent came from: a run knows its agent only by name and digest.
//!
//! The notes are a convenience: without them a run needs `--with FILE` to go on.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::event::AgentRef;

use crate::home;
use crate::overrides::Overrides;

/// Maximum number of agents remembered; the least recently used are forgotten.
const MAX_NOTES: usize = 1_000;
/// The most bytes of notes that are read.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Origin of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// Its file.
    pub(crate) path: PathBuf,
    /// The command line's overrides.
    #[serde(flatten)]
    pub(crate) overrides: Overrides,
    /// When it was last used, in milliseconds since the Unix epoch.
    pub(crate) used_at: u64,
}

type Notes = BTreeMap<String, Note>;

/// Remembers where an agent came from. A note that cannot be written is missed only later, with a hint: the run itself
/// does not depend on it.
pub(crate) fn remember(home: &Path, agent: &AgentRef, note: Note) {
    let known = recall(home, agent);
    if known.is_some_and(|old| old.path == note.path && old.overrides == note.overrides) {
        return;
    }
    if let Err(error) = add(home, agent, note) {
        tracing::warn!("cannot remember the agent's file: {error}");
    }
}

fn add(home: &Path, agent: &AgentRef, note: Note) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(home)?;
    // Several processes may remember at once; the lock goes with the file's handle.
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(home.join("agents.lock"))?;
    lock.lock()?;
    let mut notes = read(home);
    notes.insert(key(agent), note);
    while notes.len() > MAX_NOTES {
        let oldest = notes.iter().min_by_key(|(_, note)| note.used_at).map(|(key, _)| key.clone());
        match oldest {
            Some(oldest) => drop(notes.remove(&oldest)),
            None => break,
        }
    }
    write(home, &notes)
}

/// Origin of this very agent.
pub(crate) fn recall(home: &Path, agent: &AgentRef) -> Option<Note> {
    read(home).remove(&key(agent))
}

/// The files that an agent of this name came from, the last used one first.
pub(crate) fn paths_of(home: &Path, name: &str) -> Vec<PathBuf> {
    let prefix = format!("{name} ");
    let mut found: Vec<Note> =
        read(home).into_iter().filter(|(key, _)| key.starts_with(&prefix)).map(|(_, note)| note).collect();
    found.sort_by_key(|note| std::cmp::Reverse(note.used_at));
    found.into_iter().map(|note| note.path).collect()
}

fn key(agent: &AgentRef) -> String {
    format!("{} {}", agent.name, agent.digest)
}

fn file(home: &Path) -> PathBuf {
    home.join("agents.json")
}

fn read(home: &Path) -> Notes {
    let path = file(home);
    let small = std::fs::metadata(&path).is_ok_and(|data| data.is_file() && data.len() <= MAX_BYTES);
    let text = if small { std::fs::read(&path).unwrap_or_default() } else { Vec::new() };
    serde_json::from_slice(&text).unwrap_or_default()
}

fn write(home: &Path, notes: &Notes) -> std::io::Result<()> {
    home::replace(&file(home), &serde_json::to_vec_pretty(notes)?)
}
