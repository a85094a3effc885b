//! Holds what happened against what was expected.

use windlass_core::Event;

use super::outcome::{Outcome, Stop};
use super::record::{self, RunRecord};
use super::way::{Mode, Pass};
use crate::fixture::{Case, EVENT_NAMES, Expect, Matcher, Mismatch, RequestMatch};
use crate::script::last_step;

type Checked = Result<(), Mismatch>;

/// A difference, with its place in the pass where that is known.
#[derive(Clone, Debug)]
pub(crate) struct Shortfall {
    pub(crate) miss: Mismatch,
    /// Number of lines of the pass's log that lead up to it; `None`: all.
    pub(crate) lines: Option<usize>,
    /// The request that it is about, from 1; `None`: the last one.
    pub(crate) request: Option<u32>,
}

impl Shortfall {
    /// Differences in the order of the run: where they are known to be, then requests by number, then the rest.
    fn order(&self) -> (u8, usize) {
        match (self.lines, self.request) {
            (Some(lines), _) => (0, lines),
            (None, Some(number)) => (1, number as usize),
            (None, None) => (2, 0),
        }
    }
}

impl From<Mismatch> for Shortfall {
    fn from(miss: Mismatch) -> Self {
        Self { miss, lines: None, request: None }
    }
}

/// The shortfalls of a pass against the case's expectations, in the order of the run.
pub(crate) fn all(case: &Case, pass: Pass, outcome: &Outcome) -> Vec<Shortfall> {
    if case.expect.refused.is_some() {
        let miss = Mismatch::new("the agent or its input to be refused", "it was accepted");
        return vec![miss.under("refused").into()];
    }
    let mut found = runs(case, pass, outcome);
    if let Some(problem) = &outcome.problem {
        // Whatever else differs may follow from it.
        found.insert(0, Mismatch::new("no error", problem.clone()).under("script").into());
    }
    found
}

/// Checks the case's expectations of the runs.
fn runs(case: &Case, pass: Pass, outcome: &Outcome) -> Vec<Shortfall> {
    let last = case.runs.len().saturating_sub(1);
    let mut all = Vec::new();
    for (place, run) in outcome.runs.iter().enumerate() {
        if let Err(unsound) = super::sound::run(run) {
            all.push(unsound.into());
            return all;
        }
        if pass.restarts() > 0 && !pass.scripted && record::cut_by_reservation(&run.batches) {
            // What the lost calls may have cost was too much: without the restart the run would have gone on.
            return all;
        }
        all.extend(run.unscripted.iter().map(|call| Shortfall::from(call.miss())));
        let own = case.runs.get(place).and_then(|run| run.expect.as_ref());
        let expected = own.into_iter().chain((place == last).then_some(&case.expect));
        let mut found: Vec<Shortfall> =
            expected.flat_map(|expect| check(pass, expect, place, outcome)).collect();
        found.sort_by_key(Shortfall::order);
        if case.runs.len() > 1 {
            let run = format!("run {}", place + 1);
            found = found.into_iter().map(|one| Shortfall { miss: one.miss.under(&run), ..one }).collect();
        }
        all.extend(found);
    }
    all
}

/// The pass was stopped: whether that was expected. What fell short in a run before it comes first.
pub(crate) fn stopped(case: &Case, pass: Pass, stop: &Stop) -> Vec<Shortfall> {
    let (mut found, miss) = match (&case.expect.refused, &stop.why) {
        (Some(wanted), _) => {
            let miss = wanted.check(&stop.message).err();
            return miss.map(|miss| miss.under("refused").into()).into_iter().collect();
        }
        (None, Some(miss)) => (runs(case, pass, &stop.before), miss.clone()),
        (None, None) => {
            let miss = Mismatch::new("the agent and its input to be accepted", stop.message.as_str());
            (Vec::new(), miss.under("refused"))
        }
    };
    found.push(Shortfall { request: stop.request, ..miss.into() });
    found
}

/// Checks the requests to a peer: the root's own peer of that name, else one further down.
fn peer(name: &str, wanted: &[(u32, RequestMatch)], outcome: &Outcome) -> Vec<Mismatch> {
    let deeper = || outcome.peers.iter().find(|(path, _)| last_step(path) == name).map(|(_, sent)| sent);
    let sent = outcome.peers.get(name).or_else(deeper).map(Vec::as_slice).unwrap_or_default();
    wanted.iter().flat_map(|(number, wanted)| wanted.misses(*number, sent)).collect()
}

/// All differences of a run, in the order in which they are looked for.
fn check(pass: Pass, expect: &Expect, place: usize, outcome: &Outcome) -> Vec<Shortfall> {
    let Some(run) = outcome.runs.get(place) else { return Vec::new() };
    let end = run.state.ended();
    let (text, output) = end.map_or((None, None), |end| (end.text.as_deref(), end.output.as_ref()));
    let mut misses = expect.end_misses(end.map(|end| end.status), text, output);
    misses.extend(numbers(expect, pass, run));
    misses.extend(executions(pass, expect, run, outcome));
    for (name, wanted) in &expect.peers {
        let of_peer = peer(name, wanted, outcome).into_iter();
        misses.extend(of_peer.map(|miss| miss.under(name).under("peers")));
    }
    let mut note = |checked: Checked, key: &str| misses.extend(checked.err().map(|miss| miss.under(key)));
    if let Some(wanted) = &expect.asked {
        note(wanted.check(&run.asked), "asked");
    }
    if let Some(wanted) =
        expect.updates.as_ref().filter(|_| pass.mode == Mode::Streaming && pass.restarts() == 0)
    {
        note(wanted.check(&run.updates), "updates");
    }
    if let Some(wanted) = &expect.log_lines {
        note(wanted.check(run.log_lines.iter().map(String::as_str)), "log_lines");
    }
    let mut found: Vec<Shortfall> = misses.into_iter().map(Shortfall::from).collect();
    found.extend(expect.requests.iter().flat_map(|(number, wanted)| request(*number, wanted, outcome)));
    found.extend(events(expect, place, outcome));
    found
}

