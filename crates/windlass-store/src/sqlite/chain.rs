//! The hash chain of a run: each append's row holds a SHA-256 over its own content and the hash before it, so that a change
//! of any letter is found. It has no key: it finds damage, not forgery.
//!
//! A chain never leaves its run, so that pruning breaks none. The body is hashed on the appender's thread; the writer
//! only hashes the two digests and the columns.

use rusqlite::Connection;
use sha2::{Digest as _, Sha256};
use windlass_core::{Millis, RunId};

use super::rows::{self, Fault};
use crate::PostId;
use crate::payload::Digest;

/// What a row says beside its body.
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
    /// The hash of an append with a body of that digest, after one with the hash `before`.
    pub(super) fn hash(self, before: Option<&Digest>, body: &Digest) -> Digest {
        let mut hash = Sha256::new();
        hash.update(before.unwrap_or(&Digest::default()));
        hash.update(self.run.0.as_bytes());
        // No post has the number 0.
        let uses = self.uses.map_or(0, |post| post.0);
        for number in [self.last, self.count, self.at, u64::from(self.schema), uses] {
            hash.update(number.to_be_bytes());
        }
        hash.update(body);
        hash.finalize().into()
    }
}

/// The digest of a body.
pub(super) fn body(text: &str) -> Digest {
    Sha256::digest(text).into()
}

/// What a look along the chains has found.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// How many appends have no hash: an earlier format wrote them.
    pub(super) unhashed: u64,
    /// Run and last event of each append that is not what was written, at most as many as were asked for.
    pub(super) changed: Vec<(RunId, u64)>,
}

/// Looks along the chain of one run, or of all. One append is in memory at a time.
pub(super) fn look(connection: &Connection, only: Option<RunId>, named: usize) -> Result<Looked, Fault> {
    let mut query = connection.prepare(
        "SELECT runs.run, appends.run, last, count, at, schema, body, chain, unhashed, uses FROM appends \
         JOIN runs ON runs.no = appends.run WHERE ?1 IS NULL OR runs.run = ?1 ORDER BY appends.run, last",
    )?;
    let mut rows = query.query([only.map(|run| run.0.as_bytes().to_vec())])?;
    let mut looked = Looked::default();
    let mut before: Option<(i64, u64, Option<Digest>)> = None;
    while let Some(row) = rows.next()? {
        let (no, run): (i64, RunId) = (row.get(1)?, rows::run_id(row, 0)?);
        let [last, count, at] = [row.get::<_, i64>(2)?, row.get(3)?, row.get(4)?].map(i64::cast_unsigned);
        let uses = row.get::<_, Option<i64>>(9)?.map(|post| PostId(post.cast_unsigned()));
        let link = Link { run, last, count, at, schema: row.get(5)?, uses };
        let text = row.get_ref(6)?.as_bytes().map_err(rusqlite::Error::from)?;
        let stored: Option<Digest> = row.get(7)?;
        let (there, hash) = match before.take().filter(|(other, ..)| *other == no) {
            Some((_, there, hash)) => (there, hash),
            None => (0, None),
        };
        match stored {
            None if last <= row.get::<_, i64>(8)?.cast_unsigned() => looked.unhashed += 1,
            // What is missing before it is said elsewhere, and its hash cannot be known.
            Some(_) if there + count != last => {}
            Some(stored) if link.hash(hash.as_ref(), &Sha256::digest(text).into()) == stored => {}
            _ if looked.changed.len() < named => looked.changed.push((run, last)),
            _ => {}
        }
        before = Some((no, last, stored));
    }
    Ok(looked)
}
