//! Sharing: how much of what is left of a run's limits the agents and branches that it hands tasks to may use.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::vocabulary::settings::written::{Word, Written};
use crate::written;

/// Share of the remaining limits on tokens and cost for each child run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
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
    /// One child's part of `left`; `waiting` is the number of tasks of the turn that have not begun, this one included.
    pub(crate) fn part(self, left: u64, waiting: u64) -> u64 {
        match self {
            Self::Equal => left / waiting.saturating_add(1),
            Self::Fixed(share) => ((left as f64 * share) as u64).min(left),
            Self::Shared => left,
        }
    }
}

#[doc(hidden)]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShareMap {
    /// This share of what is left for each.
    Fixed(Part),
}

/// A share of something.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Part(f64);

impl Part {
    pub(crate) const fn of(share: f64) -> Self {
        Self(share)
    }

    pub(crate) fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Part {
    type Error = String;

    fn try_from(part: f64) -> Result<Self, String> {
        let fits = part > 0.0 && part <= 1.0;
        if fits {
            Ok(Self(part))
        } else {
            Err(format!("{part} is not a share: expected a number above 0 and at most 1"))
        }
    }
}

impl JsonSchema for Part {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Part".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 })
    }
}

impl From<ShareMap> for Share {
    fn from(ShareMap::Fixed(Part(part)): ShareMap) -> Self {
        Self::Fixed(part)
    }
}

impl Written for Share {
    const EXPECTED: &'static str = "equal, {fixed: n} or shared";
    type Map = ShareMap;

    fn words() -> Vec<(Word<'static>, Self)> {
        vec![(Word::Text("equal"), Self::Equal), (Word::Text("shared"), Self::Shared)]
    }
}

written!(Share);
