//! What is being waited for shows at a terminal, and nowhere else.

use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{Home, PLAIN, SLOW, finish, lines, until};
use crate::seat::{CLEAR, SPINNER, Seat};
use crate::server::{Reply, Server};

const SUM: &str = "What is 2 + 5?";
/// Lets the terminal be drawn on.
const DRAWS: [(&str, &str); 1] = [("WINDLASS_PLAIN", "")];

/// Waits until the slow sum has begun.
fn begun(home: &Home) {
    until("the sum has begun", || lines(&home.path("sums")) == 1);
}

#[test]
fn a_tool_is_waited_for_with_its_name_and_time_and_nothing_of_it_is_left() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let mut seat = Seat::sized(&home, &["run", "agent.yaml", SUM], (80, 24));
    for seconds in 1..3 {
        seat.shows(&format!("calculate {{\"expression\":\"2 + 5\"}}  {seconds} s"));
    }
    home.write("go", "");
    seat.shows("✓ calculate {\"expression\":\"2 + 5\"} → 7  ");
    seat.shows("answered: ");
    assert_eq!(seat.ended(), 0);
    let whole = seat.whole();
    assert!(!whole.contains(|char| SPINNER.contains(char)) && !whole.contains("Ctrl-C"), "{whole}");
}

#[test]
fn a_call_by_hand_is_waited_for() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let call = ["tools", "call", "agent.yaml", "calculate", r#"{"expression":"2"}"#];
    let seat = Seat::start_with_env(&home, &call, &DRAWS);
    seat.waits_for("waiting for tool `calculate`: 1 s");
    home.write("go", "");
    seat.expect("7\r\n");
    assert_eq!(seat.code(), 0);
}

#[test]
fn a_model_that_is_checked_is_waited_for() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Pieces(vec!["", "Here."])]);
    let check = ["models", "check", "openai/m"];
    let variables = [DRAWS[0], ("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", &server.url)];
    let seat = Seat::start_with_env(&home, &check, &variables);
    seat.waits_for("waiting for model openai/m: 1 s");
    server.go.send(()).unwrap();
    seat.expect("openai/m answers: Here.");
    assert_eq!(seat.code(), 0);
}

#[test]
fn a_model_is_waited_for_until_its_text_comes() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Pieces(vec!["", "It is", " seven."])]);
    home.write("agent.yaml", &server.agent());
    let seat = Seat::sized(&home, &["run", "agent.yaml", SUM], (80, 24));
    seat.shows("model openai/m · 1 s · Ctrl-C stops");
    server.go.send(()).unwrap();
    seat.shows("It is\n");
    seat.shows("model openai/m (writing) · ");
    server.go.send(()).unwrap();
    seat.shows("It is seven.\n\nanswered: ");
    assert_eq!(seat.code(), 0);
}

#[test]
fn a_providers_quota_is_waited_for_with_the_time_of_the_next_try() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Status(429, "retry-after: 50\r\n")]);
    home.write("agent.yaml", &server.agent().replace("max_wait_ms: 2", "max_wait_ms: 60000"));
    let seat = Seat::sized(&home, &["run", "agent.yaml", SUM], (80, 24));
    seat.shows("the quota of model openai/m (next try in 4");
    kill_process(Pid::from_child(&seat.child), Signal::INT).unwrap();
    seat.shows("was cancelled");
    assert_eq!(seat.code(), 130);
}

#[test]
fn nothing_is_said_of_waiting_elsewhere_than_at_a_terminal_or_where_progress_is_not_wanted() {
    let homes: Vec<Home> = std::iter::repeat_with(Home::new).take(7).collect();
    for home in &homes {
        home.write("agent.yaml", SLOW);
    }
    let run = ["run", "agent.yaml", SUM];
    let call = ["tools", "call", "agent.yaml", "calculate", r#"{"expression":"2"}"#];
    let seats = [
        Seat::start_with_env(&homes[0], &["run", "--quiet", "agent.yaml", SUM], &DRAWS),
        Seat::start_with_env(&homes[1], &["run", "--json", "agent.yaml", SUM], &DRAWS),
        Seat::start_with_env(&homes[2], &run, &[("TERM", "dumb"), DRAWS[0]]),
        Seat::start_with_env(&homes[5], &["run", "--plain", "agent.yaml", SUM], &DRAWS),
        // `WINDLASS_PLAIN` is for all commands.
        Seat::start(&homes[6], &call),
    ];
    let piped = homes[3].start(run);
    homes.iter().enumerate().filter(|(place, _)| *place != 4).for_each(|(_, home)| begun(home));
    // One that begins later, at a terminal, says how long the others have been waiting.
    let seat = Seat::sized(&homes[4], &run, (80, 24));
    seat.shows("calculate {\"expression\":\"2 + 5\"}  2 s");
    for home in &homes {
        home.write("go", "");
    }
    for seat in seats {
        seat.expect("7");
        let raw = seat.raw();
        assert!(!raw.contains('\u{1b}') && !raw.contains("waiting for"), "{raw:?}");
        assert_eq!(seat.code(), 0);
    }
    let end = finish(piped);
    assert!(end.code == 0 && !end.stderr.contains("waiting for"), "{end:?}");
    assert_eq!(seat.code(), 0);
}

#[test]
fn who_watches_sees_that_a_person_is_waited_for() {
    let home = Home::new();
    home.write("agent.yaml", &format!("{PLAIN}loop: {{ approve: [calculate] }}\n"));
    assert_eq!(home.windlass(["run", "agent.yaml", SUM]).code, 75);
    let seat = Seat::start_with_env(&home, &["runs", "watch", "last"], &DRAWS);
    seat.waits_for("waiting for an answer to q1: ");
    assert_eq!(home.windlass(["runs", "answer", "last", "q1", "approve"]).code, 0);
    seat.expect("answered: ");
    assert!(seat.raw().contains(CLEAR));
    assert_eq!(seat.code(), 0);
}
