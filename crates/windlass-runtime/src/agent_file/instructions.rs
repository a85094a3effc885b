//! The instructions: text or a file, checked as a template and not yet rendered.

use std::path::PathBuf;

use super::reading::Reading;
use crate::template::{Fault, check};
use crate::yaml::{Field, NodeValue, Place, Problem, YamlError};

/// The largest file of instructions, in bytes (1 MiB).
pub const MAX_INSTRUCTIONS_BYTES: u64 = 1024 * 1024;

/// The instructions: a minijinja template in which the input is `input`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// Text in the file.
    Text(String),
    /// Text of another file.
    File {
        /// The file.
        path: PathBuf,
        /// Its text when the agent was read.
        text: String,
    },
}

impl Default for Instructions {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Instructions {
    /// The template's text.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::File { text, .. } => text,
        }
    }

    pub(super) fn decode(field: &Field<'_>, reading: &Reading<'_>) -> Result<Self, YamlError> {
        match &field.node.value {
            NodeValue::String(text) => {
                check(text).map_err(|Fault { line, reason }| {
                    // Only in literal style does a line of the template stand in a line of the file.
                    let literal = field.node.literal;
                    let place = if literal {
                        Place { line: field.node.line + line - 1, column: 1 }
                    } else {
                        field.node.place()
                    };
                    let within = if literal { String::new() } else { format!(" (line {line} of the text)") };
                    invalid(place, format!("The instructions are no valid template: {reason}{within}"))
                })?;
                Ok(Self::Text(text.clone()))
            }
            NodeValue::Map(_) => {
                let mut map = field.map()?;
                let file = map.required("file")?;
                map.finish()?;
                let path = reading.path(&file)?;
                let text = crate::files::read_text(&path, MAX_INSTRUCTIONS_BYTES).map_err(|reason| {
                    file.error(
                        "agent.instructions",
                        format!("{} cannot be read: {reason}", reading.shown(&file)),
                    )
                })?;
                check(&text).map_err(|Fault { line, reason }| {
                    let message = format!("The instructions are no valid template: {reason}");
                    invalid(Place { line, column: 1 }, message).in_file(&reading.shown(&file))
                })?;
                Ok(Self::File { path, text })
            }
            _ => Err(field.wrong("a text or { file: PATH }")),
        }
    }
}

fn invalid(place: Place, message: String) -> YamlError {
    YamlError::new(place, "instructions", Problem::Other { code: "agent.template", message, help: None })
}
