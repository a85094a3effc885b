//! What can be wrong with an agent file.

use std::path::PathBuf;

use thiserror::Error;

use crate::yaml::{Place, YamlError};

/// An agent file that cannot be used. Whatever has a place prints as `FILE:LINE:COL: message`.
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
    #[error("{} is no UTF-8 text (byte {valid_up_to})", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The first byte that is none, from 0.
        valid_up_to: usize,
    },
    /// It is no YAML, or something in it does not fit.
    #[error(transparent)]
    Invalid(#[from] YamlError),
    /// It asks for something that this version cannot do yet.
    #[error("{file}:{}:{}: `{path}: {value}` is not available in this version", place.line, place.column)]
    Later {
        /// The file.
        file: String,
        /// Where.
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
            Self::Invalid(error) => error.code(),
            Self::Later { .. } => "agent.later",
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Read { .. } => None,
            Self::NotText { .. } => Some("save the file as UTF-8".to_owned()),
            Self::Invalid(error) => error.help(),
            Self::Later { .. } => Some("CHANGELOG.md lists what this version can do".to_owned()),
        }
    }

    /// Where it is, if it has a place.
    pub fn position(&self) -> Option<Place> {
        match self {
            Self::Read { .. } | Self::NotText { .. } => None,
            Self::Invalid(error) => Some(error.place()),
            Self::Later { place, .. } => Some(*place),
        }
    }
}
