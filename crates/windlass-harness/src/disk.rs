//! Disks that are full, read-only or locked: a file system of its own for the log, as small as wanted.

pub(crate) mod power;
pub(crate) mod prefixes;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_testing::{Moment, run_and_kill};

use crate::calls::outcome;
use crate::error::HarnessError;
use crate::ground::Ground;
use crate::home::{Home, Step};
use crate::life::{Ending, Life, Lived, PATIENCE, killed_half_way, reference, undisturbed};
use crate::page::Matrix;
use crate::scene::Scene;

/// The sizes of the disks that fill up, in KiB. The scene writes about 2 MB.
const SIZES: [u32; 9] = [4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// The names of the faults that need a file system of their own.
pub const DISK_FAULTS: [&str; 2] = ["the disk is full", "the disk is read-only"];
/// A disk with room enough, in KiB.
const ROOM: u32 = 64 * 1024;

/// A mounted file system; it goes with its value.
#[derive(Debug)]
struct Disk {
    at: PathBuf,
}

impl Disk {
    fn mount(at: &Path, kib: u32) -> Result<Self, HarnessError> {
        std::fs::create_dir_all(at).map_err(HarnessError::file("make", at))?;
        let disk = Self { at: at.to_owned() };
        disk.command("mount", &["-t", "tmpfs", "-o", &format!("size={kib}k,mode=0700"), "windlass-harness"])
            .map_err(|error| HarnessError::NoMount { why: error.to_string() })?;
        Ok(disk)
    }

    fn remount(&self, options: &str) -> io::Result<()> {
        self.command("mount", &["-o", &format!("remount,{options}")])
    }

    fn command(&self, program: &str, words: &[&str]) -> io::Result<()> {
        let output = Command::new(program).args(words).arg(&self.at).output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

impl Drop for Disk {
    #[expect(clippy::print_stderr, reason = "whoever runs the harness unmounts it by hand")]
    fn drop(&mut self) {
        if let Err(error) = self.command("umount", &["-l"]) {
            eprintln!("warning: {} stays mounted: {error}", self.at.display());
        }
    }
}

/// Whether file systems can be mounted here.
///
/// # Errors
/// [`HarnessError::NoMount`] says why not.
pub fn may_mount(ground: &Ground) -> Result<(), HarnessError> {
    Disk::mount(&ground.folder().join("mounted"), ROOM).map(drop)
}

/// Fills disks of several sizes, and makes one read-only.
///
/// # Errors
/// A promise was broken, or nothing can be mounted here.
pub fn disks(ground: &Ground) -> Result<Matrix, HarnessError> {
    let mut matrix = Matrix::default();
    let ending = reference(ground, Scene::Pages)?;
    for kib in SIZES {
        matrix.merge(full(ground, kib, &ending)?);
    }
    matrix.merge(read_only(ground, &reference(ground, Scene::Tools)?)?);
    Ok(matrix)
}

/// The log's disk is full sooner or later; then there is room.
fn full(ground: &Ground, kib: u32, ending: &Ending) -> Result<Matrix, HarnessError> {
    let home = Home::new(ground, Scene::Pages, &format!("full-{kib}"))?;
    let disk = Disk::mount(home.data(), kib)?;
    let mut seen = None;
    let mut fate = |home: &Home, step: &Step| {
        if seen.is_some() {
            return undisturbed(home, step);
        }
        let lived = undisturbed(home, step)?;
        seen = Some((step.name(), outcome(home, &lived.end)));
        disk.remount(&format!("size={ROOM}k"))?;
        Ok(Lived { troubled: true, ..lived })
    };
    Life::of(&home).play_to(ending, &mut fate)?;
    let mut matrix = Matrix::default();
    if let Some((step, then)) = seen {
        if !then.contains("no space left") {
            return Err(home.broken(step, format!("on a disk of {kib} KiB: {then}")));
        }
        let [full, _] = DISK_FAULTS;
        matrix.note(full, &format!("at {kib} KiB, {step}"), &then, "the same end");
    }
    drop(disk);
    home.remove()?;
    Ok(matrix)
}

/// The process is killed half-way, and then the log's disk is read-only for a while.
fn read_only(ground: &Ground, ending: &Ending) -> Result<Matrix, HarnessError> {
    let home = Home::new(ground, Scene::Tools, "read-only")?;
    let disk = Disk::mount(home.data(), ROOM)?;
    let trouble = |on: bool| disk.remount(if on { "ro" } else { "rw" });
    let [_, read_only] = DISK_FAULTS;
    let matrix = half_way(&home, ending, read_only, trouble)?;
    drop(disk);
    home.remove()?;
    Ok(matrix)
}

/// The process is killed half-way, and then another program keeps the log locked for longer than anybody waits.
///
/// # Errors
/// A promise was broken.
pub fn locked(ground: &Ground) -> Result<Matrix, HarnessError> {
    let ending = &reference(ground, Scene::Tools)?;
    let home = Home::new(ground, Scene::Tools, "locked")?;
    let mut lock = None;
    let trouble = |on: bool| {
        lock = None;
        if on {
            let other = rusqlite::Connection::open(home.log()).map_err(io::Error::other)?;
            other.execute_batch("BEGIN EXCLUSIVE").map_err(io::Error::other)?;
            lock = Some(other);
        }
        Ok(())
    };
    let matrix = half_way(&home, ending, "the log is locked", trouble)?;
    home.remove()?;
    Ok(matrix)
}

/// A run that is killed half-way and resumed in vain, until the trouble is over.
fn half_way(
    home: &Home,
    ending: &Ending,
    fault: &str,
    mut trouble: impl FnMut(bool) -> io::Result<()>,
) -> Result<Matrix, HarnessError> {
    let mut matrix = Matrix::default();
    let mut processes = 0;
    let mut fate = |home: &Home, step: &Step| {
        processes += 1;
        match processes {
            1 => killed_half_way(home, step),
            2 => {
                trouble(true)?;
                let end = run_and_kill(&mut home.command(step, &[]), Moment::Never, PATIENCE)?;
                trouble(false)?;
                matrix.note(fault, step.name(), &outcome(home, &end), "the same end");
                Ok(Lived { troubled: true, ..Lived::ended(end) })
            }
            _ => undisturbed(home, step),
        }
    };
    Life::of(home).play_to(ending, &mut fate)?;
    Ok(matrix)
}
