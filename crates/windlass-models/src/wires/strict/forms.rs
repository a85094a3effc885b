//! Owns the strict forms of a request's schemas, which stay in the run's [`PrefixCell`]: they are made once for a list of tools, not
//! in each turn, nor in each run that shares it.

use std::sync::{Arc, MutexGuard, PoisonError};

use windlass_core::model::{ToolChoice, is_any_object};

use super::{may_lack, rewrite};
use crate::model::prefix::{Form, Forms};
use crate::wires::sent;
use crate::{ModelRequest, PrefixCell};

fn kept(cell: &PrefixCell) -> MutexGuard<'_, Forms> {
    // A panic leaves whole forms or none.
    cell.schemas.forms.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The forms of all tools, in their order.
pub(crate) fn tool_forms(request: &ModelRequest) -> Arc<Vec<Form>> {
    let mut kept = kept(&request.prefix);
    if let Some((tools, forms)) = &kept.tools
        && Arc::ptr_eq(tools, &request.tools)
    {
        return forms.clone();
    }
    let forms =
        Arc::new(request.tools.iter().map(|spec| rewrite(&sent(&spec.parameters, true).schema)).collect());
    kept.tools = Some((request.tools.clone(), Arc::clone(&forms)));
    forms
}

/// Whether a schema of a reply has a strict form.
pub(crate) fn has_form(schema: &serde_json::Value) -> bool {
    is_any_object(schema) || rewrite(schema).is_ok()
}

/// Whether a reply in the strict form may hold `null` for what the schema as it was written leaves out.
pub(crate) fn may_be_null(request: &ModelRequest) -> bool {
    request.output_schema().is_some_and(|(_, schema)| may_lack(schema))
}

/// The form of the schema of a reply.
pub(crate) fn output_form(request: &ModelRequest) -> Option<Arc<Form>> {
    let (_, schema) = request.output_schema()?;
    let mut kept = kept(&request.prefix);
    if let Some((known, form)) = &kept.output
        && Arc::ptr_eq(known, schema)
    {
        return Some(form.clone());
    }
    let form = Arc::new(rewrite(schema));
    kept.output = Some((schema.clone(), Arc::clone(&form)));
    Some(form)
}

/// The tool or the output whose schema has no strict form, with the place in it, where that is asked for.
pub(crate) fn refusal(request: &ModelRequest) -> Option<String> {
    let tool = || {
        if request.choice == ToolChoice::None || !request.is_strict_for_some() {
            return None;
        }
        let forms = tool_forms(request);
        let tools = request.tools.iter().zip(forms.iter());
        let mut held = tools.filter(|(spec, _)| spec.is_offered() && request.is_strict(spec));
        held.find_map(|(spec, form)| Some(format!("tool `{}`: {}", spec.name, form.as_ref().err()?)))
    };
    let output = || {
        let (name, _) = request.output_schema().filter(|_| request.is_output_strict())?;
        Some(format!("output `{name}`: {}", output_form(request)?.as_ref().as_ref().err()?))
    };
    tool()
        .or_else(output)
        .map(|words| format!("{words} (`strict: true` asks for schemas that the provider enforces)"))
}
