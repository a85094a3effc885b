//! Errors in a document, with positions.

use thiserror::Error;
use windlass_core::text::did_you_mean;
use windlass_error::Diagnostic;

use super::node::Place;

/// Something that does not fit, with its place. Prints as `FILE:LINE:COL: message`.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[error("{}{problem}", prefix(.file, *.line, *.column))]
#[diagnostic(transparent = problem)]
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
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[non_exhaustive]
pub enum Problem {
    /// The text is no YAML.
    #[error("Invalid YAML: {message}")]
    #[diagnostic(kind = Invalid, code = "yaml.syntax", help = syntax_help(message, help.as_deref()))]
    Syntax {
        /// The mistake, in our words for the commonest ones, else in the parser's.
        message: String,
        /// Advice for the author.
        help: Option<String>,
    },
    /// A bound is exceeded.
    #[error("Too large: {what}")]
    #[diagnostic(kind = Invalid, code = "yaml.too_large")]
    TooLarge {
        /// The exceeded quantity and its bound.
        what: String,
    },
    /// A part of YAML that these files do not use (tags, several documents, keys that are no text, infinite numbers).
    #[error("{what}")]
    #[diagnostic(kind = Invalid, code = "yaml.unsupported")]
    Unsupported {
        /// The key or value.
        what: String,
    },
    /// A key stands twice in one map.
    #[error("Duplicate key `{key}`, first used in line {first_line}")]
    #[diagnostic(
        kind = Invalid,
        code = "yaml.duplicate_key",
        help = "remove one of the two; the first is in line {first_line}"
    )]
    DuplicateKey {
        /// The key.
        key: String,
        /// The line where it stands first.
        first_line: usize,
    },
    /// A value of another kind, or out of range.
    #[error("{} is {found}, expected {expected}", subject(path))]
    #[diagnostic(kind = Invalid, code = "yaml.wrong_value")]
    WrongValue {
        /// The value's path, for the message.
        path: String,
        /// The expected form.
        expected: String,
        /// The value found.
        found: String,
    },
    /// A key that must be there is not.
    #[error("Key `{key}` is missing{}", inside(path))]
    #[diagnostic(kind = Invalid, code = "yaml.missing_key")]
    MissingKey {
        /// The map's path.
        path: String,
        /// The key.
        key: String,
    },
    /// A key that does not exist.
    #[error("Unknown key `{key}`{}{}", inside(path), did_you_mean(nearest))]
    #[diagnostic(kind = Invalid, code = "yaml.unknown_key", help = known_keys(nearest, known))]
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
    #[error("{message}")]
    #[diagnostic(kind = Invalid, code = code, help = help.as_deref())]
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

    /// The expected form, if known.
    pub fn expected(&self) -> Option<&str> {
        if let Problem::WrongValue { expected, .. } = &*self.problem { Some(expected) } else { None }
    }

    /// The value found instead, if known.
    pub fn found(&self) -> Option<&str> {
        if let Problem::WrongValue { found, .. } = &*self.problem { Some(found) } else { None }
    }
}

/// The value at a path, as a message names it.
fn subject(path: &str) -> String {
    if path.is_empty() { "The document".to_owned() } else { format!("`{path}`") }
}

fn syntax_help<'h>(message: &str, help: Option<&'h str>) -> Option<&'h str> {
    if message.contains("tab") { Some("YAML is indented with spaces, never with tabs") } else { help }
}

fn known_keys(nearest: &[String], known: &[String]) -> Option<String> {
    let any = nearest.is_empty() && !known.is_empty();
    any.then(|| format!("the known keys are {}", known.join(", ")))
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
