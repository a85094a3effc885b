//! Errors in a document, with positions.

use std::fmt;

use thiserror::Error;
use windlass_core::text::did_you_mean;

use super::node::Place;

/// Something that does not fit, with its place. Prints as `FILE:LINE:COL: message`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}{problem}", prefix(.file, *.line, *.column))]
pub struct YamlError {
    /// The file's name as it is shown; empty: none.
    pub file: String,
    /// The line, from 1; 0 for a value that stands in no text.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The dotted path of the value at fault (`loop.limits.model_calls`); empty: the whole document.
    pub path: String,
    /// The problem.
    pub problem: Box<Problem>,
}

/// The problem.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The text is no YAML.
    Syntax {
        /// The mistake, in our words for the commonest ones, else in the parser's.
        message: String,
        /// Advice for the author.
        help: Option<String>,
    },
    /// A bound is exceeded.
    TooLarge {
        /// The exceeded quantity and its bound.
        what: String,
    },
    /// A part of YAML that these files do not use (tags, several documents, keys that are no text, infinite numbers).
    Unsupported {
        /// The key or value.
        what: String,
    },
    /// A key stands twice in one map.
    DuplicateKey {
        /// The key.
        key: String,
        /// The line where it stands first.
        first_line: usize,
    },
    /// A value of another kind, or out of range.
    WrongValue {
        /// The value's path, for the message.
        path: String,
        /// The expected form.
        expected: String,
        /// The value found.
        found: String,
    },
    /// A key that must be there is not.
    MissingKey {
        /// The map's path.
        path: String,
        /// The key.
        key: String,
    },
    /// A key that does not exist.
    UnknownKey {
        /// The map's path.
        path: String,
        /// The key.
        key: String,
        /// Existing keys of similar names, the nearest first.
        nearest: Vec<String>,
        /// All keys that the map can have.
        known: Vec<String>,
    },
    /// Something else, in words.
    Other {
        /// A stable code for it, such as `clash`.
        code: &'static str,
        /// The message.
        message: String,
        /// Advice for the author.
        help: Option<String>,
    },
}

impl YamlError {
    /// A problem at a place.
    pub fn new(place: Place, path: impl Into<String>, problem: Problem) -> Self {
        Self {
            file: String::new(),
            line: place.line,
            column: place.column,
            path: path.into(),
            problem: Box::new(problem),
        }
    }

    /// The same with the file's name, if it has none yet.
    pub fn in_file(mut self, file: &str) -> Self {
        if self.file.is_empty() {
            file.clone_into(&mut self.file);
        }
        self
    }

    /// The same with an advice, where the problem is one in words ([`Problem::Other`]).
    pub fn with_help(mut self, advice: impl Into<String>) -> Self {
        if let Problem::Other { help, .. } = &mut *self.problem {
            *help = Some(advice.into());
        }
        self
    }

    /// Position of the error.
    pub fn place(&self) -> Place {
        Place { line: self.line, column: self.column }
    }

    /// A stable code.
    pub fn code(&self) -> &'static str {
        match &*self.problem {
            Problem::Syntax { .. } => "yaml.syntax",
            Problem::TooLarge { .. } => "yaml.too_large",
            Problem::Unsupported { .. } => "yaml.unsupported",
            Problem::DuplicateKey { .. } => "yaml.duplicate_key",
            Problem::WrongValue { .. } => "yaml.wrong_value",
            Problem::MissingKey { .. } => "yaml.missing_key",
            Problem::UnknownKey { .. } => "yaml.unknown_key",
            Problem::Other { code, .. } => code,
        }
    }

    /// Advice for the author.
    pub fn help(&self) -> Option<String> {
        match &*self.problem {
            Problem::Syntax { message, .. } if message.contains("tab") => {
                Some("YAML is indented with spaces, never with tabs".to_owned())
            }
            Problem::UnknownKey { nearest, known, .. } if nearest.is_empty() && !known.is_empty() => {
                Some(format!("the known keys are {}", known.join(", ")))
            }
            Problem::DuplicateKey { first_line, .. } => {
                Some(format!("remove one of the two; the first is in line {first_line}"))
            }
            Problem::Syntax { help, .. } | Problem::Other { help, .. } => help.clone(),
            Problem::TooLarge { .. }
            | Problem::Unsupported { .. }
            | Problem::WrongValue { .. }
            | Problem::MissingKey { .. }
            | Problem::UnknownKey { .. } => None,
        }
    }

    /// The expected form, if known.
    pub fn expected(&self) -> Option<&str> {
        if let Problem::WrongValue { expected, .. } = &*self.problem { Some(expected) } else { None }
    }

    /// The value found instead, if known.
    pub fn found(&self) -> Option<&str> {
        if let Problem::WrongValue { found, .. } = &*self.problem { Some(found) } else { None }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { message, .. } => write!(f, "Invalid YAML: {message}"),
            Self::TooLarge { what } => write!(f, "Too large: {what}"),
            Self::Unsupported { what } => write!(f, "{what}"),
            Self::DuplicateKey { key, first_line } => {
                write!(f, "Duplicate key `{key}`, first used in line {first_line}")
            }
            Self::WrongValue { path, expected, found } if path.is_empty() => {
                write!(f, "The document is {found}, expected {expected}")
            }
            Self::WrongValue { path, expected, found } => {
                write!(f, "`{path}` is {found}, expected {expected}")
            }
            Self::MissingKey { path, key } => write!(f, "Key `{key}` is missing{}", inside(path)),
            Self::UnknownKey { path, key, nearest, .. } => {
                write!(f, "Unknown key `{key}`{}{}", inside(path), did_you_mean(nearest))
            }
            Self::Other { message, .. } => f.write_str(message),
        }
    }
}

fn inside(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" in `{path}`") }
}

fn prefix(file: &str, line: usize, column: usize) -> String {
    match (file, line) {
        ("", 0) => String::new(),
        (file, 0) => format!("{file}: "),
        ("", line) => format!("{line}:{column}: "),
        (file, line) => format!("{file}:{line}:{column}: "),
    }
}
