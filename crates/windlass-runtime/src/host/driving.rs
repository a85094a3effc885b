//! Starting runs, and driving them in this process.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use windlass_core::{RunId, RunState};
use windlass_error::in_full;

use super::live::DrivenHere;
use super::slots::{Entered, Full, Place, Whose};
use super::{Host, Inner};
use crate::agent::Agent;
use crate::agent::input::RunMessages;
use crate::driver::first::busy;
use crate::driver::handle::RunHandle;
use crate::driver::options::DriveOptions;
use crate::driver::run::Run;
use crate::driver::updates::Updates;
use crate::host::admission::requests::sent_before;
use crate::host::admission::turns::wait_for_another;
use crate::host::admission::{Admitted, admit};
use crate::platform::error::Error;
use crate::platform::error::host::HostError;
use crate::work::prepared::Prepared;

/// A request for a run.
#[derive(Clone, Debug)]
#[must_use = "nothing is started until it is given to a host"]
pub struct Start {
    /// The agent.
    pub agent: Agent,
    /// The input.
    pub input: RunMessages,
    /// Owner, session, idempotency key and the like.
    pub options: DriveOptions,
    /// Whether replies are asked for whole until somebody follows the run: a request for a stream costs half as much again. Default: false.
    pub whole_replies: bool,
}

/// The readers that see the pieces of a run's replies from its beginning.
enum Audience {
    /// Whoever starts it ([`LiveRun::updates`]).
    Starter(Updates),
    /// Whoever comes to follow it, at any time.
    Followers,
    /// Nobody: who follows it sees those that are written from then on.
    Nobody,
}

impl Start {
    /// An input for an agent, with the default options.
    pub fn new(agent: &Agent, input: impl Into<RunMessages>) -> Self {
        Self {
            agent: agent.clone(),
            input: input.into(),
            options: DriveOptions::default(),
            whole_replies: false,
        }
    }

    /// Sets whether replies are asked for whole until somebody follows the run.
    pub fn whole_replies(mut self, whole: bool) -> Self {
        self.whole_replies = whole;
        self
    }

    /// Replaces all options.
    pub fn options(mut self, options: DriveOptions) -> Self {
        self.options = options;
        self
    }
}

/// A run that is driven in this process. Dropping this leaves the run as it is driven.
#[derive(Debug)]
pub struct LiveRun {
    run: RunId,
    handle: RunHandle,
    updates: Option<Updates>,
    end: JoinHandle<Result<Run, Error>>,
}

impl LiveRun {
    /// The run's id.
    pub fn id(&self) -> RunId {
        self.run
    }

    /// A handle to reach the run.
    pub fn handle(&self) -> &RunHandle {
        &self.handle
    }

    /// All updates of this drive from its beginning, once. As long as they are read, models are asked to stream. `None` where the host
    /// [keeps pieces](super::HostBuilder::keeps_pieces), whose followers see all from the beginning, and for whole
    /// replies ([`whole_replies`](Start::whole_replies())).
    pub fn updates(&mut self) -> Option<Updates> {
        self.updates.take()
    }

    /// Leaves the run at its last durable event, as if the process had died.
    pub fn abort(&self) {
        self.end.abort();
    }

    /// Waits until the run has ended, is suspended or was detached from.
    ///
    /// # Errors
    /// The log failed, or another process took the run over.
    pub async fn end(self) -> Result<Run, Error> {
        drop(self.updates);
        joined(self.end.await, self.run)
    }

    /// The same, for those who watch other things meanwhile.
    ///
    /// # Errors
    /// As for [`end`](Self::end).
    pub async fn ended(&mut self) -> Result<Run, Error> {
        joined((&mut self.end).await, self.run)
    }
}

fn joined(end: Result<Result<Run, Error>, tokio::task::JoinError>, run: RunId) -> Result<Run, Error> {
    match end {
        Ok(end) => end,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down.
            Err(_) => Err(Error::NotTaken { run }),
        },
    }
}

