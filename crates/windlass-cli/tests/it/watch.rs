//! `windlass watch`: the table of all runs, and answers from there.

use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::kit::{ASKING, Home, PATIENCE, PLAIN, SLOW, lines, until};
use crate::seat::Seat;
use crate::served::Served;
use crate::server::{Reply, Server};
use crate::talks::{CTRL_D, asking};

/// A home with two runs that wait for an approval.
fn waiting() -> Home {
    let home = Home::new();
    home.write("agent.yaml", &asking(PLAIN));
    for question in ["What is 2 + 3?", "What is 4 + 4?"] {
        assert_eq!(home.windlass(["run", "agent.yaml", question]).code, 75);
    }
    home
}

#[test]
fn questions_of_all_runs_are_answered_from_the_table() {
    let home = waiting();
    let mut seat = Seat::begun(&home, &["watch"], (120, 30), "2 questions");
    seat.shows("> plain asks: May `calculate` run with {\"expression\":\"2 + 3\"}?");
    seat.shows("STATUS");
    seat.keys("\r");
    seat.shows("expression: 2 + 3\n[y]es");
    // It names its run as the list does, and the table stands above it.
    let list = home.windlass(["runs", "list"]).stdout;
    let id = list.lines().find(|row| row.contains("What is 2 + 3?")).unwrap().split(' ').next().unwrap();
    seat.shows(&format!("\nrun {id} of plain: What is 2 + 3?\nq1: May `calculate` run?\n"));
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
    seat.leave("q");
}

#[test]
fn a_program_is_shown_as_it_would_run_by_the_files_of_its_run() {
    let home = Home::new();
    home.write("agent.yaml", &asking(SLOW));
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 5?"]).code, 75);
    // The file says something else by now, and the run does not follow it.
    home.write("agent.yaml", &asking(SLOW).replace("echo", "printf"));
    let mut seat = Seat::begun(&home, &["watch"], (100, 30), "1 question");
    seat.keys("\r");
    seat.shows("\n  runs: ");
    seat.shows("[y]es");
    assert!(!seat.whole().contains("printf"), "{}", seat.whole());
    seat.keys("l");
    seat.shows_that("the question is left", |whole| !whole.contains("[l]ater"));
    seat.leave(CTRL_D);
}

#[test]
fn a_question_that_is_left_stays_and_the_terminal_is_as_before() {
    let home = waiting();
    let mut seat = Seat::begun(&home, &["watch"], (60, 20), "2 questions");
    seat.keys("j\r");
    seat.shows("expression: 4 + 4\n[y]es");
    seat.keys("l");
    seat.shows_that("the question is left", |whole| !whole.contains("[l]ater"));
    seat.leave(CTRL_D);
    assert!(!seat.is_raw());
    assert_eq!(home.windlass(["runs", "answer", "last", "q1", "approve"]).stdout, "4 + 4 is 8.\n");
}

/// Two calls of one run that wait for an approval each, and the run.
fn two_questions(home: &Home) -> (Server, String) {
    let sums = ["1 + 2", "2 + 2"].map(|sum| json!({ "expression": sum }).to_string());
    let server =
        Server::start(vec![Reply::Calls("calculate".into(), sums.to_vec()), Reply::Pieces(vec!["Done."])]);
    let more = "tools: [ { builtin: [calculate] } ]\nloop: { approve: [calculate] }\n";
    home.write("agent.yaml", &format!("{}{more}", server.agent()));
    assert_eq!(home.windlass(["run", "agent.yaml", "Add."]).code, 75);
    (server, home.id())
}

