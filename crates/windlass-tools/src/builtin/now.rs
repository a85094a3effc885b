//! The built-in `now`: the time of the machine.

use std::sync::Arc;

use chrono::{DateTime, FixedOffset, Local, SecondsFormat, Utc};
use futures_core::future::BoxFuture;
use serde_json::{Value, json};
use windlass_core::ToolSpec;
use windlass_core::event::Millis;

use super::{Builtin, Takes};
use crate::function::Properties;
use crate::tool::{Tool, ToolContext, ToolResult};

/// `now`: the current time as an object with `local` (RFC 3339 with the machine's offset), `utc`, `weekday` (of the
/// local date, in English) and `unix` (seconds). It takes no arguments; equal calls in a row are legitimate.
#[derive(Debug)]
pub struct Now {
    spec: ToolSpec,
}

impl Default for Now {
    fn default() -> Self {
        Self::new()
    }
}

impl Now {
    /// The tool by its name.
    pub const BUILTIN: Builtin =
        Builtin { name: "now", takes: Takes::Nothing, make: |_| Ok(Arc::new(Now::new())) };

    /// The tool.
    pub fn new() -> Self {
        let description =
            "Gives the current date and time: local time with its offset, UTC, and the weekday.";
        let mut spec = super::spec("now", description, Properties::new());
        spec.poll = true;
        Self { spec }
    }

    /// The text for that time (milliseconds since 1970) in UTC, for clocks other than the machine's. A time outside the
    /// calendar gives the first of 1970.
    pub fn says_at(at: Millis) -> String {
        let time = i64::try_from(at).ok().and_then(DateTime::from_timestamp_millis).unwrap_or_default();
        rendered(time.fixed_offset()).to_string()
    }
}

impl Tool for Now {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, _context: ToolContext, _args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async { Ok(rendered(Local::now().fixed_offset()).to_string().into()) })
    }
}

fn rendered(now: DateTime<FixedOffset>) -> Value {
    json!({
        "local": now.to_rfc3339_opts(SecondsFormat::Secs, false),
        "utc": now.with_timezone(&Utc).to_rfc3339_opts(SecondsFormat::Secs, true),
        "weekday": now.format("%A").to_string(),
        "unix": now.timestamp(),
    })
}

#[cfg(test)]
mod tests;
