//! `windlass run` more than once: batches, repetitions, given tools, and second messages.

use std::collections::BTreeSet;
use std::process::Stdio;

use crate::kit::{Home, PLAIN, end};

fn batch(home: &Home, more: &[&str]) -> (i32, Vec<serde_json::Value>, String) {
    let mut command = home.command(["run", "agent.yaml", "--batch", "queries.txt", "--json"]);
    let end = end(command.args(more).output().unwrap());
    let lines = end.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    (end.code, lines.collect(), end.stderr)
}

fn of_type<'v>(values: &'v [serde_json::Value], kind: &str) -> Vec<&'v serde_json::Value> {
    values.iter().filter(|value| value["type"] == kind).collect()
}

#[test]
fn s25_a_batch_runs_each_query_once_and_goes_on_where_it_was() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    home.write("queries.txt", "What is 2 + 3?\n\nWhat is 4 + 4?\n");
    let (code, values, stderr) = batch(&home, &["--batch-id", "b"]);
    assert_eq!(code, 0, "{stderr}");
    let queries = of_type(&values, "query");
    assert_eq!(queries.len(), 2);
    assert_eq!((&queries[0]["query"], &queries[0]["text"]), (&"1".into(), &"2 + 3 is 5.".into()));
    assert_eq!((&queries[1]["query"], &queries[1]["text"]), (&"3".into(), &"4 + 4 is 8.".into()));
    assert_eq!(of_type(&values, "batch")[0]["answered"], 2);
    home.write("queries.txt", "What is 2 + 3?\n\nWhat is 4 + 4?\nWhat is 1 + 1?\n");
    let (code, values, stderr) = batch(&home, &["--batch-id", "b"]);
    assert_eq!(code, 0, "{stderr}");
    let before: Vec<_> = of_type(&values, "query").iter().map(|query| query["before"].clone()).collect();
    assert_eq!(before, [true, true, false], "the first two do not run twice");
    assert_eq!(home.windlass(["runs", "list", "--json"]).stdout.lines().count(), 3);
}

