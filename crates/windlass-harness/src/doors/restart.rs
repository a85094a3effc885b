//! A server that is killed while many runs stream to many readers: nothing is doubled, lost or stuck, and each reader that comes back
//! sees an unbroken sequence.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agents;
use super::history::{difference, plain};
use super::http::Request;
use super::reader::{Seen, Stream};
use super::service::{Place, Service, run_of};
use crate::chance::Chance;
use crate::error::HarnessError;
use crate::ground::Ground;
use crate::look;

/// Time after a start within which each run is running, queued, waiting or ended.
const TAKEN_UP: Duration = Duration::from_secs(2);
/// Time after which a state that should not be is looked at again: a run may just begin or end.
const AGAIN: Duration = Duration::from_millis(300);
/// The latest kill of the rounds that do not wait for that time.
const LATEST_MS: u64 = 1_500;
/// Most kills within one reply after which a run is left to a person.
const KILLED: u32 = 10;
/// Time after which a run is in its reply, which takes a second.
const WITHIN_REPLY: Duration = Duration::from_millis(400);
/// Number of such rounds in a row.
const QUICK: u32 = 3;
/// Time that runs have at SIGTERM, in milliseconds.
const GRACE_MS: u64 = 5_000;
/// Time that a process takes to end beside its grace.
const ENDING: Duration = Duration::from_secs(2);
/// Silence after which a reader comes back.
const SILENCE: Duration = Duration::from_secs(2);
/// Time without anything new after which a person would look at a run.
const LOOK: Duration = Duration::from_secs(15);
/// Time without anything new after which a run is stuck.
const STUCK: Duration = Duration::from_mins(2);

/// How often.
#[derive(Clone, Copy, Debug)]
pub(super) struct RestartPlan {
    /// Runs at once, each with a reader.
    pub(super) runs: usize,
    /// kill -9.
    pub(super) kills: u32,
    /// SIGTERM.
    pub(super) terms: u32,
    pub(super) seed: u64,
}

/// The outcome of restarts.
#[derive(Clone, Debug, Default)]
pub(super) struct RestartReport {
    /// Runs at once.
    at_once: usize,
    /// kill -9.
    kills: u32,
    /// SIGTERM.
    terms: u32,
    /// The longest time that a process took to end after SIGTERM.
    longest_end: Duration,
    /// Looks at all runs, two seconds after a start.
    looks: u32,
    /// Runs.
    runs: u64,
    /// Connections of readers that ended before the run.
    cuts: u64,
    /// Streams that said that the server restarts.
    announced: u64,
    /// Pieces that readers saw.
    pieces: u64,
    /// How often pieces became void.
    voids: u64,
    /// Runs that were resumed by hand, because their model calls were lost too often.
    by_hand: u64,
}

impl fmt::Display for RestartReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} kills and {} SIGTERM (at most {} ms to the end) while {} runs streamed to {} readers; {} runs, all answered, one \
             effect each; readers were cut {} times and told of a restart {} times, saw {} pieces and {} times void ones, each an \
             unbroken sequence; {} looks two seconds after a start: each run running, queued, waiting or ended; {} runs were resumed by \
             hand (a model call lost five times in a row)",
            self.kills,
            self.terms,
            self.longest_end.as_millis(),
            self.at_once,
            self.at_once,
            self.runs,
            self.cuts,
            self.announced,
            self.pieces,
            self.voids,
            self.looks,
            self.by_hand
        )
    }
}

/// Plays.
pub(super) fn play(ground: &Ground, plan: RestartPlan) -> Result<RestartReport, HarnessError> {
    // A quarter of the runs waits for a place.
    let driven = plan.runs.saturating_mul(3) / 4;
    let settings = json!({ "grace_ms": GRACE_MS, "limits": { "waiting": 100_000, "at_once": driven } });
    let place = Place::new(ground, "restart", &settings)?;
    let crowd = Crowd {
        place: &place,
        driven,
        over: AtomicBool::new(false),
        next: AtomicU64::new(0),
        counts: Mutex::default(),
    };
    crowd.play(plan).map_err(|breach| place.broken("restarts", breach))
}

#[derive(Debug, Default)]
struct Counts {
    report: RestartReport,
    runs: BTreeSet<String>,
    fault: Option<String>,
}

struct Crowd<'p> {
    place: &'p Place,
    /// Runs that are driven at once.
    driven: usize,
    /// No new runs are begun.
    over: AtomicBool,
    next: AtomicU64,
    counts: Mutex<Counts>,
}

