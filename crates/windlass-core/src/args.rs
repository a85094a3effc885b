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
    match faults(validator, &args) {
        None => Ok(args),
        Some(faults) => Err(format!("The arguments of `{}` do not fit its schema: {faults}", tool.name)),
    }
}

/// Reads and checks a value that a schema describes: a run's typed input, or a reply that must be JSON (in a fence or not).
///
/// # Errors
/// What is wrong and where, in a stable order.
pub fn check_value(schema: &Value, value: &Value) -> Result<(), String> {
    let validator = jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .build(schema)
        .map_err(|error| format!("the schema is unusable: {error}"))?;
    faults(&validator, value).map_or(Ok(()), Err)
}

/// The output that a reply in text is.
pub(crate) fn check_output(schema: &Value, text: &str) -> Result<Value, String> {
    let text = text.trim();
    let fenced = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    let text = fenced.and_then(|text| text.strip_suffix("```")).unwrap_or(text);
    let value =
        serde_json::from_str(text).map_err(|error| format!("the reply is not valid JSON: {error}"))?;
    check_value(schema, &value).map(|()| value)
}

/// What is wrong with a value, in a stable order; `None`: nothing.
fn faults(validator: &jsonschema::Validator, value: &Value) -> Option<String> {
    if validator.is_valid(value) {
        return None;
    }
    let mut faults: Vec<(String, String)> = validator
        .iter_errors(value)
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
    Some(shown.join("; "))
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
