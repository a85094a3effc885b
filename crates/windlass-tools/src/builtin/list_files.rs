//! The built-in `list_files`: what is in a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, FileType};
use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::ToolSpec;
use windlass_core::text::covers;

use super::folders::{Folders, io_error};
use super::{Builtin, Takes};
use crate::binding::Bound;
use crate::error::ToolSetError;
use crate::function::{Args, Properties, blocking};
use crate::tool::{Tool, ToolContext, ToolResult};

/// Maximum number of entries that a call returns.
pub const MAX_ENTRIES: usize = 1_000;

/// Maximum number of entries that a call visits.
pub const MAX_SEEN: usize = 100_000;

/// Maximum depth of a call's search.
pub const MAX_LEVELS: u32 = 16;

/// Maximum number of steps for comparing names with the pattern: length of the name times length of the pattern.
const MAX_COMPARED: usize = 200_000_000;

/// `list_files`: the entries of a folder, one a line and sorted, folders with a `/` at their end. The paths can be given
/// to `read_file` as they are. `depth` 1 (the default) is the folder itself. A `pattern` has `*` and `?`; one without
/// `/` is compared with names, any other with the path below the folder. Links are listed and not followed.
///
/// Limits: [`MAX_ENTRIES`] (it says when there are more), [`MAX_SEEN`], [`MAX_LEVELS`], and a bound on what a pattern costs.
#[derive(Debug)]
pub struct ListFiles {
    spec: ToolSpec,
    folders: Folders,
}

impl ListFiles {
    /// The tool by its name.
    pub const BUILTIN: Builtin = Builtin {
        name: "list_files",
        takes: Takes::Folders,
        make: |given| Ok(Arc::new(ListFiles::new(given.folders)?)),
    };

    /// The tool for these folders, of which there is at least one.
    ///
    /// # Errors
    /// There is none, or one of them cannot be opened.
    pub fn new(folders: &[PathBuf]) -> Result<Self, ToolSetError> {
        let folders = Folders::open("list_files", folders)?;
        let mut properties = Properties::new();
        properties.with_default::<String>(
            "path",
            "The folder, relative to the folder of files or absolute",
            ".".into(),
        );
        properties.optional::<String>("pattern", "Only what fits it, such as *.md or notes/*.txt");
        properties.with_default::<u32>("depth", "How many levels of folders to look into, 1 to 16", 1.into());
        let description = "Lists the files and folders in a folder.";
        Ok(Self { spec: super::spec("list_files", description, properties), folders })
    }
}

impl Tool for ListFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn binding(&self) -> Vec<Bound> {
        vec![self.folders.binding()]
    }

    fn call(&self, _context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let mut args = Args::new(args)?;
            let path: String = args.or_else("path", || ".".to_owned())?;
            let pattern: Option<String> = args.optional("pattern")?;
            let depth: u32 = args.or_else("depth", || 1)?;
            let folders = self.folders.clone();
            blocking(move || {
                let place = folders.place(&path)?;
                let dir = place.dir.open_dir(&place.path).map_err(|error| io_error(&path, &error))?;
                let folder: PathBuf = place.prefix.join(&place.path).components().collect();
                let mut listing = Listing::new(pattern.as_deref());
                listing
                    .walk(&dir, Path::new(""), depth.clamp(1, MAX_LEVELS))
                    .map_err(|error| io_error(&path, &error))?;
                Ok(listing.rendered(&folder).into())
            })
            .await
        })
    }
}

/// Entries found so far.
struct Listing {
    pattern: Option<String>,
    /// Whether the pattern speaks of paths.
    whole: bool,
    /// Paths below the listed folder.
    found: Vec<PathBuf>,
    seen: usize,
    compared: usize,
    cut: Option<&'static str>,
}

impl Listing {
    fn new(pattern: Option<&str>) -> Self {
        let whole = pattern.is_some_and(|pattern| pattern.contains('/'));
        Self {
            pattern: pattern.map(str::to_owned),
            whole,
            found: Vec::new(),
            seen: 0,
            compared: 0,
            cut: None,
        }
    }

    fn walk(&mut self, dir: &Dir, parent: &Path, depth: u32) -> std::io::Result<()> {
        for (name, kind) in self.entries(dir)? {
            let path = parent.join(&name);
            if self.fits(&path, &name) {
                if self.found.len() == MAX_ENTRIES {
                    self.cut =
                        Some("1000 entries are shown and there are more: use a pattern or a folder below");
                    return Ok(());
                }
                // A path that ends with a slash is a folder's.
                self.found.push(if kind.is_dir() { path.join("") } else { path.clone() });
            }
            if kind.is_dir() && depth > 1 && self.cut.is_none() {
                // A folder that may not be read hides its entries, not those beside it.
                if let Ok(inner) = dir.open_dir(&name) {
                    self.walk(&inner, &path, depth - 1).or_else(unless_denied)?;
                }
            }
        }
        Ok(())
    }

    /// The entries of a folder, sorted by name.
    fn entries(&mut self, dir: &Dir) -> std::io::Result<Vec<(String, FileType)>> {
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            if self.seen == MAX_SEEN {
                self.cut = Some("100000 entries were looked at and there are more: use a folder below");
                break;
            }
            self.seen += 1;
            let entry = entry?;
            entries.push((entry.file_name().to_string_lossy().into_owned(), entry.file_type()?));
        }
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(entries)
    }

    fn fits(&mut self, path: &Path, name: &str) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        let text = if self.whole { path.to_string_lossy() } else { name.into() };
        self.compared = self.compared.saturating_add(pattern.len().saturating_mul(text.len()));
        if self.compared > MAX_COMPARED {
            self.cut =
                Some("the pattern is too long for so many entries: use a shorter one or a folder below");
            return false;
        }
        covers(pattern, &text)
    }

    fn rendered(&self, folder: &Path) -> String {
        let mut lines: Vec<String> = self
            .found
            .iter()
            .map(|path| {
                let path = folder.join(path).to_string_lossy().into_owned();
                path.strip_prefix("./").map_or(path.clone(), str::to_owned)
            })
            .collect();
        if lines.is_empty() {
            let nothing = if self.pattern.is_some() {
                "[nothing matches the pattern]"
            } else {
                "[the folder is empty]"
            };
            lines.push(nothing.to_owned());
        }
        lines.extend(self.cut.map(|cut| format!("[{cut}]")));
        lines.join("\n")
    }
}

fn unless_denied(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::PermissionDenied { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests;
