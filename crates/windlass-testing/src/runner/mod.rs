//! Runs scripted conversations: each case blocking and streaming, and on request with a restart after every event.

mod agent;
mod check;
mod coverage;
mod hook;
mod outcome;
mod pass;
mod record;
mod seen;
mod sound;
mod unscripted;
mod way;
mod wrong_answers;

use std::fmt;

use windlass_core::{Event, RunId};
use windlass_store::Batch;

use crate::fixture::{Case, Crash, Interrupt, Mismatch, SentRequest};
pub(crate) use agent::UNNAMED;
pub use coverage::Visited;
use outcome::Outcome;
use record::RunRecord;
use way::{Mode, Pass, Seed};

/// Options for running cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunnerOptions {
    /// Run each case without a subscriber.
    pub blocking: bool,
    /// Run each case with a subscriber.
    pub streaming: bool,
    /// Also run each case once for every event position, with a restart there.
    pub crash: bool,
    /// The first seed of seeded schedules.
    pub first_seed: u64,
    /// Under how many seeded schedules to run each case beside the plain one.
    pub seeds: u64,
}

impl Default for RunnerOptions {
    fn default() -> Self {
        Self { blocking: true, streaming: true, crash: false, first_seed: 1, seeds: 0 }
    }
}

/// The report on a case.
#[derive(Clone, Debug)]
pub struct CaseReport {
    /// The case's name.
    pub name: String,
    /// Number of passes.
    pub passes: usize,
    /// Number of restarts from the log, over all passes.
    pub restarts: usize,
    /// The failures, first pass first; empty: the case passed.
    pub failures: Vec<CaseFailure>,
    /// The event log of the first pass, one line an event.
    pub log: Vec<String>,
    /// Inputs by state and the resulting events of its passes, without seeded ones.
    pub visited: Visited,
}

impl CaseReport {
    fn new(case: &Case) -> Self {
        Self {
            name: case.name.clone(),
            passes: 0,
            restarts: 0,
            failures: Vec::new(),
            log: Vec::new(),
            visited: Visited::new(),
        }
    }

    /// Adds the passes of another report of the same case.
    fn join(&mut self, other: Self) {
        self.passes += other.passes;
        self.restarts += other.restarts;
        self.failures.extend(other.failures);
        for (pair, facts) in other.visited {
            self.visited.entry(pair).or_default().extend(facts);
        }
    }

    /// Whether everything held.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }
}

/// A failure of a case in one pass.
#[derive(Clone, Debug)]
pub struct CaseFailure {
    /// Name of the pass: `blocking`, `streaming`, `blocking, restarted after event 3`.
    pub pass: String,
    /// The seed of the pass's schedule, if it had one: the same seed gives the same pass again.
    pub seed: Option<u64>,
    /// The differences, at least one, in the order of the run.
    pub differences: Vec<String>,
    /// The events up to the first difference.
    pub log: Vec<String>,
    /// The request that the first difference is about, else the last one before it.
    pub request: Option<String>,
    /// Number of that request, from 1; `None`: the last one of the pass.
    pub request_number: Option<u32>,
}

impl fmt::Display for CaseFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for difference in &self.differences {
            writeln!(f, "  {}: {}", self.pass, difference.replace('\n', "\n  "))?;
        }
        if self.differences.len() > 1 && !self.log.is_empty() {
            writeln!(f, "    the events up to the first difference:")?;
        }
        for line in &self.log {
            writeln!(f, "    {line}")?;
        }
        if let Some(request) = &self.request {
            match self.request_number {
                Some(number) => writeln!(f, "    request {number} to the model:")?,
                None => writeln!(f, "    last request to the model:")?,
            }
            for line in request.lines() {
                writeln!(f, "      {line}")?;
            }
        }
        Ok(())
    }
}

