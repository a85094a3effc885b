//! Errors of agent files.

pub(crate) mod foreign;

use std::path::PathBuf;

use thiserror::Error;

use crate::yaml::{Place, Problem, YamlError};

/// An invalid agent file. Errors with a place print as `FILE:LINE:COL: message`.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AgentFileError {
    /// The file cannot be read.
    #[error("{} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is no UTF-8 text.
    #[error("{} is not valid UTF-8 (byte {valid_up_to})", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The first byte that is none, from 0.
        valid_up_to: usize,
    },
    /// It is no YAML, or something in it does not fit.
    #[error(transparent)]
    Invalid(#[from] YamlError),
    /// A file of providers is no YAML, or something in it does not fit.
    #[error(transparent)]
    Providers(YamlError),
    /// An environment that describes an agent lacks a variable.
    #[error("the environment variable {name} is not set")]
    MissingVariable {
        /// The variable.
        name: String,
    },
    /// A variable that describes an agent cannot be used.
    #[error("{name} is `{found}`: expected {expected}")]
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
    NetworkAgents {
        /// The variable.
        name: &'static str,
    },
    /// It asks for something that this version cannot do yet.
    #[error("{file}:{}:{}: `{path}: {value}` is not available in this version", place.line, place.column)]
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
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Read { .. } => "agent.read",
            Self::NotText { .. } => "agent.not_text",
            Self::Invalid(error) | Self::Providers(error) => error.code(),
            Self::MissingVariable { .. } | Self::BadVariable { .. } => "agent.environment",
            Self::NetworkAgents { .. } | Self::Later { .. } => "agent.later",
        }
    }

    /// Advice for the author of the file.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Read { .. } | Self::BadVariable { .. } => None,
            Self::MissingVariable { .. } => Some(
                "AGENT_NAME, MODEL_API_URL and MODEL_NAME must be set, or AGENT_NAME and DEBUG_MOCK_RESPONSES"
                    .to_owned(),
            ),
            Self::NetworkAgents { .. } => {
                Some("give their files with `--agent NAME=FILE`".to_owned())
            }
            Self::NotText { .. } => Some("save the file as UTF-8".to_owned()),
            Self::Invalid(error) if names_cases(error) => {
                Some("the file seems to hold test cases: `windlass test FILE` runs them".to_owned())
            }
            Self::Invalid(error) => foreign::help(error).or_else(|| error.help()).or_else(|| {
                let unknown = matches!(&*error.problem, Problem::UnknownKey { .. });
                unknown.then(|| "`windlass agents schema` prints all keys with their values".to_owned())
            }),
            Self::Providers(error) => error.help().or_else(|| {
                let unknown = matches!(&*error.problem, Problem::UnknownKey { .. });
                unknown.then(|| "docs/models.md, \"Providers of your own\", lists all keys; `windlass models list` shows what was read".to_owned())
            }),
            Self::Later { .. } => Some("CHANGELOG.md lists the features of this version".to_owned()),
        }
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

/// Whether a file of test cases was given in place of an agent file.
fn names_cases(error: &YamlError) -> bool {
    let of_cases = ["cases", "expect", "human", "peers", "real_tools"];
    matches!(&*error.problem, Problem::UnknownKey { path, key, .. } if path.is_empty() && of_cases.contains(&key.as_str()))
}
