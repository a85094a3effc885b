//! The stored form of an append's events: a JSON array in the form of [`Event`] itself.
//!
//! `at` is left out where it is the append's own time, which is nearly always.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_core::{Event, Fact, Millis, RunId};

use crate::error::StoreError;
use crate::log::Batch;

/// About how many bytes an event takes without long texts.
const EVENT_BYTES: usize = 256;

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

#[derive(Deserialize)]
struct Stored<'a> {
    at: Option<Millis>,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
}

/// What a row says of an append beside its events.
#[derive(Clone, Copy)]
pub(super) struct Head {
    /// The number of the last event.
    pub(super) last: u64,
    /// The time of the append.
    pub(super) at: Millis,
    /// The schema version of its events.
    pub(super) schema: u32,
}

/// Reads what [`write`] wrote, in this version or in an earlier one.
pub(super) fn read(run: RunId, Head { last, at, schema }: Head, text: &str) -> Result<Batch, StoreError> {
    let corrupt = |seq, error| StoreError::Corrupt { run, seq, source: Box::new(error) };
    let stored: Vec<Stored<'_>> = serde_json::from_str(text).map_err(|error| corrupt(last, error))?;
    let first = (last + 1).saturating_sub(stored.len() as u64);
    let events = (first..).zip(stored).map(|(seq, stored)| {
        let fact = Fact::from_body_of(schema, &stored.kind, stored.data.get())
            .map_err(|error| corrupt(seq, error))?;
        Ok(Event { at: stored.at.unwrap_or(at), fact })
    });
    Ok(Batch { first, events: events.collect::<Result<_, StoreError>>()? })
}
