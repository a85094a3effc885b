//! `windlass sessions stats`: how much KAOS' memory would hold.

use std::sync::Arc;

use clap::Args;
use serde_json::json;
use windlass_store::SqliteLog;

use super::{events, known};
use crate::failure::{Exit, Failure};
use crate::out;
use crate::view::words::count;

#[derive(Debug, Args)]
pub(super) struct StatsArgs {
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: StatsArgs, log: Option<Arc<SqliteLog>>) -> Result<Exit, Failure> {
    let (mut sessions, mut all, mut events) = (0_u64, 0_u64, 0_u64);
    if let Some(log) = log {
        for session in known::sessions(&log).await? {
            all += 1;
            if session.held {
                sessions += 1;
                events += events::told(&log, &session.id).await?.len() as u64;
            }
        }
    }
    let average = events.checked_div(sessions).unwrap_or(0);
    if args.json {
        out::json(&json!({
            "type": "stats",
            "total_sessions": sessions,
            "total_events": events,
            "avg_events_per_session": average,
            "dropped_sessions": all - sessions,
        }))?;
    } else {
        out::line(format_args!(
            "{}, {}, {average} a session; {} beyond `memory.max_sessions`",
            count(sessions, "session"),
            count(events, "event"),
            all - sessions
        ))?;
    }
    Ok(Exit::Good)
}
