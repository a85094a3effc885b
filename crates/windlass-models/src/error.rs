//! Owns [`ModelError`]: what keeps a model from being named, built or listed. Failures of calls are
//! [`ModelFailure`](windlass_core::model::ModelFailure)s.

use windlass_core::model::ModelFailure;

use crate::HttpError;

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No provider has this name.
    #[error("unknown model provider `{name}`")]
    UnknownProvider {
        /// The name.
        name: String,
        /// Names that are close to it, else all.
        nearest: Vec<String>,
    },
    /// This build has none of the wires that the provider speaks.
    #[error("`{name}` speaks {wires}, which this build does not have")]
    NoWire {
        /// The model's name.
        name: String,
        /// The wires' names.
        wires: String,
    },
    /// A part of the provider's address stands in a variable that is not set.
    #[error("the address of `{name}` needs {variable}, which is not set")]
    MissingVariable {
        /// The model's name.
        name: String,
        /// The environment variable.
        variable: String,
    },
    /// The name is a provider's without a model.
    #[error("`{name}` does not name a model")]
    NoModel {
        /// The name.
        name: String,
    },
    /// The provider needs a key.
    #[error("`{name}` needs an API key, but {variable} is not set")]
    MissingKey {
        /// The model's name.
        name: String,
        /// The environment variable that was looked at.
        variable: String,
    },
    /// The provider needs an address.
    #[error("`{name}` needs a base_url")]
    MissingBaseUrl {
        /// The model's name.
        name: String,
    },
    /// The address is none.
    #[error("invalid base URL `{url}`: {reason}")]
    BadBaseUrl {
        /// The address, without a password.
        url: String,
        /// The error.
        reason: String,
    },
    /// A header's name or value cannot be sent (RFC 9110, 5.5).
    #[error("invalid header `{name}`")]
    BadHeader {
        /// The header's name.
        name: String,
    },
    /// `WINDLASS_OFFLINE` forbids calls to the model's server, which is on another machine.
    #[error("`{name}` is on {host}, and WINDLASS_OFFLINE forbids calls of models on other machines")]
    Offline {
        /// The model's name.
        name: String,
        /// The server, as `host:port`.
        host: String,
    },
    /// The provider cannot be reached at this address.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The provider was asked and did not answer as it should.
    #[error("{}", .0.message)]
    Failed(Box<ModelFailure>),
}

impl ModelError {
    /// A stable name of the kind of error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownProvider { .. } => "unknown_provider",
            Self::NoWire { .. } => "no_wire",
            Self::MissingVariable { .. } => "missing_variable",
            Self::NoModel { .. } => "no_model",
            Self::MissingKey { .. } => "missing_key",
            Self::MissingBaseUrl { .. } => "missing_base_url",
            Self::BadBaseUrl { .. } => "bad_base_url",
            Self::BadHeader { .. } => "bad_header",
            Self::Offline { .. } => "offline",
            Self::Http(_) => "http",
            Self::Failed(_) => "model_failed",
        }
    }

    /// A remedy, in words.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::UnknownProvider { nearest, .. } => Some(format!("did you mean {}?", nearest.join(", "))),
            Self::NoWire { .. } => Some("name another wire with `api` beside the model".to_owned()),
            Self::MissingVariable { variable, .. } => {
                Some(format!("set {variable}, or `base_url` beside the model in the agent file"))
            }
            Self::NoModel { name } => {
                let name = name.trim_end_matches('/');
                Some(format!("write {name}/MODEL; `windlass models list` lists the models"))
            }
            Self::MissingKey { variable, .. } => {
                let first = variable.split(' ').next().unwrap_or_default();
                Some(format!("set {variable}, or `key: \"${{{first}}}\"` beside `use` in the agent file"))
            }
            Self::MissingBaseUrl { .. } => {
                Some("set base_url, such as http://127.0.0.1:8080/v1, in the agent file".to_owned())
            }
            Self::BadBaseUrl { .. } => Some("write it like https://api.example.com/v1".to_owned()),
            Self::BadHeader { .. } => {
                Some("names are letters, digits and dashes; values are visible ASCII on one line".to_owned())
            }
            Self::Offline { .. } => Some(
                "unset WINDLASS_OFFLINE to ask it; models on loopback addresses, `tour` and cassettes \
                 (`--replay FILE`) work offline"
                    .to_owned(),
            ),
            Self::Http(_) | Self::Failed(_) => None,
        }
    }
}
