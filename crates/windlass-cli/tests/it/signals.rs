//! Ctrl-C.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{BOTH, Home, PLAIN, SLOW, assert_end, finish, lines, until};

fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

#[test]
fn the_first_one_cancels_and_says_how_the_conversation_goes_on() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    interrupt(&child);
    let end = finish(child);
    assert_end!(home, end);
    assert_eq!(home.last()["status"], "cancelled");
    assert_eq!(home.events("CallFinished"), 1, "the open call has a result");
    home.write("agent.yaml", SLOW);
    home.write("go", "");
    let hint = end.stderr.lines().find(|line| line.contains("--session")).unwrap();
    let session = hint.split("--session ").nth(1).unwrap().split(' ').next().unwrap();
    let end = home.windlass(["run", "agent.yaml", "--session", session, "What is 2 + 5?"]);
    assert_eq!(end.code, 0, "{end:?}");
}

#[test]
fn the_second_one_ends_at_once_and_the_run_can_be_resumed() {
    let home = Home::new();
    // It does not stop when it is asked to, for longer than anybody waits.
    let deaf = SLOW.replace("echo sum >> sums;", "trap '' TERM INT; echo sum >> sums;");
    home.write("agent.yaml", &format!("{deaf}loop: {{ grace_ms: 3600000 }}\n"));
    let child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    interrupt(&child);
    until("it is being stopped", || home.events("CancelRequested") == 1);
    interrupt(&child);
    let end = finish(child);
    assert_eq!(end.code, 130, "{end:?}");
    assert!(end.stderr.contains("was left before it had ended"), "{end:?}");
    assert!(end.stderr.contains("hint: `windlass runs resume "), "{end:?}");
    home.write("go", "");
    // It was asked to stop, and that is what it does when somebody goes on with it.
    let end = home.windlass(["runs", "resume", "last"]);
    assert_eq!(end.code, 130, "{end:?}");
    assert_eq!(home.last()["status"], "cancelled");
}

#[test]
fn nothing_that_the_run_began_is_left() {
    let home = Home::new();
    home.write("agent.yaml", &SLOW.replace("echo sum >> sums;", "echo $$ > pid; echo sum >> sums;"));
    let child = home.start(["run", "agent.yaml", BOTH]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    interrupt(&child);
    assert_eq!(finish(child).code, 130);
    let pid: i32 = home.read("pid").trim().parse().unwrap();
    let alive = Pid::from_raw(pid).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
    assert!(!alive, "the tool's process {pid} is still there");
}

#[test]
fn a_chat_that_waits_for_a_line_ends() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let mut child = home.command(["chat", "agent.yaml"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    until("the chat has begun", || home.path("home/log.db").exists());
    interrupt(&child);
    let end = finish(child);
    drop(stdin);
    assert_eq!(end.code, 130, "{end:?}");
}
