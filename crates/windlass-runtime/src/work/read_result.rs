//! The tool `read_result`: parts of what was too long to be shown whole, straight from the log.

use std::ops::Range;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::message::{Content, Ref};
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
    state: Arc<State>,
}

impl ReadResult {
    pub(crate) fn new(log: Arc<dyn Payloads>, state: Arc<State>) -> Self {
        Self { log, state }
    }

    async fn read(&self, args: &Value) -> ToolResult {
        let handle = args.get("handle").and_then(Value::as_str).unwrap_or_default().trim();
        if let Some(text) = self.state.left_out(handle) {
            return in_memory(&text, args);
        }
        let stored = self.state.stored(handle).ok_or_else(|| {
            let known: Vec<_> =
                self.state.handles().take(NAMED).map(|handle| format!("`{handle}`")).collect();
            let there = known.join(", ");
            ToolError::new(format!("nothing is stored under the handle `{handle}`; there is {there}"))
        })?;
        self.range(stored, args).await
    }

    async fn range(&self, stored: &Ref, args: &Value) -> ToolResult {
        let (from, length) = wanted(args, stored.bytes)?;
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
        Ok(part(&text, before + start as u64..before + end as u64, stored.bytes))
    }
}

/// The first byte and the number of bytes that a call asks for.
fn wanted(args: &Value, bytes: u64) -> Result<(u64, u64), ToolError> {
    let number = |key: &str| args.get(key).and_then(Value::as_u64);
    let from = number("offset").unwrap_or(0);
    let length = number("length").unwrap_or(READ_USUAL).clamp(1, READ_MOST);
    if from >= bytes {
        let last = bytes.saturating_sub(1);
        return Err(ToolError::new(format!("`offset` is {from}, expected 0 to {last}")));
    }
    Ok((from, length))
}

/// A part of a text that the run's state holds.
fn in_memory(text: &str, args: &Value) -> ToolResult {
    let (from, length) = wanted(args, text.len() as u64)?;
    let start = text.floor_char_boundary(from as usize);
    let end = text.floor_char_boundary((from + length) as usize);
    let end = if end > start { end } else { text.ceil_char_boundary(start + 1) };
    Ok(part(text.get(start..end).unwrap_or_default(), start as u64..end as u64, text.len() as u64))
}

/// A part of a text as the tool gives it.
fn part(text: &str, range: Range<u64>, bytes: u64) -> Content {
    let Range { start: first, end: next } = range;
    let more = if next < bytes { format!("go on with offset {next}") } else { "the end".to_owned() };
    format!("[bytes {first} to {next} of {bytes}; {more}]\n{text}").into()
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
