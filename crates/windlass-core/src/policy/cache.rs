//! Cache points: where requests mark the prefix that a provider should cache (prompt caching). The key is acorn's `cache`; its
//! points are LiteLLM's `cache_control_injection_points`.

use schemars::{JsonSchema, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::vocabulary::ids::Text;
use crate::vocabulary::settings::refusal;

/// Messages of a request that are marked.
///
/// With an index, the point is that message, whatever its role; otherwise all messages of the role. With neither, it marks
/// nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(into = "WrittenPoint")]
pub struct CachePoint {
    /// The role as the provider sees it: `system`, `user`, `assistant` or `tool`.
    pub role: Option<Text>,
    /// The place among all messages of the request, from 0; below 0 from the end, -1 being the last one.
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

    /// Meaning of `cache: true`: the system message and the first message.
    pub fn default_points() -> Vec<Self> {
        vec![Self::role("system"), Self::at(0)]
    }
}

/// The messages of a request that are marked, and whether nobody has said which: then the front and the newest message are, where
/// it pays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CachePoints(pub Option<Vec<CachePoint>>);

impl CachePoints {
    /// Whether the front and the newest message are marked where it pays.
    pub fn is_auto(&self) -> bool {
        self.0.is_none()
    }

    /// The points that somebody has said.
    pub fn explicit(&self) -> &[CachePoint] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl Serialize for CachePoints {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_auto() {
            return serializer.serialize_str(AUTO);
        }
        // An empty list is refused, as acorn refuses it.
        if self.explicit().is_empty() {
            serializer.serialize_bool(false)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for CachePoints {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value == AUTO {
            return Ok(Self::default());
        }
        points(&value)
            .map(|points| Self(Some(points)))
            .map_err(|words| D::Error::custom(refusal("policy.cache", &words, HELP)))
    }
}

/// The value of whoever says nothing.
const AUTO: &str = "auto";

/// Help for an invalid value.
const HELP: &str = "`cache` is auto, true, or a list such as [{ location: message, role: system }]";

crate::schema_as!(inline [] CachePoints, "cache", |generator| {
    let point = generator.subschema_for::<WrittenPoint>();
    let points = json_schema!({ "type": "array", "minItems": 1, "items": point });
    json_schema!({ "oneOf": [{ "enum": ["auto", true, false, null] }, points] })
});

/// Messages that are marked.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "cachePoint")]
struct WrittenPoint {
    /// Kind of place to mark.
    location: Location,
    /// All messages of this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<Text>,
    /// The message at this place; below 0 from the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<i64>,
}

impl From<CachePoint> for WrittenPoint {
    fn from(CachePoint { role, index }: CachePoint) -> Self {
        Self { location: Location::Message, role, index }
    }
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Location {
    Message,
}

/// The value of `cache`: `true`, `false`, or a list of `{ location: message, role?, index? }`. Refusals are in acorn's words.
fn points(value: &Value) -> Result<Vec<CachePoint>, String> {
    let items = match value {
        Value::Null | Value::Bool(false) => return Ok(Vec::new()),
        Value::Bool(true) => return Ok(CachePoint::default_points()),
        Value::Array(items) if items.is_empty() => return Err("cache list cannot be empty".to_owned()),
        Value::Array(items) => items,
        Value::Number(_) | Value::String(_) | Value::Object(_) => {
            return Err(format!("cache must be None, bool, or list[dict], got: {}", kind(value)));
        }
    };
    let points = items.iter().enumerate().map(|(place, item)| {
        let map = item.as_object();
        map.ok_or_else(|| format!("cache[{place}] must be a dict, got: {}", kind(item)))
            .and_then(|map| point(place, map))
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
    if let Some(other) = map.get("role").filter(|role| !role.is_string()) {
        return Err(format!("cache[{place}]['role'] must be a string, got: {}", kind(other)));
    }
    if let Some(other) = map.get("index").filter(|index| !index.is_i64()) {
        return Err(format!("cache[{place}]['index'] must be an int, got: {}", kind(other)));
    }
    let point = serde_json::from_value(Value::Object(map.clone())).map_err(|error| error.to_string())?;
    let WrittenPoint { location: Location::Message, role, index } = point;
    Ok(CachePoint { role, index })
}

/// Acorn's name for the type of a value.
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

    use crate::policy::Policy;
    use crate::policy::cache::CachePoint;
    use crate::policy::cache::CachePoints;
    use crate::policy::cache::points;

    fn refusal(value: &Value) -> String {
        points(value).unwrap_err()
    }

    #[test]
    fn a33_a_stored_no_stays_no_and_what_was_not_said_is_auto() {
        let mut stored = serde_json::to_value(Policy::default()).unwrap();
        let read = |stored: &Value| serde_json::from_value::<Policy>(stored.clone()).unwrap().request.cache;
        assert!(read(&stored).is_auto());
        stored["request"]["cache"] = false.into();
        let none = read(&stored);
        assert!(!none.is_auto() && none.explicit().is_empty());
        assert_eq!(serde_json::to_value(&none).unwrap(), json!(false));
        stored["request"].as_object_mut().unwrap().remove("cache");
        assert_eq!(read(&stored), CachePoints::default());
    }

    #[test]
    fn a33_true_is_the_system_message_and_the_first_one() {
        assert_eq!(points(&json!(true)).unwrap(), [CachePoint::role("system"), CachePoint::at(0)]);
        assert_eq!(points(&json!(false)).unwrap(), []);
        assert_eq!(points(&Value::Null).unwrap(), []);
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
        assert_eq!(points(&list).unwrap(), expected);
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
