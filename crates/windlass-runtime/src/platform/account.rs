//! Accounts: one limit that the runs of a family draw on in this process, first come first served.
//!
//! A run whose policy shares its limits (`loop.share: shared`) opens an account; the runs that do tasks of it draw on it,
//! and so do theirs. Each model call reserves before it begins and settles when it has ended, without the driver. The log
//! alone says what was used: a run that is resumed opens its account anew from there.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::pin_mut;
use tokio::sync::Notify;
use windlass_core::budget::{Account, Amount, Need, Reservation, Short, Undrawn};
use windlass_core::policy::Share;
use windlass_core::{RunId, State};
use windlass_read::load;
use windlass_store::{Store, StoreError};

use crate::platform::child_runs::child_runs;
use crate::platform::error::Error;

/// An account that several runs draw on.
pub(crate) struct SharedAccount {
    account: Mutex<Account>,
    /// The account that this one's run draws on itself.
    parent: Option<Arc<SharedAccount>>,
    family: Arc<Family>,
}

/// The state that the accounts of a family share.
#[derive(Default)]
struct Family {
    /// Held while a call draws on one account after another: nobody sees what it takes and gives back.
    drawing: Mutex<()>,
    /// Tells all who wait for an account of this family that something was settled.
    settled: Notify,
}

impl fmt::Debug for SharedAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedAccount").field("account", &*self.lock()).finish_non_exhaustive()
    }
}

impl SharedAccount {
    fn new(account: Account, parent: Option<Arc<Self>>) -> Arc<Self> {
        let family = parent.as_ref().map_or_else(Arc::default, |parent| parent.family.clone());
        Arc::new(Self { account: Mutex::new(account), parent, family })
    }

    fn lock(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run's limits may have been raised or changed.
    pub(crate) fn limited_by(&self, state: &State) {
        if opens(state) && self.lock().limit(state.metered_limits()) {
            self.family.settled.notify_waiters();
        }
    }

    /// Reserves what a call may use, here and in the parent accounts. A call that fits once others have ended waits for them.
    pub(crate) async fn draw(self: &Arc<Self>, need: &Need) -> Result<Drawn, Short> {
        loop {
            let settled = self.family.settled.notified();
            pin_mut!(settled);
            settled.as_mut().enable();
            match self.draw_now(need) {
                Ok(drawn) => return Ok(drawn),
                Err(Undrawn::Never(short)) => return Err(short),
                Err(Undrawn::NotYet(_)) => settled.await,
            }
        }
    }

    fn draw_now(self: &Arc<Self>, need: &Need) -> Result<Drawn, Undrawn> {
        let _drawing = self.family.drawing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut drawn = Drawn::default();
        let mut next = Some(self);
        while let Some(account) = next {
            let reserved = account.lock().draw(need);
            match reserved {
                Ok(reserved) => drawn.0.push((account.clone(), reserved)),
                Err(undrawn) => {
                    drawn.give_back();
                    return Err(undrawn);
                }
            }
            next = account.parent.as_ref();
        }
        Ok(drawn)
    }
}

/// Reservations of a call in progress. A drop before the call has ended means that it was lost: its reservation stays.
#[derive(Default)]
pub(crate) struct Drawn(Vec<(Arc<SharedAccount>, Reservation)>);

impl Drawn {
    pub(crate) fn settle(mut self, used: Amount) {
        self.end(|_| used);
    }

    /// The call was stopped, and may be billed in full: the larger one of each counts.
    pub(crate) fn stopped(mut self, used: Amount) {
        self.end(|reserved| used.plus(reserved.sure.minus(used)));
    }

    /// Undoes a drawing that came to nothing. Nobody is notified: whoever waits would ask again, wake the others with what it
    /// gives back, and so on for ever.
    fn give_back(mut self) {
        for (account, reserved) in self.0.drain(..) {
            account.lock().settle(&reserved, Amount::default());
        }
    }

    fn end(&mut self, used: impl Fn(&Reservation) -> Amount) {
        for (account, reserved) in self.0.drain(..) {
            account.lock().settle(&reserved, used(&reserved));
            account.family.settled.notify_waiters();
        }
    }
}

impl Drop for Drawn {
    fn drop(&mut self) {
        self.end(|reserved| reserved.sure);
    }
}

/// Whether a run opens an account of its own.
fn opens(state: &State) -> bool {
    state.policy().bounds.share == Share::Shared && !state.metered_limits().is_unlimited()
}

/// Returns the account for a run's model calls: its own, which its child runs share, or an ancestor's, passed down by the
/// ancestor's driver. `None`: no shared limit.
///
/// # Errors
/// The log failed.
pub(crate) async fn account_of(
    log: &dyn Store,
    state: &State,
    given: Option<Arc<SharedAccount>>,
) -> Result<Option<Arc<SharedAccount>>, Error> {
    let parent = match (given, state.budget().account) {
        (Some(given), _) => Some(given),
        // This run was resumed without its parent.
        (None, Some(owner)) => Some(opened_for(log, owner, state).await?),
        (None, None) => None,
    };
    if !opens(state) {
        return Ok(parent);
    }
    let used = used_with_children(log, state, state).await?;
    Ok(Some(SharedAccount::new(Account::new(state.metered_limits(), used), parent)))
}

/// Opens the account of a run that is not driven here, with its ancestors' accounts. Each run is visited once, even if an
/// imported log contains a cycle.
async fn opened_for(log: &dyn Store, owner: RunId, own: &State) -> Result<Arc<SharedAccount>, Error> {
    let mut owners = vec![load(log, owner).await?];
    while let Some(parent) = owners.last().and_then(|last| last.budget().account)
        && owners.iter().all(|owner| owner.run() != parent)
    {
        owners.push(load(log, parent).await?);
    }
    let mut opened = None;
    while let Some(owner) = owners.pop() {
        let used = used_with_children(log, &owner, own).await?;
        opened = Some(SharedAccount::new(Account::new(owner.metered_limits(), used), opened));
    }
    opened.ok_or(Error::Log(StoreError::UnknownRun { run: owner }))
}

/// Usage and reservations of a run and its child runs, from their logs, without the calls of `own`, which draw anew.
async fn used_with_children(log: &dyn Store, state: &State, own: &State) -> Result<Amount, Error> {
    let known = if state.run() == own.run() { own.used_before() } else { state.used_or_lost() };
    Ok(known.plus(used_by_children(log, state, own).await?))
}

/// Usage and reservations of the child runs alone.
async fn used_by_children(log: &dyn Store, state: &State, own: &State) -> Result<Amount, Error> {
    let mut used = Amount::default();
    let mut seen = BTreeSet::from([state.run()]);
    let mut open: Vec<RunId> = child_runs(state).collect();
    while let Some(run) = open.pop() {
        if !seen.insert(run) {
            continue;
        }
        match log.summary(run).await {
            Ok(_) => {}
            Err(StoreError::UnknownRun { .. }) => continue,
            Err(error) => return Err(Error::Log(error)),
        }
        let state = load(log, run).await?;
        used = used.plus(if run == own.run() { own.used_before() } else { state.used_or_lost() });
        open.extend(child_runs(&state));
    }
    Ok(used)
}

/// Reservations left by a run that has not ended, and by its child runs, as if their process had died.
pub(crate) async fn open_reservations(log: &dyn Store, state: &State) -> Result<Amount, Error> {
    Ok(state.reserved_if_lost().plus(used_by_children(log, state, state).await?))
}

#[cfg(test)]
mod tests;