/// Runs a case.
pub fn run_case(case: &Case, options: RunnerOptions) -> CaseReport {
    let mut report = CaseReport::new(case);
    if let Some(key) = case.later() {
        let difference = format!("`{}` (line {}) is not available in this version", key.path, key.line);
        report.failures.push(CaseFailure {
            pass: "not run".to_owned(),
            seed: None,
            differences: vec![difference],
            log: Vec::new(),
            request: None,
            request_number: None,
        });
        return report;
    }
    let modes = [(options.blocking, Mode::Blocking), (options.streaming, Mode::Streaming)];
    let mut plain: Option<Outcome> = None;
    for (_, mode) in modes.into_iter().filter(|(wanted, _)| *wanted) {
        let points = match case.crash {
            Some(Crash::AfterEvent(event)) => vec![event],
            _ => vec![0],
        };
        for point in points {
            let outcome = one(case, Pass { crash: point, ..Pass::plain(mode) }, &mut report);
            if let (Some(first), Some(second)) = (&plain, &outcome) {
                same_events(case, first, second, &mut report);
            }
            plain = plain.or(outcome);
        }
        let everywhere = case.crash == Some(Crash::Everywhere) || options.crash && case.crash.is_none();
        if everywhere && let Some(events) = plain.as_ref().map(|outcome| outcome.batch_ends.clone()) {
            for point in events {
                one(case, Pass { crash: point, scripted: false, ..Pass::plain(mode) }, &mut report);
            }
        }
    }
    if let Some(plain) = plain {
        seeded(case, options, &plain, &mut report);
    }
    report
}

/// Runs the case under seeded schedules. A case that crashes by itself is not interrupted again: its people know only of its
/// own crash.
fn seeded(case: &Case, options: RunnerOptions, plain: &Outcome, report: &mut CaseReport) {
    let scripted = match case.crash {
        Some(Crash::AfterEvent(event)) => event,
        _ => 0,
    };
    let events = if scripted > 0 { 0 } else { plain.batch_ends.last().copied().unwrap_or(0) };
    for number in options.first_seed..options.first_seed.saturating_add(options.seeds) {
        let streams = options.streaming && (!options.blocking || number % 2 == 0);
        let mode = if streams { Mode::Streaming } else { Mode::Blocking };
        let pass = Pass {
            crash: scripted,
            seed: Some(Seed { number, events, cancelled: case.cancel.is_some() }),
            ..Pass::plain(mode)
        };
        one(case, Pass { scripted: scripted > 0 || pass.restarts() == 0, ..pass }, report);
    }
}

/// Runs a case once, blocking, and gives what its runs appended, in order: a log to try things on.
///
/// # Errors
/// The case is refused, or belongs to a later version.
pub fn appends_of_case(case: &Case) -> Result<Vec<(RunId, Vec<Batch>)>, String> {
    if let Some(key) = case.later() {
        return Err(format!("`{}` (line {}) is not available in this version", key.path, key.line));
    }
    let outcome = pass::run(case, Pass::plain(Mode::Blocking)).map_err(|stop| stop.message)?;
    Ok(outcome.runs.into_iter().map(|run| (run.state.run(), run.batches)).collect())
}

/// Runs a case once for every event position, with a cancellation there. Whatever the case expects, each run must end by it
/// within its grace period, with a result for every call and all usage counted. Then repeats it with a death of the process
/// right after the cancellation.
pub fn cancel_everywhere(case: &Case) -> CaseReport {
    let cancel = |event, mode| Pass { cancel: event, ..Pass::plain(mode) };
    let mut report = everywhere(case, cancel, |run, _| sound::cancelled(run));
    let dies = |event, mode| Pass { crash: event + 1, scripted: false, ..cancel(event, mode) };
    report.join(everywhere(case, dies, |run, _| sound::cancelled(run)));
    report
}

/// Runs a case once for every event position, with a message to the run there. Whatever the case expects, each run must receive
/// it at its next turn, once.
pub fn steer_everywhere(case: &Case) -> CaseReport {
    let steer = |event, mode| Pass { steer: event, ..Pass::plain(mode) };
    everywhere(case, steer, |run, _| sound::steered(run))
}

/// Runs a case once for every event position, with a pause there. It is ended as soon as a person is asked; after every other
/// event, before that. Each run must come to the end that it has without the pause, and begin no turn while it is paused. A case
/// that pauses by itself is left out: its people answer for its own pause.
pub fn pause_everywhere(case: &Case) -> CaseReport {
    if case.steer.iter().any(|steer| matches!(steer.what, Interrupt::Pause(_))) {
        return CaseReport::new(case);
    }
    let pause = |event, mode| Pass { pause: event, at_once: event % 2 == 0, ..Pass::plain(mode) };
    everywhere(case, pause, sound::paused)
}

