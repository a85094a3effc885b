//! The program of a command: looked for as `exec` would, and started without a copy of this process.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use tokio::process::Command;

/// Search path for programs without `PATH` (execvp(3)).
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Starts of files that the system itself can run (execve(2)).
const RUNNABLE: [&[u8]; 2] = [b"\x7fELF", b"#!"];

/// A command that starts a program under its own name, as `exec` with that `PATH` would from that folder.
///
/// It is given the program's file: a name that is looked for along a `PATH` of the child's own makes the standard library fork
/// instead of `posix_spawn`, and a fork copies the tables of all memory of this process.
pub(crate) fn command(program: &Path, path: Option<&OsStr>, folder: &Path) -> Command {
    let found = is_name(program).then(|| find(program, path, folder).ok()).flatten();
    // A script without `#!` is run through a shell by execvp(3) alone, and an error is the system's own.
    match found.filter(|found| found.is_absolute() && is_runnable(found)) {
        Some(found) => {
            let mut command = Command::new(found);
            command.arg0(program);
            command
        }
        None => Command::new(program),
    }
}

/// The file of a program, looked for as `exec` with that `PATH` would from that folder.
///
/// # Errors
/// There is no such program, or it may not be run.
pub fn find(program: &Path, path: Option<&OsStr>, folder: &Path) -> io::Result<PathBuf> {
    if !is_name(program) {
        let file = folder.join(program);
        return may_run(&file).map(|()| file);
    }
    let mut refused = io::Error::from(io::ErrorKind::NotFound);
    for place in std::env::split_paths(path.unwrap_or(OsStr::new(DEFAULT_PATH))) {
        // An empty place is the folder itself.
        let found = folder.join(place).join(program);
        match may_run(&found) {
            Ok(()) => return Ok(found),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => refused = error,
            Err(_) => {}
        }
    }
    Err(refused)
}

/// Whether it is looked for along `PATH`.
pub(super) fn is_name(program: &Path) -> bool {
    program.components().count() == 1 && !program.is_absolute()
}

fn may_run(file: &Path) -> io::Result<()> {
    access(file, Access::EXEC_OK)?;
    // A folder may be entered, but not run.
    if file.is_dir() { Err(io::Error::from(io::ErrorKind::PermissionDenied)) } else { Ok(()) }
}

fn is_runnable(file: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(file).and_then(|file| file.take(4).read_to_end(&mut start));
    read.is_ok() && RUNNABLE.iter().any(|runnable| start.starts_with(runnable))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    async fn said(program: &str, path: &Path, args: &[&str]) -> io::Result<String> {
        let mut command = command(Path::new(program), Some(path.as_os_str()), Path::new(""));
        let output = command.args(args).env_clear().env("PATH", path).output().await?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn written(file: &Path, text: &str, mode: u32) {
        fs::write(file, text).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[tokio::test]
    async fn a_name_becomes_its_file_and_the_program_still_sees_the_name() {
        let started = command(Path::new("sh"), Some(OsStr::new("/nowhere:/bin")), Path::new(""));
        assert_eq!(started.as_std().get_program(), "/bin/sh");
        assert_eq!(said("sh", Path::new("/nowhere:/bin"), &["-c", "echo $0"]).await.unwrap(), "sh");
        // Without a variable along the usual places, and a path as it is.
        assert_eq!(command(Path::new("sh"), None, Path::new("")).as_std().get_program(), "/bin/sh");
        assert_eq!(command(Path::new("/x/sh"), None, Path::new("")).as_std().get_program(), "/x/sh");
    }

    #[tokio::test]
    async fn scripts_with_and_without_an_interpreter_run_by_name_and_others_are_the_systems_error() {
        let folder = tempfile::tempdir().unwrap();
        written(&folder.path().join("with"), "#!/bin/sh\necho with\n", 0o755);
        written(&folder.path().join("without"), "echo without\n", 0o755);
        written(&folder.path().join("locked"), "#!/bin/sh\n", 0o644);
        for name in ["with", "without"] {
            assert_eq!(said(name, folder.path(), &[]).await.unwrap(), name);
        }
        assert_eq!(
            said("locked", folder.path(), &[]).await.unwrap_err().kind(),
            io::ErrorKind::PermissionDenied
        );
        assert_eq!(said("absent", folder.path(), &[]).await.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
