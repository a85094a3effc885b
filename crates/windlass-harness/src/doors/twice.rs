//! A request that is sent twice is done once: equal requests at the same moment, and requests that are repeated because the server
//! was killed between admission and reply.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agents;
use super::http::{Reply, Request};
use super::service::{Place, Service, run_of};
use crate::chance::Chance;
use crate::error::HarnessError;
use crate::ground::Ground;

/// Number of equal requests at once.
const EQUAL: usize = 64;
/// Number of requests with keys of their own that are on their way when the server is killed.
const ON_THEIR_WAY: usize = 4;
/// The latest kill, as a multiple of the time that a reply takes.
const LATEST: u32 = 2;

/// How often.
#[derive(Clone, Copy, Debug)]
pub(super) struct TwicePlan {
    /// Rounds of equal requests at once.
    pub(super) rounds: u32,
    /// Kills.
    pub(super) kills: u32,
    pub(super) seed: u64,
}

/// The outcome of repeats.
#[derive(Clone, Debug, Default)]
pub(super) struct TwiceReport {
    /// Rounds of 64 equal requests.
    rounds: u32,
    /// Kills between admission and reply.
    kills: u32,
    /// Requests that were on their way then.
    on_their_way: u64,
    /// Of those, requests that had a reply before the kill.
    answered: u64,
    /// Others whose run was there.
    admitted: u64,
    /// The rest: they began with the repeat.
    begun_by_repeat: u64,
    /// Refused reuses of a key for another body.
    reused: u64,
    /// Repeats of answers, steers, cancels and forks.
    verbs: u64,
}

impl fmt::Display for TwiceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rounds of {EQUAL} equal POSTs at once, one run each and {EQUAL} replies that name it; {} kills with {} POSTs on \
             their way ({} answered before, {} admitted without a reply, {} begun by their repeat): one run and one effect each; \
             {} keys with another body: 409; {} other verbs sent twice: done once",
            self.rounds,
            self.kills,
            self.on_their_way,
            self.answered,
            self.admitted,
            self.begun_by_repeat,
            self.reused,
            self.verbs
        )
    }
}

/// Plays.
pub(super) fn play(ground: &Ground, plan: TwicePlan) -> Result<TwiceReport, HarnessError> {
    let place = Place::new(ground, "twice", &json!({ "limits": { "waiting": 100_000, "at_once": 128 } }))?;
    let played = Twice {
        place: &place,
        report: TwiceReport::default(),
        next: 0,
        begun: BTreeMap::new(),
        fork: String::new(),
    }
    .play(plan);
    played.map_err(|breach| place.broken("sent twice", breach))
}

struct Twice<'p> {
    place: &'p Place,
    report: TwiceReport,
    /// The number of the last key.
    next: u32,
    /// The run of each key's number.
    begun: BTreeMap<u32, String>,
    /// A run that continues from an event of one of these.
    fork: String,
}

fn key(number: u32) -> String {
    format!("key-{number}")
}

/// The start of the run with that number: all starts of a number are the same.
fn start(number: u32) -> Request {
    let body = json!({ "agent": agents::CLERK, "input": format!("Please pay, part {number}") });
    Request::post("/v1/runs", &body).key(&key(number))
}

fn fate(started: &Value) -> &str {
    started.get("fate").and_then(Value::as_str).unwrap_or_default()
}

