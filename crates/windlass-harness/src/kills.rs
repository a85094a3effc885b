//! Kill -9 at random times.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use windlass_testing::{Moment, run_and_kill};

use crate::chance::Chance;
use crate::error::HarnessError;
use crate::ground::Ground;
use crate::home::{Home, Step};
use crate::life::{Ending, Life, Lived, PATIENCE, Story, reference};
use crate::scene::Scene;

/// Number of concurrent runs.
const SIDE_BY_SIDE: usize = 2;
/// Time of the latest kill, in percent of the duration of an undisturbed process.
const LATEST_PERCENT: u64 = 110;
/// By how much later the latest kill comes with each process of a run, in percent: on a machine that has become busy
/// since, a run must come to its end too.
const LATER_PERCENT: u64 = 5;
/// After how many kills a word is said about how far it has come.
const WORD_EVERY: u64 = 1_000;

/// Number of kills, and the seed.
#[derive(Clone, Copy, Debug)]
pub struct KillPlan {
    /// Stop after so many kills.
    pub count: u64,
    /// Stop after that time.
    pub time: Option<Duration>,
    /// Seed for the times.
    pub seed: u64,
}

/// Result of the kills.
#[derive(Clone, Debug, Default)]
pub struct KillReport {
    /// Number of runs driven to their end.
    pub runs: u64,
    /// Number of processes that they took.
    pub processes: u64,
    /// Number of processes killed.
    pub kills: u64,
    /// Number of runs with a doubt that a person was asked about.
    pub doubts: u64,
    /// The last durable event at each kill, and how often it was that.
    pub killed_after: BTreeMap<&'static str, u64>,
    /// Duration.
    pub took: Duration,
}

impl KillReport {
    fn add(&mut self, story: &Story) {
        self.runs += 1;
        self.processes += u64::from(story.processes);
        self.kills += u64::from(story.kills);
        self.doubts += u64::from(story.asked.contains("outcome"));
        for (kind, count) in &story.killed_after {
            *self.killed_after.entry(kind).or_insert(0) += count;
        }
    }
}

impl fmt::Display for KillReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} kills of {} processes in {:.0} s; {} runs, all with the same end; {} with a doubt that was asked",
            self.kills,
            self.processes,
            self.took.as_secs_f64(),
            self.runs,
            self.doubts
        )?;
        writeln!(f, "last durable event at the kill:")?;
        for (kind, count) in &self.killed_after {
            writeln!(f, "  {count:>6}  {kind}")?;
        }
        Ok(())
    }
}

/// A scene, how it ends, and how long its first process takes undisturbed.
struct Part {
    scene: Scene,
    ending: Ending,
    longest: Duration,
}

/// Kills processes until the plan is fulfilled; drives every run to its end.
///
/// # Errors
/// A promise was broken.
#[expect(clippy::print_stderr, reason = "hours of kills say how far they are")]
pub fn kills(ground: &Ground, plan: KillPlan) -> Result<KillReport, HarnessError> {
    let begun = Instant::now();
    let scenes = [Scene::Family, Scene::Tools, Scene::Family, Scene::Approval];
    let parts = scenes.map(|scene| part(ground, scene)).into_iter().collect::<Result<Vec<_>, _>>()?;
    let (stop, number) = (AtomicBool::new(false), AtomicU64::new(0));
    let (report, fault) = (Mutex::new(KillReport::default()), Mutex::new(None));
    let work = || {
        while !stop.load(Ordering::SeqCst) {
            let number = number.fetch_add(1, Ordering::SeqCst);
            let Some(part) = parts.get((number % scenes.len() as u64) as usize) else { return };
            match one(ground, part, plan.seed.wrapping_add(number), number) {
                Ok(story) => {
                    let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
                    let words = report.kills / WORD_EVERY;
                    report.add(&story);
                    if report.kills / WORD_EVERY > words {
                        eprintln!("{} kills, {:.0} s", report.kills, begun.elapsed().as_secs_f64());
                    }
                    let over = plan.time.is_some_and(|time| begun.elapsed() >= time);
                    if report.kills >= plan.count || over {
                        stop.store(true, Ordering::SeqCst);
                    }
                }
                Err(error) => {
                    stop.store(true, Ordering::SeqCst);
                    *fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(work);
        }
    });
    if let Some(error) = fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.took = begun.elapsed();
    Ok(report)
}

fn part(ground: &Ground, scene: Scene) -> Result<Part, HarnessError> {
    // Once to warm up, once to see how long it takes with its neighbours quiet.
    reference(ground, scene)?;
    let begun = Instant::now();
    let ending = reference(ground, scene)?;
    Ok(Part { scene, ending, longest: begun.elapsed() })
}

fn one(ground: &Ground, part: &Part, seed: u64, number: u64) -> Result<Story, HarnessError> {
    let home = Home::new(ground, part.scene, &format!("kills-{number}"))?;
    let mut chance = Chance::new(seed);
    let mut percent = LATEST_PERCENT;
    let mut fate = |home: &Home, step: &Step| -> io::Result<Lived> {
        let latest = part.longest.as_micros() as u64 * percent / 100;
        percent += LATER_PERCENT;
        let moment = Moment::After(Duration::from_micros(chance.below(latest)));
        let end = run_and_kill(&mut home.command(step, &[]), moment, PATIENCE)?;
        Ok(Lived { end, troubled: false })
    };
    let story = Life::of(&home).play_to(&part.ending, &mut fate)?;
    home.settle()?;
    home.remove()?;
    Ok(story)
}
