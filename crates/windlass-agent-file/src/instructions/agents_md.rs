//! The key `agents_md`: the `AGENTS.md` of a folder as instructions, after the agent's own.

use std::io::ErrorKind;
use std::path::PathBuf;

use schemars::json_schema;
use serde::de::SeqAccess;
use serde::{Deserialize, Deserializer};

use crate::files::plain;
use crate::kinds::Filled;
use crate::reading::Reading;
use crate::yaml::{At, Kind, OfKind, Valued, YamlError, of_kind};

/// The file's name.
const AGENTS_MD: &str = "AGENTS.md";

/// The largest `AGENTS.md`, in bytes: each request has it.
pub const MAX_AGENTS_MD_BYTES: u64 = 65_536;

/// Instructions of a folder for all agents that work in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentsMd {
    /// The folder in which people work, or the one that the agent's file names.
    pub folder: PathBuf,
    /// The folder of the repository's root, or the same.
    pub root: PathBuf,
    /// The nearest file and its text; `None`: there is none.
    pub found: Option<(PathBuf, String)>,
}

impl AgentsMd {
    /// The part of the system message; `None`: there is no file, or nothing in it.
    pub fn section(&self) -> Option<String> {
        let (_, text) = self.found.as_ref()?;
        let text = text.trim();
        (!text.is_empty()).then(|| format!("# Instructions of the folder ({AGENTS_MD})\n\n{text}"))
    }
}

/// Whether the file of the working folder is read, or the folder to begin with.
#[derive(Clone, Debug)]
pub(crate) enum AgentsMdKey {
    Working(bool),
    Folder(Filled),
}

impl OfKind for AgentsMdKey {
    const EXPECTED: &'static str = "true, false or a folder";

    fn of_kind<'de, A: SeqAccess<'de>>(kind: Kind, value: Valued<A>) -> Option<Result<Self, A::Error>> {
        match kind {
            Kind::Flag => Some(value.read().map(Self::Working)),
            Kind::Text => Some(value.read().map(Self::Folder)),
            Kind::Nothing | Kind::Number | Kind::List | Kind::Map => None,
        }
    }
}

impl<'de> Deserialize<'de> for AgentsMdKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_kind(deserializer)
    }
}

windlass_core::schema_as!(inline [] AgentsMdKey, "agentsMd", |_| {
    json_schema!({ "oneOf": [{ "type": "boolean" }, { "type": "string", "minLength": 1 }] })
});

/// The file that the key asks for. Its text is noted: it is a part of the agent.
pub(crate) fn read(key: &At<AgentsMdKey>, reading: &Reading<'_>) -> Result<Option<AgentsMd>, YamlError> {
    let folder = match &key.value {
        AgentsMdKey::Working(false) => return Ok(None),
        AgentsMdKey::Folder(folder) => plain(&reading.path(&folder.0)),
        AgentsMdKey::Working(true) => reading
            .working_folder()
            .ok_or_else(|| key.error("agent.agents_md", "the working folder is not known"))?,
    };
    let folders = reading.files.ancestors(&folder);
    let root = folders.last().cloned().unwrap_or_else(|| folder.clone());
    for folder_of_file in folders {
        let path = folder_of_file.join(AGENTS_MD);
        let failed = |reason: String| {
            let message = format!("{} cannot be read: {reason}", path.display());
            key.error("agent.agents_md", message)
                .with_help(format!("without `{}` the agent does not read it", key.path))
        };
        let bytes = match reading.files.read(&path, MAX_AGENTS_MD_BYTES) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            read => read.map_err(|error| failed(error.to_string()))?,
        };
        if reading.files.leads_out(&path, &root) {
            return Err(failed(format!("it is a link that leads out of {}", root.display())));
        }
        let text = crate::files::text_of(bytes).map_err(failed)?;
        reading.note(&path, &text);
        return Ok(Some(AgentsMd { folder, root, found: Some((path, text)) }));
    }
    Ok(Some(AgentsMd { folder, root, found: None }))
}

#[cfg(test)]
mod tests;
