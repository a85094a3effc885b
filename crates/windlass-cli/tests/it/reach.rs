//! Reaching a run from another process: watch, steer, cancel, export.

use crate::kit::{BOTH, Home, PLAIN, SLOW, finish, lines, until};

#[test]
fn a_run_is_watched_live_from_any_position() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let run = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    let (plain, json) = (
        home.start(["runs", "watch", "last"]),
        home.start(["runs", "watch", "last", "--json", "--from", "3"]),
    );
    home.write("go", "");
    assert_eq!(finish(run).code, 0);
    let plain = finish(plain);
    assert_eq!((plain.code, plain.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{plain:?}");
    let json = finish(json).stdout;
    let numbers: Vec<u64> = json
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"].as_u64().unwrap())
        .collect();
    let events = home.last()["events"].as_array().unwrap().len() as u64;
    assert_eq!(numbers, (3..=events).collect::<Vec<_>>(), "no gap and no repeat");
}

#[test]
fn e21_a_message_from_another_process_enters_at_the_next_turn() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let run = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    let end = home.windlass(["runs", "steer", "last", "which", "files", "are", "here?"]);
    assert_eq!(end.code, 0, "{end:?}");
    until("it has come in", || home.events("Steered") == 1);
    home.write("go", "");
    let end = finish(run);
    assert!(end.stdout.contains("notes.txt"), "{end:?}");
    assert_eq!(home.events("Steered"), 1);
}

#[test]
fn e19_a_run_is_cancelled_from_another_process_which_waits_for_its_end() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let run = home.start(["run", "agent.yaml", BOTH]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    let end = home.windlass(["runs", "cancel", "last"]);
    assert_eq!(end.code, 0, "{end:?}");
    assert_eq!(home.last()["status"], "cancelled", "it has ended when the command returns");
    assert_eq!(finish(run).code, 130);
}

#[test]
fn a_run_that_was_killed_can_be_cancelled() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let mut run = home.start(["run", "agent.yaml", BOTH]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    until("the list is finished", || home.events("CallFinished") == 1);
    run.kill().unwrap();
    run.wait().unwrap();
    let end = home.windlass(["runs", "cancel", "last"]);
    assert_eq!(end.code, 0, "{end:?}");
    assert_eq!(home.last()["status"], "cancelled");
    assert_eq!(lines(&home.path("sums")), 1, "nothing is begun to be stopped");
    let last = home.last();
    let interrupted = last["events"].as_array().unwrap().iter().any(|event| {
        event["event"] == "CallFinished" && event["data"]["outcome"]["outcome"] == "interrupted"
    });
    assert!(interrupted, "{last}");
    home.write("go", "");
}

#[test]
fn an_export_holds_every_event_of_a_run_and_of_its_bases() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "--session", "s", "What is 2 + 3?"]).code, 0);
    let first = home.last();
    assert_eq!(home.windlass(["run", "agent.yaml", "--session", "s", "What is 4 + 3?"]).code, 0);
    let second = home.last();
    let export = home.windlass(["runs", "export", "last"]);
    let lines: Vec<serde_json::Value> =
        export.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let heads: Vec<&serde_json::Value> =
        lines.iter().filter(|line| line["type"] == "run").map(|line| &line["run"]).collect();
    assert_eq!(heads, [&first["run"], &second["run"]], "what it is based on comes first");
    let events = lines.iter().filter(|line| line["type"] == "event").count();
    let expected = first["events"].as_array().unwrap().len() + second["events"].as_array().unwrap().len();
    assert_eq!(events, expected);
}

#[test]
fn a_run_is_named_by_the_beginning_of_its_id() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let id = home.last()["run"].as_str().unwrap().to_owned();
    for word in [id.clone(), id.replace('-', ""), id[..13].to_owned(), id[..6].to_uppercase()] {
        let end = home.windlass(["runs", "show", &word, "--json"]);
        assert_eq!(end.code, 0, "{word}: {end:?}");
    }
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let several = home.windlass(["runs", "show", &id[..6]]);
    assert_eq!(several.code, 1, "{several:?}");
    assert!(
        several.stderr.contains("2 run ids begin or end with") && several.stderr.contains(&id),
        "{several:?}"
    );
}
