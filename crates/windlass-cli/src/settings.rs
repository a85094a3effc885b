//! The user's settings: `settings.json` in Windlass's folder.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windlass_runtime::agent_file::files;

use crate::failure::{Exit, Failure};
use crate::home;

/// The most bytes of settings that are read.
const MAX_BYTES: u64 = 1024 * 1024;

/// The settings that are kept. Those of a later version stay as they are.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Settings {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default_agent: Option<PathBuf>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// The agent file that answers questions without one, if the user has set one.
pub(crate) fn default_agent() -> Result<Option<PathBuf>, Failure> {
    // Without a folder there are no settings.
    let Ok(home) = home::folder() else { return Ok(None) };
    Ok(read(&home)?.default_agent)
}

/// Sets the agent file that answers questions without one, or none. Returns the former one.
pub(crate) fn set_default_agent(agent: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    let home = home::folder()?;
    let mut settings = read(&home)?;
    let former = std::mem::replace(&mut settings.default_agent, agent.map(home::absolute));
    let path = file(&home);
    let text = serde_json::to_vec_pretty(&settings).unwrap_or_default();
    home::replace(&path, &text).map_err(|error| {
        Failure::new(Exit::Internal, format!("cannot write the settings {}", path.display()))
            .cause(error.to_string())
    })?;
    Ok(former)
}

/// The file of the settings, whether it is there or not.
pub(crate) fn path() -> Result<PathBuf, Failure> {
    Ok(file(&home::folder()?))
}

fn file(home: &Path) -> PathBuf {
    home.join("settings.json")
}

fn read(home: &Path) -> Result<Settings, Failure> {
    let path = file(home);
    let unusable = |cause: String| {
        Failure::new(Exit::BadFile, format!("cannot read the settings {}", path.display()))
            .cause(cause)
            .hint("repair the file, or remove it")
    };
    match files::read(&path, MAX_BYTES) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| unusable(error.to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Settings::default()),
        Err(error) => Err(unusable(error.to_string())),
    }
}
