//! Faults at system calls: `strace` kills the binary before the nth call on a file of the log, or lets that call fail.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use windlass_macros::Named;
use windlass_testing::{Moment, run_and_kill};

use crate::error::HarnessError;
use crate::ground::Ground;
use crate::home::{Home, Step};
use crate::life::{Ending, Life, Lived, PATIENCE, killed_half_way, reference, undisturbed};
use crate::page::Matrix;
use crate::scene::Scene;

/// Number of concurrent trials.
const SIDE_BY_SIDE: usize = 2;
/// The files that a run writes, beneath its data folder.
const FILES: [&str; 3] = ["log.db", "log.db-wal", "log.db-shm"];
/// The system calls that change them.
const CALLS: &str = "openat,write,pwrite64,fsync,fdatasync,ftruncate,fallocate,rename,unlink";
/// The system calls among them that need disk space.
const NEED_ROOM: [&str; 5] = ["openat", "write", "pwrite64", "fallocate", "rename"];

/// A fault that strace can bring about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
enum Fault {
    #[named("kill -9 before the call")]
    Kill,
    #[named("the call fails with EIO")]
    Io,
    #[named("the call fails with ENOSPC")]
    Full,
}

impl Fault {
    fn injection(self) -> &'static str {
        match self {
            Self::Kill => "signal=KILL",
            Self::Io => "error=EIO",
            Self::Full => "error=ENOSPC",
        }
    }
}

/// The process of a run that is disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
#[named(all)]
enum Phase {
    /// `windlass run`, from no log at all to the end.
    Run,
    /// `windlass runs answer`: an approval, and what it frees.
    Answer,
    /// `windlass runs resume` of a run that was killed half-way.
    Resume,
}

impl Phase {
    fn scene(self) -> Scene {
        match self {
            Self::Run | Self::Resume => Scene::Tools,
            Self::Answer => Scene::Approval,
        }
    }
}

/// A system call on a file, and how often the busiest thread makes it.
type Counts = BTreeMap<(String, String), u32>;

/// One trial: the nth call of a kind on a file in a phase.
#[derive(Clone, Debug)]
struct Trial {
    phase: Phase,
    fault: Fault,
    call: String,
    file: String,
    nth: u32,
}

/// Plays every `every`th trial: 1 is all of them. Gives the matrix and how many trials hit.
///
/// # Errors
/// A promise was broken, or strace is not there.
pub fn calls(ground: &Ground, every: usize) -> Result<(Matrix, usize), HarnessError> {
    Command::new("strace")
        .arg("-V")
        .output()
        .map_err(|source| HarnessError::NoProgram { program: "strace", source })?;
    let mut trials = Vec::new();
    let mut endings = Vec::new();
    for phase in Phase::ALL {
        trials.extend(plan(ground, phase)?);
        endings.push((phase.scene(), reference(ground, phase.scene())?));
    }
    let trials: Vec<_> = trials.into_iter().step_by(every.max(1)).collect();
    let (next, hits) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (matrix, fault) = (Mutex::new(Matrix::default()), Mutex::new(None));
    let work = || {
        while let Some((number, trial)) = take(&next, &trials) {
            let ending = endings.iter().find(|(scene, _)| *scene == trial.phase.scene());
            let Some((_, ending)) = ending else { return };
            match one(ground, trial, number, ending) {
                Ok(Some(seen)) => {
                    hits.fetch_add(1, Ordering::SeqCst);
                    matrix.lock().unwrap_or_else(PoisonError::into_inner).merge(seen);
                }
                Ok(None) => {}
                Err(error) => {
                    *fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    next.store(trials.len(), Ordering::SeqCst);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(work);
        }
    });
    match fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok((matrix.into_inner().unwrap_or_else(PoisonError::into_inner), hits.into_inner())),
    }
}

fn take<'t>(next: &AtomicUsize, trials: &'t [Trial]) -> Option<(usize, &'t Trial)> {
    let number = next.fetch_add(1, Ordering::SeqCst);
    trials.get(number).map(|trial| (number, trial))
}

