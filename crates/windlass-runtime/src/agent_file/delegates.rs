//! Delegates: other agents, each offered as a tool of its name.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::policy::Merge;
use windlass_core::secret::Secret;

use super::AgentFile;
use super::address::Address;
use super::keys::BranchKeys;
use super::kinds::{AddressText, Pairs, SecretText, Short, TextOr, ToolName};
use super::reading::Reading;
use crate::yaml::{At, Place, YamlError};

/// Another agent that this one can hand a task to.
#[derive(Clone, Debug)]
pub enum DelegateEntry {
    /// An agent of its own file.
    File {
        /// The file.
        path: PathBuf,
        /// What it is called here; `None`: what the file says.
        name: Option<String>,
        /// Where the entry stands.
        place: Place,
    },
    /// A remote agent that speaks A2A.
    A2a {
        /// Its name here.
        name: String,
        /// Where it is.
        url: Address,
        /// More headers.
        headers: Vec<(String, Secret)>,
        /// What the model is told; `None`: what its card says.
        description: Option<String>,
        /// Where the entry stands.
        place: Place,
    },
    /// A branch of this agent: it inherits history and tools.
    Branch {
        /// What it is, as an agent file says it.
        file: Box<AgentFile>,
        /// How its end comes back.
        merge: Merge,
        /// Where the entry stands.
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

    /// Where the entry stands.
    pub fn place(&self) -> Place {
        match self {
            Self::File { place, .. } | Self::A2a { place, .. } | Self::Branch { place, .. } => *place,
        }
    }

    /// What it is, for messages about clashing names.
    pub fn origin(&self) -> &'static str {
        match self {
            Self::File { .. } => "agent file",
            Self::A2a { .. } => "a2a",
            Self::Branch { .. } => "branch",
        }
    }
}

/// A remote agent that speaks A2A, or a branch of this agent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "delegate", extend("oneOf" = [
    { "required": ["a2a"] },
    { "required": ["branch"], "properties": { "headers": false } },
]))]
pub(super) struct DelegateKeys {
    /// The name that the model calls it by.
    name: ToolName,
    /// What the model is told of it.
    description: Option<String>,
    /// Where the remote agent is.
    a2a: Option<At<AddressText>>,
    /// More headers for every request to a remote agent.
    headers: Option<At<Pairs<At<SecretText>>>>,
    /// A branch: it begins with this agent's conversation and may call its tools.
    branch: Option<Box<At<BranchKeys>>>,
}

impl Short for DelegateKeys {
    const EXPECTED: &'static str = "the path of an agent file, { name, a2a } or { name, branch }";
}

pub(super) fn entry(
    delegate: &At<TextOr<DelegateKeys>>,
    reading: &mut Reading<'_>,
) -> Result<DelegateEntry, YamlError> {
    let place = delegate.place;
    let keys = match &delegate.value {
        TextOr::Text(path) => {
            return Ok(DelegateEntry::File { path: reading.path(&path.0), name: None, place });
        }
        TextOr::Map(keys) => keys.clone(),
    };
    let (name, description) = (keys.name.0, keys.description);
    match (keys.a2a, keys.branch, keys.headers) {
        (Some(url), None, headers) => {
            let url = reading.address(&url)?;
            let headers = headers.map_or(Ok(Vec::new()), |headers| reading.secrets(&headers.value))?;
            Ok(DelegateEntry::A2a { name, url, headers, description, place })
        }
        (None, Some(_), Some(headers)) => {
            let message = format!("`{}` has `headers`, which goes with `a2a` only", delegate.path);
            Err(headers.error("agent.delegate", message))
        }
        (None, Some(branch), None) => {
            let (mut file, merge) = branch.file(name, reading)?;
            file.description = description.unwrap_or(file.description);
            Ok(DelegateEntry::Branch { file: Box::new(file), merge, place })
        }
        _ => {
            let message = format!("`{}` needs exactly one of `a2a` or `branch`", delegate.path);
            Err(delegate.error("agent.delegate", message))
        }
    }
}
