//! Tool discovery: the model sees only a search tool (acorn's `tool_discovery`). Its result describes the tools found; every
//! tool can be called at any time.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use crate::ids::RunId;
use crate::policy::{CodeMode, Discovery, LimitKind, Policy, View};
use crate::state::{State, update_blackboard};
use crate::stored::read_result;
use crate::tool::{Offer, ToolKind, ToolSpec};

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
        let ours = |tool: &ToolSpec| {
            matches!(tool.kind, ToolKind::Read | ToolKind::Search | ToolKind::Blackboard | ToolKind::Code)
        };
        if own.iter().any(ours) {
            Arc::make_mut(&mut own).retain(|tool| !ours(tool));
        }
        let given = self.without_denied(&own);
        let code = self.setup.policy.calls.code;
        let functions = matches!(code, CodeMode::Tool(_));
        let search = self.setup.policy.request.discovery == Discovery::Search && !functions;
        let reads = self.conversation.has_more_to_read().then(read_result);
        let searches = search.then(search_tools);
        let codes = code.limits().map(|_| ToolSpec::run_code(&given, code));
        let board = (self.setup.policy.request.view == View::Blackboard).then(update_blackboard);
        self.toolbox.all = if reads.is_none() && searches.is_none() && codes.is_none() && board.is_none() {
            given
        } else {
            Arc::new(given.iter().chain(reads).chain(searches).chain(board).chain(&codes).cloned().collect())
        };
        self.toolbox.shown = match (self.none_may_run(), search) {
            (true, _) => {
                let finish = |tool: &&ToolSpec| matches!(tool.kind, ToolKind::Finish(_));
                Arc::new(self.toolbox.all.iter().filter(finish).cloned().collect())
            }
            (false, _) if functions => {
                let plain = |tool: &&ToolSpec| !tool.is_function();
                Arc::new(self.toolbox.all.iter().filter(plain).cloned().collect())
            }
            (false, true) => Arc::new(shown(&self.toolbox.all)),
            (false, false) => self.toolbox.all.clone(),
        };
        self.toolbox.own = own;
    }
}

impl State {
    /// The tools, of which those that the policy denies, or a provider refuses, are not offered. A tool that ends the run is needed whatever it denies.
    pub(crate) fn without_denied(&self, tools: &Arc<Vec<ToolSpec>>) -> Arc<Vec<ToolSpec>> {
        let policy = &self.setup.policy;
        let changes = |tool: &ToolSpec| {
            let refused = self.toolbox.refused.as_ref().is_some_and(|all| all.contains(&tool.name));
            let denied = policy.denied(&tool.name).is_some() && !matches!(tool.kind, ToolKind::Finish(_));
            match tool.offer {
                Offer::Offered if refused => Some(Offer::Withheld),
                Offer::Offered | Offer::Unreachable if denied => Some(Offer::Denied),
                // A hook may hand back what another policy has denied.
                Offer::Denied if !denied => Some(Offer::Offered),
                Offer::Offered | Offer::Unreachable | Offer::Withheld | Offer::Denied => None,
            }
        };
        if tools.iter().all(|tool| changes(tool).is_none()) {
            return tools.clone();
        }
        let each = tools.iter().map(|tool| {
            let mut tool = tool.clone();
            tool.offer = changes(&tool).unwrap_or(tool.offer);
            tool
        });
        Arc::new(each.collect())
    }
}

/// The tools that the first request of a run with this policy shows, of those that it is given: for prompts that name them.
pub fn offered(policy: &Arc<Policy>, tools: &Arc<Vec<ToolSpec>>) -> Vec<ToolSpec> {
    // Which run it is says nothing about its tools.
    let mut state = State::new(RunId::from_number(0));
    state.setup.policy = policy.clone();
    state.offer_tools(tools.clone());
    state.toolbox.shown.iter().filter(|tool| tool.is_offered()).cloned().collect()
}

/// Tools in the request when discovery is on, in acorn's order: the search tool, the finish tool, then the tools that discovery
/// does not cover.
fn shown(tools: &[ToolSpec]) -> Vec<ToolSpec> {
    let rank = |tool: &ToolSpec| match tool.kind {
        ToolKind::Search => Some(0),
        ToolKind::Finish(_) => Some(1),
        ToolKind::Run | ToolKind::Ask => None,
        ToolKind::Code
        | ToolKind::Read
        | ToolKind::Blackboard
        | ToolKind::Delegate
        | ToolKind::Branch
        | ToolKind::Parent => Some(2),
    };
    let mut shown: Vec<(u8, &ToolSpec)> = tools.iter().filter_map(|tool| Some((rank(tool)?, tool))).collect();
    shown.sort_by_key(|(rank, _)| *rank);
    shown.into_iter().map(|(_, tool)| tool.clone()).collect()
}

#[cfg(test)]
mod tests;
