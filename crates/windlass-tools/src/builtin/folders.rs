//! The folders that a tool may read, and how a path is found in them.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use windlass_core::secret::Secret;

use crate::binding::Bound;
use crate::error::ToolSetError;
use crate::tool::ToolError;

/// Folders, opened once. Every path is resolved beneath its folder; links cannot lead outside.
#[derive(Clone, Debug)]
pub(crate) struct Folders(Arc<Vec<Folder>>);

#[derive(Debug)]
struct Folder {
    /// As it was named, made absolute.
    named: PathBuf,
    /// Without links.
    real: PathBuf,
    dir: Dir,
}

/// A place beneath one of the folders.
#[derive(Debug)]
pub(crate) struct Place<'f> {
    pub(crate) dir: &'f Dir,
    /// Relative to `dir`; `.` for the folder itself.
    pub(crate) path: PathBuf,
    /// Prefix that makes a path in `dir` resolvable by the tools.
    pub(crate) prefix: PathBuf,
}

impl Folders {
    /// Binding of calls: the folders as named, and their resolved paths when they were opened.
    pub(crate) fn binding(&self) -> Bound {
        let of = |path: fn(&Folder) -> &PathBuf| {
            let all: Vec<_> = self.0.iter().map(|folder| path(folder).to_string_lossy()).collect();
            serde_json::json!(all).to_string()
        };
        let (named, real) = (of(|folder| &folder.named), of(|folder| &folder.real));
        let cleartext = Some(named.as_str().into());
        let value = if named == real { named } else { format!("{named}{real}") };
        Bound { what: "folders".into(), cleartext, value: Secret::unmasked(value) }
    }

    /// Opens the folders for a tool. Relative ones start from the working directory.
    ///
    /// # Errors
    /// There is none, or one of them cannot be opened.
    pub(crate) fn open(tool: &str, folders: &[PathBuf]) -> Result<Self, ToolSetError> {
        if folders.is_empty() {
            let (name, what) = (tool.to_owned(), "it has no folder to read: name one".to_owned());
            return Err(ToolSetError::BadSettings { name, what });
        }
        let open = |path: &PathBuf| {
            let folder = || {
                let named = std::path::absolute(path)?;
                let real = named.canonicalize()?;
                let dir = Dir::open_ambient_dir(&real, ambient_authority())?;
                Ok(Folder { named, real, dir })
            };
            folder().map_err(|source| ToolSetError::Folder {
                name: tool.to_owned(),
                path: path.display().to_string(),
                source,
            })
        };
        Ok(Self(Arc::new(folders.iter().map(open).collect::<Result<_, _>>()?)))
    }

    /// Resolves a path: an absolute one in the folder that it begins with, a relative one in the first folder.
    ///
    /// # Errors
    /// It is absolute and in none of the folders. Whether it leaves its folder shows when it is opened.
    pub(crate) fn place(&self, path: &str) -> Result<Place<'_>, ToolError> {
        let wanted = Path::new(path);
        let outside = || {
            let named: Vec<_> = self.0.iter().map(|folder| folder.named.display().to_string()).collect();
            denied(format!("`{path}` is outside of the allowed folders: {}", named.join(", ")))
        };
        let (n, folder, inner) = if wanted.is_absolute() {
            let wanted = plain(wanted).ok_or_else(outside)?;
            let within = |(n, folder): (usize, &'_ Folder)| {
                let inner = wanted.strip_prefix(&folder.named).or_else(|_| wanted.strip_prefix(&folder.real));
                inner.ok().map(|inner| (n, inner.to_owned()))
            };
            let (n, inner) = self.0.iter().enumerate().find_map(within).ok_or_else(outside)?;
            (n, self.0.get(n).ok_or_else(outside)?, inner)
        } else {
            (0, self.0.first().ok_or_else(outside)?, wanted.to_owned())
        };
        let path = if inner.as_os_str().is_empty() { PathBuf::from(".") } else { inner };
        let prefix = if n == 0 { PathBuf::new() } else { folder.named.clone() };
        Ok(Place { dir: &folder.dir, path, prefix })
    }
}

/// Opens a file for reading without waiting, should it be a pipe.
///
/// # Errors
/// There is none, it is not a regular file, or it lies outside of its folder.
pub(crate) fn open_file(place: &Place<'_>, given: &str) -> Result<File, ToolError> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        options.custom_flags(NONBLOCK);
    }
    let file = place.dir.open_with(&place.path, &options).map_err(|error| io_error(given, &error))?;
    let kind = file.metadata().map_err(|error| io_error(given, &error))?.file_type();
    if kind.is_dir() {
        return Err(ToolError::of_kind("IsADirectory", format!("`{given}` is a folder; use list_files")));
    }
    if !kind.is_file() {
        return Err(ToolError::of_kind("NotAFile", format!("`{given}` is not a regular file")));
    }
    Ok(file)
}

#[cfg(unix)]
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

/// The error of the system for a path as the model gave it.
#[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
pub(crate) fn io_error(given: &str, error: &io::Error) -> ToolError {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "does not exist".to_owned(),
        io::ErrorKind::NotADirectory => "is not a folder, or is below a path that is not one".to_owned(),
        // The system's own refusals have a number; those without one come from the rule about links.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            return denied(format!("`{given}` leads out of the allowed folder"));
        }
        io::ErrorKind::PermissionDenied => "may not be read: permission denied".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    ToolError::of_kind(format!("{:?}", error.kind()), format!("`{given}` {why}"))
}

fn denied(message: String) -> ToolError {
    ToolError::of_kind("OutsideFolder", message)
}

/// An absolute path without `.` and `..`, by its text alone; `None` if it goes above the root.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            other @ (Component::Prefix(_) | Component::RootDir | Component::Normal(_)) => plain.push(other),
        }
    }
    Some(plain)
}
