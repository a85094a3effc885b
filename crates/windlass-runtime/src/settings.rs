//! Settings of a loop from a program: what can be wrong with them.

use thiserror::Error;

use crate::agent_file::LaterKey;
use crate::yaml::YamlError;

/// Settings of a loop that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// Something does not fit.
    #[error(transparent)]
    Invalid(#[from] YamlError),
    /// This version cannot do it yet.
    #[error("`{path}: {value}` is not available in this version")]
    Later {
        /// The key, as a dotted path.
        path: String,
        /// Its value.
        value: String,
    },
}

impl From<LaterKey> for SettingsError {
    fn from(LaterKey { path, value, .. }: LaterKey) -> Self {
        Self::Later { path, value }
    }
}

impl SettingsError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid(error) => error.code(),
            Self::Later { .. } => "policy.later",
        }
    }

    /// A remedy, in words.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Invalid(error) => error.help(),
            Self::Later { .. } => Some("CHANGELOG.md lists the features of this version".to_owned()),
        }
    }
}
