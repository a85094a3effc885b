//! The sessions of a log, and which of them the bounded memory of KAOS would still hold.
//!
//! The bounds are those of a *view*: `memory.max_sessions` limits a listing and never removes anything from the log. A session
//! beyond the bound stays complete in the log, can be continued by its id, and reappears with its next run. Only pruning
//! removes runs, and never a run that another one is based on.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use windlass_core::policy::MemoryBounds;
use windlass_core::{RunId, SessionId, Text};
use windlass_store::{Index, Log, RunFilter, RunSummary, Store};

use crate::error::Error;
use crate::load::pages::ListPages;
use crate::load::start_of;

/// The most runs that a listing of sessions looks through.
const MOST_RUNS: usize = 100_000;
/// The number of sessions that an agent keeps where its loop does not say (KAOS' `max_sessions`).
const KEPT: usize = 1_000;
/// The part of all sessions that goes at the limit (KAOS: the oldest tenth).
const DROPPED_PART: usize = 10;

/// A session.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its newest run.
    pub newest: RunSummary,
    /// Its first run.
    pub first: RunSummary,
    /// The number of its runs.
    pub runs: usize,
    /// Whether the memory of its agent still holds it.
    pub held: bool,
}

/// The runs of a session, or of all sessions, newest first. Child runs belong to no session.
///
/// # Errors
/// The log failed.
pub async fn session_runs(log: &dyn Index, session: Option<&SessionId>) -> Result<Vec<RunSummary>, Error> {
    let mut all = Vec::new();
    let mut pages = ListPages::new(log, RunFilter { session: session.cloned(), ..RunFilter::default() });
    while all.len() < MOST_RUNS {
        let Some(page) = pages.next().await? else { break };
        all.extend(page);
    }
    Ok(all)
}

/// All sessions of a log, the one with the newest run first.
///
/// # Errors
/// The log failed.
pub async fn sessions(log: &dyn Store) -> Result<Vec<Session>, Error> {
    let all = session_runs(log, None).await?;
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

/// The bounds of a run's memory.
async fn memory(log: &dyn Log, run: RunId) -> Result<Option<MemoryBounds>, Error> {
    Ok(start_of(log, run).await?.policy.past.memory.bounds())
}

/// The sessions that are still held after these runs of one agent, oldest run first. Whenever a new session would be too
/// many, the tenth with the oldest activity goes, at least one (KAOS).
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
