//! What the API takes, after its published schema: which fields there are, and the rules between them.
//!
//! Sources: `google/ai/generativelanguage/v1beta/{generative_service,content}.proto` and the API reference for the fields; the
//! guides "Function calling" and "Thought signatures" for the order of calls and results.

use serde_json::{Value, json};

/// The fields of an object, each with how its value is checked.
type Fields = &'static [(&'static str, Check)];

#[derive(Clone, Copy)]
enum Check {
    Text,
    Number,
    Flag,
    /// Any JSON object.
    Object,
    Texts,
    /// One of these words.
    Word(&'static [&'static str]),
    Of(Fields),
    /// A list with at least one element of these fields.
    ListOf(Fields),
}

const CONTENT: Fields = &[("role", Check::Word(&["user", "model"])), ("parts", Check::ListOf(PART))];

const BLOB: Fields = &[("mimeType", Check::Text), ("data", Check::Text)];

const PART: Fields = &[
    ("text", Check::Text),
    ("inlineData", Check::Of(BLOB)),
    ("fileData", Check::Of(&[("mimeType", Check::Text), ("fileUri", Check::Text)])),
    ("functionCall", Check::Of(&[("id", Check::Text), ("name", Check::Text), ("args", Check::Object)])),
    (
        "functionResponse",
        Check::Of(&[
            ("id", Check::Text),
            ("name", Check::Text),
            ("response", Check::Object),
            ("parts", Check::ListOf(&[("inlineData", Check::Of(BLOB))])),
        ]),
    ),
    ("thought", Check::Flag),
    ("thoughtSignature", Check::Text),
];

/// The fields of a part of which it has exactly one.
const DATA: [&str; 5] = ["text", "inlineData", "fileData", "functionCall", "functionResponse"];

const THINKING: Fields = &[
    ("includeThoughts", Check::Flag),
    ("thinkingBudget", Check::Number),
    ("thinkingLevel", Check::Word(&["MINIMAL", "LOW", "MEDIUM", "HIGH"])),
];

const GENERATION: Fields = &[
    ("temperature", Check::Number),
    ("topP", Check::Number),
    ("presencePenalty", Check::Number),
    ("maxOutputTokens", Check::Number),
    ("stopSequences", Check::Texts),
    ("responseMimeType", Check::Word(&["application/json"])),
    ("responseJsonSchema", Check::Object),
    ("thinkingConfig", Check::Of(THINKING)),
];

const DECLARATION: Fields =
    &[("name", Check::Text), ("description", Check::Text), ("parametersJsonSchema", Check::Object)];

const CALLING: Fields =
    &[("mode", Check::Word(&["AUTO", "ANY", "NONE", "VALIDATED"])), ("allowedFunctionNames", Check::Texts)];

const REQUEST: Fields = &[
    ("systemInstruction", Check::Of(&[("parts", Check::ListOf(PART))])),
    ("contents", Check::ListOf(CONTENT)),
    ("tools", Check::ListOf(&[("functionDeclarations", Check::ListOf(DECLARATION))])),
    ("toolConfig", Check::Of(&[("functionCallingConfig", Check::Of(CALLING))])),
    ("generationConfig", Check::Of(GENERATION)),
];

/// Checks a request.
///
/// # Errors
/// The first fault, in words for people.
pub fn check(request: &Value) -> Result<(), String> {
    fields("request", request, REQUEST)?;
    let contents = request["contents"].as_array().ok_or("contents is not specified")?;
    for (at, content) in contents.iter().enumerate() {
        turn(at, contents, content)?;
    }
    if contents.last().is_some_and(|last| !found(last, "functionCall").is_empty()) {
        return Err("the last calls have no results".to_owned());
    }
    let choice = &request["toolConfig"]["functionCallingConfig"];
    if choice.get("allowedFunctionNames").is_some() && choice["mode"] != "ANY" {
        return Err("allowed_function_names are set only for mode ANY".to_owned());
    }
    let thinking = &request["generationConfig"]["thinkingConfig"];
    if thinking.get("thinkingBudget").is_some() && thinking.get("thinkingLevel").is_some() {
        return Err("a budget and a level of thinking exclude each other".to_owned());
    }
    Ok(())
}

/// Checks that the first call of each step is signed, which models of Gemini 3 demand.
///
/// # Errors
/// The words of the API.
pub fn check_signed(request: &Value) -> Result<(), String> {
    let contents = request["contents"].as_array().into_iter().flatten();
    for content in contents {
        let parts = content["parts"].as_array().into_iter().flatten();
        let first = parts.into_iter().find(|part| part.get("functionCall").is_some());
        if first.is_some_and(|call| call["thoughtSignature"].as_str().is_none_or(str::is_empty)) {
            return Err("Function call is missing a thought_signature in functionCall parts.".to_owned());
        }
    }
    Ok(())
}

