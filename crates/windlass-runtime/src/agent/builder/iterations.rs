//! Checks what iterations need: an objective, answers in text, and a bound.

use windlass_core::Policy;
use windlass_core::policy::{Another, LimitKind, Objective, Stop};

use crate::platform::error::Error;

/// Limits of which each bounds the number of iterations.
const BOUNDS: [LimitKind; 4] =
    [LimitKind::Iterations, LimitKind::ModelCalls, LimitKind::Tokens, LimitKind::Seconds];

/// Checks that the loop has what its iterations need.
///
/// # Errors
/// It needs an objective and there are no instructions, or what follows an answer cannot be done or has no bound.
pub(super) fn iterates(agent: &str, policy: &Policy, instructions: &str) -> Result<(), Error> {
    if policy.request.objective == Objective::Required && instructions.trim().is_empty() {
        return Err(Error::NoObjective { agent: agent.to_owned() });
    }
    let refused = |reason| Err(Error::Another { agent: agent.to_owned(), reason });
    if policy.replies.another == Another::Never {
        return Ok(());
    }
    if policy.replies.stop == Stop::FinishTool {
        return refused("`another` needs answers in text, and a call of the finish tool ends the run");
    }
    if BOUNDS.into_iter().all(|kind| policy.limit(kind).is_none()) {
        return refused("`another` needs a limit on iterations");
    }
    Ok(())
}
