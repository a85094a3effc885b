//! The stored form of an append's events: a JSON array in the form of [`Event`] itself.
//!
//! `at` is left out where it is the append's own time, which is nearly always.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use windlass_core::{Event, Fact, Millis, RunId};

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

/// What a row says of an append beside its events.
#[derive(Clone, Copy)]
pub(super) struct Head {
    /// The number of the last event.
    pub(super) last: u64,
    /// How many events there are.
    pub(super) count: u64,
    /// The time of the append.
    pub(super) at: Millis,
    /// The schema version of its events.
    pub(super) schema: u32,
}

/// Reads what [`write`] wrote, in this version or in an earlier one.
pub(super) fn read(run: RunId, head: Head, text: &str) -> Result<Batch, StoreError> {
    let first = (head.last + 1).saturating_sub(head.count);
    let mut events = Vec::with_capacity(head.count.min(MOST_SET_ASIDE) as usize);
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Events { head, into: &mut events }.deserialize(&mut reader).and_then(|()| reader.end());
    match read {
        Ok(()) => Ok(Batch { first, events: events.into() }),
        Err(error) => {
            Err(StoreError::Corrupt { run, seq: first + events.len() as u64, source: Box::new(error) })
        }
    }
}

/// The array of an append's events. Each is read in one pass, straight into what it is: this is most of what loading a
/// run takes.
struct Events<'e> {
    head: Head,
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
        while let Some(event) = seq.next_element_seed(One(self.head))? {
            self.into.push(event);
        }
        Ok(())
    }
}

/// One event of the array.
#[derive(Clone, Copy)]
struct One(Head);

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
        let (mut at, mut kind, mut fact, mut raw) = (self.0.at, None::<Kind<'de>>, None, None::<&RawValue>);
        while let Some(key) = map.next_key::<Kind<'de>>()? {
            match (&*key.0, &kind) {
                ("at", _) => at = map.next_value()?,
                ("type", _) => kind = Some(map.next_value()?),
                ("data", Some(kind)) if self.0.schema == Fact::SCHEMA => {
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
                Fact::from_body_of(self.0.schema, &kind.0, raw.get()).map_err(A::Error::custom)?
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
