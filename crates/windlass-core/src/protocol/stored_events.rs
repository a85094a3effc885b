//! The stored form of the events of an append: a JSON array in the form of [`Event`] itself.
//!
//! `at` is left out where it is the append's own time, which is nearly always. It is read here and not by each store, so that the
//! readers of all facts are compiled once.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::protocol::fact::{Event, Fact};
use crate::vocabulary::ids::Millis;

/// About how many bytes an event takes without long texts.
const EVENT_BYTES: usize = 256;

/// Writes the events of an append that happened at that time.
///
/// # Errors
/// A value that JSON cannot hold; none of our types has one.
pub fn write_events(at: Millis, events: &[Event]) -> serde_json::Result<String> {
    let mut text = String::with_capacity(events.len() * EVENT_BYTES);
    for event in events {
        text.push_str(if text.is_empty() { "[{" } else { ",{" });
        if event.at != at {
            // Writing to a string cannot fail.
            let _ = write!(text, "\"at\":{},", event.at);
        }
        text.push_str("\"type\":\"");
        text.push_str(event.fact.kind());
        text.push_str("\",\"data\":");
        text.push_str(&event.fact.body()?);
        text.push('}');
    }
    text.push(']');
    Ok(text)
}

/// Reads the events of an append that was written at that time with that schema version, by this version or an earlier one. Those before
/// the first unreadable one are added all the same.
///
/// # Errors
/// The version is newer than [`Fact::SCHEMA`] or 0, or an event does not fit it.
pub fn read_events(schema: u32, at: Millis, text: &str, into: &mut Vec<Event>) -> serde_json::Result<()> {
    read_by(Fact::from_body_of, schema, at, text, into)
}

/// Reads a fact of that kind from a body of another schema version.
type Upcast = fn(schema: u32, kind: &str, body: &str) -> serde_json::Result<Fact>;

fn read_by(
    upcast: Upcast,
    schema: u32,
    at: Millis,
    text: &str,
    into: &mut Vec<Event>,
) -> serde_json::Result<()> {
    let mut reader = serde_json::Deserializer::from_str(text);
    Events { each: One { schema, at, upcast }, into }.deserialize(&mut reader)?;
    reader.end()
}

/// The array of an append's events. Each is read in one pass, straight into what it is: this is most of what loading a
/// run takes.
struct Events<'e> {
    each: One,
    into: &'e mut Vec<Event>,
}

impl<'de> DeserializeSeed<'de> for Events<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Events<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(event) = seq.next_element_seed(self.each)? {
            self.into.push(event);
        }
        Ok(())
    }
}

/// One event of the array.
#[derive(Clone, Copy)]
struct One {
    schema: u32,
    at: Millis,
    upcast: Upcast,
}

impl<'de> DeserializeSeed<'de> for One {
    type Value = Event;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Event, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for One {
    type Value = Event;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event with `type` and `data`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
        let (mut at, mut kind, mut fact, mut raw) = (self.at, None::<Kind<'de>>, None, None::<&RawValue>);
        while let Some(key) = map.next_key::<Kind<'de>>()? {
            match (&*key.0, &kind) {
                ("at", _) => at = map.next_value()?,
                ("type", _) => kind = Some(map.next_value()?),
                ("data", Some(kind)) if self.schema == Fact::SCHEMA => {
                    fact = Some(map.next_value_seed(Body(&kind.0))?);
                }
                // Of an earlier schema, or not in the order in which we write.
                ("data", _) => raw = Some(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let kind = kind.ok_or_else(|| A::Error::missing_field("type"))?;
        let fact = match (fact, raw) {
            (Some(fact), _) => fact,
            (None, Some(raw)) => (self.upcast)(self.schema, &kind.0, raw.get()).map_err(A::Error::custom)?,
            (None, None) => return Err(A::Error::missing_field("data")),
        };
        Ok(Event { at, fact })
    }
}

/// A name, borrowed where it can be.
#[derive(Deserialize)]
struct Kind<'a>(#[serde(borrow)] Cow<'a, str>);

/// The data of a fact of that kind.
struct Body<'k>(&'k str);

impl<'de> DeserializeSeed<'de> for Body<'_> {
    type Value = Fact;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Fact, D::Error> {
        Fact::deserialize_body(self.0, from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::fact::interrupts::Steered;

    /// A version 0 that never was: what is `text` now was `said`.
    const SYNTHETIC: Upcast = |schema, kind, body| {
        assert_eq!(schema, 0);
        Fact::from_body(kind, &body.replace("\"said\"", "\"text\""))
    };

    #[test]
    fn e34_events_of_an_earlier_schema_are_read_through_the_upcasts() {
        let body =
            r#"[{"type":"Steered","data":{"said":"hi"}},{"at":4,"type":"Steered","data":{"said":"ho"}}]"#;
        let said = |at, text: &str| Event { at, fact: Steered::from(text).into() };
        let mut events = Vec::new();
        read_by(SYNTHETIC, 0, 5, body, &mut events).unwrap();
        assert_eq!(events, [said(5, "hi"), said(4, "ho")]);
        assert!(read_events(0, 5, body, &mut events).is_err(), "there is no such version");
    }
}
