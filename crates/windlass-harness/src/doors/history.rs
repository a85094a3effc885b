//! The parts of two runs that must be the same: their events without times and ids, and a reader's view of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Fields that differ from run to run, or that only one of two readers is shown.
const TIMES: [&str; 2] = ["at", "cause"];
/// Length of an id's text (a UUID).
const ID: usize = 36;

/// Ids by the order in which they come.
#[derive(Debug, Default)]
struct Ids(BTreeMap<String, usize>);

impl Ids {
    /// A text with each UUID and each idempotency key by its place.
    fn replaced(&mut self, text: &str) -> String {
        let (mut written, mut rest) = (String::new(), text);
        while !rest.is_empty() {
            let candidate = rest.get(..ID).filter(|text| is_id(text));
            if let Some(id) = candidate {
                let next = self.0.len();
                let place = *self.0.entry(id.to_owned()).or_insert(next);
                // Writing to a text cannot fail.
                let _written = write!(written, "<{place}>");
                rest = rest.get(ID..).unwrap_or_default();
            } else {
                let mut chars = rest.chars();
                written.extend(chars.next());
                rest = chars.as_str();
            }
        }
        written
    }

    fn plain(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.replaced(text)),
            Value::Array(items) => items.iter().map(|item| self.plain(item)).collect(),
            Value::Object(fields) => {
                let kept = fields.iter().filter(|(name, _)| !is_time(name));
                kept.map(|(name, value)| (self.replaced(name), self.plain(value))).collect()
            }
            other => other.clone(),
        }
    }
}

fn is_time(name: &str) -> bool {
    TIMES.contains(&name) || name.ends_with("_at") || name.ends_with("_ms")
}

fn is_id(text: &str) -> bool {
    text.bytes().enumerate().all(|(place, byte)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// Events without times and ids.
pub(super) fn plain(events: &[Value]) -> Vec<Value> {
    let mut ids = Ids::default();
    events.iter().map(|event| ids.plain(event)).collect()
}

/// The first difference of two histories.
pub(super) fn difference(expected: &[Value], found: &[Value]) -> Option<String> {
    for place in 0..expected.len().max(found.len()) {
        let [one, other] = [expected, found].map(|events| events.get(place).unwrap_or(&Value::Null));
        if let Some(difference) = within(&format!("event {}", place + 1), one, other) {
            return Some(difference);
        }
    }
    None
}

/// The first difference of two values, with its place.
fn within(place: &str, expected: &Value, found: &Value) -> Option<String> {
    if expected == found {
        return None;
    }
    if let (Value::Object(one), Value::Object(other)) = (expected, found) {
        let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
        let field = |fields: &Map<String, Value>, name: &str| fields.get(name).cloned().unwrap_or_default();
        return names
            .into_iter()
            .find_map(|name| within(&format!("{place}/{name}"), &field(one, name), &field(other, name)));
    }
    Some(format!("{place}: expected {expected}, found {found}"))
}
