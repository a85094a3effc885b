//! Whether a run that calls one tool again and again is told so.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::settings::whole::Count;
use crate::vocabulary::settings::written::{Word, Written};
use crate::written;

/// Handling of a run that is stuck: one tool, as many times in a row, whatever the arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stuck {
    /// Nothing.
    #[default]
    Off,
    /// After so many calls the blackboard goes back to its last snapshot, and the model is told.
    After(u32),
}

#[doc(hidden)]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StuckMap {
    /// Calls of one tool in a row. Tools with `poll: true` are exempt.
    after: Count<2>,
}

impl From<StuckMap> for Stuck {
    fn from(map: StuckMap) -> Self {
        Self::After(map.after.get_u32())
    }
}

impl Written for Stuck {
    const EXPECTED: &'static str = "off, on or {after: n}";
    type Map = StuckMap;

    fn words() -> Vec<(Word<'static>, Self)> {
        vec![
            (Word::Text("off"), Self::Off),
            (Word::Text("on"), Self::After(3)),
            (Word::Flag(false), Self::Off),
            (Word::Flag(true), Self::After(3)),
        ]
    }
}

written!(Stuck);
