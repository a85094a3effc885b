//! Where requests carry markers up to which a provider is to keep its work (prompt caching): acorn's `cache`, whose points are
//! LiteLLM's `cache_control_injection_points`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::PolicyError;
use crate::ids::Text;

/// Messages of a request that are marked.
///
/// With an index it is that message, whatever its role; else all messages of the role; with neither, none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachePoint {
    /// The role as the provider sees it: `system`, `user`, `assistant` or `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Text>,
    /// The place among all messages of the request, from 0; below 0 from the end, -1 being the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<i64>,
}

impl CachePoint {
    /// All messages of a role.
    pub fn role(role: impl Into<Text>) -> Self {
        Self { role: Some(role.into()), index: None }
    }

    /// The message at a place.
    pub fn at(index: i64) -> Self {
        Self { role: None, index: Some(index) }
    }

    /// What `cache: true` stands for: the system message, and the first one.
    pub fn usual() -> Vec<Self> {
        vec![Self::role("system"), Self::at(0)]
    }
}

/// The value of `cache`: `true`, `false`, or a list of `{ location: message, role?, index? }`. Refusals are in acorn's words.
pub(super) fn points(path: &str, value: &Value) -> Result<Vec<CachePoint>, PolicyError> {
    let refused = |words: String| PolicyError::Cache { path: path.to_owned(), words };
    let items = match value {
        Value::Null | Value::Bool(false) => return Ok(Vec::new()),
        Value::Bool(true) => return Ok(CachePoint::usual()),
        Value::Array(items) if items.is_empty() => {
            return Err(refused("cache list cannot be empty".to_owned()));
        }
        Value::Array(items) => items,
        other => {
            return Err(refused(format!("cache must be None, bool, or list[dict], got: {}", kind(other))));
        }
    };
    let points = items.iter().enumerate().map(|(place, item)| match item {
        Value::Object(map) => point(place, map).map_err(refused),
        other => Err(refused(format!("cache[{place}] must be a dict, got: {}", kind(other)))),
    });
    points.collect()
}

fn point(place: usize, map: &Map<String, Value>) -> Result<CachePoint, String> {
    match map.get("location") {
        None => return Err(format!("cache[{place}] must have 'location' key")),
        Some(Value::String(location)) if location == "message" => {}
        Some(other) => {
            let found = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            return Err(format!("cache[{place}]['location'] must be 'message', got: {found}"));
        }
    }
    let more = map.keys().filter(|key| !["location", "role", "index"].contains(&key.as_str()));
    let more: Vec<String> = more.map(|key| format!("'{key}'")).collect();
    if !more.is_empty() {
        let (more, allowed) = (more.join(", "), "{'location', 'role', 'index'}");
        return Err(format!("cache[{place}] has invalid keys: {{{more}}}. Allowed: {allowed}"));
    }
    let role = match map.get("role") {
        None => None,
        Some(Value::String(role)) => Some(role.as_str().into()),
        Some(other) => return Err(format!("cache[{place}]['role'] must be a string, got: {}", kind(other))),
    };
    let index = match map.get("index") {
        None => None,
        Some(index) => Some(
            index
                .as_i64()
                .ok_or_else(|| format!("cache[{place}]['index'] must be an int, got: {}", kind(index)))?,
        ),
    };
    Ok(CachePoint { role, index })
}

/// What acorn calls a value's type.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CachePoint, points};

    fn refusal(value: &Value) -> String {
        points("loop.cache", value).unwrap_err().to_string()
    }

    #[test]
    fn a33_true_is_the_system_message_and_the_first_one() {
        assert_eq!(
            points("loop.cache", &json!(true)).unwrap(),
            [CachePoint::role("system"), CachePoint::at(0)]
        );
        assert_eq!(points("loop.cache", &json!(false)).unwrap(), []);
        assert_eq!(points("loop.cache", &Value::Null).unwrap(), []);
    }

    #[test]
    fn a33_a_list_names_roles_and_places() {
        let list = json!([
            { "location": "message", "role": "system" },
            { "location": "message", "index": -1 },
            { "location": "message", "role": "user", "index": 2 },
            { "location": "message" },
        ]);
        let both = CachePoint { role: Some("user".into()), index: Some(2) };
        let expected = [CachePoint::role("system"), CachePoint::at(-1), both, CachePoint::default()];
        assert_eq!(points("loop.cache", &list).unwrap(), expected);
    }

    #[test]
    fn a33_what_does_not_fit_is_refused_in_acorns_words() {
        for (value, words) in [
            (json!("invalid"), "cache must be None, bool, or list[dict], got: str"),
            (json!(123), "cache must be None, bool, or list[dict], got: int"),
            (json!({}), "cache must be None, bool, or list[dict], got: dict"),
            (json!([]), "cache list cannot be empty"),
            (json!(["invalid"]), "cache[0] must be a dict, got: str"),
            (json!([{ "role": "system" }]), "cache[0] must have 'location' key"),
            (json!([{ "location": "tool" }]), "cache[0]['location'] must be 'message', got: tool"),
            (
                json!([{ "location": "message" }, { "location": 1 }]),
                "cache[1]['location'] must be 'message', got: 1",
            ),
            (
                json!([{ "location": "message", "rol": "a" }]),
                "cache[0] has invalid keys: {'rol'}. Allowed: {'location', 'role', 'index'}",
            ),
            (json!([{ "location": "message", "role": 1 }]), "cache[0]['role'] must be a string, got: int"),
            (json!([{ "location": "message", "index": "0" }]), "cache[0]['index'] must be an int, got: str"),
            (
                json!([{ "location": "message", "index": 0.5 }]),
                "cache[0]['index'] must be an int, got: float",
            ),
        ] {
            assert_eq!(refusal(&value), words);
        }
    }
}
