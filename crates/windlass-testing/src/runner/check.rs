//! Holds what happened against what was expected.

use windlass_core::Event;

use super::outcome::{Outcome, Stop};
use super::pass::{Mode, Pass};
use super::record::{self, RunRecord};
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

/// Everything that the case expects of a pass.
pub(crate) fn all(case: &Case, pass: Pass, outcome: &Outcome) -> Result<(), Shortfall> {
    if case.expect.refused.is_some() {
        let miss = Mismatch::new("the agent or input is refused", "it was accepted");
        return Err(miss.under("refused").into());
    }
    if let Some(problem) = &outcome.problem {
        return Err(Mismatch::new("what the script has", problem.clone()).under("script").into());
    }
    runs(case, pass, outcome)
}

/// Checks the case's expectations of the runs.
fn runs(case: &Case, pass: Pass, outcome: &Outcome) -> Result<(), Shortfall> {
    let last = case.runs.len().saturating_sub(1);
    for (place, run) in outcome.runs.iter().enumerate() {
        super::sound::run(run)?;
        if pass.restarts() > 0 && !pass.scripted && record::cut_by_reservation(&run.batches) {
            // What the lost calls may have cost was too much: without the restart the run would have gone on.
            return Ok(());
        }
        let own = case.runs.get(place).and_then(|run| run.expect.as_ref());
        for expect in own.into_iter().chain((place == last).then_some(&case.expect)) {
            if let Some(first) = check(pass, expect, place, outcome).into_iter().min_by_key(Shortfall::order)
            {
                let miss = match case.runs.len() {
                    1 => first.miss,
                    _ => first.miss.under(&format!("run {}", place + 1)),
                };
                return Err(Shortfall { miss, ..first });
            }
        }
    }
    Ok(())
}

/// The pass was stopped: whether that was expected. What fell short in a run before it comes first.
pub(crate) fn stopped(case: &Case, pass: Pass, stop: &Stop) -> Result<(), Shortfall> {
    let miss = match (&case.expect.refused, &stop.why) {
        (Some(wanted), _) => {
            return wanted.check(&stop.message).map_err(|miss| miss.under("refused").into());
        }
        (None, Some(miss)) => {
            runs(case, pass, &stop.before)?;
            miss.clone()
        }
        (None, None) => {
            Mismatch::new("the agent and its input are accepted", stop.message.as_str()).under("refused")
        }
    };
    Err(Shortfall { request: stop.request, ..miss.into() })
}

/// Checks the requests to a peer: the root's own peer of that name, else one further down.
fn peer(name: &str, wanted: &[(u32, RequestMatch)], outcome: &Outcome) -> Checked {
    let deeper = || outcome.peers.iter().find(|(path, _)| last_step(path) == name).map(|(_, sent)| sent);
    let sent = outcome.peers.get(name).or_else(deeper).map(Vec::as_slice).unwrap_or_default();
    wanted.iter().try_for_each(|(number, wanted)| wanted.check(*number, sent))
}

/// All differences of a run, in the order in which they are looked for.
fn check(pass: Pass, expect: &Expect, place: usize, outcome: &Outcome) -> Vec<Shortfall> {
    let Some(run) = outcome.runs.get(place) else { return Vec::new() };
    let mut found: Vec<Shortfall> = Vec::new();
    let mut note = |checked: Checked| found.extend(checked.err().map(Shortfall::from));
    let end = run.state.ended();
    let (text, output) = end.map_or((None, None), |end| (end.text.as_deref(), end.output.as_ref()));
    note(expect.check_end(end.map(|end| end.status), text, output));
    note(numbers(expect, pass, run));
    note(executions(pass, expect, run, outcome));
    for (name, wanted) in &expect.peers {
        note(peer(name, wanted, outcome).map_err(|miss| miss.under(name).under("peers")));
    }
    if let Some(wanted) = &expect.asked {
        note(wanted.check(&run.asked).map_err(|miss| miss.under("asked")));
    }
    if let Some(wanted) =
        expect.updates.as_ref().filter(|_| pass.mode == Mode::Streaming && pass.restarts() == 0)
    {
        note(wanted.check(&run.updates).map_err(|miss| miss.under("updates")));
    }
    if let Some(wanted) = &expect.log_lines {
        let lines = run.log_lines.iter().map(String::as_str);
        note(wanted.check(lines).map_err(|miss| miss.under("log_lines")));
    }
    found.extend(expect.requests.iter().filter_map(|(number, wanted)| request(*number, wanted, outcome)));
    found.extend(events(expect, place, outcome));
    found
}

fn request(number: u32, wanted: &RequestMatch, outcome: &Outcome) -> Option<Shortfall> {
    let miss = wanted.check(number, &outcome.requests).err()?.under("requests");
    // One that was never sent is missed at the end.
    let request = (number as usize <= outcome.requests.len()).then_some(number);
    Some(Shortfall { miss, lines: request.and_then(|number| outcome.lines_to_request(number)), request })
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

fn numbers(expect: &Expect, pass: Pass, run: &RunRecord) -> Checked {
    let turns = run.events.iter().filter(|event| event.fact.kind() == "TurnCompleted").count() as u64;
    // A restart takes time limits anew, and spares the grace of what died with the process: only a case that crashes by
    // itself can say how long it takes.
    let length = expect.virtual_ms.filter(|_| pass.restarts() == 0 || pass.scripted);
    let counts = [
        ("model_calls", expect.model_calls, run.requests as u64),
        ("turns", expect.turns, turns),
        ("virtual_ms", length, run.virtual_ms),
    ];
    for (key, wanted, found) in counts {
        if let Some(wanted) = wanted {
            wanted.check_count(found).map_err(|miss| miss.under(key))?;
        }
    }
    // What a crash and a stop together cost nobody can know: then there is only an estimate, or a reservation.
    let guessed = pass.restarts() > 0 && (run.state.usage().estimated || run.lost_for_good);
    if let Some(wanted) = expect.usage.as_ref().filter(|_| !guessed) {
        let cost = run.state.cost().map(|pico| pico as f64 / 1e12);
        wanted.check(run.state.usage(), cost).map_err(|miss| miss.under("usage"))?;
    }
    Ok(())
}

/// Checks the number of executions: exact, except for tools that may run again after a restart.
fn executions(pass: Pass, expect: &Expect, run: &RunRecord, outcome: &Outcome) -> Checked {
    let once = |name: &str| outcome.once.iter().any(|key| last_step(key) == name);
    let ran = |name: &str| run.executed.get(name).map(Vec::as_slice).unwrap_or_default();
    for (name, wanted) in &expect.executions {
        let wanted = if pass.restarts() > 0 && !once(name) { wanted.at_least() } else { *wanted };
        wanted.check_count(ran(name).len() as u64).map_err(|miss| miss.under(name).under("executions"))?;
    }
    for (name, wanted) in &expect.executed {
        // Where a tool may have run again, the list need not be exact; and who was asked twice may answer in any order.
        if pass.restarts() == 0 || once(name) && pass.restarts() == 1 {
            wanted.check(ran(name)).map_err(|miss: Mismatch| miss.under(name).under("executed"))?;
        }
    }
    Ok(())
}
