//! JSON values within any text (events of a stream, lines), found by their place.

use std::ops::Range;

use serde_json::Value;
use serde_json::de::{Deserializer, StrRead};

/// Replacements for a value of another type.
pub(super) const OTHERS: [&str; 8] =
    ["null", "true", "-1", "1e308", "\"\"", "[]", "{}", "[[{\"a\":[1,\"\\u0000\"]}]]"];

/// Number of JSON values in a text's objects.
pub(super) fn values(text: &str) -> usize {
    places(text).len()
}

/// The text with its nth JSON value replaced.
pub(super) fn replaced(text: &str, nth: usize, with: &str) -> String {
    match places(text).get(nth).cloned() {
        Some(place) => {
            let mut text = text.to_owned();
            text.replace_range(place, with);
            text
        }
        None => text.to_owned(),
    }
}

/// Positions of the values after each `:` of the text's objects.
fn places(text: &str) -> Vec<Range<usize>> {
    let keys = text.match_indices("\":").map(|(at, _)| at + 2);
    let value = |at: usize| {
        let rest = text.get(at..)?;
        let mut values = Deserializer::new(StrRead::new(rest)).into_iter::<Value>();
        values.next()?.ok()?;
        Some(at..at + values.byte_offset())
    };
    keys.filter_map(value).collect()
}

/// An array within arrays, so many levels deep.
pub(super) fn deep(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}
