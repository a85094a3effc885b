//! Values of the slots about sessions and earlier runs.

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::vocabulary::settings::whole::Count;
use crate::vocabulary::settings::written::{Word, Written};
use crate::written;

/// Fate of a message to a session whose last run has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum WhileRunning {
    /// It is refused with an error that names the run.
    #[default]
    Refuse,
    /// It is kept in the log of the run, and a run of its own answers it afterwards.
    Queue,
    /// It enters the run's conversation at the next turn.
    Steer,
    /// The run is cancelled, and a run of its own answers the message.
    Interrupt,
}

impl WhileRunning {
    /// Whether a message that the run has not heard when it ends waits for a run of its own.
    pub fn keeps_unheard(self) -> bool {
        matches!(self, Self::Queue | Self::Steer)
    }
}

/// Earlier runs that a new conversation is reminded of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recall {
    /// None.
    #[default]
    Off,
    /// Those that resemble it.
    #[serde(untagged)]
    Similar(RecallBounds),
}

/// The earlier runs that a new one is reminded of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RecallBounds {
    /// Maximum number of runs.
    pub top: Count<1>,
    /// Lowest score of a run, from 0 to 1.
    #[serde(deserialize_with = "score")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub similarity: f64,
    /// Number of the agent's newest runs that are looked at.
    pub among: Count<1>,
    /// Basis of the score.
    pub by: RecallBy,
}

/// Basis of the score of an earlier run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum RecallBy {
    /// Similarity of the two inputs.
    #[default]
    Input,
    /// Half the similarity of the inputs plus 0.4 times that of the input and the earlier answer, less up to 0.1 for a difference
    /// in length (Session 10).
    InputAndAnswer,
}

impl Default for RecallBounds {
    fn default() -> Self {
        Self { top: Count::of(3), similarity: 0.7, among: Count::of(1_000), by: RecallBy::Input }
    }
}

impl Recall {
    /// The bounds, where runs are recalled.
    pub fn bounds(&self) -> Option<&RecallBounds> {
        match self {
            Self::Off => None,
            Self::Similar(bounds) => Some(bounds),
        }
    }
}

impl From<RecallBounds> for Recall {
    fn from(bounds: RecallBounds) -> Self {
        Self::Similar(bounds)
    }
}

impl Written for Recall {
    const EXPECTED: &'static str = "off, on or { top: n, similarity: 0.7, among: n, by: input }";
    type Map = RecallBounds;

    fn words() -> Vec<(Word<'static>, Self)> {
        let on = || Self::Similar(RecallBounds::default());
        vec![
            (Word::Text("off"), Self::Off),
            (Word::Text("on"), on()),
            (Word::Flag(false), Self::Off),
            (Word::Flag(true), on()),
        ]
    }
}

written!(Recall);

fn score<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let score = f64::deserialize(deserializer)?;
    if (0.0..=1.0).contains(&score) {
        return Ok(score);
    }
    Err(D::Error::custom(format_args!("is {score}, expected a number from 0 to 1")))
}
