//! Readiness: whether the log can be appended to, read and leased, and the tokens read, by trying each (E70).

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use windlass_api::{Check, Ready};
use windlass_error::in_full;
use windlass_store::{RunFilter, Store};
use windlass_text::secret::mask;

use crate::http::tokens::Tokens;

/// How long a check may take: an unready log shows within 2 s.
const LIMIT: Duration = Duration::from_millis(1_500);

/// How long an answer stands: anybody may ask, and each look writes to the log.
const STANDS: Duration = Duration::from_millis(500);

/// The last look.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    last: Mutex<Option<(Instant, Ready)>>,
}

impl Readiness {
    /// Whether the server can work, as of half a second ago at most. Those who ask while somebody looks wait for the same look.
    pub(crate) async fn look(
        &self,
        log: &Arc<dyn Store>,
        tokens: &Tokens,
        supervisor: Option<String>,
        is_closing: bool,
    ) -> Ready {
        let mut last = self.last.lock().await;
        match &*last {
            Some((at, ready)) if at.elapsed() < STANDS => ready.clone(),
            _ => {
                let ready = look(log, tokens, supervisor, is_closing).await;
                *last = Some((Instant::now(), ready.clone()));
                ready
            }
        }
    }
}

async fn look(log: &Arc<dyn Store>, tokens: &Tokens, supervisor: Option<String>, is_closing: bool) -> Ready {
    let mut checks = vec![timed("append", append(log)).await, timed("read", read(log)).await];
    let unread = tokens.all().err().map(|error| mask(&in_full(&error)).into_owned());
    checks.push(Check { name: "tokens".to_owned(), ok: unread.is_none(), message: unread });
    checks.push(Check { name: "supervisor".to_owned(), ok: supervisor.is_none(), message: supervisor });
    if is_closing {
        let message = Some("the server is ending".to_owned());
        checks.push(Check { name: "closing".to_owned(), ok: false, message });
    }
    Ready { ready: checks.iter().all(|check| check.ok), checks }
}

async fn timed(name: &str, work: impl Future<Output = Result<(), String>>) -> Check {
    let done = tokio::time::timeout(LIMIT, work).await;
    let done = done.unwrap_or_else(|_| Err(format!("it has taken more than {} ms", LIMIT.as_millis())));
    let message = done.as_ref().err().map(|why| mask(why).into_owned());
    Check { name: name.to_owned(), ok: done.is_ok(), message }
}

async fn append(log: &Arc<dyn Store>) -> Result<(), String> {
    log.probe().await.map_err(|error| in_full(&error))
}

async fn read(log: &Arc<dyn Store>) -> Result<(), String> {
    let filter = RunFilter { limit: 1, ..RunFilter::default() };
    log.list(filter).await.map(drop).map_err(|error| in_full(&error))
}
