//! New files, all of them or none.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::failure::{Exit, Failure};

/// A file to write.
#[derive(Debug)]
pub(in crate::commands) struct NewFile {
    pub(in crate::commands) path: PathBuf,
    /// Its purpose, for people.
    pub(in crate::commands) what: &'static str,
    pub(in crate::commands) text: String,
    pub(in crate::commands) executable: bool,
}

/// The outcome of writing a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Written {
    New,
    Replaced,
}

impl Written {
    pub(in crate::commands) fn verb(self) -> &'static str {
        match self {
            Self::New => "wrote",
            Self::Replaced => "replaced",
        }
    }
}

/// Looks whether files can be written at these paths, without writing any.
///
/// # Errors
/// A file is there and may not be replaced, or something else stands in its place.
pub(in crate::commands) fn check<'p>(
    paths: impl IntoIterator<Item = &'p Path>,
    force: bool,
) -> Result<(), Failure> {
    let mut obstacles: Vec<_> = paths.into_iter().filter_map(|path| obstacle(path, force)).collect();
    obstacles.dedup();
    let failure = match obstacles.as_slice() {
        [] => return Ok(()),
        [one] => Failure::new(Exit::Failed, one),
        several => {
            let message = format!("nothing was written: {} files are in the way", several.len());
            several.iter().fold(Failure::new(Exit::Failed, message), Failure::detail)
        }
    };
    Err(failure.hint(if force {
        "move that away, or choose another place"
    } else {
        "choose another place, or overwrite files that are there with `--force`"
    }))
}

/// The obstacle to writing a file, in words.
fn obstacle(path: &Path, force: bool) -> Option<String> {
    for parent in path.ancestors().skip(1) {
        if fs::metadata(parent).is_ok_and(|found| !found.is_dir()) {
            return Some(format!("{} is no folder", parent.display()));
        }
    }
    // A link that leads nowhere is there, too.
    let found = fs::symlink_metadata(path).ok()?;
    let kept = !force || fs::metadata(path).is_ok_and(|found| !found.is_file());
    if found.is_dir() {
        Some(format!("{} is a folder", path.display()))
    } else {
        kept.then(|| format!("{} already exists", path.display()))
    }
}

/// Writes all files, or none: what was made until an error is removed again.
///
/// # Errors
/// As of [`check`], or a file cannot be written.
pub(in crate::commands) fn write(files: &[NewFile], force: bool) -> Result<Vec<Written>, Failure> {
    check(files.iter().map(|file| &*file.path), force)?;
    let mut made = Made::default();
    let result = files.iter().try_for_each(|file| {
        made.file(file, force).map_err(|error| {
            Failure::new(Exit::Failed, format!("{} cannot be written", file.path.display()))
                .cause(error.to_string())
                .hint("choose a folder that you may write to")
        })
    });
    if let Err(failure) = result {
        made.undo();
        return Err(failure);
    }
    files.iter().map(|file| made.place(file)).collect()
}

/// The files and folders that were made, in order.
#[derive(Default)]
struct Made {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Made {
    /// Makes a file with its folders. One that replaces another stands beside it at first.
    fn file(&mut self, file: &NewFile, force: bool) -> io::Result<()> {
        let folder = file.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            self.folder(folder)?;
        }
        let path = if force { staged(&file.path) } else { file.path.clone() };
        let mode = if file.executable { 0o777 } else { 0o666 };
        let mut new = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
        self.files.push(path);
        new.write_all(file.text.as_bytes())
    }

    fn folder(&mut self, folder: &Path) -> io::Result<()> {
        let missing =
            folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        for folder in missing.collect::<Vec<_>>().into_iter().rev() {
            match fs::create_dir(folder) {
                Ok(()) => self.folders.push(folder.to_owned()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Puts a file in its place.
    fn place(&self, file: &NewFile) -> Result<Written, Failure> {
        let staged = staged(&file.path);
        if !self.files.contains(&staged) {
            return Ok(Written::New);
        }
        let replaced = file.path.exists();
        fs::rename(&staged, &file.path).map_err(|error| {
            self.undo();
            Failure::new(Exit::Failed, format!("{} cannot be replaced", file.path.display()))
                .cause(error.to_string())
        })?;
        Ok(if replaced { Written::Replaced } else { Written::New })
    }

    /// Removes what was made, as far as that goes: what matters is the first error.
    fn undo(&self) {
        self.files.iter().for_each(|file| drop(fs::remove_file(file)));
        self.folders.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}

/// Where a file stands until it replaces another one.
fn staged(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}
