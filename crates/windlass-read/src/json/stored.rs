//! JSON forms of what a store holds: events, and runs in a listing.

use serde_json::{Value, json};
use windlass_core::{Event, RunState};
use windlass_store::RunSummary;

/// An event with its number in its run (`event`).
pub fn event(seq: u64, event: &Event) -> Value {
    let data = event.fact.body().ok().and_then(|body| serde_json::from_str::<Value>(&body).ok());
    json!({ "type": "event", "seq": seq, "at": event.at, "event": event.fact.kind(), "data": data })
}

/// A line of a listing (`run`).
pub fn summary(summary: &RunSummary) -> Value {
    json!({
        "type": "run",
        "run": summary.run,
        "agent": summary.agent,
        "session": summary.session,
        "parent": summary.parent,
        "status": listed_state(summary),
        "events": summary.version,
        "started_at": summary.started_at,
        "updated_at": summary.updated_at,
        "title": summary.title,
        "holder": summary.holder.as_ref().map(|holder| holder.0.clone()),
        "wakes_at": summary.wake_at,
    })
}

/// The state of a listed run in words. A running run without a driver is `interrupted`.
pub fn listed_state(summary: &RunSummary) -> String {
    if summary.run_state == RunState::Running && summary.holder.is_none() {
        "interrupted".to_owned()
    } else {
        summary.run_state.to_string()
    }
}
