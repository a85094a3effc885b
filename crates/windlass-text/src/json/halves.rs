//! Owns lone halves of surrogate pairs in JSON that a model wrote: escapes such as `\ud83d` without the other one.

/// JSON text in which U+FFFD stands for each lone half of a pair. `None`: it has none.
pub fn without_halves(json: &str) -> Option<String> {
    json.find("\\u")?;
    let (mut out, mut copied) = (String::new(), 0);
    let (mut at, mut rest) = (0, json);
    while let Some(found) = rest.find('\\') {
        at += found;
        let here = json.get(at..).unwrap_or_default();
        let behind = here.get(6..).unwrap_or_default();
        let length = match (unit(here), unit(behind)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                out.push_str(json.get(copied..at).unwrap_or_default());
                out.push_str("\\ufffd");
                copied = at + 6;
                6
            }
            (Some(_), _) => 6,
            // The escaped letter may be a long one.
            (None, _) => 1 + here.chars().nth(1).map_or(0, char::len_utf8),
        };
        at += length;
        rest = json.get(at..).unwrap_or_default();
    }
    if copied == 0 {
        return None;
    }
    out.push_str(json.get(copied..).unwrap_or_default());
    Some(out)
}

/// The number of an escape at the beginning, such as `\ud83d`.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_number.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::without_halves;

    #[test]
    fn lone_halves_are_replaced_and_pairs_stay() {
        for (given, wanted) in [
            (r#"{"a":"x\ud83d!"}"#, Some(r#"{"a":"x\ufffd!"}"#)),
            (r#"{"a":"\uDC00","\ud83d":1}"#, Some(r#"{"a":"\ufffd","\ufffd":1}"#)),
            (r#""\ud83d\ud83d\ude00é""#, Some(r#""\ufffd\ud83d\ude00é""#)),
            (r#""\\ud83d""#, None),
            (r#""\\\ud83d""#, Some(r#""\\\ufffd""#)),
            (r#""\ud83d\ude00 \u00e9 \n""#, None),
            (r#""plain""#, None),
        ] {
            assert_eq!(without_halves(given).as_deref(), wanted, "{given}");
        }
        let text = r#"{"a":"\ud83d\ude00 \u00e9 é \é \"","b":"\ud83d"#;
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let _replaced = without_halves(&text[..cut]);
        }
    }
}
