//! Which tools of an MCP server are used.

use std::collections::{BTreeMap, BTreeSet};

use schemars::{JsonSchema, json_schema};
use serde::de::SeqAccess;
use serde::{Deserialize, Deserializer};
use windlass_core::tool::Effect;
use windlass_tools::mcp::ToolChoice;

use crate::kinds::{Filled, Pairs, ToolName};
use crate::yaml::{At, Kind, OfKind, Valued, YamlError, of_kind};

/// Which tools of the server are used. Names and patterns (`*`, `?`) are the server's own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "mcpTools")]
pub(crate) struct ChosenKeys {
    /// The tools to use: names or patterns. Default: all.
    only: Option<Vec<Filled>>,
    /// The tools to leave out: names or patterns.
    #[serde(default)]
    without: Vec<Filled>,
    /// Other names for tools; the prefix stays before them.
    #[serde(default)]
    rename: Pairs<At<ToolName>>,
    /// The effects of tools, by name or pattern: the first one that fits counts. They beat the entry's `effect` and the server's
    /// hints.
    #[serde(default)]
    effects: Pairs<Effect>,
}

/// The tools to use, or a map that says more.
#[derive(Clone, Debug)]
pub(crate) enum Chosen {
    Only(Vec<Filled>),
    Keys(ChosenKeys),
}

impl OfKind for Chosen {
    const EXPECTED: &'static str = "a list of tools, or a map with only, without, rename or effects";

    fn of_kind<'de, A: SeqAccess<'de>>(kind: Kind, value: Valued<A>) -> Option<Result<Self, A::Error>> {
        match kind {
            Kind::List => Some(value.read().map(Self::Only)),
            Kind::Map => Some(value.read().map(Self::Keys)),
            Kind::Nothing | Kind::Flag | Kind::Number | Kind::Text => None,
        }
    }
}

impl<'de> Deserialize<'de> for Chosen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_kind(deserializer)
    }
}

windlass_core::schema_as!(inline [] Chosen, "chosen_tools", |generator| {
    json_schema!({ "oneOf": [generator.subschema_for::<Vec<Filled>>(), generator.subschema_for::<ChosenKeys>()] })
});

impl Chosen {
    /// The choice of tools.
    ///
    /// # Errors
    /// Two tools would get one name.
    pub(super) fn tools(&self) -> Result<ToolChoice, YamlError> {
        let texts = |patterns: &[Filled]| patterns.iter().map(|pattern| pattern.0.clone()).collect();
        let keys = match self {
            Self::Only(patterns) => {
                return Ok(ToolChoice { only: Some(texts(patterns)), ..ToolChoice::default() });
            }
            Self::Keys(keys) => keys,
        };
        let (mut rename, mut taken) = (BTreeMap::new(), BTreeSet::new());
        for (name, to) in &keys.rename.0 {
            if !taken.insert(&to.value.0) {
                let message = format!("`{}` gives the name `{}` to a second tool", to.path, to.value.0);
                return Err(to.error("agent.mcp_tools", message));
            }
            rename.insert(name.clone(), to.value.0.clone());
        }
        Ok(ToolChoice {
            only: keys.only.as_deref().map(texts),
            without: texts(&keys.without),
            rename,
            effects: keys.effects.0.clone(),
        })
    }
}
