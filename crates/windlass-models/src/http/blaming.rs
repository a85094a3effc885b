//! Owns which tool a provider refuses: its words name the tool, or its place in the request.
//!
//! OpenAI says `Invalid schema for function 'NAME'`, Anthropic `tools.3.custom.input_schema: …`, Gemini
//! `tools[0].function_declarations[3].parameters…`, Groq `invalid JSON schema for tool NAME`.

use windlass_core::model::{FailureKind, ModelFailure};
use windlass_core::{Text, ToolSpec};

/// Subjects of a refusal of one tool. Others are about tools as such.
const ABOUT: [&str; 6] = ["schema", "parameters", "properties", "description", "name", "invalid_function"];

/// The lists of tools in a request, the innermost first.
const LISTS: [&str; 3] = ["function_declarations", "functiondeclarations", "tools"];

/// The text between a list and a place in it: `tools[3]`, `tools.3`, `/tools/3`, `('body', 'tools', 3)` of pydantic, and the same
/// as JSON.
const BETWEEN: [&str; 7] = ["[", ".", "/", "', ", "',", "\", ", "\","];

/// Names the tool that a failed request was refused for, if it was one.
pub fn blamed(mut failure: ModelFailure, tools: &[ToolSpec]) -> ModelFailure {
    let is_refusal = matches!(failure.kind, FailureKind::BadRequest | FailureKind::Unsupported)
        // An error within a good response has no status.
        && matches!(failure.status, None | Some(200 | 400 | 422));
    if is_refusal && let Some(tool) = tool_in(&failure.message, tools) {
        failure.message = format!("tool `{tool}` is refused: {}", failure.message).into();
        failure.detail.get_or_insert_default().tool = Some(tool);
    }
    failure
}

fn tool_in(message: &str, tools: &[ToolSpec]) -> Option<Text> {
    let words = message.to_lowercase();
    if !ABOUT.iter().any(|about| words.contains(about)) || words.contains("tool_choice") {
        return None;
    }
    let offered: Vec<&ToolSpec> = tools.iter().filter(|spec| spec.is_offered()).collect();
    let named = offered.iter().filter(|spec| is_named(message, &spec.name));
    let named = named.max_by_key(|spec| spec.name.len());
    named.or_else(|| offered.get(place_in(&words)?)).map(|spec| spec.name.clone())
}

/// Whether the words name the tool: in quotes, or behind the word `function` or `tool`.
fn is_named(message: &str, name: &str) -> bool {
    let part = |at: usize| {
        let before = message.get(..at).unwrap_or_default();
        let after = message.get(at + name.len()..).and_then(|rest| rest.chars().next());
        let is_quote = |letter: char| matches!(letter, '\'' | '"' | '`' | '‘' | '’' | '“' | '”');
        // A quote within JSON text stands behind a backslash.
        let quoted = before.ends_with(is_quote) && after.is_some_and(|next| is_quote(next) || next == '\\');
        let before = before.to_lowercase();
        let behind = ["function ", "tool ", "function: ", "tool: "].iter().any(|word| before.ends_with(word));
        let ends = after.is_none_or(|next| !(next.is_alphanumeric() || matches!(next, '_' | '-' | '.')));
        quoted || behind && ends
    };
    !name.is_empty() && message.match_indices(name).any(|(at, _)| part(at))
}

/// The place of a tool in the words, which are in lower case.
fn place_in(words: &str) -> Option<usize> {
    LISTS.iter().find_map(|list| {
        let mut rests = words.match_indices(list).filter_map(|(at, _)| words.get(at + list.len()..));
        rests.find_map(|rest| {
            let rest = BETWEEN.iter().find_map(|between| rest.strip_prefix(between))?;
            let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
            rest.get(..end)?.parse().ok()
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::ToolSpec;
    use windlass_core::model::{FailureKind, ModelFailure};
    use windlass_core::tool::Offer;

    use super::blamed;

    #[test]
    fn k47_the_refused_tool_is_named_however_the_provider_says_it() {
        let mut tools: Vec<ToolSpec> = ["hidden", "search", "search_all", "web.find"]
            .map(|name| ToolSpec::new(name, "", json!({})))
            .into();
        tools[0].offer = Offer::Withheld;
        for (words, tool) in [
            ("Invalid schema for function 'search_all': schema must have type 'object'", Some("search_all")),
            (
                "tools.1.custom.input_schema: input_schema does not support oneOf at the top level",
                Some("search_all"),
            ),
            (
                "* GenerateContentRequest.tools[0].function_declarations[2].parameters.properties: is not supported",
                Some("web.find"),
            ),
            ("invalid JSON schema for tool search, tools[0].function.parameters: bad", Some("search")),
            ("Invalid 'tools[2].function.name': string does not match pattern", Some("web.find")),
            (
                "1 validation error: ('body', 'tools', 1, 'function', 'parameters') field required",
                Some("search_all"),
            ),
            (r#"{"loc":["body","tools",2,"function","parameters"],"msg":"bad"}"#, Some("web.find")),
            ("#/tools/1/function/parameters: expected object", Some("search_all")),
            ("toolConfig.tools.0.toolSpec.inputSchema.json: bad schema", Some("search")),
            ("The schema of \\\"web.find\\\" is bad", Some("web.find")),
            (r#"The parameters of "search" are no schema"#, Some("search")),
            ("functionDeclarations[2]: name is missing", Some("web.find")),
            ("128 tools, 1 of them with a bad schema", None),
            ("Tool 'nobody' has a bad schema", None),
            ("tools.9.input_schema: bad", None),
            ("tools[0] is not supported", None),
            ("tool_choice names the schema of 'search'", None),
            ("messages.1: bad", None),
        ] {
            let failure =
                ModelFailure { status: Some(400), ..ModelFailure::new(FailureKind::BadRequest, words, "m") };
            let failure = blamed(failure, &tools);
            assert_eq!(failure.tool().map(|tool| &**tool), tool, "{words}");
            if let Some(tool) = tool {
                assert_eq!(&*failure.message, format!("tool `{tool}` is refused: {words}"));
            }
        }
        let late = ModelFailure {
            status: Some(500),
            ..ModelFailure::new(FailureKind::Server, "schema of 'search'", "m")
        };
        assert_eq!(blamed(late, &tools).tool(), None);
    }
}
