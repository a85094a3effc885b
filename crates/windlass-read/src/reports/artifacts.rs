//! Artifacts of a run: long texts and files that it keeps outside its events, and images, sound and files that its models made.
//!
//! An image or file that a model made stands in the event of its reply, once, because it goes back to its provider whole.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use serde::Serialize;
use windlass_core::event::ModelFact;
use windlass_core::message::{Media, MediaSource};
use windlass_core::{Fact, RunId};
use windlass_store::Store;

use super::digest::sha256 as sha256_of;
use crate::error::Error;
use crate::load::pages::{RunPages, numbered};

/// Maximum number of bytes of a payload that are read at once.
const PIECE: usize = 1024 * 1024;

/// An artifact of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Artifact {
    /// SHA-256 of its bytes, in lower-case hexadecimal; `None`: only its provider has them.
    pub sha256: Option<String>,
    /// Number of its bytes; 0 where only its provider has them.
    pub bytes: u64,
    /// Whether a model made it.
    pub is_made: bool,
    /// Its media type, of one that a model made.
    pub media_type: Option<String>,
    /// Its name, if there is one.
    pub name: Option<String>,
    /// Its address or id at its provider, where only that has its bytes.
    pub address: Option<String>,
    /// Its beginning, if it is text.
    pub head: String,
    /// The event that brought it first.
    pub seq: u64,
    /// The name of that event.
    pub event: String,
}

/// The artifacts of a run, each once, in the order of the events that brought them.
///
/// # Errors
/// The run is unknown, or the log failed.
pub async fn artifacts(log: &dyn Store, run: RunId) -> Result<Vec<Artifact>, Error> {
    let mut pages = RunPages::new(log, run);
    let (mut known, mut found) = (BTreeSet::new(), Vec::new());
    while let Some(batches) = pages.next().await? {
        for (seq, event) in batches.iter().flat_map(numbered) {
            let of_event = |artifact| Artifact { seq, event: event.fact.kind().to_owned(), ..artifact };
            for stored in event.fact.refs() {
                if known.insert(stored.sha256.to_string()) {
                    found.push(of_event(Artifact {
                        sha256: Some(stored.sha256.to_string()),
                        bytes: stored.bytes,
                        head: stored.head.to_string(),
                        ..Artifact::none()
                    }));
                }
            }
            for media in made(&event.fact) {
                let artifact = of_event(made_of(media));
                if artifact.sha256.as_ref().is_none_or(|sha256| known.insert(sha256.clone())) {
                    found.push(artifact);
                }
            }
        }
    }
    Ok(found)
}

/// The bytes of an artifact; `None`: the run has none of this digest.
///
/// # Errors
/// The run is unknown, or the log failed.
pub async fn artifact_bytes(log: &dyn Store, run: RunId, sha256: &str) -> Result<Option<Vec<u8>>, Error> {
    if let Some(bytes) = log.size_in(run, sha256).await? {
        let mut whole = Vec::new();
        while (whole.len() as u64) < bytes {
            let piece = log.get(sha256, whole.len() as u64, PIECE).await?;
            if piece.is_empty() {
                break;
            }
            whole.extend_from_slice(&piece);
        }
        return Ok(Some(whole));
    }
    let mut pages = RunPages::new(log, run);
    while let Some(batches) = pages.next().await? {
        let events = batches.iter().flat_map(numbered);
        let mut media = events.flat_map(|(_, event)| made(&event.fact)).filter_map(inline);
        if let Some(bytes) = media.find(|bytes| sha256_of(bytes) == sha256) {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// The media that a model made in a reply.
fn made(fact: &Fact) -> &[Media] {
    if let Fact::Model(ModelFact::Completed(turn)) = fact { &turn.media } else { &[] }
}

pub(super) fn made_of(media: &Media) -> Artifact {
    let bytes = inline(media);
    let address = match &media.source {
        MediaSource::Url(place) | MediaSource::ProviderFile(place) => Some(place.to_string()),
        MediaSource::Base64(_) | MediaSource::Stored(_) => None,
    };
    Artifact {
        sha256: bytes.as_deref().map(sha256_of),
        bytes: bytes.map_or(0, |bytes| bytes.len() as u64),
        is_made: true,
        media_type: Some(media.media_type.to_string()),
        name: media.name.as_ref().map(ToString::to_string),
        address,
        ..Artifact::none()
    }
}

/// The bytes of a medium that stand in its event. What is no base64 is kept as it came.
fn inline(media: &Media) -> Option<Vec<u8>> {
    let MediaSource::Base64(data) = &media.source else { return None };
    let read = BASE64_STANDARD.decode(&**data).or_else(|_| BASE64_STANDARD_NO_PAD.decode(&**data));
    Some(read.unwrap_or_else(|_| data.as_bytes().to_vec()))
}

impl Artifact {
    fn none() -> Self {
        Self {
            sha256: None,
            bytes: 0,
            is_made: false,
            media_type: None,
            name: None,
            address: None,
            head: String::new(),
            seq: 0,
            event: String::new(),
        }
    }
}