#[test]
fn the_first_answer_of_a_run_counts_where_the_second_question_is_left() {
    let home = Home::new();
    let (_server, run) = two_questions(&home);
    let mut seat = Seat::begun(&home, &["watch"], (110, 30), "1 question ");
    seat.keys("\r");
    seat.shows("expression: 1 + 2\n[y]es");
    seat.keys("y");
    seat.shows("answer to q1: approve");
    seat.shows("expression: 2 + 2\n[y]es");
    seat.keys("l");
    // The run goes on with what it has, and waits again.
    until("the answer is taken", || home.windlass(["runs", "show", &run]).stdout.contains("approved (q1"));
    seat.shows_that("it waits again", |whole| !whole.contains("goes on here"));
    seat.keys("\r");
    seat.shows("expression: 2 + 2\n[y]es");
    seat.keys("n");
    seat.shows("why not?");
    seat.keys("\r");
    seat.shows("0 questions");
    until("it has ended", || home.windlass(["runs", "list"]).stdout.contains("answered"));
    assert_eq!(home.events("CallStarted"), 1);
    assert_eq!(seat.whole().matches("answer to q1").count(), 1, "{}", seat.whole());
    seat.shows_that("nothing goes on here", |whole| !whole.contains("goes on here"));
    seat.leave("q");
}

#[test]
fn a_question_whose_answer_waits_for_the_run_is_not_put_again() {
    let home = Home::new();
    let (_server, run) = two_questions(&home);
    assert_eq!(home.windlass(["runs", "answer", "--leave", &run, "q1", "deny", "not today"]).code, 0);
    let mut seat = Seat::begun(&home, &["watch"], (110, 30), "1 question ");
    seat.keys("\r");
    seat.shows("q1 is answered, and its answer waits for the run: deny");
    seat.shows("expression: 2 + 2\n[y]es");
    assert!(!seat.whole().contains("expression: 1 + 2\n"), "{}", seat.whole());
    seat.keys("y");
    seat.shows("answer to q2: approve");
    seat.shows("0 questions");
    until("it has ended", || home.windlass(["runs", "list"]).stdout.contains("answered"));
    assert_eq!(home.events("CallStarted"), 1);
}

#[test]
fn a_question_that_is_answered_elsewhere_goes_away_and_the_table_goes_on_meanwhile() {
    let home = Home::new();
    home.write("agent.yaml", ASKING);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 75);
    let first = home.id();
    let mut seat = Seat::begun(&home, &["watch"], (110, 30), "1 question ");
    seat.keys("\r");
    seat.shows("expression: 2 + 3\n[y]es");
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 4 + 4?"]).code, 75);
    seat.shows("2 questions ");
    assert!(seat.whole().contains("[y]es"), "{}", seat.whole());
    assert_eq!(home.windlass(["runs", "answer", "--by", "ada", &first, "q1", "deny"]).code, 0);
    seat.shows("q1 was answered elsewhere: deny (ada");
    seat.shows_that("no question stands", |whole| !whole.contains("[y]es"));
    seat.shows("1 question ");
    seat.leave("q");
}

#[test]
fn the_choice_stays_with_its_run() {
    let home = waiting();
    let second = home.id();
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 5 + 5?"]).code, 75);
    let runs = home.windlass(["runs", "list", "--json"]).stdout;
    let runs: Vec<Value> = runs.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = runs[2]["run"].as_str().unwrap();
    assert_eq!(runs[1]["run"], second.as_str());
    let mut seat = Seat::begun(&home, &["watch"], (110, 30), "3 questions ");
    seat.keys("j");
    seat.shows("> plain asks: May `calculate` run with {\"expression\":\"4 + 4\"}");
    assert_eq!(home.windlass(["runs", "answer", first, "q1", "deny"]).code, 0);
    seat.shows("2 questions ");
    seat.keys("\r");
    seat.shows("expression: 4 + 4\n[y]es");
    seat.keys("l");
    seat.shows_that("the question is left", |whole| !whole.contains("[l]ater"));
    // Once its own question is gone, the one below it is chosen.
    assert_eq!(home.windlass(["runs", "answer", &second, "q1", "deny"]).code, 0);
    seat.shows("> plain asks: May `calculate` run with {\"expression\":\"5 + 5\"}");
}

