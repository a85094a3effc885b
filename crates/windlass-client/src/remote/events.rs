//! Events of the API as the appends that they came from.

use windlass_api::Event;
use windlass_core::event::Cause;
use windlass_core::{Fact, RunId};
use windlass_store::{Batch, StoreError};

/// The appends that events of a run come from, as a log has them: each begins with the event that has a cause. Events and streams of the
/// API have causes where they are asked for ([`Follow::causes`](crate::Follow::causes)).
///
/// # Errors
/// An event is none that this version knows, or the first one has no cause.
pub fn batches(run: RunId, events: Vec<Event>) -> Result<Vec<Batch>, StoreError> {
    let mut batches: Vec<(u64, Cause, Vec<windlass_core::Event>)> = Vec::new();
    for event in events {
        let seq = event.seq;
        let unfit = |source: serde_json::Error| StoreError::Corrupt { run, seq, source: source.into() };
        let fact = Fact::from_body(&event.event, &event.data.to_string()).map_err(unfit)?;
        if let Some(cause) = event.cause {
            let cause = Cause::from_json_of(Fact::SCHEMA, &cause.to_string()).map_err(unfit)?;
            batches.push((seq, cause, Vec::new()));
        }
        let Some((_, _, events)) = batches.last_mut() else {
            let source = "the server does not say what caused it".into();
            return Err(StoreError::Corrupt { run, seq, source });
        };
        events.push(windlass_core::Event { at: event.at, fact });
    }
    Ok(batches
        .into_iter()
        .map(|(first, cause, events)| Batch { first, cause, events: events.into() })
        .collect())
}
