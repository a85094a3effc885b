//! Owns cassettes: files that keep the exchanges of a run with its models, and play them back.
//!
//! A [`Recorder`] wraps models and writes each exchange as a line of JSON. A [`Player`] is a model that gives the recorded
//! replies, as long as it is asked what was asked then. Secrets are masked in all that is written.
//!
//! ```
//! use std::sync::Arc;
//! use windlass_models::cassette::{Player, Recorder};
//! use windlass_models::{Tour, assemble, conformance};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("windlass-cassette-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let path = folder.join("hello.cassette");
//! let ask = |text| conformance::request("tour", text);
//! let recorded = Recorder::create(&path)?.model(Arc::new(Tour));
//! let reply = assemble(recorded.call(ask("Say hello.")), "tour").await.map_err(|failure| format!("{failure:?}"))?;
//!
//! let played = Player::open(&path)?.model();
//! assert_eq!(assemble(played.call(ask("Say hello.")), "tour").await.map_err(|failure| format!("{failure:?}"))?, reply);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! # futures_util::FutureExt::now_or_never(example()).expect("it never waits").unwrap();
//! ```

mod difference;
mod exchange;
mod play;
mod record;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use play::{Player, Recorded};
pub use record::Recorder;
use windlass_error::{Diagnostic, Kind};

/// A cassette in use.
#[derive(Clone, Debug)]
pub enum Cassette {
    /// Exchanges with real models are written to it.
    Record(Arc<Recorder>),
    /// It stands in for all models.
    Replay(Arc<Player>),
}

/// Why a cassette cannot be used.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum CassetteError {
    /// A recording never overwrites a file.
    #[error("cannot record to {}: the file exists", .path.display())]
    #[diagnostic(kind = Conflict, code = "cassette.exists", help = "delete it to record anew, or name another file")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be created or written.
    #[error("cannot record to {}", .path.display())]
    #[diagnostic(kind = Kind::of_io(source), code = "cassette.write")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file cannot be read.
    #[error("cannot read cassette {}", .path.display())]
    #[diagnostic(kind = Kind::of_io(source), code = "cassette.read")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A line is not what a recording writes.
    #[error("{}:{line}: {reason}", .path.display())]
    #[diagnostic(
        kind = Invalid,
        code = "cassette.line",
        help = "a recording that was killed may end in half a line: delete that line; record anew otherwise"
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// The fault, with the expected form.
        reason: String,
    },
    /// A request was not the recorded one.
    #[error("{message}")]
    #[diagnostic(kind = Conflict, code = "cassette.differs", help = "record anew if the change is intended")]
    Differs {
        /// The first difference.
        message: String,
    },
    /// Recorded exchanges were not asked for.
    #[error("{}: {left} of {count} recorded exchanges were not asked for, the first one in line {line}", .path.display())]
    #[diagnostic(kind = Conflict, code = "cassette.left", help = "record anew if the change is intended")]
    Left {
        /// The file.
        path: PathBuf,
        /// Number of exchanges that were not played.
        left: usize,
        /// Number of all exchanges.
        count: usize,
        /// Line of the first one that was not played.
        line: usize,
    },
}

/// The most bytes of a cassette: no longer one is read, and none is recorded beyond it (256 MiB).
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The text of a cassette. Devices and pipes have no end, or none comes.
fn text_of(path: &Path) -> io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(invalid("it is not a regular file".to_owned()));
    }
    let mut text = String::new();
    let read = std::fs::File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_BYTES {
        return Err(invalid(format!("it has more than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

fn invalid(words: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, words)
}

#[cfg(test)]
mod tests;
