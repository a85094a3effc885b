//! Taking up what is due: runs of dead processes, and suspended ones that an answer or a timer brings on.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use windlass_core::event::Millis;
use windlass_core::{Owner, RunId};
use windlass_read::load;
use windlass_store::{Claim, Due, Fence};

use super::Host;
use super::queues::Queues;
use super::reports::{Done, LeftAlone, MOST, Outcome, REST_MS, Report, report_done};
use crate::agent::edges::holder;
use crate::driver::lost::{Lost, given_up};
use crate::driver::options::DriveOptions;
use crate::driver::taking_over::take_over_held;
use crate::platform::error::Error;
use crate::platform::retry::again;
use crate::work::prepared::Prepared;

impl Host {
    /// Takes up every due run without a driver, and goes on looking until `stop` is cancelled: a run that takes an hour delays no
    /// other. Child runs are left to their parents. A message that is queued in a session whose run has ended is answered after a second in
    /// which its own process did not. Each run is reported once it is no longer driven here.
    ///
    /// # Errors
    /// The log failed, or `report` gave an error.
    pub async fn supervise<E: From<Error>>(
        &self,
        stop: &CancellationToken,
        report: impl FnMut(Report) -> Result<(), E>,
    ) -> Result<(), E> {
        self.take_up(stop, true, report).await
    }

    /// Takes up every run that is due now, and waits for them.
    ///
    /// # Errors
    /// As for [`supervise`](Self::supervise).
    pub async fn take_up_due<E: From<Error>>(
        &self,
        stop: &CancellationToken,
        report: impl FnMut(Report) -> Result<(), E>,
    ) -> Result<(), E> {
        self.take_up(stop, false, report).await
    }

    async fn take_up<E: From<Error>>(
        &self,
        stop: &CancellationToken,
        goes_on: bool,
        mut report: impl FnMut(Report) -> Result<(), E>,
    ) -> Result<(), E> {
        let (sender, mut reports) = mpsc::unbounded_channel();
        let mut left_alone = LeftAlone::new();
        let mut queues = Queues::new(&self.inner.supervised);
        // A pass takes up what is due at its beginning, and not what becomes due by it.
        let begun_at = self.inner.environment.now();
        let mut under_way = 0_usize;
        loop {
            let (mut freed, mut due) = (self.inner.slots.freed(), self.inner.due.subscribe());
            let mut more = false;
            if !stop.is_cancelled() {
                let now = if goes_on { self.inner.environment.now() } else { begun_at };
                let (taken, may_be_more) = self.take_some(now, &mut left_alone, &sender).await?;
                under_way += taken;
                more = may_be_more;
                if goes_on {
                    under_way += self.take_queued(&mut queues, &mut left_alone, &sender, stop).await?;
                }
            }
            while let Ok(done) = reports.try_recv() {
                under_way -= 1;
                report_done(done, &mut left_alone, &mut report)?;
            }
            if stop.is_cancelled() {
                break;
            }
            if !(goes_on || more || under_way > 0) {
                return Ok(());
            }
            if more && self.inner.slots.free().0 > 0 {
                continue;
            }
            let environment = &*self.inner.environment;
            tokio::select! {
                () = stop.cancelled() => {}
                Some(done) = reports.recv() => {
                    under_way -= 1;
                    report_done(done, &mut left_alone, &mut report)?;
                }
                _ = freed.changed(), if more => {}
                _ = due.changed() => {}
                () = environment.sleep_until(environment.now().saturating_add(REST_MS)) => {}
            }
        }
        // What is under way is detached from, and reported.
        self.inner.live.detach_all();
        while under_way > 0 {
            let Some(done) = reports.recv().await else { break };
            under_way -= 1;
            report_done(done, &mut left_alone, &mut report)?;
        }
        Ok(())
    }

    /// Claims as many due runs as there are places, and begins them. Gives how many, and whether there may be more.
    async fn take_some(
        &self,
        now: Millis,
        left_alone: &mut LeftAlone,
        sender: &mpsc::UnboundedSender<Done>,
    ) -> Result<(usize, bool), Error> {
        let (free, full_owners) = self.inner.slots.free();
        let limit = free.min(MOST);
        if limit == 0 {
            return Ok((0, true));
        }
        let due = self.due(now, limit, full_owners, left_alone);
        let environment = &*self.inner.environment;
        let claimed = again(environment, || self.log().acquire_due(due.clone())).await?;
        let count = claimed.len();
        for (summary, fence) in claimed {
            // It is left alone as it is, until it is reported that it was driven.
            left_alone.insert(summary.run, summary.version);
            let host = self.clone();
            Self::in_background(sender, async move {
                let run = summary.run;
                let outcome = host.take_over(run, fence).await;
                let remains = outcome.remains();
                Done { taken: run, remains, report: Some(Report { run, outcome }) }
            });
        }
        Ok((count, count == limit))
    }

    /// Works on what was taken up in the background, and reports at last that it is done.
    pub(super) fn in_background(
        sender: &mpsc::UnboundedSender<Done>,
        work: impl Future<Output = Done> + Send + 'static,
    ) {
        let sender = sender.clone();
        tokio::spawn(async move {
            // Nobody listens any more: the run is as the log has it.
            let _unheard = sender.send(work.await);
        });
    }

    fn due(&self, now: Millis, limit: usize, owners: Vec<Owner>, left_alone: &LeftAlone) -> Due {
        Due {
            holder: holder(),
            claim: Claim::fresh(),
            agents: self.inner.supervised.clone(),
            without_owners: owners,
            without: left_alone.iter().map(|(run, version)| (*run, *version)).collect(),
            now,
            limit,
        }
    }

    async fn take_over(&self, run: RunId, fence: Fence) -> Outcome {
        match Box::pin(self.taken_over(run, &fence)).await {
            Ok(outcome) => outcome,
            Err(error) => {
                // Its lease is no longer ours where it was driven.
                let released = again(&*self.inner.environment, || self.log().release(run, &fence)).await;
                match (error, released) {
                    // Another process lost one more attempt meanwhile.
                    (Error::LostAttempts { run, attempts }, _) => Outcome::GivenUp(Lost { run, attempts }),
                    (error, _) => Outcome::Failed(error),
                }
            }
        }
    }

    async fn taken_over(&self, run: RunId, fence: &Fence) -> Result<Outcome, Error> {
        let log = &**self.log();
        let state = load(log, run).await?;
        if let Some(lost) = given_up(log, &state).await? {
            self.log().release(run, fence).await?;
            return Ok(Outcome::GivenUp(lost));
        }
        let agent = self.registry().of_run(&state).await?;
        let prepared =
            take_over_held(&agent, state, fence.clone(), DriveOptions::default()).await.map(Prepared::new)?;
        let driven = self.drive_unasked(&agent, prepared).end().await?;
        Ok(Outcome::Driven(Box::new(driven)))
    }
}
