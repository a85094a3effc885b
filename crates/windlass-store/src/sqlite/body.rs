//! The stored form of an append: its cause as JSON, and its events as a JSON array in the form of [`Event`] itself.
//!
//! `at` is left out where it is the append's own time, which is nearly always.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use windlass_core::event::{Cause, Millis};
use windlass_core::{Event, Fact, RunId};

use crate::Batch;
use crate::error::StoreError;

/// About how many bytes an event takes without long texts.
const EVENT_BYTES: usize = 256;
/// For how many events of an append memory is set aside on its row's word alone.
const MOST_SET_ASIDE: u64 = 1_024;

/// Writes the events of an append that happened at that time.
pub(super) fn write(at: Millis, events: &[Event]) -> serde_json::Result<String> {
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

/// An append's row without its events.
#[derive(Clone, Copy)]
pub(super) struct Head {
    /// The number of the last event.
    pub(super) last: u64,
    /// Number of events.
    pub(super) count: u64,
    /// The time of the append.
    pub(super) at: Millis,
    /// The schema version of its events.
    pub(super) schema: u32,
}

/// Reads the cause and the events of an append, written by this version or by an earlier one.
pub(super) fn read(run: RunId, head: Head, cause: &str, events: &str) -> Result<Batch, StoreError> {
    read_by(&OURS, run, head, cause, events)
}

/// How rows of other schema versions are read.
struct Upcasts {
    fact: fn(schema: u32, kind: &str, body: &str) -> serde_json::Result<Fact>,
    cause: fn(schema: u32, text: &str) -> serde_json::Result<Cause>,
}

const OURS: Upcasts = Upcasts { fact: Fact::from_body_of, cause: Cause::from_json_of };

fn read_by(upcasts: &Upcasts, run: RunId, head: Head, cause: &str, text: &str) -> Result<Batch, StoreError> {
    let first = (head.last + 1).saturating_sub(head.count);
    let corrupt = |seq, error| StoreError::Corrupt { run, seq, source: Box::new(error) };
    let cause = (upcasts.cause)(head.schema, cause).map_err(|error| corrupt(first, error))?;
    let mut events = Vec::with_capacity(head.count.min(MOST_SET_ASIDE) as usize);
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Events { each: One { head, upcasts }, into: &mut events }
        .deserialize(&mut reader)
        .and_then(|()| reader.end());
    match read {
        Ok(()) => Ok(Batch { first, cause, events: events.into() }),
        Err(error) => Err(corrupt(first + events.len() as u64, error)),
    }
}

/// The array of an append's events. Each is read in one pass, straight into what it is: this is most of what loading a
/// run takes.
struct Events<'e> {
    each: One<'e>,
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
struct One<'u> {
    head: Head,
    upcasts: &'u Upcasts,
}

impl<'de> DeserializeSeed<'de> for One<'_> {
    type Value = Event;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Event, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for One<'_> {
    type Value = Event;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event with `type` and `data`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
        let (mut at, mut kind, mut fact, mut raw) =
            (self.head.at, None::<Kind<'de>>, None, None::<&RawValue>);
        while let Some(key) = map.next_key::<Kind<'de>>()? {
            match (&*key.0, &kind) {
                ("at", _) => at = map.next_value()?,
                ("type", _) => kind = Some(map.next_value()?),
                ("data", Some(kind)) if self.head.schema == Fact::SCHEMA => {
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
            (None, Some(raw)) => {
                (self.upcasts.fact)(self.head.schema, &kind.0, raw.get()).map_err(A::Error::custom)?
            }
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
    use windlass_core::event::Steered;

    use super::*;

    /// A version 0 that never was: what is `text` now was `said`, and the cause `steer` was named `steered`.
    const SYNTHETIC: Upcasts = Upcasts {
        fact: |schema, kind, body| {
            assert_eq!(schema, 0);
            Fact::from_body(kind, &body.replace("\"said\"", "\"text\""))
        },
        cause: |schema, text| {
            assert_eq!(schema, 0);
            serde_json::from_str(&text.replace("\"steered\"", "\"steer\""))
        },
    };

    #[test]
    fn e34_an_append_of_an_earlier_schema_is_read_through_the_upcasts() {
        let (run, cause) = (RunId::from_number(1), r#"{"type":"steered"}"#);
        let body =
            r#"[{"type":"Steered","data":{"said":"hi"}},{"at":4,"type":"Steered","data":{"said":"ho"}}]"#;
        let head = Head { last: 9, count: 2, at: 5, schema: 0 };
        let said = |at, text: &str| Event { at, fact: Steered::from(text).into() };
        let events = [said(5, "hi"), said(4, "ho")].into();
        let batch = read_by(&SYNTHETIC, run, head, cause, body).unwrap();
        assert_eq!(batch, Batch { first: 8, cause: Cause::Steer, events });
        let error = read(run, head, cause, body).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { seq: 8, .. }), "there is no such version: {error:?}");
    }
}
