//! Keywords of JSON Schema by the kind of their value.

/// Keywords whose value has a schema for each name.
pub(crate) const NAMED: [&str; 5] =
    ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
/// Keywords whose value is data.
pub(crate) const DATA: [&str; 4] = ["const", "enum", "default", "examples"];
/// Keywords that refer.
pub(crate) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
