//! Output that nobody reads: the run ends all the same, within its limits, and Ctrl-C works.

use std::fs::OpenOptions;
use std::io::Read;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{Home, PLAIN, finish, until};
use crate::server::{Reply, Server};

/// Far more than pipes and the queue take together.
const MUCH: usize = 2 << 20;

fn much() -> &'static str {
    "0123456789abcde ".repeat(MUCH / 16).leak()
}

fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

/// A run with a long answer, which has ended while its process still prints.
fn ended_unread(home: &Home, args: &[&str]) -> (Child, Server) {
    let server = Server::start(vec![Reply::Pieces(vec![much()])]);
    home.write("agent.yaml", &server.agent());
    let mut command = home.command(args);
    let mut child = command.env("WINDLASS_LOG", "trace").spawn().unwrap();
    until("the run has ended", || home.events("RunEnded") == 1);
    assert_eq!(home.last()["status"], "answered");
    let list = home.windlass(["runs", "list"]);
    assert!(list.stdout.contains("answered"), "{list:?}");
    assert_eq!(child.try_wait().unwrap(), None, "it still prints");
    (child, server)
}

#[test]
fn the_run_ends_while_nobody_reads_and_the_answer_is_whole() {
    let home = Home::new();
    let (mut child, _server) = ended_unread(&home, &["run", "agent.yaml", "hi"]);
    // Stderr is full, too, and stays unread until the whole answer was read.
    let mut answer = vec![0; MUCH];
    child.stdout.as_mut().unwrap().read_exact(&mut answer).unwrap();
    assert!(answer == much().as_bytes());
    let end = finish(child);
    assert_eq!((end.code, end.stdout.trim()), (0, ""), "{}", end.stderr);
}

#[test]
fn events_are_all_shown_to_a_reader_who_comes_late() {
    let home = Home::new();
    let (child, _server) = ended_unread(&home, &["run", "agent.yaml", "--json", "hi"]);
    let end = finish(child);
    assert_eq!(end.code, 0);
    let lines: Vec<serde_json::Value> =
        end.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<u64> = lines.iter().filter_map(|line| line["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let last = lines.last().unwrap();
    assert_eq!((last["type"].as_str(), last["text"].as_str().map(str::len)), (Some("run"), Some(MUCH)));
}

#[test]
fn ctrl_c_ends_a_process_whose_output_nobody_reads() {
    let home = Home::new();
    let (mut child, _server) = ended_unread(&home, &["run", "agent.yaml", "hi"]);
    interrupt(&child);
    let mut code = None;
    until("it has ended", || {
        code = child.try_wait().unwrap();
        code.is_some()
    });
    assert_eq!(code.unwrap().code(), Some(130));
}

#[test]
fn ctrl_c_cancels_a_run_whose_output_nobody_reads() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Pieces(vec![much(), "never sent"])]);
    home.write("agent.yaml", &server.agent());
    let mut child = home.start(["run", "agent.yaml", "hi"]);
    until("the model is asked", || home.events("TurnStarted") == 1);
    server.requests.recv().unwrap();
    interrupt(&child);
    let mut code = None;
    until("it has ended", || {
        code = child.try_wait().unwrap();
        code.is_some()
    });
    assert_eq!((code.unwrap().code(), home.last()["status"].as_str()), (Some(130), Some("cancelled")));
}

#[test]
fn a_deadline_holds_while_nobody_reads() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Pieces(vec![much(), "never sent"])]);
    home.write("agent.yaml", &format!("{}loop: {{ limits: {{ seconds: 1 }} }}\n", server.agent()));
    let child = home.start(["run", "agent.yaml", "hi"]);
    until("the run has ended", || home.events("RunEnded") == 1);
    let end = finish(child);
    assert_eq!(end.code, 124, "{}", end.stderr);
}

#[test]
fn a_conversation_goes_on_where_stderr_is_never_read() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let mut command = home.command(["chat", "agent.yaml"]);
    let mut child = command.env("WINDLASS_LOG", "trace").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, "What is 2 + 5?\n".repeat(20).as_bytes()).unwrap();
    drop(stdin);
    let mut answers = String::new();
    child.stdout.as_mut().unwrap().read_to_string(&mut answers).unwrap_or_default();
    assert_eq!(answers.matches('7').count(), 20, "{answers}");
    assert_eq!(finish(child).code, 0);
}

#[test]
fn a_reader_who_goes_away_changes_nothing_about_the_run() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Pieces(vec![much()])]);
    home.write("agent.yaml", &server.agent());
    let mut child = home.start(["run", "agent.yaml", "hi"]);
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(home.last()["status"], "answered");
    for command in [["runs", "show", "last"], ["runs", "watch", "last"], ["runs", "export", "last"]] {
        let mut child = home.start(command);
        drop(child.stdout.take());
        let end = finish(child);
        assert_eq!((end.code, end.stderr.contains("error")), (0, false), "{command:?}: {end:?}");
    }
}

#[test]
fn a_full_disk_under_stdout_is_an_error_and_not_silence() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    for command in [&["run", "agent.yaml", "What is 2 + 5?"][..], &["tools", "list", "agent.yaml"]] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let end = crate::kit::end(home.command(command).stdout(full).output().unwrap());
        assert_eq!(end.code, 70, "{end:?}");
        assert!(end.stderr.contains("error: cannot write the output"), "{end:?}");
        assert!(end.stderr.contains("No space left"), "{end:?}");
    }
    assert_eq!(home.last()["status"], "answered");
}
