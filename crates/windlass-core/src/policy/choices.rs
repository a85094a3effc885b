//! The calls that a turn of the model must make, or must not make.

use std::collections::BTreeMap;
use std::fmt;

use schemars::json_schema;
use serde::de::{Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::policy::Policy;
use crate::policy::values::Stop;
use crate::vocabulary::ids::Text;
use crate::vocabulary::purpose::ToolChoice;

/// The key of the first turn.
const FIRST: &str = "first";
/// The key of all turns that have no key of their own.
const THEN: &str = "then";

/// The calls that the turns of a run may make. A turn whose reply does not keep to its choice is asked again, and counts once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolChoices {
    /// Those of single turns, by their numbers from 1.
    turns: BTreeMap<u32, ToolChoice>,
    /// That of all others.
    then: ToolChoice,
}

impl ToolChoices {
    /// The same choice for all turns.
    pub fn all(choice: ToolChoice) -> Self {
        Self { turns: BTreeMap::new(), then: choice }
    }

    /// The choice of one turn, from 1.
    #[must_use]
    pub fn with(mut self, turn: u32, choice: ToolChoice) -> Self {
        self.turns.insert(turn, choice);
        self
    }

    /// The choice of a turn, from 1.
    pub fn at(&self, turn: u32) -> &ToolChoice {
        self.turns.get(&turn).unwrap_or(&self.then)
    }

    /// The choice of all turns without one of their own.
    pub fn then(&self) -> &ToolChoice {
        &self.then
    }

    /// Whether the model always chooses.
    pub fn is_auto(&self) -> bool {
        self.turns.is_empty() && self.then == ToolChoice::Auto
    }

    /// Whether some turn must call that tool, or every turn some tool.
    pub(crate) fn may_force(&self, tool: &str) -> bool {
        self.then.is_forced() || self.tools().any(|name| **name == *tool)
    }

    /// The tools that are named, in the order of the turns.
    pub fn tools(&self) -> impl Iterator<Item = &Text> {
        self.turns.values().chain([&self.then]).flat_map(ToolChoice::tools)
    }
}

impl Policy {
    /// Why no run can keep to its [`tool_choice`](super::Request::tool_choice), and what to do about it; `None`: one can.
    pub fn choice_fault(&self) -> Option<(&'static str, &'static str)> {
        let choices = &self.request.tool_choice;
        if choices.is_auto() {
            None
        } else if self.replies.stop == Stop::Judge {
            Some((
                "a loop that plans has no turns that choose tools",
                "leave it out: a plan names the tools of its steps",
            ))
        } else if choices.then().is_forced() && self.replies.stop != Stop::FinishTool {
            Some((
                "a run that must call a tool at every turn never answers",
                "name the turns that must: `tool_choice: { first: required }`",
            ))
        } else {
            None
        }
    }
}

/// A choice as it is written: a word, a tool's name, or names.
struct Written<'c>(&'c ToolChoice);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let one = match self.0 {
            ToolChoice::Auto => "auto",
            ToolChoice::None => "none",
            ToolChoice::Required => "required",
            ToolChoice::Named(name) if word(name).is_none() => name,
            ToolChoice::Named(_) | ToolChoice::OneOf(_) => {
                let mut names = serializer.serialize_seq(None)?;
                for name in self.0.tools() {
                    names.serialize_element(name)?;
                }
                return names.end();
            }
        };
        serializer.serialize_str(one)
    }
}

fn word(text: &str) -> Option<ToolChoice> {
    match text {
        "auto" => Some(ToolChoice::Auto),
        "none" => Some(ToolChoice::None),
        "required" => Some(ToolChoice::Required),
        _ => None,
    }
}

impl Serialize for ToolChoices {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.turns.is_empty() {
            return Written(&self.then).serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        for (turn, choice) in &self.turns {
            map.serialize_entry(&turn.to_string(), &Written(choice))?;
        }
        map.serialize_entry(THEN, &Written(&self.then))?;
        map.end()
    }
}

/// One choice, read.
struct One(ToolChoice);

impl<'de> Deserialize<'de> for One {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneVisitor).map(Self)
    }
}

const EXPECTED_ONE: &str = "auto, required, none, a tool's name, or a list of names";

struct OneVisitor;

