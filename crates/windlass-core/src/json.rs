//! JSON texts of others: made compact as they stand, and read into values within a bound.

use serde_json::Value;

use crate::steps::Steps;

/// The most values that a JSON text of a model may hold: arguments, or an output. A value takes up to some hundred bytes of memory for two of text.
pub const MAX_VALUES: usize = 250_000;

/// Reads a text that a model wrote.
///
/// # Errors
/// It is no JSON, or holds more than [`MAX_VALUES`] values: said as the end of a sentence about the text.
pub(crate) fn read(json: &str) -> Result<Value, String> {
    // No text holds more values than half its bytes.
    if json.len() / 2 > MAX_VALUES && values_in(json) > MAX_VALUES {
        return Err(format!("too large: more than {MAX_VALUES} values"));
    }
    serde_json::from_str(json).map_err(|error| format!("not valid JSON: {error}"))
}

/// A JSON text that is known to be valid, without the blanks between its tokens. Numbers and escapes stay as written.
pub(crate) fn compact(json: &str, steps: &Steps) -> String {
    steps.add(json.len());
    let mut out = String::with_capacity(json.len());
    let (mut kept, mut within, mut escaped) = (0, false, false);
    for (at, byte) in json.bytes().enumerate() {
        if within {
            (within, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
        } else if byte == b'"' {
            within = true;
        } else if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            out.push_str(json.get(kept..at).unwrap_or_default());
            kept = at + 1;
        }
    }
    out.push_str(json.get(kept..).unwrap_or_default());
    out
}

/// How many values a JSON text may hold: one more than its commas, colons and opening brackets outside of texts.
fn values_in(json: &str) -> usize {
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
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn blanks_between_tokens_go_and_blanks_in_texts_stay() {
        let steps = Steps::default();
        let written = "{ \"a b\" : [ 1.0e5 ,\t\"x \\\" y\\\\\" ] ,\r\n\"\\u00e9\": null }";
        assert_eq!(compact(written, &steps), "{\"a b\":[1.0e5,\"x \\\" y\\\\\"],\"\\u00e9\":null}");
        assert_eq!(steps.count(), written.len() as u64);
    }

    #[test]
    fn values_are_counted_without_being_made() {
        for (value, at_least) in [(json!(1), 1), (json!([1, 2, 3]), 3), (json!({ "a": [1, ",:["] }), 3)] {
            let counted = values_in(&value.to_string());
            assert!((at_least..=2 * at_least + 1).contains(&counted), "{value}: {counted}");
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

    proptest! {
        #[test]
        fn what_is_compact_says_the_same(text in ".*", numbers in proptest::collection::vec(any::<i64>(), 0..8)) {
            let value = json!({ text.clone(): numbers, "b": text });
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            let made = compact(&pretty, &Steps::default());
            prop_assert_eq!(&made, &value.to_string());
            prop_assert_eq!(serde_json::from_str::<Value>(&made).unwrap(), value);
        }
    }
}
