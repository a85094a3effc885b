//! The windows around the start of a tool: the moments in which its process is there, and not yet what it will be.
//!
//! `strace` holds a process up in such a moment, so that what takes microseconds lasts long enough for another process to
//! take the run over, settle the call, and come to the end. What was held up then goes on, and must do nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use windlass_testing::ProcessEnd;

use crate::error::HarnessError;
use crate::ground::Ground;
use crate::home::{Home, Step};
use crate::life::{Ending, Life, Lived, PATIENCE, reference, undisturbed};
use crate::page::Matrix;
use crate::scene::Scene;
use crate::sound;

/// Delay of a process within `execve`, in microseconds: longer than a take-over takes.
const EXEC_DELAY_US: u32 = 1_500_000;
/// Delay of each write, in microseconds: longer than a look takes.
const WRITE_DELAY_US: u32 = 100_000;
/// Interval between two looks.
const LOOK: Duration = Duration::from_micros(500);
/// Time without progress after which a process counts as delayed, and not only as starting a system call.
const STILL: Duration = Duration::from_millis(20);
/// Maximum number of tries for a missed window.
const TRIES: u32 = 5;
/// The script's beginning, by which a waiting tool's start is recognized.
pub(crate) const WAITING: &str = "IFS= read -r _ ";

/// A moment between the decision to start a tool and the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Window {
    /// The process is there, but has neither the environment of its own nor another program.
    Fork,
    /// A shell waits for the line that lets it become the tool.
    Gate,
    /// It has its line, and is about to become the tool.
    Line,
    /// As in `Fork`, but the process that starts the tool is stopped, loses the run, and wakes up.
    Lease,
}

impl Window {
    const ALL: [Self; 4] = [Self::Fork, Self::Gate, Self::Line, Self::Lease];

    fn place(self) -> &'static str {
        match self {
            Self::Fork => "between `fork` and `exec` of a tool with an effect",
            Self::Gate => "while a tool with an effect waits to be let go",
            Self::Line => "after a tool with an effect was let go, before it runs",
            Self::Lease => "before a tool with an effect runs, until another process has ended the run",
        }
    }

    fn fault(self) -> &'static str {
        if self == Self::Lease { "SIGSTOP, and the run is lost" } else { "kill -9" }
    }

    fn then(self) -> &'static str {
        if self == Self::Lease { "the process ends without starting it" } else { "the process dies" }
    }

    /// strace's options for the delay.
    fn injection(self) -> [String; 2] {
        match self {
            Self::Fork | Self::Lease => held("execve", EXEC_DELAY_US, ":when=1"),
            Self::Line => held("execve", EXEC_DELAY_US, ":when=2"),
            Self::Gate => held("write", WRITE_DELAY_US, ""),
        }
    }

    /// Whether a process that windlass has started is there now.
    fn is_open(self, windlass: &Path, child: &Process) -> bool {
        let waits = child.line.contains(WAITING);
        match self {
            Self::Fork | Self::Lease => child.exe == windlass,
            Self::Gate => waits,
            Self::Line => waits && child.stands_still(),
        }
    }
}

fn held(call: &str, delay: u32, when: &str) -> [String; 2] {
    [format!("trace={call}"), format!("inject={call}:delay_enter={delay}{when}")]
}

/// Plays all windows with each kind of tool that has an effect. Gives the matrix and how many were hit.
///
/// # Errors
/// A promise was broken, a window was never hit, or strace is not there.
pub fn windows(ground: &Ground) -> Result<(Matrix, usize), HarnessError> {
    Command::new("strace")
        .arg("-V")
        .output()
        .map_err(|source| HarnessError::NoProgram { program: "strace", source })?;
    let (mut matrix, mut hits) = (Matrix::default(), 0);
    for scene in [Scene::Pay, Scene::Send, Scene::Short] {
        let ending = reference(ground, scene)?;
        for window in Window::ALL {
            let afterwards = hit(ground, window, scene, &ending)?;
            matrix.note(window.fault(), window.place(), window.then(), afterwards);
            hits += 1;
        }
    }
    Ok((matrix, hits))
}

