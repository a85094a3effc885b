//! The files of a skill's folder.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use super::{ACTIVATE, Skill};
use crate::builtin::folders::{Folders, io_error, open_file};
use crate::builtin::read_file;
use crate::tool::ToolError;

/// The file with the instructions.
pub const SKILL_FILE: &str = "SKILL.md";

/// Stands between a file's path and the name of its skill, at the beginning of a result.
pub(super) const OF_SKILL: &str = " of skill '";

/// Maximum number of files that an activation lists.
const MAX_FILES: usize = 50;

/// Maximum number of entries of a folder that an activation looks at.
const MAX_SEEN: usize = 1_000;

/// Maximum depth of folders in which an activation looks for files.
const MAX_LEVELS: u32 = 4;

/// A file of a skill from a line on, as a model is given it.
pub(super) fn read(skill: &Skill, file: &str, from_line: u64) -> Result<String, ToolError> {
    let folders = opened(skill)?;
    let place = folders.place(file)?;
    let found = open_file(&place, file)?;
    let text = read_file::read(BufReader::new(found), file, from_line.max(1), None)?;
    Ok(format!("{file}{OF_SKILL}{}':\n\n{text}", skill.name))
}

fn opened(skill: &Skill) -> Result<Folders, ToolError> {
    Folders::open(ACTIVATE, std::slice::from_ref(&skill.folder))
        .map_err(|error| ToolError::of_kind("NoFolder", format!("the folder of the skill is gone: {error}")))
}

/// The files beside its instructions, in words; empty: there are none.
pub(super) fn listed(skill: &Skill) -> String {
    let found = opened(skill).and_then(|folders| {
        let place = folders.place(".")?;
        let mut listing = Listing::default();
        let dir = place.dir.open_dir(&place.path).map_err(|error| io_error(".", &error))?;
        listing.walk(&dir, Path::new(""), MAX_LEVELS).map_err(|error| io_error(".", &error))?;
        Ok(listing)
    });
    match found {
        Ok(listing) => listing.words(),
        // Its instructions can be followed all the same.
        Err(error) => format!("Its other files cannot be read: {}", error.message),
    }
}

#[derive(Default)]
struct Listing {
    files: Vec<String>,
    seen: usize,
    /// Whether there are more.
    cut: bool,
}

impl Listing {
    fn walk(&mut self, dir: &Dir, parent: &Path, levels: u32) -> std::io::Result<()> {
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            self.seen += 1;
            if self.seen > MAX_SEEN {
                self.cut = true;
                break;
            }
            let entry = entry?;
            entries.push((PathBuf::from(entry.file_name()), entry.file_type()?.is_dir()));
        }
        entries.sort();
        for (name, is_dir) in entries {
            let (path, hidden) = (parent.join(&name), name.as_os_str().as_encoded_bytes().starts_with(b"."));
            if hidden || path == Path::new(SKILL_FILE) || self.cut {
                continue;
            }
            if !is_dir {
                self.cut = self.files.len() == MAX_FILES;
                if !self.cut {
                    self.files.push(path.to_string_lossy().into_owned());
                }
            } else if levels > 1 {
                // A folder that may not be read hides its files, not those beside it.
                if let Ok(inner) = dir.open_dir(&name) {
                    self.walk(&inner, &path, levels - 1)?;
                }
            }
        }
        Ok(())
    }

    fn words(&self) -> String {
        if self.files.is_empty() {
            return String::new();
        }
        let more = if self.cut { "\n- and more, which are not listed" } else { "" };
        format!(
            "Other files of this skill, each read with `{ACTIVATE}` and `file` when the instructions need it:\n- {}{more}",
            self.files.join("\n- ")
        )
    }
}
