//! Reading a run: its state, its events, what it keeps.

use axum::body::Body;
use futures_util::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_api::{Artifact, Artifacts, Event, Events, Run, RunSummary};
use windlass_core::RunId;
use windlass_read::reports::{self, receipts};
use windlass_read::{json as forms_of, load, numbered};
use windlass_runtime::given_up;
use windlass_runtime::host::Position;
use windlass_store::{Batch, StoreError};

use super::forms::{OfRun, seen, summary};
use super::listings::limit;
use crate::error::Error;
use crate::http::reply::{Json, Octets, Shaped};
use crate::http::route::Call;

/// The events of a page that names no limit.
const EVENTS: usize = 1_000;
/// Bytes of an artifact that are read at once.
const PIECE: usize = 256 << 10;

pub(super) async fn read(call: Call<OfRun>) -> Result<Shaped<Run>, Error> {
    let line = seen(&call, call.path.run).await?;
    let log = &**call.server.host().log();
    let state = load(log, line.run).await?;
    let mut value = forms_of::run(&state);
    let receipts = receipts(log, line.run).await?;
    let lost = if line.holder.is_none() { given_up(log, &state).await? } else { None };
    if let Some(fields) = value.as_object_mut() {
        fields.insert("receipts".to_owned(), forms_of::receipts(&receipts));
        fields.insert("status".to_owned(), json!(forms_of::listed_state(&line)));
        fields.insert("given_up_after".to_owned(), json!(lost.map(|lost| lost.attempts)));
        fields.insert("summary".to_owned(), json!(summary(&line)));
        fields.insert("position".to_owned(), json!(Position::after(state.version()).to_string()));
    }
    Ok(Shaped::new(value))
}

pub(super) async fn line(call: Call<OfRun>) -> Result<Json<RunSummary>, Error> {
    Ok(Json(summary(&seen(&call, call.path.run).await?)))
}

/// The part of the events that is asked for.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct EventsFrom {
    /// The number of the first event. Default: 1.
    from: Option<u64>,
    /// The most events, about, up to 1,000: an append is not cut. Default: 1,000.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
}

pub(super) async fn events(call: Call<OfRun, EventsFrom>) -> Result<Json<Events>, Error> {
    let line = seen(&call, call.path.run).await?;
    let from = call.query.from.unwrap_or(1).max(1);
    let most = limit(call.query.limit, EVENTS)?;
    if from > line.version + 1 {
        let (run, version) = (line.run, line.version);
        return Err(windlass_runtime::Error::NoSuchEvent { run, at: from, version }.into());
    }
    let log = call.server.host().log();
    let batches = log.read(line.run, from, most).await?;
    let last = batches.last().map_or(from - 1, Batch::last);
    let next = (last < line.version).then_some(last + 1);
    Ok(Json(Events { items: batches.iter().flat_map(with_cause).collect(), next }))
}

/// The events of an append, the first one with the append's cause.
pub(super) fn with_cause(batch: &Batch) -> Vec<Event> {
    let mut events = without_cause(batch);
    if let Some(first) = events.first_mut() {
        first.cause = serde_json::to_value(&batch.cause).ok();
    }
    events
}

/// The events of an append.
pub(super) fn without_cause(batch: &Batch) -> Vec<Event> {
    let form = |(seq, event): (u64, &windlass_core::Event)| {
        let data = forms_of::data(&event.fact);
        Event { seq, at: event.at, event: event.fact.kind().to_owned(), data, cause: None }
    };
    numbered(batch).map(form).collect()
}

pub(super) async fn artifacts(call: Call<OfRun>) -> Result<Json<Artifacts>, Error> {
    let line = seen(&call, call.path.run).await?;
    let all = reports::artifacts(&**call.server.host().log(), line.run).await?;
    let listed = |artifact: reports::Artifact| {
        Some(Artifact {
            // What only a provider has cannot be read here.
            sha256: artifact.sha256?,
            bytes: artifact.bytes,
            head: artifact.head,
            media_type: artifact.media_type,
            name: artifact.name,
            seq: artifact.seq,
            event: artifact.event,
        })
    };
    Ok(Json(Artifacts { items: all.into_iter().filter_map(listed).collect() }))
}

/// An artifact in a path.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OfArtifact {
    /// The run's id.
    run: RunId,
    /// SHA-256 of the artifact.
    sha256: String,
}

/// The part of an artifact that is asked for.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct BytesFrom {
    /// The first byte. Default: 0.
    from: u64,
    /// The most bytes. Default: all.
    max: Option<u64>,
}

pub(super) async fn artifact(call: Call<OfArtifact, BytesFrom>) -> Result<Octets, Error> {
    let line = seen(&call, call.path.run).await?;
    let log = call.server.host().log().clone();
    let sha256 = call.path.sha256.clone();
    let Some(bytes) = log.size_in(line.run, &sha256).await? else {
        // What a model made stands in its event.
        let made = reports::artifact_bytes(&*log, line.run, &sha256).await?;
        let Some(bytes) = made else { return Err(Error::UnknownArtifact { sha256 }) };
        let part = bytes.into_iter().skip(usize::try_from(call.query.from).unwrap_or(usize::MAX));
        let most = call.query.max.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
        return Ok(Octets::of_body(Body::from(part.take(most).collect::<Vec<u8>>())));
    };
    let from = call.query.from.min(bytes);
    let left = (bytes - from).min(call.query.max.unwrap_or(u64::MAX));
    let pieces = stream::try_unfold((log, sha256, from, left), |(log, sha256, from, left)| async move {
        if left == 0 {
            return Ok::<_, StoreError>(None);
        }
        let most = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let bytes = log.get(&sha256, from, most).await?;
        let read = bytes.len() as u64;
        Ok((read > 0).then(|| (bytes, (log, sha256, from + read, left.saturating_sub(read)))))
    });
    Ok(Octets::of_body(Body::from_stream(pieces)))
}
