//! `windlass sessions delete`: conversations that go out of the log for good.

use std::sync::Arc;

use clap::Args;
use serde_json::json;
use windlass_core::SessionId;
use windlass_runtime::projections::{session_runs, sessions};
use windlass_store::{Prune, Pruned, Pruning, SqliteLog};

use crate::agents::now;
use crate::commands::runs::prune::{RUN_STATES, age};
use crate::failure::{Exit, Failure};
use crate::out;
use crate::view::words::count;

/// Number of sessions deleted per step.
const AT_ONCE: usize = 500;

const HELP: &str = "\
Takes the runs of these conversations out of the log, and the runs that they started. A run that a run of another
conversation stands on (a fork) stays until that one goes, and so does one that somebody drives now. What is taken out is
gone: `--dry-run` shows it first.

Examples:
  windlass sessions delete trip --dry-run
  windlass sessions delete trip
  windlass sessions delete --older-than 24h";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct DeleteArgs {
    /// The sessions
    #[arg(value_name = "SESSION", required_unless_present = "older_than", conflicts_with = "older_than")]
    sessions: Vec<String>,
    /// Every session whose last run ended or paused that long ago: a number with s, m, h, d or w
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<u64>,
    /// Only say what would go
    #[arg(long)]
    dry_run: bool,
    /// One JSON object a session that goes, then one with the sums
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: DeleteArgs, log: Option<Arc<SqliteLog>>) -> Result<Exit, Failure> {
    let Some(log) = log else {
        let first = args.sessions.first();
        return first.map_or(Ok(Exit::Good), |session| Err(super::unknown(session)));
    };
    let chosen = chosen(&args, &log).await?;
    let mut gone = Pruned::default();
    for sessions in chosen.chunks(AT_ONCE) {
        let prune = Prune {
            statuses: RUN_STATES.iter().map(|state| (*state).into()).collect(),
            sessions: sessions.to_vec(),
            ..Prune::default()
        };
        let some = if args.dry_run { log.prunable(prune).await? } else { log.prune(prune).await? };
        gone.runs.extend(some.runs);
        gone.kept += some.kept;
        gone.payloads += some.payloads;
        gone.payload_bytes += some.payload_bytes;
    }
    if args.json {
        as_json(&chosen, &gone, args.dry_run)?;
    } else {
        in_words(&chosen, &gone, args.dry_run)?;
    }
    Ok(Exit::Good)
}

async fn chosen(args: &DeleteArgs, log: &SqliteLog) -> Result<Vec<SessionId>, Failure> {
    if let Some(age) = args.older_than {
        let before = now().saturating_sub(age);
        let all = sessions(log).await?;
        let old = all.into_iter().filter(|session| session.newest.updated_at < before);
        return Ok(old.map(|session| session.id).collect());
    }
    let mut named: Vec<SessionId> = Vec::new();
    for session in &args.sessions {
        let id = SessionId::from(session.as_str());
        if session_runs(log, Some(&id)).await?.is_empty() {
            return Err(super::unknown(session));
        }
        named.push(id);
    }
    Ok(named)
}

fn as_json(sessions: &[SessionId], gone: &Pruned, dry_run: bool) -> std::io::Result<()> {
    for session in sessions {
        out::json(&json!({ "type": "deleted", "session_id": session, "dry_run": dry_run }))?;
    }
    out::json(&json!({
        "type": "sums", "sessions": sessions.len(), "runs": gone.runs.len(), "kept": gone.kept,
        "payloads": gone.payloads, "payload_bytes": gone.payload_bytes, "dry_run": dry_run,
    }))
}

fn in_words(sessions: &[SessionId], gone: &Pruned, dry_run: bool) -> std::io::Result<()> {
    if dry_run {
        for session in sessions {
            out::line(session)?;
        }
    }
    let done = if dry_run { "would go" } else { "taken out" };
    let (sessions, runs) = (count(sessions.len() as u64, "session"), count(gone.runs.len() as u64, "run"));
    out::note(format_args!("{sessions}: {runs} {done}"));
    if gone.kept > 0 {
        let kept = count(gone.kept, "run");
        out::note(format_args!(
            "{kept} kept: runs of other sessions are based on them, or a process drives them"
        ));
    }
    Ok(())
}
