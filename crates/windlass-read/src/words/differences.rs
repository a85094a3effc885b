//! Differences between two JSON values, in words.

use crate::reports::value_changes;
use serde_json::Value;

use super::Cuts;

/// Characters of a value that are shown.
const VALUE_CHARS: usize = 200;
/// Places that are named.
const PLACES: usize = 20;

/// One line for each place that differs: `data.attempt: 1, now 2`, where `between` is `, now `.
pub fn lines(before: &Value, after: &Value, between: &str, cuts: &Cuts) -> Vec<String> {
    let changes = value_changes(before, after);
    let more = changes.len().saturating_sub(PLACES);
    if more > 0 {
        cuts.note();
    }
    let rendered_changes = changes.iter().take(PLACES).map(|change| {
        let place = if change.place.is_empty() { "value" } else { &change.place };
        format!("{place}: {}{between}{}", rendered(&change.before, cuts), rendered(&change.after, cuts))
    });
    rendered_changes.chain((more > 0).then(|| format!("and {more} more"))).collect()
}

fn rendered(value: &Value, cuts: &Cuts) -> String {
    if value.is_null() { "nothing".to_owned() } else { cuts.chars(&value.to_string(), VALUE_CHARS) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(before: &Value, after: &Value) -> Vec<String> {
        super::lines(before, after, ", now ", &Cuts::default())
    }

    #[test]
    fn each_place_that_differs_is_named_with_both_values() {
        let before = json!({ "data": { "n": 1, "gone": "x" } });
        let after = json!({ "data": { "n": 2 } });
        assert_eq!(lines(&before, &after), ["data.n: 1, now 2", "data.gone: \"x\", now nothing"]);
        assert_eq!(lines(&json!(1), &json!(2)), ["value: 1, now 2"]);
        let (few, many): (Vec<u8>, Vec<u8>) = (vec![0; 22], vec![1; 22]);
        assert_eq!(lines(&json!(few), &json!(many)).last().map(String::as_str), Some("and 2 more"));
    }
}
