//! Why a schema is not taken in, and what of a schema goes unchecked.

use std::fmt;

use super::bounds::{MAX_DEPTH, MAX_EXPANDED, MAX_IN_PLACE_DEPTH, MAX_SCHEMA_BYTES, MAX_VALUES};
use super::pattern::Refusal;

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaFault {
    /// It is not a JSON Schema.
    #[error("{0}")]
    Invalid(String),
    /// It has too many JSON values.
    #[error("the schema has more than {MAX_VALUES} values")]
    TooManyValues,
    /// Its names and texts are too long.
    #[error("the texts of the schema have more than {MAX_SCHEMA_BYTES} bytes")]
    TooLong,
    /// It is nested too deeply.
    #[error("the schema is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// Subschemas that apply to the same value are nested too deeply.
    #[error("more than {MAX_IN_PLACE_DEPTH} subschemas apply to one value, each within the one before")]
    ChainTooLong,
    /// Its references multiply: written out, it would be too large.
    #[error("the schema has more than {MAX_EXPANDED} keywords once its references are followed")]
    Expands,
    /// A subschema applies itself to the same value.
    #[error("the subschema at `{place}` refers to itself for the same value")]
    Circle {
        /// JSON Pointer of the subschema.
        place: String,
    },
    /// A reference leads nowhere within the schema.
    #[error("the reference `{reference}` has no target within the schema")]
    Reference {
        /// The reference.
        reference: String,
    },
    /// A dynamic reference has more than one target.
    #[error("the dynamic reference `{reference}` has more than one target")]
    Dynamic {
        /// The reference.
        reference: String,
    },
}

impl SchemaFault {
    /// A remedy, in words.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Invalid(_) => None,
            Self::TooManyValues | Self::TooLong => {
                Some("simplify it: leave parts without a schema, or split the tool")
            }
            Self::TooDeep | Self::ChainTooLong => Some("nest fewer schemas within one another"),
            Self::Expands => {
                Some("refer to each definition fewer times within `allOf`, `anyOf`, `oneOf` and references")
            }
            Self::Circle { .. } => {
                Some("put the reference under `properties` or `items`, where it applies to another value")
            }
            Self::Reference { .. } => Some(
                "put the schema under `$defs` and refer to it as `#/$defs/NAME`: nothing is loaded from elsewhere",
            ),
            Self::Dynamic { .. } => Some("use `$ref`"),
        }
    }
}

/// A pattern of a schema that is not checked, because it has no bound on its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncheckedPattern {
    /// Its JSON Pointer.
    pub place: String,
    /// The pattern.
    pub pattern: String,
    pub(super) refusal: Refusal,
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
        let shown: String = self.pattern.chars().take(SHOWN_CHARS).collect();
        let more = if shown.len() < self.pattern.len() { "…" } else { "" };
        write!(f, "the pattern `{shown}{more}` {}", self.refusal)
    }
}
