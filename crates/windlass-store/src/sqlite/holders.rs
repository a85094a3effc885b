//! Who holds runs: processes, and how to tell whether they live.
//!
//! On the same host a process lives if its pid has the same start time (a pid alone is used again). Elsewhere, and
//! where there is no `/proc`, it lives if its last heartbeat is young.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, params};
use windlass_core::Text;

/// How often a process that holds runs says that it lives, in milliseconds.
pub(super) const BEAT_MS: u64 = 5_000;
/// How old the last heartbeat of a process elsewhere may be, in milliseconds.
const DEAD_AFTER_MS: u64 = 15_000;
/// How long the line of a process elsewhere stays in the table, in milliseconds: a day.
const FORGET_AFTER_MS: u64 = 86_400_000;

/// A process, as others can recognise it.
#[derive(Debug)]
struct Process {
    host: String,
    pid: i64,
    started: i64,
}

/// This process.
fn this() -> &'static Process {
    static THIS: OnceLock<Process> = OnceLock::new();
    THIS.get_or_init(|| {
        let pid = std::process::id().into();
        Process { host: host(), pid, started: start_time(pid).unwrap_or(0) }
    })
}

/// Names the boot and the pid namespace: two containers on one machine have the same boot and different pids.
fn host() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let space = std::fs::read_link("/proc/self/ns/pid");
    match (boot, space) {
        (Ok(boot), Ok(space)) => format!("{} {}", boot.trim(), space.display()),
        // Unique, so that only heartbeats count.
        _ => format!("unknown {} {}", std::process::id(), now_ms()),
    }
}

/// Field 22 of `/proc/PID/stat` (proc(5)): start time in clock ticks since boot. The name in field 2 may hold anything.
fn start_time(pid: i64) -> Option<i64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace();
    // A zombie (state Z, X) is dead: it only waits for its parent to take notice.
    if matches!(fields.next()?, "Z" | "X" | "x") {
        return None;
    }
    // The state is field 3, so field 22 is the 19th after it.
    fields.nth(18)?.parse().ok()
}

/// The wall clock: heartbeats are the one thing here that has no time of its own.
pub(super) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Enters this process as a holder of that name, and removes the lines of dead ones.
pub(super) fn register(connection: &Connection, name: &Text) -> rusqlite::Result<i64> {
    forget_dead(connection)?;
    let this = this();
    connection.execute(
        "INSERT INTO holders(name, host, pid, started, beat_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![name.as_ref(), this.host, this.pid, this.started, now_ms().cast_signed()],
    )?;
    Ok(connection.last_insert_rowid())
}

fn forget_dead(connection: &Connection) -> rusqlite::Result<()> {
    let mut dead = Vec::new();
    {
        let mut lines = connection.prepare("SELECT id, host, pid, started, beat_at FROM holders")?;
        let mut rows = lines.query([])?;
        while let Some(row) = rows.next()? {
            let line = Line::of(row)?;
            if !line.lives(FORGET_AFTER_MS) {
                dead.push(line.id);
            }
        }
    }
    for id in dead {
        connection.execute("DELETE FROM holders WHERE id = ?1", [id])?;
    }
    Ok(())
}

/// Says that this process lives. A line that somebody removed comes back under its old number.
pub(super) fn beat(connection: &Connection, id: i64, name: &Text) -> rusqlite::Result<()> {
    let this = this();
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO holders(id, name, host, pid, started, beat_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![id, name.as_ref(), this.host, this.pid, this.started, now_ms().cast_signed()])
        .map(drop)
}

/// Whether the process behind a hold lives.
pub(super) fn alive(connection: &Connection, id: i64) -> rusqlite::Result<bool> {
    let line = connection
        .prepare_cached("SELECT id, host, pid, started, beat_at FROM holders WHERE id = ?1")?
        .query_row([id], Line::of)
        .optional()?;
    Ok(line.is_some_and(|line| line.lives(DEAD_AFTER_MS)))
}

struct Line {
    id: i64,
    host: String,
    pid: i64,
    started: i64,
    beat_at: i64,
}

impl Line {
    fn of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            host: row.get(1)?,
            pid: row.get(2)?,
            started: row.get(3)?,
            beat_at: row.get(4)?,
        })
    }

    /// `after_ms`: how old the last heartbeat of a process elsewhere may be.
    fn lives(&self, after_ms: u64) -> bool {
        if self.host == this().host && !self.host.starts_with("unknown") {
            return start_time(self.pid) == Some(self.started);
        }
        now_ms().saturating_sub(self.beat_at.cast_unsigned()) < after_ms
    }
}
