//! From the `loop` section of an agent file to a [`Policy`]: every key, every value, no silent default.

use serde_json::{Map, Value};
use thiserror::Error;

use super::{
    Another, AtLimit, Batch, ContextBudget, Discovery, Limit, LimitKind, Malformed, Memory, Policy, Preset,
    Repetition, Results, Stop, Talk, View, Wire, cache, share,
};
use crate::nearest::nearest;

/// A `loop` section that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A key that does not exist.
    #[error("Unknown key `{key}` in `{path}`{}", did_you_mean(.nearest))]
    UnknownKey {
        /// Where.
        path: String,
        /// The key.
        key: String,
        /// Existing keys of similar names.
        nearest: Vec<String>,
    },
    /// A preset that does not exist.
    #[error("Unknown preset `{name}`{}", did_you_mean(.nearest))]
    UnknownPreset {
        /// The name.
        name: String,
        /// Existing presets of similar names, else all.
        nearest: Vec<String>,
    },
    /// A value of the wrong type or out of range.
    #[error("`{path}` is {found}, expected {expected}")]
    BadValue {
        /// Where.
        path: String,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// `cache` says what acorn would refuse, too.
    #[error("{words}")]
    Cache {
        /// Where.
        path: String,
        /// What is wrong.
        words: String,
    },
    /// A value whose behaviour this version does not have yet.
    #[error("`{path}: {value}` is not available in this version")]
    Later {
        /// Where.
        path: String,
        /// The value.
        value: String,
    },
}

fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest.join(" or ")) }
}

impl PolicyError {
    /// The key at fault, as a dotted path from the agent file's top.
    pub fn path(&self) -> String {
        match self {
            Self::UnknownKey { path, key, .. } => format!("{path}.{key}"),
            Self::UnknownPreset { .. } => "loop.preset".to_owned(),
            Self::BadValue { path, .. } | Self::Cache { path, .. } | Self::Later { path, .. } => path.clone(),
        }
    }

    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownKey { .. } => "policy.unknown_key",
            Self::UnknownPreset { .. } => "policy.unknown_preset",
            Self::BadValue { .. } => "policy.bad_value",
            Self::Cache { .. } => "policy.cache",
            Self::Later { .. } => "policy.later",
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::UnknownKey { .. } | Self::UnknownPreset { .. } => {
                Some("`windlass agents schema` prints all keys with their values".to_owned())
            }
            Self::BadValue { .. } => None,
            Self::Cache { .. } => {
                Some("`cache` is true, or a list such as [{ location: message, role: system }]".to_owned())
            }
            Self::Later { .. } => Some("CHANGELOG.md lists what this version can do".to_owned()),
        }
    }
}

const KEYS: [&str; 26] = [
    "preset",
    "wire",
    "view",
    "stop",
    "talk",
    "malformed",
    "batch",
    "cache",
    "discovery",
    "results",
    "retries",
    "retry_wait_ms",
    "parse_retries",
    "another",
    "verify",
    "repetition",
    "strategy",
    "ask_on_replan",
    "limits",
    "at_limit",
    "share",
    "approve",
    "deny",
    "context",
    "memory",
    "grace_ms",
];

/// The share of the most tokens at which a warning is logged, by default.
const WARN_AT: f64 = 1.0;

