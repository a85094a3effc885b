//! Errors of agent files.

pub(crate) mod foreign;

use std::borrow::Cow;
use std::path::PathBuf;

use thiserror::Error;
use windlass_error::{Diagnostic, Kind};

use crate::yaml::{Place, Problem, YamlError};

/// An invalid agent file. Errors with a place print as `FILE:LINE:COL: message`.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum AgentFileError {
    /// The file cannot be read.
    #[error("{} cannot be read", path.display())]
    #[diagnostic(kind = Kind::of_io(source), code = "agent.read")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is no UTF-8 text.
    #[error("{} is not valid UTF-8 (byte {valid_up_to})", path.display())]
    #[diagnostic(kind = Invalid, code = "agent.not_text", help = "save the file as UTF-8")]
    NotText {
        /// The file.
        path: PathBuf,
        /// The first byte that is none, from 0.
        valid_up_to: usize,
    },
    /// It is no YAML, or something in it does not fit.
    #[error(transparent)]
    #[diagnostic(transparent, help = agent_help(_0))]
    Invalid(#[from] YamlError),
    /// A file of providers is no YAML, or something in it does not fit.
    #[error(transparent)]
    #[diagnostic(transparent, help = providers_help(_0))]
    Providers(YamlError),
    /// An environment that describes an agent lacks a variable.
    #[error("the environment variable {name} is not set")]
    #[diagnostic(
        kind = Invalid,
        code = "agent.environment",
        help = "AGENT_NAME, MODEL_API_URL and MODEL_NAME must be set, or AGENT_NAME and DEBUG_MOCK_RESPONSES"
    )]
    MissingVariable {
        /// The variable.
        name: String,
    },
    /// A variable that describes an agent cannot be used.
    #[error("{name} is `{found}`: expected {expected}")]
    #[diagnostic(kind = Invalid, code = "agent.environment")]
    BadVariable {
        /// The variable.
        name: String,
        /// Its value.
        found: String,
        /// The expected form.
        expected: &'static str,
    },
    /// A variable names agents on the network, which this version cannot reach yet.
    #[error("{name} names remote agents, which are not available in this version")]
    #[diagnostic(kind = Invalid, code = "agent.later", help = "give the files of these agents")]
    NetworkAgents {
        /// The variable.
        name: &'static str,
    },
    /// It asks for something that this version cannot do yet.
    #[error("{file}:{}:{}: `{path}: {value}` is not available in this version", place.line, place.column)]
    #[diagnostic(kind = Invalid, code = "agent.later", help = "CHANGELOG.md lists the features of this version")]
    Later {
        /// The file.
        file: String,
        /// Position of the error.
        place: Place,
        /// The key, as a dotted path.
        path: String,
        /// Its value.
        value: String,
    },
}

impl AgentFileError {
    /// Whether a file of test cases was given in place of an agent file.
    pub fn holds_cases(&self) -> bool {
        matches!(self, Self::Invalid(error) if names_cases(error))
    }

    /// Position of the error, if it has one.
    pub fn position(&self) -> Option<Place> {
        match self {
            Self::Read { .. }
            | Self::NotText { .. }
            | Self::MissingVariable { .. }
            | Self::BadVariable { .. }
            | Self::NetworkAgents { .. } => None,
            Self::Invalid(error) | Self::Providers(error) => Some(error.place()),
            Self::Later { place, .. } => Some(*place),
        }
    }
}

/// The remedy for a fault of an agent file.
fn agent_help(error: &YamlError) -> Option<Cow<'_, str>> {
    if names_cases(error) {
        return Some("the file seems to hold test cases, not an agent".into());
    }
    let all = "the JSON Schema of agent files has all keys with their values";
    foreign::help(error).map(Cow::Owned).or_else(|| error.help()).or_else(|| for_unknown_key(error, all))
}

/// The remedy for a fault of a file of providers.
fn providers_help(error: &YamlError) -> Option<Cow<'_, str>> {
    let all = "docs/models.md, \"Providers of your own\", lists all keys";
    error.help().or_else(|| for_unknown_key(error, all))
}

fn for_unknown_key(error: &YamlError, help: &'static str) -> Option<Cow<'static, str>> {
    matches!(&*error.problem, Problem::UnknownKey { .. }).then(|| help.into())
}

fn names_cases(error: &YamlError) -> bool {
    let of_cases = ["cases", "expect", "human", "peers", "real_tools"];
    matches!(&*error.problem, Problem::UnknownKey { path, key, .. } if path.is_empty() && of_cases.contains(&key.as_str()))
}
