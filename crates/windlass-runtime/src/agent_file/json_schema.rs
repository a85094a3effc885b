//! JSON Schemas in agent files: of tools' parameters, inputs and outputs.

use serde_json::Value;
use windlass_core::{Checker, SchemaFault, UncheckedPattern};

use crate::yaml::{Field, MapReader, Problem, YamlError};

/// A map with a JSON Schema under `schema`.
pub(super) fn schema_of(field: &Field<'_>) -> Result<Value, YamlError> {
    let mut map = field.map()?;
    let schema = json_schema(&mut map, "schema")?.ok_or_else(|| map.missing("schema"))?;
    map.finish()?;
    Ok(schema)
}

/// A key that holds a JSON Schema, which must be a valid one that costs little to check. The author of a file can change a
/// pattern that would go unchecked, so it is an error here.
pub(super) fn json_schema(map: &mut MapReader<'_>, key: &str) -> Result<Option<Value>, YamlError> {
    let Some(field) = map.optional(key) else { return Ok(None) };
    let schema = Value::Object(field.json_object()?);
    let checker = match Checker::new(&schema) {
        Ok(checker) => checker,
        Err(fault) => {
            let what = match fault {
                SchemaFault::Invalid(_) => "is no valid JSON Schema",
                _ => "cannot be used",
            };
            let error = field.error("agent.schema", format!("`{}` {what}: {fault}", field.path));
            return Err(match fault.help() {
                Some(help) => error.with_help(help),
                None => error,
            });
        }
    };
    match checker.unchecked().first() {
        Some(pattern) => Err(unchecked(&field, pattern)),
        None => Ok(Some(schema)),
    }
}

fn unchecked(field: &Field<'_>, pattern: &UncheckedPattern) -> YamlError {
    let place = field.node.locate_pointer(&pattern.place);
    let problem = Problem::Other {
        code: "agent.pattern",
        message: format!("`{}{}`: {pattern}", field.path, pattern.place.replace('/', ".")),
        help: Some(UncheckedPattern::HELP.to_owned()),
    };
    YamlError::new(place, field.path.clone(), problem)
}