/// Tries until the window is hit. Says how the run went on.
fn hit(ground: &Ground, window: Window, scene: Scene, ending: &Ending) -> Result<&'static str, HarnessError> {
    for number in 0..TRIES {
        let home = Home::new(ground, scene, &format!("window-{window:?}-{}-{number}", scene.name()))?;
        let mut first = None;
        let mut fate = |home: &Home, step: &Step| {
            if *step != Step::Run {
                return undisturbed(home, step);
            }
            let (lived, held) = first_process(home, step, window, ground.windlass())?;
            first = held;
            Ok(lived)
        };
        let story = Life::of(&home).play_to(ending, &mut fate).map_err(|error| at(error, window))?;
        let was_hit = first.as_ref().is_some_and(|first| first.hit);
        if let Some(first) = first {
            woken(&home, first).map_err(|error| at(error, window))?;
        }
        home.settle()?;
        nothing_since(&home, ending).map_err(|error| at(error, window))?;
        if was_hit {
            home.remove()?;
            return Ok(if story.asked.contains("outcome") {
                "asked, then the same end"
            } else {
                "the same end"
            });
        }
        home.remove()?;
    }
    let what = format!("hit the moment {} in scene {}", window.place(), scene.name());
    Err(HarnessError::System { what, source: io::Error::other(format!("missed {TRIES} times")) })
}

/// The first process of a run, and what it left for the end.
struct First {
    strace: Child,
    windlass: Option<Pid>,
    hit: bool,
}

/// Lets the first process live until the window is open.
fn first_process(
    home: &Home,
    step: &Step,
    window: Window,
    windlass: &Path,
) -> io::Result<(Lived, Option<First>)> {
    let windlass = fs::canonicalize(windlass)?;
    let mut words: Vec<String> = ["strace", "-f", "-qq", "-o"].map(str::to_owned).into();
    words.push(home.folder().join("traced").display().to_string());
    if window != Window::Gate {
        // Its own start is not held up.
        words.extend(
            ["/bin/sh", "/usr/bin/sh"].into_iter().flat_map(|shell| ["-P".to_owned(), shell.to_owned()]),
        );
    }
    words.extend(window.injection().into_iter().flat_map(|option| ["-e".to_owned(), option]));
    let mut command = home.command(step, &words);
    let mut strace = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let begun = Instant::now();
    let mut end = ProcessEnd {
        killed: true,
        code: None,
        stdout: String::new(),
        stderr: String::new(),
        ran: Duration::ZERO,
    };
    while begun.elapsed() < PATIENCE {
        if let Some(status) = strace.try_wait()? {
            // It came to its end: the window was missed.
            (end.killed, end.code, end.ran) = (false, status.code(), begun.elapsed());
            return Ok((Lived::ended(end), None));
        }
        let Some(parent) = open(home, window, &windlass) else {
            std::thread::sleep(LOOK);
            continue;
        };
        if window == Window::Lease {
            kill_process(parent, Signal::STOP)?;
            declare_dead(home, parent)?;
        } else {
            kill_process(parent, Signal::KILL)?;
            wait_for_death(parent)?;
        }
        end.ran = begun.elapsed();
        return Ok((
            Lived { troubled: true, ..Lived::ended(end) },
            Some(First { strace, windlass: Some(parent), hit: true }),
        ));
    }
    strace.kill()?;
    Err(io::Error::new(io::ErrorKind::TimedOut, "the first process goes on and on"))
}

/// The windlass whose tool is in the window.
fn open(home: &Home, window: Window, windlass: &Path) -> Option<Pid> {
    let processes = Process::of(home);
    let child = processes.iter().find(|process| {
        let parent = processes.iter().find(|parent| parent.pid == process.parent);
        parent.is_some_and(|parent| parent.exe == windlass) && window.is_open(windlass, process)
    })?;
    Pid::from_raw(child.parent)
}

