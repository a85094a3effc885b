//! Whether a call's arguments are JSON and fit the tool's schema, said so that a model can act on it.

use serde_json::Value;

use crate::tool::ToolSpec;

/// How many faults one result names.
const FAULTS_SHOWN: usize = 5;

/// Reads and checks arguments.
///
/// # Errors
/// What is wrong and where, in a stable order.
pub fn check_args(tool: &ToolSpec, text: &str) -> Result<Value, String> {
    let text = text.trim();
    // Providers send nothing at all for tools without parameters.
    let text = if text.is_empty() { "{}" } else { text };
    let args: Value = serde_json::from_str(text)
        .map_err(|error| format!("The arguments of `{}` are not valid JSON: {error}", tool.name))?;
    if !args.is_object() {
        return Err(format!("The arguments of `{}` must be a JSON object, found {}", tool.name, kind(&args)));
    }
    let validator =
        tool.validator().map_err(|error| format!("The schema of `{}` is unusable: {error}", tool.name))?;
    if validator.is_valid(&args) {
        return Ok(args);
    }
    let mut faults: Vec<(String, String)> = validator
        .iter_errors(&args)
        .map(|error| (error.instance_path().to_string(), error.to_string()))
        .collect();
    faults.sort();
    faults.dedup();
    let more = faults.len().saturating_sub(FAULTS_SHOWN);
    let mut shown: Vec<String> = faults
        .into_iter()
        .take(FAULTS_SHOWN)
        .map(|(path, fault)| if path.is_empty() { fault } else { format!("at `{path}`: {fault}") })
        .collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    Err(format!("The arguments of `{}` do not fit its schema: {}", tool.name, shown.join("; ")))
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
