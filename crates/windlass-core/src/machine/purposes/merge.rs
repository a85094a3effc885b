//! Merge: the model sums a branch up for the run that it goes back to. The summary is the answer of a run of its own.

use crate::machine::purposes::{Rules, act};

pub(crate) const RULES: Rules = act::RULES;
