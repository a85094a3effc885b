//! Owns a server's tools as Windlass offers them: their names, schemas and effects.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Weak};

use rmcp::model::{Tool as ServerTool, ToolAnnotations};
use serde_json::Value;
use sha2::{Digest, Sha256};
use windlass_core::ToolSpec;
use windlass_core::secret::{mask, mask_json};
use windlass_core::text::covers;
use windlass_core::tool::{ByEffect, Effect};

use super::config::McpConfig;
use super::error::McpError;
use super::server::Shared;
use super::tool::McpTool;
use crate::set::MAX_NAME;
use crate::tool::Tool as _;
use crate::warning::ToolWarning;

/// Separator between the prefix and the server's name of a tool.
const SEPARATOR: &str = "__";

/// Maximum number of keywords in all schemas of one server, with references followed.
const MAX_KEYWORDS: u64 = 1_000_000;

/// As how many keywords a schema counts that is refused.
const REFUSED_KEYWORDS: u64 = 20_000;

/// Number of digest characters that end a shortened name.
const DIGEST_CHARS: usize = 8;

/// The tools of a server, in its order.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    pub(super) tools: Vec<Arc<McpTool>>,
    /// Warnings about the listed tools: at most one per tool.
    pub(super) warnings: Vec<ToolWarning>,
}

impl Catalog {
    /// The catalog of a list of tools. A tool that is as it was before is taken over, with its compiled schema. One whose
    /// schema cannot be used is left out. This may take a while: see [`Shared::adopt`].
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
        let mut warnings = Vec::new();
        let mut taken: HashMap<Arc<str>, String> = HashMap::new();
        let mut schemas = Schemas::default();
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
            let known = before.tools.iter().find(|tool| tool.is(&remote, &spec)).cloned();
            let tool = known.unwrap_or_else(|| Arc::new(McpTool::new(spec, remote, server.clone())));
            let warning = schemas.take_in(config, &tool);
            if let Some(warning) = &warning {
                tracing::warn!("{warning}");
            }
            if !warning.as_ref().is_some_and(|warning| warning.left_out) {
                tools.push(tool);
            }
            warnings.extend(warning);
        }
        Ok(Self { tools, warnings })
    }

    /// Whether the server offers a tool of this name of its own.
    pub(super) fn offers(&self, remote: &str) -> bool {
        self.tools.iter().any(|tool| tool.remote() == remote)
    }

    /// Whether both hold the same tools in the same order, and the same is to be said of them.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        self.tools.len() == other.tools.len()
            && self.tools.iter().zip(&other.tools).all(|(one, two)| Arc::ptr_eq(one, two))
            && self.warnings == other.warnings
    }
}

/// Takes the schemas of one server in.
#[derive(Debug, Default)]
struct Schemas {
    /// Number of keywords in their schemas, with references followed.
    keywords: u64,
}

impl Schemas {
    /// Compiles the schema of a tool. Warns if the tool cannot be used, or not as it says.
    fn take_in(&mut self, config: &McpConfig, tool: &McpTool) -> Option<ToolWarning> {
        let warning = |left_out: bool, reason: String| ToolWarning {
            server: config.name.clone(),
            tool: tool.spec().name.to_string(),
            left_out,
            reason,
        };
        if self.keywords > MAX_KEYWORDS {
            let reason = format!("the schemas before it have more than {MAX_KEYWORDS} keywords");
            return Some(warning(true, reason));
        }
        match tool.spec().checker() {
            Ok(checker) => {
                self.keywords += checker.weight();
                let (first, more) = checker.unchecked().split_first()?;
                let more = if more.is_empty() { String::new() } else { format!(", and {} more", more.len()) };
                Some(warning(false, format!("{first}{more}")))
            }
            Err(fault) => {
                self.keywords += REFUSED_KEYWORDS;
                Some(warning(true, fault.to_string()))
            }
        }
    }
}

/// A server's tool as Windlass sees it.
fn spec(config: &McpConfig, listed: &ServerTool) -> ToolSpec {
    // What a server says of its tools goes to models and into logs: its credentials must not go along (E53).
    let description = mask(listed.description.as_deref().or(listed.title.as_deref()).unwrap_or_default());
    let mut schema = listed.input_schema.as_ref().clone();
    // The specification demands it, some servers leave it out.
    schema.entry("type").or_insert_with(|| "object".into());
    let mut schema = Value::Object(schema);
    mask_json(&mut schema);
    let overrides = &config.overrides;
    let mut spec = ToolSpec::new(name(config, &mask(&listed.name)), description, schema);
    let hinted = || if config.trust { effect(listed.annotations.as_ref()) } else { Effect::Once };
    spec.effect = overrides.effect.unwrap_or_else(hinted);
    spec.approve = overrides.approve.unwrap_or_default();
    spec.by_effect = ByEffect::of(overrides.approve);
    spec.timeout_ms = overrides.timeout_ms;
    spec.retries = overrides.retries;
    spec.poll = overrides.poll.unwrap_or_default();
    spec.origin = format!("mcp {}", config.name).into();
    spec
}

/// The effect of a trusted server's tool, by its hints (MCP 2025-11-25, Schema Reference, `ToolAnnotations`):
/// `readOnlyHint` makes it read-only; `idempotentHint` idempotent, but only with `destructiveHint: false`, whose default
/// is true; any other tool is `once`. The specification calls hints untrusted unless the server is trusted.
fn effect(annotations: Option<&ToolAnnotations>) -> Effect {
    match annotations {
        Some(hints) if hints.read_only_hint == Some(true) => Effect::ReadOnly,
        Some(hints) if hints.is_idempotent() && !hints.is_destructive() => Effect::Idempotent,
        _ => Effect::Once,
    }
}

fn is_wanted(config: &McpConfig, remote: &str, name: &str) -> bool {
    config.tools.as_ref().is_none_or(|patterns| {
        patterns.iter().any(|pattern| covers(pattern, remote) || covers(pattern, name))
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
