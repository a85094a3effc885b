//! Owns a server's tools as Windlass offers them: their names, schemas and effects.

mod names;

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use rmcp::model::{Tool as ServerTool, ToolAnnotations};
use serde_json::Value;
use windlass_core::ToolSpec;
use windlass_core::secret::{mask, mask_json};
use windlass_core::text::did_you_mean;
use windlass_core::tool::{Effect, EffectApproval, Hint};

use super::reading::{Remark, Remarks};
use super::tool::{McpTool, Remote};
use crate::mcp::config::McpConfig;
use crate::tool::Tool as _;
use crate::warning::ToolWarning;
use names::{Offered, offered};

/// Maximum number of keywords in all schemas of one server, with references followed.
const MAX_KEYWORDS: u64 = 1_000_000;

/// As how many keywords a schema counts that is refused.
const REFUSED_KEYWORDS: u64 = 20_000;

/// The tools of a server, in its order.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    pub(super) tools: Vec<Arc<McpTool>>,
    /// Warnings about the listed tools: at most one per tool.
    pub(super) warnings: Vec<ToolWarning>,
}

impl Catalog {
    /// The catalog of a list of tools. A tool that is as it was before is taken over, with its compiled schema. One that
    /// cannot be used is left out. This may take a while: see `Shared::adopt`.
    pub(super) fn new(
        config: &McpConfig,
        listed: Vec<ServerTool>,
        before: &Self,
        server: &Weak<dyn Remote>,
    ) -> Self {
        let mut made = Making { config, schemas: Schemas::default(), warnings: Vec::new() };
        let sound = made.sound(listed);
        let remotes: Vec<&str> = sound.iter().map(|listed| listed.tool.name.as_ref()).collect();
        let names = offered(config, &remotes);
        let mut tools: Vec<Arc<McpTool>> = Vec::new();
        for (listed, name) in sound.into_iter().zip(names) {
            let spec = spec(config, &listed.tool, name);
            let remote = listed.tool.name.into_owned();
            let known = before.tools.iter().find(|tool| tool.is(&remote, &spec)).cloned();
            let tool = known.unwrap_or_else(|| Arc::new(McpTool::new(spec, remote, server.clone())));
            if made.takes(&tool, listed.at, listed.notes) {
                tools.push(tool);
            }
        }
        Self { tools, warnings: made.warnings }
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

/// A tool that can be used as far as its entry in the list tells.
struct Listed {
    tool: ServerTool,
    /// Its place in the list.
    at: usize,
    notes: Vec<Remark>,
}

/// A catalog in the making.
struct Making<'c> {
    config: &'c McpConfig,
    schemas: Schemas,
    warnings: Vec<ToolWarning>,
}

impl Making<'_> {
    /// The chosen tools of a list. Says what is wrong with the others, and what was chosen that is not there.
    fn sound(&mut self, listed: Vec<ServerTool>) -> Vec<Listed> {
        let mut taken = HashSet::new();
        let mut sound = Vec::new();
        for (at, mut tool) in listed.into_iter().enumerate() {
            let Remarks { fault, notes } = Remarks::of(&mut tool);
            if !tool.name.is_empty() && !taken.insert(tool.name.to_string()) {
                if self.config.tools.takes(&tool.name) {
                    self.warn(
                        &tool.name,
                        at,
                        true,
                        Remark { place: "name".to_owned(), what: "it is listed twice".to_owned() },
                    );
                }
            } else if !tool.name.is_empty() && !self.config.tools.takes(&tool.name) {
                // What is not wanted may be as it likes.
            } else if let Some(fault) = fault {
                self.warn(&tool.name, at, true, fault);
            } else {
                sound.push(Listed { tool, at, notes });
            }
        }
        let names: Vec<&str> = taken.iter().map(String::as_str).collect();
        if !names.is_empty() {
            for (key, pattern, nearest) in self.config.tools.unlisted(&names) {
                let hint = did_you_mean(&nearest);
                self.warnings.push(ToolWarning {
                    server: self.config.name.clone(),
                    tool: pattern.to_owned(),
                    place: Some(key.to_owned()),
                    left_out: false,
                    reason: format!("is not listed by it{hint}"),
                });
            }
        }
        sound
    }

