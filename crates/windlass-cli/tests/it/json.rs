//! `--json`: every line of stdout is one JSON object.

use serde_json::Value;

use crate::kit::{Home, PLAIN};

fn values(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| match serde_json::from_str(line) {
            Ok(value @ Value::Object(_)) => value,
            other => panic!("{line}: {other:?}"),
        })
        .collect()
}

#[test]
fn a_run_as_json_lines() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let end = home.windlass(["run", "agent.yaml", "--json", "What is 2 + 3?"]);
    assert_eq!((end.code, end.stderr.as_str()), (0, ""), "{end:?}");
    let lines = values(&end.stdout);
    let said: String =
        lines.iter().filter(|line| line["type"] == "text").filter_map(|line| line["text"].as_str()).collect();
    assert_eq!(said, "2 + 3 is 5.");
    let numbers: Vec<u64> =
        lines.iter().filter(|line| line["type"] == "event").filter_map(|line| line["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["type"], &last["status"], &last["text"]),
        (&"run".into(), &"answered".into(), &"2 + 3 is 5.".into())
    );
}

#[test]
fn what_went_wrong_stands_in_the_last_line() {
    let home = Home::new();
    home.write("agent.yaml", &format!("{PLAIN}loop: {{ approve: [calculate] }}\n"));
    let end = home.windlass(["run", "agent.yaml", "--json", "What is 2 + 3?"]);
    assert_eq!(end.code, 75);
    let lines = values(&end.stdout);
    let last = lines.last().unwrap();
    assert_eq!(last["status"], "suspended");
    assert_eq!(last["failure"]["exit"], 75);
    assert_eq!(last["questions"][0]["id"], "q1");
}

#[test]
fn every_command_with_json_writes_objects() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    home.write(
        "test.yaml",
        "cases: [ { name: a, model: [ { text: hi } ], input: x }, { name: b, modle: [], input: x } ]",
    );
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    for args in [
        &["runs", "list", "--json"][..],
        &["runs", "show", "last", "--json", "-e"],
        &["runs", "watch", "last", "--json"],
        &["runs", "export", "last"],
        &["tools", "list", "agent.yaml", "--json"],
        &["tools", "call", "agent.yaml", "list_files", "--json"],
        &["agents", "check", "agent.yaml", "--json"],
        &["models", "list", "--json"],
        &["models", "list", "tour", "--json"],
        &["models", "check", "tour", "--json"],
        &["test", "test.yaml", "--json"],
        &["doctor", "--json"],
        &["init", "shop", "--json"],
    ] {
        let out = home.command(args).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        let empty = text.is_empty();
        let is_text = args.contains(&"call");
        assert!(!empty, "{args:?}");
        if is_text {
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{args:?}: {text}");
        } else {
            assert!(!values(&text).is_empty(), "{args:?}");
        }
    }
    let chat = home.windlass_with(["chat", "agent.yaml", "--json"], "What is 2 + 3?\n");
    assert_eq!(values(&chat.stdout).last().unwrap()["text"], "2 + 3 is 5.");
}
