//! Sharing: how much of what is left of a run's limits the agents and branches that it hands tasks to may use.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::PolicyError;

/// How what is left of the limits on tokens and cost is shared out among the runs that do tasks of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// Equal parts for each delegate of the turn that has not begun and for the run itself.
    #[default]
    Equal,
    /// This share of what is left for each, above 0 and at most 1.
    Fixed(f64),
    /// All draw on what is left, first come first served: each model call reserves before it begins.
    Shared,
}

impl Share {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
    pub(super) fn is_equal(&self) -> bool {
        *self == Self::Equal
    }

    /// What one delegate may use of what is left, where so many of the turn have not begun, this one included.
    pub(crate) fn part(self, left: u64, waiting: u64) -> u64 {
        match self {
            Self::Equal => left / waiting.saturating_add(1),
            Self::Fixed(share) => ((left as f64 * share) as u64).min(left),
            Self::Shared => left,
        }
    }
}

/// Reads `loop.share`.
pub(super) fn share(path: &str, value: &Value) -> Result<Share, PolicyError> {
    let bad = |expected: &str| PolicyError::BadValue {
        path: path.to_owned(),
        expected: expected.to_owned(),
        found: value.to_string(),
    };
    match value {
        Value::String(name) if name == "equal" => Ok(Share::Equal),
        Value::String(name) if name == "shared" => Ok(Share::Shared),
        Value::Object(map) if map.len() == 1 && map.contains_key("fixed") => {
            let share =
                map.get("fixed").and_then(Value::as_f64).filter(|share| *share > 0.0 && *share <= 1.0);
            share.map(Share::Fixed).ok_or_else(|| bad("{fixed: n} with a number above 0 and at most 1"))
        }
        _ => Err(bad("equal, {fixed: n} or shared")),
    }
}
