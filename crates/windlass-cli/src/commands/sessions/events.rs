//! `windlass sessions events`: what happened in a conversation, as KAOS' memory tells it.

use std::sync::Arc;

use clap::Args;
use serde_json::Value;
use windlass_core::SessionId;
use windlass_read::compat::kaos::session_events;
use windlass_read::reports::session_runs;
use windlass_read::words::cut;
use windlass_store::Store;

use crate::failure::{Exit, Failure};
use crate::out;
use crate::session::unknown;

/// Maximum number of characters shown of an event's content.
const CONTENT_CHARS: usize = 200;

#[derive(Debug, Args)]
pub(super) struct EventsArgs {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    /// Only the last so many; never more than the loop's `memory.max_session_events`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// One JSON object an event
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: EventsArgs, log: Option<Arc<dyn Store>>) -> Result<Exit, Failure> {
    let id = SessionId::from(args.session.as_str());
    let events = match &log {
        Some(log) if !session_runs(&**log, Some(&id)).await?.is_empty() => {
            session_events(&**log, &id).await?
        }
        _ => return Err(unknown(log.as_deref(), &args.session).await?),
    };
    let limit = args.limit.map_or(usize::MAX, |limit| limit as usize);
    for event in events.iter().skip(events.len().saturating_sub(limit)) {
        if args.json { out::json(event)? } else { show(event)? }
    }
    Ok(Exit::Good)
}

fn show(event: &Value) -> std::io::Result<()> {
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let content = match event.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    out::line(format_args!(
        "{}  {:<24}  {}",
        text("timestamp"),
        text("event_type"),
        cut(&content, CONTENT_CHARS)
    ))
}