fn everywhere(
    case: &Case,
    pass_at: impl Fn(u64, Mode) -> Pass,
    sound: fn(&RunRecord, Option<&RunRecord>) -> Result<(), Mismatch>,
) -> CaseReport {
    let mut report = CaseReport::new(case);
    let Ok(plain) = pass::run(case, Pass::plain(Mode::Blocking)) else { return report };
    report.log = plain.log();
    for (place, event) in plain.batch_ends.iter().copied().enumerate() {
        let pass = pass_at(event, if place % 2 == 0 { Mode::Blocking } else { Mode::Streaming });
        report.passes += 1;
        // A run that nobody let end keeps the session from the next one.
        let Ok(outcome) = pass::run(case, pass) else { continue };
        report.restarts += outcome.restarts;
        coverage::note(&mut report.visited, &outcome);
        let mut runs = outcome.runs.iter().enumerate();
        if let Some(miss) = runs.find_map(|(place, run)| sound(run, plain.runs.get(place)).err()) {
            let (pass, differences, log) = (pass.to_string(), vec![miss.to_string()], outcome.log());
            let failure =
                CaseFailure { pass, seed: None, differences, log, request: None, request_number: None };
            report.failures.push(failure);
        }
    }
    report
}

fn one(case: &Case, pass: Pass, report: &mut CaseReport) -> Option<Outcome> {
    report.passes += 1;
    let ended = pass::run(case, pass);
    let faults = match &ended {
        Ok(outcome) => check::all(case, pass, outcome),
        Err(stop) => check::stopped(case, pass, stop),
    };
    report.restarts += ended.as_ref().map_or_else(|stop| stop.before.restarts, |outcome| outcome.restarts);
    let log = ended.as_ref().map_or_else(|stop| stop.log.clone(), Outcome::log);
    if let Some(outcome) = ended.as_ref().ok().filter(|_| pass.seed.is_none()) {
        coverage::note(&mut report.visited, outcome);
    }
    if let Some(fault) = faults.first() {
        let request = match &ended {
            Ok(outcome) => outcome.request(fault.request),
            Err(stop) => stop.before.request(fault.request),
        };
        report.failures.push(CaseFailure {
            pass: pass.to_string(),
            seed: pass.seed.map(|seed| seed.number),
            differences: faults.iter().map(|fault| fault.miss.to_string()).collect(),
            log: log.iter().take(fault.lines.unwrap_or(log.len())).cloned().collect(),
            request: request.map(SentRequest::describe),
            request_number: fault.request,
        });
    }
    if report.log.is_empty() {
        report.log = log;
    }
    ended.ok()
}

/// Blocking and streaming must give the same events. A tool that really runs may say something else each time: then their kinds.
fn same_events(case: &Case, first: &Outcome, second: &Outcome, report: &mut CaseReport) {
    let kinds_only = case.has_real_tools();
    let same = |one: &Event, other: &Event| {
        if kinds_only { one.fact.kind() == other.fact.kind() } else { one == other }
    };
    for (place, (one, other)) in first.runs.iter().zip(&second.runs).enumerate() {
        let mut pairs = one.events.iter().zip(&other.events).enumerate();
        let differs = pairs.find(|(_, (one, other))| !same(one, other));
        let lines = differs.map(|(line, _)| second.lines_before(place) + line + 1);
        let fault = match differs {
            Some((_, (one, other))) => Mismatch::new(record::line(one), record::line(other)),
            None if one.events.len() != other.events.len() => Mismatch::new(
                format!("{} events", one.events.len()),
                format!("{} events", other.events.len()),
            ),
            None => continue,
        };
        report.failures.push(CaseFailure {
            pass: "streaming against blocking".to_owned(),
            seed: None,
            differences: vec![fault.under("events").to_string()],
            log: second.log().into_iter().take(lines.unwrap_or(usize::MAX)).collect(),
            request: None,
            request_number: None,
        });
        return;
    }
}
