//! `windlass sessions delete`: conversations that go out of the log for good.

use std::sync::Arc;

use clap::Args;
use serde_json::json;
use windlass_core::SessionId;
use windlass_read::reports::{session_runs, sessions};
use windlass_read::words::{count, name};
use windlass_store::{Prunable, Prune, Pruned, Pruning, SqliteLog};

use crate::agents::now;
use crate::commands::runs::list::stored;
use crate::commands::runs::prune::STATUSES;
use crate::commands::runs::since::age;
use crate::consent::{Doomed, delete};
use crate::failure::{Exit, Failure};
use crate::out;
use crate::session::unknown;

/// Number of sessions deleted per step.
const AT_ONCE: usize = 500;

const HELP: &str = "\
Deletes the runs of these sessions, and the runs that they started. A run stays while a process drives it, or while a run of \
another session (a fork) is based on it.

Deleted sessions cannot be restored. At a terminal, the command lists them and asks; elsewhere it needs `--yes`.

Examples:
  windlass sessions delete trip --dry-run
  windlass sessions delete trip --yes
  windlass sessions delete --older-than 24h";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct DeleteArgs {
    /// The sessions
    #[arg(value_name = "SESSION", required_unless_present = "older_than", conflicts_with = "older_than")]
    sessions: Vec<String>,
    /// All sessions whose last run ended or paused at least this long ago: a number with s, m, h, d or w
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<u64>,
    /// Only list the sessions that would be deleted
    #[arg(long)]
    dry_run: bool,
    /// Delete without a question
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,
    /// One JSON object for each deleted session, then one with the sums
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: DeleteArgs, log: Option<Arc<SqliteLog>>) -> Result<Exit, Failure> {
    let Some(log) = log else {
        return match args.sessions.first() {
            Some(session) => Err(unknown(None, session).await?),
            None => Ok(Exit::Good),
        };
    };
    // A run that goes on while the user is asked was not counted, so it stays.
    let before = now() + 1;
    let chosen = chosen(&args, &log).await?;
    if !args.dry_run && !args.yes {
        let runs = pass(&log, &chosen, before, true).await?.runs.len() as u64;
        let what = format!("{} with {}", count(chosen.len() as u64, "session"), count(runs, "run"));
        let lines = chosen.iter().map(|session| name(session.as_str())).collect();
        if !(Doomed { what, lines }).consent().await? {
            return Ok(Exit::Failed);
        }
    }
    let gone = pass(&log, &chosen, before, args.dry_run).await?;
    if args.json {
        as_json(&chosen, &gone, args.dry_run)?;
    } else {
        in_words(&chosen, &gone, args.dry_run)?;
    }
    Ok(Exit::Good)
}

/// Deletes the sessions' runs, or only counts them.
async fn pass(log: &SqliteLog, chosen: &[SessionId], before: u64, dry_run: bool) -> Result<Pruned, Failure> {
    let mut gone = Pruned::default();
    for sessions in chosen.chunks(AT_ONCE) {
        let prune = Prune {
            before: Some(before),
            statuses: STATUSES.iter().map(|status| stored(status)).collect(),
            sessions: sessions.to_vec(),
            ..Prune::default()
        };
        let some = if dry_run {
            let Prunable { runs, kept } = log.prunable(prune).await?;
            Pruned { runs, kept, ..Pruned::default() }
        } else {
            delete(log, prune).await?
        };
        gone.runs.extend(some.runs);
        gone.kept += some.kept;
        gone.payloads.payloads += some.payloads.payloads;
        gone.payloads.bytes += some.payloads.bytes;
    }
    Ok(gone)
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
            return Err(unknown(Some(log), session).await?);
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
        "payloads": gone.payloads.payloads, "payload_bytes": gone.payloads.bytes, "dry_run": dry_run,
    }))
}

fn in_words(sessions: &[SessionId], gone: &Pruned, dry_run: bool) -> std::io::Result<()> {
    if dry_run {
        for session in sessions {
            out::line(session)?;
        }
    }
    let done = if dry_run { "would be deleted" } else { "deleted" };
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