#[test]
fn a_resize_while_a_question_stands_leaves_no_copies() {
    let home = waiting();
    let mut seat = Seat::begun(&home, &["watch"], (110, 30), "2 questions ");
    seat.keys("\r");
    seat.shows("expression: 2 + 3\n[y]es");
    for size in [(60, 30), (110, 30)] {
        let before = seat.raw().len();
        seat.resize(size);
        until("it is drawn anew", || seat.raw()[before..].contains("STATUS"));
    }
    seat.keys("l");
    seat.shows_that("the question is left", |whole| !whole.contains("[l]ater"));
    let whole = seat.whole();
    for part in ["2 questions ", "STATUS", "> plain asks"] {
        assert_eq!(whole.matches(part).count(), 1, "{part}: {whole}");
    }
    // The rows are as wide as the terminal is now.
    assert!(whole.contains("q leaves"), "{whole}");
}

#[test]
fn a_server_that_goes_away_keeps_nobody_from_leaving_and_is_asked_again() {
    let home = Home::new();
    home.write("agents/asking.yaml", ASKING);
    let server = Served::start(&home, "127.0.0.1:0");
    let url = server.url.clone();
    for question in ["What is 2 + 3?", "What is 4 + 4?"] {
        assert_eq!(home.windlass(["run", "--server", &url, "asking", question]).code, 75);
    }
    let watch = ["watch", "--server", &url];
    let (mut seat, mut other) =
        (Seat::sized(&home, &watch, (110, 30)), Seat::sized(&home, &watch, (110, 30)));
    let printed = Printed::start(&home, &["--server", &url]);
    assert_eq!([printed.next(), printed.next()].each_ref().map(status), ["suspended", "suspended"]);
    seat.shows("2 questions ");
    other.shows("2 questions ");
    server.signal(Signal::STOP);
    // What was read stays.
    seat.shows("not reached for ");
    assert!(seat.whole().contains("> asking asks: "), "{}", seat.whole());
    other.shows("not reached for ");
    other.leave("q");
    let server = server.killed(&home);
    seat.shows_that("it is reached again", |whole| !whole.contains("not reached"));
    seat.keys("\r");
    seat.shows("expression: 2 + 3\n[y]es");
    seat.keys("y");
    seat.shows("answer to q1: approve");
    seat.shows("1 question ");
    until("it is printed", || status(&printed.next()) == "answered");
    seat.keys("\r");
    seat.shows("expression: 4 + 4\n[y]es");
    server.signal(Signal::STOP);
    seat.keys("y");
    seat.shows_that("it is answered", |whole| !whole.contains("[y]es"));
    seat.leave("q");
    seat.shows("an answer was on its way");
}

#[test]
fn a_run_that_goes_on_here_is_waited_for_or_left() {
    let home = Home::new();
    home.write("agent.yaml", &asking(SLOW));
    for _ in 0..2 {
        assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 5?"]).code, 75);
    }
    let id = home.id();
    let answered = || home.windlass(["runs", "list", "--status", "answered"]).stdout;
    let mut seat = Seat::begun(&home, &["watch"], (110, 30), "2 questions ");
    seat.keys("\r");
    seat.shows("expression: 2 + 5\n[y]es");
    seat.keys("y");
    seat.shows("1 run goes on here");
    until("the call is made", || lines(&home.path("sums")) == 1);
    seat.keys("q");
    seat.shows("1 run goes on here: q again leaves it");
    seat.keys("j");
    seat.shows_that("it stays", |whole| !whole.contains("q again"));
    seat.keys("q");
    seat.shows("1 run goes on here: q again leaves it");
    home.write("go", "");
    seat.ends_with(0);
    assert!(answered().contains("What is 2 + 5?"));
    std::fs::remove_file(home.path("go")).unwrap();
    let mut seat = Seat::begun(&home, &["watch"], (110, 30), "1 question ");
    seat.keys("\r");
    seat.shows("expression: 2 + 5\n[y]es");
    seat.keys("y");
    until("the call is made", || lines(&home.path("sums")) == 2);
    seat.shows("1 run goes on here");
    // Ctrl-C is as q.
    kill_process(Pid::from_child(&seat.child), Signal::INT).unwrap();
    seat.shows("q again leaves it");
    seat.leave("q");
    seat.shows(&format!("`windlass runs resume {id}` goes on with its run"));
}

