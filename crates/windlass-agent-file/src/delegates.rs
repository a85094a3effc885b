//! Delegates: other agents, each offered as a tool of its name.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::policy::Merge;
use windlass_core::secret::Secret;

use super::AgentFile;
use super::address::Address;
use super::keys::BranchKeys;
use super::kinds::{AddressText, Filled, Pairs, SecretText, Short, TextOr, ToolName};
use super::reading::Reading;
use crate::yaml::{At, Place, Problem, YamlError};

/// Another agent that this one can hand a task to.
#[derive(Clone, Debug)]
pub enum DelegateEntry {
    /// An agent of its own file.
    File {
        /// The file.
        path: PathBuf,
        /// Name of the delegate; `None`: the name in its file.
        name: Option<String>,
        /// Description for the model; `None`: the one in its file.
        description: Option<String>,
        /// Position of the entry.
        place: Place,
    },
    /// A remote agent that speaks A2A.
    A2a {
        /// Its name here.
        name: String,
        /// Address of the remote agent.
        url: Address,
        /// More headers.
        headers: Vec<(String, Secret)>,
        /// Description for the model; `None`: the one on its card.
        description: Option<String>,
        /// Position of the entry.
        place: Place,
    },
    /// A branch of this agent: it inherits history and tools.
    Branch {
        /// The branch's agent file.
        file: Box<AgentFile>,
        /// Default merge mode.
        merge: Merge,
        /// Position of the entry.
        place: Place,
    },
}

impl DelegateEntry {
    /// Its name; for a file that has not been read, the file's name without its ending.
    pub fn name(&self) -> String {
        match self {
            Self::File { name: None, path, .. } => {
                path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
            }
            Self::File { name: Some(name), .. } | Self::A2a { name, .. } => name.clone(),
            Self::Branch { file, .. } => file.name.clone(),
        }
    }

    /// Position of the entry.
    pub fn place(&self) -> Place {
        match self {
            Self::File { place, .. } | Self::A2a { place, .. } | Self::Branch { place, .. } => *place,
        }
    }

    /// Kind of the delegate, for messages about name clashes.
    pub fn origin(&self) -> &'static str {
        match self {
            Self::File { .. } => "agent file",
            Self::A2a { .. } => "a2a",
            Self::Branch { .. } => "branch",
        }
    }
}

/// An agent of its own file, a remote agent that speaks A2A, or a branch of this agent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "delegate", extend("oneOf" = [
    { "required": ["file"], "properties": { "headers": false } },
    { "required": ["name", "a2a"] },
    { "required": ["name", "branch"], "properties": { "headers": false } },
]))]
pub(super) struct DelegateKeys {
    /// The name that the model calls it by. An agent file has a default: the name in it.
    name: Option<ToolName>,
    /// Description for the model. Default: the one of the agent.
    description: Option<String>,
    /// Path of an agent file, from the folder of this file.
    file: Option<At<Filled>>,
    /// Address of the remote agent.
    a2a: Option<At<AddressText>>,
    /// More headers for every request to a remote agent.
    headers: Option<At<Pairs<At<SecretText>>>>,
    /// A branch: it begins with this agent's conversation and may call its tools.
    branch: Option<Box<At<BranchKeys>>>,
}

impl Short for DelegateKeys {
    const EXPECTED: &'static str =
        "the path of an agent file, { name, file }, { name, a2a } or { name, branch }";
}

pub(super) fn entry(
    delegate: &At<TextOr<DelegateKeys>>,
    reading: &mut Reading<'_>,
) -> Result<DelegateEntry, YamlError> {
    let place = delegate.place;
    let keys = match &delegate.value {
        TextOr::Text(path) => {
            let path = without_dots(&reading.path(&path.0));
            return Ok(DelegateEntry::File { path, name: None, description: None, place });
        }
        TextOr::Map(keys) => keys.clone(),
    };
    if let (Some(headers), None) = (&keys.headers, &keys.a2a) {
        let message = format!("`{}` has `headers`, which is valid only with `a2a`", delegate.path);
        return Err(headers.error("agent.delegate", message));
    }
    let (name, description) = (keys.name.map(|name| name.0), keys.description);
    let needed = |name: Option<String>| {
        name.ok_or_else(|| {
            let problem = Problem::MissingKey { path: delegate.path.clone(), key: "name".to_owned() };
            YamlError::new(place, format!("{}.name", delegate.path), problem)
        })
    };
    match (keys.file, keys.a2a, keys.branch) {
        (Some(file), None, None) => {
            let path = without_dots(&reading.path(&file.value.0));
            Ok(DelegateEntry::File { path, name, description, place: file.place })
        }
        (None, Some(url), None) => {
            let (name, url) = (needed(name)?, reading.address(&url)?);
            let headers = keys.headers.map_or(Ok(Vec::new()), |headers| reading.secrets(&headers.value))?;
            Ok(DelegateEntry::A2a { name, url, headers, description, place })
        }
        (None, None, Some(branch)) => {
            let (mut file, merge) = branch.file(needed(name)?, reading)?;
            file.description = description.unwrap_or(file.description);
            Ok(DelegateEntry::Branch { file: Box::new(file), merge, place })
        }
        _ => {
            let message = format!("`{}` needs exactly one of `file`, `a2a` or `branch`", delegate.path);
            Err(delegate.error("agent.delegate", message))
        }
    }
}

/// The path without `./` in it.
fn without_dots(path: &Path) -> PathBuf {
    path.components().collect()
}
