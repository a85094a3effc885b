//! Holds what happened against what was expected.

use super::pass::{Mode, Outcome, Pass};
use super::record::RunRecord;

use crate::fixture::{Case, EVENT_NAMES, Expect, Matcher, Mismatch, RequestMatch};
use crate::script::last_step;

type Checked = Result<(), Mismatch>;

/// Everything that the case expects of a pass.
pub(crate) fn all(case: &Case, pass: Pass, outcome: &Outcome) -> Checked {
    if case.expect.refused.is_some() {
        return Err(Mismatch::new("the agent or input is refused", "it was accepted").under("refused"));
    }
    if let Some(problem) = &outcome.problem {
        return Err(Mismatch::new("what the script has", problem.clone()).under("script"));
    }
    let last = outcome.runs.len().saturating_sub(1);
    for (place, record) in outcome.runs.iter().enumerate() {
        super::sound::run(record)?;
        let own = case.runs.get(place).and_then(|run| run.expect.as_ref());
        for expect in own.into_iter().chain((place == last).then_some(&case.expect)) {
            check(pass, expect, record, outcome).map_err(|miss| match case.runs.len() {
                1 => miss,
                _ => miss.under(&format!("run {}", place + 1)),
            })?;
        }
    }
    Ok(())
}

/// The agent or an input was refused: whether that was expected.
pub(crate) fn refused(case: &Case, message: &str) -> Checked {
    match &case.expect.refused {
        Some(wanted) => wanted.check(message).map_err(|miss| miss.under("refused")),
        None => Err(Mismatch::new("the agent and its input are accepted", message).under("refused")),
    }
}

/// What a peer was sent: the root's own peer of that name, else one further down.
fn peer(name: &str, wanted: &[(u32, RequestMatch)], outcome: &Outcome) -> Checked {
    let deeper = || outcome.peers.iter().find(|(path, _)| last_step(path) == name).map(|(_, sent)| sent);
    let sent = outcome.peers.get(name).or_else(deeper).map(Vec::as_slice).unwrap_or_default();
    wanted.iter().try_for_each(|(number, wanted)| wanted.check(*number, sent))
}

fn check(pass: Pass, expect: &Expect, run: &RunRecord, outcome: &Outcome) -> Checked {
    let end = run.state.ended();
    let (text, output) = end.map_or((None, None), |end| (end.text.as_deref(), end.output.as_ref()));
    expect.check_end(end.map(|end| end.status), text, output)?;
    numbers(expect, pass, run)?;
    executions(pass, expect, run, outcome)?;
    for (name, wanted) in &expect.peers {
        peer(name, wanted, outcome).map_err(|miss| miss.under(name).under("peers"))?;
    }
    for (number, wanted) in &expect.requests {
        wanted.check(*number, &outcome.requests).map_err(|miss| miss.under("requests"))?;
    }
    if let Some(wanted) = &expect.events {
        let kinds =
            run.events.iter().map(|event| event.fact.kind()).filter(|kind| EVENT_NAMES.contains(kind));
        wanted.check(kinds).map_err(|miss| miss.under("events"))?;
    }
    if let Some(wanted) = &expect.asked {
        wanted.check(&run.asked).map_err(|miss| miss.under("asked"))?;
    }
    if let Some(wanted) =
        expect.updates.as_ref().filter(|_| pass.mode == Mode::Streaming && pass.restarts() == 0)
    {
        wanted.check(&run.updates).map_err(|miss| miss.under("updates"))?;
    }
    if let Some(wanted) = &expect.log_lines {
        wanted.check(run.log_lines.iter().map(String::as_str)).map_err(|miss| miss.under("log_lines"))?;
    }
    Ok(())
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
    // What a crash and a stop together cost nobody can know: then there is only an estimate.
    let guessed = pass.restarts() > 0 && run.state.usage().estimated;
    if let Some(wanted) = expect.usage.as_ref().filter(|_| !guessed) {
        let cost = run.state.cost().map(|pico| pico as f64 / 1e12);
        wanted.check(run.state.usage(), cost).map_err(|miss| miss.under("usage"))?;
    }
    Ok(())
}

/// How often tools really ran: exact, but for those that may run again after a restart.
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
