//! Owns malformed calls that a server reports as an error: they become calls, so that the model is told what was wrong with them.
//!
//! Source: Groq, "Tool use", "Error handling": code `tool_use_failed`, with the model's text as `failed_generation`.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The code of such an error.
const CODE: &str = "tool_use_failed";

/// A call as the model tried to make it: an empty name where none can be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) name: String,
    pub(super) args: String,
}

#[derive(Deserialize)]
struct Written {
    name: String,
    #[serde(alias = "parameters")]
    arguments: Option<Box<RawValue>>,
}

/// The calls that an `error` object reports as malformed; none where a call was required and the model wrote no text. `None`: it
/// is another error.
pub(super) fn attempts(error: &Value) -> Option<Vec<Attempt>> {
    if error.get("code").and_then(Value::as_str) != Some(CODE) {
        return None;
    }
    let text = error.get("failed_generation")?.as_str()?.trim();
    if text.is_empty() {
        return Some(Vec::new());
    }
    let whole = || vec![Attempt { name: String::new(), args: text.to_owned() }];
    Some(as_json(text).or_else(|| as_tag(text)).unwrap_or_else(whole))
}

/// `{"name":…,"arguments":…}`, alone or in a list.
fn as_json(text: &str) -> Option<Vec<Attempt>> {
    let all: Vec<Written> = match serde_json::from_str(text) {
        Ok(one) => vec![one],
        Err(_) => serde_json::from_str(text).ok()?,
    };
    let attempt = |written: Written| {
        let given = written.arguments.as_deref().map_or("{}", RawValue::get);
        // Arguments may be JSON within a text.
        let args = serde_json::from_str::<String>(given).unwrap_or_else(|_| given.to_owned());
        Attempt { name: written.name, args }
    };
    (!all.is_empty()).then(|| all.into_iter().map(attempt).collect())
}

/// `<function=NAME{…}</function>` and `<function=NAME>{…}</function>`, which Llama models write.
fn as_tag(text: &str) -> Option<Vec<Attempt>> {
    let (_, rest) = text.split_once("<function=")?;
    let end = rest.find(|letter: char| !(letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.')))?;
    let (name, rest) = rest.split_at_checked(end)?;
    let args = rest.split_once("</function>").map_or(rest, |(args, _)| args);
    let args = args.trim().trim_start_matches(['>', '(', ' ']).trim_end_matches([')', '>', ' ']);
    let args = if args.is_empty() { "{}" } else { args };
    (!name.is_empty()).then(|| vec![Attempt { name: name.to_owned(), args: args.to_owned() }])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::attempts;

    fn read(text: &str) -> Vec<(String, String)> {
        let error = json!({ "message": "Failed to call a function.", "code": "tool_use_failed", "failed_generation": text });
        let all = attempts(&error).expect("a malformed call");
        all.into_iter().map(|attempt| (attempt.name, attempt.args)).collect()
    }

    fn made(name: &str, args: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), args.to_owned())]
    }

    #[test]
    fn a_malformed_call_keeps_its_name_and_arguments_where_they_can_be_read() {
        assert_eq!(read(r#"{"name": "f", "arguments": {"x": "1"}}"#), made("f", r#"{"x": "1"}"#));
        assert_eq!(read(r#"[{"name":"f","parameters":{"x":1}}]"#), made("f", r#"{"x":1}"#));
        assert_eq!(read(r#"{"name":"f","arguments":"{\"x\":1}"}"#), made("f", r#"{"x":1}"#));
        assert_eq!(read(r#"{"name":"f"}"#), made("f", "{}"));
        assert_eq!(read(r#"<function=f{"x": 1}</function>"#), made("f", r#"{"x": 1}"#));
        assert_eq!(read(r#"<function=f>{"x": 1}</function>"#), made("f", r#"{"x": 1}"#));
        assert_eq!(read(r#"<function=f{"x": 1"#), made("f", r#"{"x": 1"#));
        assert_eq!(read("I would call f."), made("", "I would call f."));
    }

    #[test]
    fn other_errors_are_none() {
        assert_eq!(attempts(&json!({ "code": "tool_use_failed" })), None);
        assert_eq!(
            attempts(&json!({ "code": "tool_use_failed", "failed_generation": " " })),
            Some(Vec::new())
        );
        assert_eq!(attempts(&json!({ "code": "rate_limit_exceeded", "failed_generation": "x" })), None);
    }
}
