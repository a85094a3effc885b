//! Readers that never read, and a soak: the memory of the server stays flat, and no descriptor leaks.

use std::fmt;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::agents;
use super::http::{Connection, Request};
use super::reader::{Seen, Stream};
use super::service::{Place, Service};
use crate::error::HarnessError;
use crate::ground::Ground;

/// Runs that stream.
const RUNS: usize = 10;
/// Readers of each that never read.
const MUTE: usize = 50;
/// Time after which a reader that takes nothing is cut, in milliseconds.
const SEND_MS: u64 = 10_000;
/// Interval between two looks at the process.
const LOOK: Duration = Duration::from_secs(1);
/// Interval between two runs of the clients that come and go.
const COME_AND_GO: Duration = Duration::from_millis(50);
/// By how much the mean of memory may grow from the second third to the last one: a tenth, and this many KiB.
const SLACK_KIB: u64 = 4 << 10;
/// Memory that is never passed, in KiB: a server that kept for its readers all that they do not read would need a gigabyte.
const MOST_KIB: u64 = 256 << 10;
/// Descriptors that may be more than before: files of the log that are opened when they are needed.
const SLACK_DESCRIPTORS: usize = 8;
/// Time within which all descriptors of clients that are gone are closed, and those of connections to the model, which idle for a while.
const CLOSED: Duration = Duration::from_secs(90);
/// The receive buffer of a reader that never reads, in bytes.
const BUFFER: usize = 4 << 10;

/// The measures of a soak.
#[derive(Clone, Debug, Default)]
pub(super) struct SlowReport {
    /// Duration.
    time: Duration,
    /// Memory at the start, in KiB.
    before_kib: u64,
    memory: Memory,
    /// Descriptors before, the most, and afterwards.
    descriptors: [usize; 3],
    /// Connections of readers that never read.
    mute: u64,
    /// Runs that were streamed.
    runs: u64,
    /// Runs of clients that came and went.
    short_runs: u64,
    /// Pieces that the readers saw that do read.
    pieces: u64,
}

impl fmt::Display for SlowReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Memory { middle, last, most: peak } = self.memory;
        let [before, most, after] = self.descriptors;
        write!(
            f,
            "{} s with {} readers at once that never read ({} connections) of {RUNS} runs that stream ({} runs, {} pieces seen by their \
             good readers, in order), and {} runs of clients that come and go: memory {} KiB at the start, {middle} KiB in the mean \
             of the second third and {last} KiB in that of the last one, at most {peak} KiB; {before} descriptors before, at most {most}, \
             {after} afterwards",
            self.time.as_secs(),
            RUNS * MUTE,
            self.mute,
            self.runs,
            self.pieces,
            self.short_runs,
            self.before_kib,
        )
    }
}

/// Looks at the memory of a process, in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Memory {
    /// The mean of the second third of the time.
    middle: u64,
    /// The mean of the last third.
    last: u64,
    /// The most.
    most: u64,
}

impl Memory {
    /// Of looks at equal intervals. The mean counts, since runs that end at the same moment take a third more for as short a time as a
    /// look may see or miss.
    ///
    /// # Errors
    /// Memory grows, or is more than it may ever be.
    fn of(looks: &[u64]) -> Result<Self, String> {
        let third = looks.len() / 3;
        let (_, rest) = looks.split_at(third);
        let (middle, last) = rest.split_at(third);
        let mean = |looks: &[u64]| looks.iter().sum::<u64>() / (looks.len() as u64).max(1);
        let memory = Self {
            middle: mean(middle),
            last: mean(last),
            most: looks.iter().copied().max().unwrap_or_default(),
        };
        let Self { middle, last, most } = memory;
        if last > middle + middle / 10 + SLACK_KIB {
            return Err(format!(
                "memory grows: {middle} KiB in the mean of the second third, {last} KiB in that of the last one"
            ));
        }
        if most > MOST_KIB {
            return Err(format!("memory: {most} KiB at a time, at most {MOST_KIB} KiB are expected"));
        }
        Ok(memory)
    }
}

/// Plays for a time.
pub(super) fn play(ground: &Ground, time: Duration) -> Result<SlowReport, HarnessError> {
    let settings =
        json!({ "requests": { "send_ms": SEND_MS }, "limits": { "waiting": 100_000, "at_once": 128 } });
    let place = Place::new(ground, "slow", &settings)?;
    let soak = Soak {
        place: &place,
        over: AtomicBool::new(false),
        mute: AtomicU64::new(0),
        runs: AtomicU64::new(0),
        short_runs: AtomicU64::new(0),
        pieces: AtomicU64::new(0),
        fault: Mutex::new(None),
    };
    soak.play(time).map_err(|breach| place.broken("slow readers", breach))
}

struct Soak<'p> {
    place: &'p Place,
    over: AtomicBool,
    mute: AtomicU64,
    runs: AtomicU64,
    short_runs: AtomicU64,
    pieces: AtomicU64,
    fault: Mutex<Option<String>>,
}

