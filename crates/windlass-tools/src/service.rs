//! Services: tools that share something (a connection, a file, a process) which is set up before they are used and
//! torn down after (acorn's services).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_core::future::BoxFuture;
use tokio::sync::Mutex;
use windlass_core::Text;
use windlass_core::text::nearest;
use windlass_error::Diagnostic;

use crate::error::ToolSetError;
use crate::overrides::Overridden;
use crate::tool::Tool;

/// Separator between a service's name and a tool's.
const BETWEEN: &str = "__";

/// A service that cannot be set up, torn down or used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Diagnostic)]
#[error("{message}")]
#[diagnostic(kind = Unavailable, code = "service.failed")]
pub struct ServiceError {
    /// The error message.
    pub message: Text,
}

impl ServiceError {
    /// With these words.
    pub fn new(message: impl Into<Text>) -> Self {
        Self { message: message.into() }
    }
}

/// Tools that share something.
///
/// The service is set up before the first run that uses it is driven, and torn down when the last one has ended or is
/// suspended. Set-up and tear-down may happen repeatedly, but never concurrently. If a run's driver is dropped, no tear-down
/// can be awaited: it happens before the next set-up. Resources that must be freed in any case belong in `Drop`.
pub trait Service: Send + Sync + std::fmt::Debug {
    /// Its name, which stands before its tools' names with `__` between: lower case, with `_`.
    fn name(&self) -> &str;

    /// Its tools, each under its own name. They may be called once the service is set up.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// Makes it ready. Default: nothing to do.
    ///
    /// # Errors
    /// It cannot be used: the run does not go on.
    fn set_up(&self) -> BoxFuture<'_, Result<(), ServiceError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Gives up what the set-up took. Default: nothing to do.
    ///
    /// # Errors
    /// Something was left behind: the log of the process says so, and the run is as it was.
    fn tear_down(&self) -> BoxFuture<'_, Result<(), ServiceError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Whether the service is available now; called while it is set up. Default: yes.
    ///
    /// # Errors
    /// It cannot, for this reason.
    fn health(&self) -> BoxFuture<'_, Result<(), ServiceError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A service with a count of its users. Clones refer to the same service, so agents with clones share one set-up.
#[derive(Clone, Debug)]
pub struct SharedService {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    service: Arc<dyn Service>,
    /// Whether it is set up; locked during set-up and tear-down.
    up: Mutex<bool>,
    users: AtomicUsize,
}

impl SharedService {
    /// Wraps a service without users.
    pub fn new(service: impl Service + 'static) -> Self {
        Self::of(Arc::new(service))
    }

    /// A service that is shared already.
    pub fn of(service: Arc<dyn Service>) -> Self {
        Self { shared: Arc::new(Shared { service, up: Mutex::new(false), users: AtomicUsize::new(0) }) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.shared.service.name()
    }

    /// Whether `other` is this very service, not only one of the same name.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// All its tools, named `service__tool`.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools_as(None)
    }

    /// All its tools, named `prefix__tool`; `None`: with the service's name.
    pub fn tools_as(&self, prefix: Option<&str>) -> Vec<Arc<dyn Tool>> {
        let prefix = prefix.unwrap_or(self.name());
        self.own().map(|tool| self.named(tool, Some(prefix))).collect()
    }

    /// Some of its tools, under their own names.
    ///
    /// # Errors
    /// It has no tool of one of the names.
    pub fn pick<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<Vec<Arc<dyn Tool>>, ToolSetError> {
        let pick = |name: &str| {
            let found = self.own().find(|tool| *tool.spec().name == *name);
            found.map(|tool| self.named(tool, None)).ok_or_else(|| {
                let own: Vec<_> = self.own().map(|tool| tool.spec().name.clone()).collect();
                let close = nearest(name, own.iter().map(AsRef::as_ref));
                let all = || own.iter().map(ToString::to_string).collect();
                ToolSetError::NoSuchTool {
                    service: self.name().to_owned(),
                    name: name.to_owned(),
                    nearest: if close.is_empty() { all() } else { close },
                }
            })
        };
        names.into_iter().map(pick).collect()
    }

    /// Registers a user, and sets the service up for the first one. Dropping the future undoes the registration.
    ///
    /// # Errors
    /// It cannot be set up.
    pub async fn begin(&self) -> Result<ServiceUse, ServiceError> {
        let mut up = self.shared.up.lock().await;
        if *up && self.shared.users.load(Ordering::SeqCst) == 0 {
            // Its last user was dropped.
            *up = false;
            self.tear_down().await;
        }
        if !*up {
            self.shared.service.set_up().await?;
            *up = true;
        }
        self.shared.users.fetch_add(1, Ordering::SeqCst);
        Ok(ServiceUse { service: self.clone() })
    }

    /// Whether it can be used; it is set up for the question if need be.
    ///
    /// # Errors
    /// It cannot, for this reason.
    pub async fn health(&self) -> Result<(), ServiceError> {
        let used = self.begin().await?;
        let health = self.shared.service.health().await;
        used.end().await;
        health
    }

    fn own(&self) -> impl Iterator<Item = Arc<dyn Tool>> {
        self.shared.service.tools().into_iter()
    }

    fn named(&self, tool: Arc<dyn Tool>, prefix: Option<&str>) -> Arc<dyn Tool> {
        let mut spec = tool.spec().clone();
        spec.origin = format!("service {}", self.name()).into();
        if let Some(prefix) = prefix {
            spec.name = format!("{prefix}{BETWEEN}{}", spec.name).into();
        }
        Arc::new(Overridden { spec, tool })
    }

    async fn tear_down(&self) {
        if let Err(error) = self.shared.service.tear_down().await {
            tracing::warn!(service = self.name(), "the tear-down of the service failed: {error}");
        }
    }
}

/// The use of a service, which ends with [`end`](Self::end). Where it is dropped instead, the tear-down is made up for
/// before the next set-up.
#[derive(Debug)]
#[must_use = "a use that is dropped tears nothing down"]
pub struct ServiceUse {
    service: SharedService,
}

impl ServiceUse {
    /// Ends the use: the last one tears the service down.
    pub async fn end(self) {
        let service = self.service.clone();
        let mut up = service.shared.up.lock().await;
        drop(self);
        if *up && service.shared.users.load(Ordering::SeqCst) == 0 {
            *up = false;
            service.tear_down().await;
        }
    }

    /// The service.
    pub fn service(&self) -> &SharedService {
        &self.service
    }
}

impl Drop for ServiceUse {
    fn drop(&mut self) {
        self.service.shared.users.fetch_sub(1, Ordering::SeqCst);
    }
}
