//! Settings of a loop from a program: what can be wrong with them.

use thiserror::Error;
use windlass_agent_file::LaterKey;
use windlass_agent_file::yaml::YamlError;
use windlass_error::Diagnostic;

/// Settings of a loop that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[non_exhaustive]
pub enum SettingsError {
    /// Something does not fit.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(#[from] YamlError),
    /// This version cannot do it yet.
    #[error("`{path}: {value}` is not available in this version")]
    #[diagnostic(kind = Invalid, code = "policy.later", help = "CHANGELOG.md lists the features of this version")]
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
