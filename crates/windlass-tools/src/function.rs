//! Support for the code that `#[tool]` emits: reading arguments, making schemas, converting results.
//!
//! Nothing here is meant to be called by hand; the names may change with any version.

mod args;
pub mod kinds;
mod schema;

pub use args::Args;
pub use futures_core::future::BoxFuture;
pub use schema::{Properties, json};
pub use serde_json::Value;
pub use windlass_core::tool::Effect;
pub use windlass_core::{CallOutcome, ToolSpec};

pub use crate::tool::{Tool, ToolContext, ToolError, ToolResult};

/// Runs a plain function on tokio's pool for blocking work. A panic goes on in the caller, as in an async function.
///
/// # Errors
/// An error of the function; or the runtime is shutting down.
pub async fn blocking(function: impl FnOnce() -> ToolResult + Send + 'static) -> ToolResult {
    match tokio::task::spawn_blocking(function).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ToolError::new("the program is shutting down; the tool was not run")),
        },
    }
}

/// Converts what a `check` found into an outcome.
///
/// # Errors
/// The check does not know.
pub fn outcome(result: ToolResult) -> Result<CallOutcome, ToolError> {
    match result {
        Ok(content) => Ok(CallOutcome::Ok { content }),
        Err(error) if error.in_doubt => Err(error),
        Err(ToolError { kind, message, .. }) => Ok(CallOutcome::Error { kind, message }),
    }
}
