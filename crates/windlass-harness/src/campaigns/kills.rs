//! Kill -9 at random times: of the one process of a run, of two supervisors at once, of simultaneous starts in one session.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::moments::Moments;
use super::{starts, supervisors};
use crate::error::HarnessError;
use crate::ground::Ground;
use crate::home::{Home, Step};
use crate::life::{Ending, Life, Story, reference};
use crate::scene::{Scene, WhileRunning};

/// Number of concurrent runs.
const SIDE_BY_SIDE: usize = 2;
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
    /// Number of runs, or sessions, driven to their end.
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

/// The processes of a life.
#[derive(Clone, Copy, Debug)]
enum Cast {
    /// One at a time.
    Alone,
    /// Two supervisors at once.
    Supervised,
    /// Several at once, each with a message to one session.
    Starts(WhileRunning),
}

/// A scene, its processes, how it ends, and how long its first process takes undisturbed.
struct Part {
    cast: Cast,
    scene: Scene,
    ending: Ending,
    longest: Duration,
}

/// A life of each kind in turn.
const LIVES: [(Cast, Scene); 12] = {
    use WhileRunning::{Interrupt, Queue, Refuse, Steer};
    const fn starts(policy: WhileRunning) -> (Cast, Scene) {
        (Cast::Starts(policy), Scene::Session(policy))
    }
    [
        (Cast::Alone, Scene::Family),
        (Cast::Alone, Scene::Tools),
        starts(Queue),
        (Cast::Alone, Scene::Approval),
        (Cast::Supervised, Scene::Family),
        starts(Steer),
        (Cast::Alone, Scene::Family),
        (Cast::Alone, Scene::Tools),
        starts(Refuse),
        (Cast::Alone, Scene::Family),
        (Cast::Supervised, Scene::Tools),
        starts(Interrupt),
    ]
};

/// Kills processes until the plan is fulfilled; drives every run to its end.
///
/// # Errors
/// A promise was broken.
#[expect(clippy::print_stderr, reason = "hours of kills say how far they are")]
pub fn kills(ground: &Ground, plan: KillPlan) -> Result<KillReport, HarnessError> {
    let begun = Instant::now();
    let parts = parts(ground)?;
    let (stop, number) = (AtomicBool::new(false), AtomicU64::new(0));
    let (report, fault) = (Mutex::new(KillReport::default()), Mutex::new(None));
    let work = || {
        while !stop.load(Ordering::SeqCst) {
            let number = number.fetch_add(1, Ordering::SeqCst);
            let Some(part) = parts.get((number % parts.len() as u64) as usize) else { return };
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

/// The part of each life, which is played once to warm up, and once to see how long it takes with its neighbours quiet.
fn parts(ground: &Ground) -> Result<Vec<Part>, HarnessError> {
    let mut known: BTreeMap<Scene, (Ending, Duration)> = BTreeMap::new();
    for (_, scene) in LIVES {
        if let Entry::Vacant(unknown) = known.entry(scene) {
            reference(ground, scene)?;
            let begun = Instant::now();
            let ending = reference(ground, scene)?;
            unknown.insert((ending, begun.elapsed()));
        }
    }
    let part = |(cast, scene): (Cast, Scene)| {
        let (ending, longest) = known.get(&scene)?.clone();
        Some(Part { cast, scene, ending, longest })
    };
    Ok(LIVES.into_iter().filter_map(part).collect())
}

fn one(ground: &Ground, part: &Part, seed: u64, number: u64) -> Result<Story, HarnessError> {
    let home = Home::new(ground, part.scene, &format!("kills-{number}"))?;
    let mut moments = Moments::new(seed, part.longest);
    let story = match part.cast {
        Cast::Alone => {
            let mut fate = |home: &Home, step: &Step| moments.live(home, step);
            Life::of(&home).play_to(&part.ending, &mut fate)?
        }
        Cast::Supervised => supervisors::play(&home, &part.ending, moments)?,
        Cast::Starts(policy) => starts::play(&home, policy, moments)?,
    };
    home.settle()?;
    home.remove()?;
    Ok(story)
}
