//! Processes of this machine, as `/proc` shows them.

use std::fs;

/// Fields of `/proc/PID/stat` (proc(5)).
#[derive(Debug)]
pub(super) struct Process {
    /// The name of its program, at most 15 bytes.
    pub(super) name: String,
    /// Field 3.
    state: String,
    /// Field 22: start time in clock ticks since boot.
    started: i64,
}

impl Process {
    pub(super) fn of(pid: i64) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in field 2 may hold anything, parentheses and spaces too.
        let (before, after) = stat.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        let mut fields = after.split_ascii_whitespace();
        let state = fields.next()?.to_owned();
        // The state is field 3, so field 22 is the 19th after it.
        Some(Self { name: name.to_owned(), state, started: fields.nth(18)?.parse().ok()? })
    }

    /// When it started; `None`: it is dead and only waits for its parent to take notice.
    pub(super) fn started(&self) -> Option<i64> {
        (!matches!(self.state.as_str(), "Z" | "X" | "x")).then_some(self.started)
    }

    /// Whether it was stopped, by a signal or a debugger.
    pub(super) fn stopped(&self) -> bool {
        matches!(self.state.as_str(), "T" | "t")
    }
}
