//! The lease of a call's run, confirmed right before an effect.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use tokio::time::Instant;
use windlass_core::Text;

use crate::tool::ToolError;

/// Maximum age of a confirmation at its use. A process that was stopped for longer confirms again, because its run may have
/// been taken over. It is at most half of the time that a log promises to keep a confirmed lease.
const FRESH: Duration = Duration::from_secs(2);

/// Maximum number of consecutive stale confirmations before the call is given up.
const MOST_TRIES: u32 = 100;

/// For how long the lease holds from the moment of the question; `None`: as long as this process.
type Held = Result<Option<Duration>, Text>;

type Confirm = dyn Fn() -> BoxFuture<'static, Held> + Send + Sync;

/// The right of this process to act for a run. It may be lost at any time, to a process that took the run over: a tool
/// whose call takes long to begin confirms it right before its effect.
///
/// ```
/// use windlass_tools::Lease;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let lost = Lease::new(|| Box::pin(async { Err("run 7 was taken over by pid 12".into()) }));
/// assert_eq!(lost.confirm().await.unwrap_err().kind.as_deref(), Some("LeaseLost"));
/// // A manual call belongs to no run, so it cannot be taken over.
/// assert!(Lease::none().confirm().await.is_ok());
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Lease(Option<Arc<Confirm>>);

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&self.0.is_some()).finish()
    }
}

impl Lease {
    /// No lease is needed: the call cannot be taken over, or repeating it is harmless.
    pub fn none() -> Self {
        Self(None)
    }

    /// A lease that is confirmed so: for how long it then holds (`None`: as long as this process), or who has it now.
    pub fn new(
        confirm: impl Fn() -> BoxFuture<'static, Result<Option<Duration>, Text>> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(confirm)))
    }

    /// Whether the call may be taken over by another process, and repeating it is not free.
    pub fn is_needed(&self) -> bool {
        self.0.is_some()
    }

    /// Confirms that this process may still act for the run.
    ///
    /// # Errors
    /// The lease is lost, or the log cannot say. The call must not have its effect.
    pub async fn confirm(&self) -> Result<(), ToolError> {
        let Some(confirm) = &self.0 else { return Ok(()) };
        for _ in 0..MOST_TRIES {
            let asked = Instant::now();
            let held = confirm().await.map_err(|why| lost(&why))?;
            if asked.elapsed() < held.map_or(FRESH, |held| FRESH.min(held / 2)) {
                return Ok(());
            }
        }
        Err(lost("each confirmation came too late"))
    }
}

fn lost(why: &str) -> ToolError {
    ToolError::of_kind("LeaseLost", format!("the call was not started: {why}"))
}
