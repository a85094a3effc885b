//! `windlass tools`.

use serde_json::{Value, json};

use crate::kit::{Home, PLAIN, SLOW, assert_end};
use crate::tool_server::{ToolServer, echo};

#[test]
fn l33_tools_are_listed_with_their_effects() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let list = home.windlass(["tools", "list", "agent.yaml"]);
    assert!(list.stdout.contains("calculate (builtin; read only)"), "{list:?}");
    let json = home.windlass(["tools", "list", "agent.yaml", "--json"]);
    assert_eq!(json.stdout.lines().count(), 3);
}

/// A server that says `readOnlyHint` of its tool.
#[test]
fn the_hints_of_a_tool_server_count_only_where_it_is_trusted() {
    let (home, server) = (Home::new(), ToolServer::start());
    for (more, effect) in [
        ("", "once"),
        (", trust: false", "once"),
        (", trust: true", "read only"),
        (", trust: true, effect: idempotent", "idempotent"),
        (", effect: read_only", "read only"),
    ] {
        let url = &server.url;
        home.write(
            "agent.yaml",
            &format!("name: a\nmodel: tour\ntools: [ {{ mcp: {{ name: s, url: \"{url}/mcp\"{more} }} }} ]\n"),
        );
        let list = home.windlass(["tools", "list", "agent.yaml"]);
        assert!(list.stdout.contains(&format!("s__echo (mcp s; {effect})")), "{more}: {list:?}");
    }
}

#[test]
fn l26_a_tool_is_called_by_hand() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let sum = home.windlass(["tools", "call", "agent.yaml", "calculate", "{\"expression\": \"6 * 7\"}"]);
    assert_eq!((sum.code, sum.stdout.as_str()), (0, "42\n"), "{sum:?}");
    let stdin =
        home.windlass_with(["tools", "call", "agent.yaml", "calculate", "-"], "{\"expression\": \"6 * 7\"}");
    assert_eq!(stdin.stdout, "42\n");
    assert!(!home.path("home").exists(), "no log is made");
}

#[test]
fn l26_tools_are_called_by_hand_one_a_line() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let calls = "{\"tool\": \"calculate\", \"arguments\": {\"expression\": \"6 * 7\"}}\n\n\
                 {\"tool\": \"calculat\"}\n\
                 {\"tool\": \"calculate\"}\n\
                 {\"tool\": \"calculate\", \"arguments\": {\"expression\": \"1 / 0\"}}\n\
                 {\"tool\": \"calculate\", \"arguments\": {\"expression\": \"1 + 1\"}}\n";
    let end = home.windlass_with(["tools", "batch", "agent.yaml"], calls);
    let lines = json_lines(&end.stdout);
    let results: Vec<&Value> = lines.iter().map(|line| &line["result"]).collect();
    assert_eq!(results, [&"42".into(), &Value::Null, &Value::Null, &Value::Null, &"2".into()], "{end:?}");
    assert!(lines[1]["error"].to_string().contains("no tool `calculat`"), "{end:?}");
    assert!(lines[2]["error"].to_string().contains("required"), "{end:?}");
    assert!(lines[3]["error"].to_string().contains("failed"), "{end:?}");
    assert_eq!(end.code, 1);
    let good = "{\"tool\": \"calculate\", \"arguments\": {\"expression\": \"6 * 7\"}}";
    assert_eq!(home.windlass_with(["tools", "batch", "agent.yaml"], good).code, 0);
    let bad =
        home.windlass_with(["tools", "batch", "agent.yaml"], &format!("{good}\n{{\"tol\": \"now\"}}\n"));
    assert_eq!((bad.code, bad.stdout.as_str()), (2, ""), "nothing is called: {bad:?}");
    assert!(bad.stderr.contains("line 2 on stdin is no call"), "{bad:?}");
}

#[test]
fn what_can_be_wrong_with_a_call() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    for (args, code, words) in [
        (["calculat", "{}"], 1, "did you mean calculate?"),
        (["calculate", "{"], 2, "not valid JSON"),
        (["calculate", "{\"x\": 1}"], 2, "required"),
        (["calculate", "{\"expression\": \"1 / 0\"}"], 1, "`calculate` failed"),
        (["ask", "{\"question\": \"why?\"}"], 1, "asks a person"),
    ] {
        let end = home.windlass(["tools", "call", "agent.yaml", args[0], args[1]]);
        assert_eq!(end.code, code, "{end:?}");
        assert!(end.stderr.starts_with("error: ") && end.stderr.contains(words), "{end:?}");
    }
}

#[test]
fn a_tool_that_takes_too_long_is_stopped() {
    let home = Home::new();
    home.write("agent.yaml", &format!("{SLOW}timeouts: {{ tool_ms: 50 }}\n"));
    let end = home.windlass(["tools", "call", "agent.yaml", "calculate", "{\"expression\": \"1\"}"]);
    assert_eq!(end.code, 1, "{end:?}");
    assert!(end.stderr.contains("timed out after 50 ms"), "{end:?}");
}

