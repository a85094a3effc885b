//! Durable to the byte: a share of what `windlass-harness` does at length, and edges with a restart in between.

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use windlass_harness::{Ground, KillPlan, Lengths, Scene, kills, played, prefixes};

use crate::kit::{Home, SLOW, finish, lines, until};

fn ground() -> Ground {
    Ground::new(env!("CARGO_BIN_EXE_windlass").as_ref(), None).unwrap()
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn e29_e30_e36_kill_9_at_random_times_brings_every_run_to_the_same_end() {
    let plan = KillPlan { count: 40, time: None, seed: 29 };
    let report = kills(&ground(), plan).unwrap_or_else(|broken| panic!("{broken}"));
    assert!(report.kills >= 40 && report.runs > 1, "{report}");
}

#[test]
fn e29_e31_a_log_cut_at_the_edges_of_its_frames_opens_and_folds() {
    let ground = ground();
    for scene in [Scene::Short, Scene::Tools] {
        let files = played(&ground, scene).unwrap_or_else(|broken| panic!("{broken}"));
        let tried = prefixes(&ground, &files, Lengths::Edges).unwrap_or_else(|broken| panic!("{broken}"));
        assert!(tried > 50, "{tried} lengths of {} bytes", files.ahead.len());
    }
}

#[test]
fn e19_a_cancel_survives_the_death_of_the_process_that_was_stopping() {
    let home = Home::new();
    // It does not stop when it is asked to, for longer than anybody waits.
    let deaf = SLOW.replace("echo sum >> sums;", "trap '' TERM INT; echo sum >> sums;");
    home.write("agent.yaml", &format!("{deaf}loop: {{ grace_ms: 3600000 }}\n"));
    let child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    until("the cancel is durable", || home.events("CancelRequested") == 1);
    kill(child);
    home.write("go", "");
    let end = home.windlass(["runs", "resume", "last"]);
    assert_eq!(end.code, 130, "{end:?}");
    assert_eq!(home.last()["status"], "cancelled");
    assert_eq!(
        (home.events("CallFinished"), home.events("RunEnded")),
        (1, 1),
        "the open call has its result"
    );
    assert_eq!(lines(&home.path("sums")), 1, "nothing is begun to be stopped");
}

#[test]
fn e22_a_deadline_that_passes_while_the_process_is_dead_ends_the_run_at_its_resume() {
    let home = Home::new();
    home.write("agent.yaml", &format!("{SLOW}loop: {{ limits: {{ seconds: 1 }}, at_limit: fail }}\n"));
    let begun = Instant::now();
    let child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    kill(child);
    until("the deadline has passed", || begun.elapsed() > Duration::from_millis(1_100));
    let end = home.windlass(["runs", "resume", "last"]);
    assert_eq!(end.code, 124, "{end:?}");
    assert_eq!((home.events("LimitReached"), home.events("RunEnded")), (1, 1));
    assert_eq!(home.events("CallFinished"), 1, "the open call has its result");
}

#[test]
fn e25_an_answer_that_was_left_frees_its_call_once_whatever_dies_in_between() {
    let home = Home::new();
    home.write("agent.yaml", &format!("{SLOW}loop: {{ approve: [calculate] }}\n"));
    let end = home.windlass(["run", "agent.yaml", "What is 2 + 5?"]);
    assert_eq!(end.code, 75, "{end:?}");
    let end = home.windlass(["runs", "answer", "--leave", "last", "q1", "approve"]);
    assert_eq!(end.code, 0, "{end:?}");
    assert_eq!(home.events("InputReceived"), 0, "nobody has taken it yet");
    let child = home.start(["runs", "resume", "last"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    assert_eq!(home.events("InputReceived"), 1, "the answer and the start are one step");
    kill(child);
    home.write("go", "");
    let end = home.windlass(["runs", "resume", "last"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{end:?}");
    assert_eq!((home.events("InputReceived"), home.events("CallDecided")), (1, 1));
}

/// On this machine a paused process is alive, and nobody takes its runs. So it is made to look like one elsewhere whose
/// heartbeat is old.
#[test]
fn e32_a_paused_holder_that_wakes_cannot_append() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let first = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    let pid = Pid::from_child(&first);
    kill_process(pid, Signal::STOP).unwrap();
    let refused = home.windlass(["runs", "resume", "last"]);
    assert!(refused.stderr.contains(&format!("is held by pid {}", first.id())), "{refused:?}");
    let log = rusqlite::Connection::open(home.path("home/log.db")).unwrap();
    log.execute("UPDATE holders SET host = 'elsewhere', heartbeat_at = 0", []).unwrap();
    drop(log);
    home.write("go", "");
    let second = home.windlass(["runs", "resume", "last"]);
    assert_eq!((second.code, second.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{second:?}");
    let before = home.last();
    kill_process(pid, Signal::CONT).unwrap();
    let woken = finish(first);
    assert_eq!(woken.code, 70, "{woken:?}");
    assert!(woken.stderr.contains("was taken over by"), "{woken:?}");
    assert_eq!(home.last()["events"], before["events"], "the one that woke has appended");
}
