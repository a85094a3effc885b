//! Owns what the reasons for an end and the counts of a reply mean.

use windlass_core::model::{FailureKind, Pico, StopReason, Usage};

use super::shapes::WireUsage;

/// The reasons for an end (`Candidate.FinishReason`): how the reply stopped, or the kind of failure. A call that the model
/// wrote badly may come out well the next time, so its failure is one that is tried again.
pub(super) fn end_of(reason: &str) -> Result<StopReason, FailureKind> {
    match reason {
        // There is no reason of its own for calls: the assembler sees them.
        "STOP" => Ok(StopReason::Stop),
        "MAX_TOKENS" => Ok(StopReason::Length),
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Ok(StopReason::Filtered),
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => Err(FailureKind::Server),
        "MISSING_THOUGHT_SIGNATURE" => Err(FailureKind::BadRequest),
        // Among them OTHER, IMAGE_OTHER, NO_IMAGE and TOO_MANY_TOOL_CALLS: no reply that was asked for.
        _ => Err(FailureKind::Protocol),
    }
}

/// `None` where nothing was counted: Vertex AI sends an object without numbers in each piece but the last.
///
/// Thoughts are not in `candidatesTokenCount`, and what the provider's own tools read is not in `promptTokenCount`; cached
/// tokens are in the latter.
pub(super) fn usage_of(counted: WireUsage) -> Option<Usage> {
    let WireUsage { prompt, candidates, .. } = counted;
    prompt.or(candidates).or(counted.total)?;
    let thoughts = counted.thoughts.unwrap_or(0);
    let input = prompt.unwrap_or(0).saturating_add(counted.tools.unwrap_or(0));
    let listed = candidates.unwrap_or(0).saturating_add(thoughts);
    // What is billed but not listed is output.
    let output = listed.max(counted.total.unwrap_or(0).saturating_sub(input));
    Some(Usage {
        input,
        output,
        cached: counted.cached.unwrap_or(0).min(input),
        cache_write: 0,
        reasoning: thoughts,
        estimated: false,
        reported: Pico::default(),
    })
}

/// A later count. One with a total is whole: what is missing in it is none. In another, a missing number stays as it was.
pub(super) fn later(old: WireUsage, new: WireUsage) -> WireUsage {
    if new.total.is_some() && new.prompt.is_some() {
        return new;
    }
    WireUsage {
        prompt: new.prompt.or(old.prompt),
        cached: new.cached.or(old.cached),
        candidates: new.candidates.or(old.candidates),
        thoughts: new.thoughts.or(old.thoughts),
        tools: new.tools.or(old.tools),
        total: new.total.or(old.total),
    }
}
