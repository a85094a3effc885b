//! The bounds of a schema, which its faults name.

/// The most JSON values of a schema.
pub(crate) const MAX_VALUES: usize = 20_000;
/// The most bytes of names and texts in a schema.
pub(crate) const MAX_SCHEMA_BYTES: usize = 1 << 20;
/// Maximum nesting depth of a schema's JSON. `serde_json` reads no deeper one.
pub(crate) const MAX_DEPTH: usize = 128;
/// Maximum nesting depth of subschemas that apply to the same value.
pub(crate) const MAX_IN_PLACE_DEPTH: usize = 64;
/// The most keywords that apply to the same values, over all subschemas, with each reference followed. Compiling a
/// schema walks them.
pub(crate) const MAX_EXPANDED: u64 = 200_000;
