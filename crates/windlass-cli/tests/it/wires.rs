//! `wire: auto` against a real HTTP server that takes no tools.

use crate::kit::{Home, PATIENCE};
use crate::server::{Reply, Server};

const CALL: &str = "```tool_call\n{\"tool\": \"now\", \"arguments\": {}}\n```";

#[test]
fn k41_a_server_that_refuses_tools_is_asked_in_text_and_the_session_remembers() {
    let home = Home::new();
    let server = Server::start(vec![
        Reply::Refuses(400, "m does not support tools"),
        Reply::Pieces(vec![CALL]),
        Reply::Pieces(vec!["Noon."]),
        Reply::Pieces(vec!["Still noon."]),
    ]);
    let agent =
        format!("{}tools: [ {{ builtin: [now] }} ]\nloop: {{ preset: text, wire: auto }}\n", server.agent());
    home.write("agent.yaml", &agent);
    let end = home.windlass(["run", "agent.yaml", "--session", "s", "What time is it?"]);
    assert_eq!((end.code, end.stdout.lines().last()), (0, Some("Noon.")), "{end:?}");
    assert!(end.stderr.contains("takes no tools: calls go to it in text"), "{end:?}");
    assert!(end.stderr.contains("2 model calls, 1 tool call, 24 tokens in, 6 out"), "{end:?}");
    let sent = || server.requests.recv_timeout(PATIENCE).unwrap();
    assert!(sent()["tools"].is_array());
    let again = sent();
    assert!(
        again["tools"].is_null()
            && again["messages"][0]["content"].as_str().unwrap().contains("## Available Tools")
    );
    assert!(
        sent()["messages"].as_array().unwrap().last().unwrap()["content"]
            .as_str()
            .unwrap()
            .contains("Tool result")
    );
    // Another process goes on with the session: the log says how that model is asked.
    let end = home.windlass(["run", "agent.yaml", "--session", "s", "-q", "And now?"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "Still noon.\n"), "{end:?}");
    assert!(sent()["tools"].is_null());
}

#[test]
fn k41_another_refusal_does_not_switch() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Refuses(400, "temperature is out of range")]);
    let agent =
        format!("{}tools: [ {{ builtin: [now] }} ]\nloop: {{ preset: text, wire: auto }}\n", server.agent());
    home.write("agent.yaml", &agent);
    let end = home.windlass(["run", "agent.yaml", "What time is it?"]);
    assert_eq!(end.code, 69, "{end:?}");
    assert!(end.stderr.contains("temperature is out of range"), "{end:?}");
}
