//! Two models that are asked for one reply, in words.

use windlass_core::event::{HedgeSkipped, ModelFact};

/// A hedge as a phrase of a run.
pub(super) fn hedge(fact: &ModelFact) -> String {
    if let ModelFact::HedgeSkipped(skipped) = fact {
        format!("did not ask fallback model {} beside it: {}", skipped.model, unhedged(skipped))
    } else if let ModelFact::Hedged(hedged) = fact {
        format!("asked fallback model {} beside it", hedged.model)
    } else {
        String::new()
    }
}

/// Why no model was asked beside one that took too long.
pub(crate) fn unhedged(skipped: &HedgeSkipped) -> String {
    match skipped.limit {
        Some(limit) => format!("too little is left of `{limit}`"),
        None => "its price is unknown".to_owned(),
    }
}
