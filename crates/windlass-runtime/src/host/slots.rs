//! Places for runs that are driven at once, given in turn to the owners that wait for one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use windlass_core::{Owner, Text};

/// How many runs are driven at once in one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// In all.
    pub at_once: usize,
    /// Of one owner; `None`: as many as there are places.
    pub of_an_owner: Option<usize>,
    /// Of one agent; `None`: as many as there are places.
    pub of_an_agent: Option<usize>,
    /// Runs that may wait for a place; further ones are refused.
    pub waiting: usize,
}

impl Default for Limits {
    /// 64 runs at once, without other bounds, and 10,000 that wait.
    fn default() -> Self {
        Self { at_once: 64, of_an_owner: None, of_an_agent: None, waiting: 10_000 }
    }
}

/// Whose run wants a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Whose {
    pub(super) owner: Owner,
    pub(super) agent: Text,
}

/// The places of a process.
#[derive(Debug)]
pub(super) struct Slots {
    limits: Limits,
    queue: Mutex<Queue>,
    /// Changes when a place becomes free.
    freed: tokio::sync::watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Queue {
    taken: usize,
    of_owner: BTreeMap<Owner, usize>,
    of_agent: BTreeMap<Text, usize>,
    /// The runs that wait, by owner; the owner whose turn is next comes first.
    waiting: VecDeque<(Owner, VecDeque<Waiter>)>,
    waiters: usize,
}

#[derive(Debug)]
struct Waiter {
    agent: Text,
    place: oneshot::Sender<Place>,
}

/// A place, until this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    slots: Arc<Slots>,
    whose: Option<Whose>,
}

/// All places are taken, and too many runs wait for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full {
    pub(super) waiting: usize,
}

/// A place, now or later.
#[derive(Debug)]
pub(super) enum Entered {
    Now(Place),
    Later(oneshot::Receiver<Place>),
}

impl Slots {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, queue: Mutex::default(), freed: tokio::sync::watch::Sender::new(0) })
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a place. Who waits gets one in turn with the other owners that wait.
    ///
    /// # Errors
    /// Too many wait already.
    pub(super) fn enter(self: &Arc<Self>, whose: Whose) -> Result<Entered, Full> {
        let mut queue = self.lock();
        if queue.may_run(&self.limits, &whose.owner, &whose.agent) && queue.is_first(&whose.owner) {
            queue.take(&whose);
            return Ok(Entered::Now(Place { slots: self.clone(), whose: Some(whose) }));
        }
        if queue.waiters >= self.limits.waiting {
            queue.forget_gone();
        }
        if queue.waiters >= self.limits.waiting {
            return Err(Full { waiting: queue.waiters });
        }
        let (sender, receiver) = oneshot::channel();
        queue.wait(whose.owner, Waiter { agent: whose.agent, place: sender });
        Ok(Entered::Later(receiver))
    }

    /// Whether too many wait for another one to be taken on.
    pub(super) fn is_full(&self, whose: &Whose) -> Option<Full> {
        let mut queue = self.lock();
        let waits = !queue.may_run(&self.limits, &whose.owner, &whose.agent);
        if waits && queue.waiters >= self.limits.waiting {
            queue.forget_gone();
        }
        (waits && queue.waiters >= self.limits.waiting).then_some(Full { waiting: queue.waiters })
    }

    /// The places that are free now, and the owners that have all of theirs.
    pub(super) fn free(&self) -> (usize, Vec<Owner>) {
        let queue = self.lock();
        let most = self.limits.of_an_owner.unwrap_or(usize::MAX);
        let full = queue.of_owner.iter().filter(|(_, taken)| **taken >= most).map(|(owner, _)| owner.clone());
        // Those who wait while a place is free wait for one of their owner or agent.
        (self.limits.at_once.saturating_sub(queue.taken), full.collect())
    }

    /// How many places are taken, and how many wait for one.
    pub(super) fn counts(&self) -> (usize, usize) {
        let queue = self.lock();
        (queue.taken, queue.waiters)
    }

    /// Changes when a place becomes free.
    pub(super) fn freed(&self) -> tokio::sync::watch::Receiver<u64> {
        self.freed.subscribe()
    }

    fn leave(self: &Arc<Self>, whose: &Whose) {
        let mut refused = Vec::new();
        {
            let mut queue = self.lock();
            queue.give_back(whose);
            while let Some((waiter, next)) = queue.next(&self.limits) {
                queue.take(&next);
                let place = Place { slots: self.clone(), whose: Some(next) };
                if let Err(mut unused) = waiter.place.send(place) {
                    // Nobody waits any more: given back without the lock, which is held here.
                    if let Some(whose) = unused.whose.take() {
                        queue.give_back(&whose);
                    }
                    refused.push(unused);
                }
            }
        }
        drop(refused);
        self.freed.send_modify(|changes| *changes += 1);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(whose) = self.whose.take() {
            self.slots.leave(&whose);
        }
    }
}

