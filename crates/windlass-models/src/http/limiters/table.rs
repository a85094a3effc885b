//! Owns the limiters of the process.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::time::Instant;

use super::limiter::Limiter;

/// The most limiters that are kept. A limiter beyond is its adapter's own.
const MAX_LIMITERS: usize = 4096;

/// The fewest limiters among which idle ones are looked for.
const FEW_LIMITERS: usize = 64;

/// Limiters by what they are for. The keys of providers are hashed with numbers that nobody else knows, and are not kept.
#[derive(Debug)]
pub(super) struct Table {
    hasher: RandomState,
    limiters: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    by_hash: HashMap<u64, Arc<Limiter>>,
    /// At so many limiters idle ones are dropped.
    sweep_at: usize,
}

static ALL: LazyLock<Table> = LazyLock::new(Table::new);

impl Table {
    /// The limiters of the process.
    pub(super) fn of_process() -> &'static Self {
        &ALL
    }

    pub(super) fn new() -> Self {
        let limiters = Kept { by_hash: HashMap::new(), sweep_at: FEW_LIMITERS };
        Self { hasher: RandomState::new(), limiters: Mutex::new(limiters) }
    }

    /// The hash of something that distinguishes limiters.
    pub(super) fn hash(&self, of: impl Hash) -> u64 {
        self.hasher.hash_one(of)
    }

    /// The limiter of this hash.
    pub(super) fn limiter(&self, hash: u64) -> Arc<Limiter> {
        let mut limiters = self.limiters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(limiter) = limiters.by_hash.get(&hash) {
            return limiter.clone();
        }
        if limiters.by_hash.len() >= limiters.sweep_at {
            let now = Instant::now();
            limiters.by_hash.retain(|_, limiter| Arc::strong_count(limiter) > 1 || !limiter.is_idle(now));
            limiters.sweep_at = (2 * limiters.by_hash.len()).clamp(FEW_LIMITERS, MAX_LIMITERS);
        }
        let limiter = Arc::new(Limiter::new());
        if limiters.by_hash.len() < MAX_LIMITERS {
            limiters.by_hash.insert(hash, limiter.clone());
        }
        limiter
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.limiters.lock().unwrap_or_else(PoisonError::into_inner).by_hash.len()
    }
}
