//! `windlass run`, without anybody at a terminal.

use std::io::Read;
use std::process::Stdio;

use crate::kit::{Home, PLAIN, assert_end};

#[test]
fn the_quickstart_needs_no_key_and_no_network() {
    let home = Home::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/quickstart.yaml");
    let end = home.windlass(["run", file, "What is 17% of 2350, and which files are here?"]);
    assert_eq!(end.code, 0, "{end:?}");
    assert!(end.stdout.contains("399.5"), "{end:?}");
    assert!(end.stdout.contains("quickstart.yaml"), "{end:?}");
    assert!(end.stdout.ends_with('\n'), "{end:?}");
    assert!(end.stderr.contains("model: tour (no key and no local server"), "{end:?}");
    let list = home.windlass(["runs", "list"]);
    assert!(list.stdout.contains("answered") && list.stdout.contains("quickstart"), "{list:?}");
    assert!(home.windlass(["runs", "show", "last"]).stdout.contains("399.5"));
}

#[test]
fn the_answer_goes_to_stdout_and_everything_else_to_stderr() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let end = home.windlass(["run", "agent.yaml", "What is 2 + 3?"]);
    assert_end!(home, end);
}

#[test]
fn quiet_leaves_only_the_answer() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let end = home.windlass(["run", "agent.yaml", "--quiet", "What is 2 + 3?"]);
    assert_eq!((end.code, end.stdout.as_str(), end.stderr.as_str()), (0, "2 + 3 is 5.\n", ""));
}

#[test]
fn the_input_may_come_from_stdin() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    for end in [
        home.windlass_with(["run", "agent.yaml", "-q"], "What is 2 + 3?\n"),
        home.windlass_with(["run", "agent.yaml", "-q", "-"], "What is 2 + 3?"),
    ] {
        assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 3 is 5.\n"), "{end:?}");
    }
    let closed = home.command(["run", "agent.yaml"]).output().unwrap();
    assert_eq!(closed.status.code(), Some(2), "nothing on stdin is no input");
}

#[test]
fn a_session_goes_on_from_run_to_run() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "--session", "trip", "What is 2 + 3?"]).code, 0);
    assert_eq!(home.windlass(["run", "agent.yaml", "--session", "trip", "What is 3 + 3?"]).code, 0);
    let messages = home.last()["messages"].as_array().unwrap().len();
    assert_eq!(messages, 8, "two turns of user, call, result and answer");
    let listed = home.windlass(["runs", "list", "--session", "trip", "--json"]);
    assert_eq!(listed.stdout.lines().count(), 2);
    assert_eq!(home.windlass(["runs", "list", "--session", "other", "--json"]).stdout, "");
    let shown = home.windlass(["runs", "show", "last"]).stdout;
    assert!(shown.contains("(4 messages earlier in this session)"), "{shown}");
}

#[test]
fn a_log_of_its_own() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "--log", "own.db", "What is 2 + 3?"]).code, 0);
    assert!(home.path("own.db").exists());
    assert!(!home.path("home/log.db").exists());
    assert!(home.windlass(["runs", "list", "--log", "own.db"]).stdout.contains("answered"));
    assert!(home.windlass(["runs", "list"]).stdout.is_empty());
}

#[test]
fn only_the_user_can_read_what_is_kept() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    for (name, mode) in [("home", 0o700), ("home/log.db", 0o600)] {
        let found = std::fs::metadata(home.path(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{name}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let mut child = home.command(["run", "agent.yaml", "What is 2 + 3?"]).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
    assert!(!stderr.contains("panic"), "{stderr}");
    // The run itself went on to its end.
    assert_eq!(home.last()["status"], "answered");
}

#[test]
fn a_full_disk_behind_stdout_is_said() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let out = home
        .command(["run", "agent.yaml", "-q", "What is 2 + 3?"])
        .stdout(Stdio::from(full))
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(70));
    assert!(String::from_utf8(out.stderr).unwrap().contains("cannot write the output"));
}

#[test]
fn l32_options_of_one_run_go_before_the_file() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let cut = home.windlass(["run", "agent.yaml", "--limit", "model_calls=1", "What is 2 + 3?"]);
    assert_eq!(cut.code, 124, "{cut:?}");
    let asked = home.windlass(["run", "agent.yaml", "--approve", "calc*", "What is 2 + 3?"]);
    assert_eq!(asked.code, 75, "{asked:?}");
    let other = home.windlass(["run", "agent.yaml", "--model", "nobody/x", "What is 2 + 3?"]);
    assert!(other.code != 0 && other.stderr.contains("nobody"), "{other:?}");
    let plain = home.windlass(["run", "agent.yaml", "What is 2 + 3?"]);
    assert_eq!((plain.code, plain.stdout.as_str()), (0, "2 + 3 is 5.\n"), "{plain:?}");
}

#[test]
fn l39_log_lines_are_chosen_by_part_and_level() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let told = |filter: &str| {
        let mut command = home.command(["run", "agent.yaml", "What is 2 + 3?"]);
        let output = command.env("WINDLASS_LOG", filter).output().unwrap();
        String::from_utf8(output.stderr).unwrap().contains("Agentic iteration 1/10")
    };
    for (filter, shown) in [
        ("info", true),
        ("windlass_runtime=info", true),
        ("windlass_runtime=warn", false),
        ("windlass_models=info", false),
        ("error", false),
    ] {
        assert_eq!(told(filter), shown, "{filter}");
    }
}

#[test]
fn a_limit_has_its_own_exit_code_and_can_be_raised() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let end = home.windlass(["run", "agent.yaml", "--limit", "model_calls=1", "What is 2 + 3?"]);
    assert_end!(home, end);
    assert_eq!(home.events("CallFinished"), 1);
    let without = home.windlass(["runs", "resume", "last"]);
    assert_eq!(without.code, 2, "{without:?}");
    let end = home.windlass(["runs", "resume", "last", "--limit", "model_calls=2"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 3 is 5.\n"), "{end:?}");
    assert_eq!(home.events("CallStarted"), 0, "nothing is done again");
}
