//! Holders of runs: processes, and how to tell whether they are alive.
//!
//! In the same pid namespace a process lives if its pid has the same start time (a pid alone
//! is used again). Elsewhere on the same boot it lives if its last heartbeat is young by the clock that counts since
//! boot. Elsewhere it lives until an observer has seen the same heartbeat for long enough by its own clock: wall clocks jump.
//! Heartbeats that were seen stand in the table `seen_heartbeats`, so that commands which live for a moment see it too. Only a
//! heartbeat of another boot that is old by the wall clock as well is not watched first: the machine was started anew.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, params};
use windlass_core::Text;

use super::process::Process;
use crate::clock::up_ms;

/// Interval of a holder's heartbeats, in milliseconds.
pub(super) const BEAT_MS: u64 = 5_000;
/// Age of the last heartbeat, in milliseconds, at which a process on another machine counts as dead.
const DEAD_AFTER_MS: u64 = 15_000;

/// For how long a renewed lease holds at least, in milliseconds: the last heartbeat is at most one interval old.
pub(super) const HELD_MS: u64 = DEAD_AFTER_MS - BEAT_MS;

/// A process, as others can recognise it.
#[derive(Debug)]
struct Identity {
    /// The boot and the pid namespace.
    host: String,
    pid: i64,
    started: i64,
}

impl Identity {
    fn boot(&self) -> &str {
        boot_of(&self.host)
    }
}

/// The boot that a host's name begins with. Where it is not known, it is that process' alone.
fn boot_of(host: &str) -> &str {
    if host.starts_with(UNKNOWN) { host } else { host.split(' ').next().unwrap_or_default() }
}

/// Prefix for the name of a host that cannot be identified.
const UNKNOWN: &str = "unknown";

/// This process.
fn this() -> &'static Identity {
    static THIS: OnceLock<Identity> = OnceLock::new();
    THIS.get_or_init(|| {
        let pid = std::process::id().into();
        Identity { host: host(), pid, started: start_time(pid).unwrap_or(0) }
    })
}

/// Names the boot and the pid namespace: two containers on one machine have the same boot and different pids.
fn host() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let space = std::fs::read_link("/proc/self/ns/pid");
    match (boot, space) {
        (Ok(boot), Ok(space)) => format!("{} {}", boot.trim(), space.display()),
        // Unique, so that only heartbeats count.
        _ => format!("{UNKNOWN} {} {}", std::process::id(), now_ms()),
    }
}

fn start_time(pid: i64) -> Option<i64> {
    Process::of(pid)?.started()
}

/// The wall clock: for what people read, and for ages where a jump does no harm.
pub(super) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Enters this process as a holder of that name, and removes the lines of dead ones.
pub(super) fn register(connection: &Connection, name: &Text) -> rusqlite::Result<i64> {
    forget_dead(connection)?;
    write_line(connection, None, name)?;
    Ok(connection.last_insert_rowid())
}

fn forget_dead(connection: &Connection) -> rusqlite::Result<()> {
    let lines: Vec<Line> = connection
        .prepare(&format!("{LINES} ORDER BY id"))?
        .query_map([], Line::of)?
        .collect::<rusqlite::Result<_>>()?;
    for line in lines {
        if line.lives(connection)? {
            line.sight(connection)?;
        } else {
            remove(connection, line.id)?;
        }
    }
    Ok(())
}

/// Takes a line off the table, with what was seen of it and what it pinned.
pub(super) fn remove(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    for (table, column) in [("holders", "id"), ("seen_heartbeats", "holder"), ("pins", "holder")] {
        connection.prepare_cached(&format!("DELETE FROM {table} WHERE {column} = ?1"))?.execute([id])?;
    }
    Ok(())
}

/// Sends a heartbeat. A removed row is restored under its old number.
pub(super) fn beat(connection: &Connection, id: i64, name: &Text) -> rusqlite::Result<()> {
    write_line(connection, Some(id), name)
}

/// Writes this process' line with a heartbeat of now. `None`: under a new number.
fn write_line(connection: &Connection, id: Option<i64>, name: &Text) -> rusqlite::Result<()> {
    let this = this();
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO holders(id, name, host, pid, started, heartbeat_at, heartbeat_uptime) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            id,
            name.as_ref(),
            this.host,
            this.pid,
            this.started,
            now_ms().cast_signed(),
            up_ms().cast_signed()
        ])
        .map(drop)
}

