//! The instructions: text or a file, checked as a template and not yet rendered.

pub(super) mod agents_md;

use std::path::PathBuf;

use schemars::{JsonSchema, json_schema};
use serde::de::SeqAccess;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::AgentFile;
use super::kinds::Filled;
use super::prompt::{self, PromptEntry};
use super::reading::Reading;
use crate::template::{Fault, Template, TemplateError, check_reading};
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
        /// Whether the text is taken as it stands, braces included, and is no template.
        verbatim: bool,
    },
}

impl Default for Instructions {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Instructions {
    /// The text as it is written.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::File { text, .. } => text,
        }
    }

    /// Whether it is no template.
    pub fn is_verbatim(&self) -> bool {
        matches!(self, Self::File { verbatim: true, .. })
    }

    pub(super) fn read(keys: &At<InstructionKeys>, reading: &Reading<'_>) -> Result<Self, YamlError> {
        match &keys.value {
            InstructionKeys::Text(text) => {
                check_text(&INSTRUCTIONS, keys, text)?;
                Ok(Self::Text(text.clone()))
            }
            InstructionKeys::File(InstructionFile { file, verbatim: true }) => {
                let (path, text) = read_file("agent.instructions", file, reading)?;
                Ok(Self::File { path, text, verbatim: true })
            }
            InstructionKeys::File(InstructionFile { file, verbatim: false }) => {
                let (path, text) = check_file(&INSTRUCTIONS, "agent.instructions", file, reading)?;
                Ok(Self::File { path, text, verbatim: false })
            }
        }
    }

    /// Checks the template of an agent whose input is a text.
    ///
    /// # Errors
    /// It reads parts of the input, and fails on every text for that.
    pub(super) fn check_text_input(
        &self,
        keys: &At<InstructionKeys>,
        reading: &Reading<'_>,
    ) -> Result<(), YamlError> {
        let text = self.text();
        let parts = if self.is_verbatim() { Vec::new() } else { parts_of(text) };
        let (Some(part), Ok(template)) = (parts.first(), Template::new(text)) else { return Ok(()) };
        let fault =
            |input: &&str| template.render(&Value::from(*input)).err().filter(TemplateError::is_undefined);
        let faults: Vec<TemplateError> = TRIALS.iter().filter_map(fault).collect();
        let Some(first) = faults.first().filter(|_| faults.len() == TRIALS.len()) else { return Ok(()) };
        let line = first.line();
        let message = format!(
            "The instructions read `input.{part}`, and the input of this agent is a text, which has no such part"
        );
        let place = match &keys.value {
            InstructionKeys::Text(_) if keys.literal => Place { line: keys.place.line + line - 1, column: 1 },
            InstructionKeys::Text(_) => keys.place,
            InstructionKeys::File(_) => Place { line, column: 1 },
        };
        let help = Some("`input: { schema: .. }` makes the input an object".to_owned());
        let error =
            YamlError::new(place, &keys.path, Problem::Other { code: "agent.template", message, help });
        Err(match &keys.value {
            InstructionKeys::Text(_) => error,
            InstructionKeys::File(file) => error.in_file(&reading.rendered_path(&file.file.value.0)),
        })
    }
}

/// The parts of the input that a template needs.
fn parts_of(text: &str) -> Vec<String> {
    if text.contains("input") {
        check_reading(text, INSTRUCTIONS.known).unwrap_or_default()
    } else {
        Vec::new()
    }
}

/// Facts about the templates of one key.
pub(super) struct Templated {
    /// The beginning of messages about it.
    pub(super) what: &'static str,
    /// The values that it can read.
    pub(super) known: &'static [&'static str],
    /// Advice for a text whose braces are no tags.
    pub(super) help: &'static str,
}

/// Inputs for which instructions are tried: none, words, and a number.
const TRIALS: [&str; 3] = ["", "What is there?", "17"];

const INSTRUCTIONS: Templated = Templated {
    what: "The instructions are",
    known: &["input"],
    help: "`instructions: { file: PATH, verbatim: true }` takes a file as it stands, braces included",
};

/// Checks a template that stands in the file.
pub(super) fn check_text<T>(templated: &Templated, at: &At<T>, text: &str) -> Result<(), YamlError> {
    check_reading(text, templated.known).map(drop).map_err(|Fault { line, reason }| {
        // Only in literal style does a line of the template stand in a line of the file.
        let place = if at.literal { Place { line: at.place.line + line - 1, column: 1 } } else { at.place };
        let within = if at.literal { String::new() } else { format!(" (line {line} of the text)") };
        invalid(place, &at.path, templated, &format!("{reason}{within}"))
    })
}

