//! Runs that are given up: their model call was lost with its process too often, and only a person takes them up.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use windlass_core::RunId;

/// The most runs that are known here. Further ones count as due.
const MOST: usize = 10_000;

/// The runs that this process has given up.
#[derive(Debug, Default)]
pub(crate) struct GivenUp {
    runs: Mutex<BTreeSet<RunId>>,
}

impl GivenUp {
    pub(crate) fn given_up(&self, run: RunId) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.len() < MOST {
            runs.insert(run);
        }
    }

    /// Somebody has taken it up.
    pub(crate) fn resumed(&self, run: RunId) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).remove(&run);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(crate) fn has(&self, run: RunId) -> bool {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).contains(&run)
    }
}
