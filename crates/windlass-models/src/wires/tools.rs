//! Owns the parts of a list of tools that all wires write alike.

use windlass_core::ToolSpec;

use super::json::{field, json_string};

/// The tools that are offered, each as `each` writes it, with commas between them, behind `begin` and before `end`. Nothing if
/// none is.
pub(crate) fn offered<'s>(
    specs: impl IntoIterator<Item = &'s ToolSpec>,
    begin: &[u8],
    end: &[u8],
    mut each: impl FnMut(&mut Vec<u8>, &ToolSpec),
) -> Vec<u8> {
    let mut out = Vec::new();
    for spec in specs.into_iter().filter(|spec| spec.is_offered()) {
        out.extend_from_slice(if out.is_empty() { begin } else { b"," });
        each(&mut out, spec);
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