impl Soak<'_> {
    fn play(&self, time: Duration) -> Result<SlowReport, String> {
        let mut service = self.place.start()?;
        for _ in 0..RUNS {
            self.come_and_go()?;
        }
        let (before_kib, before) = (service.memory()?, service.descriptors()?);
        let mut looks = Vec::new();
        let mut most = before;
        let begun = Instant::now();
        thread::scope(|scope| -> Result<(), String> {
            for _ in 0..RUNS {
                scope.spawn(|| self.until_over(|| self.lecture()));
            }
            scope.spawn(|| self.until_over(|| self.come_and_go()));
            let watched = (|| {
                while begun.elapsed() < time && !self.over.load(Ordering::Relaxed) {
                    thread::sleep(LOOK);
                    looks.push(service.memory()?);
                    most = most.max(service.descriptors()?);
                }
                Ok(())
            })();
            self.over.store(true, Ordering::Relaxed);
            watched
        })?;
        if let Some(fault) = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(fault);
        }
        service.lives()?;
        let after = closed(&service, before)?;
        Ok(SlowReport {
            time: begun.elapsed(),
            before_kib,
            memory: Memory::of(&looks)?,
            descriptors: [before, most, after],
            mute: self.mute.load(Ordering::Relaxed),
            runs: self.runs.load(Ordering::Relaxed),
            short_runs: self.short_runs.load(Ordering::Relaxed),
            pieces: self.pieces.load(Ordering::Relaxed),
        })
    }

    fn until_over(&self, work: impl Fn() -> Result<(), String>) {
        while !self.over.load(Ordering::Relaxed) {
            if let Err(fault) = work() {
                self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
                self.over.store(true, Ordering::Relaxed);
            }
        }
    }

    /// A run that speaks for long: many never read what it says, one reads all.
    fn lecture(&self) -> Result<(), String> {
        let run = self.place.begin(agents::SPEAKER, "Speak.", None)?;
        let mut mute = Vec::new();
        for _ in 0..MUTE {
            mute.push(self.never_reads(&run)?);
        }
        self.mute.fetch_add(mute.len() as u64, Ordering::Relaxed);
        let mut seen = Seen::default();
        let begun = Instant::now();
        let mut stream = Stream::open(self.place.address(), &self.place.token, &run, None)?;
        if seen.read(&mut stream)? || !seen.is_finished() {
            return Err(format!(
                "the good reader of {run} was cut after {:?}, {} pieces and {} bytes: {:?}, {:?}",
                begun.elapsed(),
                seen.pieces,
                stream.read,
                seen.cut,
                seen.end
            ));
        }
        self.pieces.fetch_add(seen.pieces, Ordering::Relaxed);
        self.runs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn never_reads(&self, run: &str) -> Result<Connection, String> {
        let mut connection = Connection::open(self.place.address())?;
        rustix::net::sockopt::set_socket_recv_buffer_size(&connection.socket, BUFFER)
            .map_err(|error| error.to_string())?;
        connection.send(&Request::get(format!("/v1/runs/{run}/stream")).token(&self.place.token).bytes())?;
        Ok(connection)
    }

    /// A short run whose reader leaves early, and one who stays.
    fn come_and_go(&self) -> Result<(), String> {
        let run = self.place.begin(agents::PARROT, "hello", None)?;
        let early = Stream::open(self.place.address(), &self.place.token, &run, None)?;
        early.connection.reset();
        let mut seen = Seen::default();
        seen.read(&mut Stream::open(self.place.address(), &self.place.token, &run, None)?)?;
        self.place.ask(Request::get("/v1/runs?limit=50"))?.expect(&[200])?;
        self.short_runs.fetch_add(1, Ordering::Relaxed);
        thread::sleep(COME_AND_GO);
        Ok(())
    }
}

/// Number of descriptors, once those of clients that are gone are closed.
fn closed(service: &Service<'_>, before: usize) -> Result<usize, String> {
    let begun = Instant::now();
    loop {
        let now = service.descriptors()?;
        if now <= before + SLACK_DESCRIPTORS {
            return Ok(now);
        }
        if begun.elapsed() > CLOSED {
            return Err(format!(
                "{before} descriptors before, {now} still open {CLOSED:?} after the last client has gone"
            ));
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_KIB, Memory};

    /// Looks at runs that end together each 20 s: memory rises while they speak, and by a third more for one look.
    fn rounds(seconds: u64, leak: u64, seen: impl Fn(u64) -> bool) -> Vec<u64> {
        let look = |second: u64| {
            let (round, within) = (second / 20, second % 20);
            let ends = within == 19 && seen(round);
            75_000 + 2_000 * within + if ends { 45_000 } else { 0 } + round * leak
        };
        (0..seconds).map(look).collect()
    }

    #[test]
    fn a_peak_that_only_the_last_looks_see_is_no_growth() {
        let memory = Memory::of(&rounds(120, 0, |round| round == 5)).unwrap();
        assert_eq!(memory, Memory { middle: 94_000, last: 95_125, most: 158_000 });
    }

    #[test]
    fn memory_that_each_round_leaves_behind_is_growth() {
        // 16 KiB for each of 500 readers.
        let grown = Memory::of(&rounds(120, 8_000, |_| false)).unwrap_err();
        assert_eq!(
            grown,
            "memory grows: 114000 KiB in the mean of the second third, 130000 KiB in that of the last one"
        );
        let peak = Memory::of(&[10, 10, MOST_KIB + 1, 10, 10, 10]).unwrap_err();
        assert_eq!(peak, "memory: 262145 KiB at a time, at most 262144 KiB are expected");
    }
}
