//! A host: the runs that live in a process, for every door to it.
//!
//! A host knows the agents of a process ([`Registry`]), drives their runs and lets anybody follow them from any [`Position`]
//! ([`Host::follow`]), takes requests with what their senders saw, once for each key ([`Request`]), takes up what is due ([`Host::supervise`]), and keeps to
//! [`Limits`]. A client sees the runs of its owner ([`Host::within`]). A command line, a console and each protocol of a server talk to it and to nothing else.
//!
//! ```
//! use std::sync::Arc;
//! use windlass_runtime::host::{Host, Position, Start};
//! use windlass_runtime::{Admitted, Agent, Error, Update};
//! use windlass_store::MemoryLog;
//!
//! async fn ask(agent: Agent) -> Result<(), Error> {
//!     let host = Host::builder(agent.log().clone()).build();
//!     let Admitted::Started(run) = host.start(Start::new(&agent, "What is 6 * 7?")).await? else { return Ok(()) };
//!     // Anybody may follow it, at any time.
//!     let mut follower = host.follow(run.id(), Position::default()).await?;
//!     while let Some((position, update)) = follower.next().await? {
//!         if let Update::Text { text, .. } = update {
//!             println!("{position}: {text}");
//!         }
//!     }
//!     println!("{:?}", run.end().await?.text());
//!     Ok(())
//! }
//! ```

pub(crate) mod admission;
mod agent;
mod answers;
pub(crate) mod cancelling;
mod continuing;
mod driving;
mod follower;
pub(crate) mod forking;
mod hub;
mod keyed;
pub(crate) mod listing;
mod live;
mod position;
mod queues;
mod registry;
pub(crate) mod repeat;
mod reports;
mod requests;
pub(crate) mod resume;
mod scoped;
mod slots;
pub(crate) mod stand_in;
pub(crate) mod stream;
mod supervising;
mod verbs;

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use windlass_core::{RunId, Text};
use windlass_store::Store;

use crate::driver::handle::RunHandle;
use crate::platform::environment::{Environment, SystemEnvironment};
use crate::platform::error::Error;
use live::Live;
use registry::Variables;
use slots::Slots;

pub use crate::platform::error::host::HostError;
pub use answers::{answer_forms, read_answer, read_arguments};
pub use continuing::Continued;
pub use driving::{LiveRun, Start};
pub use follower::Follower;
pub use position::{AttemptPosition, NoPosition, Position};
pub use registry::{Files, Registry, Reloaded};
pub use reports::{Outcome, Report};
pub use requests::{Answering, Forked, QuestionSeen, Request, Seen, Taking, check_question, check_version};
pub use scoped::{Scope, Scoped};
pub use slots::Limits;
pub use windlass_read::question_digest;

/// The runs of a process. Cloning shares them.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    log: Arc<dyn Store>,
    environment: Arc<dyn Environment>,
    registry: Registry,
    live: Arc<Live>,
    /// Whether each run that is driven here is followed from its beginning.
    keeps_pieces: bool,
    slots: Arc<Slots>,
    /// Each driver has a receiver of it.
    tasks: watch::Sender<()>,
    /// Changes when a run becomes due by this process.
    due: watch::Sender<u64>,
    /// The agents whose due runs are taken up; empty: of any.
    supervised: Vec<Text>,
    /// Cancelled once the process is to end.
    closing: CancellationToken,
    /// Whether the messages that wait in a session are answered here once its run has ended.
    answers_queued: bool,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { registry, live, .. } = &*self.inner;
        f.debug_struct("Host")
            .field("registry", registry)
            .field("driven", &live.driven())
            .finish_non_exhaustive()
    }
}

/// A host in the making.
#[must_use = "a builder does nothing until `build`"]
pub struct HostBuilder {
    log: Arc<dyn Store>,
    environment: Arc<dyn Environment>,
    variables: Variables,
    limits: Limits,
    supervised: Vec<Text>,
    answers_queued: bool,
    keeps_pieces: bool,
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuilder").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl HostBuilder {
    /// Replaces the clock, and what else comes from the system.
    pub fn environment(mut self, environment: Arc<dyn Environment>) -> Self {
        self.environment = environment;
        self
    }

    /// Replaces the environment's variables, which agent files name.
    pub fn variables(mut self, variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        self.variables = Arc::new(variables);
        self
    }

    /// Sets how many runs are driven at once.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Takes up only due runs of these agents. Default: of any.
    pub fn supervises(mut self, agents: impl IntoIterator<Item = Text>) -> Self {
        self.supervised = agents.into_iter().collect();
        self
    }

    /// Leaves the messages that wait in a session for the end of its run to the processes that brought them. Default: once the run has
    /// ended here, those that this host brought are answered at once, and others after a second in which nobody else did; a
    /// [supervisor](Host::supervise) also answers those whose process is gone.
    pub fn leaves_queued(mut self) -> Self {
        self.answers_queued = false;
        self
    }

    /// Keeps the pieces of each reply while it is written, so that somebody who comes in the middle of it sees it from its beginning.
    /// Models are asked to stream then. Default: only where somebody follows the run.
    pub fn keeps_pieces(mut self) -> Self {
        self.keeps_pieces = true;
        self
    }

    /// The host.
    pub fn build(self) -> Host {
        let Self { log, environment, variables, limits, supervised, answers_queued, keeps_pieces } = self;
        Host {
            inner: Arc::new(Inner {
                registry: Registry::new(log.clone(), variables, environment.clone()),
                live: Live::new(log.clone()),
                keeps_pieces,
                slots: Slots::new(limits),
                tasks: watch::Sender::new(()),
                due: watch::Sender::new(0),
                supervised,
                closing: CancellationToken::new(),
                log,
                environment,
                answers_queued,
            }),
        }
    }
}

impl Host {
    /// A builder of a host for the runs of that log.
    pub fn builder(log: Arc<dyn Store>) -> HostBuilder {
        HostBuilder {
            log,
            environment: Arc::new(SystemEnvironment),
            variables: Arc::new(|name: &str| std::env::var(name).ok()),
            limits: Limits::default(),
            supervised: Vec::new(),
            answers_queued: true,
            keeps_pieces: false,
        }
    }

    /// The log.
    pub fn log(&self) -> &Arc<dyn Store> {
        &self.inner.log
    }

    /// The clock, and what else comes from the system.
    pub fn environment(&self) -> &Arc<dyn Environment> {
        &self.inner.environment
    }

    /// The agents.
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// The runs that are driven here now, those included that wait for a place.
    pub fn driven(&self) -> Vec<RunId> {
        self.inner.live.driven()
    }

    /// How many runs have a place here, and how many wait for one.
    pub fn counts(&self) -> (usize, usize) {
        self.inner.slots.counts()
    }

    /// The handle of a run that is driven here.
    pub fn handle(&self, run: RunId) -> Option<RunHandle> {
        self.inner.live.handle(run)
    }

    /// Follows a run from a position on, wherever it is driven, and whether it is driven or not.
    ///
    /// # Errors
    /// The run is unknown or has not come to that position, or the log failed.
    pub async fn follow(&self, run: RunId, from: Position) -> Result<Follower, Error> {
        self.inner.live.follow(run, from).await
    }

    /// Detaches from all runs, because the process is to end, and waits until their drivers have left them. Nothing more is begun; another
    /// process can take the runs up.
    pub async fn close(&self) {
        self.inner.closing.cancel();
        self.inner.live.detach_all();
        self.inner.tasks.closed().await;
    }
}
