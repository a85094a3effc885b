//! The tool that finds tools.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::vocabulary::tool::{ToolKind, ToolSpec};

/// The name of the tool that finds tools.
pub const SEARCH_TOOLS: &str = "search_tools";

/// Default number of tools in a [`SEARCH_TOOLS`] result (acorn).
pub const SEARCH_USUAL: u64 = 5;

/// Result of a search without matches (acorn).
const NOTHING: &str = "No tools found matching your query. Try different keywords.";

/// Shorter words are not looked at, in bytes (acorn).
const SHORTEST_WORD: usize = 2;

/// The most bytes of a query that are looked at.
const MOST_QUERY: usize = 1_024;

/// The most bytes of a tool's description that are looked at.
const MOST_ABOUT: usize = 2_048;

/// Maximum number of comparison steps per search. Past it, a tool matches only by equal words.
const MOST_STEPS: usize = 8_000_000;

/// The steps that a pair of words takes beside the bytes of both.
const STEPS_A_PAIR: usize = 16;

/// The tool that finds tools, as models are told of it, in acorn's words.
pub fn search_tools() -> &'static ToolSpec {
    static SPEC: OnceLock<ToolSpec> = OnceLock::new();
    SPEC.get_or_init(|| {
        let query =
            "Search query describing the tool you need (e.g., 'send email', 'create event', 'save memory')";
        let parameters = json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": query },
                "limit": { "type": "integer", "description": "Maximum number of tools to return",
                    "default": SEARCH_USUAL },
            },
            "required": ["query"],
        });
        let about = "Search for available tools by keyword. Returns tool schemas that you can then call \
                     directly. Use this to discover what tools are available for a task.";
        let mut spec = ToolSpec::read_only(SEARCH_TOOLS, about, parameters);
        (spec.kind, spec.origin) = (ToolKind::Search, "windlass".into());
        spec
    })
}

/// Result text of a [`SEARCH_TOOLS`] call: the callable tools that match the query, best first and ties by name, or a note that
/// none match.
pub fn found_tools(tools: &[ToolSpec], args: &Value) -> String {
    let query = args.get("query").and_then(Value::as_str).unwrap_or_default();
    let limit = match args.get("limit") {
        None => SEARCH_USUAL,
        // Below 0 there is as little to show as at 0.
        Some(limit) => limit.as_u64().unwrap_or(0),
    };
    let query = words(query, MOST_QUERY);
    let mut left = MOST_STEPS;
    let own = |tool: &&ToolSpec| {
        matches!(
            tool.kind,
            ToolKind::Search | ToolKind::Read | ToolKind::Code | ToolKind::Blackboard | ToolKind::Finish(_)
        )
    };
    let sought = tools.iter().filter(|tool| tool.is_offered() && !own(tool) && !tool.name.starts_with("__"));
    let mut found: Vec<(u64, &ToolSpec)> =
        sought.map(|tool| (score(&query, tool, &mut left), tool)).filter(|(score, _)| *score > 0).collect();
    found.sort_by(|(one, a), (other, b)| other.cmp(one).then_with(|| a.name.cmp(&b.name)));
    found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    if found.is_empty() {
        return NOTHING.to_owned();
    }
    let listed = found.iter().map(|(_, tool)| {
        json!({ "name": &*tool.name, "description": &*tool.description, "parameters": &*tool.parameters })
    });
    serde_json::to_string_pretty(&Value::Array(listed.collect())).unwrap_or_default()
}

/// The words at the beginning of a text: runs of letters and digits, lower case, each once.
fn words(text: &str, most: usize) -> BTreeSet<String> {
    let text = text.get(..text.floor_char_boundary(most)).unwrap_or_default().to_ascii_lowercase();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| word.len() >= SHORTEST_WORD).map(str::to_owned).collect()
}

/// Score of a tool, in halves: two for each common word and one for each pair of words of which one contains the other; for
/// words of the name, four more for equality and two more for containment. `left` is the number of comparison steps left.
fn score(query: &BTreeSet<String>, tool: &ToolSpec, left: &mut usize) -> u64 {
    let name = words(&tool.name, MOST_ABOUT);
    let all: BTreeSet<String> = name.union(&words(&tool.description, MOST_ABOUT)).cloned().collect();
    let common = query.intersection(&all).count() as u64;
    let bytes = |words: &BTreeSet<String>| words.iter().map(String::len).sum::<usize>();
    let steps = STEPS_A_PAIR * query.len() * all.len() + query.len() * bytes(&all) + all.len() * bytes(query);
    let Some(fewer) = left.checked_sub(steps) else { return 2 * common };
    *left = fewer;
    let part = |one: &str, other: &str| one.contains(other) || other.contains(one);
    let others: Vec<&String> = all.difference(query).collect();
    let pairs = query.difference(&all).flat_map(|word| others.iter().filter(move |other| part(word, other)));
    let score = 2 * common + pairs.count() as u64;
    if score == 0 {
        return 0;
    }
    let named = query.iter().flat_map(|word| {
        name.iter().map(move |other| if word == other { 4 } else { 2 * u64::from(part(word, other)) })
    });
    score + named.sum::<u64>()
}

#[cfg(test)]
mod tests;
