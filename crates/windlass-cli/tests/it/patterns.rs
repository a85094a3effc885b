//! Patterns of `approve` and `deny` that match no tool: a typo must not turn approval off in silence.

use serde_json::{Value, json};

use crate::kit::{Home, assert_end};
use crate::tool_server::ToolServer;

/// Two typos, one pattern that matches, and one that has no close name.
const TYPOS: &str = "\
name: clerk
model: tour
tools:
  - builtin: [calculate, list_files]
  - builtin: { now: { approve: true } }
loop:
  approve: [calcluate, \"list_*\"]
  deny: [zzz]
";

fn served(url: &str) -> String {
    format!(
        "name: clerk\nmodel: tour\ntools: [ {{ mcp: {{ name: files, url: \"{url}/mcp\" }} }} ]\n\
         loop: {{ approve: [files__eco, fles__echo] }}\n"
    )
}

#[test]
fn a_check_warns_of_patterns_that_match_no_tool() {
    let home = Home::new();
    home.write("clerk.yaml", TYPOS);
    assert_end!(home, home.windlass(["agents", "check", "clerk.yaml"]));
    let json = home.windlass(["agents", "check", "clerk.yaml", "--json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let unmatched = &json["unmatched"];
    assert_eq!((&unmatched[0]["pattern"], &unmatched[0]["line"]), (&json!("calcluate"), &json!(7)), "{json}");
    assert_eq!(unmatched[0]["nearest"], json!(["calculate"]));
    assert_eq!((&unmatched[1]["key"], &unmatched[1]["pattern"]), (&json!("loop.deny"), &json!("zzz")));
    assert_eq!(unmatched.as_array().unwrap().len(), 2);
}

#[test]
fn a_start_warns_of_patterns_that_match_no_tool() {
    let home = Home::new();
    home.write("clerk.yaml", TYPOS);
    assert_end!(home, home.windlass(["run", "clerk.yaml", "--approve", "nwo", "What is 2 + 3?"]));
    let json = home.windlass(["run", "clerk.yaml", "--json", "What is 2 + 3?"]);
    assert!(json.stdout.contains("\"pattern\":\"calcluate\""), "{json:?}");
    home.write("lead.yaml", "name: lead\nmodel: tour\nagents: [clerk.yaml]\nloop: { approve: [clerk] }\n");
    let lead = home.windlass(["run", "lead.yaml", "hello"]);
    assert!(
        lead.stderr.contains("`calcluate` in `loop.approve` matches no tool of agent `clerk`"),
        "{lead:?}"
    );
    assert!(!lead.stderr.contains("agent `lead`"), "a delegate is a tool: {lead:?}");
}

#[test]
fn tools_of_servers_are_compared_once_they_are_connected() {
    let (home, server) = (Home::new(), ToolServer::start());
    home.write("clerk.yaml", &served(&server.url));
    let check = home.windlass(["agents", "check", "clerk.yaml"]);
    assert!(!check.stderr.contains("files__eco"), "its server is not asked: {check:?}");
    assert!(
        check.stderr.contains("`fles__echo`") && check.stderr.contains("did you mean files__*?"),
        "{check:?}"
    );
    let run = home.windlass(["run", "clerk.yaml", "hello"]);
    assert!(
        run.stderr.contains("`files__eco`") && run.stderr.contains("did you mean files__echo?"),
        "{run:?}"
    );
    let list = home.windlass(["tools", "list", "clerk.yaml"]);
    assert!(list.stderr.contains("`fles__echo`") && list.stderr.contains("`files__eco`"), "{list:?}");
    home.write(
        "absent.yaml",
        &served("http://127.0.0.1:9").replace("name: files,", "name: files, optional: true,"),
    );
    let absent = home.windlass(["run", "absent.yaml", "hello"]);
    assert!(!absent.stderr.contains("files__eco"), "it may still come: {absent:?}");
}

#[test]
fn a_list_of_tools_says_which_ask_and_why() {
    let home = Home::new();
    home.write("clerk.yaml", &TYPOS.replace("calcluate", "calc*").replace("[zzz]", "[\"list_*\"]"));
    assert_end!(home, home.windlass(["tools", "list", "clerk.yaml"]));
    let json = home.windlass(["tools", "list", "clerk.yaml", "--json"]);
    let said: Vec<Value> = json.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: Vec<_> =
        said.iter().map(|tool| json!([tool["name"], tool["approve"], tool["denied_by"]])).collect();
    assert_eq!(
        said,
        [
            json!(["calculate", true, null]),
            json!(["list_files", false, "list_*"]),
            json!(["now", true, null])
        ]
    );
}
