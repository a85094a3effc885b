//! The built-in `ask`: a question to a person.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::ToolSpec;
use windlass_core::tool::ToolKind;

use super::{Builtin, Takes};
use crate::function::Properties;
use crate::tool::{Tool, ToolContext, ToolError, ToolResult};

/// `ask`: puts a `question` to a person, with optional `suggestions` of answers; the answer is the result.
///
/// Only its description is used: its kind is [`ToolKind::Ask`], so the run waits for a person instead of calling it.
#[derive(Debug)]
pub struct Ask {
    spec: ToolSpec,
}

impl Default for Ask {
    fn default() -> Self {
        Self::new()
    }
}

impl Ask {
    /// The tool by its name.
    pub const BUILTIN: Builtin =
        Builtin { name: "ask", takes: Takes::Nothing, make: |_| Ok(Arc::new(Ask::new())) };

    /// The tool.
    pub fn new() -> Self {
        let mut properties = Properties::new();
        properties.required::<String>("question", "The question, as the person should read it");
        properties.with_default::<Vec<String>>(
            "suggestions",
            "Answers to choose from",
            Value::Array(Vec::new()),
        );
        let description = "Asks the person a question and waits for the answer. Use it when something is missing that \
             only a person can decide or know.";
        let mut spec = super::spec("ask", description, properties);
        spec.kind = ToolKind::Ask;
        spec.poll = true;
        Self { spec }
    }
}

impl Tool for Ask {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, _context: ToolContext, _args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async { Err(ToolError::new("a question is put to a person, not run")) })
    }
}
