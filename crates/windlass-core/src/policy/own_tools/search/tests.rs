use serde_json::{Value, json};

use crate::policy::Policy;
use crate::policy::own_tools::search::{MOST_STEPS, NOTHING, found_tools, score, search_tools, words};
use crate::policy::presets::Preset;
use crate::policy::values::Discovery;
use crate::state::State;
use crate::vocabulary::ids::RunId;
use crate::vocabulary::tool::{Offer, ToolKind, ToolSpec};

fn tool(name: &str, about: &str) -> ToolSpec {
    ToolSpec::new(name, about, json!({ "type": "object", "properties": {} }))
}

fn names(tools: &[ToolSpec], args: &Value) -> Vec<String> {
    let text = found_tools(tools, args);
    if text == NOTHING {
        return Vec::new();
    }
    let found: Vec<Value> = serde_json::from_str(&text).unwrap();
    found.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn mailbox() -> Vec<ToolSpec> {
    vec![
        tool("calendar__create", "Creates an event, and may send invitations."),
        tool("gmail__search", "Searches emails."),
        tool("gmail__send", "Sends an email."),
        tool("slack__send", "Sends a message."),
        tool("weather", "Tells the weather."),
    ]
}

#[test]
fn a40_names_count_more_than_descriptions_and_equal_scores_stand_by_name() {
    let found = names(&mailbox(), &json!({ "query": "send" }));
    assert_eq!(found, ["gmail__send", "slack__send", "calendar__create"]);
    let turned: Vec<ToolSpec> = mailbox().into_iter().rev().collect();
    assert_eq!(names(&turned, &json!({ "query": "send" })), found, "whatever the order of the tools");
    assert_eq!(names(&mailbox(), &json!({ "query": "Send EMAIL!" })).first().unwrap(), "gmail__send");
}

#[test]
fn a40_parts_of_words_are_found() {
    assert_eq!(names(&mailbox(), &json!({ "query": "emailing" })), ["gmail__send"]);
    assert_eq!(names(&mailbox(), &json!({ "query": "mail" })), ["gmail__search", "gmail__send"]);
}

#[test]
fn a40_five_are_given_unless_the_call_says() {
    let many: Vec<ToolSpec> = (0..9).map(|n| tool(&format!("note_{n}"), "Keeps a note.")).collect();
    assert_eq!(names(&many, &json!({ "query": "note" })), ["note_0", "note_1", "note_2", "note_3", "note_4"]);
    assert_eq!(names(&many, &json!({ "query": "note", "limit": 2 })).len(), 2);
    assert_eq!(names(&many, &json!({ "query": "note", "limit": 100 })).len(), 9);
    assert!(names(&many, &json!({ "query": "note", "limit": 0 })).is_empty());
    assert!(names(&many, &json!({ "query": "note", "limit": -3 })).is_empty());
}

#[test]
fn a40_nothing_fits_and_the_text_says_so() {
    for query in ["fly", "", "  ", "a", "é"] {
        assert_eq!(found_tools(&mailbox(), &json!({ "query": query })), NOTHING, "{query}");
    }
}

#[test]
fn a40_what_cannot_be_called_or_is_shown_is_not_found() {
    let mut removed = tool("send_fax", "Sends a fax.");
    removed.offer = Offer::Withheld;
    let tools = [removed, tool("__send", "Inner."), ToolSpec::finish(None), search_tools().clone()];
    assert!(names(&tools, &json!({ "query": "send fax search tools finish" })).is_empty());
}

#[test]
fn a40_words_are_lower_case_runs_of_two_at_least() {
    let found: Vec<String> = words("Gmail__send a 2nd E-Mail", 1_024).into_iter().collect();
    assert_eq!(found, ["2nd", "gmail", "mail", "send"]);
}

#[test]
fn a40_only_what_finds_tools_and_ends_the_run_is_shown() {
    let mut ask = tool("ask", "Asks.");
    ask.kind = ToolKind::Ask;
    let mut writer = tool("writer", "Writes.");
    writer.kind = ToolKind::Delegate;
    let own = vec![tool("add", "Adds."), ask, writer, ToolSpec::finish(None)];
    let mut state = State::new(RunId::from_number(1));
    let mut policy: Policy = Preset::TYPED.policy();
    policy.request.discovery = Discovery::Search;
    state.setup.governed_by(policy.into());
    state.offer_tools(own.clone().into());
    let shown: Vec<&str> = state.visible_tools().iter().map(|tool| &*tool.name).collect();
    assert_eq!(shown, ["search_tools", "__finish__", "writer"]);
    let known: Vec<&str> = state.tools().iter().map(|tool| &*tool.name).collect();
    assert_eq!(known, ["add", "ask", "writer", "__finish__", "search_tools"]);
    // A hook hands all of them back.
    state.offer_tools(state.tools().clone());
    assert_eq!(**state.own_tools(), own);
    assert_eq!(state.visible_tools().len(), 3);
}

#[test]
fn steps_of_a_search_grow_with_the_descriptions_up_to_a_bound() {
    let query = words("send an email with a file to a friend", 1_024);
    let steps = |n: usize| {
        let mut left = usize::MAX;
        score(
            &query,
            &tool("t", &(0..n).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ")),
            &mut left,
        );
        usize::MAX - left
    };
    for n in [25, 50, 100] {
        assert!(steps(2 * n) * 2 <= steps(n) * 5);
    }
    assert_eq!(steps(100_000), steps(1_000));
    // With the steps used up a word in common still counts, and a part of a word does not.
    let mut left = MOST_STEPS;
    let mut found = |about: &str| score(&query, &tool("t", about), &mut left);
    assert!(found("emails") > 0);
    (0..MOST_STEPS).take_while(|_| found("emails") > 0).for_each(drop);
    assert_eq!((found("emails"), found("email")), (0, 2));
}

#[test]
fn a_denied_tool_is_known_and_not_offered() {
    let mut state = State::new(RunId::from_number(1));
    let mut policy = Policy::default();
    policy.tools.deny = vec!["gmail__*".into()];
    state.setup.governed_by(policy.into());
    state.offer_tools(mailbox().into());
    let offered = |state: &State| -> Vec<String> {
        state
            .visible_tools()
            .iter()
            .filter(|tool| tool.is_offered())
            .map(|tool| tool.name.to_string())
            .collect()
    };
    assert_eq!(offered(&state), ["calendar__create", "slack__send", "weather"]);
    let send = state.tool("gmail__send").unwrap();
    assert!(send.is_known() && send.is_heard(), "a call of it is answered as denied");
    assert!(state.own_tools().iter().all(ToolSpec::is_offered), "the agent's tools stay what they are");
    // A hook that hands back what it was shown, under another policy.
    let shown = state.visible_tools().clone();
    state.setup.governed_by(Policy::default().into());
    state.offer_tools(shown);
    assert_eq!(offered(&state).len(), 5);
}
