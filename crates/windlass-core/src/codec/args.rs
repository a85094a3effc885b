//! Whether a call's arguments are JSON and fit the tool's schema, said so that a model can act on it.

use serde_json::Value;
use windlass_schema::{Checks, Misfit, check_value};
use windlass_text::json::{given_args, read};

use crate::vocabulary::tool::ToolSpec;

/// Reads and checks arguments.
///
/// # Errors
/// The faults and their places, in a stable order.
pub fn check_args(tool: &ToolSpec, text: &str) -> Result<Value, String> {
    check_args_within(tool, text, &Checks::default())
}

/// Reads and checks arguments of one of the calls of a reply.
///
/// # Errors
/// As for [`check_args`], or the others have used up what checking them may take.
pub(crate) fn check_args_within(tool: &ToolSpec, text: &str, checks: &Checks) -> Result<Value, String> {
    let args = read(given_args(text)).map_err(|why| format!("The arguments of `{}` are {why}", tool.name))?;
    if !args.is_object() {
        return Err(format!("The arguments of `{}` must be a JSON object, found {}", tool.name, kind(&args)));
    }
    let checker =
        tool.checker().map_err(|error| format!("The schema of `{}` is unusable: {error}", tool.name))?;
    match checker.check_within(&args, checks) {
        Ok(()) => Ok(args),
        Err(faults @ Misfit::Faults(_)) => {
            Err(format!("The arguments of `{}` do not fit its schema: {faults}", tool.name))
        }
        Err(other) => Err(format!("The arguments of `{}` cannot be taken: {other}", tool.name)),
    }
}

/// The output that a reply in text is.
pub(crate) fn check_output(schema: &Value, text: &str) -> Result<Value, String> {
    let text = text.trim();
    let fenced = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    let text = fenced.and_then(|text| text.strip_suffix("```")).unwrap_or(text);
    let value = read(text).map_err(|why| format!("the reply is {why}"))?;
    check_value(schema, &value).map(|()| value)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
