//! Settings of an agent file that may hold secrets, as written: names of variables and literal texts.

use windlass_core::secret::Secret;

use super::AgentFile;
use crate::yaml::{Node, NodeValue};

/// The keys of a file that say what its agent does it with.
const LOOKED_AT: [&str; 3] = ["model", "tools", "agents"];
/// Placeholder for literal text in a setting that may hold secrets.
const LITERAL: &str = "*";

/// Parts of an agent's file, other than tools, that may hold secrets, verbatim.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// Settings that use environment variables: their path, and the `${NAME}` references in them. The literal text around a
    /// reference is left out.
    pub references: Vec<(String, String)>,
    /// Literal values where secrets may stand: they enter no digest but a salted one.
    pub literals: Vec<Secret>,
}

impl AgentFile {
    /// The file's settings that may hold secrets. A model's key is identified only by the name of its variable.
    pub fn written(&self) -> Written {
        let mut written = Written::default();
        for key in LOOKED_AT {
            if let Some(node) = self.node.get(key) {
                walk(node, key, key == "model", "", &mut written);
            }
        }
        written
    }
}

/// `at` is the key that the node stands under, or the one above it in a map of names to values.
fn walk(node: &Node, path: &str, model: bool, at: &str, written: &mut Written) {
    match &node.value {
        NodeValue::List(items) => {
            for (place, item) in items.iter().enumerate() {
                walk(item, &format!("{path}.{place}"), model, at, written);
            }
        }
        NodeValue::Map(entries) => {
            for (key, value) in entries {
                let within = matches!(at, "env" | "headers");
                let at = if within { at } else { key.name.as_str() };
                walk(value, &format!("{path}.{}", key.name), model, at, written);
            }
        }
        NodeValue::String(text) if text.contains("${") => {
            written.references.push((path.to_owned(), references(text)));
        }
        NodeValue::String(text) => match at {
            "base_url" => written.references.push((path.to_owned(), address(text).to_owned())),
            "env" | "headers" | "url" | "a2a" if !model => {
                written.literals.push(Secret::unmasked(text.as_str()));
            }
            _ => {}
        },
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::Float(_) => {}
    }
}

/// The `${NAME}`s of a text; what stands between them may be a secret.
fn references(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, tail) = after.split_once('}').unwrap_or((after, ""));
        if !before.is_empty() {
            out.push_str(LITERAL);
        }
        out.push_str("${");
        out.push_str(name);
        out.push('}');
        rest = tail;
    }
    if !rest.is_empty() {
        out.push_str(LITERAL);
    }
    out
}

/// The part of an address that is no secret: without a user's name, a password and a query.
fn address(url: &str) -> &str {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match url.rsplit_once('@') {
        Some((_, host)) => host,
        None => url,
    }
}

#[cfg(test)]
mod tests;
