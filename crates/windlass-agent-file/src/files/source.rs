//! The files that an agent was made of, as they are kept with the runs that it begins (E71).
//!
//! A run goes on with the agent that it began with, whatever happens to the files meanwhile. Environment variables stand in the texts
//! by name (`${NAME}`). A secret that stands in a file as it is never enters a log: such a file is kept masked, and then only the one
//! on the disk can go on with the run.

mod overrides;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use windlass_core::secret::mask;
use windlass_error::Diagnostic;
use windlass_models::resolve::Env;

use crate::AgentFile;
use crate::error::AgentFileError;
use crate::files::Files;

pub use overrides::FileOverrides;

/// Replaces a secret that stands in a file.
const MASK: &str = "***";

/// The texts of an agent's file and of all that it names: instructions, templates, and the files of its delegates with theirs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentSource {
    /// The agent's own file, from the root of the file system.
    pub file: PathBuf,
    /// Settings that a caller put over the file's.
    #[serde(default, skip_serializing_if = "FileOverrides::is_empty")]
    pub overrides: FileOverrides,
    /// The texts by path.
    pub texts: BTreeMap<PathBuf, String>,
    /// The folder in which people worked with the agent, where that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_folder: Option<PathBuf>,
    /// Whether a secret was taken out of a text: then no agent can be made of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub masked: bool,
}

/// Bytes that are no agent's source.
#[derive(Debug, Error, Diagnostic)]
#[error("the stored files of the agent cannot be read")]
#[diagnostic(kind = Internal, code = "agent.source")]
pub struct SourceError(#[source] serde_json::Error);

/// A path from the root of the file system.
pub(crate) fn key_of(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

impl AgentSource {
    /// The source of an agent's file; `None`: it stands within another document. The files of its delegates are [added](Self::add).
    pub fn of(file: &AgentFile, overrides: FileOverrides) -> Option<Self> {
        let (own, _) = file.texts.first()?;
        let mut source = Self {
            file: own.clone(),
            overrides,
            texts: BTreeMap::new(),
            working_folder: None,
            masked: false,
        };
        source.add(file);
        Some(source)
    }

    /// Adds the texts of another file that belongs to the agent.
    pub fn add(&mut self, file: &AgentFile) {
        self.working_folder = self.working_folder.take().or_else(|| file.working_folder.clone());
        for (path, text) in &file.texts {
            let mut kept = mask(text);
            for secret in &file.literal_secrets {
                if kept.contains(secret.as_str()) {
                    kept = Cow::Owned(kept.replace(secret, MASK));
                }
            }
            self.masked |= matches!(kept, Cow::Owned(_));
            self.texts.insert(path.clone(), kept.into_owned());
        }
    }

    /// The source as a log keeps it; `None`: one of its paths is no text.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(self).ok()
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// They are no source.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SourceError> {
        serde_json::from_slice(bytes).map_err(SourceError)
    }

    /// Reads the agent's file, with the settings over it. `models` are the ones that stand in for `auto`.
    ///
    /// # Errors
    /// A variable that it names is not set, or it does not fit this version.
    pub fn agent_file(&self, env: Env<'_>, models: &[String]) -> Result<AgentFile, AgentFileError> {
        let env = |name: &str| self.overrides.variable(name, env);
        let mut file = AgentFile::read_from(self, &self.file, &env)?;
        self.overrides.apply(&mut file, models);
        Ok(file)
    }
}

impl Files for AgentSource {
    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let text = self.texts.get(&key_of(path)).ok_or(io::ErrorKind::NotFound)?;
        if text.len() as u64 > most {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("it has more than {most} bytes"),
            ));
        }
        Ok(text.clone().into_bytes())
    }

    fn folders(&self, path: &Path) -> io::Result<Vec<String>> {
        let path = key_of(path);
        let name = |kept: &PathBuf| {
            let mut beneath = kept.strip_prefix(&path).ok()?.components();
            let first = beneath.next()?.as_os_str().to_str()?.to_owned();
            // What is beneath nothing else is a file.
            beneath.next().map(|_| first)
        };
        let mut names: Vec<String> = self.texts.keys().filter_map(name).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn leads_out(&self, _: &Path, _: &Path) -> bool {
        false
    }

    fn working_folder(&self) -> Option<PathBuf> {
        self.working_folder.clone()
    }

    fn ancestors(&self, folder: &Path) -> Vec<PathBuf> {
        // What lies above the root of the repository was not kept.
        folder.ancestors().map(Path::to_owned).collect()
    }
}

#[cfg(test)]
mod tests;
