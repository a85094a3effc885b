//! Effects over kill -9: intents, tries, doubts, checks, and the key that stays the same.

use crate::kit::{Home, lines, until};
use crate::server::{Reply, Server};

/// A payment that leaves a receipt under its key, and whose check looks for it. It hangs after the effect until `go` is
/// there; with `early` it hangs before it.
const PAYING: &str = r#"
name: paying
model: tour
tools:
  - command:
      name: calculate
      run: [sh, -c, "echo $WINDLASS_IDEMPOTENCY_KEY >> keys; wait() { while [ ! -e go ]; do sleep 0.02; done; }; [ -e early ] && [ ! -e go ] && { wait; exit 1; }; echo 7 >> paid; wait; echo 7"]
      description: Works out a sum.
      parameters: { type: object, properties: { expression: { type: string } }, required: [expression] }
      effect: once
      check: [sh, -c, "echo $WINDLASS_IDEMPOTENCY_KEY >> keys; [ -e broken ] && exit 9; [ -e paid ] && cat paid"]
"#;

/// Kills a run of [`PAYING`] once its tool has begun (and paid, unless it is `early`).
fn killed(home: &Home, early: bool) {
    home.write("agent.yaml", PAYING);
    if early {
        home.write("early", "");
    }
    let mut child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    let begun = if early { "keys" } else { "paid" };
    until("the tool has begun", || lines(&home.path(begun)) == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    home.write("go", "");
}

fn ledger(home: &Home) -> serde_json::Value {
    let end = home.windlass(["runs", "effects", "last", "--json"]);
    assert_eq!((end.code, end.stdout.lines().count()), (0, 1), "{end:?}");
    serde_json::from_str(&end.stdout).unwrap()
}

#[test]
fn e30_a_check_that_finds_the_effect_settles_the_doubt() {
    let home = Home::new();
    killed(&home, false);
    let call = ledger(&home);
    assert_eq!((&call["attempts"], &call["ended"]), (&1.into(), &false.into()), "{call}");
    let end = home.windlass(["runs", "resume", "last"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{end:?}");
    assert_eq!(lines(&home.path("paid")), 1, "it was paid once");
    let call = ledger(&home);
    assert_eq!(call["effect"], "once");
    assert_eq!(call["doubts"][0]["settled"], "check: it had happened", "{call}");
    let keys = home.read("keys");
    assert!(keys.lines().all(|key| key == call["key"]), "the tool and its check have one key: {keys} {call}");
    assert_eq!(home.events("InputRequested"), 0, "nobody had to be asked");
    let shown = home.windlass(["runs", "effects", "--all"]);
    assert!(shown.stdout.contains("in doubt: the process died (check: it had happened)"), "{shown:?}");
}

#[test]
fn e30_a_check_that_finds_nothing_lets_it_run() {
    let home = Home::new();
    killed(&home, true);
    let end = home.windlass(["runs", "resume", "last"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{end:?}");
    assert_eq!(lines(&home.path("paid")), 1, "it was paid once");
    let call = ledger(&home);
    assert_eq!(call["attempts"], 2, "{call}");
    assert_eq!(call["doubts"][0]["settled"], "check: it had not happened", "{call}");
    let keys = home.read("keys");
    assert_eq!(keys.lines().count(), 3, "two tries and a check");
    assert!(keys.lines().all(|key| key == call["key"]), "{keys} {call}");
}

#[test]
fn e30_a_check_that_fails_leaves_it_to_a_person() {
    let home = Home::new();
    killed(&home, false);
    home.write("broken", "");
    let end = home.windlass(["runs", "resume", "last"]);
    assert_eq!(end.code, 75, "{end:?}");
    assert_eq!(ledger(&home)["doubts"][0]["settled"], serde_json::Value::Null);
    let end = home.windlass(["runs", "answer", "last", "q1", "result", "7"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{end:?}");
    assert_eq!(ledger(&home)["doubts"][0]["settled"], "a person gave its result");
    assert_eq!(lines(&home.path("paid")), 1, "it was paid once");
}

#[test]
fn e36_a_fork_has_the_effect_of_its_base_and_its_key() {
    let home = Home::new();
    killed(&home, false);
    let run = home.last()["run"].as_str().unwrap().to_owned();
    let key = ledger(&home)["key"].clone();
    // The base has not gone on yet: the fork is in doubt, and the check settles it, under the base's key.
    let end = home.windlass(["runs", "fork", &run, "--at", "3"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{end:?}");
    assert_eq!(ledger(&home)["key"], key);
    assert_eq!(home.windlass(["runs", "resume", &run]).code, 0);
    // Now it has ended there.
    let end = home.windlass(["runs", "fork", &run, "--at", "3"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{end:?}");
    let call = ledger(&home);
    assert_eq!((&call["attempts"], &call["key"]), (&0.into(), &key), "{call}");
    assert_eq!(lines(&home.path("paid")), 1, "it was paid once");
    let shown = home.windlass(["runs", "effects", "last"]).stdout;
    assert!(shown.contains("ended in the base run: 7"), "{shown}");
}

/// The object of type `run` among JSON lines.
fn run_of(stdout: &str) -> serde_json::Value {
    let mut values = stdout.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    values.rfind(|value| value["type"] == "run").unwrap()
}

#[test]
fn e30_a_lost_answer_is_told_with_how_it_was_lost() {
    let home = Home::new();
    home.write("agent.yaml", &PAYING.replace("echo 7 >> paid; wait; echo 7", "kill -9 $$"));
    home.write("go", "");
    let end = home.windlass(["run", "agent.yaml", "What is 2 + 5?"]);
    let told = "in doubt: the answer of calculate is lost, and it may have happened (failed";
    assert!(end.stderr.contains(told) && !end.stderr.contains("process died"), "{end:?}");
    let shown = home.windlass(["runs", "effects", "last"]);
    assert!(shown.stdout.contains("in doubt: failed") && !shown.stdout.contains("process died"), "{shown:?}");
}

#[test]
fn e54_what_a_run_did_is_part_of_its_result() {
    let home = Home::new();
    home.write("agent.yaml", PAYING);
    home.write("go", "");
    let end = home.windlass(["run", "agent.yaml", "What is 2 + 5?"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{end:?}");
    assert!(end.stderr.contains("1 effect: calculate 2 + 5\n"), "{end:?}");
    let end = home.windlass(["run", "agent.yaml", "--json", "What is 2 + 5?"]);
    let run = run_of(&end.stdout);
    let receipt = &run["receipts"][0];
    let effects = ledger(&home);
    assert_eq!((&receipt["tool"], &receipt["outcome"]), (&"calculate".into(), &"ok".into()), "{run}");
    assert_eq!((&receipt["call"], &receipt["key"]), (&effects["call"], &effects["key"]), "{run}");
    assert_eq!(receipt["args_sha256"].as_str().unwrap().len(), 64);
    assert_eq!(receipt["result_sha256"].as_str().unwrap().len(), 64);
    let shown = home.windlass(["runs", "show", "last", "--json"]);
    assert_eq!(run_of(&shown.stdout)["receipts"], run["receipts"]);
    let shown = home.windlass(["runs", "show", "last"]);
    assert!(shown.stdout.contains("did      1 effect: calculate 2 + 5\n"), "{shown:?}");
}

#[test]
fn e54_an_effect_that_the_death_of_its_process_left_open_is_marked() {
    let home = Home::new();
    killed(&home, false);
    let shown = home.windlass(["runs", "show", "last"]);
    assert!(shown.stdout.contains("1 effect: calculate 2 + 5 (not finished)"), "{shown:?}");
}

#[test]
fn e54_a_run_that_only_reads_has_no_receipts() {
    let home = Home::new();
    home.write("agent.yaml", "name: sums\nmodel: tour\ntools: [ { builtin: [calculate] } ]\n");
    let end = home.windlass(["run", "agent.yaml", "--json", "What is 2 + 5?"]);
    assert_eq!(run_of(&end.stdout)["receipts"], serde_json::json!([]), "{end:?}");
    assert!(!home.windlass(["run", "agent.yaml", "What is 2 + 5?"]).stderr.contains("effect"));
}

#[test]
fn issue_27_what_a_model_made_has_a_receipt_and_is_no_effect() {
    let home = Home::new();
    let made = r#"{"content": "A cat.", "images": [{"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlh"}}]}"#;
    let server = Server::start(vec![Reply::Delta(made)]);
    home.write("agent.yaml", &server.agent());
    let end = home.windlass(["run", "agent.yaml", "--json", "Draw a cat."]);
    let run = run_of(&end.stdout);
    let receipt = &run["receipts"][0];
    assert_eq!(
        (&receipt["result_from"], &receipt["tool"]),
        (&"provider".into(), &"image/gif".into()),
        "{run}"
    );
    assert_eq!(receipt["artifact"]["bytes"], 6, "{run}");
    assert_eq!(receipt["artifact"]["sha256"], receipt["result_sha256"], "{run}");
    let shown = home.windlass(["runs", "show", "last", "--json"]);
    assert_eq!(run_of(&shown.stdout)["receipts"], run["receipts"]);
    let shown = home.windlass(["runs", "show", "last"]);
    assert!(shown.stdout.contains("[image/gif]") && !shown.stdout.contains("effect"), "{shown:?}");
}

#[test]
fn e54_a_delegates_receipts_are_those_of_its_run() {
    let home = Home::new();
    home.write("paying.yaml", PAYING);
    home.write("go", "");
    home.write("lead.yaml", "name: lead\nloop: { preset: text }\nagents: [ ./paying.yaml ]\n");
    let asks = r#"["```delegate\n{\"agent\": \"paying\", \"task\": \"What is 2 + 5?\"}\n```", "It is 7."]"#;
    let end =
        home.command(["run", "lead.yaml", "--json", "2 + 5?"]).env("DEBUG_MOCK_RESPONSES", asks).output();
    let run = run_of(&String::from_utf8(end.unwrap().stdout).unwrap());
    let receipts = run["receipts"].as_array().unwrap();
    assert_eq!(receipts.len(), 1, "{run}");
    assert_eq!(receipts[0]["tool"], "calculate", "{run}");
    assert_ne!(receipts[0]["run"], run["run"], "the call is the child run's");
}
