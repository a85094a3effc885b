//! From what the store and the reader give to the types of the API.

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_api::{Question, RunSummary, Session, Spend};
use windlass_core::run::OpenQuestion;
use windlass_core::{RunId, State};
use windlass_read::json;
use windlass_store::SessionSummary;

use crate::error::Error;
use crate::http::caller::Caller;
use crate::http::route::Call;

/// The run in a path.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub(super) struct OfRun {
    /// The run's id.
    pub(super) run: RunId,
}

/// A value of the API in the form that the reader gave it.
///
/// # Errors
/// It does not fit, which a test would have seen.
fn typed<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> Result<T, Error> {
    serde_json::from_value(value).map_err(|error| Error::Body { fault: error.to_string() })
}

/// A line of a listing.
pub(super) fn summary(run: &windlass_store::RunSummary) -> RunSummary {
    RunSummary {
        run: run.run,
        agent: run.agent.to_string(),
        owner: run.owner.to_string(),
        session: run.session.as_ref().map(ToString::to_string),
        parent: run.parent,
        status: json::listed_state(run),
        events: run.version,
        started_at: run.started_at,
        updated_at: run.updated_at,
        ended_at: run.ended_at,
        cost_usd: run.headline.cost.map(|pico| pico as f64 / 1e12),
        question: run.headline.question.as_ref().map(ToString::to_string),
        title: run.title.to_string(),
        holder: run.holder.as_ref().map(|holder| holder.0.to_string()),
        wakes_at: run.wake_at,
        queued: run.headline.queued,
        spend: run.headline.spend.map(spend),
    }
}

fn spend(spend: windlass_store::Spend) -> Spend {
    let windlass_store::Spend { input, output, cached, cache_write, reasoning, cost, unpriced } = spend;
    Spend { input, output, cached, cache_write, reasoning, known_cost_usd: cost as f64 / 1e12, unpriced }
}

pub(super) fn session(session: &SessionSummary) -> Session {
    Session {
        session: session.session.to_string(),
        owner: session.head.owner.to_string(),
        head: summary(&session.head),
        runs: session.runs,
        started_at: session.started_at,
    }
}

pub(super) fn question(state: &State, open: &OpenQuestion) -> Result<Question, Error> {
    typed(json::question(state, open))
}

/// The path where a run is read.
pub(super) fn href(run: RunId) -> String {
    format!("/v1/runs/{run}")
}

/// A run of the path that is there for the caller.
pub(super) async fn seen<P, Q, B>(
    call: &Call<P, Q, B>,
    run: RunId,
) -> Result<windlass_store::RunSummary, Error> {
    let found = call.caller.host(&call.server).summary(run).await?;
    checked(&call.caller, found)
}

/// The same run, if its agent is there for the caller: else it is as unknown as one that is not there.
pub(super) fn checked(
    caller: &Caller,
    found: windlass_store::RunSummary,
) -> Result<windlass_store::RunSummary, Error> {
    if caller.sees(&found) {
        Ok(found)
    } else {
        Err(windlass_store::StoreError::UnknownRun { run: found.run }.into())
    }
}
