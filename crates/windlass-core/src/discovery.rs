//! Discovery of tools: models that have many tools are shown only the one that finds the others (acorn's
//! `tool_discovery`). What was found is described in the result; all tools can be called at any time.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use crate::policy::{Discovery, LimitKind};
use crate::state::State;
use crate::stored::{READ_RESULT, read_result};
use crate::tool::{ToolKind, ToolSpec};

/// The name of the tool that finds tools.
pub const SEARCH_TOOLS: &str = "search_tools";
/// How many tools one call of [`SEARCH_TOOLS`] gives where it does not say (acorn).
pub const SEARCH_USUAL: u64 = 5;
/// What is said where nothing was found (acorn).
const NOTHING: &str = "No tools found matching your query. Try different keywords.";
/// Shorter words are not looked at, in bytes (acorn).
const SHORTEST_WORD: usize = 2;
/// The most bytes of a query that are looked at.
const MOST_QUERY: usize = 1_024;
/// The most bytes of a tool's description that are looked at.
const MOST_ABOUT: usize = 2_048;
/// How many steps one search may take to compare words with one another. Of the tools beyond, only equal words count.
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

/// What a call of [`SEARCH_TOOLS`] gives: the tools that can be called and fit the query, the best first, those that
/// fit as well by name; or that there is none.
pub fn found_tools(tools: &[ToolSpec], args: &Value) -> String {
    let query = args.get("query").and_then(Value::as_str).unwrap_or_default();
    let limit = match args.get("limit") {
        None => SEARCH_USUAL,
        // Below 0 there is as little to show as at 0.
        Some(limit) => limit.as_u64().unwrap_or(0),
    };
    let query = words(query, MOST_QUERY);
    let mut left = MOST_STEPS;
    let own = |tool: &&ToolSpec| matches!(tool.kind, ToolKind::Search | ToolKind::Read | ToolKind::Finish(_));
    let sought = tools.iter().filter(|tool| tool.is_offered() && !own(tool) && !tool.name.starts_with("__"));
    let mut found: Vec<(u64, &ToolSpec)> =
        sought.map(|tool| (score(&query, tool, &mut left), tool)).filter(|(score, _)| *score > 0).collect();
    found.sort_by(|(one, a), (other, b)| other.cmp(one).then_with(|| a.name.cmp(&b.name)));
    found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    if found.is_empty() {
        return NOTHING.to_owned();
    }
    let shown = found.iter().map(|(_, tool)| {
        json!({ "name": &*tool.name, "description": &*tool.description, "parameters": &*tool.parameters })
    });
    serde_json::to_string_pretty(&Value::Array(shown.collect())).unwrap_or_default()
}

/// The words at the beginning of a text: runs of letters and digits, lower case, each once.
fn words(text: &str, most: usize) -> BTreeSet<String> {
    let text = text.get(..text.floor_char_boundary(most)).unwrap_or_default().to_ascii_lowercase();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| word.len() >= SHORTEST_WORD).map(str::to_owned).collect()
}

/// How well a tool fits, in halves: two for each word in common, one for each pair of other words of which one is part
/// of the other; and for words of the name four more if they are equal, two if one is part of the other. `left`: how many
/// steps there still are to compare words.
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

impl State {
    /// The tools that the next request shows. Others than these can be called too where tools are to be searched for.
    pub fn shown_tools(&self) -> &Arc<Vec<ToolSpec>> {
        &self.toolbox.shown
    }

    /// Whether no call can be let run: 0 is a limit like any other. Then only a finish is offered.
    pub(crate) fn none_may_run(&self) -> bool {
        [LimitKind::ToolRounds, LimitKind::ToolCalls]
            .iter()
            .any(|kind| self.setup.policy.limit(*kind) == Some(0))
    }

    /// Takes the agent's tools over, and offers those of Windlass that this conversation needs.
    pub(crate) fn offer_tools(&mut self, mut own: Arc<Vec<ToolSpec>>) {
        // A hook that was shown ours may hand them back with the others.
        let ours = |tool: &ToolSpec| [READ_RESULT, SEARCH_TOOLS].contains(&&*tool.name);
        if own.iter().any(ours) {
            Arc::make_mut(&mut own).retain(|tool| !ours(tool));
        }
        let search = self.setup.policy.request.discovery == Discovery::Search;
        let reads = (!self.conversation.stored.is_empty()).then(read_result);
        let searches = search.then(search_tools);
        self.toolbox.all = if reads.is_none() && searches.is_none() {
            own.clone()
        } else {
            Arc::new(own.iter().chain(reads).chain(searches).cloned().collect())
        };
        self.toolbox.shown = match (self.none_may_run(), search) {
            (true, _) => {
                let finish = |tool: &&ToolSpec| matches!(tool.kind, ToolKind::Finish(_));
                Arc::new(self.toolbox.all.iter().filter(finish).cloned().collect())
            }
            (false, true) => Arc::new(shown(&self.toolbox.all)),
            (false, false) => self.toolbox.all.clone(),
        };
        self.toolbox.own = own;
    }
}

/// What is shown where tools are to be searched for, in acorn's order: the search, the finish, then those that are
/// no tools to search for.
fn shown(tools: &[ToolSpec]) -> Vec<ToolSpec> {
    let rank = |tool: &ToolSpec| match tool.kind {
        ToolKind::Search => Some(0),
        ToolKind::Finish(_) => Some(1),
        ToolKind::Run | ToolKind::Ask => None,
        ToolKind::Read | ToolKind::Delegate | ToolKind::Branch | ToolKind::Parent => Some(2),
    };
    let mut shown: Vec<(u8, &ToolSpec)> = tools.iter().filter_map(|tool| Some((rank(tool)?, tool))).collect();
    shown.sort_by_key(|(rank, _)| *rank);
    shown.into_iter().map(|(_, tool)| tool.clone()).collect()
}

#[cfg(test)]
mod tests;