const SERVED: &str = "\
name: helper one
model: tour
tools:
  - service: [memory, { sandbox: { modules: [math] } }]
";

#[test]
fn a38_a_memory_lies_in_windlasss_own_folder_and_lasts() {
    let home = Home::new();
    home.write("agent.yaml", SERVED);
    let save = "{\"key\": \"name\", \"content\": \"Ann\"}";
    let saved = home.windlass(["tools", "call", "agent.yaml", "memory__save", save]);
    assert_eq!((saved.code, saved.stdout.as_str()), (0, "Saved memory: name\n"), "{saved:?}");
    let found = home.windlass(["tools", "call", "agent.yaml", "memory__search", "{\"query\": \"ann\"}"]);
    assert!(found.stdout.contains("\"content\": \"Ann\""), "{found:?}");
    assert!(home.path("home/memory/helper_one.db").exists());
    home.write(
        "other.yaml",
        "model: tour\ntools: [ { service: { memory: { path: notes/m.db, tools: [save] } } } ]\n",
    );
    let saved = home.windlass(["tools", "call", "other.yaml", "save", save]);
    assert_eq!(saved.code, 0, "{saved:?}");
    assert!(home.path("notes/m.db").exists());
}

#[test]
fn a39_code_runs_by_hand() {
    let home = Home::new();
    home.write("agent.yaml", SERVED);
    let code = "{\"code\": \"import math\\nprint(math.floor(2.5))\"}";
    let ran = home.windlass(["tools", "call", "agent.yaml", "process_sandbox__execute", code]);
    let told = "{\"stdout\": \"2\\n\", \"stderr\": \"\", \"return_value\": \"None\", \"success\": true}\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, told), "{ran:?}");
}

/// An agent with a server of three tools: one as it should be, one with a schema that multiplies, and one with a pattern
/// that has no linear bound. The names of the last two try to steer the terminal.
fn with_costly_tools() -> (Home, ToolServer) {
    let twice = |n: u32| json!({ "allOf": [{ "$ref": format!("#/$defs/d{n}") }, { "$ref": format!("#/$defs/d{n}") }] });
    let mut definitions: serde_json::Map<String, Value> =
        (1..=40).map(|n| (format!("d{n}"), twice(n - 1))).collect();
    definitions.insert("d0".to_owned(), json!(true));
    let bomb =
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d40" } }, "$defs": definitions });
    let pattern = json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "(?=a)\u{1b}[2Jb" } } });
    let server = ToolServer::offering(vec![
        echo(),
        json!({ "name": "bomb", "inputSchema": bomb }),
        json!({ "name": "pattern", "inputSchema": pattern }),
    ]);
    let home = Home::new();
    let url = &server.url;
    home.write(
        "agent.yaml",
        &format!("name: a\nmodel: tour\ntools: [ {{ mcp: {{ name: s, url: \"{url}/mcp\" }} }} ]\n"),
    );
    (home, server)
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn l33_a_tool_that_is_left_out_or_unchecked_is_said_where_tools_are_listed() {
    let (home, _server) = with_costly_tools();
    assert_end!(home, home.windlass(["tools", "list", "agent.yaml"]));
    let list = home.windlass(["tools", "list", "agent.yaml", "--json"]);
    let lines = json_lines(&list.stdout);
    let said =
        |line: &Value| [&line["name"], &line["type"], &line["tool"], &line["left_out"]].map(Value::clone);
    let said: Vec<_> = lines.iter().map(said).collect();
    let null = Value::Null;
    assert_eq!(
        said,
        [
            [json!("s__echo"), null.clone(), null.clone(), null.clone()],
            [json!("s__pattern"), null.clone(), null.clone(), null.clone()],
            [null, json!("warning"), json!("s__bomb"), json!(true)],
        ]
    );
    assert_eq!(lines[0]["warning"], Value::Null);
    assert!(lines[1]["warning"].as_str().unwrap().contains("linear time"), "{lines:?}");
}

#[test]
fn a_tool_that_is_left_out_or_unchecked_is_said_where_a_run_begins_and_goes_on() {
    let (home, _server) = with_costly_tools();
    assert_end!(home, home.windlass(["run", "agent.yaml", "Are you there?"]));
    let run = home.windlass(["run", "--json", "agent.yaml", "Are you there?"]);
    let warnings = json_lines(&run.stdout).into_iter().filter(|line| line["type"] == "warning");
    let said = |line: Value| [&line["server"], &line["tool"], &line["left_out"]].map(Value::clone);
    let said: Vec<_> = warnings.map(said).collect();
    assert_eq!(
        said,
        [[json!("s"), json!("s__bomb"), json!(true)], [json!("s"), json!("s__pattern"), json!(false)],]
    );
    let forked = home.windlass(["runs", "fork", "--at", "2", "last"]);
    assert!(forked.stderr.contains("warning: tool `s__bomb` of server `s` is left out"), "{forked:?}");
    assert_eq!(home.windlass(["run", "-q", "agent.yaml", "Are you there?"]).stderr, "");
}