fn request(number: u32, wanted: &RequestMatch, outcome: &Outcome) -> Vec<Shortfall> {
    // One that was never sent is missed at the end.
    let request = (number as usize <= outcome.requests.len()).then_some(number);
    let lines = request.and_then(|number| outcome.lines_to_request(number));
    let misses = wanted.misses(number, &outcome.requests).into_iter();
    misses.map(|miss| Shortfall { miss: miss.under("requests"), lines, request }).collect()
}

fn events(expect: &Expect, place: usize, outcome: &Outcome) -> Option<Shortfall> {
    let run = outcome.runs.get(place)?;
    let looked_at = |event: &&Event| EVENT_NAMES.contains(&event.fact.kind());
    let kinds = run.events.iter().filter(looked_at).map(|event| event.fact.kind());
    let miss = expect.events.as_ref()?.check(kinds).err()?;
    // In a list that must be exact the path is the place of the first event that differs.
    let at: Option<usize> = miss.path.parse().ok();
    let line = |at| run.events.iter().enumerate().filter(|(_, event)| looked_at(event)).nth(at);
    let lines = at.and_then(line).map(|(line, _)| outcome.lines_before(place) + line + 1);
    // The request that came before it, if any did.
    let request = lines.and_then(|lines| outcome.requests_within(lines));
    Some(Shortfall { miss: miss.under("events"), lines, request })
}

fn numbers(expect: &Expect, pass: Pass, run: &RunRecord) -> Vec<Mismatch> {
    let turns = run.events.iter().filter(|event| event.fact.kind() == "TurnCompleted").count() as u64;
    // Of a loop that does not count them, the answer is the end of its one iteration.
    let counted = run.state.counters().iterations;
    let iterations = if run.state.iterates() { counted } else { u64::from(turns > 0) };
    // A restart takes time limits anew, and spares the grace of what died with the process: only a case that crashes by
    // itself can say how long it takes.
    let length = expect.virtual_ms.filter(|_| pass.restarts() == 0 || pass.scripted);
    let counts = [
        ("model_calls", expect.model_calls, run.requests as u64),
        ("turns", expect.turns, turns),
        ("iterations", expect.iterations, iterations),
        ("virtual_ms", length, run.virtual_ms),
    ];
    let counted = counts
        .into_iter()
        .filter_map(|(key, wanted, found)| Some(wanted?.check_count(found).err()?.under(key)));
    let mut misses: Vec<Mismatch> = counted.collect();
    if let Some(wanted) = &expect.plan {
        let versions = run.state.plan().map_or(0, |plan| plan.versions.len()) as u64;
        let counts = [
            ("versions", wanted.versions, versions),
            ("steps", wanted.steps, run.state.counters().plan_steps),
        ];
        let misfits = counts.into_iter().filter_map(|(key, wanted, found)| {
            Some(wanted?.check_count(found).err()?.under(key).under("plan"))
        });
        misses.extend(misfits);
    }
    // What a crash and a stop together cost nobody can know: then there is only an estimate, or a reservation.
    let guessed = pass.restarts() > 0 && (run.state.usage().estimated || run.lost_for_good);
    if let Some(wanted) = expect.usage.as_ref().filter(|_| !guessed) {
        let cost = run.state.cost().map(|pico| pico as f64 / 1e12);
        misses.extend(wanted.misses(run.state.usage(), cost).into_iter().map(|miss| miss.under("usage")));
    }
    misses
}

/// Checks the number of executions: exact, except for tools that may run again after a restart.
fn executions(pass: Pass, expect: &Expect, run: &RunRecord, outcome: &Outcome) -> Vec<Mismatch> {
    let once = |name: &str| outcome.once.iter().any(|key| last_step(key) == name);
    let ran = |name: &str| run.executed.get(name).map(Vec::as_slice).unwrap_or_default();
    let counted = expect.executions.iter().filter_map(|(name, wanted)| {
        let wanted = if pass.restarts() > 0 && !once(name) { wanted.at_least() } else { *wanted };
        let miss = wanted.check_count(ran(name).len() as u64).err()?;
        Some(miss.under(name).under("executions"))
    });
    // Where a tool may have run again, the list need not be exact; and who was asked twice may answer in any order.
    let exact = |name: &str| pass.restarts() == 0 || once(name) && pass.restarts() == 1;
    let listed = expect.executed.iter().filter(|(name, _)| exact(name)).filter_map(|(name, wanted)| {
        let miss: Mismatch = wanted.check(ran(name)).err()?;
        Some(miss.under(name).under("executed"))
    });
    counted.chain(listed).collect()
}
