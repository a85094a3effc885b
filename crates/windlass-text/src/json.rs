//! JSON texts of others: read into values within a bound.

use serde_json::Value;

pub use self::halves::without_halves;
pub use self::same::same;
use crate::steps;

mod halves;
mod same;

/// The most values that a JSON text of a model may hold: arguments, or an output. A value takes up to some hundred bytes of
/// memory for two of text.
pub const MAX_VALUES: usize = 250_000;

/// The part of a reply that may be its JSON object: from the first brace to the last.
pub fn object_in(reply: &str) -> Option<&str> {
    reply.get(reply.find('{')?..=reply.rfind('}')?)
}

/// Reads a text that a model wrote.
///
/// # Errors
/// It is no JSON, or holds more than [`MAX_VALUES`] values: said as the end of a sentence about the text.
pub fn read(json: &str) -> Result<Value, String> {
    if values_in(json) > MAX_VALUES {
        return Err(format!("too large: more than {MAX_VALUES} values"));
    }
    steps::add(json.len());
    serde_json::from_str(json).or_else(|error| {
        // Half of a character is no reason to have all of the text written again.
        let mended = without_halves(json).and_then(|mended| serde_json::from_str(&mended).ok());
        mended.ok_or_else(|| format!("not valid JSON: {error}"))
    })
}

/// The text of arguments: providers send nothing at all, or a null, for tools without parameters.
pub fn given_args(text: &str) -> &str {
    let text = text.trim();
    if matches!(text, "" | "null") { "{}" } else { text }
}

/// Upper bound for the number of values in a JSON text: one more than its commas, colons and opening brackets outside of
/// strings.
fn values_in(json: &str) -> usize {
    steps::add(json.len());
    let (mut values, mut within, mut escaped) = (1, false, false);
    for byte in json.bytes() {
        if within {
            (within, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
        } else {
            within = byte == b'"';
            values += usize::from(matches!(byte, b',' | b':' | b'[' | b'{'));
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::steps::{Shape, doubling, taken};

    #[test]
    fn half_a_character_makes_no_text_unreadable() {
        for given in [r#"{"text":"\ud83d!"}"#, r#"{"text":"\udc00!"}"#] {
            assert_eq!(read(given), Ok(json!({ "text": "\u{fffd}!" })), "{given}");
        }
        let error = read(r#"{"text":"\ud83d"#).expect_err("it was cut");
        assert!(error.starts_with("not valid JSON: "), "{error}");
    }

    #[test]
    fn values_are_counted_without_being_made() {
        for (value, at_least) in [(json!(1), 1), (json!([1, 2, 3]), 3), (json!({ "a": [1, ",:["] }), 3)] {
            let counted = values_in(&value.to_string());
            assert!((at_least..=2 * at_least + 1).contains(&counted), "{value}: {counted}");
        }
    }

    /// The values that a text became.
    fn made(value: &Value) -> u64 {
        1 + match value {
            Value::Array(items) => items.iter().map(made).sum::<u64>(),
            Value::Object(map) => map.values().map(made).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        }
    }

    #[test]
    fn reading_json_costs_its_length() {
        let shapes: [Shape; 9] = [
            ("a text", |n| format!("\"{}\"", "x".repeat(n))),
            ("escapes", |n| format!("\"{}\"", "\\u00e9".repeat(n))),
            ("a number", |n| "9".repeat(n)),
            ("a fraction", |n| format!("0.{}e-1", "1".repeat(n))),
            ("items", |n| format!("[{}0]", "[],".repeat(n))),
            ("fields", |n| {
                let fields = (0..n).map(|at| format!("\"k{at}\":1,")).collect::<Vec<_>>();
                format!("{{{}\"z\":1}}", fields.concat())
            }),
            ("one field", |n| format!("{{{}\"a\":1}}", "\"a\":{},".repeat(n))),
            ("brackets", |n| "[".repeat(n)),
            ("an open text", |n| format!("[\"{}", "\\\"".repeat(n))),
        ];
        for (what, shape) in shapes {
            // Up to the bound on values, and far beyond it.
            for times in [1, 16, 256] {
                let cost = |n: usize| {
                    let (text, mut values) = (shape(n * times), 0);
                    let steps = taken(|| values = read(&text).map_or(0, |value| made(&value)));
                    let cost = steps + values;
                    assert!(cost <= 3 * text.len() as u64, "{what}: {cost} of {}", text.len());
                    cost
                };
                doubling(cost).unwrap_or_else(|fault| panic!("{what}: {fault}"));
            }
        }
    }

    #[test]
    fn a_text_of_too_many_values_is_not_read() {
        let list = |values: usize| format!("[{}0]", "0,".repeat(values - 1));
        assert!(read(&list(MAX_VALUES - 2)).is_ok());
        assert_eq!(read(&list(4 * MAX_VALUES)).unwrap_err(), "too large: more than 250000 values");
        assert!(read(&format!("\"{}\"", ",".repeat(4 * MAX_VALUES))).is_ok(), "a long text is one value");
        assert!(read(&"[".repeat(100_000)).unwrap_err().contains("recursion limit"), "no stack is used up");
    }
}
