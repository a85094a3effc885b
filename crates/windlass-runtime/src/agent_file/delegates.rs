//! Delegates: other agents, each offered as a tool of its name.

use std::path::PathBuf;

use windlass_core::{Merge, Secret};

use super::address::Address;
use super::reading::Reading;
use super::tools::tool_name;
use super::{AgentFile, keys_of_agent};
use crate::yaml::{Field, NodeValue, Place, YamlError};

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

pub(super) fn decode(field: &Field<'_>, reading: &mut Reading<'_>) -> Result<Vec<DelegateEntry>, YamlError> {
    field.list()?.iter().map(|item| entry(item, reading)).collect()
}

fn entry(field: &Field<'_>, reading: &mut Reading<'_>) -> Result<DelegateEntry, YamlError> {
    const EXPECTED: &str = "the path of an agent file, { name, a2a } or { name, branch }";
    let place = field.node.place();
    if matches!(field.node.value, NodeValue::String(_)) {
        return Ok(DelegateEntry::File { path: reading.path(field)?, name: None, place });
    }
    let mut map = field.map().map_err(|_| field.wrong(EXPECTED))?;
    let name = tool_name(&map.required("name")?)?;
    let description = map.maybe("description", |text| text.text().map(str::to_owned))?;
    let entry = match (map.has("a2a"), map.has("branch")) {
        (true, false) => {
            let url = reading.address(&map.required("a2a")?)?;
            let headers = map.or("headers", Vec::new(), |headers| reading.secrets(&headers))?;
            DelegateEntry::A2a { name, url, headers, description, place }
        }
        (false, true) => {
            let branch = map.required("branch")?;
            let mut keys = branch.map()?;
            let merges = [("end_result", Merge::EndResult), ("summarize", Merge::Summarize)];
            let merge = keys.or("merge", Merge::default(), |merge| merge.choice(&merges))?;
            if !keys.has("instructions") {
                return Err(keys.missing("instructions"));
            }
            let mut file = keys_of_agent(branch.node, keys, name, reading)?;
            file.description = description.unwrap_or(file.description);
            DelegateEntry::Branch { file: Box::new(file), merge, place }
        }
        _ => {
            // A misspelt key is said first.
            map.allow(&["a2a", "branch", "headers"]);
            map.finish()?;
            let message = format!("`{}` needs exactly one of `a2a` or `branch`", field.path);
            return Err(field.error("agent.delegate", message));
        }
    };
    map.finish()?;
    Ok(entry)
}
