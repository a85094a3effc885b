//! Replaying and forking runs of the real binary.

use crate::kit::{BOTH, Home, PLAIN, SLOW, assert_end, lines};

/// The number of the first event of that kind of the newest run.
fn event(home: &Home, kind: &str) -> String {
    let last = home.last();
    let events = last["events"].as_array().unwrap();
    events.iter().find(|event| event["event"] == kind).unwrap()["seq"].to_string()
}

#[test]
fn a_run_replays_to_the_same_events() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    assert_end!(home, home.windlass(["runs", "replay", "last"]));
    let json = home.windlass(["runs", "replay", "last", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json.code, &value["same"]), (0, &true.into()), "{json:?}");
}

#[test]
fn with_another_agent_the_first_event_that_differs_is_named() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    home.write("careful.yaml", &format!("{PLAIN}loop: {{ approve: [calculate] }}\n"));
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    assert_eq!(home.windlass(["runs", "replay", "last", "--agent", "agent.yaml"]).code, 0);
    assert_end!(home, home.windlass(["runs", "replay", "last", "--agent", "careful.yaml"]));
    let json = home.windlass(["runs", "replay", "last", "--agent", "careful.yaml", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json.code, 1, "{json:?}");
    assert_eq!(value["difference"]["expected"]["event"], "CallStarted", "{json:?}");
    assert_eq!(value["difference"]["found"]["event"], "CallHeld", "{json:?}");
}

#[test]
fn e36_a_fork_does_nothing_again_and_says_what_it_saved() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    home.write("go", "");
    assert_eq!(home.windlass(["run", "agent.yaml", BOTH]).code, 0);
    let (run, answer) = (home.id(), home.last()["text"].clone());
    let started = event(&home, "CallStarted");
    let fork = home.windlass(["runs", "fork", &run, "--at", &started]);
    assert_end!(home, fork);
    assert_eq!(home.last()["text"], answer);
    assert_eq!((lines(&home.path("sums")), lines(&home.path("lists"))), (1, 1));
    let last = home.last();
    assert_eq!(last["base"]["run"], run.as_str(), "{last}");
    assert_eq!(last["base"]["version"].to_string(), started);
    assert_eq!(home.windlass(["runs", "replay", "last"]).code, 0);
}

#[test]
fn a_fork_with_a_changed_agent_follows_it_from_there_on() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    home.write("careful.yaml", &format!("{PLAIN}loop: {{ approve: [calculate] }}\n"));
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let (run, turn) = (home.id(), event(&home, "TurnStarted"));
    let end = home.windlass(["runs", "fork", &run, "--at", &turn, "--with", "careful.yaml"]);
    assert_eq!(end.code, 75, "{end:?}");
    let end = home.windlass(["runs", "answer", "last", "q1", "approve"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 3 is 5.\n"), "{end:?}");
}

#[test]
fn a_fork_after_the_end_begins_anew_with_an_input() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let (run, end) = (home.id(), event(&home, "RunEnded"));
    assert_end!(home, home.windlass(["runs", "fork", &run, "--at", &end]));
    let again = home.windlass(["runs", "fork", &run, "--at", &end, "What is 4 + 4?"]);
    assert_eq!((again.code, again.stdout.as_str()), (0, "4 + 4 is 8.\n"), "{again:?}");
    assert_end!(home, home.windlass(["runs", "fork", &run, "--at", "99"]));
}
