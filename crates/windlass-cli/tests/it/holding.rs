//! Who may go on with a run: holders that died, sleep, or live; and runs that wait.

use std::process::{Child, Command};

use crate::kit::{ASKING, BOTH, Home, PLAIN, SLOW, finish, lines, until};

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

fn status(home: &Home, run: &str) -> String {
    let shown = home.windlass(["runs", "show", run, "--json"]).stdout;
    let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
    value["status"].as_str().unwrap().to_owned()
}

#[test]
fn l30_e25_resume_all_goes_on_with_what_can_and_names_the_others() {
    let home = Home::new();
    home.write("slow.yaml", SLOW);
    home.write("asking.yaml", ASKING);
    // One whose process died, one whose answer was left, one that nobody has answered, and one that is on.
    let mut dead = home.start(["run", "slow.yaml", BOTH]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    until("the list is finished", || home.events("CallFinished") == 1);
    dead.kill().unwrap();
    dead.wait().unwrap();
    let died = home.id();
    assert_eq!(home.windlass(["run", "asking.yaml", "What is 2 + 3?"]).code, 75);
    let answered = home.id();
    assert_eq!(home.windlass(["runs", "answer", "--leave", &answered, "q1", "approve"]).code, 0);
    assert_eq!(home.windlass(["run", "asking.yaml", "What is 4 + 4?"]).code, 75);
    let waiting = home.id();
    std::fs::remove_file(home.path("sums")).unwrap();
    let live = home.start(["run", "slow.yaml", "What is 2 + 5?"]);
    until("the other sum has begun", || lines(&home.path("sums")) == 1);
    let on = home.id();
    let all = home.start(["runs", "resume", "--all", "--json"]);
    until("the lost sum runs again", || lines(&home.path("sums")) == 2);
    home.write("go", "");
    let end = finish(all);
    assert_eq!(end.code, 0, "{end:?}");
    assert_eq!(end.stdout.lines().count(), 3, "who only waits is not named: {end:?}");
    let said = |run: &str| {
        let line = end.stdout.lines().find(|line| line.contains(run)).unwrap();
        serde_json::from_str::<serde_json::Value>(line).unwrap()
    };
    assert_eq!((&said(&died)["resumed"], &said(&died)["status"]), (&true.into(), &"answered".into()));
    assert_eq!(said(&answered)["status"], "answered");
    assert_eq!(said(&on)["resumed"], false);
    let holder = said(&on)["status"].as_str().unwrap().to_owned();
    assert!(holder.starts_with(&format!("held by pid {}", live.id())), "{holder}");
    assert_eq!(finish(live).code, 0);
    assert_eq!(status(&home, &waiting), "suspended");
    assert_eq!(lines(&home.path("lists")), 1, "a finished call never runs twice");
    assert_eq!(home.windlass(["runs", "resume", "--all"]).stdout, "", "nothing is left to do");
}

#[test]
fn e22_a_parked_run_is_due_when_its_deadline_is() {
    let home = Home::new();
    home.write("asking.yaml", &ASKING.replace("approve:", "limits: { seconds: 1 }, approve:"));
    assert_eq!(home.windlass(["run", "asking.yaml", "What is 2 + 3?"]).code, 75);
    let run = home.id();
    until("it is due", || home.windlass(["runs", "resume", "--all"]).stdout.contains("limit(seconds)"));
    assert_eq!(status(&home, &run), "limit(seconds)");
}

#[test]
fn e25_who_waits_goes_on_with_answers_timers_and_runs_of_the_dead() {
    let home = Home::new();
    home.write("asking.yaml", ASKING);
    home.write("timed.yaml", &ASKING.replace("approve:", "limits: { seconds: 1 }, approve:"));
    home.write("slow.yaml", SLOW);
    assert_eq!(home.windlass(["run", "asking.yaml", "What is 2 + 3?"]).code, 75);
    let answered = home.id();
    let waiter = home.start(["runs", "resume", "--all", "--wait"]);
    assert_eq!(home.windlass(["run", "timed.yaml", "What is 4 + 4?"]).code, 75);
    let timed = home.id();
    until("the deadline has come", || status(&home, &timed) == "limit(seconds)");
    assert_eq!(home.windlass(["runs", "answer", "--leave", &answered, "q1", "approve"]).code, 0);
    until("the answer was taken", || status(&home, &answered) == "answered");
    let mut dead = home.start(["run", "slow.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    dead.kill().unwrap();
    dead.wait().unwrap();
    let died = home.id();
    home.write("go", "");
    until("the run of the dead has ended", || status(&home, &died) == "answered");
    signal(&waiter, "INT");
    let end = finish(waiter);
    assert_eq!(end.code, 130, "{end:?}");
    let waits =
        "waiting for answers to 1 suspended run, for the time of 0 runs, and for runs of dead processes\n";
    assert!(end.stderr.starts_with(waits), "{end:?}");
    for run in [&answered, &timed, &died] {
        assert_eq!(end.stdout.matches(run.as_str()).count(), 1, "said once each: {end:?}");
    }
}

#[test]
fn a_run_that_cannot_be_taken_over_says_why_and_the_others_go_on() {
    let home = Home::new();
    // The log keeps no file with a secret in it.
    let secret = "tools: [ { builtin: [calculate] }, { command: { name: c, description: d, run: [cat], env: { API_TOKEN: sk-literal-1 } } } ]";
    home.write("agent.yaml", &ASKING.replace("tools: [ { builtin: [calculate] } ]", secret));
    for _ in 0..2 {
        assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 75);
        assert_eq!(home.windlass(["runs", "answer", "--leave", "last", "q1", "approve"]).code, 0);
    }
    home.write("agent.yaml", &ASKING.replace("name: asking", "name: asking\ninstructions: Be brief."));
    let end = home.windlass(["runs", "resume", "--all"]);
    assert_eq!(end.code, 1, "{end:?}");
    assert_eq!(end.stdout.matches("not resumed").count(), 2, "{end:?}");
    assert!(end.stderr.contains("--with ") && end.stderr.contains("agent.yaml`"), "{end:?}");
    home.write("plain.yaml", PLAIN);
    let help = home.windlass(["runs", "resume", "--all", "--with", "plain.yaml"]);
    assert_eq!(help.code, 2, "each run goes on with its own agent: {help:?}");
}

#[test]
fn e32_a_holder_that_sleeps_keeps_its_run_and_goes_on_when_it_wakes() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let sleeper = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    signal(&sleeper, "STOP");
    home.write("go", "");
    let other = home.windlass(["runs", "resume", "last"]);
    assert_eq!(other.code, 1, "{other:?}");
    assert!(other.stderr.contains(&format!("is held by pid {}", sleeper.id())), "{other:?}");
    signal(&sleeper, "CONT");
    let end = finish(sleeper);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{end:?}");
}

#[test]
fn a_cancel_that_a_stopped_holder_does_not_hear_ends_with_an_error_that_names_it() {
    let home = Home::new();
    home.write("agent.yaml", &format!("{SLOW}loop: {{ grace_ms: 0 }}\n"));
    let sleeper = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    signal(&sleeper, "STOP");
    let end = home.windlass(["runs", "cancel", "last"]);
    let pid = sleeper.id();
    assert_eq!(end.code, 1, "{end:?}");
    assert!(end.stderr.contains(&format!("has not ended yet: pid {pid} ")), "{end:?}");
    assert!(end.stderr.contains(&format!("`kill -CONT {pid}`")), "{end:?}");
    assert!(end.stderr.contains(&format!("`kill -9 {pid}`")), "{end:?}");
    signal(&sleeper, "CONT");
    assert_eq!(finish(sleeper).code, 130, "the wish to stop was kept");
}

/// A holder on another machine counts as dead when its heartbeat stops. Here the line of a sleeping one is changed to say so.
#[test]
fn e32_a_holder_that_lost_its_run_while_it_slept_cannot_append() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let sleeper = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    signal(&sleeper, "STOP");
    let log = rusqlite::Connection::open(home.path("home/log.db")).unwrap();
    log.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
    let pid = i64::from(sleeper.id());
    let changed =
        log.execute("UPDATE holders SET host = 'elsewhere', heartbeat_at = 0 WHERE pid = ?1", [pid]);
    // One line for the leases on its runs, one for the payloads that it has just stored.
    assert_eq!(changed.unwrap(), 2);
    let thief = home.start(["runs", "resume", "last"]);
    until("the other process has taken over", || home.events("RunResumed") == 1);
    home.write("go", "");
    let taken = finish(thief);
    assert_eq!((taken.code, taken.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{taken:?}");
    let events = home.last()["summary"]["events"].clone();
    signal(&sleeper, "CONT");
    let woken = finish(sleeper);
    assert_ne!(woken.code, 0, "{woken:?}");
    assert_eq!(home.last()["summary"]["events"], events, "nothing was appended by the one that slept");
    assert_eq!(home.windlass(["runs", "replay", "last"]).code, 0);
    assert!(woken.stderr.contains("error:"), "{woken:?}");
}
