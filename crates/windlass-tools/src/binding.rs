//! Binding of a tool's calls, beside its spec and their arguments: commands, variables, folders, hosts, servers.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use windlass_core::Text;
use windlass_core::secret::Secret;

/// One thing that decides what a tool's calls do. A change of it is a change of the agent, and an approval that was asked
/// for before does not count after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Name of the part: `command`, `variable TOKEN`, `folders`.
    pub what: Text,
    /// Its text in the agent's digest, in clear. `None`: only its presence enters, because its value may be secret or may
    /// change while the agent stays the same.
    pub cleartext: Option<Text>,
    /// Its value as it will be used. It enters the log as a salted digest only.
    pub value: Secret,
}

impl Bound {
    /// Something that is no secret.
    pub fn open(what: impl Into<Text>, value: impl Display) -> Self {
        let value = value.to_string();
        Self { what: what.into(), cleartext: Some(value.as_str().into()), value: Secret::unmasked(value) }
    }

    /// Something that may be a secret, or change while the agent stays the same.
    pub fn hidden(what: impl Into<Text>, value: impl Into<Arc<str>>) -> Self {
        // Secrets from files and programs were registered for masking when they were read.
        Self { what: what.into(), cleartext: None, value: Secret::unmasked(value) }
    }

    /// A folder in which something starts: an agent that moved with its folder is the same one, but where a link leads
    /// elsewhere, something else starts there.
    pub fn folder(path: &Path) -> Self {
        Self::hidden("folder", real(path).to_string_lossy().into_owned())
    }

    /// A file or folder that is no secret: it enters the digest of the agent as it is named, an approval also with where
    /// links lead.
    pub fn place(what: impl Into<Text>, path: &Path) -> Self {
        let (named, real) = (path.to_string_lossy(), real(path));
        let value =
            if real == path { named.to_string() } else { json!([named, real.to_string_lossy()]).to_string() };
        Self { what: what.into(), cleartext: Some((*named).into()), value: Secret::unmasked(value) }
    }
}

/// A path without links, as far as there is something at it.
fn real(path: &Path) -> PathBuf {
    let known = |ancestor: &Path| {
        let rest = path.strip_prefix(ancestor).ok()?;
        ancestor
            .canonicalize()
            .ok()
            .map(|real| if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    };
    path.ancestors().find_map(known).unwrap_or_else(|| path.to_owned())
}
