//! The log's write-ahead file cut at any byte: it opens, every run folds, and is a beginning of what it was.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::runtime::{Builder, Runtime};
use windlass_core::{RunState, State, evolve};
use windlass_runtime::in_full;
use windlass_store::{Append, Batch, Fence, Holder, Leases, Log, SqliteLog};
use windlass_testing::appends_of_case;
use windlass_testing::fixture::FixtureFile;

use crate::error::HarnessError;
use crate::ground::Ground;
use crate::home::Home;
use crate::life::{Life, undisturbed};
use crate::look::{self, Look};
use crate::scene::Scene;

/// Number of lengths tried concurrently.
const SIDE_BY_SIDE: usize = 2;
/// The header of a write-ahead file, and of each of its frames, in bytes (SQLite, "WAL-mode File Format", 1).
const HEADER: u64 = 32;
/// A frame: its header and a page of 4 KiB.
const FRAME: u64 = 24 + 4096;

/// Lengths of a file that are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Every one.
    Every,
    /// The edges of frames, one byte less and one more.
    Edges,
}

impl Lengths {
    fn of(self, whole: u64) -> Vec<u64> {
        if self == Self::Every {
            return (0..=whole).collect();
        }
        let edges = std::iter::once(0).chain((HEADER..=whole).step_by(FRAME as usize)).chain([whole]);
        let mut lengths: Vec<u64> =
            edges.flat_map(|edge| [edge.saturating_sub(1), edge, (edge + 1).min(whole)]).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }
}

/// A database file with its write-ahead file, as they stood at one moment.
#[derive(Debug)]
pub struct Files {
    /// Source of the lengths, in words.
    pub name: String,
    /// The database.
    pub database: Vec<u8>,
    /// The write-ahead file.
    pub ahead: Vec<u8>,
}

impl Files {
    fn read(name: String, log: &Path) -> Result<Self, HarnessError> {
        let ahead = side_file(log);
        let read = |path: &Path| fs::read(path).map_err(HarnessError::file("read", path));
        Ok(Self { name, database: read(log)?, ahead: read(&ahead)? })
    }
}

fn side_file(log: &Path) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Tries all those lengths of the write-ahead file. Gives how many there were.
///
/// # Errors
/// At some length the log does not open or fold, or holds something that was never in it.
pub fn prefixes(ground: &Ground, files: &Files, lengths: Lengths) -> Result<u64, HarnessError> {
    let folder = ground.folder().join("prefixes");
    fs::create_dir_all(&folder).map_err(HarnessError::file("make", &folder))?;
    let whole = at(&folder.join("whole.db"), files, files.ahead.len() as u64)?;
    let lengths = lengths.of(files.ahead.len() as u64);
    let next = AtomicU64::new(0);
    let fault = Mutex::new(None);
    let work = |worker: usize| {
        let file = folder.join(format!("{worker}.db"));
        let mut before: Option<(u64, usize)> = None;
        while let Some(length) = lengths.get(next.fetch_add(1, Ordering::SeqCst) as usize) {
            let seen = at(&file, files, *length).and_then(|runs| {
                begins(&runs, &whole).map_err(|breach| broken(files, *length, breach, &file))?;
                let events = runs.iter().map(|look| look.batches.len()).sum();
                match before {
                    Some((shorter, more)) if more > events => {
                        let breach = format!("{events} appends, but {more} at {shorter} bytes");
                        Err(broken(files, *length, breach, &file))
                    }
                    _ => Ok(events),
                }
            });
            match seen {
                Ok(events) => before = Some((*length, events)),
                Err(error) => {
                    *fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    next.store(u64::MAX / 2, Ordering::SeqCst);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for worker in 0..SIDE_BY_SIDE {
            scope.spawn(move || work(worker));
        }
    });
    match fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(lengths.len() as u64),
    }
}

/// Everything in the log when its write-ahead file has that length.
fn at(file: &Path, files: &Files, length: u64) -> Result<Vec<Look>, HarnessError> {
    let ahead = files.ahead.get(..length as usize).unwrap_or(&files.ahead);
    let write = |path: &Path, bytes: &[u8]| fs::write(path, bytes).map_err(HarnessError::file("write", path));
    write(file, &files.database)?;
    write(&side_file(file), ahead)?;
    look::all(file).map_err(|breach| {
        // The state before it was opened, for inspection.
        let _kept = write(file, &files.database).and_then(|()| write(&side_file(file), ahead));
        broken(files, length, breach, file)
    })
}

fn broken(files: &Files, length: u64, breach: String, file: &Path) -> HarnessError {
    let place = format!("{}, write-ahead file cut at {length} of {} bytes", files.name, files.ahead.len());
    HarnessError::Broken { place, breach, kept: file.to_owned() }
}

/// Each run is a prefix of its final log.
fn begins(runs: &[Look], whole: &[Look]) -> Result<(), String> {
    for look in runs {
        let full = whole.iter().find(|full| full.run == look.run);
        let full = full.ok_or_else(|| format!("run {} was never in this log", look.run))?;
        crate::sound::kept(look, full)?;
    }
    Ok(())
}

/// The files of a scene's run, played by the real binary, with everything still in the write-ahead file.
///
/// # Errors
/// The run does not end well.
pub fn played(ground: &Ground, scene: Scene) -> Result<Files, HarnessError> {
    let home = Home::new(ground, scene, &format!("prefixes-{}", scene.name()))?;
    let opened = |breach| home.broken("opening the log", breach);
    // While a process has the log open, nothing is moved out of the write-ahead file.
    let open = SqliteLog::open(home.log()).map_err(|error| opened(in_full(&error)))?;
    Life::of(&home).play(&mut undisturbed)?;
    let files = Files::read(format!("scene {}", scene.name()), &home.log())?;
    drop(open);
    home.remove()?;
    Ok(files)
}

/// The files of each scripted conversation beneath a folder. Their write-ahead files hold appends alone: the pages of a log that is
/// being made are the same in all, and those of the scenes have them.
///
/// # Errors
/// A file cannot be read, or its appends cannot be stored.
pub fn scripted(ground: &Ground, folder: &Path) -> Result<Vec<Files>, HarnessError> {
    let made = made(&ground.folder().join("made.db"))?;
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(HarnessError::file("read", &folder))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "yaml") {
                found.extend(cases(ground, &path, &made)?);
            }
        }
    }
    Ok(found)
}

