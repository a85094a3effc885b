//! Owns how a call waits for its permit, and what it reports to the others that wait.

use http::HeaderMap;
use windlass_core::model::{FailureKind, ModelFailure, Usage};

use super::Call;
use crate::http::failure::is_passing;
use crate::http::limiters::limiter::{TooLong, Why};
use crate::http::rate_limits::{MAX_RETRY_AFTER_MS, spent};

/// A wait from here on is logged at the level `info`, in milliseconds.
const INFO_MS: u64 = 1_000;

impl Call {
    /// Waits until the request may be sent. Without limits it may at once, and nothing is made.
    pub(super) async fn wait_for_permit(&mut self) -> Result<(), ModelFailure> {
        let limiters = &self.server.limiters;
        let limiter = limiters.with_limiter(&self.model, |limiter| {
            (limiters.rate.is_some() || limiter.is_busy()).then(|| limiter.clone())
        });
        let Some(limiter) = limiter else { return Ok(()) };
        let report = |wait_ms: u64, why: Why| {
            let (model, host) = (&*self.model, &*self.server.endpoint.host);
            let why = why.words();
            if wait_ms >= INFO_MS {
                tracing::info!(model, host, wait_ms, "a request waits for its turn: {why}");
            } else {
                tracing::debug!(model, host, wait_ms, "a request waits for its turn: {why}");
            }
        };
        // Boxed: a call must not hold the room for what is rare.
        let permit = Box::pin(limiter.acquire(limiters.rate, self.tokens, report)).await;
        self.permit = permit.map_err(|too_long| self.no_permit(too_long))?;
        Ok(())
    }

    /// The failure of a request whose permit would come too late.
    fn no_permit(&self, TooLong { wait_ms, most_ms, why }: TooLong) -> ModelFailure {
        let host = &self.server.endpoint.host;
        let words = match why {
            Why::Crowd => format!("too many requests wait for their turn at {host}"),
            Why::Limits(_) | Why::Asked => {
                format!("no turn at {host} within {most_ms} ms, but in {wait_ms} ms: {}", why.words())
            }
        };
        let retry_after_ms = Some(wait_ms.min(MAX_RETRY_AFTER_MS));
        ModelFailure { retry_after_ms, ..self.failure(FailureKind::RateLimited, words) }
    }

    /// The provider refused the request. If it asks for a wait, the others wait, too.
    pub(super) fn refused_for(&self, kind: FailureKind, retry_after_ms: Option<u64>) {
        if !is_passing(kind) {
            return;
        }
        self.took(&Usage::default());
        let Some(wait_ms) = retry_after_ms else { return };
        tracing::debug!(model = &*self.model, wait_ms, "the provider asks for a wait");
        self.server.limiters.with_limiter(&self.model, |limiter| limiter.refused(wait_ms));
    }

    /// A reply begins. Its headers may say that nothing remains for the next ones.
    pub(super) fn learn(&self, headers: &HeaderMap) {
        if let Some(wait_ms) = spent(headers) {
            self.server.limiters.with_limiter(&self.model, |limiter| limiter.spent(wait_ms));
        }
    }

    /// Counts the tokens that the request took, in place of the estimate.
    pub(super) fn took(&self, usage: &Usage) {
        if let Some(permit) = &self.permit {
            permit.took(usage.total());
        }
    }
}
