//! `windlass sessions`: KAOS' bounded memory as a view of the log.

use serde_json::Value;

use crate::kit::{End, Home, end};

const KAOS: &str =
    "name: x\nmodel: tour\nloop: { preset: text, memory: { max_sessions: 2, max_session_events: 3 } }\n";

fn say(home: &Home, session: &str) -> End {
    let mut command = home.command(["run", "agent.yaml", "-q", "--session", session, "hi"]);
    end(command.env("DEBUG_MOCK_RESPONSES", r#"["hello"]"#).output().unwrap())
}

fn lines(end: &End) -> Vec<Value> {
    end.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn listed(home: &Home, all: bool) -> Vec<String> {
    let list = if all {
        home.windlass(["sessions", "list", "--json", "--all"])
    } else {
        home.windlass(["sessions", "list", "--json"])
    };
    lines(&list).iter().map(|line| line["session_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn k25_what_drops_out_of_the_view_is_whole_in_the_log() {
    let home = Home::new();
    home.write("agent.yaml", KAOS);
    for session in ["a", "b", "c"] {
        assert_eq!(say(&home, session).code, 0);
    }
    assert_eq!(listed(&home, false), ["c", "b"]);
    assert_eq!(listed(&home, true), ["c", "b", "a"]);
    let list = home.windlass(["sessions", "list"]);
    assert!(list.stderr.contains("1 older session beyond `memory.max_sessions`"), "{list:?}");
    // It goes on with all its history, and is shown again.
    assert_eq!(say(&home, "a").code, 0);
    assert_eq!(listed(&home, false), ["a", "c"]);
    assert_eq!(home.last()["messages"].as_array().unwrap().len(), 4);
    let events = lines(&home.windlass(["sessions", "events", "a", "--json"]));
    let kinds: Vec<_> = events.iter().map(|event| event["event_type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["agent_response", "user_message", "agent_response"], "the last three of four");
    let stats = lines(&home.windlass(["sessions", "stats", "--json"])).remove(0);
    assert_eq!(stats["total_sessions"], 2);
    assert_eq!(stats["total_events"], 5);
    assert_eq!(stats["avg_events_per_session"], 2);
    assert_eq!(stats["dropped_sessions"], 1);
}

#[test]
fn k25_a_session_is_deleted_but_no_run_that_another_one_stands_on() {
    let home = Home::new();
    home.write("agent.yaml", KAOS);
    for session in ["a", "b"] {
        assert_eq!(say(&home, session).code, 0);
    }
    let run = home.id();
    let fork = home
        .command(["runs", "fork", &run, "--at", "1", "-q"])
        .env("DEBUG_MOCK_RESPONSES", r#"["hello"]"#)
        .output()
        .unwrap();
    let fork = end(fork);
    assert_eq!(fork.code, 0, "{fork:?}");
    let would = home.windlass(["sessions", "delete", "a", "--dry-run"]);
    assert_eq!((would.code, would.stdout.as_str()), (0, "a\n"), "{would:?}");
    assert_eq!(listed(&home, true).len(), 2, "looking changes nothing");
    assert!(home.windlass(["sessions", "delete", "a", "--yes"]).stderr.contains("1 session: 1 run deleted"));
    let kept = home.windlass(["sessions", "delete", "b", "--yes"]);
    assert!(kept.stderr.contains("0 runs deleted") && kept.stderr.contains("1 run kept"), "{kept:?}");
    let none = home.windlass(["sessions", "delete", "a"]);
    assert!(none.code == 1 && none.stderr.contains("there is no session `a`"), "{none:?}");
    let old = home.windlass(["sessions", "delete", "--older-than", "1h", "--yes", "--json"]);
    assert_eq!(lines(&old)[0]["sessions"], 0, "{old:?}");
    let left = home.windlass(["runs", "prune", "--older-than", "0s", "--yes"]);
    assert!(left.stderr.contains("2 runs deleted"), "with the fork it goes: {left:?}");
}

#[test]
fn k25_without_a_memory_there_is_no_session() {
    let home = Home::new();
    home.write("agent.yaml", "name: x\nmodel: tour\nloop: { preset: text, memory: off }\n");
    for _ in 0..2 {
        let mut command = home.command(["run", "agent.yaml", "--session", "a", "hi"]);
        let end = end(command.env("DEBUG_MOCK_RESPONSES", r#"["hello"]"#).output().unwrap());
        assert!(end.code == 0 && end.stderr.contains("null-session"), "{end:?}");
    }
    assert_eq!(home.last()["messages"].as_array().unwrap().len(), 2, "nothing of the first run");
    assert_eq!(listed(&home, true), [""; 0]);
    let mut command = home.command(["run", "--from-env", "hi", "--session", "s"]);
    command.env("AGENT_NAME", "x").env("MEMORY_ENABLED", "false").env("DEBUG_MOCK_RESPONSES", r#"["hello"]"#);
    assert!(end(command.output().unwrap()).stderr.contains("null-session"));
}
