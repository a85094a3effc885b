//! Limits: what is counted, and what follows when a count is used up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::ids::Text;
use crate::vocabulary::settings::written::{Word, Written};
use crate::written;

/// A limit that is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// The most, in the kept unit ([`LimitKind::unit`](crate::policy::LimitKind::unit)). 0 is a limit like any other.
    pub max: u64,
    /// Outcome; `None`: the policy's `at_limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_limit: Option<AtLimit>,
}

/// Outcome at a limit. The run's status is `limit(which)` unless a person concludes the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AtLimit {
    /// This text; `{n}` is the limit's number, `{limit}` its name.
    Text(Text),
    /// The last text of the model in this run, else this one.
    LastText(Option<Text>),
    /// One more call without tools, which sums up.
    WrapUp,
    /// One more call that must finish.
    ForceFinish,
    /// A person is asked to conclude or to raise the limit.
    Ask,
    /// No text; callers get an error.
    Fail,
    /// No text and no output.
    None,
}

impl AtLimit {
    /// The last text of the model, else a sentence that names the limit and its number.
    pub fn last_text_or_limit() -> Self {
        Self::LastText(Some("Stopped at the limit: {limit} = {n}.".into()))
    }
}

#[doc(hidden)]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtLimitMap {
    /// This text; `{n}` is the limit's number, `{limit}` its name.
    Text(Text),
    /// The last text of the model in this run, else this one.
    LastText(Option<Text>),
}

impl From<AtLimitMap> for AtLimit {
    fn from(map: AtLimitMap) -> Self {
        match map {
            AtLimitMap::Text(text) => Self::Text(text),
            AtLimitMap::LastText(text) => Self::LastText(text),
        }
    }
}

impl Written for AtLimit {
    const EXPECTED: &'static str =
        "{text: \"...\"}, last_text, {last_text: \"...\"}, wrap_up, force_finish, ask, fail or none";
    type Map = AtLimitMap;

    fn words() -> Vec<(Word<'static>, Self)> {
        vec![
            (Word::Text("last_text"), Self::LastText(None)),
            (Word::Text("wrap_up"), Self::WrapUp),
            (Word::Text("force_finish"), Self::ForceFinish),
            (Word::Text("ask"), Self::Ask),
            (Word::Text("fail"), Self::Fail),
            (Word::Text("none"), Self::None),
        ]
    }
}

written!(AtLimit);
