//! Why a schema is not taken in, and what of a schema goes unchecked.

use std::fmt;

use serde_json::Value;
use windlass_error::Diagnostic;

use crate::keywords::{DATA, NAMED, REFERENCES};
use crate::limits::{MAX_DEPTH, MAX_EXPANDED, MAX_IN_PLACE_DEPTH, MAX_SCHEMA_BYTES, MAX_VALUES};
use crate::pattern::Refusal;

const SIMPLIFY: &str = "simplify it: leave parts without a schema, or split the tool";
const NEST_LESS: &str = "nest fewer schemas within one another";

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum SchemaFault {
    /// It is not a JSON Schema.
    #[error("{0}")]
    #[diagnostic(kind = Invalid, code = "schema.invalid")]
    Invalid(String),
    /// It has too many JSON values.
    #[error("the schema has more than {MAX_VALUES} values")]
    #[diagnostic(kind = Invalid, code = "schema.too_many_values", help = SIMPLIFY)]
    TooManyValues,
    /// Its names and texts are too long.
    #[error("the texts of the schema have more than {MAX_SCHEMA_BYTES} bytes")]
    #[diagnostic(kind = Invalid, code = "schema.too_long", help = SIMPLIFY)]
    TooLong,
    /// It is nested too deeply.
    #[error("the schema is nested more than {MAX_DEPTH} levels deep")]
    #[diagnostic(kind = Invalid, code = "schema.too_deep", help = NEST_LESS)]
    TooDeep,
    /// Subschemas that apply to the same value are nested too deeply.
    #[error("more than {MAX_IN_PLACE_DEPTH} subschemas apply to one value, each within the one before")]
    #[diagnostic(kind = Invalid, code = "schema.chain_too_long", help = NEST_LESS)]
    ChainTooLong,
    /// Its references multiply: written out, it would be too large.
    #[error("the schema has more than {MAX_EXPANDED} keywords once its references are followed")]
    #[diagnostic(
        kind = Invalid,
        code = "schema.expands",
        help = "refer to each definition fewer times within `allOf`, `anyOf`, `oneOf` and references"
    )]
    Expands,
    /// A subschema applies itself to the same value.
    #[error("the subschema at `{place}` refers to itself for the same value")]
    #[diagnostic(
        kind = Invalid,
        code = "schema.circle",
        help = "put the reference under `properties` or `items`, where it applies to another value"
    )]
    Circle {
        /// JSON Pointer of the subschema.
        place: String,
    },
    /// A reference leads nowhere within the schema.
    #[error("the reference `{reference}` has no target within the schema")]
    #[diagnostic(
        kind = Invalid,
        code = "schema.reference",
        help = "put the schema under `$defs` and refer to it as `#/$defs/NAME`: nothing is loaded from elsewhere"
    )]
    Reference {
        /// The reference.
        reference: String,
    },
    /// A dynamic reference has more than one target.
    #[error("the dynamic reference `{reference}` has more than one target")]
    #[diagnostic(kind = Invalid, code = "schema.dynamic", help = "use `$ref`")]
    Dynamic {
        /// The reference.
        reference: String,
    },
}

impl SchemaFault {
    /// Whether the schema is too large or too deep to be looked into.
    pub fn is_of_size(&self) -> bool {
        matches!(self, Self::TooManyValues | Self::TooLong | Self::TooDeep)
    }

    /// JSON Pointer of the fault in the schema as it was written, if one part is to blame.
    pub fn pointer(&self, schema: &Value) -> Option<String> {
        match self {
            Self::Circle { place } => {
                let pointer = place.strip_prefix('#')?;
                schema.pointer(pointer).map(|_| pointer.to_owned())
            }
            Self::Reference { reference } | Self::Dynamic { reference } => {
                reference_in(schema, reference, false)
            }
            Self::Invalid(_)
            | Self::TooManyValues
            | Self::TooLong
            | Self::TooDeep
            | Self::ChainTooLong
            | Self::Expands => None,
        }
    }
}

/// Where a schema, whose depth is within bounds, has that reference. `names`: the keys are names, not keywords.
fn reference_in(schema: &Value, reference: &str, names: bool) -> Option<String> {
    let pointer = |key: &str, found: String| format!("/{}{found}", key.replace('~', "~0").replace('/', "~1"));
    match schema {
        Value::Object(map) => map.iter().find_map(|(key, value)| {
            let is_reference = !names && REFERENCES.contains(&key.as_str());
            if is_reference && value == reference {
                return Some(pointer(key, String::new()));
            }
            if !names && DATA.contains(&key.as_str()) {
                return None;
            }
            let named = !names && NAMED.contains(&key.as_str());
            reference_in(value, reference, named).map(|found| pointer(key, found))
        }),
        Value::Array(items) => items.iter().enumerate().find_map(|(at, item)| {
            reference_in(item, reference, false).map(|found| pointer(&at.to_string(), found))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// A pattern of a schema that is not checked, because it has no bound on its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncheckedPattern {
    /// Its JSON Pointer.
    pub place: String,
    /// The pattern.
    pub pattern: String,
    pub(crate) refusal: Refusal,
}

impl UncheckedPattern {
    /// Whether it is a regular expression with look-around or back references, which no linear engine matches.
    pub fn is_beyond_linear_time(&self) -> bool {
        let marks = ["(?=", "(?!", "(?<=", "(?<!", "\\k<", "(?P="];
        let is_back = |pair: &[u8]| matches!(pair, [b'\\', b'1'..=b'9']);
        self.refusal == Refusal::NotLinear
            && (marks.iter().any(|mark| self.pattern.contains(mark))
                || self.pattern.as_bytes().windows(2).any(is_back))
    }

    /// Advice for the author of the schema.
    pub const HELP: &str = "write it without look-around and back references, with smaller repetitions, or say in the description what is meant";
}

/// Maximum number of characters of a pattern that are shown.
const SHOWN_CHARS: usize = 80;

impl fmt::Display for UncheckedPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix: String = self.pattern.chars().take(SHOWN_CHARS).collect();
        let more = if prefix.len() < self.pattern.len() { "…" } else { "" };
        write!(f, "the pattern `{prefix}{more}` {}", self.refusal)
    }
}
