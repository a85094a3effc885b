//! The schema of a function's parameters.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Builds the schema of an object, property by property.
#[derive(Debug)]
pub struct Properties {
    generator: SchemaGenerator,
    of_each: Map<String, Value>,
    required: Vec<Value>,
}

impl Default for Properties {
    fn default() -> Self {
        Self::new()
    }
}

impl Properties {
    /// An object without properties.
    pub fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.meta_schema = None;
            settings.inline_subschemas = true;
        });
        Self { generator: settings.into_generator(), of_each: Map::new(), required: Vec::new() }
    }

    /// A property that must be there.
    pub fn required<T: JsonSchema>(&mut self, name: &str, description: &str) {
        self.optional::<T>(name, description);
        self.required.push(name.into());
    }

    /// A property that may be missing.
    pub fn optional<T: JsonSchema>(&mut self, name: &str, description: &str) {
        let mut schema = self.generator.subschema_for::<T>();
        PlainNumbers.transform(&mut schema);
        if !description.is_empty() {
            schema.insert("description".to_owned(), description.into());
        }
        self.of_each.insert(name.to_owned(), schema.to_value());
    }

    /// A property that may be missing, with what then counts.
    pub fn with_default<T: JsonSchema>(&mut self, name: &str, description: &str, default: Value) {
        self.optional::<T>(name, description);
        if let Some(Value::Object(schema)) = self.of_each.get_mut(name) {
            schema.insert("default".to_owned(), default);
        }
    }

    /// The schema of the object. No other properties are allowed: a misspelt name is better told than ignored.
    pub fn finish(mut self) -> Value {
        let mut schema = json!({ "type": "object", "properties": self.of_each });
        if let Value::Object(object) = &mut schema {
            if !self.required.is_empty() {
                object.insert("required".to_owned(), Value::Array(self.required));
            }
            object.insert("additionalProperties".to_owned(), Value::Bool(false));
            // Only types that contain themselves are left here.
            let mut definitions = self.generator.take_definitions(true);
            for definition in definitions.values_mut() {
                if let Ok(definition) = <&mut Schema>::try_from(definition) {
                    PlainNumbers.transform(definition);
                }
            }
            if !definitions.is_empty() {
                object.insert("$defs".to_owned(), Value::Object(definitions));
            }
        }
        schema
    }
}

/// A default as JSON; what cannot be JSON is null.
pub fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

/// Takes away the formats of numbers (`int64`, `double`, …), which JSON Schema 2020-12 does not define.
#[derive(Clone, Debug)]
struct PlainNumbers;

impl Transform for PlainNumbers {
    fn transform(&mut self, schema: &mut Schema) {
        let number = schema.get("type").is_some_and(|kind| match kind {
            Value::String(kind) => kind == "integer" || kind == "number",
            Value::Array(kinds) => kinds.iter().any(|kind| kind == "integer" || kind == "number"),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
        });
        if number {
            schema.remove("format");
        }
        transform_subschemas(self, schema);
    }
}