/// The trials of a phase: its process is watched once to see which calls it makes.
fn plan(ground: &Ground, phase: Phase) -> Result<Vec<Trial>, HarnessError> {
    let home = Home::new(ground, phase.scene(), &format!("watched-{}", phase.name()))?;
    let mut counts = Counts::new();
    let mut watched = false;
    let mut fate = |home: &Home, step: &Step| {
        if !is_due(home, phase, step, watched) {
            return before(home, phase, step);
        }
        watched = true;
        let traced = home.folder().join("traced");
        let mut words = strace(&traced, &FILES.map(|file| home.data().join(file)));
        words.extend(["-y", "-e"].map(str::to_owned));
        words.push(format!("trace={CALLS}"));
        let end = run_and_kill(&mut home.command(step, &words), Moment::Never, PATIENCE)?;
        counts = count(&fs::read_to_string(&traced)?);
        Ok(Lived::ended(end))
    };
    Life::of(&home).play(&mut fate)?;
    home.remove()?;
    let mut trials = Vec::new();
    for ((call, file), most) in counts {
        for nth in 1..=most {
            for fault in [Fault::Kill, Fault::Io, Fault::Full] {
                if fault != Fault::Full || NEED_ROOM.contains(&call.as_str()) {
                    trials.push(Trial { phase, fault, call: call.clone(), file: file.clone(), nth });
                }
            }
        }
    }
    Ok(trials)
}

/// Whether this is the process that a phase is about.
fn is_due(home: &Home, phase: Phase, step: &Step, over: bool) -> bool {
    !over
        && match phase {
            Phase::Run => *step == Step::Run,
            Phase::Answer => matches!(step, Step::Answer(..)),
            Phase::Resume => home.folder().join("half-way").exists() && matches!(step, Step::Resume(_)),
        }
}

/// A process that is not the one: undisturbed, but that the first one is killed half-way where a resume is wanted.
fn before(home: &Home, phase: Phase, step: &Step) -> io::Result<Lived> {
    if phase != Phase::Resume || *step != Step::Run {
        return undisturbed(home, step);
    }
    fs::write(home.folder().join("half-way"), "")?;
    killed_half_way(home, step)
}

/// strace with all threads and children, on these files only.
fn strace(traced: &Path, files: &[PathBuf]) -> Vec<String> {
    let mut words: Vec<String> = ["strace", "-f", "-qq", "-o"].map(str::to_owned).into();
    words.push(traced.display().to_string());
    for file in files {
        words.extend(["-P".to_owned(), file.display().to_string()]);
    }
    words
}

/// `123 pwrite64(7</path/log.db-wal>, ...) = 4096`: calls by kind and file, of the thread that makes most of them.
fn count(trace: &str) -> Counts {
    let mut by_thread: BTreeMap<(&str, &str, &str), u32> = BTreeMap::new();
    for line in trace.lines() {
        let Some((thread, rest)) = line.trim_start().split_once(' ') else { continue };
        let Some((call, args)) = rest.trim_start().split_once('(') else { continue };
        // The longest name that fits: `log.db` is also the beginning of the others. A rename is known by its new name.
        let named = FILES
            .iter()
            .filter(|file| args.contains(&format!("/{file}>")) || args.contains(&format!("/{file}\"")));
        if let Some(file) = named.max_by_key(|file| file.len()) {
            *by_thread.entry((call, file, thread)).or_insert(0) += 1;
        }
    }
    let mut counts = Counts::new();
    for ((call, file, _), number) in by_thread {
        let most = counts.entry((call.to_owned(), file.to_owned())).or_insert(0);
        *most = number.max(*most);
    }
    counts
}

