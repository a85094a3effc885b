//! Files that people or agent files name, read within a bound.

mod source;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use windlass_core::text::nearest;

pub(crate) use source::key_of;
pub use source::{AgentSource, FileOverrides, SourceError};

/// Maximum number of files of a folder that are compared with a missing one.
const MAX_LISTED: usize = 1_000;

/// The entry at the root of a repository.
const REPOSITORY: &str = ".git";

/// The files that an agent file and those under it are read from.
pub trait Files: fmt::Debug + Send + Sync {
    /// Reads a file of at most so many bytes.
    ///
    /// # Errors
    /// It cannot be read, or is longer.
    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>>;

    /// The names of the folders in a folder, sorted, without hidden ones.
    ///
    /// # Errors
    /// It cannot be read, or has too many entries.
    fn folders(&self, path: &Path) -> io::Result<Vec<String>>;

    /// Whether a file is a link that leads out of its folder.
    fn leads_out(&self, path: &Path, folder: &Path) -> bool;

    /// The folder in which people work with the agent; `None`: it is not known.
    fn working_folder(&self) -> Option<PathBuf>;

    /// The folders in which a file for all that lies beneath them may stand, the nearest first: from this one up to the root of its
    /// repository, or this one alone if it is in none.
    fn ancestors(&self, folder: &Path) -> Vec<PathBuf>;
}

/// The files of the disk ([`read`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        read(path, most)
    }

    fn folders(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for (seen, entry) in std::fs::read_dir(path)?.enumerate() {
            if seen == MAX_LISTED {
                return Err(io::Error::other(format!("it has more than {MAX_LISTED} entries")));
            }
            let entry = entry?;
            // A link to a folder counts as one.
            let is_folder = std::fs::metadata(entry.path()).is_ok_and(|found| found.is_dir());
            names.extend(entry.file_name().into_string().ok().filter(|_| is_folder));
        }
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        Ok(names)
    }

    fn leads_out(&self, path: &Path, folder: &Path) -> bool {
        let (file, folder) = (std::fs::canonicalize(path), std::fs::canonicalize(folder));
        !matches!((file, folder), (Ok(file), Ok(folder)) if file.starts_with(&folder))
    }

    fn working_folder(&self) -> Option<PathBuf> {
        std::env::current_dir().ok()
    }

    fn ancestors(&self, folder: &Path) -> Vec<PathBuf> {
        let all: Vec<PathBuf> = folder.ancestors().map(Path::to_owned).collect();
        let root = all.iter().position(|folder| folder.join(REPOSITORY).exists());
        all.into_iter().take(root.map_or(1, |root| root + 1)).collect()
    }
}

/// Reads a regular file of at most so many bytes. Devices and pipes are refused before they are opened: they may never
/// end, or wait for a writer for ever.
///
/// # Errors
/// It cannot be read, is not a regular file, or is longer.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    // Its length may change while it is read.
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let words = format!("it has more than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
    }
    Ok(bytes)
}

/// The names of YAML files beside a missing file that are like its own, the nearest first.
pub fn nearest_files(missing: &Path) -> Vec<String> {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let Some((folder, wanted)) = missing.parent().zip(stem(missing)) else { return Vec::new() };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let siblings = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_LISTED);
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    let mut paths: Vec<PathBuf> = siblings.map(|entry| entry.path()).filter(is_yaml).collect();
    paths.sort();
    // The endings are alike anyway.
    let stems: Vec<String> = paths.iter().filter_map(|path| stem(path)).collect();
    let like = nearest(&wanted, stems.iter().map(String::as_str));
    let named = |like: &String| paths.iter().find(|path| stem(path).as_ref() == Some(like))?.file_name();
    like.iter().filter_map(named).map(|name| name.to_string_lossy().into_owned()).collect()
}

/// Reads a file of text.
///
/// # Errors
/// As [`Files::read`], or it is no UTF-8: in words.
pub(crate) fn read_text(files: &dyn Files, path: &Path, most: u64) -> Result<String, String> {
    text_of(files.read(path, most).map_err(|error| error.to_string())?)
}

/// A path without `.` and `..`, by its text alone.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other @ (Component::Prefix(_) | Component::RootDir | Component::Normal(_)) => plain.push(other),
        }
    }
    plain
}

/// The text of a file's bytes.
///
/// # Errors
/// They are no UTF-8: in words.
pub(crate) fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(bytes).map_err(|error| format!("it is not valid UTF-8: {error}"))?;
    Ok(without_mark(text))
}

/// The text without the byte order mark that some editors put in front: it is no part of it.
pub(crate) fn without_mark(mut text: String) -> String {
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    text
}
