//! Changing a log: what each write does inside the writer's transaction.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};
use windlass_core::event::Millis;
use windlass_core::{Fact, RunId, RunState, Text};

use super::chain::Link;
use super::pins::{self, Pins};
use super::rows::{self, Fault};
use super::{due, heads, holders, listings, payloads, usage};
use crate::error::StoreError;
use crate::opening::Opening;
use crate::payload::Digest;
use crate::{Claim, Due, Fence, Head, Headline, Holder, PostId, RunSummary, Wake};

/// Maximum number of runs that the writer caches. Beyond it, the cache is cleared.
const KNOWN_RUNS: usize = 8_192;

/// State of a run whose lease was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// As before.
    AsItIs,
    /// Suspended; with a timer, it continues by itself at that time.
    Suspended(Option<Wake>),
}

/// An append, its events already in their stored form.
#[derive(Debug)]
pub(super) struct NewEvents {
    pub(super) run: RunId,
    pub(super) expected: u64,
    pub(super) fence: Fence,
    pub(super) uses: Option<PostId>,
    pub(super) heard: Option<PostId>,
    pub(super) head: Head,
    pub(super) headline: Headline,
    pub(super) run_state: RunState,
    /// Only for the first append of a run.
    pub(super) opening: Option<(Opening, Option<RunId>)>,
    /// Number of events.
    pub(super) count: u64,
    /// The times of the first and of the last event.
    pub(super) times: (Millis, Millis),
    /// The cause as JSON.
    pub(super) cause: String,
    /// The events as [`super::body`] writes them.
    pub(super) body: String,
    /// The digest of cause and body.
    pub(super) digest: Digest,
    /// The payloads that the events refer to.
    pub(super) needs: Vec<Digest>,
}

/// The writer's cache of a run. Valid as long as no other process has written.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) no: i64,
    version: u64,
    /// The hash of the last append.
    chain: Digest,
    pub(super) run_state: RunState,
    holder: Text,
    epoch: u64,
    held: Option<i64>,
    claim: Option<i64>,
    question: Option<Text>,
    queued: bool,
}

/// The writer's knowledge of the log, kept between transactions.
#[derive(Debug, Default)]
pub(super) struct WriterState {
    known: HashMap<RunId, Known>,
    data_version: Option<i64>,
    /// Under which numbers this process has entered itself in the table of holders.
    entered: HashMap<Text, i64>,
    /// The same for entries of the transaction that is going on.
    entering: Vec<Text>,
    pins: Pins,
}

impl WriterState {
    /// Called at the start of a transaction: forgets what another process may have changed.
    pub(super) fn begin(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let now: i64 = connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if self.data_version != Some(now) || self.known.len() > KNOWN_RUNS {
            self.known.clear();
        }
        self.data_version = Some(now);
        Ok(())
    }

    pub(super) fn committed(&mut self) {
        self.entering.clear();
    }

    pub(super) fn rolled_back(&mut self) {
        self.known.clear();
        for name in self.entering.drain(..) {
            self.entered.remove(&name);
        }
    }

    /// Forgets runs that are about to go.
    pub(super) fn forget(&mut self, runs: &[RunId]) {
        for run in runs {
            self.known.remove(run);
        }
    }