impl Host {
    /// Starts a run, or gives a message to a session ([`Agent::admit`]). A request under a key that was sent before is answered first, then
    /// the limits hold, and what is taken on begins durably and is driven here, now or once it has a place.
    ///
    /// # Errors
    /// As for [`Agent::admit`]. Too many runs wait for a place ([`HostError::Full`]): nothing was begun.
    pub fn start(&self, start: Start) -> BoxFuture<'_, Result<Admitted<LiveRun>, Error>> {
        self.started(start).boxed()
    }

    pub(super) async fn started(&self, start: Start) -> Result<Admitted<LiveRun>, Error> {
        if let Err(refused) = self.check_room(&start) {
            // What was sent before meets no limit.
            return Box::pin(self.fate_before(&start)).await?.ok_or(refused);
        }
        let Start { agent, input, options, whole_replies } = start;
        let session = options.session.clone();
        match admit(&agent, input, options).await? {
            Admitted::Started(prepared) => {
                let audience = if whole_replies { Audience::Nobody } else { self.audience(&prepared) };
                let begun = Box::pin(prepared.begun()).await.map_err(|error| busy(error, session))?;
                Ok(Admitted::Started(self.drive_before(&agent, begun, audience)))
            }
            admitted @ (Admitted::Steered { .. } | Admitted::Queued { .. } | Admitted::Repeated { .. }) => {
                Ok(self.admitted(&agent, admitted))
            }
        }
    }

    /// Refuses a start for which there is no place, now or later.
    fn check_room(&self, start: &Start) -> Result<(), Error> {
        if self.inner.closing.is_cancelled() {
            return Err(HostError::Closing.into());
        }
        let whose = Whose { owner: start.options.owner.clone(), agent: start.agent.name().clone() };
        self.inner.slots.is_full(&whose).map_or(Ok(()), |full| Err(too_many(full)))
    }

    /// The fate of an earlier sending of a start under its key.
    ///
    /// # Errors
    /// Another request has the key, or the log failed.
    pub(super) async fn fate_before(&self, start: &Start) -> Result<Option<Admitted<LiveRun>>, Error> {
        let Start { agent, input, options, .. } = start;
        if options.key.is_none() {
            return Ok(None);
        }
        let earlier = Box::pin(sent_before(agent, input, options)).await?;
        Ok(earlier.map(|admitted| self.admitted(agent, admitted)))
    }

    /// The fate of a message, which may have begun a run durably.
    fn admitted(&self, agent: &Agent, admitted: Admitted) -> Admitted<LiveRun> {
        if let Admitted::Queued { run, .. } = &admitted {
            self.inner.live.queues(*run);
        }
        admitted.map(|prepared| self.drive(agent, prepared))
    }

    /// Drives a run that was prepared, now or once it has a place.
    pub fn drive(&self, agent: &Agent, prepared: Prepared) -> LiveRun {
        let audience = self.audience(&prepared);
        self.drive_before(agent, prepared, audience)
    }

    /// The usual audience of a run.
    fn audience(&self, prepared: &Prepared) -> Audience {
        if self.inner.keeps_pieces { Audience::Followers } else { Audience::Starter(prepared.updates()) }
    }

    /// Drives a run that nobody here has asked for.
    pub(super) fn drive_unasked(&self, agent: &Agent, prepared: Prepared) -> LiveRun {
        let audience = if self.inner.keeps_pieces { Audience::Followers } else { Audience::Nobody };
        self.drive_before(agent, prepared, audience)
    }

    fn drive_before(&self, agent: &Agent, prepared: Prepared, audience: Audience) -> LiveRun {
        let (run, handle) = (prepared.id(), prepared.handle());
        let whose = Whose { owner: prepared.owner().clone(), agent: agent.name().clone() };
        let entered = self.inner.slots.enter(whose);
        let work = Work {
            here: self.inner.live.drives(&prepared, matches!(audience, Audience::Followers)),
            host: self.clone(),
            agent: agent.clone(),
            running: self.inner.tasks.subscribe(),
        };
        let end = tokio::spawn(work.run(prepared, entered));
        let updates = if let Audience::Starter(updates) = audience { Some(updates) } else { None };
        LiveRun { run, handle, updates, end }
    }
}

fn too_many(full: Full) -> Error {
    HostError::Full { waiting: full.waiting }.into()
}

/// The work of driving a run here.
struct Work {
    here: DrivenHere,
    host: Host,
    agent: Agent,
    /// The host closes once all of these are gone.
    running: watch::Receiver<()>,
}

impl Work {
    async fn run(self, prepared: Prepared, entered: Result<Entered, Full>) -> Result<Run, Error> {
        let Self { here, host, agent, running } = self;
        let inner = &host.inner;
        let mut prepared = prepared;
        let place = match entered {
            Ok(Entered::Now(place)) => place,
            Ok(Entered::Later(place)) => match Box::pin(waited(inner, &mut prepared, place)).await? {
                Some(place) => place,
                // The process is to end: another one takes it up.
                None => return Ok(prepared.released()),
            },
            // It has begun, and is due: it is taken up once there is a place.
            Err(full) => return Err(too_many(full)),
        };
        if inner.closing.is_cancelled() {
            return Ok(prepared.released());
        }
        let run = prepared.id();
        let driven = prepared.drive().await;
        drop((here, place));
        if let Err(error) = &driven {
            tracing::warn!(%run, "the run is driven here no longer: {}", in_full(error));
        }
        if let Ok(run) = &driven
            && matches!(run.run_state(), RunState::Ended(_))
        {
            Box::pin(host.answer_queued(&agent, run)).await;
        }
        drop(running);
        driven
    }
}

/// Waits for a place, and keeps the run's lease meanwhile. `None`: the run is to be left.
async fn waited(
    inner: &Arc<Inner>,
    prepared: &mut Prepared,
    place: impl Future<Output = Result<Place, tokio::sync::oneshot::error::RecvError>>,
) -> Result<Option<Place>, Error> {
    let (mut place, handle) = (pin!(place), prepared.handle());
    let environment = &*inner.environment;
    loop {
        let holds = prepared.renewed().await?;
        let renew = async {
            match holds {
                Some(ms) => environment.sleep_until(environment.now().saturating_add(ms / 2)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            place = &mut place => return Ok(place.ok()),
            () = handle.detach.cancelled() => return Ok(None),
            () = inner.closing.cancelled() => return Ok(None),
            () = renew => {}
        }
    }
}

impl Host {
    /// Begins the run of the message that waits longest in the session of a run that has ended.
    async fn answer_queued(&self, agent: &Agent, ended: &Run) {
        let (state, inner) = (ended.state(), &self.inner);
        let Some(session) = state.session().filter(|_| inner.answers_queued) else { return };
        let Some(next) = state.queued().next() else { return };
        if !inner.live.queued_here(next.run) {
            // A log that fails is met again when the run begins.
            let _begun = wait_for_another(agent, next.run).await;
        }
        // New messages are answered by the agent that stands under the name now.
        let agent = inner.registry.get(agent.name()).unwrap_or_else(|| agent.clone());
        if let Err(error) = Box::pin(self.begin_queued(&agent, state)).await {
            tracing::warn!(%session, "the message that waits in the session is not answered: {}", in_full(&error));
        }
    }
}