    /// Whether a tool can be used with its schema. Warns if it cannot, or not as it says.
    fn takes(&mut self, tool: &McpTool, at: usize, notes: Vec<Remark>) -> bool {
        let name = &tool.spec().name;
        let schema = |what: String| Remark { place: "inputSchema".to_owned(), what };
        match self.schemas.take_in(tool) {
            Ok(unchecked) => {
                let unchecked =
                    unchecked.map(|what| schema(format!("its arguments are only partly checked: {what}")));
                for remark in notes.into_iter().chain(unchecked) {
                    self.warn(
                        name,
                        at,
                        false,
                        Remark { what: format!("is offered, but {}", remark.what), ..remark },
                    );
                }
                true
            }
            Err(what) => {
                self.warn(name, at, true, schema(what));
                false
            }
        }
    }

    fn warn(&mut self, tool: &str, at: usize, left_out: bool, remark: Remark) {
        let Remark { place, what: reason } = remark;
        let dot = if place.is_empty() { "" } else { "." };
        let warning = ToolWarning {
            server: self.config.name.clone(),
            tool: mask(tool).into_owned(),
            place: Some(format!("tools[{at}]{dot}{place}")),
            left_out,
            reason,
        };
        tracing::warn!("{warning}");
        self.warnings.push(warning);
    }
}

/// Takes the schemas of one server in.
#[derive(Debug, Default)]
struct Schemas {
    /// Number of keywords in their schemas, with references followed.
    keywords: u64,
}

impl Schemas {
    /// Compiles the schema of a tool, and says what of it goes unchecked.
    ///
    /// # Errors
    /// Why it cannot be used.
    fn take_in(&mut self, tool: &McpTool) -> Result<Option<String>, String> {
        if self.keywords > MAX_KEYWORDS {
            return Err(format!("the schemas before it have more than {MAX_KEYWORDS} keywords"));
        }
        match tool.spec().checker() {
            Ok(checker) => {
                self.keywords += checker.weight();
                let Some((first, more)) = checker.unchecked().split_first() else { return Ok(None) };
                let more = if more.is_empty() { String::new() } else { format!(", and {} more", more.len()) };
                Ok(Some(format!("{first}{more}")))
            }
            Err(fault) => {
                self.keywords += REFUSED_KEYWORDS;
                Err(fault.to_string())
            }
        }
    }
}

/// A server's tool as Windlass sees it.
fn spec(config: &McpConfig, listed: &ServerTool, offered: Offered) -> ToolSpec {
    // What a server says of its tools goes to models and into logs: its credentials must not go along (E53).
    let description = mask(listed.description.as_deref().or(listed.title.as_deref()).unwrap_or_default());
    let description = match description.trim() {
        _ if !offered.marked => description,
        "" => mask(&listed.name),
        text => format!("{}: {text}", mask(&listed.name)).into(),
    };
    let mut schema = listed.input_schema.as_ref().clone();
    // The specification demands it, some servers leave it out.
    schema.entry("type").or_insert_with(|| "object".into());
    let mut schema = Value::Object(schema);
    mask_json(&mut schema);
    let overrides = &config.overrides;
    let mut spec = ToolSpec::new(offered.name, description, schema);
    let hinted = || if config.trust { effect(listed.annotations.as_ref()) } else { Effect::Once };
    let declared = config.tools.effect(&listed.name).or(overrides.effect);
    spec.effect = declared.unwrap_or_else(hinted);
    let reads = declared.is_none() && effect(listed.annotations.as_ref()) == Effect::ReadOnly;
    spec.hint = if reads { Hint::ReadOnly } else { Hint::None };
    spec.approve = overrides.approve.unwrap_or_default();
    spec.effect_approval = EffectApproval::of(overrides.approve);
    spec.timeout_ms = overrides.timeout_ms;
    spec.retries = overrides.retries;
    spec.poll = overrides.poll.unwrap_or_default();
    spec.strict = overrides.strict;
    spec.defer = overrides.defer.unwrap_or_default();
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

#[cfg(test)]
mod tests;
