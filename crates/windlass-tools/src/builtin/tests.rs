use serde_json::Value;
use tokio_util::sync::CancellationToken;
use windlass_core::RunId;

use crate::tool::{Tool, ToolContext, ToolError};

pub(crate) fn context() -> ToolContext {
    ToolContext {
        run: RunId::from_number(1),
        call: "c1".into(),
        attempt: 1,
        idempotency_key: "key".into(),
        cancelled: CancellationToken::new(),
        lease: crate::Lease::none(),
        active_skills: Vec::new(),
    }
}

/// The text that a tool gives, for arguments that fit its schema.
pub(crate) async fn call(tool: &dyn Tool, args: Value) -> String {
    result(tool, args).await.unwrap()
}

pub(crate) async fn error_of(tool: &dyn Tool, args: Value) -> ToolError {
    result(tool, args).await.unwrap_err()
}

async fn result(tool: &dyn Tool, args: Value) -> Result<String, ToolError> {
    crate::set::check(tool.spec()).unwrap();
    assert!(tool.spec().checker().unwrap().check(&args).is_ok(), "{args}");
    tool.call(context(), args).await.map(|content| content.text().into_owned())
}