/// One trial. `None`: the call was not made this time.
fn one(
    ground: &Ground,
    trial: &Trial,
    number: usize,
    ending: &Ending,
) -> Result<Option<Matrix>, HarnessError> {
    let home = Home::new(ground, trial.phase.scene(), &format!("calls-{number}"))?;
    let mut seen: Option<String> = None;
    let mut over = false;
    let mut fate = |home: &Home, step: &Step| {
        if !is_due(home, trial.phase, step, over) {
            return before(home, trial.phase, step);
        }
        over = true;
        let traced = home.folder().join("traced");
        let mut words = strace(&traced, &[home.data().join(&trial.file)]);
        words.extend(["-e".to_owned(), format!("trace={}", trial.call), "-e".to_owned()]);
        words.push(format!("inject={}:{}:when={}", trial.call, trial.fault.injection(), trial.nth));
        let end = run_and_kill(&mut home.command(step, &words), Moment::Never, PATIENCE)?;
        let hit = end.killed || fs::read_to_string(&traced)?.contains("(INJECTED)");
        if hit {
            seen = Some(outcome(home, &end));
        }
        Ok(Lived { troubled: hit, ..Lived::ended(end) })
    };
    let story = Life::of(&home).play_to(ending, &mut fate).map_err(|error| at(error, trial))?;
    home.settle()?;
    home.remove()?;
    let Some(then) = seen else { return Ok(None) };
    let mut matrix = Matrix::default();
    let afterwards =
        if story.asked.contains("outcome") { "asked, then the same end" } else { "the same end" };
    let place = format!("`{}` on `{}`, {}", trial.call, trial.file, trial.phase.name());
    matrix.note(trial.fault.name(), &place, &then, afterwards);
    Ok(Some(matrix))
}

fn at(error: HarnessError, trial: &Trial) -> HarnessError {
    if let HarnessError::Broken { place, breach, kept } = error {
        let Trial { phase, fault, call, file, nth } = trial;
        let place = format!("{}: {call} number {nth} on {file}, {}, {place}", phase.name(), fault.name());
        HarnessError::Broken { place, breach, kept }
    } else {
        error
    }
}

/// A process's final output, without parts that differ between runs.
pub(crate) fn outcome(home: &Home, end: &windlass_testing::ProcessEnd) -> String {
    if end.killed {
        return "the process dies".to_owned();
    }
    match end.code {
        Some(0 | 75) => "it goes on".to_owned(),
        code => {
            let line = end.stderr.lines().find(|line| line.starts_with("error:")).unwrap_or("nothing");
            let line = line.replace(&home.data().display().to_string(), "HOME");
            format!("exit code {}, `{}`", code.unwrap_or(-1), without_ids(&line))
        }
    }
}

/// Run ids are different each time.
fn without_ids(line: &str) -> String {
    let id = |word: &str| word.len() == 36 && word.bytes().filter(|byte| *byte == b'-').count() == 4;
    line.split(' ').map(|word| if id(word) { "RUN" } else { word }).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{count, without_ids};

    #[test]
    fn calls_are_counted_by_file_and_by_the_busiest_thread() {
        let trace = "\
12 pwrite64(7</x/log.db-wal>, \"..\", 24, 0) = 24
12 pwrite64(7</x/log.db-wal>, \"..\", 24, 24) = 24
13 pwrite64(7</x/log.db-wal>, \"..\", 24, 24) = 24
12 pwrite64(7</x/log.db>, \"..\", 24, 24) = 24
12 rename(\"/x/log.db-shm.12\", \"/x/log.db-shm\") = 0
12 openat(AT_FDCWD</x>, \"/x/log.db\", O_RDWR) = 7</x/log.db>
";
        let counts = count(trace);
        let of = |call: &str, file: &str| counts.get(&(call.to_owned(), file.to_owned())).copied();
        assert_eq!(of("pwrite64", "log.db-wal"), Some(2));
        assert_eq!(of("pwrite64", "log.db"), Some(1));
        assert_eq!(of("rename", "log.db-shm"), Some(1));
        assert_eq!(of("openat", "log.db"), Some(1));
        assert_eq!(counts.len(), 4);
    }

    #[test]
    fn ids_of_runs_are_left_out() {
        let line = "error: run 0199aabb-ccdd-7eee-8fff-001122334455 ended";
        assert_eq!(without_ids(line), "error: run RUN ended");
    }
}
