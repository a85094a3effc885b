//! Errors of the harness, above all a broken promise.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use windlass_error::{Diagnostic, Kind};

/// An error of the harness.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum HarnessError {
    /// A promise of Windlass was broken.
    #[error("{place}: {breach}")]
    #[diagnostic(
        kind = Internal,
        code = "harness.broken",
        help = format!("the home folder is kept: `windlass runs show last -e --log {}`", kept.join("log.db").display())
    )]
    Broken {
        /// The step in progress.
        place: String,
        /// The expected and the found behaviour.
        breach: String,
        /// The home folder as it was then.
        kept: PathBuf,
    },
    /// The operating system refused something.
    #[error("cannot {what}")]
    #[diagnostic(kind = Kind::of_io(source), code = "harness.system")]
    System {
        /// The missing thing.
        what: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The binary under test is not there.
    #[error("no windlass binary at {path}")]
    #[diagnostic(
        kind = NotFound,
        code = "harness.no_windlass",
        help = "`cargo build -p windlass-cli` builds it; or name another one with --windlass"
    )]
    NoWindlass {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A program that a part needs is not installed.
    #[error("cannot run `{program}`")]
    #[diagnostic(kind = Unavailable, code = "harness.no_program", help = "install it: `apt-get install {program}`")]
    NoProgram {
        /// The program.
        program: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file system cannot be mounted here.
    #[error("cannot mount a separate file system here: {why}")]
    #[diagnostic(
        kind = Forbidden,
        code = "harness.no_mount",
        help = "run it as root, or where user namespaces are allowed; --no-mount leaves this part out"
    )]
    NoMount {
        /// The system's error.
        why: String,
    },
    /// The committed page does not say what was seen.
    #[error("{path} differs from the results:\n{difference}")]
    #[diagnostic(
        kind = Conflict,
        code = "harness.stale",
        help = format!("look at it, then write it anew: `windlass-harness {part} --write`")
    )]
    Stale {
        /// The page.
        path: PathBuf,
        /// Rows that are only there (`-`) or were only seen (`+`).
        difference: String,
        /// The part of the harness that writes the page.
        part: &'static str,
    },
    /// The conversations that runs are taken from cannot be read.
    #[error("cannot use the scripted conversations in {path}: {why}")]
    #[diagnostic(kind = Invalid, code = "harness.bad_fixtures")]
    BadFixtures {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl HarnessError {
    /// [`Self::Stale`], if a page differs from what this part has seen.
    pub(crate) fn unless_same(part: &'static str, path: &Path, difference: String) -> Result<(), Self> {
        if difference.is_empty() {
            return Ok(());
        }
        Err(Self::Stale { path: path.to_owned(), difference, part })
    }

    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }

    pub(crate) fn file(verb: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::system(format!("{verb} {}", path.display()))
    }
}
