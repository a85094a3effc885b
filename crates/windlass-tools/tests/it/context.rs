//! A context for calls without a run.

use tokio_util::sync::CancellationToken;
use windlass_core::RunId;
use windlass_tools::ToolContext;

pub(crate) fn context() -> ToolContext {
    ToolContext {
        run: RunId::from_number(7),
        call: "c1".into(),
        attempt: 1,
        idempotency_key: "key-1".into(),
        cancelled: CancellationToken::new(),
        lease: windlass_tools::Lease::none(),
        active_skills: Vec::new(),
    }
}
