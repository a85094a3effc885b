//! The state of the server itself.

use std::sync::LazyLock;
use std::time::Duration;

use windlass_api::{Health, Ready};
use windlass_store::{RunCounts, RunFilter};

use crate::error::Error;
use crate::http::metrics::State;
use crate::http::reply::{Checked, Document, Json, MetricsText};
use crate::http::route::Call;
use crate::http::server::Server;

pub(super) async fn health(_call: Call) -> Result<Json<Health>, Error> {
    Ok(Json(Health { status: "ok".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }))
}

pub(super) async fn ready(call: Call) -> Result<Checked<Ready>, Error> {
    let value = call.server.ready().await;
    Ok(Checked { good: value.ready, value })
}

pub(super) async fn document(_call: Call) -> Result<Document, Error> {
    // Anybody may ask for it, and it never changes.
    static DOCUMENT: LazyLock<Vec<u8>> =
        LazyLock::new(|| serde_json::to_vec(&crate::openapi()).unwrap_or_default());
    Ok(Document::of(DOCUMENT.as_slice()))
}

pub(super) async fn metrics(call: Call) -> Result<MetricsText, Error> {
    let (host, metrics) = (call.server.host(), call.server.metrics());
    let now = call.server.now();
    let counts = host.log().counts(now).await?;
    let due = Due::of(&call.server, &counts, now).await?;
    metrics.oldest_due(Duration::from_millis(now.saturating_sub(due.since.unwrap_or(now))));
    let (driven, queued) = host.counts();
    let states = [
        (State::Driven, driven as u64),
        (State::Queued, queued as u64),
        (State::Due, due.runs),
        (State::GivenUp, due.given_up),
        (State::Running, counts.running),
        (State::Suspended, counts.suspended),
        (State::Ended, counts.ended),
    ];
    for (state, count) in states {
        metrics.runs(state, count);
    }
    Ok(MetricsText::of(metrics.text()))
}

/// The most due runs among which those are looked for that are not given up.
const LOOKED_AT: usize = 1_000;

/// The runs that are due, apart from those that only a person takes up: these would be due for ever.
struct Due {
    runs: u64,
    since: Option<u64>,
    given_up: u64,
}

impl Due {
    async fn of(server: &Server, counts: &RunCounts, now: u64) -> Result<Self, Error> {
        if server.given_up().is_empty() {
            return Ok(Self { runs: counts.due, since: counts.due_since, given_up: 0 });
        }
        let filter = RunFilter { due: Some(now), limit: LOOKED_AT, ..RunFilter::default() };
        let due =
            server.host().log().list(filter).await?.items.into_iter().filter(|run| run.holder.is_none());
        let (given_up, due): (Vec<_>, Vec<_>) = due.partition(|line| server.given_up().has(line.run));
        let since = due.iter().map(|run| run.wake_at.unwrap_or(run.updated_at)).min();
        let given_up = given_up.len() as u64;
        Ok(Self { runs: counts.due.saturating_sub(given_up), since, given_up })
    }
}