fn runtime() -> Result<Runtime, HarnessError> {
    Builder::new_current_thread().build().map_err(HarnessError::system("start a runtime"))
}

/// The database of a log without runs.
fn made(log: &Path) -> Result<Vec<u8>, HarnessError> {
    let broken = |error| HarnessError::Broken {
        place: "a log without runs".to_owned(),
        breach: in_full(&error),
        kept: log.to_owned(),
    };
    let open = SqliteLog::open(log).map_err(broken)?;
    runtime()?.block_on(open.checkpoint()).map_err(broken)?;
    fs::read(log).map_err(HarnessError::file("read", log))
}

fn cases(ground: &Ground, path: &Path, made: &[u8]) -> Result<Vec<Files>, HarnessError> {
    let bad = |why: String| HarnessError::BadFixtures { path: path.to_owned(), why };
    let file = FixtureFile::read(path).map_err(|error| bad(in_full(&error)))?;
    let runtime = runtime()?;
    let mut all = Vec::new();
    for case in file.cases {
        let case = case.map_err(|error| bad(error.to_string()))?;
        // A case whose agent is refused has no log.
        let Ok(runs) = appends_of_case(&case) else { continue };
        // Payloads lie beside the events, and are written before them: the store's own tests cut those.
        let mut facts = runs.iter().flat_map(|(_, batches)| batches).flat_map(|batch| batch.events.iter());
        if facts.any(|event| !event.fact.refs().is_empty()) {
            continue;
        }
        let log = ground.folder().join("case.db");
        let ahead = side_file(&log);
        if ahead.exists() {
            fs::remove_file(&ahead).map_err(HarnessError::file("remove", &ahead))?;
        }
        fs::write(&log, made).map_err(HarnessError::file("write", &log))?;
        let open = SqliteLog::open(&log).map_err(|error| bad(in_full(&error)))?;
        for (run, batches) in runs {
            runtime.block_on(store(&open, run, &batches)).map_err(&bad)?;
        }
        all.push(Files::read(format!("{}: {}", path.display(), case.name), &log)?);
    }
    Ok(all)
}

/// Appends a run as it was appended.
async fn store(log: &SqliteLog, run: windlass_core::RunId, batches: &[Batch]) -> Result<(), String> {
    let mut state = State::new(run);
    let mut fence = Fence { holder: Holder("harness".into()), epoch: 1 };
    let mut held = true;
    for batch in batches {
        state = batch.events.iter().fold(state, evolve);
        let run_state = match state.ended() {
            Some(end) => RunState::Ended(end.status),
            None => RunState::Running,
        };
        if !held {
            fence = log
                .acquire(run, &fence.holder, windlass_store::Claim(1))
                .await
                .map_err(|error| in_full(&error))?;
        }
        held = run_state == RunState::Running;
        let append = Append::of(run, batch.clone(), fence.clone(), run_state);
        log.append(append).await.map_err(|error| in_full(&error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{FRAME, HEADER, Lengths};

    #[test]
    fn edges_are_those_of_header_and_frames() {
        let whole = HEADER + FRAME + 10;
        let edges = [0, 1, 31, 32, 33, 4151, 4152, 4153, 4161, 4162];
        assert_eq!(Lengths::Edges.of(whole), edges);
        assert_eq!(Lengths::Every.of(3), [0, 1, 2, 3]);
    }
}
