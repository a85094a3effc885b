//! Leases on the runs in memory. A holder is alive until it gives up its lease or is declared dead.

use windlass_core::event::{CLOCK_JUMP_MS, Millis};
use windlass_core::{RunId, RunState};

use super::{Run, Runs};
use crate::error::StoreError;
use crate::opening::Opening;
use crate::{Claim, Due, Fence, Holder, RunCounts, RunSummary, Wake};

/// The last hold on a run, given up or not.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) fence: Fence,
    /// The claim that it was acquired by; `None`: the run's first append took it.
    claim: Option<Claim>,
    pub(super) held: bool,
    /// Its holder was declared dead: another one may take over, but until then it may append.
    pub(super) dead: bool,
}

impl Lease {
    /// The lease that a run's first append takes.
    pub(super) fn first(fence: Fence, held: bool) -> Self {
        Self { fence, claim: None, held, dead: false }
    }

    /// Whether this claim of this holder has it.
    fn is_claimed(&self, holder: &Holder, claim: Claim) -> bool {
        self.held && !self.dead && self.fence.holder == *holder && self.claim == Some(claim)
    }
}

impl Runs {
    pub(in crate::memory) fn acquire(
        &mut self,
        run: RunId,
        holder: &Holder,
        claim: Claim,
    ) -> Result<Fence, StoreError> {
        let hold = &mut self.get_mut(run)?.hold;
        if hold.is_claimed(holder, claim) {
            return Ok(hold.fence.clone());
        }
        if hold.held && !hold.dead {
            return Err(StoreError::Held { run, holder: hold.fence.holder.0.to_string() });
        }
        let fence = Fence { holder: holder.clone(), epoch: hold.fence.epoch + 1 };
        *hold = Lease { fence: fence.clone(), claim: Some(claim), held: true, dead: false };
        Ok(fence)
    }

    pub(in crate::memory) fn acquire_due(
        &mut self,
        due: &Due,
    ) -> Result<Vec<(RunSummary, Fence)>, StoreError> {
        let Due { holder, claim, .. } = due;
        let claimed = |run: &Run| run.hold.is_claimed(holder, *claim);
        let again = self.by_id.values().any(claimed);
        let wanted = |id: RunId, run: &Run| {
            if again { claimed(run) } else { run.is_free_for(due) && !due.leaves(id, run.version) }
        };
        let wanted = self.by_id.iter().filter(|(id, run)| wanted(**id, run));
        let mut found: Vec<(u64, RunId)> = wanted.map(|(id, run)| (run.number, *id)).collect();
        found.sort_unstable();
        let limit = if again { usize::MAX } else { due.limit };
        let acquired = found.into_iter().take(limit).map(|(_, run)| {
            let fence = self.acquire(run, holder, *claim)?;
            Ok((self.summary(run)?, fence))
        });
        acquired.collect()
    }

    /// Whether a lease still stands.
    pub(in crate::memory) fn renew(&self, run: RunId, fence: &Fence) -> Result<Option<Millis>, StoreError> {
        let there = self.get(run)?;
        // Its holder lives in this process.
        there.check(run, there.version, fence).map(|()| None)
    }

    pub(in crate::memory) fn release(&mut self, run: RunId, fence: &Fence) -> Result<(), StoreError> {
        let hold = &mut self.get_mut(run)?.hold;
        if hold.fence == *fence {
            hold.held = false;
        }
        Ok(())
    }

    pub(in crate::memory) fn park(
        &mut self,
        run: RunId,
        fence: &Fence,
        wake: Option<Wake>,
    ) -> Result<(), StoreError> {
        let there = self.get_mut(run)?;
        if there.hold.fence == *fence && there.hold.held {
            there.hold.held = false;
            there.state = RunState::Suspended;
            there.wake = wake;
        }
        Ok(())
    }

    pub(in crate::memory) fn counts(&self, now: Millis) -> RunCounts {
        let mut counts = RunCounts::default();
        for run in self.by_id.values() {
            match run.state {
                RunState::Running => counts.running += 1,
                RunState::Suspended => counts.suspended += 1,
                RunState::Ended(_) => counts.ended += 1,
            }
            if run.is_free() && run.is_due(now) && Opening::of(run.first()).parent.is_none() {
                let since = run.due_since().unwrap_or(now).min(now);
                counts.due += 1;
                counts.due_since = Some(counts.due_since.map_or(since, |other| other.min(since)));
            }
        }
        counts
    }

    pub(in crate::memory) fn forget_holder(&mut self, holder: &Holder) {
        self.by_id
            .values_mut()
            .filter(|run| run.hold.fence.holder == *holder)
            .for_each(|run| run.hold.dead = true);
    }
}

impl Run {
    fn is_free(&self) -> bool {
        !self.hold.held || self.hold.dead
    }

    /// Since when a run that is due can go on.
    fn due_since(&self) -> Option<Millis> {
        if self.state == RunState::Running {
            return self.batches.last().and_then(|batch| batch.events.last()).map(|event| event.at);
        }
        self.waiting().map(|posted| posted.at).chain(self.wake.map(|wake| wake.at)).min()
    }

    /// Whether it is due, and nobody's.
    pub(super) fn is_free_for(&self, due: &Due) -> bool {
        if !(self.is_free() && self.is_due(due.now)) {
            return false;
        }
        let opening = Opening::of(self.first());
        let fits = due.agents.is_empty() || due.agents.contains(&opening.agent);
        fits && !due.without_owners.contains(&opening.owner) && opening.parent.is_none()
    }

    pub(super) fn is_due(&self, now: Millis) -> bool {
        match self.state {
            RunState::Running => true,
            RunState::Suspended => {
                let set_back = |wake: Wake| wake.from > now.saturating_add(CLOCK_JUMP_MS);
                self.waiting().len() > 0 || self.wake.is_some_and(|wake| wake.at <= now || set_back(wake))
            }
            RunState::Ended(_) => false,
        }
    }
}
