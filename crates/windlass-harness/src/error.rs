//! Errors of the harness, above all a broken promise.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// An error of the harness.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HarnessError {
    /// A promise of Windlass was broken.
    #[error("{place}: {breach}")]
    Broken {
        /// The step in progress.
        place: String,
        /// What was expected and what was found.
        breach: String,
        /// The home folder as it was then.
        kept: PathBuf,
    },
    /// The operating system refused something.
    #[error("cannot {what}")]
    System {
        /// The missing thing.
        what: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The binary under test is not there.
    #[error("no windlass binary at {path}")]
    NoWindlass {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A program that a part needs is not installed.
    #[error("cannot run `{program}`")]
    NoProgram {
        /// The program.
        program: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file system cannot be mounted here.
    #[error("cannot mount a separate file system here: {why}")]
    NoMount {
        /// The system's error.
        why: String,
    },
    /// The committed page does not say what was seen.
    #[error("{path} differs from the results:\n{difference}")]
    Stale {
        /// The page.
        path: PathBuf,
        /// Rows that are only there (`-`) or were only seen (`+`).
        difference: String,
    },
    /// The conversations that runs are taken from cannot be read.
    #[error("cannot use the scripted conversations in {path}: {why}")]
    BadFixtures {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl HarnessError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Broken { .. } => "harness.broken",
            Self::System { .. } => "harness.system",
            Self::NoWindlass { .. } => "harness.no_windlass",
            Self::NoProgram { .. } => "harness.no_program",
            Self::NoMount { .. } => "harness.no_mount",
            Self::Stale { .. } => "harness.stale",
            Self::BadFixtures { .. } => "harness.bad_fixtures",
        }
    }

    /// Advice.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Broken { kept, .. } => Some(format!(
                "the home folder is kept: `windlass runs show last -e --log {}`",
                kept.join("log.db").display()
            )),
            Self::NoWindlass { .. } => Some(
                "`cargo build -p windlass-cli` builds it; or name another one with --windlass".to_owned(),
            ),
            Self::NoProgram { program, .. } => Some(format!("install it: `apt-get install {program}`")),
            Self::NoMount { .. } => Some(
                "run it as root, or where user namespaces are allowed; --no-mount leaves this part out"
                    .to_owned(),
            ),
            Self::Stale { .. } => {
                Some("look at it, then write it anew: `windlass-harness matrix --write`".to_owned())
            }
            Self::System { .. } | Self::BadFixtures { .. } => None,
        }
    }

    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }

    pub(crate) fn file(verb: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::system(format!("{verb} {}", path.display()))
    }
}
