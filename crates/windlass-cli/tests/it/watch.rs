//! `windlass watch`: the table of all runs, and answers from there.

use crate::kit::{Home, PLAIN, until};
use crate::seat::Seat;

/// A home with two runs that wait for an approval.
fn waiting() -> Home {
    let home = Home::new();
    home.write("agent.yaml", &format!("{PLAIN}loop: {{ approve: [calculate] }}\n"));
    for question in ["What is 2 + 3?", "What is 4 + 4?"] {
        assert_eq!(home.windlass(["run", "agent.yaml", question]).code, 75);
    }
    home
}

#[test]
fn questions_of_all_runs_are_answered_from_the_table() {
    let home = waiting();
    let mut seat = Seat::sized(&home, &["watch"], (120, 30));
    seat.shows("2 questions");
    seat.shows("> plain asks: May `calculate` run with {\"expression\":\"2 + 3\"}?");
    seat.shows("STATUS");
    seat.keys("\r");
    seat.shows("expression: 2 + 3\n[y]es");
    // The table stands above it.
    seat.shows("  plain asks: May `calculate` run with {\"expression\":\"4 + 4\"}?");
    seat.keys("y");
    seat.shows("answer to q1: approve");
    seat.shows("1 question ·");
    seat.shows("answered");
    // The run goes on here, and its end is one of the log.
    until("it has ended", || {
        let runs = home.windlass(["runs", "list", "--status", "answered"]).stdout;
        runs.contains("What is 2 + 3?")
    });
    seat.keys("\r");
    seat.shows("expression: 4 + 4\n[y]es");
    seat.keys("n");
    seat.shows("why not?");
    seat.keys("no sums today\r");
    seat.shows("0 questions");
    seat.keys("q");
    assert_eq!(seat.code(), 0);
}

#[test]
fn a_question_that_is_left_stays_and_the_terminal_is_as_before() {
    let home = waiting();
    let mut seat = Seat::sized(&home, &["watch"], (60, 20));
    seat.shows("2 questions");
    seat.keys("j\r");
    seat.shows("expression: 4 + 4\n[y]es");
    seat.keys("l");
    seat.shows_that("the question is left", |whole| !whole.contains("[l]ater"));
    seat.keys("\u{4}");
    assert_eq!(seat.ended(), 0);
    assert!(!seat.is_raw());
    assert_eq!(home.windlass(["runs", "answer", "last", "q1", "approve"]).stdout, "4 + 4 is 8.\n");
}

#[test]
fn without_a_terminal_each_change_is_a_line_of_json() {
    let home = waiting();
    let refused = home.windlass(["watch"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("windlass watch --json"), "{refused:?}");
    let mut child = home.start(["watch", "--json"]);
    let shown = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(shown).map(Result::unwrap);
    let status = |line: &str| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["status"].as_str().unwrap().to_owned()
    };
    let first: Vec<String> = lines.by_ref().take(2).map(|line| status(&line)).collect();
    assert_eq!(first, ["suspended", "suspended"]);
    assert_eq!(home.windlass(["runs", "answer", "last", "q1", "approve"]).code, 0);
    assert!(lines.any(|line| status(&line) == "answered"));
    child.kill().unwrap();
    child.wait().unwrap();
}