#[test]
fn all_questions_are_counted_and_those_of_a_child_once() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Call("sums".into(), r#"{"task": "What is 2 + 3?"}"#.into())]);
    home.write("lead.yaml", &format!("{}agents: [ ./sums.yaml ]\n", server.agent()));
    home.write("sums.yaml", &ASKING.replace("name: asking", "name: sums"));
    assert_eq!(home.windlass(["run", "lead.yaml", "Add."]).code, 75);
    home.write("agent.yaml", ASKING);
    home.write("queries.txt", &"What is 4 + 4?\n".repeat(104));
    let batch = ["run", "agent.yaml", "--batch", "queries.txt", "--quiet"];
    assert_eq!(home.windlass(batch).code, 75);
    // The oldest question is on the second page of a listing.
    let seat = Seat::begun(&home, &["watch"], (110, 30), "105 questions ");
    seat.shows("> x asks: ");
    assert!(!seat.whole().contains("sums asks: "), "{}", seat.whole());
}

#[test]
fn a_terminal_is_asked_for_and_its_locale_is_kept() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let mut plain = Seat::start(&home, &["watch"]);
    plain.expect("hint: WINDLASS_PLAIN keeps it from drawing");
    plain.ends_with(2);
    let seat = Seat::start_with_env(&home, &["watch"], &[("LC_ALL", "C"), ("WINDLASS_PLAIN", "")]);
    seat.resize((110, 30));
    seat.shows("0 questions | Up, Down");
}

#[test]
fn a_log_that_is_not_there_yet_is_waited_for() {
    let home = Home::without_log();
    let seat = Seat::begun(&home, &["watch"], (110, 30), "no runs yet; `windlass");
    let printed = Printed::start(&home, &[]);
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    seat.shows("STATUS");
    until("its end is printed", || status(&printed.next()) == "answered");
}

/// `windlass watch --json`, which is killed at the end.
struct Printed {
    child: Child,
    lines: Receiver<Value>,
}

impl Printed {
    fn start(home: &Home, more: &[&str]) -> Self {
        let mut child = home.command([&["watch", "--json"], more].concat()).spawn().unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in printed.lines().map_while(Result::ok) {
                if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    fn next(&self) -> Value {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }
}

impl Drop for Printed {
    fn drop(&mut self) {
        let _ended_before = self.child.kill();
        let _status = self.child.wait();
    }
}

fn status(run: &Value) -> String {
    run["status"].as_str().unwrap().to_owned()
}

#[test]
fn without_a_terminal_each_change_is_a_line_of_json() {
    let home = waiting();
    let refused = home.windlass(["watch"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("windlass watch --json"), "{refused:?}");
    let all = Printed::start(&home, &[]);
    let first = [all.next(), all.next()];
    assert_eq!(first.each_ref().map(status), ["suspended", "suspended"]);
    // A change of an older run than the newest ones that were asked for is printed, too.
    let newest = Printed::start(&home, &["--limit", "1"]);
    assert_eq!(newest.next()["run"], first[1]["run"]);
    let older = first[0]["run"].as_str().unwrap();
    assert_eq!(home.windlass(["runs", "answer", older, "q1", "approve"]).code, 0);
    for printed in [all, newest] {
        until("its end is printed", || {
            let run = printed.next();
            run["run"] == older && status(&run) == "answered"
        });
    }
}
