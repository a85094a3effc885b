//! The work of a run, which the driver starts and stops, and does not know.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use windlass_core::event::ResumedBy;
use windlass_core::{Action, InputKind, State};

use crate::agent::Agent;
use crate::agent::people::People;
use crate::driver::content::ContentClock;
use crate::driver::lease::{Broken, RunLease};
use crate::driver::local_inbox::Detach;
use crate::driver::updates::Publisher;
use crate::platform::account::SharedAccount;

/// Carries out the actions of a run. The driver says when, and what stands behind this trait says how.
///
/// A type parameter of the driver: a call of it costs what a call of a function does.
pub(crate) trait Work: Default + Send + Sync + 'static {
    /// Starts the work of an action other than a timer; `None`: it cannot be done here. The work ends with an input, or with nothing where
    /// it was abandoned.
    fn begin(
        &self,
        run: &Running<'_>,
        action: &Action,
        cancel: &CancellationToken,
    ) -> Option<BoxFuture<'static, Option<InputKind>>>;

    /// Drops what is kept for work that is over in this state of the run.
    fn keep_open(&self, state: &State);
}

/// A run that is being driven, as its work sees it.
pub(crate) struct Running<'d> {
    pub(crate) agent: &'d Agent,
    pub(crate) state: &'d Arc<State>,
    /// The people who answer its questions at once.
    pub(crate) people: Option<&'d Arc<dyn People>>,
    pub(crate) publisher: &'d Publisher,
    /// Where content is noted.
    pub(crate) content: &'d ContentClock,
    pub(crate) lease: &'d RunLease,
    /// Set where the log fails under the work.
    pub(crate) broken: &'d Broken,
    /// Whether a person lets it go on: so do the runs that it hands tasks to.
    pub(crate) resumed_by: ResumedBy,
    /// Cancelled when this process is to detach from the run, and from those that it hands tasks to.
    pub(crate) detach: &'d Detach,
    /// Account for its model calls, if it shares a limit.
    pub(crate) account: Option<&'d Arc<SharedAccount>>,
}
