//! Changing an inbox, inside the writer's transaction.

use rusqlite::{Connection, OptionalExtension, params};
use windlass_core::event::Millis;
use windlass_core::{RunId, RunState};

use super::changes::WriterState;
use super::rows::{self, Fault};
use crate::error::StoreError;
use crate::{Fence, INBOX_POSTS, KeyedPost, PostId, PostKey};

/// A post, its input already as JSON.
#[derive(Debug)]
pub(super) struct NewPost {
    pub(super) run: RunId,
    pub(super) at: Millis,
    pub(super) body: String,
    pub(super) key: Option<PostKey>,
}

impl WriterState {
    pub(super) fn post(&mut self, connection: &Connection, new: &NewPost) -> Result<PostId, Fault> {
        let run = new.run;
        let known = self.known(connection, run)?.ok_or(StoreError::UnknownRun { run })?;
        let (no, ended) = (known.no, matches!(known.run_state, RunState::Ended(_)));
        if let Some(key) = &new.key
            && let Some(post) = under(connection, run, no, key)?
        {
            return Ok(post);
        }
        if ended {
            return Err(StoreError::Ended { run }.into());
        }
        let waiting: i64 = connection
            .prepare_cached("SELECT count(*) FROM inbox WHERE run = ?1")?
            .query_row([no], |row| row.get(0))?;
        if waiting.cast_unsigned() >= INBOX_POSTS as u64 {
            return Err(StoreError::InboxFull { run, max: INBOX_POSTS }.into());
        }
        connection
            .prepare_cached("INSERT INTO inbox(run, at, body) VALUES (?1, ?2, ?3)")?
            .execute(params![no, new.at.cast_signed(), new.body])?;
        let post = connection.last_insert_rowid();
        if let Some(PostKey { owner, key, digest }) = &new.key {
            connection
                .prepare_cached(
                    "INSERT INTO post_keys(run, owner, key, digest, post) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![no, owner.as_str(), key.as_ref(), digest, post])?;
        }
        Ok(PostId(post.cast_unsigned()))
    }

    /// Takes a post out of the inbox. One that no append has used frees its key.
    pub(super) fn discard(
        &mut self,
        connection: &Connection,
        run: RunId,
        post: PostId,
        fence: &Fence,
    ) -> Result<(), Fault> {
        self.renew(connection, run, fence)?;
        let no = self.known(connection, run)?.ok_or(StoreError::UnknownRun { run })?.no;
        let post = post.0.cast_signed();
        connection.prepare_cached("DELETE FROM inbox WHERE id = ?1 AND run = ?2")?.execute([post, no])?;
        connection
            .prepare_cached(
                "DELETE FROM post_keys WHERE run = ?2 AND post = ?1 \
                 AND NOT EXISTS (SELECT 1 FROM appends WHERE uses = ?1 AND appends.run = ?2)",
            )?
            .execute([post, no])?;
        Ok(())
    }
}

/// The post that has the key, if it is the same request.
fn under(connection: &Connection, run: RunId, no: i64, key: &PostKey) -> Result<Option<PostId>, Fault> {
    let found: Option<(i64, [u8; 32])> = connection
        .prepare_cached("SELECT post, digest FROM post_keys WHERE run = ?1 AND owner = ?2 AND key = ?3")?
        .query_row(params![no, key.owner.as_str(), key.key.as_ref()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match found {
        Some((_, digest)) if digest != key.digest => {
            Err(StoreError::KeyReused { run, key: key.key.to_string() }.into())
        }
        found => Ok(found.map(|(post, _)| PostId(post.cast_unsigned()))),
    }
}

/// The newest post under a key that was used, else the newest that waits.
pub(super) fn posted(connection: &Connection, owner: &str, key: &str) -> Result<Option<KeyedPost>, Fault> {
    let found = connection
        .prepare_cached(POSTED)?
        .query_row([owner, key], |row| {
            Ok(KeyedPost {
                run: rows::run_id(row, 0)?,
                post: PostId(row.get::<_, i64>(1)?.cast_unsigned()),
                digest: row.get(2)?,
                is_used: row.get(3)?,
            })
        })
        .optional()?;
    Ok(found)
}

const POSTED: &str = "SELECT * FROM (SELECT runs.run, posted.post, posted.digest, \
     EXISTS (SELECT 1 FROM appends WHERE appends.uses = posted.post AND appends.run = posted.run) AS used, \
     EXISTS (SELECT 1 FROM inbox WHERE inbox.id = posted.post) AS waits \
     FROM post_keys AS posted JOIN runs ON runs.no = posted.run WHERE posted.owner = ?1 AND posted.key = ?2) \
     WHERE used OR waits ORDER BY used DESC, post DESC LIMIT 1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_by_its_index() {
        let log = crate::sqlite::file::in_memory();
        let mut query = log.prepare(&format!("EXPLAIN QUERY PLAN {POSTED}")).unwrap();
        let lines = query.query_map(["local", "k"], |row| row.get::<_, String>(3)).unwrap();
        let plan = lines.collect::<Result<Vec<_>, _>>().unwrap().join("\n");
        assert!(plan.contains("SEARCH posted USING INDEX post_keys_by_key (owner=? AND key=?)"), "{plan}");
        assert!(!plan.contains("SCAN"), "{plan}");
    }

    /// Plans that depend on bound values are made anew at each use, which costs ten times the query.
    #[tokio::test]
    async fn a_key_is_looked_up_without_planning_anew() {
        let folder = tempfile::tempdir().unwrap();
        let log = crate::SqliteLog::open(folder.path().join("log.db")).unwrap();
        let planned = |connection: &Connection| {
            for key in ["one", "two", "three"] {
                assert!(posted(connection, "local", key)?.is_none());
            }
            let query = connection.prepare_cached(POSTED)?;
            Ok(query.get_status(rusqlite::StatementStatus::RePrepare))
        };
        assert_eq!(log.inner.readers.read(planned).await.unwrap(), 0);
    }
}
