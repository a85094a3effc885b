//! Owns the comparison of JSON texts by their values.

use super::read;

/// Whether two JSON texts of the same length, blanks left out, mean the same value. Texts that cannot be read are the same only if
/// they are equal.
pub fn same(one: &str, other: &str) -> bool {
    let dense = |text: &str| text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count();
    one == other
        || dense(one) == dense(other)
            && !differ_in_text(one, other)
            && read(one).is_ok_and(|one| read(other).is_ok_and(|other| one == other))
}

/// Whether the first difference of two texts stands within the text of one member of an object, which no later member can make good.
/// `false`: the values have to be read. Calls in a row mostly differ so, and need not be read.
fn differ_in_text(one: &str, other: &str) -> bool {
    if [one, other].iter().any(|text| text.contains('\\') || !text.trim_start().starts_with('{')) {
        return false;
    }
    let (mut left, mut right) = (Blankless::new(one), Blankless::new(other));
    // Where the last text at this depth begins, whether it is open, and whether it is a value.
    let (mut depth, mut text_at, mut in_text, mut is_value) = (0_usize, 0, false, false);
    let mut key = "";
    loop {
        let before = in_text;
        let (Some((at, byte)), Some((_, found))) = (left.next(before), right.next(before)) else {
            return false;
        };
        if byte != found {
            let quoted = format!("\"{key}\"");
            let comes_again = |text: &Blankless<'_>| text.rest().contains(&quoted);
            return before && is_value && depth == 1 && !comes_again(&left) && !comes_again(&right);
        }
        match (byte, before) {
            (b'"', false) => (in_text, text_at) = (true, at + 1),
            (b'"', true) => {
                in_text = false;
                if depth == 1 && !is_value {
                    key = one.get(text_at..at).unwrap_or_default();
                }
            }
            (b'{' | b'[', false) => depth += 1,
            (b'}' | b']', false) => depth = depth.saturating_sub(1),
            (b':', false) => is_value = true,
            (b',', false) if depth == 1 => is_value = false,
            _ => {}
        }
    }
}

/// The bytes of a text, without the blanks between values.
struct Blankless<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Blankless<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The next byte and its place.
    fn next(&mut self, in_text: bool) -> Option<(usize, u8)> {
        let bytes = self.text.as_bytes();
        while !in_text && bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        let byte = *bytes.get(self.at)?;
        self.at += 1;
        Some((self.at - 1, byte))
    }

    /// The text behind the last byte. It may begin within a character.
    fn rest(&self) -> &'t str {
        let from = (self.at..=self.text.len()).find(|at| self.text.is_char_boundary(*at));
        from.and_then(|from| self.text.get(from..)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{differ_in_text, same};
    use crate::json::read;

    #[test]
    fn blanks_and_order_make_no_difference_and_texts_do() {
        for (one, other, wanted) in [
            (r#"{"a": 1, "b": "x"}"#, r#"{"b":"x","a":1}"#, true),
            (r#"{"a":"x y"}"#, r#"{"a":"xy "}"#, false),
            (r#"{"a":"x"}"#, r#"{"a":"y"}"#, false),
            (r#"{"a":"x","a":"z"}"#, r#"{"a":"y","a":"z"}"#, true),
            (r#"{"a":"xz","a":"z"}"#, r#"{"a":"x","a" :"zz"}"#, false),
            (r#"{"a":["x"],"b":"z"}"#, r#"{"a":["y"],"b":"z"}"#, false),
            (r#"{"a":1.0}"#, r#"{"a":1e0}"#, true),
            (r#"{"a":"ä"}"#, r#"{"a":"ö"}"#, false),
            ("not JSON", "not json", false),
            ("not JSON", "not JSON", true),
        ] {
            assert_eq!(same(one, other), wanted, "{one} {other}");
        }
    }

    #[test]
    fn calls_that_differ_in_a_text_need_not_be_read() {
        assert!(differ_in_text(r#"{"n":1,"text":"m0001"}"#, r#"{"n": 1, "text": "m0002"}"#));
        // The order of members, an escape and a member that comes again need a reading.
        assert!(!differ_in_text(r#"{"a":"x","b":"y"}"#, r#"{"b":"y","a":"x"}"#));
        assert!(!differ_in_text(r#"{"a":"\u0061"}"#, r#"{"a":"\u0062"}"#));
        assert!(!differ_in_text(r#"{"a":"x","a":"z"}"#, r#"{"a":"y","a":"z"}"#));
    }

    proptest! {
        /// The difference that is found without a reading is always one of the values.
        #[test]
        fn a_difference_in_a_text_is_one_of_the_values(
            one in r#"(\{("[ab]":("[xyä]{0,2}"|[12]|\["[xy]"\]|\{"a":"[xy]"\})(, ?)?){0,3}\}?)"#,
            other in r#"(\{("[ab]":("[xyä]{0,2}"|[12]|\["[xy]"\]|\{"a":"[xy]"\})(, ?)?){0,3}\}?)"#,
        ) {
            if differ_in_text(&one, &other) {
                let equal = read(&one).is_ok_and(|one| read(&other).is_ok_and(|other| one == other));
                prop_assert!(!equal, "{} {}", one, other);
            }
        }
    }
}