impl<'de> Visitor<'de> for OneVisitor {
    type Value = ToolChoice;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED_ONE)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ToolChoice, E> {
        if text.is_empty() {
            return Err(E::invalid_value(Unexpected::Str(text), &self));
        }
        Ok(word(text).unwrap_or_else(|| ToolChoice::Named(text.into())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<ToolChoice, A::Error> {
        let mut all: Vec<Text> = Vec::new();
        while let Some(name) = names.next_element()? {
            all.push(name);
        }
        match <[Text; 1]>::try_from(all) {
            Ok([one]) => Ok(ToolChoice::Named(one)),
            Err(none) if none.is_empty() => Err(A::Error::invalid_value(Unexpected::Seq, &self)),
            Err(all) => Ok(ToolChoice::OneOf(all)),
        }
    }
}

impl<'de> Deserialize<'de> for ToolChoices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;

        impl<'de> Visitor<'de> for All {
            type Value = ToolChoices;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{EXPECTED_ONE}; or a map of these by turns: first, then, or a number from 1")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<ToolChoices, E> {
                OneVisitor.visit_str(text).map(ToolChoices::all)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, names: A) -> Result<ToolChoices, A::Error> {
                OneVisitor.visit_seq(names).map(ToolChoices::all)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ToolChoices, A::Error> {
                let mut choices = ToolChoices::default();
                while let Some(key) = map.next_key::<String>()? {
                    let turn = match key.as_str() {
                        THEN => None,
                        FIRST => Some(1),
                        number => Some(number.parse().ok().filter(|turn| *turn > 0).ok_or_else(|| {
                            A::Error::custom(format!(
                                "`{number}` is no turn: expected first, then, or a number from 1"
                            ))
                        })?),
                    };
                    let One(choice) = map.next_value()?;
                    match turn {
                        None => choices.then = choice,
                        Some(turn) => {
                            if choices.turns.insert(turn, choice).is_some() {
                                return Err(A::Error::custom(format!("turn {turn} has two choices")));
                            }
                        }
                    }
                }
                Ok(choices)
            }
        }

        deserializer.deserialize_any(All)
    }
}

crate::schema_as!(inline [] ToolChoices, "toolChoices", |_| {
    let one = json_schema!({
        "oneOf": [
            { "type": "string", "minLength": 1, "description": "`auto`, `required` (some call), `none`, or a tool's name." },
            { "type": "array", "minItems": 1, "items": { "type": "string" }, "description": "A call of one of these tools." },
        ]
    });
    json_schema!({
        "oneOf": [
            { "type": "string", "minLength": 1, "description": "`auto`, `required` (some call), `none`, or a tool's name." },
            { "type": "array", "minItems": 1, "items": { "type": "string" }, "description": "A call of one of these tools." },
            {
                "type": "object",
                "description": "A choice for each turn: `first`, the number of a turn, and `then` for all others.",
                "propertyNames": { "pattern": "^(first|then|[1-9][0-9]*)$" },
                "additionalProperties": one,
            },
        ]
    })
});

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::ToolChoices;
    use crate::vocabulary::purpose::ToolChoice;

    fn read(written: Value) -> Result<ToolChoices, String> {
        serde_json::from_value(written).map_err(|error| error.to_string())
    }

    #[test]
    fn a_choice_is_read_as_it_is_stored() {
        let named = |name: &str| ToolChoice::Named(name.into());
        let of = |names: &[&str]| ToolChoice::OneOf(names.iter().map(|name| (*name).into()).collect());
        for (written, choices) in [
            (json!("auto"), ToolChoices::default()),
            (json!("required"), ToolChoices::all(ToolChoice::Required)),
            (json!("search"), ToolChoices::all(named("search"))),
            (json!(["none"]), ToolChoices::all(named("none"))),
            (json!(["a", "b"]), ToolChoices::all(of(&["a", "b"]))),
            (json!({ "1": "search", "then": "auto" }), ToolChoices::default().with(1, named("search"))),
            (
                json!({ "1": "none", "3": ["a", "b"], "then": "required" }),
                ToolChoices::all(ToolChoice::Required).with(1, ToolChoice::None).with(3, of(&["a", "b"])),
            ),
        ] {
            assert_eq!(read(written.clone()).as_ref(), Ok(&choices), "{written}");
            assert_eq!(serde_json::to_value(&choices).unwrap(), written);
        }
        assert_eq!(read(json!({ "first": "x" })), Ok(ToolChoices::default().with(1, named("x"))));
        assert_eq!(read(json!(["a"])), read(json!("a")));
    }

    #[test]
    fn what_is_no_choice_is_refused() {
        for (written, words) in [
            (json!([]), "expected auto, required, none"),
            (json!(""), "expected auto, required, none"),
            (json!(3), "or a map of these by turns"),
            (json!({ "0": "a" }), "first, then, or a number from 1"),
            (json!({ "last": "a" }), "first, then, or a number from 1"),
            (json!({ "first": "a", "1": "b" }), "turn 1 has two choices"),
            (json!({ "then": { "first": "a" } }), "expected auto, required, none"),
        ] {
            let refused = read(written.clone()).unwrap_err();
            assert!(refused.contains(words), "{written}: {refused}");
        }
    }

    #[test]
    fn each_turn_has_its_choice() {
        let choices = read(json!({ "first": "a", "3": "none", "then": "required" })).unwrap();
        let of: Vec<_> = (1..=4).map(|turn| choices.at(turn).clone()).collect();
        assert_eq!(
            of,
            [ToolChoice::Named("a".into()), ToolChoice::Required, ToolChoice::None, ToolChoice::Required]
        );
        assert_eq!(choices.tools().map(|name| &**name).collect::<Vec<_>>(), ["a"]);
    }
}
