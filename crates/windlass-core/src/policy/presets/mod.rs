//! Presets: each is a full set of values for the slots of the loop, in a file of its own.
//!
//! Nothing behind this folder asks which preset it was. To add one: its file, and its line in the table below.

pub(crate) mod refine_results;

use std::fmt;

use schemars::json_schema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use windlass_text::find::nearest::nearest;

use crate::policy::Policy;
use crate::policy::texts::LogTexts;
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::model::Wire;
use crate::vocabulary::purpose::Purpose;
use crate::vocabulary::settings::refusal;

/// `NAME in module;` for each preset: its file is `module.rs`, and gives [`Preset`] the constant `NAME`.
macro_rules! presets {
    ($($name:ident in $module:ident;)+) => {
        $(mod $module;)+

        impl Preset {
            /// All presets.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];
        }
    };
}

presets! {
    CHAT in chat;
    PLAN in plan;
    TEXT in text;
    TYPED in typed;
    ACORN in acorn;
    REFINE in refine;
}

/// The meaning that a system's own name has here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alias {
    /// A limit.
    Limit(LimitKind),
    /// The key `retries`: tries of a failed call or step after the first.
    Retries,
}

/// A loop by name.
#[derive(Clone, Copy)]
pub struct Preset {
    /// The name that says what it does.
    pub name: &'static str,
    /// The name of the system that it stands in for, taken as an alias; `None`: it has one name.
    pub alias: Option<&'static str>,
    /// Names that this system has for numbers of the loop, each with the one that it means here.
    pub aliases: &'static [(&'static str, Alias)],
    /// Whether these names are variables of the environment, too, which hold where an agent's file says nothing.
    pub aliases_in_env: bool,
    /// Default timeout of a model call, in milliseconds.
    pub total_ms: u64,
    /// The environment's variable with replies that stand in for the model's, if this loop reads one.
    pub replies_variable: Option<&'static str>,
    /// Sets the values that differ from the defaults.
    values: fn(&mut Policy),
}

impl Preset {
    /// The preset of that name or alias.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|preset| preset.names().any(|own| own == name))
    }

    /// The preset of an agent that the variables of its container describe.
    pub fn of_containers() -> Self {
        Self::TEXT
    }

    /// The variables of the environment that hold numbers of this loop, each with what it means.
    pub fn variables(&self) -> &'static [(&'static str, Alias)] {
        if self.aliases_in_env { self.aliases } else { &[] }
    }

    /// Its name, and its alias if it has one.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.alias)
    }

    /// Its values.
    pub fn policy(&self) -> Policy {
        let mut policy = Policy { preset: self.name.into(), ..Policy::default() };
        (self.values)(&mut policy);
        policy
    }
}

/// Model calls of an agent with an output and tools, unless its settings name a preset or another limit.
const CALLS_WITH_TOOLS: u64 = 10;

/// The loop of an agent that names no preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultLoop {
    /// `chat`: the agent has no output schema.
    Chat,
    /// `typed` in one turn: the agent has an output schema and nothing to call.
    OneTurn,
    /// `typed` with ten model calls: the agent has an output schema, and tools or agents.
    WithTools,
}

impl DefaultLoop {
    /// The loop of an agent with or without an output schema, and with or without tools or agents.
    pub fn of(with_output: bool, with_tools: bool) -> Self {
        match (with_output, with_tools) {
            (false, _) => Self::Chat,
            (true, false) => Self::OneTurn,
            (true, true) => Self::WithTools,
        }
    }

    /// Its preset.
    pub fn preset(self) -> Preset {
        match self {
            Self::Chat => Preset::CHAT,
            Self::OneTurn | Self::WithTools => Preset::TYPED,
        }
    }

    /// Its values.
    pub fn policy(self) -> Policy {
        let mut policy = self.preset().policy();
        match self {
            Self::Chat | Self::OneTurn => {}
            Self::WithTools => policy.set_limit_value(LimitKind::ModelCalls, CALLS_WITH_TOOLS),
        }
        policy
    }
}

impl Policy {
    /// The loop that sums up a branch of a run with these values: one answer to the conversation as a text.
    #[must_use]
    pub fn summary(&self) -> Self {
        let transport = self.transport;
        let mut policy = Self { preset: "summary".into(), transport, ..Preset::CHAT.policy() };
        policy.request.wire = Wire::Native;
        policy.request.purpose = Purpose::Merge;
        policy.request.temperature = self.request.merge_temperature;
        policy.set_at_limit(crate::policy::limits::AtLimit::None);
        policy.wording.log = LogTexts::silent();
        policy
    }
}

impl PartialEq for Preset {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Preset {}

impl fmt::Debug for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Preset({})", self.name)
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<'de> Deserialize<'de> for Preset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Name)
    }
}

struct Name;

impl Visitor<'_> for Name {
    type Value = Preset;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Preset::ALL.iter().map(|preset| preset.name).collect();
        write!(f, "one of {}", names.join(", "))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Preset, E> {
        Preset::named(name).ok_or_else(|| {
            let names = || Preset::ALL.iter().map(|preset| preset.name);
            let close = nearest(name, names());
            let close = if close.is_empty() { names().map(str::to_owned).collect() } else { close };
            let message = format!("Unknown preset `{name}`; did you mean {}?", close.join(" or "));
            let help = "the JSON Schema of agent files has all keys with their values";
            E::custom(refusal("policy.unknown_preset", &message, help))
        })
    }
}

crate::schema_as!(inline [] Preset, "preset", |_| {
    json_schema!({ "enum": Self::ALL.iter().flat_map(Self::names).collect::<Vec<_>>() })
});
