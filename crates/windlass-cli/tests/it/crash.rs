//! Kill -9, and two processes that want one run.

use crate::kit::{BOTH, Home, SLOW, finish, lines, until};

#[test]
fn e30_after_kill_9_only_the_unfinished_call_runs_again() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let mut child = home.start(["run", "agent.yaml", BOTH]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    until("the list is finished", || home.events("CallFinished") == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let list = home.windlass(["runs", "list"]).stdout;
    assert!(list.contains("interrupted"), "{list}");
    home.write("go", "");
    let end = home.windlass(["runs", "resume", "last"]);
    assert_eq!(end.code, 0, "{end:?}");
    assert!(end.stdout.contains('7') && end.stdout.contains("notes.txt"), "{end:?}");
    assert_eq!(lines(&home.path("sums")), 2, "read_only: it runs again, once");
    assert_eq!(lines(&home.path("lists")), 1, "a finished call never runs twice");
    assert_eq!(home.events("RunResumed"), 1);
}

#[test]
fn e30_a_call_with_an_effect_is_asked_about() {
    let home = Home::new();
    home.write("agent.yaml", &SLOW.replacen("effect: read_only", "effect: once", 1));
    let mut child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let end = home.windlass(["runs", "resume", "last"]);
    assert_eq!(end.code, 75, "{end:?}");
    assert!(end.stderr.contains("q1 (outcome)") && end.stderr.contains("run_again"), "{end:?}");
    let end = home.windlass(["runs", "answer", "last", "q1", "result", "7"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{end:?}");
    assert_eq!(lines(&home.path("sums")), 1, "it ran once");
}

/// The tool of a killed process goes on without it. Here it waits for the file `go`, and so does its second try.
#[test]
fn e30_what_a_dead_process_left_running_is_stopped_before_its_call_is_settled() {
    let home = Home::new();
    let run =
        r#"run: [sh, -c, "echo >> began; while [ ! -e go ]; do sleep 0.02; done; echo sum >> sums; echo 7"]"#;
    let tool = SLOW.replacen("effect: read_only", "effect: once\n      check: [test, -e, sums]", 1);
    let (before, after) = (tool.find("run:").unwrap(), tool.find("\n      description").unwrap());
    home.write("agent.yaml", &format!("{}{run}{}", &tool[..before], &tool[after..]));
    let mut child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("began")) == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let second = home.start(["runs", "resume", "last"]);
    until("the sum has begun again, since the check found none", || lines(&home.path("began")) == 2);
    home.write("go", "");
    let end = finish(second);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{end:?}");
    assert_eq!(lines(&home.path("sums")), 1, "both tries had their effect");
}

#[test]
fn e32_two_processes_resume_one_run_and_one_of_them_is_told_who_holds_it() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let first = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    let second = home.windlass(["runs", "resume", "last"]);
    assert_eq!(second.code, 1, "{second:?}");
    assert!(second.stderr.contains(&format!("is held by pid {}", first.id())), "{second:?}");
    home.write("go", "");
    let end = finish(first);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{end:?}");
}

#[test]
fn e32_of_two_that_resume_at_once_exactly_one_goes_on() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let mut child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let (one, two) = (home.start(["runs", "resume", "last"]), home.start(["runs", "resume", "last"]));
    until("one of them goes on", || lines(&home.path("sums")) == 2);
    until("the other has ended", || home.events("RunResumed") == 1);
    home.write("go", "");
    let ends = [finish(one), finish(two)];
    let mut codes = ends.each_ref().map(|end| end.code);
    codes.sort_unstable();
    assert_eq!(codes, [0, 1], "{ends:?}");
    assert_eq!(lines(&home.path("sums")), 2);
}

/// A watcher of a killed run is told the command that goes on, and sees the run to its end.
#[test]
fn a_watcher_is_told_that_the_process_has_died() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let mut child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    let told = std::fs::File::create(home.path("told")).unwrap();
    let watcher = home.command(["runs", "watch", "last"]).stderr(told).spawn().unwrap();
    until("the watcher shows the call", || home.read("told").contains("-> "));
    assert!(!home.read("told").contains("has died"), "{}", home.read("told"));
    child.kill().unwrap();
    child.wait().unwrap();
    until("the death is told", || home.read("told").contains("has died; `windlass runs resume "));
    home.write("go", "");
    assert_eq!(home.windlass(["runs", "resume", "last"]).code, 0);
    let end = finish(watcher);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{}", home.read("told"));
    assert_eq!(home.read("told").matches("has died").count(), 1, "{}", home.read("told"));
}
