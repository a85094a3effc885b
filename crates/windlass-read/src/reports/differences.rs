//! Differences between two JSON values, by path.

use serde_json::Value;

/// One place where two JSON values differ.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueChange {
    /// The place, such as `data.list[2]`; empty for the values as a whole.
    pub place: String,
    /// The value before; `null` where there was none.
    pub before: Value,
    /// The value after; `null` where there is none.
    pub after: Value,
}

/// The places where two values differ, in the order of the first value; equal values have none.
///
/// ```
/// use serde_json::json;
/// use windlass_read::reports::value_changes;
///
/// let changes = value_changes(&json!({ "n": 1, "list": [1] }), &json!({ "n": 1, "list": [1, 2] }));
/// assert_eq!(changes.len(), 1);
/// assert_eq!(changes[0].place, "list[1]");
/// ```
pub fn value_changes(before: &Value, after: &Value) -> Vec<ValueChange> {
    let mut changes = Vec::new();
    walk("", before, after, &mut changes);
    changes
}

fn walk(place: &str, before: &Value, after: &Value, changes: &mut Vec<ValueChange>) {
    match (before, after) {
        (one, other) if one == other => {}
        (Value::Object(one), Value::Object(other)) => {
            let fresh = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(fresh) {
                let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                let (one, other) = (one.get(key), other.get(key));
                walk(&place, one.unwrap_or(&Value::Null), other.unwrap_or(&Value::Null), changes);
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            for number in 0..one.len().max(other.len()) {
                let (one, other) = (one.get(number), other.get(number));
                let place = format!("{place}[{number}]");
                walk(&place, one.unwrap_or(&Value::Null), other.unwrap_or(&Value::Null), changes);
            }
        }
        (one, other) => {
            changes.push(ValueChange { place: place.to_owned(), before: one.clone(), after: other.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::value_changes;

    #[test]
    fn each_place_that_differs_is_named_with_both_values() {
        let before = json!({ "type": "a", "data": { "n": 1, "list": [1, 2], "gone": "x" } });
        let after = json!({ "type": "a", "data": { "n": 2, "list": [1, 3, 4], "fresh": true } });
        let lines: Vec<_> = value_changes(&before, &after)
            .into_iter()
            .map(|change| format!("{}: {}, {}", change.place, change.before, change.after))
            .collect();
        assert_eq!(
            lines,
            [
                "data.n: 1, 2",
                "data.list[1]: 2, 3",
                "data.list[2]: null, 4",
                "data.gone: \"x\", null",
                "data.fresh: null, true",
            ]
        );
        assert!(value_changes(&before, &before).is_empty());
        assert_eq!(value_changes(&json!(1), &json!(2))[0].place, "");
    }
}