#[test]
fn s25_a_killed_batch_resumes_the_query_that_it_was_at() {
    let home = Home::new();
    let tool = "tools:\n  - command: { name: calculate, run: [sh, -c, \"echo x >> begun; while [ ! -e go ]; do sleep 0.02; done; echo 5\"], description: Sums., parameters: { type: object, properties: { expression: { type: string } }, required: [expression] }, effect: idempotent }\n";
    home.write("agent.yaml", &format!("name: slow\nmodel: tour\n{tool}"));
    home.write("queries.txt", "What is 2 + 3?\nWhat is 2 + 3?\n");
    let args = ["run", "agent.yaml", "--batch", "queries.txt", "--batch-id", "b"];
    let mut child = home.start(args);
    crate::kit::until("the first query runs", || home.path("begun").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    home.write("go", "");
    let (code, values, stderr) = batch(&home, &["--batch-id", "b"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(of_type(&values, "query").len(), 2, "{values:?}");
    assert_eq!(home.windlass(["runs", "list", "--json"]).stdout.lines().count(), 2, "resumed, not run anew");
}

/// Three processes share the queries of one batch: each is claimed in the log before it begins.
#[test]
fn s25_several_processes_run_each_query_of_a_batch_once() {
    let home = Home::new();
    let tool = "tools:\n  - command: { name: calculate, run: [sh, -c, \"echo x >> begun; while [ ! -e go ]; do sleep 0.02; done; echo 5\"], description: Sums., parameters: { type: object, properties: { expression: { type: string } }, required: [expression] }, effect: once }\n";
    home.write("agent.yaml", &format!("name: slow\nmodel: tour\n{tool}"));
    home.write("queries.txt", &"What is 2 + 3?\n".repeat(6));
    let args = ["run", "agent.yaml", "--batch", "queries.txt", "--json"];
    let all: Vec<_> = (0..3)
        .map(|_| {
            let mut command = home.command(args);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let begun = || std::fs::read_to_string(home.path("begun")).unwrap_or_default().lines().count();
    crate::kit::until("each process runs a query", || begun() >= 3);
    home.write("go", "");
    for child in all {
        let end = end(child.wait_with_output().unwrap());
        assert_eq!(end.code, 0, "{end:?}");
        let values: Vec<serde_json::Value> =
            end.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let keys: BTreeSet<_> =
            of_type(&values, "query").iter().map(|query| query["query"].to_string()).collect();
        assert_eq!(keys.len(), 6, "each tells of all queries: {values:?}");
        assert_eq!(of_type(&values, "batch")[0]["answered"], 6, "{values:?}");
    }
    assert_eq!(begun(), 6, "no effect came twice");
    assert_eq!(home.windlass(["runs", "list", "--json"]).stdout.lines().count(), 6);
}

#[test]
fn s25_a_batch_with_another_query_in_the_same_place_is_refused() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    home.write("queries.txt", "What is 2 + 3?\nWhat is 4 + 4?\n");
    assert_eq!(batch(&home, &["--batch-id", "b"]).0, 0);
    home.write("queries.txt", "What is 1 + 1?\nWhat is 2 + 3?\nWhat is 4 + 4?\n");
    let (code, values, stderr) = batch(&home, &["--batch-id", "b"]);
    assert_eq!((code, values.len()), (2, 0), "{stderr}");
    assert!(
        stderr.contains("batch b has another query 1: it was `What is 2 + 3?`, and is `What is 1 + 1?` now"),
        "{stderr}"
    );
    assert_eq!(home.windlass(["runs", "list", "--json"]).stdout.lines().count(), 2);
}

#[test]
fn s25_a_batch_of_another_agent_is_refused() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    home.write("queries.txt", "What is 2 + 3?\n");
    assert_eq!(batch(&home, &["--batch-id", "b"]).0, 0);
    home.write("agent.yaml", &PLAIN.replacen("name: ", "name: other-", 1));
    let (code, values, stderr) = batch(&home, &["--batch-id", "b"]);
    assert_eq!((code, values.len()), (2, 0), "{stderr}");
    assert!(stderr.contains("batch b is one of the agent `"), "{stderr}");
    assert_eq!(home.windlass(["runs", "list", "--json"]).stdout.lines().count(), 1);
}

#[test]
fn s25_a_query_that_fails_stops_no_other_and_the_exit_code_tells() {
    let home = Home::new();
    home.write("agent.yaml", &format!("{PLAIN}loop: {{ limits: {{ model_calls: 1 }}, at_limit: fail }}\n"));
    home.write("queries.txt", "What is 2 + 3?\nhello\n");
    let (code, values, stderr) = batch(&home, &["--batch-id", "b"]);
    assert_eq!(code, 1, "{stderr}");
    let statuses: Vec<_> = of_type(&values, "query").iter().map(|query| query["status"].clone()).collect();
    assert_eq!(statuses, ["limit(model_calls)", "answered"]);
    assert!(stderr.contains("batch b: 2 queries, 1 answered, 1 failed"), "{stderr}");
    let bad = home.windlass(["run", "agent.yaml", "--batch", "missing.txt"]);
    assert_eq!(bad.code, 65, "{bad:?}");
    let wait = home.windlass(["run", "agent.yaml", "--batch", "queries.txt", "--wait-min", "-1"]);
    assert_eq!(wait.code, 2, "{wait:?}");
}

#[test]
fn p34_a_repetition_ends_at_its_bound_or_its_pattern() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let end = home.windlass(["run", "agent.yaml", "--repeat", "2", "--json", "What is 2 + 3?"]);
    let values: Vec<serde_json::Value> =
        end.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = of_type(&values, "repeat")[0].clone();
    assert_eq!((&last["_stopped"], &last["_iterations"]), (&"max_iters".into(), &2.into()), "{end:?}");
    let end = home.windlass(["run", "agent.yaml", "--repeat", "5", "--until", "*is 5*", "What is 2 + 3?"]);
    assert!(end.stderr.contains("stopped after 1 run: until"), "{end:?}");
    assert_eq!(home.windlass(["run", "agent.yaml", "--repeat", "0", "x"]).code, 2, "the bound is at least 1");
}

#[test]
fn p28_a_run_may_be_given_some_tools() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let none = home.windlass(["run", "agent.yaml", "--only-tools", "", "What is 2 + 3?"]);
    assert!(none.code == 0 && !none.stdout.contains("is 5"), "{none:?}");
    let some = home.windlass(["run", "agent.yaml", "--only-tools", "calc*", "What is 2 + 3?"]);
    assert_eq!(some.stdout, "2 + 3 is 5.\n", "{some:?}");
    let unknown = home.windlass(["run", "agent.yaml", "--only-tools", "calculat", "x"]);
    assert!(unknown.code != 0 && unknown.stderr.contains("did you mean calculate?"), "{unknown:?}");
}

#[test]
fn e61_a_queued_message_survives_its_process() {
    let home = Home::new();
    home.write("agent.yaml", &format!("{PLAIN}loop: {{ approve: [calculate], while_running: queue }}\n"));
    assert_eq!(home.windlass(["run", "agent.yaml", "--session", "s", "What is 2 + 3?"]).code, 75);
    let mut waits = home.start(["run", "agent.yaml", "--session", "s", "hello"]);
    let log = rusqlite::Connection::open(home.path("home/log.db")).unwrap();
    crate::kit::until("the message is in the log", || {
        log.query_row("SELECT count(*) FROM inbox", [], |row| row.get::<_, i64>(0)).unwrap() == 1
    });
    assert_eq!(home.windlass(["runs", "answer", "--leave", "last", "q1", "approve"]).code, 0);
    waits.kill().unwrap();
    waits.wait().unwrap();
    assert_eq!(home.windlass(["runs", "resume", "last"]).code, 0);
    let pruned = home.windlass(["runs", "prune", "--older-than", "0s", "--yes"]);
    assert!(pruned.stderr.contains("1 run kept: a message to the session waits there"), "{pruned:?}");
    assert!(!pruned.stderr.contains("based on them"), "{pruned:?}");
    assert_eq!(home.windlass(["run", "agent.yaml", "--session", "s", "bye"]).code, 0);
}

#[test]
fn p25_p38_s23_reports_of_a_run() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let json = |args: &[&str]| {
        let end = end(home.command(args).output().unwrap());
        assert_eq!(end.code, 0, "{end:?}");
        end.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<serde_json::Value>>()
    };
    let metadata = json(&["runs", "show", "last", "--metadata"]).remove(0);
    assert_eq!((&metadata["final_answer"], &metadata["total_steps"]), (&"2 + 3 is 5.".into(), &1.into()));
    let summary = json(&["runs", "show", "last", "--metadata", "--summary"]).remove(0);
    assert!(summary.get("final_answer").is_none(), "{summary}");
    let lines = json(&["runs", "export", "last", "--as", "jsonl"]);
    assert_eq!((&lines[0]["seq"], &lines[0]["event"]), (&1.into(), &"RunStarted".into()));
    let session = json(&["runs", "export", "last", "--as", "session10"]).remove(0);
    assert_eq!(session["plan_versions"][0]["steps"][0]["code"]["tool_name"], "calculate");
    let stats = json(&["runs", "stats", "--json", "--csv", "reports"]).remove(0);
    assert_eq!((&stats["runs"], &stats["tools"][0]["reliability"]), (&1.into(), &"reliable".into()));
    assert!(home.read("reports/tool_performance.csv").starts_with("Test_Id,Query_Id,"));
    assert!(home.read("reports/query_text.csv").starts_with("Query_Id,Query_Name,"));
    let plain = home.windlass(["runs", "stats"]);
    assert!(plain.stdout.contains("tool calculate: 1 call, 1 succeeded"), "{plain:?}");
}
