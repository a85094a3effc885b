//! Owns the parts of a list of tools that all wires write alike.

use serde_json::Value;
use windlass_core::ToolSpec;

use super::json::{field, json_string};
use super::root::{Sent, sent};
use super::strict::tool_forms;
use crate::ModelRequest;
use crate::model::prefix::Form;

/// The bytes before and behind the tools.
#[derive(Clone, Copy)]
pub(crate) struct Brackets {
    pub(crate) open: &'static [u8],
    pub(crate) close: &'static [u8],
}

impl Brackets {
    /// A member of the request: `,"tools":[…]`.
    pub(crate) const TOOLS: Self = Self { open: b",\"tools\":[", close: b"]" };
}

/// The member of a tool that a search has to find first, as both APIs with one write it (Claude docs, "Tool search tool"; OpenAI,
/// "Tool search").
pub(crate) const DEFERRED: &[u8] = b",\"defer_loading\":true";

/// A tool with the form in which its schema is sent.
pub(crate) struct Tool<'s> {
    pub(crate) spec: &'s ToolSpec,
    sent: Sent<'s>,
    /// The strict form of the schema, where strict schemas are asked for.
    pub(crate) form: Option<&'s Value>,
}

impl Tool<'_> {
    /// The schema that is sent where the form is not.
    pub(crate) fn schema(&self) -> &Value {
        &self.sent.schema
    }

    /// `"name":…`, with the description if there is one.
    pub(crate) fn named(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"name\":");
        json_string(out, &self.spec.name);
        if !self.spec.description.is_empty() || self.sent.rule.is_some() {
            self.described(out);
        }
    }

    /// `,"description":…`: the tool's own, and what its schema does not say as it is sent.
    pub(crate) fn described(&self, out: &mut Vec<u8>) {
        field(out, "description");
        match &self.sent.rule {
            None => json_string(out, &self.spec.description),
            Some(rule) if self.spec.description.is_empty() => json_string(out, rule),
            Some(rule) => json_string(out, &format!("{}\n\n{rule}", self.spec.description)),
        }
    }
}

/// The tools that are offered, each as `each` writes it, with commas between them, within `brackets`. Nothing if none is.
/// `with_properties`: the API takes no object that does not list its properties.
pub(crate) fn offered<'s>(
    specs: impl IntoIterator<Item = &'s ToolSpec>,
    with_properties: bool,
    brackets: Brackets,
    each: impl FnMut(&mut Vec<u8>, &Tool<'_>),
) -> Vec<u8> {
    let plain = specs.into_iter().map(|spec| (spec, None));
    listed(plain, with_properties, brackets, each)
}

/// The tools of a request that are offered, each with the strict form of its schema where that is asked for.
pub(crate) fn held(
    request: &ModelRequest,
    brackets: Brackets,
    each: impl FnMut(&mut Vec<u8>, &Tool<'_>),
) -> Vec<u8> {
    let forms = request.is_strict_for_some().then(|| tool_forms(request));
    let form = |at: usize| forms.as_ref()?.get(at).and_then(|form: &Form| form.as_ref().ok());
    let held = |at: usize, spec: &ToolSpec| form(at).filter(|_| request.is_strict(spec));
    let specs = request.tools.iter().enumerate().map(|(at, spec)| (spec, held(at, spec)));
    listed(specs, true, brackets, each)
}

fn listed<'s>(
    specs: impl Iterator<Item = (&'s ToolSpec, Option<&'s Value>)>,
    with_properties: bool,
    brackets: Brackets,
    mut each: impl FnMut(&mut Vec<u8>, &Tool<'_>),
) -> Vec<u8> {
    let mut out = Vec::new();
    for (spec, form) in specs.filter(|(spec, _)| spec.is_offered()) {
        out.extend_from_slice(if out.is_empty() { brackets.open } else { b"," });
        let tool = Tool { spec, sent: sent(&spec.parameters, with_properties), form };
        each(&mut out, &tool);
    }
    if !out.is_empty() {
        out.extend_from_slice(brackets.close);
    }
    out
}
