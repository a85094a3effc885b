//! Owns [`ModelError`]: what keeps a model from being named, built or listed. Failures of calls are
//! [`ModelFailure`](windlass_core::model::ModelFailure)s.

use windlass_core::model::{FailureKind, ModelFailure};
use windlass_error::{Diagnostic, Kind};
use windlass_http::HttpError;

/// The nearest names, or all where none is near.
fn near(names: &[String]) -> String {
    let all = names.join(", ");
    if names.len() > CLOSE {
        format!("with a `base_url` any name goes; else the providers are {all}")
    } else {
        format!("did you mean {all}?")
    }
}

/// Names that one may have meant; more are a list.
const CLOSE: usize = 4;

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum ModelError {
    /// No provider has this name.
    #[error("unknown model provider `{name}`")]
    #[diagnostic(kind = Invalid, code = "unknown_provider", help = near(nearest))]
    UnknownProvider {
        /// The name.
        name: String,
        /// Names that are close to it, else all.
        nearest: Vec<String>,
    },
    /// This build has none of the wires that the provider speaks.
    #[error("`{name}` speaks {wires}, which this build does not have")]
    #[diagnostic(kind = Invalid, code = "no_wire", help = "name another wire with `api` beside the model")]
    NoWire {
        /// The model's name.
        name: String,
        /// The wires' names.
        wires: String,
    },
    /// A part of the provider's address stands in a variable that is not set.
    #[error("the address of `{name}` needs {variable}, which is not set")]
    #[diagnostic(
        kind = Invalid,
        code = "missing_variable",
        help = "set {variable}, or `base_url` beside the model in the agent file"
    )]
    MissingVariable {
        /// The model's name.
        name: String,
        /// The environment variable.
        variable: String,
    },
    /// The name is a provider's without a model.
    #[error("`{name}` does not name a model")]
    #[diagnostic(kind = Invalid, code = "no_model", help = format!("write {}/MODEL", name.trim_end_matches('/')))]
    NoModel {
        /// The name.
        name: String,
    },
    /// The provider needs a key.
    #[error("`{name}` needs an API key, but {variable} is not set")]
    #[diagnostic(kind = Unavailable, code = "missing_key", help = set_key(variable))]
    MissingKey {
        /// The model's name.
        name: String,
        /// The environment variable that was looked at.
        variable: String,
    },
    /// The provider needs an address.
    #[error("`{name}` needs a base_url")]
    #[diagnostic(
        kind = Invalid,
        code = "missing_base_url",
        help = "set base_url, such as http://127.0.0.1:8080/v1, in the agent file"
    )]
    MissingBaseUrl {
        /// The model's name.
        name: String,
    },
    /// The address is none.
    #[error("invalid base URL `{url}`: {reason}")]
    #[diagnostic(kind = Invalid, code = "bad_base_url", help = "write it like https://api.example.com/v1")]
    BadBaseUrl {
        /// The address, without a password.
        url: String,
        /// The error.
        reason: String,
    },
    /// A header's name or value cannot be sent (RFC 9110, 5.5).
    #[error("invalid header `{name}`")]
    #[diagnostic(
        kind = Invalid,
        code = "bad_header",
        help = "names are letters, digits and dashes; values are visible ASCII on one line"
    )]
    BadHeader {
        /// The header's name.
        name: String,
    },
    /// `WINDLASS_OFFLINE` forbids calls to the model's server, which is on another machine.
    #[error("`{name}` is on {host}, and WINDLASS_OFFLINE forbids calls of models on other machines")]
    #[diagnostic(
        kind = Forbidden,
        code = "offline",
        help = "unset WINDLASS_OFFLINE to ask it; models on loopback addresses, `tour` and cassettes work offline"
    )]
    Offline {
        /// The model's name.
        name: String,
        /// The server, as `host:port`.
        host: String,
    },
    /// The provider cannot be reached at this address.
    #[error(transparent)]
    #[diagnostic(transparent, code = "http")]
    Http(#[from] HttpError),
    /// The provider was asked and did not answer as it should.
    #[error("{}", .0.message)]
    #[diagnostic(kind = failed(_0.kind), code = "model_failed")]
    Failed(Box<ModelFailure>),
}

fn set_key(variable: &str) -> String {
    let first = variable.split(' ').next().unwrap_or_default();
    format!("set {variable}, or `key: \"${{{first}}}\"` beside `use` in the agent file")
}

fn failed(failure: FailureKind) -> Kind {
    match failure {
        FailureKind::BadRequest | FailureKind::Unsupported => Kind::Invalid,
        FailureKind::Auth => Kind::Forbidden,
        FailureKind::NotFound => Kind::NotFound,
        FailureKind::TooLarge | FailureKind::ContextLength | FailureKind::OverBudget(_) => Kind::Exhausted,
        FailureKind::Connect
        | FailureKind::Timeout
        | FailureKind::RateLimited
        | FailureKind::Overloaded
        | FailureKind::Server
        | FailureKind::Cut
        | FailureKind::Protocol
        | FailureKind::Cancelled => Kind::Unavailable,
    }
}
