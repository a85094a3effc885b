//! Limits of a step of code.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Limits of one step of code. Each has its own reason when it is hit ([`Limit`]).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Maximum time that the code runs, in seconds: 10. The time of host calls does not count.
    pub seconds: f64,
    /// Maximum memory of the code's values, in MiB: 64.
    pub memory_mb: u64,
    /// Maximum number of host calls: 50.
    pub calls: u32,
    /// Maximum number of calls that are written in the source, of whatever function: with more, nothing of it runs. `None`: any
    /// number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_calls: Option<u32>,
    /// Maximum size of the printed output that is kept, in bytes: 65536. More is cut, and the code goes on.
    pub output_bytes: usize,
    /// Maximum size of the source, in bytes: 65536.
    pub source_bytes: usize,
    /// Maximum size of a host call's arguments, and of the final value, in bytes of JSON: 1 MiB.
    pub value_bytes: usize,
    /// Maximum depth of Python calls: 1000. One more is a `RecursionError`, which the code may catch.
    pub recursion: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            seconds: 10.0,
            memory_mb: 64,
            calls: 50,
            written_calls: None,
            output_bytes: 64 << 10,
            source_bytes: 64 << 10,
            value_bytes: 1 << 20,
            recursion: 1000,
        }
    }
}

/// The most that a limit of time can be: a day.
const MOST_SECONDS: f64 = 86_400.0;

impl Limits {
    /// The time that the code may run.
    pub(crate) fn running(&self) -> Duration {
        // The comparisons are false for NaN, which is no time at all.
        let seconds = if self.seconds > 0.0 { self.seconds.min(MOST_SECONDS) } else { 0.0 };
        Duration::from_secs_f64(seconds)
    }
}

/// A limit that ended a step of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// [`Limits::seconds`].
    Seconds,
    /// [`Limits::memory_mb`].
    Memory,
    /// [`Limits::calls`].
    Calls,
    /// [`Limits::written_calls`].
    WrittenCalls,
    /// [`Limits::source_bytes`].
    Source,
    /// [`Limits::value_bytes`], by the final value. Arguments that are too large raise a `ValueError` in the code.
    Value,
    /// The source or a value is nested more deeply than the interpreter's stack allows.
    Depth,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seconds => "seconds",
            Self::Memory => "memory_mb",
            Self::Calls => "calls",
            Self::WrittenCalls => "written_calls",
            Self::Source => "source_bytes",
            Self::Value => "value_bytes",
            Self::Depth => "depth",
        })
    }
}
