//! The environments of processes, as Linux shows them (proc(5): `/proc/PID/environ`, items that end with a zero byte).
//!
//! During `execve` a process briefly has neither its old nor its new environment, and a read that began earlier returns nothing
//! or only a part. Such a process is unsettled, and the search repeats.

use std::fs;
use std::io;

use rustix::process::Pid;

/// Result of reading a process's environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// It has the item in its environment.
    Marked,
    /// It has another environment, none, or one that is not ours to see; or it is gone.
    Other,
    /// It is becoming another program: look again.
    Unsettled,
}

/// All processes.
pub(super) fn processes() -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw).collect()
}

/// Looks whether a process has that item (`NAME=value`) in its environment.
pub(super) fn sight(pid: Pid, item: &str) -> Sight {
    let number = pid.as_raw_nonzero();
    let environ = match fs::read(format!("/proc/{number}/environ")) {
        Ok(environ) => environ,
        // Another user's, or gone.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Sight::Other,
        Err(_) => Vec::new(),
    };
    if environ.split(|byte| *byte == 0).any(|found| found == item.as_bytes()) {
        return Sight::Marked;
    }
    match room(pid) {
        Room::None => Sight::Other,
        Room::Of(bytes) if bytes == environ.len() as u64 => Sight::Other,
        Room::Of(_) | Room::NotYet => Sight::Unsettled,
    }
}

/// Size of a process's environment.
enum Room {
    /// So many bytes.
    Of(u64),
    /// It has no room for one yet.
    NotYet,
    /// It is no program: gone, a zombie, or a thread of the kernel.
    None,
}

/// Fields 50 and 51 of `/proc/PID/stat`: where the environment begins and ends. Both are 0 until a new program has one.
fn room(pid: Pid) -> Room {
    let number = pid.as_raw_nonzero();
    let Ok(stat) = fs::read_to_string(format!("/proc/{number}/stat")) else { return Room::None };
    // The name in field 2 may hold anything; the state is field 3, so field 50 is the 48th from there.
    let Some((_, fields)) = stat.rsplit_once(')') else { return Room::None };
    let mut fields = fields.split_ascii_whitespace().skip(47).map_while(|field| field.parse::<u64>().ok());
    match (fields.next(), fields.next()) {
        (Some(from), Some(to)) if to > 0 => Room::Of(to.saturating_sub(from)),
        // Only what runs a file has a link to it.
        _ if fs::read_link(format!("/proc/{number}/exe")).is_ok() => Room::NotYet,
        _ => Room::None,
    }
}
