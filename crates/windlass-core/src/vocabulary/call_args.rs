//! The arguments of a call: as the model gave them, or where they stand in the text that the call was read from.
//!
//! A reply with a call in its text is kept once. The call's arguments are a part of that text: in memory they share it,
//! and in the log stands from where to where they reach. Only notations that are no JSON are written as JSON beside it,
//! in memory.

use std::fmt;
use std::ops::Deref;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::vocabulary::ids::Text;
use crate::vocabulary::notation::Notation;
use crate::vocabulary::readings::Readings;

/// A part of a text: from that byte to that one, which does not belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span(pub usize, pub usize);

impl Span {
    /// Locates `part` within `whole`; `part` must be a slice of it.
    pub(crate) fn of(part: &str, whole: &str) -> Option<Self> {
        let from = part.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
        let span = Self(from, from.checked_add(part.len())?);
        (span.1 <= whole.len()).then_some(span)
    }

    /// The part of a text. `None`: the text has no such part.
    pub fn in_text(self, text: &str) -> Option<&str> {
        text.get(self.0..self.1)
    }
}

/// The arguments of a call, as JSON text (it need not parse: that is a malformed call).
#[derive(Clone)]
pub struct CallArgs(Kind);

#[derive(Clone)]
enum Kind {
    /// As the model gave them.
    Given(Text),
    /// A part of a text.
    Part { text: Text, place: Place, json: Option<Text> },
    /// As they are stored beside the text that they are a part of.
    Stored(Place),
}

/// Position and notation of arguments in a text.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Place {
    #[serde(rename = "place")]
    span: Span,
    #[serde(default, skip_serializing_if = "Place::is_plain")]
    notation: Notation,
    /// The arguments that are not read as they are written.
    #[serde(default, skip_serializing_if = "Readings::is_empty")]
    readings: Readings,
}

impl Place {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
    fn is_plain(notation: &Notation) -> bool {
        *notation == Notation::Json
    }
}

impl CallArgs {
    /// The part of a text, which stands in that text; `json`, where its notation is no JSON.
    pub(crate) fn part(text: &Text, part: &str, notation: Notation, json: Option<Text>) -> Self {
        match Span::of(part, text) {
            Some(place) => {
                let place = Place { span: place, notation, readings: Readings::new() };
                Self(Kind::Part { text: text.clone(), place, json })
            }
            None => json.map_or_else(|| part.into(), Self::from),
        }
    }

    /// The same, whose JSON was made with these readings.
    pub(crate) fn read_so(mut self, made: Readings) -> Self {
        if let Kind::Part { place, .. } = &mut self.0 {
            place.readings = made;
        }
        self
    }

    fn at(text: Text, place: Place) -> Self {
        let json = place.span.in_text(&text).and_then(|part| place.notation.json(part, &place.readings));
        Self(Kind::Part { text, place, json })
    }

    /// As a text of its own.
    pub fn to_text(&self) -> Text {
        match &self.0 {
            Kind::Given(text) | Kind::Part { json: Some(text), .. } => text.clone(),
            Kind::Part { .. } | Kind::Stored(_) => (**self).into(),
        }
    }

    /// Whether they are a part of a text.
    pub(crate) fn is_part(&self) -> bool {
        matches!(self.0, Kind::Part { .. })
    }

    /// As they are stored beside that text: if they are a part of it, only where.
    pub(crate) fn relative_to(&mut self, stored: Option<&Text>) {
        if let (Kind::Part { text, place, .. }, Some(stored)) = (&self.0, stored)
            && Text::ptr_eq(text, stored)
        {
            self.0 = Kind::Stored(place.clone());
        }
    }

    /// As they were stored beside that text.
    pub(crate) fn found_in(&mut self, text: Option<&Text>) {
        if let Kind::Stored(place) = &self.0 {
            *self = text.map_or_else(Self::default, |text| Self::at(text.clone(), place.clone()));
        }
    }
}

impl Deref for CallArgs {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Kind::Given(text) | Kind::Part { json: Some(text), .. } => text,
            Kind::Part { text, place, json: None } => place.span.in_text(text).unwrap_or_default(),
            Kind::Stored(_) => "",
        }
    }
}

impl Default for CallArgs {
    fn default() -> Self {
        "".into()
    }
}

impl From<Text> for CallArgs {
    fn from(text: Text) -> Self {
        Self(Kind::Given(text))
    }
}

impl From<&str> for CallArgs {
    fn from(text: &str) -> Self {
        Self(Kind::Given(text.into()))
    }
}

impl From<String> for CallArgs {
    fn from(text: String) -> Self {
        Self(Kind::Given(text.into()))
    }
}

impl PartialEq for CallArgs {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for CallArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for CallArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl Serialize for CallArgs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Kind::Stored(place) => place.serialize(serializer),
            Kind::Given(_) | Kind::Part { .. } => serializer.serialize_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for CallArgs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = CallArgs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or its place")
            }

            fn visit_str<E>(self, text: &str) -> Result<CallArgs, E> {
                Ok(text.into())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CallArgs, A::Error> {
                Place::deserialize(MapAccessDeserializer::new(map)).map(|place| CallArgs(Kind::Stored(place)))
            }
        }

        deserializer.deserialize_any(Either)
    }
}
