//! Reports on runs, in the forms of the command line.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_api::Report;
use windlass_core::RunId;
use windlass_read::exchange::Export;
use windlass_read::json;
use windlass_read::reports::{compare_runs, effects as effects_of, replay_run, run_costs, with_delegates};

use super::forms::{OfRun, seen};
use crate::error::Error;
use crate::http::reply::{Lines, Shaped};
use crate::http::route::Call;

pub(super) async fn effects(call: Call<OfRun>) -> Result<Shaped<Report>, Error> {
    let line = seen(&call, call.path.run).await?;
    let log = &**call.server.host().log();
    let mut calls = Vec::new();
    for run in with_delegates(log, line.run).await? {
        calls.extend(effects_of(log, run).await?.iter().map(|call| json::call_effects(run, call)));
    }
    Ok(Shaped::new(json!({ "type": "effects", "run": line.run, "calls": calls })))
}

pub(super) async fn costs(call: Call<OfRun>) -> Result<Shaped<Report>, Error> {
    let line = seen(&call, call.path.run).await?;
    Ok(Shaped::new(json::costs(&run_costs(&**call.server.host().log(), line.run).await?)))
}

/// The run that a run is compared with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct With {
    /// The other run.
    with: RunId,
}

pub(super) async fn compare(call: Call<OfRun, With>) -> Result<Shaped<Report>, Error> {
    let (one, other) = (seen(&call, call.path.run).await?, seen(&call, call.query.with).await?);
    let comparison = compare_runs(&**call.server.host().log(), one.run, other.run).await?;
    Ok(Shaped::new(json::comparison(&comparison)))
}

pub(super) async fn replay(call: Call<OfRun>) -> Result<Shaped<Report>, Error> {
    let line = seen(&call, call.path.run).await?;
    let replayed = replay_run(&**call.server.host().log(), line.run, None).await?;
    Ok(Shaped::new(json::replayed(line.run, &replayed)))
}

pub(super) async fn export(call: Call<OfRun>) -> Result<Lines, Error> {
    let line = seen(&call, call.path.run).await?;
    let log = call.server.host().log().clone();
    Ok(Lines::written_by(move |sender| async move {
        let mut export = match Export::of(&*log, line.run).await {
            Ok(export) => export,
            Err(error) => return drop(sender.send(Err(error.into())).await),
        };
        loop {
            let line = match export.next_line().await {
                Ok(Some(line)) => Ok(Bytes::from(line + "\n")),
                Ok(None) => return,
                Err(error) => Err(error.into()),
            };
            if sender.send(line).await.is_err() {
                return;
            }
        }
    }))
}
