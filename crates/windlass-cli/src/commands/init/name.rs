//! Names that people give: of an agent and its folder, of a model.

use std::path::{Component, Path, PathBuf};

use windlass_core::text::is_unseen;

use crate::failure::{Exit, Failure};

/// Maximum number of characters of an agent's name.
const MAX_CHARS: usize = 64;
/// The name where the folder's is none.
pub(super) const ASSISTANT: &str = "assistant";

/// An agent's name, and the folder that it is written into.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) folder: PathBuf,
}

impl Named {
    /// By a folder alone.
    pub(super) fn by_folder(folder: &Path) -> Self {
        Self { name: of_folder(folder), folder: folder.to_owned() }
    }

    /// By a name. Without a folder it is also that of a new one, and `.` means this folder.
    pub(super) fn by_name(name: &str, folder: Option<&Path>) -> Result<Self, Failure> {
        if let Some(folder) = folder {
            return Ok(Self { name: checked(name)?, folder: folder.to_owned() });
        }
        if name.trim() == "." {
            return Ok(Self::by_folder(Path::new(".")));
        }
        let name = checked(name)?;
        let folder = PathBuf::from(&name);
        let parts: Vec<_> = folder.components().collect();
        match parts.as_slice() {
            [Component::Normal(part)] if **part == *name => match std::fs::symlink_metadata(&folder) {
                Ok(_) => Err(Failure::new(Exit::Failed, format!("`{name}` is already there"))
                    .hint("give another name, or write into a folder that is there: `windlass init DIR`")),
                Err(_) => Ok(Self { name, folder }),
            },
            _ => Err(Failure::new(Exit::Usage, format!("no new folder can be called `{name}`"))
                .hint("name the folder, too: `windlass init DIR --name NAME`")),
        }
    }
}

/// An agent's name, without the space around it.
pub(super) fn checked(name: &str) -> Result<String, Failure> {
    let name = name.trim();
    visible(name, "the agent's name")?;
    if name.chars().count() > MAX_CHARS {
        return Err(Failure::new(
            Exit::Usage,
            format!("the agent's name has more than {MAX_CHARS} characters"),
        )
        .hint("give a shorter one"));
    }
    Ok(name.to_owned())
}

/// Refuses a name that is empty, or has characters that nobody sees.
pub(super) fn visible(name: &str, what: &str) -> Result<(), Failure> {
    if name.is_empty() {
        return Err(
            Failure::new(Exit::Usage, format!("{what} is empty")).hint("give a word, or leave it out")
        );
    }
    match name.chars().find(|char| char.is_control() || is_unseen(*char)) {
        Some(char) => Err(Failure::new(
            Exit::Usage,
            format!("{what} has a character that nobody sees, {}", char.escape_unicode()),
        )
        .hint("give letters, digits, spaces and signs on one line")),
        None => Ok(()),
    }
}

/// The name of a folder, whether it is there or not.
pub(super) fn of_folder(folder: &Path) -> String {
    let whole = std::fs::canonicalize(folder).or_else(|_| std::path::absolute(folder));
    let name = whole.ok().and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
    name.and_then(|name| checked(&name).ok()).unwrap_or_else(|| ASSISTANT.to_owned())
}