/// Values by name; `None`: this version does not have it yet.
type Choices<T, const N: usize> = [(&'static str, Option<T>); N];

const WIRES: Choices<Wire, 4> = [
    ("auto", Some(Wire::Auto)),
    ("native", Some(Wire::Native)),
    ("fenced", Some(Wire::Fenced)),
    ("xml", None),
];
const VIEWS: Choices<View, 6> = [
    ("full", Some(View::Full)),
    ("progressive", None),
    ("minimal", None),
    ("kitchen_sink", None),
    ("blackboard", None),
    ("plan", None),
];
const STOPS: Choices<Stop, 3> =
    [("text", Some(Stop::Text)), ("finish_tool", Some(Stop::FinishTool)), ("judge", None)];
const DISCOVERIES: Choices<Discovery, 2> =
    [("all", Some(Discovery::All)), ("search", Some(Discovery::Search))];
const RESULTS: Choices<Results, 4> = [
    ("plain", Some(Results::Plain)),
    ("announced", Some(Results::Announced)),
    ("acorn", Some(Results::Acorn)),
    ("kaos", Some(Results::Kaos)),
];
const ANOTHER: Choices<Another, 3> = [("never", Some(Another::Never)), ("always", None), ("judge", None)];

impl Policy {
    /// The policy of a `loop` section: the preset's values with the given keys set.
    ///
    /// # Errors
    /// A key or value that does not exist, or that this version does not have yet.
    pub fn from_settings(settings: &Map<String, Value>) -> Result<Self, PolicyError> {
        Self::from_settings_or(settings, Preset::Chat)
    }

    /// As [`from_settings`](Self::from_settings), with the preset of an agent that names none: `typed` for one with an
    /// output schema, else `chat`.
    ///
    /// # Errors
    /// As there.
    pub fn from_settings_or(settings: &Map<String, Value>, usual: Preset) -> Result<Self, PolicyError> {
        let preset = match settings.get("preset") {
            None => usual,
            Some(name) => preset_of(name)?,
        };
        let mut policy = Self::preset(preset)?;
        for (key, value) in settings {
            policy.set(preset, key, value)?;
        }
        policy.check()?;
        Ok(policy)
    }

    /// A preset's values.
    ///
    /// # Errors
    /// This version does not have it yet.
    pub fn preset(preset: Preset) -> Result<Self, PolicyError> {
        preset
            .policy()
            .ok_or_else(|| PolicyError::Later { path: "loop.preset".to_owned(), value: preset.to_string() })
    }

    fn set(&mut self, preset: Preset, key: &str, value: &Value) -> Result<(), PolicyError> {
        let path = format!("loop.{key}");
        match key {
            "preset" => {}
            "wire" => self.wire = choice(&path, value, &WIRES)?,
            "view" => self.view = choice(&path, value, &VIEWS)?,
            "stop" => self.stop = choice(&path, value, &STOPS)?,
            "talk" => self.talk = talk(&path, value)?,
            "malformed" => self.malformed = malformed(&path, value)?,
            "batch" => self.batch = batch(&path, value)?,
            "cache" => self.cache = cache::points(&path, value)?,
            "discovery" => self.discovery = choice(&path, value, &DISCOVERIES)?,
            "results" => self.results = choice(&path, value, &RESULTS)?,
            "retries" => self.retries = count(&path, value)?,
            "retry_wait_ms" => self.retry_wait_ms = u64::from(count(&path, value)?),
            "parse_retries" => self.parse_retries = count(&path, value)?,
            "another" => self.another = choice(&path, value, &ANOTHER)?,
            "verify" => off_only(&path, value)?,
            "repetition" => self.repetition = repetition(&path, value)?,
            "strategy" => return Err(later(&path, value)),
            "memory" => {
                self.memory = memory(&path, value)?;
                self.forgets = self.memory.is_none();
            }
            "ask_on_replan" => match value {
                Value::Bool(false) => {}
                Value::Bool(true) => return Err(later(&path, value)),
                _ => return Err(bad(&path, "true or false", value)),
            },
            "limits" => self.set_limits(preset, &path, value)?,
            "at_limit" => self.at_limit = at_limit(&path, value)?,
            "share" => self.share = share::share(&path, value)?,
            "approve" => self.approve = patterns(&path, value)?,
            "deny" => self.deny = patterns(&path, value)?,
            "context" => self.context = context(&path, value)?,
            "grace_ms" => self.grace_ms = u64::from(count(&path, value)?),
            _ => {
                if let Some((_, kind)) = preset.limit_aliases().iter().find(|(alias, _)| *alias == key) {
                    return self.set_limit(*kind, &path, value);
                }
                return Err(unknown("loop", key, &KEYS));
            }
        }
        Ok(())
    }

    fn set_limits(&mut self, preset: Preset, path: &str, value: &Value) -> Result<(), PolicyError> {
        for (key, value) in object(path, value)? {
            let alias = preset.limit_aliases().iter().find(|(alias, _)| alias == key).map(|(_, kind)| *kind);
            let Some(kind) = LimitKind::from_name(key).or(alias) else {
                return Err(unknown(path, key, &LimitKind::SETTABLE.map(LimitKind::name)));
            };
            self.set_limit(kind, &format!("{path}.{key}"), value)?;
        }
        Ok(())
    }

    fn set_limit(&mut self, kind: LimitKind, path: &str, value: &Value) -> Result<(), PolicyError> {
        if matches!(kind, LimitKind::Iterations | LimitKind::PlanSteps) {
            return Err(later(path, value));
        }
        let (max, outcome) = match value {
            Value::Object(map) => {
                only(path, map, &["max", "at_limit"])?;
                let max = map.get("max").ok_or_else(|| bad(path, "a number or { max, at_limit }", value))?;
                (
                    max,
                    map.get("at_limit")
                        .map(|value| at_limit(&format!("{path}.at_limit"), value))
                        .transpose()?,
                )
            }
            _ => (value, None),
        };
        let max = max
            .as_f64()
            .and_then(|max| kind.keep(max))
            .ok_or_else(|| bad(path, "a number from 0, or { max, at_limit }", max))?;
        self.limits.insert(kind, Limit { max, at_limit: outcome });
        // Whoever says how many model calls there may be wants more than one turn.
        self.single_turn &= kind != LimitKind::ModelCalls;
        Ok(())
    }

    /// What no single key can know.
    fn check(&self) -> Result<(), PolicyError> {
        if let Some(Repetition { note_at, stop_at }) = self.repetition
            && (stop_at < 2 || note_at < 2)
        {
            return Err(PolicyError::BadValue {
                path: "loop.repetition".to_owned(),
                expected: "note_at and stop_at from 2".to_owned(),
                found: format!("note_at {note_at}, stop_at {stop_at}"),
            });
        }
        Ok(())
    }
}

fn preset_of(name: &Value) -> Result<Preset, PolicyError> {
    let Value::String(name) = name else {
        return Err(bad("loop.preset", "chat, text, refine, plan or typed", name));
    };
    Preset::from_name(name).ok_or_else(|| {
        let all = Preset::NAMES.map(|(_, name, _)| name);
        let close = nearest(name, all);
        PolicyError::UnknownPreset {
            name: name.clone(),
            nearest: if close.is_empty() { all.map(str::to_owned).to_vec() } else { close },
        }
    })
}

fn talk(path: &str, value: &Value) -> Result<Talk, PolicyError> {
    let expected = "answer, {remind: n}, {clarify: n} or {correct: n}";
    if value.as_str() == Some("answer") {
        return Ok(Talk::Answer);
    }
    let (key, n) = single(path, value, expected)?;
    match key {
        "remind" => Ok(Talk::Remind(count(&format!("{path}.remind"), n)?)),
        "clarify" => Ok(Talk::Clarify(count(&format!("{path}.clarify"), n)?)),
        "correct" => Ok(Talk::Correct(count(&format!("{path}.correct"), n)?)),
        _ => Err(unknown(path, key, &["remind", "clarify", "correct"])),
    }
}

fn malformed(path: &str, value: &Value) -> Result<Malformed, PolicyError> {
    match value {
        Value::String(name) if name == "answer" => Ok(Malformed::Answer),
        Value::String(name) if name == "fail" => Ok(Malformed::Fail),
        Value::Number(_) => Ok(Malformed::FeedBack(count(path, value)?)),
        _ => match single(path, value, "{feed_back: n}, answer or fail")? {
            ("feed_back", n) => Ok(Malformed::FeedBack(count(&format!("{path}.feed_back"), n)?)),
            (key, _) => Err(unknown(path, key, &["feed_back"])),
        },
    }
}

fn batch(path: &str, value: &Value) -> Result<Batch, PolicyError> {
    let expected = "concurrent, {concurrent: n}, first, serial or staged";
    match value {
        Value::String(name) => match name.as_str() {
            "concurrent" => Ok(Batch::Concurrent(10)),
            "first" => Ok(Batch::First),
            "serial" => Ok(Batch::Serial),
            "staged" => Ok(Batch::Staged),
            _ => Err(bad(path, expected, value)),
        },
        _ => match single(path, value, expected)? {
            ("concurrent", n) => match count(&format!("{path}.concurrent"), n)? {
                0 => Err(bad(&format!("{path}.concurrent"), "a whole number from 1", n)),
                n => Ok(Batch::Concurrent(n)),
            },
            (key, _) => Err(unknown(path, key, &["concurrent"])),
        },
    }
}

fn repetition(path: &str, value: &Value) -> Result<Option<Repetition>, PolicyError> {
    match value {
        // YAML 1.1 readers turn `off` into false.
        Value::Bool(false) => Ok(None),
        Value::String(name) if name == "off" => Ok(None),
        Value::Bool(true) => Ok(Some(Repetition { note_at: 3, stop_at: 6 })),
        Value::String(name) if name == "on" => Ok(Some(Repetition { note_at: 3, stop_at: 6 })),
        Value::Object(map) => {
            only(path, map, &["note_at", "stop_at"])?;
            let number = |key: &str, default: u32| {
                map.get(key).map_or(Ok(default), |value| count(&format!("{path}.{key}"), value))
            };
            Ok(Some(Repetition { note_at: number("note_at", 3)?, stop_at: number("stop_at", 6)? }))
        }
        _ => Err(bad(path, "off, on or {note_at: n, stop_at: n}", value)),
    }
}

fn at_limit(path: &str, value: &Value) -> Result<AtLimit, PolicyError> {
    let expected =
        "{text: \"...\"}, last_text, {last_text: \"...\"}, wrap_up, force_finish, ask, fail or none";
    match value {
        Value::String(name) => match name.as_str() {
            "last_text" => Ok(AtLimit::LastText(None)),
            "wrap_up" => Ok(AtLimit::WrapUp),
            "force_finish" => Ok(AtLimit::ForceFinish),
            "ask" => Ok(AtLimit::Ask),
            "fail" => Ok(AtLimit::Fail),
            "none" => Ok(AtLimit::None),
            _ => Err(bad(path, expected, value)),
        },
        _ => match single(path, value, expected)? {
            ("text", Value::String(text)) => Ok(AtLimit::Text(text.as_str().into())),
            ("last_text", Value::String(text)) => Ok(AtLimit::LastText(Some(text.as_str().into()))),
            ("text" | "last_text", other) => Err(bad(path, "a text", other)),
            (key, _) => Err(unknown(path, key, &["text", "last_text"])),
        },
    }
}

fn context(path: &str, value: &Value) -> Result<Option<ContextBudget>, PolicyError> {
    if matches!(value, Value::Bool(false)) || value.as_str() == Some("off") {
        return Ok(None);
    }
    let map = object(path, value)?;
    only(path, map, &["max_tokens", "warn_at", "compact", "at", "keep_last", "spill_bytes"])?;
    for key in ["max_tokens", "warn_at", "at", "keep_last"] {
        if let Some(value) = map.get(key) {
            return Err(later(&format!("{path}.{key}"), value));
        }
    }
    if let Some(value) = map.get("compact") {
        off_only(&format!("{path}.compact"), value)?;
    }
    let Some(bytes) = map.get("spill_bytes") else { return Ok(None) };
    let spill_bytes = bytes
        .as_u64()
        .ok_or_else(|| bad(&format!("{path}.spill_bytes"), "a whole number of bytes from 0", bytes))?;
    Ok(Some(ContextBudget { max_tokens: None, warn_at: WARN_AT, spill_bytes }))
}

fn memory(path: &str, value: &Value) -> Result<Option<Memory>, PolicyError> {
    if matches!(value, Value::Bool(false)) || value.as_str() == Some("off") {
        return Ok(None);
    }
    let map = object(path, value)?;
    only(path, map, &["context_limit", "max_sessions", "max_session_events"])?;
    let number = |key: &str, default: u32| {
        map.get(key).map_or(Ok(default), |value| count(&format!("{path}.{key}"), value))
    };
    Ok(Some(Memory {
        context_limit: number("context_limit", 6)?,
        max_sessions: number("max_sessions", 1_000)?,
        max_session_events: number("max_session_events", 500)?,
    }))
}

fn patterns(path: &str, value: &Value) -> Result<Vec<crate::ids::Text>, PolicyError> {
    let expected = "a list of tool patterns";
    let Value::Array(items) = value else { return Err(bad(path, expected, value)) };
    items.iter().map(|item| item.as_str().map(Into::into).ok_or_else(|| bad(path, expected, item))).collect()
}

fn choice<T: Copy>(path: &str, value: &Value, choices: &[(&str, Option<T>)]) -> Result<T, PolicyError> {
    match choices.iter().find(|(name, _)| value.as_str() == Some(name)) {
        Some((_, Some(found))) => Ok(*found),
        Some((_, None)) => Err(later(path, value)),
        None => {
            let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            Err(bad(path, &format!("one of {}", names.join(", ")), value))
        }
    }
}

fn off_only(path: &str, value: &Value) -> Result<(), PolicyError> {
    if matches!(value, Value::Bool(false)) || value.as_str() == Some("off") {
        Ok(())
    } else {
        Err(later(path, value))
    }
}

fn count(path: &str, value: &Value) -> Result<u32, PolicyError> {
    value
        .as_u64()
        .and_then(|n| u32::try_from(n).ok())
        .ok_or_else(|| bad(path, "a whole number from 0", value))
}

fn single<'v>(path: &str, value: &'v Value, expected: &str) -> Result<(&'v str, &'v Value), PolicyError> {
    match value {
        Value::Object(map) if map.len() == 1 => map
            .iter()
            .next()
            .map(|(key, value)| (key.as_str(), value))
            .ok_or_else(|| bad(path, expected, value)),
        _ => Err(bad(path, expected, value)),
    }
}

fn object<'v>(path: &str, value: &'v Value) -> Result<&'v Map<String, Value>, PolicyError> {
    value.as_object().ok_or_else(|| bad(path, "a mapping", value))
}

fn only(path: &str, map: &Map<String, Value>, keys: &[&str]) -> Result<(), PolicyError> {
    map.keys().find(|key| !keys.contains(&key.as_str())).map_or(Ok(()), |key| Err(unknown(path, key, keys)))
}

fn unknown(path: &str, key: &str, keys: &[&str]) -> PolicyError {
    PolicyError::UnknownKey {
        path: path.to_owned(),
        key: key.to_owned(),
        nearest: nearest(key, keys.iter().copied()),
    }
}

fn bad(path: &str, expected: &str, found: &Value) -> PolicyError {
    PolicyError::BadValue { path: path.to_owned(), expected: expected.to_owned(), found: found.to_string() }
}

fn later(path: &str, value: &Value) -> PolicyError {
    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    PolicyError::Later { path: path.to_owned(), value }
}
