//! Requests that are shown from the log, and cases that are written from a recorded run.

use serde_json::Value;

use crate::kit::{Home, PATIENCE};
use crate::server::{Reply, Server};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_request_is_shown_with_its_reply_and_as_a_command() {
    let home = Home::new();
    let server = Server::start(vec![
        Reply::Call("now".to_owned(), "{}".to_owned()),
        Reply::Fails(503, r#"{"message":"try later","hint":"a detail that no message has"}"#),
        Reply::Pieces(vec!["It's noon."]),
    ]);
    let agent = server.agent().replace("/v1\" }", "/v1\", key: \"${MY_KEY}\" }");
    home.write("agent.yaml", &format!("{agent}tools: [ {{ builtin: [now] }} ]\n"));
    let mut run = home.command(["run", "agent.yaml", "-q", "What's the time?"]);
    let ran = crate::kit::end(run.env("MY_KEY", "sk-very-secret-key").output().unwrap());
    assert_eq!((ran.code, ran.stdout.trim()), (0, "It's noon."), "{ran:?}");
    for number in 1..=3 {
        let sent = server.requests.recv_timeout(PATIENCE).unwrap();
        let number = number.to_string();
        let show = |more: &str| {
            let mut show = home.command(["runs", "show", "last", "--request", &number]);
            show.args(more.split_whitespace()).env("MY_KEY", "sk-very-secret-key");
            let shown = crate::kit::end(show.output().unwrap());
            assert_eq!(shown.code, 0, "{shown:?}");
            assert!(!shown.stdout.contains("very-secret"), "{shown:?}");
            shown.stdout
        };
        let value = json(&show("--json"));
        assert_eq!(json(value["body"].as_str().unwrap()), sent, "request {number}");
        assert_eq!(value["headers"]["authorization"], "Bearer $MY_KEY");
        let curl = show("--curl");
        let body = value["body"].as_str().unwrap().replace('\'', r"'\''");
        assert!(curl.contains(&body) && curl.contains("\"authorization: Bearer $MY_KEY\""), "{curl}");
        let plain = show("");
        assert!(plain.starts_with("POST http://127.0.0.1:") && plain.contains(&number_of(&value)), "{plain}");
    }
    let mut beyond = home.command(["runs", "show", "last", "--request", "4"]);
    let beyond = crate::kit::end(beyond.env("MY_KEY", "sk-very-secret-key").output().unwrap());
    assert!(beyond.code == 1 && beyond.stderr.contains("has no request 4: it has 3"), "{beyond:?}");
}

#[test]
fn a_failed_reply_is_shown_under_its_request() {
    let home = Home::new();
    let long = format!("\"{}\"", "too long ".repeat(10_000));
    let server = Server::start(vec![
        Reply::Fails(500, r#"{"message":"try later","hint":"a detail: sk-very-secret-key \u001b[2J"}"#),
        Reply::Cut("half a reply"),
        Reply::Fails(503, Box::leak(long.into_boxed_str())),
        Reply::Pieces(vec!["It's noon."]),
    ]);
    let agent =
        server.agent().replace("/v1\" }", "/v1\", key: \"${MY_KEY}\" }").replace("retries: 2", "retries: 3");
    home.write("agent.yaml", &agent);
    let mut run = home.command(["run", "agent.yaml", "-q", "What's the time?"]);
    let ran = crate::kit::end(run.env("MY_KEY", "sk-very-secret-key").output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    let show = |number: &str, more: &str| {
        let mut show = home.command(["runs", "show", "last", "--request", number]);
        show.args(more.split_whitespace()).env("MY_KEY", "sk-very-secret-key");
        let shown = crate::kit::end(show.output().unwrap());
        assert_eq!(shown.code, 0, "{shown:?}");
        assert!(!shown.stdout.contains("very-secret"), "{shown:?}");
        shown.stdout
    };
    let body = r#"{"error":{"message":"try later","hint":"a detail: *** \u001b[2J"}}"#;
    let value = json(&show("1", "--json"));
    assert_eq!(value["failed_reply"], serde_json::json!({ "text": body, "cut": false }));
    let plain = show("1", "");
    assert!(
        plain.ends_with(&format!("\n\nbody that the server sent, {} bytes:\n{body}\n", body.len())),
        "{plain}"
    );
    assert_eq!(plain.matches("a detail").count(), 1, "{plain}");
    let cut = json(&show("2", "--json"));
    let text = cut["failed_reply"]["text"].as_str().unwrap();
    assert!(text.starts_with("data: {") && text.contains("half a reply"), "{cut}");
    let long = json(&show("3", "--json"));
    let text = long["failed_reply"]["text"].as_str().unwrap();
    assert_eq!((text.len(), &long["failed_reply"]["cut"]), (65_536, &true.into()));
    assert!(
        show("3", "")
            .contains("\nbeginning of the body that the server sent, 65536 bytes:\n{\"error\":\"too long")
    );
    assert_eq!(json(&show("4", "--json"))["failed_reply"], Value::Null);
}

/// The line that names the event with the reply.
fn number_of(value: &Value) -> String {
    format!("event {}, {}:", value["reply"]["seq"], value["reply"]["event"].as_str().unwrap())
}

#[test]
fn a_case_is_written_from_a_run_and_passes() {
    let home = Home::new();
    let server = Server::start(vec![
        Reply::Calls(
            "count".to_owned(),
            vec![r#"{"path": "a.txt"}"#.to_owned(), r#"{"path": "b"}"#.to_owned()],
        ),
        Reply::Fails(503, r#"{"message":"try later"}"#),
        Reply::Call("calculate".to_owned(), r#"{"expression": "2 + 3"}"#.to_owned()),
        Reply::Pieces(vec!["3 words: \"so\" it's,\nand 5."]),
    ]);
    let tools = "tools: [ { builtin: [calculate] }, { command: { name: count, run: [wc, -w, \"{path}\"], description: Counts., \
                 effect: read_only, parameters: { type: object, properties: { path: { type: string } }, required: [path] } } } ]\n";
    home.write("agent.yaml", &format!("{}{tools}", server.agent()));
    home.write("a.txt", "one two three\n");
    let ran = home.windlass(["run", "agent.yaml", "-q", "How many words? Say \"so\"."]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let wrote = home.windlass(["test", "--from", "last", "-o", "recorded.test.yaml"]);
    assert_eq!(wrote.code, 0, "{wrote:?}");
    let case = home.read("recorded.test.yaml");
    assert!(case.contains("agent: \"./agent.yaml\"") && case.contains("\"status\":503"), "{case}");
    let tested = home.windlass(["test", "--crash", "recorded.test.yaml"]);
    assert_eq!(tested.code, 0, "{tested:?}\n{case}");
    assert!(tested.stdout.contains("1 passed, 0 failed"), "{tested:?}");
    // A changed run is found out.
    home.write("other.test.yaml", &case.replace("and 5.", "and 6.").replacen("and 6.", "and 5.", 1));
    assert_eq!(home.windlass(["test", "other.test.yaml"]).code, 1, "{case}");
    let again = home.windlass(["test", "--from", "last", "-o", "recorded.test.yaml"]);
    assert!(again.code == 1 && again.stderr.contains("cannot write"), "{again:?}");
}

#[test]
fn a_run_that_no_script_can_play_says_why() {
    let home = Home::new();
    home.write("agent.yaml", crate::kit::PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "--session", "s", "What is 2 + 3?"]).code, 0);
    assert_eq!(home.windlass(["run", "agent.yaml", "--session", "s", "What is 3 + 4?"]).code, 0);
    let refused = home.windlass(["test", "--from", "last"]);
    assert!(refused.code == 1 && refused.stderr.contains("it continues a session"), "{refused:?}");
}
