//! A server: a host, and what its doors share.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;
use windlass_api::Ready;
use windlass_core::{Owner, Text};
use windlass_runtime::host::{self, Host, HostError, Reloaded};
use windlass_runtime::{Environment, Error as RunError, SystemEnvironment};
use windlass_store::Store;

use crate::error::Error;
use crate::http::encoded::Encoded;
use crate::http::given_up::GivenUp;
use crate::http::measured::MeasuredLog;
use crate::http::metrics::{Metrics, WAITING};
use crate::http::quotas::{Quotas, check_dollars};
use crate::http::readiness::Readiness;
use crate::http::tokens::Tokens;
use crate::settings::Settings;

/// A server. Cloning shares it.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    host: Host,
    settings: Settings,
    tokens: Tokens,
    quotas: Quotas,
    metrics: Arc<Metrics>,
    readiness: Readiness,
    given_up: GivenUp,
    encoded: Encoded,
    closing: CancellationToken,
    /// Why the supervisor does not work now.
    supervisor_fault: Mutex<Option<String>>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("host", &self.inner.host).finish_non_exhaustive()
    }
}

impl Server {
    /// A server of the runs of a log.
    pub fn new(log: Arc<dyn Store>, tokens: Tokens, settings: Settings) -> Self {
        Self::in_environment(log, tokens, settings, Arc::new(SystemEnvironment))
    }

    /// A server of the runs of a log, with another clock than the system's: the days of its quotas are those of this clock.
    pub fn in_environment(
        log: Arc<dyn Store>,
        tokens: Tokens,
        settings: Settings,
        environment: Arc<dyn Environment>,
    ) -> Self {
        let limits = host::Limits {
            at_once: settings.limits.at_once,
            of_an_owner: settings.limits.owner.at_once,
            of_an_agent: settings.limits.agent.at_once,
            waiting: settings.limits.waiting,
        };
        let metrics = Arc::new(Metrics::new());
        let log = Arc::new(MeasuredLog::new(log, metrics.clone()));
        let host = Host::builder(log).environment(environment).limits(limits).keeps_pieces().build();
        Self::made(host, metrics, tokens, settings)
    }

    /// A server of the runs of a host, whose limits hold in place of those of the settings. Its metrics say nothing of appends and of what
    /// runs use: only a server that was made with its log measures them.
    pub fn of_host(host: Host, tokens: Tokens, settings: Settings) -> Self {
        Self::made(host, Arc::new(Metrics::new()), tokens, settings)
    }

    fn made(host: Host, metrics: Arc<Metrics>, tokens: Tokens, settings: Settings) -> Self {
        let inner = Inner {
            host,
            settings,
            tokens,
            quotas: Quotas::default(),
            metrics,
            readiness: Readiness::default(),
            given_up: GivenUp::default(),
            encoded: Encoded::default(),
            closing: CancellationToken::new(),
            supervisor_fault: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The host.
    pub fn host(&self) -> &Host {
        &self.inner.host
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// The tokens.
    pub fn tokens(&self) -> &Tokens {
        &self.inner.tokens
    }

    pub(crate) fn quotas(&self) -> &Quotas {
        &self.inner.quotas
    }

    pub(crate) fn encoded(&self) -> &Encoded {
        &self.inner.encoded
    }

    pub(crate) fn given_up(&self) -> &GivenUp {
        &self.inner.given_up
    }

    /// Whether the server can work, as of half a second ago at most.
    pub(crate) async fn ready(&self) -> Ready {
        let (fault, is_closing) = (self.supervisor_fault(), self.closing().is_cancelled());
        self.inner.readiness.look(self.host().log(), self.tokens(), fault, is_closing).await
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// Cancelled once the server is to end.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.inner.closing
    }

    /// The time of its host's clock, in milliseconds since the Unix epoch.
    pub(crate) fn now(&self) -> u64 {
        self.host().environment().now()
    }

    /// Why due runs are not taken up now; `None`: they are.
    pub(crate) fn supervisor_fault(&self) -> Option<String> {
        self.inner.supervisor_fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_supervisor_fault(&self, fault: Option<String>) {
        *self.inner.supervisor_fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }

    /// Reads the agent files of a folder.
    ///
    /// # Errors
    /// The folder cannot be read. A file that cannot be used is one of [`Reloaded::failed`].
    pub async fn load(&self, folder: &Path) -> Result<Reloaded, Error> {
        let loaded = self.host().registry().load(folder).await;
        self.metered(loaded).map_err(|source| Error::Folder { folder: folder.to_owned(), source })
    }

    /// Reads the folder of agent files again. Runs go on with the agents that they began with (E71).
    ///
    /// # Errors
    /// The folder cannot be read.
    pub async fn reload(&self) -> Result<Reloaded, Error> {
        let reloaded = self.host().registry().reload().await;
        self.metered(reloaded).map_err(|source| Error::Folder {
            folder: self.host().registry().folder().unwrap_or_default(),
            source,
        })
    }

    /// Agents are counted from the moment on at which they are offered.
    fn metered<E>(&self, loaded: Result<Reloaded, E>) -> Result<Reloaded, E> {
        for name in loaded.iter().flat_map(|loaded| &loaded.added) {
            self.metrics().uses(name);
        }
        loaded
    }

    /// Counts an error by which a limit has refused a request.
    pub(crate) fn refused(&self, error: &Error) {
        match error {
            Error::Limit { name, .. } => self.metrics().limited(name),
            Error::Run(RunError::Host(HostError::Full { .. })) => self.metrics().limited(WAITING),
            _ => {}
        }
    }

    /// The quotas of an owner and an agent, within which a request that begins a run is counted. `None`: neither has any.
    pub(crate) fn limits_on<'s>(
        &'s self,
        owner: &'s Owner,
        agent: &'s Text,
    ) -> Option<impl Future<Output = Result<(), Error>> + 's> {
        self.settings().limits.bound_requests().then(|| self.admit(owner, agent))
    }

    /// Counts a request of an owner that begins a run of an agent, within their quotas.
    pub(crate) async fn admit(&self, owner: &Owner, agent: &Text) -> Result<(), Error> {
        let (limits, now) = (&self.settings().limits, self.now());
        self.quotas().take(limits, owner, agent, now)?;
        check_dollars(&**self.host().log(), limits, owner, agent, now).await
    }
}
