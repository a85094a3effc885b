//! Payloads in memory: kept as long as a run refers to them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::error::StoreError;
use crate::payload::{self, Digest};

/// Number of unreferenced payloads kept: the latest ones, whose append may follow.
const UNUSED: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Payloads {
    by_digest: HashMap<Digest, Payload>,
    /// Payloads that nothing referred to when they were stored, oldest first.
    fresh: VecDeque<Digest>,
}

#[derive(Debug)]
struct Payload {
    bytes: Arc<[u8]>,
    /// Number of runs that refer to it.
    runs: usize,
}

impl Payloads {
    pub(super) fn put(&mut self, digest: Digest, bytes: Arc<[u8]>) {
        let payload = self.by_digest.entry(digest).or_insert(Payload { bytes, runs: 0 });
        if payload.runs > 0 {
            return;
        }
        self.fresh.retain(|other| *other != digest);
        self.fresh.push_back(digest);
        while self.fresh.len() > UNUSED {
            let Some(oldest) = self.fresh.pop_front() else { break };
            if self.by_digest.get(&oldest).is_some_and(|payload| payload.runs == 0) {
                self.by_digest.remove(&oldest);
            }
        }
    }

    pub(super) fn read(&self, digest: &Digest, from: u64, max: usize) -> Result<Vec<u8>, StoreError> {
        let payload = self.by_digest.get(digest).ok_or_else(|| unknown(digest))?;
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(payload.bytes.len());
        let to = from.saturating_add(max).min(payload.bytes.len());
        Ok(payload.bytes.get(from..to).unwrap_or_default().to_vec())
    }

    /// The size of a payload in bytes, if it is there.
    pub(super) fn size(&self, digest: &Digest) -> Option<u64> {
        self.by_digest.get(digest).map(|payload| payload.bytes.len() as u64)
    }

    /// Whether all of them are there.
    pub(super) fn check(&self, needed: &[Digest]) -> Result<(), StoreError> {
        match needed.iter().find(|digest| !self.by_digest.contains_key(*digest)) {
            Some(missing) => Err(unknown(missing)),
            None => Ok(()),
        }
    }

    /// One more run refers to it.
    pub(super) fn refer(&mut self, digest: Digest) {
        if let Some(payload) = self.by_digest.get_mut(&digest) {
            payload.runs += 1;
        }
    }

    /// A run that referred to it is gone.
    pub(super) fn let_go(&mut self, digest: &Digest) {
        let Some(payload) = self.by_digest.get_mut(digest) else { return };
        payload.runs = payload.runs.saturating_sub(1);
        if payload.runs == 0 {
            self.by_digest.remove(digest);
            self.fresh.retain(|other| other != digest);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_digest.len()
    }
}

fn unknown(digest: &Digest) -> StoreError {
    StoreError::UnknownPayload { sha256: payload::name(digest).to_string() }
}