/// The rules of one content among the others.
fn turn(at: usize, contents: &[Value], content: &Value) -> Result<(), String> {
    let before = at.checked_sub(1).and_then(|before| contents.get(before));
    if before.is_some_and(|before| before["role"] == content["role"]) {
        return Err(format!("contents[{at}]: roles must alternate"));
    }
    for part in content["parts"].as_array().into_iter().flatten() {
        if DATA.iter().filter(|name| part.get(**name).is_some()).count() != 1 {
            return Err(format!("contents[{at}]: a part has exactly one kind of data: {part}"));
        }
        if part["text"] == "" && part.get("thoughtSignature").is_none() {
            return Err(format!("contents[{at}]: a part of text is empty"));
        }
    }
    let calls = found(content, "functionCall");
    let answers = found(content, "functionResponse");
    if !calls.is_empty() && (content["role"] != "model" || before.is_none()) {
        return Err(format!("contents[{at}]: a function call turn comes immediately after a user turn"));
    }
    let asked = before.map(|before| found(before, "functionCall")).unwrap_or_default();
    let names = |parts: &[&Value]| {
        parts.iter().map(|part| (part["id"].clone(), part["name"].clone())).collect::<Vec<_>>()
    };
    if names(&answers) != names(&asked) {
        return Err(format!(
            "contents[{at}]: the function response parts are not those of the function call parts"
        ));
    }
    Ok(())
}

/// The values of all parts of one kind.
fn found<'v>(content: &'v Value, kind: &str) -> Vec<&'v Value> {
    content["parts"].as_array().into_iter().flatten().filter_map(|part| part.get(kind)).collect()
}

fn fields(path: &str, value: &Value, known: Fields) -> Result<(), String> {
    let object = value.as_object().ok_or_else(|| format!("{path}: no object"))?;
    for (name, value) in object {
        let path = format!("{path}.{name}");
        let (_, check) =
            known.iter().find(|(field, _)| field == name).ok_or_else(|| format!("Unknown name: {path}"))?;
        let good = match check {
            Check::Text => value.is_string(),
            Check::Number => value.is_number(),
            Check::Flag => value.is_boolean(),
            Check::Object => value.is_object(),
            Check::Texts => {
                value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_string))
            }
            Check::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Check::Of(known) => {
                fields(&path, value, known)?;
                true
            }
            Check::ListOf(known) => {
                let list = value
                    .as_array()
                    .filter(|list| !list.is_empty())
                    .ok_or_else(|| format!("{path}: no list, or an empty one"))?;
                list.iter().try_for_each(|item| fields(&path, item, known))?;
                true
            }
        };
        if !good {
            return Err(format!("Invalid value at {path}: {value}"));
        }
    }
    Ok(())
}

#[test]
fn the_schema_refuses_what_the_api_does() {
    let call = || json!({ "functionCall": { "name": "f", "args": {} } });
    let user = |parts: Vec<Value>| json!({ "role": "user", "parts": parts });
    let model = |parts: Vec<Value>| json!({ "role": "model", "parts": parts });
    let text = || json!({ "text": "a" });
    let answer = || json!({ "functionResponse": { "name": "f", "response": {} } });
    let wrong = [
        (json!({}), "contents is not specified"),
        (json!({ "contents": [] }), "an empty one"),
        (json!({ "contents": [user(vec![text()])], "model": "x" }), "Unknown name: request.model"),
        (json!({ "contents": [user(vec![json!({ "text": "" })])] }), "is empty"),
        (json!({ "contents": [user(vec![json!({ "thought": true })])] }), "exactly one kind of data"),
        (json!({ "contents": [user(vec![text()]), user(vec![text()])] }), "must alternate"),
        (json!({ "contents": [model(vec![call()]), user(vec![answer()])] }), "immediately after a user turn"),
        (
            json!({ "contents": [user(vec![text()]), model(vec![call(), call()]), user(vec![answer()])] }),
            "not those of",
        ),
        (json!({ "contents": [user(vec![text()]), model(vec![call()])] }), "have no results"),
        (
            json!({ "contents": [user(vec![text()])], "generationConfig": { "thinkingConfig": { "thinkingLevel": "VAST" } } }),
            "Invalid value",
        ),
    ];
    for (request, words) in wrong {
        let fault = check(&request).expect_err(words);
        assert!(fault.contains(words), "{fault}");
    }
    let good = json!({ "contents": [user(vec![text()]), model(vec![call()]), user(vec![answer(), text()])] });
    assert_eq!(check(&good), Ok(()));
    assert!(check_signed(&good).is_err_and(|fault| fault.contains("thought_signature")));
}