impl Queue {
    fn may_run(&self, limits: &Limits, owner: &Owner, agent: &Text) -> bool {
        let is_under = |most: Option<usize>, taken: Option<&usize>| {
            most.is_none_or(|most| taken.copied().unwrap_or_default() < most)
        };
        self.taken < limits.at_once
            && is_under(limits.of_an_owner, self.of_owner.get(owner))
            && is_under(limits.of_an_agent, self.of_agent.get(agent))
    }

    /// Whether nobody of that owner waits before.
    fn is_first(&self, owner: &Owner) -> bool {
        self.waiting.iter().all(|(other, _)| other != owner)
    }

    fn take(&mut self, whose: &Whose) {
        self.taken += 1;
        *self.of_owner.entry(whose.owner.clone()).or_default() += 1;
        *self.of_agent.entry(whose.agent.clone()).or_default() += 1;
    }

    fn give_back(&mut self, whose: &Whose) {
        self.taken = self.taken.saturating_sub(1);
        let owner = self.of_owner.get_mut(&whose.owner).map(less);
        if owner == Some(0) {
            self.of_owner.remove(&whose.owner);
        }
        let agent = self.of_agent.get_mut(&whose.agent).map(less);
        if agent == Some(0) {
            self.of_agent.remove(&whose.agent);
        }
    }

    fn wait(&mut self, owner: Owner, waiter: Waiter) {
        self.waiters += 1;
        match self.waiting.iter_mut().find(|(other, _)| *other == owner) {
            Some((_, waiters)) => waiters.push_back(waiter),
            None => self.waiting.push_back((owner, VecDeque::from([waiter]))),
        }
    }

    /// Forgets those who wait no more.
    fn forget_gone(&mut self) {
        for (_, waiters) in &mut self.waiting {
            waiters.retain(|waiter| !waiter.place.is_closed());
        }
        self.waiting.retain(|(_, waiters)| !waiters.is_empty());
        self.waiters = self.waiting.iter().map(|(_, waiters)| waiters.len()).sum();
    }

    /// The one that waits and whose turn it is. Its owner waits behind the others from then on.
    fn next(&mut self, limits: &Limits) -> Option<(Waiter, Whose)> {
        let place = self.waiting.iter().position(|(owner, waiters)| {
            waiters.iter().any(|waiter| self.may_run(limits, owner, &waiter.agent))
        })?;
        let (owner, mut waiters) = self.waiting.remove(place)?;
        let first = waiters.iter().position(|waiter| self.may_run(limits, &owner, &waiter.agent))?;
        let waiter = waiters.remove(first)?;
        self.waiters -= 1;
        if !waiters.is_empty() {
            self.waiting.push_back((owner.clone(), waiters));
        }
        let agent = waiter.agent.clone();
        Some((waiter, Whose { owner, agent }))
    }
}

fn less(count: &mut usize) -> usize {
    *count = count.saturating_sub(1);
    *count
}

#[cfg(test)]
mod tests;