/// Whether the process behind a lease lives, as far as this machine can tell.
pub(super) fn alive(connection: &Connection, id: i64) -> rusqlite::Result<bool> {
    find(connection, id)?.map_or(Ok(false), |line| line.lives(connection))
}

/// Takes note of the heartbeat of a process that only its heartbeats tell of.
pub(super) fn sight(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    find(connection, id)?.map_or(Ok(()), |line| line.sight(connection))
}

/// Whether [`sight`] has something new to note.
pub(super) fn unseen(connection: &Connection, id: i64) -> rusqlite::Result<bool> {
    find(connection, id)?.map_or(Ok(false), |line| line.unseen(connection))
}

fn find(connection: &Connection, id: i64) -> rusqlite::Result<Option<Line>> {
    connection.prepare_cached(&format!("{LINES} WHERE id = ?1"))?.query_row([id], Line::of).optional()
}

const LINES: &str = "SELECT id, host, pid, started, heartbeat_at, heartbeat_uptime FROM holders";

struct Line {
    id: i64,
    host: String,
    pid: i64,
    started: i64,
    heartbeat_at: i64,
    /// `None`: a process of an earlier version.
    heartbeat_uptime: Option<i64>,
}

/// How to tell whether a process is alive.
enum Sign {
    /// By its pid.
    Pid,
    /// By the age of its last heartbeat, in milliseconds since the boot.
    Age(u64),
    /// By watching whether its heartbeat changes.
    Change,
    /// Its machine was started anew since.
    Over,
}

impl Line {
    fn of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            host: row.get(1)?,
            pid: row.get(2)?,
            started: row.get(3)?,
            heartbeat_at: row.get(4)?,
            heartbeat_uptime: row.get(5)?,
        })
    }

    fn sign(&self) -> Sign {
        let this = this();
        if self.host == this.host && !self.host.starts_with(UNKNOWN) {
            return Sign::Pid;
        }
        // A time from after now is of another time namespace.
        let age = self.heartbeat_uptime.and_then(|beat| up_ms().checked_sub(beat.cast_unsigned()));
        let (theirs, ours) = (boot_of(&self.host), this.boot());
        let known = !theirs.starts_with(UNKNOWN) && !ours.starts_with(UNKNOWN);
        let old = now_ms().saturating_sub(self.heartbeat_at.cast_unsigned()) >= DEAD_AFTER_MS;
        match age {
            Some(age) if theirs == ours => Sign::Age(age),
            _ if known && theirs != ours && old => Sign::Over,
            _ => Sign::Change,
        }
    }

    fn lives(&self, connection: &Connection) -> rusqlite::Result<bool> {
        Ok(match self.sign() {
            Sign::Pid => start_time(self.pid) == Some(self.started),
            Sign::Age(age) => age < DEAD_AFTER_MS,
            Sign::Over => false,
            Sign::Change => self.unchanged_ms(connection)?.is_none_or(|seen| seen < DEAD_AFTER_MS),
        })
    }

    /// The heartbeat, as something that changes with each.
    fn beat(&self) -> String {
        format!("{} {}", self.heartbeat_at, self.heartbeat_uptime.unwrap_or_default())
    }

    /// For how long this boot's processes have seen the same heartbeat; `None`: it was not seen before.
    fn unchanged_ms(&self, connection: &Connection) -> rusqlite::Result<Option<u64>> {
        let seen: Option<i64> = connection
            .prepare_cached(
                "SELECT uptime FROM seen_heartbeats WHERE holder = ?1 AND heartbeat = ?2 AND boot = ?3",
            )?
            .query_row(params![self.id, self.beat(), observer()], |row| row.get(0))
            .optional()?;
        Ok(seen.and_then(|up| up_ms().checked_sub(up.cast_unsigned())))
    }

    fn unseen(&self, connection: &Connection) -> rusqlite::Result<bool> {
        Ok(matches!(self.sign(), Sign::Change) && self.unchanged_ms(connection)?.is_none())
    }

    fn sight(&self, connection: &Connection) -> rusqlite::Result<()> {
        if !self.unseen(connection)? {
            return Ok(());
        }
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO seen_heartbeats(holder, heartbeat, boot, uptime) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![self.id, self.beat(), observer(), up_ms().cast_signed()])
            .map(drop)
    }
}

/// The boot of this observer. Where it is not known, all boots count as one: an observer that sees a heartbeat from before
/// a boot unchanged is not mistaken.
fn observer() -> &'static str {
    let boot = this().boot();
    if boot.starts_with(UNKNOWN) { UNKNOWN } else { boot }
}
