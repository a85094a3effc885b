//! `windlass run --from-env`: KAOS' agent container, with a real model server and a real tool server.

use crate::kit::{End, Home, PATIENCE, end};
use crate::server::{Reply, Server};
use crate::tool_server::ToolServer;

const CALL: &str = "```tool_call\n{\"tool\": \"NAME\", \"arguments\": {\"text\": \"hello\"}}\n```";

fn run(home: &Home, model: &Server, more: &[(&str, &str)]) -> End {
    let mut command = home.command(["run", "--from-env", "Say hello", "--session", "s"]);
    command
        .env("AGENT_NAME", "greeter")
        .env("AGENT_DESCRIPTION", "Greets.")
        .env("AGENT_INSTRUCTIONS", "Greet {{ name }}.")
        .env("MODEL_API_URL", &model.url)
        .env("MODEL_NAME", "m");
    for (name, value) in more {
        command.env(name, value);
    }
    end(command.output().unwrap())
}

#[test]
fn k30_k27_k28_an_agent_from_the_environment_asks_its_model_and_its_tool_server() {
    let home = Home::new();
    let tools = ToolServer::start();
    let call: &'static str = CALL.replace("NAME", "echo").leak();
    let model = Server::start(vec![Reply::Pieces(vec![call]), Reply::Pieces(vec!["It said hello."])]);
    let done = run(&home, &model, &[("MCP_SERVERS", "tools"), ("MCP_SERVER_tools_URL", &tools.url)]);
    assert_eq!((done.code, done.stdout.lines().last()), (0, Some("It said hello.")), "{done:?}");
    assert_eq!(tools.calls.recv_timeout(PATIENCE).unwrap()["arguments"]["text"], "hello");
    let first = model.requests.recv_timeout(PATIENCE).unwrap();
    let prompt = first["messages"][0]["content"].as_str().unwrap().to_owned();
    assert_eq!(first["model"], "m");
    assert!(prompt.starts_with("Greet {{ name }}.\n") && prompt.contains("Says it again."), "{prompt}");
    let second = model.requests.recv_timeout(PATIENCE).unwrap();
    let last = second["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["content"], r#"Tool result: {"result": "echo: hello"}"#);
    let events = home.windlass(["sessions", "events", "s", "--json"]).stdout;
    let kinds: Vec<String> = events
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["event_type"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(kinds, ["user_message", "tool_call", "tool_result", "agent_response"]);
}

#[test]
fn a_failed_model_gives_kaos_text_and_its_event_beside_the_status() {
    let home = Home::new();
    let model = Server::start(vec![Reply::Refuses(400, "no such field")]);
    let done = run(&home, &model, &[]);
    assert_eq!(done.code, 69, "{done:?}");
    let last = home.last();
    assert_eq!(last["status"], "failed(model)", "{last}");
    let text = last["text"].as_str().unwrap();
    assert!(text.starts_with("Sorry, I encountered an error: ") && text.contains("no such field"), "{text}");
    let events = home.windlass(["sessions", "events", "s", "--json"]).stdout;
    let told = serde_json::from_str::<serde_json::Value>(events.lines().last().unwrap()).unwrap();
    assert_eq!(told["event_type"], "error", "{told}");
    assert!(told["content"].as_str().unwrap().contains("no such field"), "{told}");
}

#[test]
fn k30_the_environment_says_how_many_steps_there_are() {
    let home = Home::new();
    let tools = ToolServer::start();
    let call: &'static str = CALL.replace("NAME", "echo").leak();
    let model = Server::start(vec![Reply::Pieces(vec![call]), Reply::Pieces(vec![call])]);
    let more = [
        ("MCP_SERVERS", "[tools]"),
        ("MCP_SERVER_TOOLS_URL", &*tools.url),
        ("AGENTIC_LOOP_MAX_STEPS", "2"),
        ("WINDLASS_LOG", "windlass=info"),
    ];
    let done = run(&home, &model, &more);
    assert_eq!(done.code, 124, "{done:?}");
    assert!(done.stderr.contains("agent \"greeter\" from the environment: model"), "{done:?}");
    assert!(done.stderr.contains("Reached maximum reasoning steps (2)\n"), "{done:?}");
    assert_eq!(tools.calls.try_iter().count(), 2);
}

#[test]
fn k27_e10_two_servers_with_one_name_for_a_tool_are_told_apart_or_refused() {
    let home = Home::new();
    let (one, two) = (ToolServer::start(), ToolServer::start());
    let model = Server::start(Vec::new());
    let more =
        [("MCP_SERVERS", "one,two"), ("MCP_SERVER_one_URL", &*one.url), ("MCP_SERVER_two_URL", &*two.url)];
    let done = run(&home, &model, &more);
    assert!(
        done.code != 0
            && done.stderr.contains("Duplicate tool name: echo (one is from mcp one, one from mcp two)"),
        "{done:?}"
    );
}

#[test]
fn k27_an_agent_goes_on_without_a_server_that_is_gone_and_says_so() {
    let home = Home::new();
    let model = Server::start(vec![Reply::Pieces(vec!["Hello."])]);
    let more = [("MCP_SERVERS", "tools"), ("MCP_SERVER_tools_URL", "http://127.0.0.1:9")];
    let done = run(&home, &model, &more);
    assert!(done.code == 0 && done.stdout.contains("Hello."), "{done:?}");
    assert!(
        done.stderr.contains("tools: `tools` is not available, and the agent continues without it: "),
        "{done:?}"
    );
}

#[test]
fn k30_servers_and_agents_that_are_not_described_are_said() {
    let home = Home::new();
    let model = Server::start(Vec::new());
    let done = run(&home, &model, &[("MCP_SERVERS", "tools")]);
    assert!(
        done.code == 65 && done.stderr.contains("the environment variable MCP_SERVER_tools_URL"),
        "{done:?}"
    );
    let done = run(&home, &model, &[("AGENTIC_LOOP_MAX_STEPS", "many")]);
    assert!(done.code == 65 && done.stderr.contains("AGENTIC_LOOP_MAX_STEPS is `many`"), "{done:?}");
    let done = run(&home, &model, &[("AGENT_SUB_AGENTS", "worker:http://127.0.0.1:9")]);
    assert!(done.code == 65 && done.stderr.contains("AGENT_SUB_AGENTS names remote agents"), "{done:?}");
}
