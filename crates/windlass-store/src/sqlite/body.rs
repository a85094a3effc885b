//! The stored form of an append: its cause as JSON, and its events as the core writes them.

use windlass_core::RunId;
use windlass_core::event::{Cause, Millis, read_events};

use crate::Batch;
use crate::error::StoreError;

/// For how many events of an append memory is set aside on its row's word alone.
const MOST_SET_ASIDE: u64 = 1_024;

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
pub(super) fn read(run: RunId, head: Head, cause: &str, text: &str) -> Result<Batch, StoreError> {
    let first = (head.last + 1).saturating_sub(head.count);
    let corrupt = |seq, error| StoreError::Corrupt { run, seq, source: Box::new(error) };
    let cause = Cause::from_json_of(head.schema, cause).map_err(|error| corrupt(first, error))?;
    let mut events = Vec::with_capacity(head.count.min(MOST_SET_ASIDE) as usize);
    match read_events(head.schema, head.at, text, &mut events) {
        Ok(()) => Ok(Batch { first, cause, events: events.into() }),
        Err(error) => Err(corrupt(first + events.len() as u64, error)),
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::event::Steered;
    use windlass_core::{Event, Fact};

    use super::*;

    #[test]
    fn e34_an_append_of_no_known_schema_names_its_first_event() {
        let (run, cause) = (RunId::from_number(1), r#"{"type":"steer"}"#);
        let body =
            r#"[{"type":"Steered","data":{"text":"hi"}},{"at":4,"type":"Steered","data":{"text":"ho"}}]"#;
        let head = Head { last: 9, count: 2, at: 5, schema: Fact::SCHEMA };
        let said = |at, text: &str| Event { at, fact: Steered::from(text).into() };
        let events = [said(5, "hi"), said(4, "ho")].into();
        let batch = read(run, head, cause, body).unwrap();
        assert_eq!(batch, Batch { first: 8, cause: Cause::Steer, events });
        let error = read(run, Head { schema: 0, ..head }, cause, body).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { seq: 8, .. }), "{error:?}");
    }
}
