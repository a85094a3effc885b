//! The prompt: how the system message is made of the instructions.

use std::path::PathBuf;

use schemars::{JsonSchema, json_schema};
use serde::de::SeqAccess;
use serde::{Deserialize, Deserializer};

use super::instructions::{Templated, check_file, check_text};
use super::kinds::Filled;
use super::reading::Reading;
use crate::yaml::{At, Kind, OfKind, Valued, YamlError, of_kind};

/// How the system message is made. The objective is what the instructions say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptEntry {
    /// The instructions, followed by more of them as a list.
    Plain {
        /// The others, each a text or a template.
        instructions: Vec<String>,
    },
    /// The scaffold of thinking, acting and observing.
    React {
        /// Instructions at its end, each a text or a template.
        instructions: Vec<String>,
    },
    /// A template of the file's own.
    Template(PromptTemplate),
}

/// A template that makes the whole system message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptTemplate {
    /// Text in the agent file.
    Text(String),
    /// Text of another file.
    File {
        /// The file.
        path: PathBuf,
        /// Its text when the agent was read.
        text: String,
    },
}

impl PromptTemplate {
    /// The template's text.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::File { text, .. } => text,
        }
    }
}

impl Default for PromptEntry {
    fn default() -> Self {
        Self::Plain { instructions: Vec::new() }
    }
}

impl PromptEntry {
    pub(super) fn read(keys: &At<PromptKeys>, reading: &Reading<'_>) -> Result<Self, YamlError> {
        let PromptMap { scaffold, instructions, template, file } = &keys.value.0;
        let (text, extra) = (template.as_ref().or(file.as_ref()), instructions.as_ref());
        match (scaffold, text, extra) {
            (None, None, None) => {
                let message =
                    format!("`{}` is empty, expected `use`, `instructions`, `template` or `file`", keys.path);
                Err(keys.error("agent.prompt", message))
            }
            (Some(_), Some(text), _) => {
                let message = format!("`{}` has both `use` and a template of its own", keys.path);
                Err(text.error("agent.prompt", message).with_help("remove one of the two"))
            }
            (None, Some(_), Some(extra)) => {
                let message = format!("`{}` has both `instructions` and a template of its own", keys.path);
                let help = "write them into the template, or use a scaffold: `prompt: { use: react, instructions: [..] }`";
                Err(extra.error("agent.prompt", message).with_help(help))
            }
            (None, Some(text), None) => {
                if template.is_some() && file.is_some() {
                    let message = format!("`{}` has both `template` and `file`", keys.path);
                    return Err(text.error("agent.prompt", message));
                }
                Ok(Self::Template(if template.is_some() {
                    check_text(&PROMPT, text, &text.value.0)?;
                    PromptTemplate::Text(text.value.0.clone())
                } else {
                    let (path, text) = check_file(&PROMPT, "agent.prompt", text, reading)?;
                    PromptTemplate::File { path, text }
                }))
            }
            (scaffold, None, extra) => {
                let extra = extra.map(|extra| extra.value.as_slice()).unwrap_or_default();
                for text in extra {
                    check_text(&INSTRUCTION, text, &text.value.0)?;
                }
                let instructions = extra.iter().map(|text| text.value.0.clone()).collect();
                Ok(match scaffold.unwrap_or_default() {
                    Scaffold::Plain => Self::Plain { instructions },
                    Scaffold::React => Self::React { instructions },
                })
            }
        }
    }
}

const RAW: &str = "braces that are no tags stand between {% raw %} and {% endraw %}";

pub(super) const PROMPT: Templated =
    Templated { what: "The prompt is", known: &["objective", "tools", "input", "context"], help: RAW };

const INSTRUCTION: Templated = Templated { what: "The instruction is", known: &["input"], help: RAW };

/// A scaffold that is built in: `plain` sends the instructions as they are, `react` adds the list of tools and how to think, act
/// and observe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Scaffold {
    #[default]
    Plain,
    React,
}

/// A prompt as a file says it: the name of a scaffold stands for a map with that alone.
#[derive(Clone, Debug)]
pub(super) struct PromptKeys(PromptMap);

/// A prompt with settings.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "prompt", extend("oneOf" = [
    { "anyOf": [{ "required": ["use"] }, { "required": ["instructions"] }], "properties": { "template": false, "file": false } },
    { "required": ["template"], "properties": { "use": false, "instructions": false, "file": false } },
    { "required": ["file"], "properties": { "use": false, "instructions": false, "template": false } },
]))]
pub(super) struct PromptMap {
    /// `plain` (the default): the instructions as they are. `react`: a scaffold of the objective, the list of tools, and how to
    /// think, act and observe.
    #[serde(rename = "use")]
    scaffold: Option<Scaffold>,
    /// Instructions at the end of the prompt, as a list. Each is a text or a template like the instructions.
    instructions: Option<At<Vec<At<Filled>>>>,
    /// A minijinja template of the whole system message. It sees `objective` (the rendered instructions), `tools` (`name`,
    /// `description`, `parameters`), `input`, and `context` (`session`, `last_answer`).
    template: Option<At<Filled>>,
    /// The template's file.
    file: Option<At<Filled>>,
}

impl OfKind for PromptKeys {
    const EXPECTED: &'static str =
        "plain, react, or a map such as { use: react, instructions: [TEXT] } or { template: TEXT }";

    fn of_kind<'de, A: SeqAccess<'de>>(kind: Kind, value: Valued<A>) -> Option<Result<Self, A::Error>> {
        match kind {
            Kind::Text => Some(
                value
                    .read()
                    .map(|scaffold| Self(PromptMap { scaffold: Some(scaffold), ..PromptMap::default() })),
            ),
            Kind::Map => Some(value.read().map(Self)),
            Kind::Nothing | Kind::Flag | Kind::Number | Kind::List => None,
        }
    }
}

impl<'de> Deserialize<'de> for PromptKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_kind(deserializer)
    }
}

windlass_core::schema_as!(inline [] PromptKeys, "prompt_or_name", |generator| {
    let named = generator.subschema_for::<Scaffold>();
    json_schema!({ "oneOf": [named, generator.subschema_for::<PromptMap>()] })
});
