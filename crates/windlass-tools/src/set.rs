//! The tools of one agent, by name and in order, from all origins.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use windlass_core::schema::SchemaFault;
use windlass_core::text::nearest;
use windlass_core::{Text, ToolSpec};

use crate::error::ToolSetError;
use crate::tool::Tool;

/// Names that Windlass may offer itself in any run; no other tool may have them. Its other names are taken only where they are
/// offered.
pub const RESERVED: [&str; 3] = ["__finish__", "read_result", "call_parent_tool"];

/// Maximum length of a tool's name, in bytes: the limit of OpenAI's API for function names.
pub const MAX_NAME: usize = 64;

/// The tools of one agent: collected by name, kept in the order in which they were added.
///
/// A clone shares the tools; adding to one clone does not change the other.
#[derive(Clone, Debug, Default)]
pub struct ToolSet {
    tools: Vec<Arc<dyn Tool>>,
    specs: Arc<Vec<ToolSpec>>,
    index: HashMap<Text, usize>,
    reserved: HashMap<Text, Text>,
}

impl ToolSet {
    /// A set without tools, in which only [`RESERVED`] names are taken.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool at the end.
    ///
    /// # Errors
    /// The name is no function name ([`valid_name`]), is reserved, or is taken (both origins are named); or the
    /// parameters are not a JSON Schema 2020-12 of an object. The set is then as it was.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), ToolSetError> {
        let name = &tool.spec().name;
        if RESERVED.contains(&name.as_ref()) {
            let (name, origin) = (name.to_string(), origin(tool.spec()));
            return Err(ToolSetError::Reserved { name, origin });
        }
        self.add_own(tool)
    }

    /// Adds a tool of Windlass itself, whose name may be one of [`RESERVED`].
    ///
    /// # Errors
    /// As [`add`](Self::add), but for the reserved names.
    pub fn add_own(&mut self, tool: Arc<dyn Tool>) -> Result<(), ToolSetError> {
        let spec = tool.spec().clone();
        let name = spec.name.clone();
        if let Some(first) = self.taken_by(&name) {
            return Err(ToolSetError::Clash { name: name.to_string(), first, second: origin(&spec) });
        }
        check(&spec)?;
        self.index.insert(name, self.tools.len());
        self.tools.push(tool);
        Arc::make_mut(&mut self.specs).push(spec);
        Ok(())
    }

    /// Takes a name away from tools, before or after they are added: for delegates, which are offered as tools of
    /// their names. `origin` says for whom (`agent ./writer.yaml`).
    ///
    /// # Errors
    /// The name is no function name, reserved or taken.
    pub fn reserve(&mut self, name: &str, origin: &str) -> Result<(), ToolSetError> {
        if !valid_name(name) {
            return Err(ToolSetError::BadName { name: name.to_owned(), origin: origin.to_owned() });
        }
        if RESERVED.contains(&name) {
            return Err(ToolSetError::Reserved { name: name.to_owned(), origin: origin.to_owned() });
        }
        if let Some(first) = self.taken_by(name) {
            return Err(ToolSetError::Clash { name: name.to_owned(), first, second: origin.to_owned() });
        }
        self.reserved.insert(name.into(), origin.into());
        Ok(())
    }

    /// Puts a tool in the place of the one of the same name, or at the end if there is none: for tests, where a
    /// scripted tool stands in for a real one.
    ///
    /// # Errors
    /// As [`add`](Self::add), but for the name that is taken by a tool.
    pub fn replace(&mut self, tool: Arc<dyn Tool>) -> Result<(), ToolSetError> {
        let Some(&at) = self.index.get(&tool.spec().name) else { return self.add(tool) };
        check(tool.spec())?;
        if let (Some(old), Some(spec)) = (self.tools.get_mut(at), Arc::make_mut(&mut self.specs).get_mut(at))
        {
            *spec = tool.spec().clone();
            *old = tool;
        }
        Ok(())
    }

    /// Takes a tool out; `None` if there is none of that name. What comes after it moves up.
    pub fn remove(&mut self, name: &str) -> Option<Arc<dyn Tool>> {
        let at = self.index.remove(name)?;
        Arc::make_mut(&mut self.specs).remove(at);
        let tool = self.tools.remove(at);
        for place in self.index.values_mut().filter(|place| **place > at) {
            *place -= 1;
        }
        Some(tool)
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.index.get(name).and_then(|at| self.tools.get(*at))
    }

    /// The descriptions of all tools, in order. Their schemas are compiled once for all who share this list.
    pub fn specs(&self) -> Arc<Vec<ToolSpec>> {
        self.specs.clone()
    }

    /// The tools, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }

    /// The number of tools.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there is no tool.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Up to three names of tools that are close to `name`, nearest first.
    pub fn nearest(&self, name: &str) -> Vec<String> {
        nearest(name, self.specs.iter().map(|spec| spec.name.as_ref()))
    }

    fn taken_by(&self, name: &str) -> Option<String> {
        let tool = self.get(name).map(|tool| origin(tool.spec()));
        tool.or_else(|| self.reserved.get(name).map(ToString::to_string))
    }
}

/// Whether this may be a tool's name: 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-` (OpenAI's rule for functions, the
/// narrowest of the providers').
pub fn valid_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Checks a tool's name and schema.
pub(crate) fn check(spec: &ToolSpec) -> Result<(), ToolSetError> {
    if !valid_name(&spec.name) {
        return Err(ToolSetError::BadName { name: spec.name.to_string(), origin: origin(spec) });
    }
    let bad =
        |what: String| ToolSetError::BadSchema { name: spec.name.to_string(), origin: origin(spec), what };
    let Value::Object(schema) = spec.parameters.as_ref() else {
        return Err(bad(format!("it is not an object but `{}`", spec.parameters)));
    };
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        Some(other) => return Err(bad(format!("`type` is {other}, not \"object\""))),
        None => return Err(bad("`type: object` is missing".to_owned())),
    }
    spec.checker().map(|_| ()).map_err(|fault| {
        if matches!(fault, SchemaFault::Invalid(_) | SchemaFault::Reference { .. }) {
            return bad(fault.to_string());
        }
        let (name, origin) = (spec.name.to_string(), origin(spec));
        ToolSetError::SchemaRefused { name, origin, source: fault.clone() }
    })
}

/// A tool's origin for messages; most name one.
fn origin(spec: &ToolSpec) -> String {
    if spec.origin.is_empty() { "code".to_owned() } else { spec.origin.to_string() }
}

#[cfg(test)]
mod tests;
