//! Owns the lanes of the process.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::time::Instant;

use super::lane::Lane;

/// The most lanes that are kept. A lane beyond is its adapter's own.
const MAX_LANES: usize = 4096;

/// The fewest lanes among which idle ones are looked for.
const FEW_LANES: usize = 64;

/// Lanes by what they are for. The keys of providers are hashed with numbers that nobody else knows, and are not kept.
#[derive(Debug)]
pub(super) struct Table {
    hasher: RandomState,
    lanes: Mutex<Lanes>,
}

#[derive(Debug)]
struct Lanes {
    by_hash: HashMap<u64, Arc<Lane>>,
    /// At so many lanes idle ones are dropped.
    sweep_at: usize,
}

static ALL: LazyLock<Table> = LazyLock::new(Table::new);

impl Table {
    /// The lanes of the process.
    pub(super) fn of_process() -> &'static Self {
        &ALL
    }

    pub(super) fn new() -> Self {
        let lanes = Lanes { by_hash: HashMap::new(), sweep_at: FEW_LANES };
        Self { hasher: RandomState::new(), lanes: Mutex::new(lanes) }
    }

    /// The hash of something that lanes are told apart by.
    pub(super) fn hash(&self, of: impl Hash) -> u64 {
        self.hasher.hash_one(of)
    }

    /// The lane of this hash.
    pub(super) fn lane(&self, hash: u64) -> Arc<Lane> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.by_hash.get(&hash) {
            return lane.clone();
        }
        if lanes.by_hash.len() >= lanes.sweep_at {
            let now = Instant::now();
            lanes.by_hash.retain(|_, lane| Arc::strong_count(lane) > 1 || !lane.is_idle(now));
            lanes.sweep_at = (2 * lanes.by_hash.len()).clamp(FEW_LANES, MAX_LANES);
        }
        let lane = Arc::new(Lane::new());
        if lanes.by_hash.len() < MAX_LANES {
            lanes.by_hash.insert(hash, lane.clone());
        }
        lane
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).by_hash.len()
    }
}
