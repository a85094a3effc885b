//! Sessions as people use them: lists, whole conversations, and names that go wrong.

use serde_json::Value;

use crate::kit::{ASKING, End, Home, PLAIN, assert_end};
use crate::seat::Seat;

/// A home with two named conversations and a run without a name.
fn home() -> Home {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    home.write("other.yaml", &PLAIN.replace("name: plain", "name: other"));
    for (session, question) in
        [("trip", "What is 2 + 3?"), ("taxes", "What is 3 + 3?"), ("trip", "What is 4 + 3?")]
    {
        assert_eq!(home.windlass(["run", "agent.yaml", "--session", session, question]).code, 0);
    }
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 1 + 1?"]).code, 0);
    home
}

fn listed(end: &End) -> usize {
    end.stdout.lines().count()
}

#[test]
fn sessions_are_listed_by_name() {
    let home = home();
    assert_end!(home, home.windlass(["sessions", "list"]));
    assert_eq!(listed(&home.windlass(["sessions", "list", "--all"])), 4, "heads and three sessions");
    assert_eq!(listed(&home.windlass(["sessions", "list", "--json"])), 3);
    assert_eq!(listed(&home.windlass(["sessions", "list", "--limit", "1"])), 2);
    let none = Home::without_log().windlass(["sessions", "list"]);
    assert_eq!(
        (none.code, none.stdout.as_str(), none.stderr.as_str()),
        (0, "", "no sessions; `windlass chat --session NAME` begins one\n")
    );
}

#[test]
fn a_session_is_shown_run_by_run() {
    let home = home();
    assert_end!(home, home.windlass(["sessions", "show", "trip"]));
    let last = home.windlass(["sessions", "show", "trip", "--limit", "1"]).stdout;
    assert!(last.contains("(1 run before; `--limit` shows more)") && !last.contains("2 + 3"), "{last}");
    let lines: Vec<Value> = home
        .windlass(["sessions", "show", "trip", "--json"])
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let messages: Vec<usize> = lines.iter().map(|line| line["messages"].as_array().unwrap().len()).collect();
    assert_eq!(messages, [4, 4], "each run has its own");
    assert_eq!(lines[1]["text"], "4 + 3 is 7.");
}

#[test]
fn approvals_are_part_of_a_session() {
    let home = Home::new();
    home.write("agent.yaml", ASKING);
    assert_eq!(home.windlass(["run", "agent.yaml", "--session", "s", "What is 2 + 3?"]).code, 75);
    assert_eq!(home.windlass(["runs", "answer", "last", "q1", "approve"]).code, 0);
    let shown = home.windlass(["sessions", "show", "s"]).stdout;
    assert!(shown.contains("approved (q1, by a command)"), "{shown}");
}

#[test]
fn a_session_that_does_not_exist_is_said_with_the_nearest_one() {
    let home = home();
    assert_end!(home, home.windlass(["sessions", "show", "tirp"]));
    for command in ["events", "delete"] {
        let end = home.windlass(["sessions", command, "tirp"]);
        assert!(end.code == 1 && end.stderr.contains("hint: did you mean `trip`?"), "{end:?}");
    }
    let runs = home.windlass(["runs", "list", "--session", "tirp"]);
    assert!(runs.code == 0 && runs.stderr.contains("no runs; did you mean session `trip`?"), "{runs:?}");
    assert_end!(home, Home::without_log().windlass(["sessions", "show", "trip"]));
}

#[test]
fn a_new_session_is_said_to_be_new_with_the_nearest_one() {
    let home = home();
    assert_end!(home, home.windlass(["run", "agent.yaml", "--session", "tirp", "What is 2 + 3?"]));
    let far = home.windlass(["run", "agent.yaml", "--session", "quarterly", "What is 2 + 3?"]);
    assert!(far.stderr.contains("session `quarterly` is new\n"), "{far:?}");
    let known = home.windlass(["run", "agent.yaml", "--session", "trip", "What is 2 + 3?"]);
    assert!(!known.stderr.contains("is new"), "{known:?}");
    let empty = home.windlass(["run", "agent.yaml", "--session", "", "What is 2 + 3?"]);
    assert_end!(home, empty);
}

#[test]
fn another_agent_does_not_take_a_session_by_mistake() {
    let home = home();
    assert_end!(home, home.windlass(["run", "other.yaml", "--session", "trip", "What is 2 + 3?"]));
    assert_end!(home, home.windlass(["--session", "trip", "What is 2 + 3?"]));
    let chat = home.windlass_with(["chat", "other.yaml", "--session", "trip"], "What is 2 + 3?\n");
    assert!(chat.code == 2 && chat.stderr.contains("was led by agent `plain`"), "{chat:?}");
    assert_eq!(home.windlass(["runs", "list", "--session", "trip", "--json"]).stdout.lines().count(), 2);
    let args = ["run", "other.yaml", "--session", "trip", "--hand-over", "What is 2 + 3?"];
    assert_eq!(home.windlass(args).code, 0);
    let shown = home.windlass(["sessions", "show", "trip"]).stdout;
    assert!(shown.contains("agent    plain, then other"), "{shown}");
    // It is the other one's now.
    let back = home.windlass(["run", "agent.yaml", "--session", "trip", "What is 2 + 3?"]);
    assert!(back.code == 2 && back.stderr.contains("was led by agent `other`"), "{back:?}");
    // The built-in assistant leads sessions, too.
    assert_eq!(home.windlass(["--session", "asked", "What is 2 + 3?"]).code, 0);
    assert_end!(home, home.windlass(["run", "other.yaml", "--session", "asked", "What is 2 + 3?"]));
}

#[test]
fn at_a_terminal_a_session_that_goes_on_begins_with_a_recap() {
    let home = home();
    for args in [
        &["run", "agent.yaml", "--session", "trip", "What is 5 + 5?"][..],
        &["chat", "agent.yaml", "--session", "trip"],
    ] {
        let mut seat = Seat::start(&home, args);
        seat.expect("session `trip`: ");
        seat.expect("  you: What is 4 + 3?");
        seat.expect("  agent: 4 + 3 is 7.");
        if args[0] == "run" {
            seat.expect("5 + 5 is 10.");
            assert_eq!(seat.code(), 0);
            assert_eq!(home.windlass(["sessions", "delete", "trip", "--yes"]).code, 0);
            for question in ["What is 2 + 3?", "What is 4 + 3?"] {
                assert_eq!(home.windlass(["run", "agent.yaml", "--session", "trip", question]).code, 0);
            }
        } else {
            seat.expect("> ");
            seat.keys("/quit\r");
            assert_eq!(seat.code(), 0);
        }
    }
    let quiet = Seat::start(&home, &["run", "agent.yaml", "-q", "--session", "trip", "What is 5 + 5?"]);
    quiet.expect("5 + 5 is 10.");
    assert!(!quiet.seen().contains("session `trip`"), "{}", quiet.seen());
    assert_eq!(quiet.code(), 0);
}

#[test]
fn a_chat_without_a_file_is_one_with_the_default_agent() {
    let home = Home::new();
    let said = home.windlass_with(["chat", "-q", "--session", "s"], "What is 2 + 3?\n");
    assert_eq!((said.code, said.stdout.as_str()), (0, "2 + 3 is 5.\n"), "{said:?}");
    assert_eq!(home.last()["summary"]["agent"], "assistant");
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["agents", "default", "agent.yaml"]).code, 0);
    assert_eq!(home.windlass_with(["chat", "-q"], "What is 3 + 3?\n").stdout, "3 + 3 is 6.\n");
    assert_eq!(home.last()["summary"]["agent"], "plain");
}
