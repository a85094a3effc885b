//! JSON Schemas in agent files: of tools' parameters, inputs and outputs.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};
use windlass_core::schema::{Checker, Misplaced, SchemaFault, UncheckedPattern, misplaced_parts};

use super::reading::Reading;
use crate::yaml::{At, Problem, YamlError};

/// A JSON Schema.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct SchemaText(Map<String, Value>);

impl JsonSchema for SchemaText {
    fn schema_name() -> Cow<'static, str> {
        "jsonSchema".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "description": "A JSON Schema (2020-12)." })
    }
}

/// A JSON Schema under `schema`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct SchemaKeys {
    /// The JSON Schema.
    pub(super) schema: At<SchemaText>,
}

/// The schema, which must be a valid one that costs little to check. A pattern with look-around, such as pydantic writes for each
/// `Decimal`, goes unchecked with a warning; another one, which the author can make smaller, is an error.
pub(super) fn checked(written: &At<SchemaText>, reading: &mut Reading<'_>) -> Result<Value, YamlError> {
    let schema = Value::Object(written.value.0.clone());
    let checker = match Checker::new(&schema) {
        Ok(checker) => checker,
        Err(fault) => {
            let invalid = matches!(fault, SchemaFault::Invalid(_));
            if let Some(error) = invalid.then(|| misplaced(written, &schema, reading)).flatten() {
                return Err(error);
            }
            let what = if invalid { "is not a valid JSON Schema" } else { "cannot be used" };
            let error = written.error("agent.schema", format!("`{}` {what}: {fault}", written.path));
            return Err(match fault.help() {
                Some(help) => error.with_help(help),
                None => error,
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

/// The first part of a schema that is not as JSON Schema wants it, at its place: others are found once it is mended.
fn misplaced(written: &At<SchemaText>, schema: &Value, reading: &Reading<'_>) -> Option<YamlError> {
    let Misplaced { pointer, words } = misplaced_parts(schema).into_iter().next()?;
    let place = reading.root.at(&written.path).map_or(written.place, |node| node.locate_pointer(&pointer));
    let path = format!("{}{}", written.path, pointer.replace('/', "."));
    let message = format!("`{path}` is not a valid JSON Schema: {words}");
    let help = None;
    Some(YamlError::new(place, path, Problem::Other { code: "agent.schema", message, help }))
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
