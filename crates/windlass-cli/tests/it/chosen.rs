//! Tools of a server that an agent file chooses, renames and gives effects.

use serde_json::{Value, json};

use crate::kit::Home;
use crate::server::{Reply, Server};
use crate::tool_server::ToolServer;

/// A server of four tools. By its own hint only `search` reads.
fn files() -> ToolServer {
    let tool = |name: &str, reads: bool| json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": reads } });
    ToolServer::offering(vec![
        tool("read_file", false),
        tool("write_file", false),
        tool("delete_file", false),
        tool("search", true),
    ])
}

/// The keys of a choice, and rules by the names that it offers.
fn agent(model: &str, server: &ToolServer, tools: &str, rules: &str) -> String {
    let url = &server.url;
    format!(
        "{model}tools: [ {{ mcp: {{ name: files, url: \"{url}/mcp\", effect: idempotent, tools: {tools} }} }} ]\nloop: {{ {rules} }}\n"
    )
}

fn listed(home: &Home) -> (Vec<Value>, String) {
    let list = home.windlass(["tools", "list", "agent.yaml", "--json"]);
    let lines = list.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let tools = lines.filter(|line| line["name"].is_string());
    (
        tools.map(|tool| json!([tool["name"], tool["effect"], tool["approve"]])).collect(),
        list.stdout + &list.stderr,
    )
}

#[test]
fn tools_of_a_server_are_chosen_by_its_own_names_and_ruled_by_the_offered_ones() {
    let (home, server) = (Home::new(), files());
    let chosen = "{ only: [\"*_file\", serach], without: [\"delete_*\"], rename: { write_file: save }, effects: { \"write_*\": once, read_file: read_only } }";
    let model = Server::start(vec![
        Reply::Call("files__save".to_owned(), r#"{"text":"a"}"#.to_owned()),
        Reply::Call("files__search".to_owned(), "{}".to_owned()),
        Reply::Pieces(vec!["Done."]),
    ]);
    home.write("agent.yaml", &agent(&model.agent(), &server, chosen, "approve: [files__save]"));
    let (tools, said) = listed(&home);
    assert_eq!(
        tools,
        [json!(["files__read_file", "read_only", false]), json!(["files__save", "once", true])],
        "{said}"
    );
    assert!(
        said.contains("`serach`") && said.contains("search"),
        "a name that is not listed, and the nearest: {said}"
    );

    let left = home.windlass(["run", "agent.yaml", "Save it."]);
    assert_eq!(server.calls.try_iter().count(), 0, "it is asked for by its offered name: {left:?}");
    let offered = model.requests.recv().unwrap();
    let names: Vec<&str> = offered["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["function"]["name"].as_str())
        .collect();
    assert_eq!(names, ["files__read_file", "files__save"]);
    let done = home.windlass(["runs", "answer", "last", "q1", "approve"]);
    assert_eq!((done.code, done.stdout.trim()), (0, "Done."), "{done:?}");
    let calls: Vec<Value> = server.calls.try_iter().map(|call| call["name"].clone()).collect();
    assert_eq!(
        calls,
        ["write_file"],
        "the server hears its own name, and nothing of a tool that was not chosen"
    );
}

#[test]
fn a_short_list_chooses_and_a_denied_tool_is_not_offered_but_answered() {
    let (home, server) = (Home::new(), files());
    let model = Server::start(vec![
        Reply::Call("files__write_file".to_owned(), "{}".to_owned()),
        Reply::Pieces(vec!["No."]),
    ]);
    home.write("agent.yaml", &agent(&model.agent(), &server, "[search, \"w*\"]", "deny: [\"files__w*\"]"));
    let done = home.windlass(["run", "agent.yaml", "Write."]);
    assert_eq!((done.code, done.stdout.trim()), (0, "No."), "{done:?}");
    let [first, second] = [model.requests.recv().unwrap(), model.requests.recv().unwrap()];
    let tools = first["tools"].as_array().unwrap();
    assert_eq!((tools.len(), &tools[0]["function"]["name"]), (1, &json!("files__search")));
    let told = second["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(told.contains("denied by policy: files__write_file (rule files__w*)"), "{told}");
    assert_eq!(server.calls.try_iter().count(), 0);
}
