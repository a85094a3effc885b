//! `windlass sessions stats`: how much KAOS' memory would hold.

use std::sync::Arc;

use clap::Args;
use windlass_read::compat::kaos::{SessionStats, session_stats};
use windlass_read::json;
use windlass_read::words::count;
use windlass_store::Store;

use crate::failure::{Exit, Failure};
use crate::out;

#[derive(Debug, Args)]
pub(super) struct StatsArgs {
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: StatsArgs, log: Option<Arc<dyn Store>>) -> Result<Exit, Failure> {
    let stats = match log {
        Some(log) => session_stats(&*log).await?,
        None => SessionStats::default(),
    };
    if args.json {
        out::json(&json::session_stats(&stats))?;
    } else {
        out::line(format_args!(
            "{}, {}, {} a session; {} beyond `memory.max_sessions`",
            count(stats.sessions, "session"),
            count(stats.events, "event"),
            stats.average(),
            stats.dropped
        ))?;
    }
    Ok(Exit::Good)
}