    /// This process' entries in the table of holders.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&Text, i64)> {
        self.entered.iter().map(|(name, id)| (name, *id))
    }

    /// Appends, or refuses without having written anything.
    pub(super) fn append(&mut self, connection: &Connection, new: &NewEvents) -> Result<(), Fault> {
        let run = new.run;
        let Some(known) = self.known(connection, run)? else {
            return self.create(connection, new);
        };
        known.check(new.run, &new.fence, new.expected)?;
        if matches!(new.run_state, RunState::Ended(_)) && unheard(connection, known.no, new)? {
            return Err(StoreError::Unheard { run }.into());
        }
        let needs = payloads::numbers(connection, &new.needs)?;
        if let Some(post) = new.uses {
            let used = connection
                .prepare_cached("DELETE FROM inbox WHERE id = ?1 AND run = ?2")?
                .execute([post.0.cast_signed(), known.no])?;
            if used == 0 {
                return Err(StoreError::PostUsed { run, post: post.0 }.into());
            }
        }
        known.chain = insert(connection, known.no, new, &known.chain)?;
        payloads::need(connection, known.no, &needs)?;
        self.pins.release(connection, &needs)?;
        let Some(known) = self.known.get_mut(&run) else { return Ok(()) };
        if known.run_state != new.run_state {
            let (name, detail) = rows::columns(new.run_state);
            known.held = known.held.filter(|_| new.run_state == RunState::Running);
            connection
                .prepare_cached("UPDATE runs SET status = ?2, detail = ?3, held = ?4 WHERE no = ?1")?
                .execute(params![known.no, name, detail, known.held])?;
            known.run_state = new.run_state;
        } else if new.run_state != RunState::Running {
            known.give_up(connection)?;
        }
        if known.question != new.headline.question {
            known.question.clone_from(&new.headline.question);
            connection
                .prepare_cached("UPDATE runs SET question = ?2 WHERE no = ?1")?
                .execute(params![known.no, known.question.as_deref()])?;
        }
        if known.queued != new.headline.queued {
            known.queued = new.headline.queued;
            heads::set_queued(connection, known.no, known.queued)?;
        }
        known.version += new.count;
        if matches!(new.run_state, RunState::Ended(_)) {
            connection.prepare_cached("DELETE FROM inbox WHERE run = ?1")?.execute([known.no])?;
            self.known.remove(&run);
        }
        Ok(())
    }

    fn create(&mut self, connection: &Connection, new: &NewEvents) -> Result<(), Fault> {
        let run = new.run;
        let Some((opening, base)) = new.opening.as_ref().filter(|_| new.expected == 0) else {
            return Err(StoreError::UnknownRun { run }.into());
        };
        if let Some(post) = new.uses {
            return Err(StoreError::PostUsed { run, post: post.0 }.into());
        }
        if let Head::Moves { from } = new.head {
            heads::check(connection, run, opening, from)?;
        }
        let needs = payloads::numbers(connection, &new.needs)?;
        let held = match new.run_state {
            RunState::Running => Some(self.enter(connection, &new.fence.holder)?),
            RunState::Suspended | RunState::Ended(_) => None,
        };
        let (name, detail) = rows::columns(new.run_state);
        let mut new_run = connection.prepare_cached(
            "INSERT INTO runs(run, agent, session, parent, base, started_at, title, status, detail, epoch, holder, held, owner, \
             question) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?;
        new_run.execute(params![
            run.0.as_bytes(),
            opening.agent.as_ref(),
            opening.session.as_ref().map(windlass_core::SessionId::as_str),
            opening.parent.as_ref().map(|parent| parent.0.as_bytes()),
            base.as_ref().map(|base| base.0.as_bytes()),
            new.times.0.cast_signed(),
            opening.title.as_ref(),
            name,
            detail,
            new.fence.epoch.cast_signed(),
            new.fence.holder.0.as_ref(),
            held,
            opening.owner.as_str(),
            new.headline.question.as_deref(),
        ])?;
        let no = connection.last_insert_rowid();
        if let Head::Moves { .. } = new.head {
            heads::put(connection, no, opening, new.headline.queued)?;
        }
        let chain = insert(connection, no, new, &Digest::default())?;
        payloads::need(connection, no, &needs)?;
        self.pins.release(connection, &needs)?;
        if let Some(held) = held {
            let Fence { holder, epoch } = new.fence.clone();
            let version = new.count;
            let Headline { question, queued, .. } = new.headline.clone();
            let known = Known {
                no,
                version,
                chain,
                run_state: new.run_state,
                holder: holder.0,
                epoch,
                held: Some(held),
                claim: None,
                question,
                queued,
            };
            self.known.insert(run, known);
        }
        Ok(())
    }

    /// Whether a lease still stands.
    pub(super) fn renew(&mut self, connection: &Connection, run: RunId, fence: &Fence) -> Result<(), Fault> {
        let known = self.known(connection, run)?.ok_or(StoreError::UnknownRun { run })?;
        Ok(known.check(run, fence, known.version)?)
    }

    pub(super) fn acquire(
        &mut self,
        connection: &Connection,
        run: RunId,
        holder: &Holder,
        claim: Claim,
    ) -> Result<Fence, Fault> {
        let known = self.known(connection, run)?.ok_or(StoreError::UnknownRun { run })?;
        if let Some(held) = known.held
            && holders::alive(connection, held)?
        {
            if known.holder == holder.0 && known.claim == Some(claim.0.cast_signed()) {
                return Ok(Fence { holder: holder.clone(), epoch: known.epoch });
            }
            // What only heartbeats tell of is watched from here on.
            holders::sight(connection, held)?;
            return Err(StoreError::Held { run, holder: known.holder.to_string() }.into());
        }
        let entry = self.enter(connection, holder)?;
        let known = self.known(connection, run)?.ok_or(StoreError::UnknownRun { run })?;
        let epoch = known.epoch + 1;
        let claim = claim.0.cast_signed();
        connection
            .prepare_cached("UPDATE runs SET holder = ?2, epoch = ?3, held = ?4, claim = ?5 WHERE no = ?1")?
            .execute(params![known.no, holder.0.as_ref(), epoch.cast_signed(), entry, claim])?;
        known.holder = holder.0.clone();
        known.epoch = epoch;
        known.held = Some(entry);
        known.claim = Some(claim);
        Ok(Fence { holder: holder.clone(), epoch })
    }

    fn version(&mut self, connection: &Connection, run: RunId) -> Result<u64, Fault> {
        Ok(self.known(connection, run)?.map_or(0, |known| known.version))
    }

    /// Acquires runs that are due and free, or those that this claim has already.
    pub(super) fn acquire_due(
        &mut self,
        connection: &Connection,
        due: &Due,
    ) -> Result<Vec<(RunSummary, Fence)>, Fault> {
        let mut acquired = Vec::new();
        let again = due::claimed(connection, due)?;
        let (runs, limit) =
            if again.is_empty() { (due::due(connection, due)?, due.limit) } else { (again, usize::MAX) };
        for run in runs {
            if acquired.len() >= limit {
                break;
            }
            if limit != usize::MAX
                && !due.without.is_empty()
                && due.leaves(run, self.version(connection, run)?)
            {
                continue;
            }
            match self.acquire(connection, run, &due.holder, due.claim) {
                Ok(fence) => acquired.push((listings::summary(connection, run)?, fence)),
                Err(Fault::Store(StoreError::Held { .. })) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(acquired)
    }

    pub(super) fn release(
        &mut self,
        connection: &Connection,
        run: RunId,
        fence: &Fence,
        left: Left,
    ) -> Result<(), Fault> {
        let known = self.known(connection, run)?.ok_or(StoreError::UnknownRun { run })?;
        if known.epoch == fence.epoch && known.holder == fence.holder.0 {
            if let (Left::Suspended(wake), Some(_)) = (left, known.held) {
                let (name, _) = rows::columns(RunState::Suspended);
                let detail = wake.map(|wake| wake.at.to_string());
                let from = wake.map(|wake| wake.from.cast_signed());
                connection
                    .prepare_cached(
                        "UPDATE runs SET status = ?2, detail = ?3, suspended_at = ?4 WHERE no = ?1",
                    )?
                    .execute(params![known.no, name, detail, from])?;
                known.run_state = RunState::Suspended;
            }
            known.give_up(connection)?;
        }
        Ok(())
    }

    /// Stores a payload and pins it, until an append of this process names it.
    pub(super) fn put(
        &mut self,
        connection: &Connection,
        digest: &Digest,
        bytes: &[u8],
    ) -> rusqlite::Result<()> {
        let payload = payloads::put(connection, digest, bytes)?;
        let entry = self.enter(connection, &Holder(pins::HOLDER.into()))?;
        self.pins.pin(connection, payload, entry)
    }

    /// Gives up the pins of payloads that no append has named for too long.
    pub(super) fn unpin_old(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.pins.release_old(connection)
    }

    /// Whether this process must say that it lives for the sake of what it pinned.
    pub(super) fn pinned(&self) -> bool {
        self.pins.any()
    }

    /// Gives up all holds on these runs that are still ours, and takes this process off the table.
    pub(super) fn leave(&mut self, connection: &Connection, held: &[RunId]) -> Result<(), Fault> {
        let ours: Vec<i64> = self.entered.values().copied().collect();
        for run in held {
            if let Some(known) = self.known(connection, *run)?
                && known.held.is_some_and(|held| ours.contains(&held))
            {
                known.give_up(connection)?;
            }
        }
        for id in ours {
            holders::remove(connection, id)?;
        }
        Ok(())
    }

    /// The number of this process as a holder of that name.
    fn enter(&mut self, connection: &Connection, holder: &Holder) -> rusqlite::Result<i64> {
        if let Some(id) = self.entered.get(&holder.0) {
            return Ok(*id);
        }
        let id = holders::register(connection, &holder.0)?;
        self.entered.insert(holder.0.clone(), id);
        self.entering.push(holder.0.clone());
        Ok(id)
    }

    pub(super) fn known(&mut self, connection: &Connection, run: RunId) -> Result<Option<&mut Known>, Fault> {
        use std::collections::hash_map::Entry;
        match self.known.entry(run) {
            Entry::Occupied(known) => Ok(Some(known.into_mut())),
            Entry::Vacant(vacant) => Ok(Known::load(connection, run)?.map(|known| vacant.insert(known))),
        }
    }
}

impl Known {
    fn load(connection: &Connection, run: RunId) -> Result<Option<Self>, Fault> {
        let row = connection
            .prepare_cached(
                "SELECT no, status, detail, holder, epoch, held, question, claim, \
                 coalesce((SELECT queued FROM heads WHERE heads.run = no), 0) FROM runs WHERE run = ?1",
            )?
            .query_row([run.0.as_bytes()], |row| {
                let columns: (String, Option<String>) = (row.get(1)?, row.get(2)?);
                let hold: (String, i64, Option<i64>) = (row.get(3)?, row.get(4)?, row.get(5)?);
                let rest: (Option<String>, Option<i64>, bool) = (row.get(6)?, row.get(7)?, row.get(8)?);
                Ok((row.get(0)?, columns, hold, rest))
            })
            .optional()?;
        let Some((no, (name, detail), (holder, epoch, held), (question, claim, queued))) = row else {
            return Ok(None);
        };
        let (version, chain) = rows::last(connection, no)?;
        Ok(Some(Self {
            no,
            version,
            chain,
            run_state: rows::run_state(&name, detail)?,
            holder: holder.into(),
            epoch: epoch.cast_unsigned(),
            held,
            claim,
            question: question.map(Into::into),
            queued,
        }))
    }

    /// The lease is checked before the version: a lost lease is reported as such, not as a conflict.
    fn check(&self, run: RunId, fence: &Fence, expected: u64) -> Result<(), StoreError> {
        if expected > 0 && (fence.epoch != self.epoch || fence.holder.0 != self.holder) {
            let (holder, current) = (self.holder.to_string(), self.epoch);
            return Err(StoreError::Fenced { run, holder, ours: fence.epoch, current });
        }
        if expected != self.version {
            return Err(StoreError::Conflict { run, expected, found: self.version });
        }
        if self.held.is_none() {
            return Err(StoreError::NotHeld { run, epoch: self.epoch });
        }
        Ok(())
    }

    fn give_up(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if self.held.take().is_some() {
            connection.prepare_cached("UPDATE runs SET held = NULL WHERE no = ?1")?.execute([self.no])?;
        }
        Ok(())
    }
}

/// Whether the run's inbox has posts that the holder has not read.
fn unheard(connection: &Connection, no: i64, new: &NewEvents) -> rusqlite::Result<bool> {
    let place = |post: Option<PostId>| post.map_or(0, |post| i64::try_from(post.0).unwrap_or(i64::MAX));
    connection
        .prepare_cached("SELECT EXISTS(SELECT 1 FROM inbox WHERE run = ?1 AND id > ?2 AND id <> ?3)")?
        .query_row([no, place(new.heard), place(new.uses)], |row| row.get(0))
}

/// The columns of an append in the order of the table, without their names: the statement's text is copied with each use.
const INSERT: &str = "INSERT INTO appends VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

/// Writes the row of an append. Gives its hash.
fn insert(connection: &Connection, no: i64, new: &NewEvents, before: &Digest) -> rusqlite::Result<Digest> {
    let last = new.expected.saturating_add(new.count);
    let link =
        Link { run: new.run, last, count: new.count, at: new.times.1, schema: Fact::SCHEMA, uses: new.uses };
    let hash = link.hash(before, &new.digest);
    let [input, output, cached, cache_write, reasoning, own_cost, unpriced] =
        usage::values_of(new.headline.spend);
    connection
        .prepare_cached(INSERT)?
        .execute(params![
            no,
            last.cast_signed(),
            new.count.cast_signed(),
            new.times.1.cast_signed(),
            Fact::SCHEMA,
            new.cause,
            new.body,
            new.uses.map(|post| post.0.cast_signed()),
            new.headline.cost.map(|cost| cost.min(i64::MAX as u64).cast_signed()),
            hash,
            input,
            output,
            cached,
            cache_write,
            reasoning,
            own_cost,
            unpriced,
        ])
        .map(|_| hash)
}
