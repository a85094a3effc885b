//! Values of a model's settings that are words of a list, or flags.

use std::fmt;

use schemars::json_schema;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use windlass_models::wires::wire_names;

/// Reasoning effort.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort(pub(super) &'static str);

const EFFORTS: [&str; 7] = [OFF, "minimal", "low", "medium", "high", "xhigh", "max"];

/// The effort that asks for no reasoning.
const OFF: &str = "none";

impl<'de> Deserialize<'de> for Effort {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;

        impl Visitor<'_> for Words {
            type Value = &'static str;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("none, minimal, low, medium, high, xhigh, max or true")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<&'static str, E> {
                let text = if text == "off" { OFF } else { text };
                let effort = EFFORTS.into_iter().find(|effort| *effort == text);
                effort.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }

            /// `true` is `medium` (acorn).
            fn visit_bool<E: Error>(self, flag: bool) -> Result<&'static str, E> {
                Ok(if flag { "medium" } else { OFF })
            }
        }

        deserializer.deserialize_any(Words).map(Self)
    }
}

windlass_core::schema_as!(inline [] Effort, "effort", |_| {
    json_schema!({ "enum": [true, "minimal", "low", "medium", "high", "xhigh", "max", "none", "off", false] })
});

/// The name of a wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Api(pub(super) &'static str);

impl<'de> Deserialize<'de> for Api {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = wire_names().find(|known| *known == name);
        let expected = || wire_names().collect::<Vec<_>>().join(", ");
        found.map(Self).ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&name), &&*expected()))
    }
}

windlass_core::schema_as!(inline [] Api, "api", |_| {
    json_schema!({ "enum": wire_names().collect::<Vec<_>>() })
});

/// `auto`, `true` or `false`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReturnReasoning(pub(super) Option<bool>);

impl<'de> Deserialize<'de> for ReturnReasoning {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;

        impl Visitor<'_> for Words {
            type Value = Option<bool>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("auto, true or false")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Option<bool>, E> {
                if text == "auto" { Ok(None) } else { Err(E::invalid_value(Unexpected::Str(text), &self)) }
            }

            fn visit_bool<E: Error>(self, flag: bool) -> Result<Option<bool>, E> {
                Ok(Some(flag))
            }
        }

        deserializer.deserialize_any(Words).map(Self)
    }
}

windlass_core::schema_as!(inline [] ReturnReasoning, "return_reasoning", |_| {
    json_schema!({ "enum": ["auto", true, false] })
});
