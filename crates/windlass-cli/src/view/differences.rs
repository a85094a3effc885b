//! Where two JSON values differ, place by place.

use serde_json::Value;

use super::words::cut;

/// How many characters of a value are shown.
const VALUE_CHARS: usize = 200;
/// How many places are named.
const PLACES: usize = 20;

/// One line for each place that differs: `data.attempt: 1, now 2`.
pub(crate) fn lines(before: &Value, after: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    walk("", before, after, &mut lines);
    if lines.len() > PLACES {
        let more = lines.len() - PLACES;
        lines.truncate(PLACES);
        lines.push(format!("and {more} more"));
    }
    lines
}

fn walk(place: &str, before: &Value, after: &Value, lines: &mut Vec<String>) {
    match (before, after) {
        (one, other) if one == other => {}
        (Value::Object(one), Value::Object(other)) => {
            let fresh = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(fresh) {
                let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                let field =
                    |fields: &serde_json::Map<String, Value>| fields.get(key).cloned().unwrap_or(Value::Null);
                walk(&place, &field(one), &field(other), lines);
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            for number in 0..one.len().max(other.len()) {
                let item = |items: &[Value]| items.get(number).cloned().unwrap_or(Value::Null);
                walk(&format!("{place}[{number}]"), &item(one), &item(other), lines);
            }
        }
        (one, other) => {
            let place = if place.is_empty() { "value" } else { place };
            lines.push(format!("{place}: {}, now {}", shown(one), shown(other)));
        }
    }
}

fn shown(value: &Value) -> String {
    if value.is_null() { "nothing".to_owned() } else { cut(&value.to_string(), VALUE_CHARS) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::lines;

    #[test]
    fn each_place_that_differs_is_named_with_both_values() {
        let before = json!({ "type": "a", "data": { "n": 1, "list": [1, 2], "gone": "x" } });
        let after = json!({ "type": "a", "data": { "n": 2, "list": [1, 3, 4], "fresh": true } });
        assert_eq!(
            lines(&before, &after),
            [
                "data.n: 1, now 2",
                "data.list[1]: 2, now 3",
                "data.list[2]: nothing, now 4",
                "data.gone: \"x\", now nothing",
                "data.fresh: nothing, now true",
            ]
        );
        assert!(lines(&before, &before).is_empty());
    }
}
