//! The tools that a person must allow, as an agent file writes them.

use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;

use crate::policy::Put;
use crate::vocabulary::ids::Text;

/// The item of `approve` that means all tools whose effect is not `read_only`.
pub const EFFECTS: &str = "effects";

/// Patterns of tools that a person must allow; `effects` alone is short for a list of that one item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvals(pub Vec<Text>);

impl Put<Vec<Text>> for Approvals {
    fn put(self, place: &mut Vec<Text>) {
        *place = self.0;
    }
}

impl<'de> Deserialize<'de> for Approvals {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Forms)
    }
}

struct Forms;

impl<'de> Visitor<'de> for Forms {
    type Value = Approvals;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tools, or `effects`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Approvals, E> {
        if text == EFFECTS {
            return Ok(Approvals(vec![text.into()]));
        }
        Err(E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Approvals, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(items)).map(Approvals)
    }
}

crate::schema_as!(inline [] Approvals, "approvals", |generator| {
    let list = Vec::<Text>::json_schema(generator);
    json!({ "oneOf": [{ "enum": [EFFECTS] }, list] }).try_into().unwrap_or_default()
});
