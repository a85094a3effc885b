//! The hash chain of a run: each append's row holds a SHA-256 over its own content and the hash before it, so that a change
//! of any letter is found. It has no key: it finds damage, not forgery.
//!
//! A chain never leaves its run, so that pruning breaks none. Cause and body are hashed on the appender's thread; the writer
//! only hashes the two digests and the columns.

use rusqlite::Connection;
use sha2::{Digest as _, Sha256};
use windlass_core::RunId;
use windlass_core::event::Millis;

use super::rows::{self, Fault};
use crate::PostId;
use crate::payload::Digest;

/// A row without cause and body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) run: RunId,
    pub(super) last: u64,
    pub(super) count: u64,
    pub(super) at: Millis,
    pub(super) schema: u32,
    pub(super) uses: Option<PostId>,
}

impl Link {
    /// The hash of an append with a content of that digest, after one with the hash `before`; zeros before the first.
    pub(super) fn hash(self, before: &Digest, content: &Digest) -> Digest {
        let mut hash = Sha256::new();
        hash.update(before);
        hash.update(self.run.0.as_bytes());
        // No post has the number 0.
        let uses = self.uses.map_or(0, |post| post.0);
        for number in [self.last, self.count, self.at, u64::from(self.schema), uses] {
            hash.update(number.to_be_bytes());
        }
        hash.update(content);
        hash.finalize().into()
    }
}

/// The digest of an append's content: its cause, a line feed, and its body.
pub(super) fn content(cause: impl AsRef<[u8]>, body: impl AsRef<[u8]>) -> Digest {
    let mut hash = Sha256::new();
    hash.update(cause);
    hash.update(b"\n");
    hash.update(body);
    hash.finalize().into()
}

/// Looks along the chain of one run, or of all. Gives run and last event of each append that is not what was written, at most
/// so many. One append is in memory at a time.
pub(super) fn look(
    connection: &Connection,
    only: Option<RunId>,
    named: usize,
) -> Result<Vec<(RunId, u64)>, Fault> {
    let mut query = connection.prepare(
        "SELECT runs.run, appends.run, last, count, at, schema, cause, body, chain, uses FROM appends \
         JOIN runs ON runs.no = appends.run WHERE ?1 IS NULL OR runs.run = ?1 ORDER BY appends.run, last",
    )?;
    let mut rows = query.query([only.map(|run| run.0.as_bytes().to_vec())])?;
    let mut changed = Vec::new();
    let mut before: Option<(i64, u64, Digest)> = None;
    while let Some(row) = rows.next()? {
        let (no, run): (i64, RunId) = (row.get(1)?, rows::run_id(row, 0)?);
        let [last, count, at] = [row.get::<_, i64>(2)?, row.get(3)?, row.get(4)?].map(i64::cast_unsigned);
        let uses = row.get::<_, Option<i64>>(9)?.map(|post| PostId(post.cast_unsigned()));
        let link = Link { run, last, count, at, schema: row.get(5)?, uses };
        let text = |column| row.get_ref(column)?.as_bytes().map_err(rusqlite::Error::from);
        let content = content(text(6)?, text(7)?);
        // One of another length is one that was changed.
        let stored = Digest::try_from(text(8)?).unwrap_or_default();
        let (there, hash) = match before.filter(|(other, ..)| *other == no) {
            Some((_, there, hash)) => (there, hash),
            None => (0, Digest::default()),
        };
        // What is missing before it is said elsewhere, and its hash cannot be known.
        let known = there + count == last;
        if known && link.hash(&hash, &content) != stored && changed.len() < named {
            changed.push((run, last));
        }
        before = Some((no, last, stored));
    }
    Ok(changed)
}
