//! The tool `read_result`: parts of what was too long to be shown whole, straight from the log.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::message::Ref;
use windlass_core::tool::{READ_MOST, READ_USUAL, read_result};
use windlass_core::{State, ToolSpec};
use windlass_store::Payloads;
use windlass_tools::{Tool, ToolContext, ToolError, ToolResult};

/// Maximum number of handles in an error.
const NAMED: usize = 10;
/// The most bytes by which a character may stand over an end of a range.
const CHARACTER: u64 = 4;

/// Reads the stored payload that one call asks for: only those of the call's own conversation can be read.
#[derive(Debug)]
pub(crate) struct ReadResult {
    log: Arc<dyn Payloads>,
    state: State,
}

impl ReadResult {
    pub(crate) fn new(log: Arc<dyn Payloads>, state: State) -> Self {
        Self { log, state }
    }

    async fn read(&self, args: &Value) -> ToolResult {
        let handle = args.get("handle").and_then(Value::as_str).unwrap_or_default().trim();
        let stored = self.state.stored(handle).ok_or_else(|| {
            let known: Vec<_> =
                self.state.handles().take(NAMED).map(|handle| format!("`{handle}`")).collect();
            let there = known.join(", ");
            ToolError::new(format!("nothing is stored under the handle `{handle}`; there is {there}"))
        })?;
        self.range(stored, args).await
    }

    async fn range(&self, stored: &Ref, args: &Value) -> ToolResult {
        let number = |key: &str| args.get(key).and_then(Value::as_u64);
        let from = number("offset").unwrap_or(0);
        let length = number("length").unwrap_or(READ_USUAL).clamp(1, READ_MOST);
        if from >= stored.bytes {
            let last = stored.bytes.saturating_sub(1);
            return Err(ToolError::new(format!("`offset` is {from}, expected 0 to {last}")));
        }
        // A little more at both ends, so that the range begins and ends with a whole character.
        let before = from.saturating_sub(CHARACTER);
        let wanted = (from - before + length + CHARACTER) as usize;
        let bytes = self.log.get(&stored.sha256, before, wanted).await;
        let bytes = bytes.map_err(|error| ToolError::new(format!("cannot read the result: {error}")))?;
        let start = boundary(&bytes, (from - before) as usize);
        let end = boundary(&bytes, (from - before + length) as usize);
        // A range within one character gives that character.
        let end = if end > start { end } else { boundary(&bytes, start + CHARACTER as usize) };
        let text = String::from_utf8_lossy(bytes.get(start..end).unwrap_or_default());
        let (first, next) = (before + start as u64, before + end as u64);
        let more =
            if next < stored.bytes { format!("go on with offset {next}") } else { "the end".to_owned() };
        Ok(format!("[bytes {first} to {next} of {}; {more}]\n{text}", stored.bytes).into())
    }
}

/// The last place up to `at` where a UTF-8 character begins (RFC 3629, 3), or the end.
fn boundary(bytes: &[u8], at: usize) -> usize {
    if at >= bytes.len() {
        return bytes.len();
    }
    let begins = |at: &usize| bytes.get(*at).is_none_or(|byte| byte & 0b1100_0000 != 0b1000_0000);
    (at.saturating_sub(3)..=at).rev().find(begins).unwrap_or(at)
}

impl Tool for ReadResult {
    fn spec(&self) -> &ToolSpec {
        read_result()
    }

    fn call(&self, _: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move { self.read(&args).await })
    }
}

#[cfg(test)]
mod tests;
