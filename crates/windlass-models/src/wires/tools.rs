//! Owns the parts of a list of tools that all wires write alike.

use std::sync::Arc;

use serde_json::Value;
use windlass_core::ToolSpec;

use super::json::{field, json_string};
use super::strict::{Form, tool_forms};
use crate::ModelRequest;

/// The tools that are offered, each as `each` writes it, with commas between them, behind `begin` and before `end`. Nothing if
/// none is.
pub(crate) fn offered<'s>(
    specs: impl IntoIterator<Item = &'s ToolSpec>,
    begin: &[u8],
    end: &[u8],
    mut each: impl FnMut(&mut Vec<u8>, &ToolSpec),
) -> Vec<u8> {
    let plain = specs.into_iter().map(|spec| (spec, None));
    listed(plain, begin, end, |out, spec, _| each(out, spec))
}

/// The tools of a request that are offered, each with the strict form of its schema where strict schemas are asked for.
pub(crate) fn held(
    request: &ModelRequest,
    begin: &[u8],
    end: &[u8],
    each: impl FnMut(&mut Vec<u8>, &ToolSpec, Option<&Value>),
) -> Vec<u8> {
    let forms = if request.model.strict { tool_forms(request) } else { Arc::default() };
    let form = |at: usize| forms.get(at).and_then(|form: &Form| form.as_ref().ok());
    let specs = request.tools.iter().enumerate().map(|(at, spec)| (spec, form(at)));
    listed(specs, begin, end, each)
}

fn listed<'s>(
    specs: impl Iterator<Item = (&'s ToolSpec, Option<&'s Value>)>,
    begin: &[u8],
    end: &[u8],
    mut each: impl FnMut(&mut Vec<u8>, &ToolSpec, Option<&Value>),
) -> Vec<u8> {
    let mut out = Vec::new();
    for (spec, form) in specs.filter(|(spec, _)| spec.is_offered()) {
        out.extend_from_slice(if out.is_empty() { begin } else { b"," });
        each(&mut out, spec, form);
    }
    if !out.is_empty() {
        out.extend_from_slice(end);
    }
    out
}

/// `"name":…`, with the description if there is one.
pub(crate) fn named(out: &mut Vec<u8>, spec: &ToolSpec) {
    out.extend_from_slice(b"\"name\":");
    json_string(out, &spec.name);
    if !spec.description.is_empty() {
        field(out, "description");
        json_string(out, &spec.description);
    }
}