/// A signal takes its time on a busy machine, and longer with a tracer: until then the process is a living holder.
fn wait_for_death(process: Pid) -> io::Result<()> {
    let begun = Instant::now();
    while stat(process.as_raw_nonzero().get()).is_some_and(|(state, _)| !matches!(state, 'Z' | 'X')) {
        if begun.elapsed() > PATIENCE {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a killed process goes on and on"));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// A holder on another machine counts as dead once its heartbeats stop. Here its line is changed to say so.
fn declare_dead(home: &Home, holder: Pid) -> io::Result<()> {
    let log = Connection::open(home.log()).map_err(io::Error::other)?;
    log.busy_timeout(PATIENCE).map_err(io::Error::other)?;
    let pid = i64::from(holder.as_raw_nonzero().get());
    let changed =
        log.execute("UPDATE holders SET host = 'elsewhere', heartbeat_at = 0 WHERE pid = ?1", [pid]);
    match changed.map_err(io::Error::other)? {
        0 => Err(io::Error::other(format!("process {pid} has no line as a holder"))),
        // One for its leases, one more where it has stored a payload, such as its agent's files.
        _ => Ok(()),
    }
}

/// The run has come to its end: what was held up, or stopped, goes on.
fn woken(home: &Home, mut first: First) -> Result<(), HarnessError> {
    if let Some(windlass) = first.windlass {
        // It may be dead.
        let _gone = kill_process(windlass, Signal::CONT);
    }
    let begun = Instant::now();
    loop {
        let ended = first.strace.try_wait().map_err(HarnessError::system("wait for strace".to_owned()))?;
        if ended.is_some() {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            return Err(home.broken("waking up", "what was held up goes on and on".to_owned()));
        }
        std::thread::sleep(LOOK);
    }
}

/// The delayed process has changed neither the log nor the world.
fn nothing_since(home: &Home, ending: &Ending) -> Result<(), HarnessError> {
    let look = home.look()?;
    let finished =
        sound::receipts(look.as_ref(), &home.receipts()?).map_err(|breach| home.broken("woken", breach))?;
    let effects = home.effects()?;
    if effects != finished {
        let breach = format!("the effects are {effects:?}, those of finished calls {finished:?}");
        return Err(home.broken("woken", breach));
    }
    match look.as_ref().and_then(Ending::of) {
        Some(end) if end == *ending => Ok(()),
        end => Err(home.broken("woken", format!("expected {ending:?}\nfound {end:?}"))),
    }
}

fn at(error: HarnessError, window: Window) -> HarnessError {
    if let HarnessError::Broken { place, breach, kept } = error {
        let place = format!("{}, {}: {place}", window.fault(), window.place());
        HarnessError::Broken { place, breach, kept }
    } else {
        error
    }
}

/// A process of a home.
struct Process {
    pid: i32,
    parent: i32,
    exe: PathBuf,
    line: String,
}

impl Process {
    /// All that work in its folder.
    fn of(home: &Home) -> Vec<Self> {
        let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
        let numbers = processes.flatten().filter_map(|process| process.file_name().to_str()?.parse().ok());
        numbers.filter_map(|pid| Self::read(pid, home.folder())).collect()
    }

    fn read(pid: i32, folder: &Path) -> Option<Self> {
        let link = |name: &str| fs::read_link(format!("/proc/{pid}/{name}")).ok();
        if link("cwd")? != folder {
            return None;
        }
        let parent = stat(pid)?.1;
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        Some(Self { pid, parent, exe: link("exe")?, line })
    }

    /// Whether it is stopped by its tracer, now and a while later.
    fn stands_still(&self) -> bool {
        let stopped = || stat(self.pid).is_some_and(|(state, _)| state == 't');
        let still = stopped();
        if still {
            std::thread::sleep(STILL);
        }
        still && stopped()
    }
}

/// The state of a process, and its parent.
fn stat(pid: i32) -> Option<(char, i32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in field 2 may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