/// Reads and checks a template of another file.
pub(super) fn check_file(
    templated: &Templated,
    code: &'static str,
    file: &At<Filled>,
    reading: &Reading<'_>,
) -> Result<(PathBuf, String), YamlError> {
    let (path, text) = read_file(code, file, reading)?;
    check_reading(&text, templated.known).map_err(|Fault { line, reason }| {
        let rendered = reading.rendered_path(&file.value.0);
        invalid(Place { line, column: 1 }, &file.path, templated, &reason).in_file(&rendered)
    })?;
    Ok((path, text))
}

fn read_file(
    code: &'static str,
    file: &At<Filled>,
    reading: &Reading<'_>,
) -> Result<(PathBuf, String), YamlError> {
    let path = reading.path(&file.value.0);
    let rendered = reading.rendered_path(&file.value.0);
    let text = crate::files::read_text(reading.files, &path, MAX_INSTRUCTIONS_BYTES)
        .map_err(|reason| file.error(code, format!("{rendered} cannot be read: {reason}")))?;
    reading.note(&path, &text);
    Ok((path, text))
}

impl AgentFile {
    /// The parts of the input that the templates need and that the input never has: of a text, any; of an object, those that
    /// its schema does not name.
    pub fn missing_input(&self) -> Vec<String> {
        let prompt = match &self.prompt {
            PromptEntry::Template(template) => Some((template.text(), prompt::PROMPT.known)),
            PromptEntry::Plain { .. } | PromptEntry::React { .. } => None,
        };
        let texts = self.templates().map(|text| (text, INSTRUCTIONS.known)).chain(prompt);
        let parts = texts.filter_map(|(text, known)| check_reading(text, known).ok()).flatten();
        let mut missing: Vec<String> = Vec::new();
        for part in parts.filter(|part| !self.input_may_have(part)) {
            if !missing.contains(&part) {
                missing.push(part);
            }
        }
        missing
    }

    /// Renders the instructions for a few inputs of the agent's kind. Gives one for which they fail, and why; `None`: they fit all.
    /// Those that read the input are only tried where it is a text: which objects an agent takes is not known.
    ///
    /// # Errors
    /// They fail for every input.
    pub fn try_instructions(&self) -> Result<Option<(&'static str, TemplateError)>, TemplateError> {
        let mut unfit = None;
        for text in self.templates() {
            let reads = text.contains("input");
            if reads && self.input_schema.is_some() {
                continue;
            }
            let template = Template::new(text)?;
            let trials = TRIALS.iter().map(|input| (*input, template.render(&Value::from(*input)).err()));
            // Parts that a text never has are told by themselves.
            let counts =
                |error: &TemplateError| !(reads && error.is_undefined() && !self.missing_input().is_empty());
            let failed: Vec<_> =
                trials.filter_map(|(input, error)| Some((input, error.filter(counts)?))).collect();
            let everywhere = failed.len() == TRIALS.len();
            let Some(first) = failed.into_iter().next() else { continue };
            if everywhere {
                return Err(first.1);
            }
            unfit = unfit.or(Some(first));
        }
        Ok(unfit)
    }

    /// The instructions' templates: the agent's own, and those of its prompt.
    fn templates(&self) -> impl Iterator<Item = &str> {
        let own = Some(self.instructions.text()).filter(|_| !self.instructions.is_verbatim());
        let more: &[String] = match &self.prompt {
            PromptEntry::Plain { instructions } | PromptEntry::React { instructions } => instructions,
            PromptEntry::Template(_) => &[],
        };
        own.into_iter().chain(more.iter().map(String::as_str))
    }

    fn input_may_have(&self, part: &str) -> bool {
        let Some(schema) = &self.input_schema else { return false };
        // A schema that does not list properties may let any of them through.
        schema.get("properties").and_then(Value::as_object).is_none_or(|known| known.contains_key(part))
    }
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
    /// Whether the file is taken as it stands: no template, braces stay braces.
    #[serde(default)]
    verbatim: bool,
}

impl OfKind for InstructionKeys {
    const EXPECTED: &'static str = "a text, { file: PATH } or { file: PATH, verbatim: true }";

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

windlass_core::schema_as!(inline [] InstructionKeys, "instructions", |generator| {
    json_schema!({ "oneOf": [{ "type": "string" }, generator.subschema_for::<InstructionFile>()] })
});

fn invalid(place: Place, path: &str, templated: &Templated, reason: &str) -> YamlError {
    let message = format!("{} not a valid template: {reason}", templated.what);
    let help = Some(templated.help.to_owned());
    YamlError::new(place, path, Problem::Other { code: "agent.template", message, help })
}
