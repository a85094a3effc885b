//! Pins: payloads that this process has stored and whose append may follow. Pruning keeps them as long as the process lives,
//! independent of clocks.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::holders;

/// Under which name a process enters itself in the table of holders for the sake of what it has stored.
pub(super) const HOLDER: &str = "stored payloads";
/// Maximum time that an unreferenced payload stays pinned, by the clock of its process: an hour.
const LONGEST: Duration = Duration::from_hours(1);

/// The pins of this process, by the number of the payload: whose they are and since when.
#[derive(Debug, Default)]
pub(super) struct Pins(HashMap<i64, (i64, Instant)>);

impl Pins {
    pub(super) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    pub(super) fn pin(&mut self, connection: &Connection, payload: i64, holder: i64) -> rusqlite::Result<()> {
        connection
            .prepare_cached("INSERT OR IGNORE INTO pins(payload, holder) VALUES (?1, ?2)")?
            .execute([payload, holder])?;
        self.0.insert(payload, (holder, Instant::now()));
        Ok(())
    }

    /// These payloads are named now.
    pub(super) fn release(&mut self, connection: &Connection, payloads: &[i64]) -> rusqlite::Result<()> {
        for payload in payloads {
            if let Some((holder, _)) = self.0.remove(payload) {
                connection
                    .prepare_cached("DELETE FROM pins WHERE payload = ?1 AND holder = ?2")?
                    .execute([*payload, holder])?;
            }
        }
        Ok(())
    }

    /// No append has named these for too long.
    pub(super) fn release_old(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let old = self.0.iter().filter(|(_, (_, since))| since.elapsed() >= LONGEST);
        let old: Vec<i64> = old.map(|(payload, _)| *payload).collect();
        self.release(connection, &old)
    }
}

/// Removes the pins of dead processes.
pub(super) fn forget_dead(connection: &Connection) -> rusqlite::Result<()> {
    let holders: Vec<i64> = connection
        .prepare_cached("SELECT DISTINCT holder FROM pins")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for holder in holders {
        if !holders::alive(connection, holder)? {
            connection.prepare_cached("DELETE FROM pins WHERE holder = ?1")?.execute([holder])?;
        }
    }
    Ok(())
}
