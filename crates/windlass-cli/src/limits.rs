//! Limits that the system sets this process (`ulimit`): met with an error that names them.

use std::fs::File;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::{Exit, Failure};

/// Number of file descriptors that must be free at the start: the runtime takes 5 and panics without them, a log 3 for each of
/// its first connections.
const FREE_DESCRIPTORS: usize = 12;

/// Checks that there are enough file descriptors.
pub(crate) fn check_descriptors() -> Result<(), Failure> {
    let mut free = Vec::with_capacity(FREE_DESCRIPTORS);
    while free.len() < FREE_DESCRIPTORS {
        match File::open("/dev/null") {
            Ok(file) => free.push(file),
            Err(error) => {
                let most = getrlimit(Resource::Nofile).current;
                let of = most.map(|most| format!(" of {most}")).unwrap_or_default();
                let few =
                    format!("{}{of} file descriptors are free, {FREE_DESCRIPTORS} are needed", free.len());
                // To show the error may need one.
                drop(free);
                return Err(Failure::new(Exit::Internal, few)
                    .cause(error.to_string())
                    .hint("`ulimit -n 256` allows more"));
            }
        }
    }
    Ok(())
}

/// Takes as many file descriptors as the system allows this process: each connection of a server has one.
pub(crate) fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // Fewer will do for fewer connections.
    let _raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Lets a write beyond the bound on the size of files (`ulimit -f`) fail with an error: the signal SIGXFSZ would end the
/// process without a word. A handler, unlike an ignored signal, is not passed on to commands. Needs the runtime.
pub(crate) fn catch_file_size() -> Result<(), Failure> {
    let number = rustix::process::Signal::XFSZ.as_raw();
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Internal, "cannot listen for SIGXFSZ").cause(error.to_string())
    };
    // The handler stays for the life of the process.
    signal(SignalKind::from_raw(number)).map(drop).map_err(failed)
}
