//! The sessions of a log, and which of them KAOS' bounded memory would still hold.
//!
//! The bounds are those of a *view*: `memory.max_sessions` decides what a listing shows, and nothing is ever taken out of
//! the log by it. A session that has dropped out of the view is whole in the log, goes on when somebody names it, and comes
//! back with its next run. Only `sessions delete` and `runs prune` take runs out, and neither takes one that another run
//! stands on.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use windlass_core::{MemoryBounds, RunId, SessionId, Text};
use windlass_runtime::start_of;
use windlass_store::{EventLog as _, RunFilter, RunSummary, SqliteLog};

use crate::failure::Failure;

/// How many runs are looked through at most: a bound on the work of a listing.
const MOST_RUNS: usize = 100_000;
/// How many runs are read at once.
const PAGE: usize = 1_000;
/// How many sessions of an agent are kept where its loop does not say (KAOS' `max_sessions`).
const KEPT: usize = 1_000;
/// The part of all sessions that goes at the limit (KAOS: the oldest tenth).
const DROPPED_PART: usize = 10;

/// What is known of a session: its newest run, its first one, and how many it has.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) newest: RunSummary,
    pub(super) first: RunSummary,
    pub(super) runs: usize,
    /// Whether its agent's memory still holds it.
    pub(super) held: bool,
}

/// The runs of a session or of all, the newest first. Runs that do tasks of others belong to no session.
pub(super) async fn runs(log: &SqliteLog, session: Option<&SessionId>) -> Result<Vec<RunSummary>, Failure> {
    let mut all: Vec<RunSummary> = Vec::new();
    while all.len() < MOST_RUNS {
        let filter = RunFilter {
            session: session.cloned(),
            before: all.last().map(|run| run.run),
            limit: PAGE,
            ..RunFilter::default()
        };
        let page = log.list(filter).await?;
        let last = page.len() < PAGE;
        all.extend(page);
        if last {
            break;
        }
    }
    Ok(all)
}

/// All sessions, the one that went on last first.
pub(super) async fn sessions(log: &SqliteLog) -> Result<Vec<Session>, Failure> {
    let all = runs(log, None).await?;
    let mut places: HashMap<SessionId, usize> = HashMap::new();
    let mut sessions: Vec<Session> = Vec::new();
    for run in &all {
        let Some(id) = run.session.clone() else { continue };
        if let Some(session) = places.get(&id).and_then(|place| sessions.get_mut(*place)) {
            session.runs += 1;
            session.first = run.clone();
        } else {
            places.insert(id.clone(), sessions.len());
            sessions.push(Session { id, newest: run.clone(), first: run.clone(), runs: 1, held: false });
        }
    }
    let mut agents: BTreeMap<Text, Vec<SessionId>> = BTreeMap::new();
    for run in all.iter().rev() {
        let place = run.session.as_ref().and_then(|id| places.get(id));
        let Some(session) = place.and_then(|place| sessions.get(*place)) else { continue };
        agents.entry(session.newest.agent.clone()).or_default().push(session.id.clone());
    }
    for (agent, begun) in agents {
        let newest =
            sessions.iter().find(|session| session.newest.agent == agent).map(|session| session.newest.run);
        let memory = match newest {
            Some(run) => memory(log, run).await?,
            None => None,
        };
        let most = memory.map_or(KEPT, |memory| memory.max_sessions as usize);
        for id in held(&begun, most) {
            if let Some(session) = places.get(id).and_then(|place| sessions.get_mut(*place)) {
                session.held = true;
            }
        }
    }
    Ok(sessions)
}

/// The bounds that the loop of a run has.
pub(super) async fn memory(log: &SqliteLog, run: RunId) -> Result<Option<MemoryBounds>, Failure> {
    Ok(start_of(log, run).await?.policy.past.memory.bounds())
}

/// The sessions that are still held after these runs (the oldest first) of one agent: whenever a new one would be too
/// many, the tenth that went on longest ago goes, at least one (KAOS).
fn held(begun: &[SessionId], most: usize) -> impl Iterator<Item = &SessionId> {
    let mut last: HashMap<&SessionId, usize> = HashMap::new();
    let mut by_age: BTreeSet<(usize, &SessionId)> = BTreeSet::new();
    for (now, id) in begun.iter().enumerate() {
        match last.remove(id) {
            Some(before) => {
                by_age.remove(&(before, id));
            }
            None if last.len() >= most => {
                for _ in 0..(most / DROPPED_PART).max(1) {
                    let Some((_, oldest)) = by_age.pop_first() else { break };
                    last.remove(oldest);
                }
            }
            None => {}
        }
        if most > 0 {
            last.insert(id, now);
            by_age.insert((now, id));
        }
    }
    by_age.into_iter().map(|(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(begun: &[&str], most: usize) -> Vec<String> {
        let begun: Vec<SessionId> = begun.iter().map(|id| SessionId::from(*id)).collect();
        held(&begun, most).map(|id| id.as_str().to_owned()).collect()
    }

    #[test]
    fn k25_at_the_limit_the_oldest_tenth_goes_at_least_one() {
        assert_eq!(kept(&["a", "b", "c"], 2), ["b", "c"]);
        assert_eq!(kept(&["a", "b", "a", "c"], 2), ["a", "c"], "what went on is not the oldest");
        assert_eq!(kept(&["a", "b", "c", "a"], 2), ["c", "a"], "what goes on comes back");
        assert_eq!(kept(&["a"], 0), [""; 0]);
        assert_eq!(kept(&[], 2), [""; 0]);
        let many: Vec<String> = (0..31).map(|number| format!("s{number:02}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let left = kept(&many, 30);
        assert_eq!((left.len(), left.first().map(String::as_str)), (28, Some("s03")), "three of thirty went");
    }
}
