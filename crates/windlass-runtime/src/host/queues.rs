//! Messages that are queued in a session and whose host is gone: a supervisor answers them.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use windlass_core::event::Millis;
use windlass_core::{RunId, State, Text};
use windlass_read::load;
use windlass_store::{Cursor, Page, RunFilter, RunSummary};

use super::Host;
use super::driving::LiveRun;
use super::reports::{Done, LeftAlone, MOST, Outcome, REST_MS, Report};
use crate::agent::Agent;
use crate::driver::options::DriveOptions;
use crate::host::admission::next_behind;
use crate::host::admission::turns::wait_for_another;
use crate::platform::error::Error;

/// A supervisor's looks for sessions whose head has ended while messages are queued.
#[derive(Debug)]
pub(super) struct Queues {
    next_look: Millis,
    /// The agents whose sessions are looked at, each with the place at which the next look goes on. `None`: of any agent.
    places: Vec<(Option<Text>, Option<Cursor>)>,
}

impl Queues {
    pub(super) fn new(agents: &[Text]) -> Self {
        let named = agents.iter().cloned().map(|agent| (Some(agent), None));
        let places = if agents.is_empty() { vec![(None, None)] } else { named.collect() };
        Self { next_look: 0, places }
    }

    /// Whether it is time for a look. A clock that was set back delays none.
    fn is_time(&mut self, now: Millis) -> bool {
        let rests = (1..=REST_MS).contains(&self.next_look.saturating_sub(now));
        if !rests {
            self.next_look = now.saturating_add(REST_MS);
        }
        !rests
    }
}

impl Host {
    /// Takes up the messages that wait in sessions whose head has ended, a page of sessions at each look. Gives how many it took.
    pub(super) async fn take_queued(
        &self,
        queues: &mut Queues,
        left_alone: &mut LeftAlone,
        sender: &mpsc::UnboundedSender<Done>,
        stop: &CancellationToken,
    ) -> Result<usize, Error> {
        if !(self.inner.answers_queued && queues.is_time(self.inner.environment.now())) {
            return Ok(0);
        }
        let (free, full_owners) = self.inner.slots.free();
        let mut taken = 0;
        for (agent, place) in &mut queues.places {
            let filter = RunFilter {
                queued: true,
                agent: agent.clone(),
                after: place.take(),
                limit: MOST,
                ..RunFilter::default()
            };
            let Page { items, next } = self.log().list(filter).await?;
            *place = next;
            let is_left = |line: &&RunSummary| {
                full_owners.contains(&line.owner) || left_alone.get(&line.run) == Some(&line.version)
            };
            let wanted: Vec<_> = items.iter().filter(|line| !is_left(line)).collect();
            for line in wanted.into_iter().take(free.saturating_sub(taken)) {
                left_alone.insert(line.run, line.version);
                let (host, head, stop) = (self.clone(), line.run, stop.clone());
                Self::in_background(sender, async move { host.answer_left(head, &stop).await });
                taken += 1;
            }
        }
        Ok(taken)
    }

    /// Answers the first message that waits behind an ended head, unless its own host does within a second.
    async fn answer_left(&self, head: RunId, stop: &CancellationToken) -> Done {
        match Box::pin(self.begun_behind(head, stop)).await {
            Ok(Some(live)) => {
                let run = live.id();
                let outcome = match live.end().await {
                    Ok(run) => Outcome::Driven(Box::new(run)),
                    Err(error) => Outcome::Failed(error),
                };
                Done { taken: head, remains: false, report: Some(Report { run, outcome }) }
            }
            Ok(None) => {
                // Another process was faster, or has the head. Else nothing would come of it another time.
                let remains = self.log().summary(head).await.is_ok_and(|line| line.headline.queued);
                Done { taken: head, remains, report: None }
            }
            Err(error) => {
                let report = Report { run: head, outcome: Outcome::Failed(error) };
                Done { taken: head, remains: true, report: Some(report) }
            }
        }
    }

    async fn begun_behind(&self, head: RunId, stop: &CancellationToken) -> Result<Option<LiveRun>, Error> {
        let state = load(&**self.log(), head).await?;
        let name = state.agent().map(|agent| agent.name.clone()).unwrap_or_default();
        let agent = match self.registry().get(&name) {
            Some(agent) => agent,
            None => self.registry().of_run(&state).await?,
        };
        if let Some(next) = state.queued().next() {
            // A log that fails is met again when the run begins.
            let _begun = wait_for_another(&agent, next.run).await;
        }
        if stop.is_cancelled() {
            return Ok(None);
        }
        self.begin_queued(&agent, &state).await
    }

    /// Begins the run of the message that waits longest in the session of a run that has ended, and drives it here. `None`: another
    /// process was faster, or has the session's head.
    pub(super) async fn begin_queued(&self, agent: &Agent, ended: &State) -> Result<Option<LiveRun>, Error> {
        let options = DriveOptions { owner: ended.owner().clone(), ..DriveOptions::default() };
        match Box::pin(next_behind(agent, ended.clone(), options)).await {
            Ok(Some(prepared)) => Ok(Some(self.drive_unasked(agent, prepared))),
            Ok(None) | Err(Error::SessionBusy { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
