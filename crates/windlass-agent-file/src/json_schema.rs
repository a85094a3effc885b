//! JSON Schemas in agent files: of tools' parameters, inputs and outputs.

use schemars::{JsonSchema, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_core::policy::OutputMode;
use windlass_core::schema::{Checker, Misplaced, SchemaFault, UncheckedPattern, misplaced_parts};
use windlass_error::Diagnostic as _;

use super::reading::Reading;
use crate::yaml::{At, Problem, YamlError};

/// A JSON Schema.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct SchemaText(Map<String, Value>);

windlass_core::schema_as!([] SchemaText, "jsonSchema", |_| {
    json_schema!({ "type": "object", "description": "A JSON Schema (2020-12)." })
});

/// A JSON Schema under `schema`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct SchemaKeys {
    /// The JSON Schema.
    pub(super) schema: At<SchemaText>,
}

/// A typed output.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct OutputKeys {
    /// The JSON Schema.
    pub(super) schema: Option<At<SchemaText>>,
    /// The output is a JSON object of any form, in the place of a schema.
    #[serde(default)]
    #[schemars(default)]
    pub(super) json: bool,
    /// How models are asked for it. `auto`: as the provider's own where it is known to hold the model to the schema beside tools, else
    /// through the finish tool (presets that end with a text: in the instructions). `native`: as the provider's own. `tool`: through the
    /// finish tool. `prompt`: by the schema in the instructions. The preset `acorn` has `tool`, all others have `auto`.
    pub(super) mode: Option<OutputMode>,
}

impl At<OutputKeys> {
    /// The schema.
    ///
    /// # Errors
    /// It is no valid schema, or the output has neither a schema nor `json: true`, or both.
    pub(super) fn checked(&self, reading: &mut Reading<'_>) -> Result<Value, YamlError> {
        match (&self.value.schema, self.value.json) {
            (Some(schema), false) => checked(schema, reading),
            (None, true) => Ok(json!({ "type": "object" })),
            (Some(schema), true) => {
                let message = format!("`{}.json` and `{}` exclude each other", self.path, schema.path);
                Err(self.error("agent.output", message).with_help("a schema says more: leave `json` out"))
            }
            (None, false) => {
                let problem = Problem::MissingKey { path: self.path.clone(), key: "schema".to_owned() };
                Err(YamlError::new(self.place, format!("{}.schema", self.path), problem))
            }
        }
    }
}

impl SchemaKeys {
    /// Checks that it is the schema of an input, which is an object.
    ///
    /// # Errors
    /// Its type is another one: nothing would fit.
    pub(super) fn takes_objects(&self) -> Result<(), YamlError> {
        let objects = match self.schema.value.0.get("type") {
            Some(Value::String(one)) => one == "object",
            Some(Value::Array(several)) => several.iter().any(|one| one == "object"),
            Some(_) | None => true,
        };
        if objects {
            return Ok(());
        }
        let message = format!("`{}` takes no object, and an input with a schema is one", self.schema.path);
        let help = "without `input:` the input is a text; a value goes under a property of an object";
        Err(self.schema.error("agent.input", message).with_help(help))
    }
}

/// The schema, which must be a valid one that costs little to check. A pattern with look-around, such as pydantic writes for each
/// `Decimal`, goes unchecked with a warning; another one, which the author can make smaller, is an error.
pub(super) fn checked(written: &At<SchemaText>, reading: &mut Reading<'_>) -> Result<Value, YamlError> {
    let schema = Value::Object(written.value.0.clone());
    let checker = match Checker::new(&schema) {
        Ok(checker) => checker,
        Err(fault) => {
            // The first of them: others are found once it is mended.
            let parts = if fault.is_of_size() { Vec::new() } else { misplaced_parts(&schema) };
            return Err(match parts.into_iter().next() {
                Some(Misplaced { pointer, words }) => {
                    part(written, &pointer, &format!("is not a valid JSON Schema: {words}"), None, reading)
                }
                None => unusable(written, &schema, &fault, reading),
            });
        }
    };
    for pattern in checker.unchecked() {
        let fault = unchecked(written, pattern, reading);
        if !pattern.is_beyond_linear_time() {
            return Err(fault);
        }
        let place = pattern.place.replace('/', ".");
        reading.unchecked.push(format!(
            "{}:{}:{}: `{}{place}`: {pattern}; it is not checked",
            reading.file, fault.line, fault.column, written.path
        ));
    }
    Ok(schema)
}

/// A schema that is well-formed as far as JSON Schema's own schema says, and cannot be used.
fn unusable(
    written: &At<SchemaText>,
    schema: &Value,
    fault: &SchemaFault,
    reading: &Reading<'_>,
) -> YamlError {
    let invalid = matches!(fault, SchemaFault::Invalid(_));
    let what = if invalid { "is not a valid JSON Schema" } else { "cannot be used" };
    let pointer = fault.pointer(schema).unwrap_or_default();
    part(written, &pointer, &format!("{what}: {fault}"), fault.help().as_deref(), reading)
}

/// An error at a part of a schema.
fn part(
    written: &At<SchemaText>,
    pointer: &str,
    words: &str,
    help: Option<&str>,
    reading: &Reading<'_>,
) -> YamlError {
    let place = reading.root.at(&written.path).map_or(written.place, |node| node.locate_pointer(pointer));
    let path = format!("{}{}", written.path, pointer.replace('/', "."));
    let message = format!("`{path}` {words}");
    let help = help.map(str::to_owned);
    YamlError::new(place, path, Problem::Other { code: "agent.schema", message, help })
}

fn unchecked(written: &At<SchemaText>, pattern: &UncheckedPattern, reading: &Reading<'_>) -> YamlError {
    let node = reading.root.at(&written.path);
    let place = node.map_or(written.place, |node| node.locate_pointer(&pattern.place));
    let problem = Problem::Other {
        code: "agent.pattern",
        message: format!("`{}{}`: {pattern}", written.path, pattern.place.replace('/', ".")),
        help: Some(UncheckedPattern::HELP.to_owned()),
    };
    YamlError::new(place, written.path.clone(), problem)
}
