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
    assert!(end.stderr.contains("does not support tools: calls are sent as text"), "{end:?}");
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

/// What a run learns of a model is kept beside the log: another conversation of another process does not meet the refusal again.
/// What the agent says comes first.
#[test]
fn k41_calls_go_by_schema_and_other_processes_know_it() {
    let home = Home::new();
    let server = Server::start(vec![
        Reply::Refuses(400, "m does not support tools"),
        Reply::Pieces(vec!["{\"reply\": {\"tool\": \"now\", \"arguments\": {}}}"]),
        Reply::Pieces(vec!["{\"reply\": {\"answer\": \"Noon.\"}}"]),
        Reply::Pieces(vec!["{\"reply\": {\"answer\": \"Still noon.\"}}"]),
        Reply::Pieces(vec!["Natively."]),
        Reply::Pieces(vec!["As text."]),
    ]);
    let agent = |more: &str| format!("{}tools: [ {{ builtin: [now] }} ]\n{more}", server.agent());
    home.write("agent.yaml", &agent(""));
    let end = home.windlass(["run", "agent.yaml", "What time is it?"]);
    assert_eq!((end.code, end.stdout.lines().last()), (0, Some("Noon.")), "{end:?}");
    assert!(end.stderr.contains("does not support tools: calls are asked for by a schema"), "{end:?}");
    assert!(!end.stdout.contains("reply"), "the object is not shown: {end:?}");
    let sent = || server.requests.recv_timeout(PATIENCE).unwrap();
    assert!(sent()["tools"].is_array());
    let again = sent();
    assert!(again["tools"].is_null(), "{again}");
    let reply = &again["response_format"]["json_schema"]["schema"]["properties"]["reply"];
    assert_eq!(reply["anyOf"][0]["properties"]["tool"]["const"], "now", "{again}");
    assert_eq!(reply["anyOf"][1]["properties"]["answer"]["type"], "string", "{again}");
    assert!(sent()["response_format"].is_object());
    let kept = home.path("home/models.json");
    assert!(std::fs::read_to_string(&kept).unwrap().contains("\"schema\""));
    let end = home.windlass(["run", "agent.yaml", "-q", "And now?"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "Still noon.\n"), "{end:?}");
    assert!(sent()["tools"].is_null());
    home.write("native.yaml", &agent("loop: { wire: native }\n"));
    let end = home.windlass(["run", "native.yaml", "-q", "And now?"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "Natively.\n"), "{end:?}");
    assert!(sent()["tools"].is_array());
    // A damaged file counts as none.
    std::fs::write(&kept, "{").unwrap();
    let end = home.windlass(["run", "agent.yaml", "-q", "And now?"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "As text.\n"), "{end:?}");
    assert!(sent()["tools"].is_array());
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

/// A reply in text goes back to the server as the bytes that came, and its results follow calls.
#[test]
fn what_came_as_text_goes_back_byte_for_byte() {
    const SAID: &str = " <tool_call>\n{ \"name\": \"calculate\",\t\"arguments\": { \"expression\" : \"2\\u002b3\" } }\n</tool_call>\n";
    let home = Home::new();
    let server = Server::start(vec![
        Reply::Pieces(vec![SAID.get(..30).unwrap(), SAID.get(30..).unwrap()]),
        Reply::Pieces(vec!["Five."]),
        Reply::Pieces(vec!["Still five."]),
    ]);
    server.go.send(()).unwrap();
    home.write("agent.yaml", &format!("{}tools: [ {{ builtin: [calculate] }} ]\n", server.agent()));
    let end = home.windlass(["run", "agent.yaml", "-q", "--session", "s", "How much?"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "Five.\n"), "{end:?}");
    let end = home.windlass(["run", "agent.yaml", "-q", "--session", "s", "Sure?"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "Still five.\n"), "{end:?}");
    let sent: Vec<_> = (0..3).map(|_| server.requests.recv_timeout(PATIENCE).unwrap()).collect();
    for request in sent.get(1..).unwrap() {
        let said = &request["messages"][1];
        assert_eq!(said["content"], SAID, "{request}");
        assert_eq!(said["tool_calls"][0]["function"]["arguments"], "{ \"expression\" : \"2\\u002b3\" }");
        assert_eq!(request["messages"][2]["tool_call_id"], said["tool_calls"][0]["id"]);
        assert_eq!(request["messages"][2]["content"], "5");
    }
}
