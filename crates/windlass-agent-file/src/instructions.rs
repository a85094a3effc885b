//! The instructions: text or a file, checked as a template and not yet rendered.

use std::borrow::Cow;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::SeqAccess;
use serde::{Deserialize, Deserializer};

use super::kinds::Filled;
use super::reading::Reading;
use crate::template::{Fault, check};
use crate::yaml::{At, Kind, OfKind, Place, Problem, Valued, YamlError, of_kind};

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

    pub(super) fn read(keys: &At<InstructionKeys>, reading: &Reading<'_>) -> Result<Self, YamlError> {
        match &keys.value {
            InstructionKeys::Text(text) => {
                check_text(WHAT, keys, text)?;
                Ok(Self::Text(text.clone()))
            }
            InstructionKeys::File(InstructionFile { file }) => {
                let (path, text) = check_file(WHAT, "agent.instructions", file, reading)?;
                Ok(Self::File { path, text })
            }
        }
    }
}

const WHAT: &str = "The instructions are";

/// Checks a template that stands in the file.
pub(super) fn check_text<T>(what: &str, at: &At<T>, text: &str) -> Result<(), YamlError> {
    check(text).map_err(|Fault { line, reason }| {
        // Only in literal style does a line of the template stand in a line of the file.
        let place = if at.literal { Place { line: at.place.line + line - 1, column: 1 } } else { at.place };
        let within = if at.literal { String::new() } else { format!(" (line {line} of the text)") };
        invalid(place, &at.path, format!("{what} not a valid template: {reason}{within}"))
    })
}

/// Reads and checks a template of another file.
pub(super) fn check_file(
    what: &str,
    code: &'static str,
    file: &At<Filled>,
    reading: &Reading<'_>,
) -> Result<(PathBuf, String), YamlError> {
    let path = reading.path(&file.value.0);
    let shown = reading.shown(&file.value.0);
    let text = crate::files::read_text(&path, MAX_INSTRUCTIONS_BYTES)
        .map_err(|reason| file.error(code, format!("{shown} cannot be read: {reason}")))?;
    check(&text).map_err(|Fault { line, reason }| {
        let message = format!("{what} not a valid template: {reason}");
        invalid(Place { line, column: 1 }, &file.path, message).in_file(&shown)
    })?;
    Ok((path, text))
}

/// Instructions as a file says them.
#[derive(Clone, Debug)]
pub(super) enum InstructionKeys {
    Text(String),
    File(InstructionFile),
}

impl Default for InstructionKeys {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// Instructions from a file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct InstructionFile {
    /// The template's file.
    file: At<Filled>,
}

impl OfKind for InstructionKeys {
    const EXPECTED: &'static str = "a text or { file: PATH }";

    fn of_kind<'de, A: SeqAccess<'de>>(kind: Kind, value: Valued<A>) -> Option<Result<Self, A::Error>> {
        match kind {
            Kind::Text => Some(value.read().map(Self::Text)),
            Kind::Map => Some(value.read().map(Self::File)),
            Kind::Nothing | Kind::Flag | Kind::Number | Kind::List => None,
        }
    }
}

impl<'de> Deserialize<'de> for InstructionKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_kind(deserializer)
    }
}

impl JsonSchema for InstructionKeys {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "instructions".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [{ "type": "string" }, generator.subschema_for::<InstructionFile>()] })
    }
}

fn invalid(place: Place, path: &str, message: String) -> YamlError {
    YamlError::new(place, path, Problem::Other { code: "agent.template", message, help: None })
}
