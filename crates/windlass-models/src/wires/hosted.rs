//! Owns how requests offer tools that the provider runs itself: a table a wire, and the refusal of those that it has no form for.

use serde_json::{Map, Value};
use windlass_core::ToolSpec;
use windlass_core::tool::{Hosted, HostedTool};

use super::json::json_value;
use super::options::merge;
use crate::ModelRequest;

/// The form of one of the provider's tools in a request.
#[derive(Clone, Copy, Debug)]
pub struct HostedForm {
    /// The tool.
    pub tool: HostedTool,
    /// Its entry, as the text of a JSON object.
    pub entry: &'static str,
    /// The key of the entry that a user's options of it are merged into; `None`: the entry itself.
    pub options: Option<&'static str>,
    /// The value of the wire's header for parts of the API that are asked for by name ([`WireFacts::betas`](super::WireFacts::betas)).
    pub beta: Option<&'static str>,
}

impl HostedForm {
    /// A form whose entry takes the options itself.
    pub(crate) const fn plain(tool: HostedTool, entry: &'static str) -> Self {
        Self { tool, entry, options: None, beta: None }
    }

    /// A form whose entry is an object of that key alone, which takes the options.
    pub(crate) const fn under(tool: HostedTool, entry: &'static str, key: &'static str) -> Self {
        Self { options: Some(key), ..Self::plain(tool, entry) }
    }

    /// The same, which the API wants to be asked for by name.
    pub(crate) const fn beta(self, value: &'static str) -> Self {
        Self { beta: Some(value), ..self }
    }

    /// The entry with a user's options.
    pub(crate) fn written(&self, options: &Map<String, Value>) -> Map<String, Value> {
        // The tables are constants, which a test reads.
        let mut entry: Map<String, Value> = serde_json::from_str(self.entry).unwrap_or_default();
        let into = match self.options {
            Some(key) => entry.get_mut(key).and_then(Value::as_object_mut),
            None => Some(&mut entry),
        };
        if let Some(into) = into {
            merge(into, options);
        }
        entry
    }
}

/// The form of a tool in a wire's table.
pub(crate) fn form(forms: &[HostedForm], tool: HostedTool) -> Option<&HostedForm> {
    forms.iter().find(|form| form.tool == tool)
}

/// A list of tools (`,"tools":[…]`, or nothing) with the provider's own behind the others.
pub(crate) fn with_hosted(mut tools: Vec<u8>, request: &ModelRequest, forms: &[HostedForm]) -> Vec<u8> {
    for (_, hosted) in request.hosted() {
        let Some(form) = form(forms, hosted.tool) else { continue };
        let open: &[u8] = if tools.pop().is_some() { b"," } else { b",\"tools\":[" };
        tools.extend_from_slice(open);
        json_value(&mut tools, &form.written(&hosted.options));
        tools.push(b']');
    }
    tools
}

/// Why the provider's tools of a request cannot be offered; `None`: they can.
pub(crate) fn refusal(forms: &[HostedForm], request: &ModelRequest) -> Option<String> {
    let known = |hosted: &Hosted| form(forms, hosted.tool).is_some();
    let (tool, _) = request.hosted().find(|(_, hosted)| !known(hosted))?;
    let name = &tool.name;
    Some(format!("hosted tool `{name}` has no place in its API"))
}

/// The values by which a request asks for parts of the API, each once, in the order of the tools.
pub(crate) fn betas(forms: &[HostedForm], tools: &[ToolSpec]) -> Vec<&'static str> {
    let mut values = Vec::new();
    for hosted in tools.iter().filter_map(ToolSpec::hosted) {
        let value = form(forms, hosted.tool).and_then(|form| form.beta);
        values.extend(value.filter(|value| !values.contains(value)));
    }
    values
}