impl Twice<'_> {
    fn play(mut self, plan: TwicePlan) -> Result<TwiceReport, String> {
        let mut service = self.place.start()?;
        let mut took = Duration::from_millis(20);
        for _ in 0..plan.rounds {
            took = self.at_once()?;
        }
        self.other_verbs()?;
        let mut chance = Chance::new(plan.seed);
        for _ in 0..plan.kills {
            service = self.killed(service, took, &mut chance)?;
        }
        service.lives()?;
        self.judge()?;
        Ok(self.report)
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// Equal requests at once. Gives the time that the last reply took.
    fn at_once(&mut self) -> Result<Duration, String> {
        let number = self.number();
        let (together, place) = (Barrier::new(EQUAL), self.place);
        let begun = Instant::now();
        let replies: Vec<Result<Reply, String>> = thread::scope(|scope| {
            let send = || {
                together.wait();
                place.ask(start(number))
            };
            let senders: Vec<_> = (0..EQUAL).map(|_| scope.spawn(send)).collect();
            senders
                .into_iter()
                .map(|sender| sender.join().unwrap_or_else(|_| Err("a sender panicked".to_owned())))
                .collect()
        });
        let took = begun.elapsed();
        let (mut runs, mut fates) = (BTreeSet::new(), BTreeMap::<String, usize>::new());
        for reply in replies {
            let started = reply?.expect(&[200, 201, 202])?;
            runs.insert(run_of(&started)?);
            *fates.entry(fate(&started).to_owned()).or_default() += 1;
        }
        let run = runs.first().cloned().unwrap_or_default();
        if runs.len() != 1 || fates.get("started") != Some(&1) || fates.get("repeated") != Some(&(EQUAL - 1))
        {
            return Err(format!("{EQUAL} equal requests: runs {runs:?}, fates {fates:?}"));
        }
        self.begun.insert(number, run);
        self.report.rounds += 1;
        self.reused(number)?;
        Ok(took / (EQUAL as u32))
    }

    /// The key of a request with another body.
    fn reused(&mut self, number: u32) -> Result<(), String> {
        let bodies = [
            json!({ "agent": agents::CLERK, "input": "Please pay, part 0" }),
            json!({ "agent": agents::PARROT, "input": format!("Please pay, part {number}") }),
            json!({ "agent": agents::CLERK, "input": format!("Please pay, part {number}"), "session": "other" }),
            json!({ "agent": agents::CLERK, "input": format!("Please pay, part {number}"), "only_tools": [] }),
        ];
        for body in bodies {
            let reply = self.place.ask(Request::post("/v1/runs", &body).key(&key(number)))?;
            if reply.status != 409 {
                return Err(format!(
                    "another body under a key that was used ({body}): expected 409, got {}",
                    reply.text()
                ));
            }
            self.report.reused += 1;
        }
        // Another owner's key is another key.
        let eve = self.place.token_of("eve", &[], &[])?;
        let started = start(number).token(&eve).send(self.place.address())?.expect(&[200, 201, 202])?;
        if fate(&started) != "started" {
            return Err(format!("a key of another owner is taken for one's own: {started}"));
        }
        Ok(())
    }

    /// Kills the server while requests are on their way, starts it anew, and repeats them.
    fn killed<'s>(
        &mut self,
        mut service: Service<'s>,
        took: Duration,
        chance: &mut Chance,
    ) -> Result<Service<'s>, String>
    where
        Self: 's,
    {
        let numbers: Vec<u32> = (0..ON_THEIR_WAY).map(|_| self.number()).collect();
        let latest = (took * LATEST * ON_THEIR_WAY as u32).max(Duration::from_millis(4));
        let after = Duration::from_micros(chance.below(latest.as_micros() as u64));
        let (together, place) = (Barrier::new(numbers.len() + 1), self.place);
        let (first, died) = thread::scope(|scope| {
            let send = |number: u32| {
                let together = &together;
                scope.spawn(move || {
                    together.wait();
                    // It was killed: what came is all that there is.
                    place.ask(start(number)).ok()
                })
            };
            let senders: Vec<_> = numbers.iter().map(|number| send(*number)).collect();
            together.wait();
            thread::sleep(after);
            let died = service.kill();
            (senders.into_iter().map(|sender| sender.join().ok().flatten()).collect::<Vec<_>>(), died)
        });
        died?;
        let service = self.place.start()?;
        for (number, first) in numbers.into_iter().zip(first) {
            let repeat = self.place.ask(start(number))?.expect(&[200, 201, 202])?;
            let run = run_of(&repeat)?;
            let is_repeat = fate(&repeat) == "repeated";
            match first {
                Some(reply) => {
                    let before = run_of(&reply.expect(&[200, 201, 202])?)?;
                    if before != run || !is_repeat {
                        return Err(format!("{} was {before}, after the kill it is {repeat}", key(number)));
                    }
                    self.report.answered += 1;
                }
                None if is_repeat => self.report.admitted += 1,
                None => self.report.begun_by_repeat += 1,
            }
            self.report.on_their_way += 1;
            self.begun.insert(number, run);
        }
        self.report.kills += 1;
        Ok(service)
    }

    /// The other verbs with a key.
    fn other_verbs(&mut self) -> Result<(), String> {
        let number = self.number();
        let run = self.place.begin(agents::ASKER, &format!("Please pay, part {number}"), None)?;
        let read = || self.place.ask(Request::get(format!("/v1/runs/{run}")))?.expect(&[200]);
        let begun = Instant::now();
        let question = loop {
            let read = read()?;
            let part = |name: &str| {
                read.pointer(&format!("/questions/0/{name}")).and_then(Value::as_str).map(str::to_owned)
            };
            if let (Some(id), Some(digest)) = (part("id"), part("digest")) {
                break format!("{id}@{digest}");
            }
            if begun.elapsed() > Duration::from_secs(30) {
                return Err(format!("the run asks nothing: {read}"));
            }
            thread::sleep(Duration::from_millis(5));
        };
        let answer = json!({ "question": question, "answer": "approve" });
        self.verb(
            &run,
            "answer",
            &answer,
            &json!({ "question": question, "answer": { "deny": { "reason": "no" } } }),
        )?;
        self.place.ended(&run)?;
        self.begun.insert(number, run.clone());
        let fork = run_of(&self.verb(&run, "fork", &json!({ "at": 1 }), &json!({ "at": 2 }))?)?;
        self.verb(&fork, "steer", &json!({ "message": "hurry" }), &json!({ "message": "wait" }))?;
        self.verb(&fork, "pause", &json!({}), &json!({ "reason": "other" }))?;
        self.verb(&fork, "cancel", &json!({}), &json!({ "reason": "other" }))?;
        let status = self.place.ended(&fork)?;
        let events = self.place.events(&fork)?;
        let steered = events.iter().filter(|event| event.to_string().contains("hurry")).count();
        if status != "cancelled" || steered > 1 {
            return Err(format!(
                "a fork that was steered and cancelled twice is {status}, the message came {steered} times"
            ));
        }
        self.fork = fork;
        Ok(())
    }

    /// A verb twice under a key, and another one under that key.
    fn verb(&mut self, run: &str, verb: &str, body: &Value, other: &Value) -> Result<Value, String> {
        let request = |body: &Value| {
            Request::post(format!("/v1/runs/{run}/{verb}"), body).key(&format!("{verb}-{run}"))
        };
        let first = self
            .place
            .ask(request(body))?
            .expect(&[200, 201, 202])
            .map_err(|error| format!("{verb}: {error}"))?;
        let again = self
            .place
            .ask(request(body))?
            .expect(&[200, 201, 202])
            .map_err(|error| format!("{verb} again: {error}"))?;
        if again.get("run") != first.get("run") {
            return Err(format!("{verb} twice: {first}, then {again}"));
        }
        let other = self.place.ask(request(other))?;
        if other.status != 409 {
            return Err(format!(
                "{verb} with another body under its key: expected 409, got {}",
                other.text()
            ));
        }
        self.report.verbs += 1;
        Ok(first)
    }

    /// One run and one effect for each key.
    fn judge(&self) -> Result<(), String> {
        for run in self.begun.values() {
            let status = self.place.ended(run)?;
            if status != "answered" {
                return Err(format!("the run {run} ended as {status}"));
            }
        }
        let mut paid: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
        let mut lines: BTreeMap<(u32, String), usize> = BTreeMap::new();
        for receipt in self.place.receipts()? {
            *lines.entry((receipt.n, receipt.run.clone())).or_default() += 1;
            paid.entry(receipt.n).or_default().insert(receipt.run);
        }
        if let Some((effect, count)) = lines.iter().find(|(_, count)| **count > 1) {
            return Err(format!("an effect was had {count} times: {effect:?}"));
        }
        for (number, run) in &self.begun {
            if !paid.get(number).is_some_and(|runs| runs.contains(run)) {
                return Err(format!("the run {run} of {} has no effect", key(*number)));
            }
        }
        let runs = self.place.runs("&owner=local")?;
        let own = runs.iter().filter(|run| run.get("run").and_then(Value::as_str) != Some(&self.fork));
        let titles: Vec<&str> = own.filter_map(|run| run.get("title")?.as_str()).collect();
        for number in self.begun.keys() {
            let title = format!("Please pay, part {number}");
            let count = titles.iter().filter(|found| **found == title).count();
            if count != 1 {
                return Err(format!("{count} runs of {}", key(*number)));
            }
        }
        Ok(())
    }
}
