//! Verification: a model judges a call before it runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_text::find::glob::covers;

use crate::policy::share::Part;
use crate::vocabulary::ids::Text;
use crate::vocabulary::settings::written::{Word, Written};
use crate::written;

/// Whether calls are verified before they run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    /// They are not.
    #[default]
    Off,
    /// They are.
    #[serde(untagged)]
    On(Verification),
}

/// How calls are verified.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verification {
    /// The least confidence with which a call runs, from 0 to 1.
    pub threshold: f64,
    /// A hint to the verifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Text>,
    /// Whether the verifier also says which result it expects.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The tools whose calls are verified.
    pub tools: Vec<Text>,
}

impl Verify {
    /// How calls of this tool are verified; `None`: they are not.
    pub(crate) fn of(&self, tool: &str) -> Option<&Verification> {
        match self {
            Self::Off => None,
            Self::On(on) => on.tools.iter().any(|pattern| covers(pattern, tool)).then_some(on),
        }
    }
}

#[doc(hidden)]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VerifyMap {
    /// The least confidence with which a call runs.
    threshold: Part,
    /// A hint to the verifier.
    hint: Option<Text>,
    /// Whether the verifier also says which result it expects; the result is compared with it.
    dry_run: bool,
    /// The tools whose calls are verified: patterns with `*` and `?`.
    tools: Vec<Text>,
}

impl Default for VerifyMap {
    fn default() -> Self {
        Self { threshold: Part::of(0.7), hint: None, dry_run: false, tools: vec!["*".into()] }
    }
}

impl From<VerifyMap> for Verify {
    fn from(map: VerifyMap) -> Self {
        let VerifyMap { threshold, hint, dry_run, tools } = map;
        Self::On(Verification { threshold: threshold.get(), hint, dry_run, tools })
    }
}

impl Written for Verify {
    const EXPECTED: &'static str = "off, on or {threshold: n}";
    type Map = VerifyMap;

    fn words() -> Vec<(Word<'static>, Self)> {
        let on = || Self::from(VerifyMap::default());
        vec![
            (Word::Text("off"), Self::Off),
            (Word::Text("on"), on()),
            (Word::Flag(false), Self::Off),
            (Word::Flag(true), on()),
        ]
    }
}

written!(Verify);