impl<'p> Crowd<'p> {
    fn play(&self, plan: RestartPlan) -> Result<RestartReport, String> {
        let mut service = self.place.start()?;
        let done = thread::scope(|scope| {
            for _ in 0..plan.runs {
                scope.spawn(|| self.client());
            }
            let done = self.restarts(&mut service, plan);
            self.over.store(true, Ordering::Relaxed);
            done
        });
        self.check()?;
        done?;
        self.given_up(&mut service)?;
        service.lives()?;
        self.judge()?;
        service.end()?;
        // Nothing half-written, and each fold is the same piece by piece.
        look::all(&self.place.log())?;
        let counts = std::mem::take(&mut *self.counts());
        Ok(RestartReport { at_once: plan.runs, runs: counts.runs.len() as u64, ..counts.report })
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first fault of a client, if there is one.
    fn check(&self) -> Result<(), String> {
        self.counts().fault.clone().map_or(Ok(()), Err)
    }

    fn restarts(&self, service: &mut Service<'p>, plan: RestartPlan) -> Result<(), String> {
        let (mut chance, mut quick) = (Chance::new(plan.seed), 0);
        for round in 0..plan.kills + plan.terms {
            self.check()?;
            // A model call that is lost five times in a row is left to a person.
            let must_rest = quick >= QUICK;
            if must_rest || chance.below(2) == 0 {
                quick = 0;
                self.wait_until_taken_up(service)?;
                thread::sleep(Duration::from_millis(chance.below(200)));
            } else {
                quick += 1;
                thread::sleep(Duration::from_millis(chance.below(LATEST_MS)));
            }
            service.lives()?;
            let is_term = plan.terms > 0
                && round % (plan.kills / plan.terms + 1) == 0
                && self.counts().report.terms < plan.terms;
            let fresh = if is_term { self.term(service)? } else { self.kill(service)? };
            *service = fresh;
        }
        self.wait_until_taken_up(service)
    }

    fn kill(&self, service: &mut Service<'p>) -> Result<Service<'p>, String> {
        service.kill()?;
        self.counts().report.kills += 1;
        self.place.start()
    }

    /// It ends well, within its grace.
    fn term(&self, service: &mut Service<'p>) -> Result<Service<'p>, String> {
        let (status, took) = service.end()?;
        if !status.success() || took > Duration::from_millis(GRACE_MS) + ENDING {
            return Err(format!(
                "after SIGTERM it ended with {status} in {took:?}: {}",
                self.place.log_end()
            ));
        }
        let mut counts = self.counts();
        counts.report.terms += 1;
        counts.report.longest_end = counts.report.longest_end.max(took);
        drop(counts);
        self.place.start()
    }

    /// Two seconds after the start each run is running here, queued, waiting or ended.
    fn wait_until_taken_up(&self, service: &Service<'_>) -> Result<(), String> {
        thread::sleep(TAKEN_UP.saturating_sub(service.since.elapsed()));
        let first = self.idle()?;
        thread::sleep(AGAIN);
        let (running, second) = self.idle()?;
        let left: Vec<&String> = second.intersection(&first.1).collect();
        if !left.is_empty() && running < self.driven && !self.are_given_up(&left)? {
            return Err(format!(
                "{:?} after the start {running} runs of at most {} are driven, and these are not: {left:?}",
                service.since.elapsed(),
                self.driven
            ));
        }
        self.counts().report.looks += 1;
        Ok(())
    }

    /// Number of runs that are driven, and those that are neither driven nor waiting nor ended.
    fn idle(&self) -> Result<(usize, BTreeSet<String>), String> {
        let mut running = 0;
        let mut idle = BTreeSet::new();
        for line in self.place.runs("&status=running")? {
            let run = line.get("run").and_then(Value::as_str).unwrap_or_default();
            if line.get("holder").is_some_and(|holder| !holder.is_null()) {
                running += 1;
            } else {
                idle.insert(run.to_owned());
            }
        }
        Ok((running, idle))
    }

    /// Whether these have lost too many model calls: they are left to a person.
    fn are_given_up(&self, runs: &[&String]) -> Result<bool, String> {
        for run in runs {
            if !self.is_given_up(run)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_given_up(&self, run: &str) -> Result<bool, String> {
        let read = self.place.ask(Request::get(format!("/v1/runs/{run}")))?.expect(&[200])?;
        Ok(read.get("given_up_after").is_some_and(|lost| !lost.is_null()))
    }

    /// A run whose model call is lost again and again is left to a person, is seen to be so, and is taken up by `resume`.
    fn given_up(&self, service: &mut Service<'p>) -> Result<(), String> {
        let input = format!("Please pay, part {}", self.next.fetch_add(1, Ordering::Relaxed));
        let run = self.place.begin(agents::COURIER, &input, None)?;
        self.counts().runs.insert(run.clone());
        for _ in 0..KILLED {
            thread::sleep(WITHIN_REPLY);
            if self.is_given_up(&run)? {
                break;
            }
            *service = self.kill(service)?;
        }
        if !self.is_given_up(&run)? {
            return Err(format!(
                "the run {run} was killed {KILLED} times within its reply, and is not seen to be given up"
            ));
        }
        self.place.ask(Request::post(format!("/v1/runs/{run}/resume"), &json!({})))?.expect(&[200])?;
        self.counts().report.by_hand += 1;
        self.follow(&run).map(drop)
    }

    /// Starts runs and follows each to its end, until the campaign is over.
    fn client(&self) {
        while !self.over.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if let Err(fault) = self.one(number) {
                self.counts().fault.get_or_insert(fault);
                return;
            }
        }
    }

    fn one(&self, number: u64) -> Result<(), String> {
        let body = json!({ "agent": agents::COURIER, "input": format!("Please pay, part {number}") });
        let request = || Request::post("/v1/runs", &body).key(&format!("restart-{number}"));
        let begun = Instant::now();
        let started = loop {
            // The server may be away.
            match self.place.ask(request()) {
                Ok(reply) if reply.status != 503 => break reply.expect(&[200, 201, 202])?,
                _ if begun.elapsed() > STUCK => return Err(format!("no reply to a start for {STUCK:?}")),
                _ => thread::sleep(Duration::from_millis(20)),
            }
        };
        let run = run_of(&started)?;
        self.counts().runs.insert(run.clone());
        let seen = self.follow(&run).map_err(|error| format!("the reader of {run}: {error}"))?;
        let stored = loop {
            if let Ok(events) = self.place.events(&run) {
                break events;
            }
            thread::sleep(Duration::from_millis(20));
        };
        let differs = difference(&plain(&stored), &plain(&seen.events));
        differs.map_or(Ok(()), |difference| {
            Err(format!("what was seen of {run} differs from its log: {difference}"))
        })?;
        let text = seen
            .events
            .last()
            .and_then(|event| event.pointer("/data/text"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        if text != agents::REPORT.text() {
            return Err(format!("the run {run} has answered {text:?}"));
        }
        let mut counts = self.counts();
        counts.report.pieces += seen.pieces;
        counts.report.voids += seen.voids;
        Ok(())
    }

    fn follow(&self, run: &str) -> Result<Seen, String> {
        let (mut seen, mut since) = (Seen::default(), Instant::now());
        while !seen.is_finished() {
            let before = seen.position.clone();
            seen.end = None;
            let stream = Stream::open(self.place.address(), &self.place.token, run, before.as_deref());
            match stream.and_then(|stream| stream.patient_for(SILENCE)) {
                Ok(mut stream) => {
                    let was_cut = seen.read(&mut stream)?;
                    let mut counts = self.counts();
                    counts.report.cuts += u64::from(was_cut);
                    counts.report.announced += u64::from(seen.end.as_deref() == Some("restarting"));
                }
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
            if seen.position != before {
                since = Instant::now();
            }
            if since.elapsed() > LOOK {
                // The server may be away, or just about to see it: the next look comes soon.
                self.look_at(run);
            }
            if since.elapsed() > STUCK {
                let reply = self.place.ask(Request::get(format!("/v1/runs/{run}")))?;
                return Err(format!(
                    "nothing new for {STUCK:?} behind {:?}: {}",
                    seen.position,
                    reply.text()
                ));
            }
        }
        Ok(seen)
    }

    /// Resumes a run that was given up.
    fn look_at(&self, run: &str) {
        if !self.is_given_up(run).unwrap_or(false) {
            return;
        }
        let resumed = self.place.ask(Request::post(format!("/v1/runs/{run}/resume"), &json!({})));
        if resumed.is_ok_and(|reply| reply.status < 300) {
            self.counts().report.by_hand += 1;
        }
    }

    /// Each run is answered, and has had one effect.
    fn judge(&self) -> Result<(), String> {
        let runs = self.counts().runs.clone();
        let mut paid: BTreeMap<String, u32> = BTreeMap::new();
        for receipt in self.place.receipts()? {
            *paid.entry(receipt.run).or_default() += 1;
        }
        let listed = self.place.runs("")?;
        if listed.len() != runs.len() {
            return Err(format!("{} runs were begun, {} are there", runs.len(), listed.len()));
        }
        for line in listed {
            let run = line.get("run").and_then(Value::as_str).unwrap_or_default();
            let status = line.get("status").and_then(Value::as_str).unwrap_or_default();
            if !runs.contains(run) || status != "answered" || paid.get(run) != Some(&1) {
                return Err(format!("the run {run} is {status}, its effects: {:?}", paid.get(run)));
            }
        }
        Ok(())
    }
}
