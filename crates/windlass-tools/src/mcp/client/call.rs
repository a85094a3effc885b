//! Owns one call of a tool: what goes to the server with it, and what each way to fail becomes.

use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorCode, ErrorData, RequestMetaObject, RequestParamsMeta,
};
use rmcp::service::ServiceError;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::content;
use super::doubt;
use super::error::McpError;
use super::link::Link;
use super::meta::{META_CALL, META_IDEMPOTENCY_KEY, META_RUN};
use super::reading;
use super::sent::Sent;
use super::server::Shared;
use super::tool::Remote;
use crate::binding::Bound;
use crate::tool::{ToolContext, ToolError, ToolResult};
use crate::trace;

/// Timeout for checking whether a tool still exists.
const RELIST_LIMIT: Duration = Duration::from_secs(5);

impl Remote for Shared {
    fn binding(&self) -> Vec<Bound> {
        self.config.server_binding()
    }

    fn call(self: Arc<Self>, tool: &str, context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(self.call_once(tool, context, args))
    }
}

impl Shared {
    /// Calls a tool by the server's own name for it. A call is sent once at most: whether it may be sent again is for
    /// the core to say, by the tool's effect.
    async fn call_once(self: Arc<Self>, remote: &str, context: ToolContext, args: Value) -> ToolResult {
        let limit = async {
            match self.config.call_ms {
                Some(ms) => sleep(Duration::from_millis(ms)).await,
                None => std::future::pending().await,
            }
        };
        let sent = Sent::default();
        // A call that is given up before its send is not sent later.
        let stopped = |error: ToolError| {
            if sent.give_up() { error.doubted_if(true) } else { self.unreached(error) }
        };
        let result = tokio::select! {
            biased;
            result = self.call_now(remote, &context, args, &sent) => result,
            () = self.closed.cancelled() => Err(stopped(self.closed_error().into_call_error())),
            () = context.cancelled.cancelled() => {
                let begun = sent.give_up();
                let why = if begun {
                    "the call was cancelled, and the MCP server was told"
                } else {
                    "the call was cancelled before it was sent"
                };
                Err(ToolError::of_kind("cancelled", why).doubted_if(begun))
            }
            () = limit => Err(stopped(self.timed_out())),
        };
        result.map_err(|error| {
            let message = self.mask.hide(&error.message).into();
            ToolError { message, unsent: !sent.has_begun(), ..error }
        })
    }

    async fn call_now(
        self: &Arc<Self>,
        remote: &str,
        context: &ToolContext,
        args: Value,
        sent: &Sent,
    ) -> ToolResult {
        let params = params(remote, context, args)?;
        if !self.catalog().offers(remote) {
            return Err(self.unknown(remote));
        }
        let link = self.link().await.map_err(McpError::into_call_error)?;
        // A server that was started again may have other tools.
        if !self.catalog().offers(remote) {
            return Err(self.unknown(remote));
        }
        // A server that had to be started took its time.
        context.lease.confirm().await?;
        match link.call(params, sent).await {
            Ok(CallToolResponse::Complete(result)) => match content::made(result).await {
                Err(error) if sounds_unknown(remote, &error.message) && self.is_gone(&link, remote).await => {
                    Err(self.unknown(remote))
                }
                result => result,
            },
            Ok(_) => Err(ToolError::of_kind(
                "mcp_unsupported",
                "the MCP server requests input from a person or runs the call as a task; neither is supported",
            )
            .doubted_if(true)),
            Err(ServiceError::McpError(error)) if reading::is_answer(&error) => {
                let may_be_gone =
                    matches!(error.code, ErrorCode::INVALID_PARAMS | ErrorCode::METHOD_NOT_FOUND);
                if may_be_gone && self.is_gone(&link, remote).await {
                    return Err(self.unknown(remote));
                }
                let lost = sent.has_begun() && doubt::says_lost(&error);
                Err(refused(&error).doubted_if(lost))
            }
            Err(error) => {
                let lost = sent.has_begun();
                Err(link.explain(&self.config, &self.mask, &error).await.into_call_error().doubted_if(lost))
            }
        }
    }

    /// Lists the tools again and says whether this one is gone.
    async fn is_gone(self: &Arc<Self>, link: &Link, remote: &str) -> bool {
        if let Ok(Ok(listed)) = timeout(RELIST_LIMIT, link.list(&self.config, &self.mask)).await
            && let Err(error) = self.adopt(listed).await
        {
            tracing::warn!(%error, "the changed list of tools is not used");
        }
        !self.catalog().offers(remote)
    }

    fn unknown(&self, remote: &str) -> ToolError {
        let message = format!("the MCP server `{}` no longer offers the tool `{remote}`", self.config.name);
        ToolError { unknown_tool: true, ..ToolError::of_kind("unknown_tool", message) }
    }

    /// The error of a call that was given up before it was sent.
    fn unreached(&self, why: ToolError) -> ToolError {
        if self.closed.is_cancelled() {
            return why;
        }
        let last = self.last_failure().map(|last| format!("; last error: {last}")).unwrap_or_default();
        let server = &self.config.name;
        let message =
            format!("the MCP server `{server}` cannot be reached: the call ended before it was sent{last}");
        ToolError::of_kind("mcp_unreachable", message)
    }

    fn timed_out(&self) -> ToolError {
        let (server, ms) = (&self.config.name, self.config.call_ms.unwrap_or_default());
        ToolError::of_kind("timeout", format!("the MCP server `{server}` did not answer within {ms} ms"))
    }
}

/// A `tools/call` with the run's ids in `_meta` (MCP 2025-11-25, Base Protocol, `_meta`).
fn params(remote: &str, context: &ToolContext, args: Value) -> Result<CallToolRequestParams, ToolError> {
    let mut params = CallToolRequestParams::new(remote.to_owned());
    match args {
        Value::Object(arguments) => params.arguments = Some(arguments),
        Value::Null => {}
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            return Err(ToolError::new(format!("the arguments must be an object, not `{other}`")));
        }
    }
    let mut meta = RequestMetaObject::new();
    meta.insert(META_IDEMPOTENCY_KEY.to_owned(), context.idempotency_key.as_ref().into());
    meta.insert(META_RUN.to_owned(), context.run.to_string().into());
    meta.insert(META_CALL.to_owned(), context.call.as_str().into());
    // The names that MCP has for them (SEP-414).
    for (name, value) in trace::fields() {
        meta.insert(name, value.into());
    }
    params.set_meta(meta);
    Ok(params)
}

fn refused(error: &ErrorData) -> ToolError {
    let message = format!("{} (JSON-RPC error {})", error.message, error.code.0);
    ToolError::of_kind("mcp_error", message)
}

/// Whether an error reads as if there were no such tool; some servers say so in a result.
fn sounds_unknown(remote: &str, message: &str) -> bool {
    let lower = message.to_lowercase();
    message.contains(remote)
        && ["not found", "unknown", "no such", "-32602"].iter().any(|s| lower.contains(s))
}
