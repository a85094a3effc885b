//! Owns a server's tools as Windlass offers them: their names, schemas and effects.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Weak};

use rmcp::model::{Tool as ServerTool, ToolAnnotations};
use serde_json::Value;
use sha2::{Digest, Sha256};
use wildmatch::WildMatch;
use windlass_core::{Effect, ToolSpec};

use super::config::McpConfig;
use super::error::McpError;
use super::server::Shared;
use super::tool::McpTool;
use crate::set::MAX_NAME;

/// What stands between the prefix and the server's own name for a tool.
const SEPARATOR: &str = "__";

/// How many characters of a digest end a name that was too long.
const DIGEST_CHARS: usize = 8;

/// The tools of a server, in its order.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    pub(super) tools: Vec<Arc<McpTool>>,
}

impl Catalog {
    /// The catalog of a list of tools. A tool that is as it was before is taken over, with its compiled schema.
    ///
    /// # Errors
    /// Two tools would have one name.
    pub(super) fn new(
        config: &McpConfig,
        listed: Vec<ServerTool>,
        before: &Self,
        server: &Weak<Shared>,
    ) -> Result<Self, McpError> {
        let mut tools: Vec<Arc<McpTool>> = Vec::new();
        let mut taken: HashMap<Arc<str>, String> = HashMap::new();
        for listed in listed {
            let spec = spec(config, &listed);
            if !is_wanted(config, &listed.name, &spec.name) {
                continue;
            }
            let remote = listed.name.into_owned();
            if let Some(first) = taken.insert(spec.name.clone(), remote.clone()) {
                let name = spec.name.to_string();
                return Err(McpError::NameClash { server: config.name.clone(), name, first, second: remote });
            }
            let known = before.tools.iter().find(|tool| tool.is(&remote, &spec));
            let tool = known.cloned();
            tools.push(tool.unwrap_or_else(|| Arc::new(McpTool::new(spec, remote, server.clone()))));
        }
        Ok(Self { tools })
    }

    /// Whether the server offers a tool of this name of its own.
    pub(super) fn offers(&self, remote: &str) -> bool {
        self.tools.iter().any(|tool| tool.remote() == remote)
    }

    /// Whether both hold the same tools in the same order.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        self.tools.len() == other.tools.len()
            && self.tools.iter().zip(&other.tools).all(|(one, two)| Arc::ptr_eq(one, two))
    }
}

/// A server's tool as Windlass sees it.
fn spec(config: &McpConfig, listed: &ServerTool) -> ToolSpec {
    let description = listed.description.as_deref().or(listed.title.as_deref()).unwrap_or_default();
    let mut schema = listed.input_schema.as_ref().clone();
    // The specification demands it, some servers leave it out.
    schema.entry("type").or_insert_with(|| "object".into());
    let overrides = &config.overrides;
    let mut spec = ToolSpec::new(name(config, &listed.name), description, Value::Object(schema));
    spec.effect = overrides.effect.unwrap_or_else(|| effect(listed.annotations.as_ref()));
    spec.approve = overrides.approve.unwrap_or_default();
    spec.timeout_ms = overrides.timeout_ms;
    spec.retries = overrides.retries;
    spec.poll = overrides.poll.unwrap_or_default();
    spec.origin = format!("mcp {}", config.name).into();
    spec
}

/// What running a tool twice would do, by its hints (MCP 2025-11-25, Schema Reference, `ToolAnnotations`):
/// `readOnlyHint` makes it read-only; `idempotentHint` idempotent, but only with `destructiveHint: false`, whose default
/// is true; anything else, or no hint, has its effect each time. Hints are the server's word and not proof: an agent
/// file's `effect` overrides them.
fn effect(annotations: Option<&ToolAnnotations>) -> Effect {
    match annotations {
        Some(hints) if hints.read_only_hint == Some(true) => Effect::ReadOnly,
        Some(hints) if hints.is_idempotent() && !hints.is_destructive() => Effect::Idempotent,
        _ => Effect::Once,
    }
}

fn is_wanted(config: &McpConfig, remote: &str, name: &str) -> bool {
    config.tools.as_ref().is_none_or(|patterns| {
        let mut patterns = patterns.iter().map(|pattern| WildMatch::new(pattern));
        patterns.any(|pattern| pattern.matches(remote) || pattern.matches(name))
    })
}

/// `{prefix}__{tool}` with every character that providers refuse as `_`. A name that is too long keeps its beginning
/// and ends in a digest of the whole.
fn name(config: &McpConfig, remote: &str) -> String {
    let before = config.overrides.prefix.as_deref().unwrap_or_default();
    let prefix = config.prefix.as_deref().unwrap_or(&config.name);
    let separator = if prefix.is_empty() { "" } else { SEPARATOR };
    let whole = format!("{before}{prefix}{separator}{remote}");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut name: String = whole.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    if name.len() > MAX_NAME {
        name.truncate(MAX_NAME - DIGEST_CHARS - 1);
        name.push('_');
        for byte in Sha256::digest(&whole).iter().take(DIGEST_CHARS / 2) {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
    }
    name
}

#[cfg(test)]
mod tests;
