//! JSON forms of what a store holds: events, and runs in a listing.

use serde_json::{Value, json};
use windlass_core::{Event, Fact, RunState};
use windlass_store::RunSummary;

use crate::load::failed_reply::FailedReply;

/// An event with its number in its run (`event`).
pub fn event(seq: u64, event: &Event) -> Value {
    json!({ "type": "event", "seq": seq, "at": event.at, "event": event.fact.kind(), "data": data(&event.fact) })
}

/// The body of a fact, as it is stored. `null`: it cannot be written as JSON.
pub fn data(fact: &Fact) -> Value {
    fact.body().ok().and_then(|body| serde_json::from_str(&body).ok()).unwrap_or_default()
}

/// The body of a failed model call.
pub fn failed_reply(reply: &FailedReply) -> Value {
    json!({ "text": reply.text, "cut": reply.is_cut })
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
        "ended_at": summary.ended_at,
        "cost_usd": summary.headline.cost.map(|pico| pico as f64 / 1e12),
        "question": summary.headline.question,
        "title": summary.title,
        "holder": summary.holder.as_ref().map(|holder| holder.0.clone()),
        "wakes_at": summary.wake_at,
    })
}

/// The state of a listed run for people: as [`listed_state`], and `waiting (at a terminal)` for one whose process waits there with
/// a question.
pub fn display_state(summary: &RunSummary) -> String {
    let asks = summary.run_state == RunState::Running && summary.headline.question.is_some();
    if asks && summary.holder.is_some() {
        "waiting (at a terminal)".to_owned()
    } else {
        listed_state(summary)
    }
}

/// The state of a listed run in words. A running run without a driver is `interrupted`.
pub fn listed_state(summary: &RunSummary) -> String {
    if summary.is_interrupted() { "interrupted".to_owned() } else { summary.run_state.to_string() }
}

#[cfg(test)]
mod tests {
    use windlass_store::{Headline, Holder};

    use super::*;

    #[test]
    fn a_run_whose_process_asks_waits_at_a_terminal() {
        let asks = |holder: Option<&str>, question: Option<&str>, run_state| RunSummary {
            run: "0197c0de-0000-7000-8000-000000000001".parse().unwrap(),
            agent: "a".into(),
            owner: windlass_core::Owner::default(),
            session: None,
            parent: None,
            run_state,
            version: 3,
            started_at: 1,
            updated_at: 2,
            ended_at: None,
            headline: Headline { cost: Some(0), question: question.map(Into::into), ..Headline::default() },
            title: "".into(),
            wake_at: None,
            holder: holder.map(|holder| Holder(holder.into())),
        };
        let shown = |holder, question, state| display_state(&asks(holder, question, state));
        assert_eq!(shown(Some("p"), Some("Which?"), RunState::Running), "waiting (at a terminal)");
        assert_eq!(shown(Some("p"), None, RunState::Running), "running");
        assert_eq!(shown(None, Some("Which?"), RunState::Running), "interrupted");
        assert_eq!(shown(None, Some("Which?"), RunState::Suspended), "suspended");
    }
}
