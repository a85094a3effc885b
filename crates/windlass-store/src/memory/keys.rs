//! The runs to which something was posted under a key.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use windlass_core::{Owner, RunId, Text};

use crate::PostKey;

/// By owner and key: each run once.
#[derive(Debug, Default)]
pub(super) struct Keys(HashMap<(Owner, Text), Vec<RunId>>);

impl Keys {
    pub(super) fn add(&mut self, key: &PostKey, run: RunId) {
        self.0.entry((key.owner.clone(), key.key.clone())).or_default().push(run);
    }

    pub(super) fn remove(&mut self, key: &PostKey, run: RunId) {
        if let Entry::Occupied(mut runs) = self.0.entry((key.owner.clone(), key.key.clone())) {
            runs.get_mut().retain(|other| *other != run);
            if runs.get().is_empty() {
                runs.remove();
            }
        }
    }

    pub(super) fn runs(&self, owner: &Owner, key: &str) -> &[RunId] {
        self.0.get(&(owner.clone(), key.into())).map_or(&[], Vec::as_slice)
    }
}
