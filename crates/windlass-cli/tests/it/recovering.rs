//! A run at a terminal that was killed: it is named where its words are typed again, and goes on in the face.

use crate::kit::{Home, PLAIN, SLOW, lines, until};
use crate::seat::Seat;
use crate::server::{Reply, Server};
use crate::talks::{CTRL_D, asking};

const RUN: [&str; 3] = ["run", "agent.yaml", "What is 2 + 5?"];

#[test]
fn an_interrupted_run_is_named_where_its_words_are_typed_again_and_goes_on_in_the_face() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let mut seat = Seat::sized(&home, &RUN, (100, 24));
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    seat.child.kill().unwrap();
    seat.child.wait().unwrap();

    let mut again = Seat::sized(&home, &RUN, (100, 24));
    again.shows("a run with the same words was interrupted: `windlass runs resume");
    until("the sum has begun again", || lines(&home.path("sums")) == 2);
    again.keys("\u{1b}");
    again.shows("was cancelled");
    assert_eq!(again.code(), 130);

    let listed = home.windlass(["runs", "list", "--status", "interrupted", "--json"]).stdout;
    let listed: serde_json::Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let mut resumed = Seat::sized(&home, &["runs", "resume", listed["run"].as_str().unwrap()], (100, 24));
    resumed.shows("calculate (try 2) {\"expression\":\"2 + 5\"}  1 s");
    resumed.keys("be brief\r");
    resumed.shows("steered: be brief");
    home.write("go", "");
    resumed.shows("✓ calculate (try 2) {\"expression\":\"2 + 5\"} → 7");
    resumed.shows("answered: ");
    assert_eq!(resumed.code(), 0);
    assert!(!home.windlass(["runs", "list"]).stdout.contains("interrupted"));

    // The other one has ended: nothing is told of it.
    let last = Seat::begun(&home, &RUN, (100, 24), "answered: ");
    assert!(!last.whole().contains("was interrupted"), "{}", last.whole());
    assert_eq!(last.code(), 0);
}

#[test]
fn a_turn_that_was_given_to_another_model_goes_on_there_after_a_kill() {
    let home = Home::new();
    let gone = "model: { use: gone, base_url: \"http://127.0.0.1:9/v1\" }";
    let mut seat = Seat::chat(&home, &SLOW.replace("model: tour", gone), &[], (100, 24));
    seat.keys("/model tour\r");
    seat.shows("the next message goes to tour");
    seat.keys("What is 2 + 5?\r");
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    seat.child.kill().unwrap();
    seat.child.wait().unwrap();
    home.write("go", "");
    let mut seat = Seat::sized(&home, &["chat", "agent.yaml", "-c"], (100, 24));
    seat.shows("goes on with tour, which its last turn began with");
    seat.shows("2 + 5 is 7.");
    seat.shows("answered: ");
    seat.leave(CTRL_D);
}

#[test]
fn the_answer_of_a_question_goes_on_in_the_face_and_further_questions_stand_in_it() {
    let home = Home::new();
    home.write("agent.yaml", &asking(PLAIN));
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 75);
    let mut seat = Seat::sized(&home, &["runs", "resume", "last"], (100, 24));
    seat.shows("expression: 2 + 3\n[y]es, [a]lways");
    seat.keys("l");
    seat.shows("is suspended");
    assert_eq!(seat.code(), 75);
    let seat = Seat::sized(&home, &["runs", "answer", "last", "q1", "approve"], (100, 24));
    seat.shows("✓ calculate {\"expression\":\"2 + 3\"} → 5");
    seat.shows("2 + 3 is 5.");
    assert_eq!(seat.code(), 0);
}

#[test]
fn a_call_of_many_lines_counts_those_that_its_row_leaves_out() {
    let home = Home::new();
    home.write("agent.yaml", &SLOW.replace("echo 7\"", "seq 7 30\""));
    home.write("go", "");
    let seat = Seat::begun(&home, &RUN, (100, 24), "→ 7 (+23 lines, Ctrl-O)");
    seat.shows("answered: ");
    assert_eq!(seat.code(), 0);
}

#[test]
fn a_question_that_is_left_in_a_chat_is_a_row_that_says_how_to_come_back() {
    let home = Home::new();
    let mut seat = Seat::chat(&home, &asking(PLAIN), &[], (120, 24));
    seat.keys("What is 2 + 3?\r");
    seat.shows("[y]es");
    seat.keys("l");
    seat.shows("your next message puts the question again first");
    assert!(!seat.whole().contains("hint: "), "{}", seat.whole());
    seat.keys("And 4 + 4?\r");
    seat.shows("[y]es");
    seat.keys("y");
    seat.shows("2 + 3 is 5.");
    // The message that waited comes below the question that came first.
    seat.shows("> And 4 + 4?");
    seat.shows("expression: 4 + 4\n[y]es");
    seat.keys("l");
    seat.shows_that("the prompt", |whole| whole.matches("puts the question again").count() == 2);
    seat.keys("/stop\r");
    seat.shows("the run that waited is cancelled");
    seat.leave(CTRL_D);
}

#[test]
fn lines_of_others_wait_for_the_end_of_a_block_that_streams() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Pieces(vec![
        "Here:\n\n```\none\n",
        "two\n",
        "three\n```\n\nAt last",
        ".\n",
    ])]);
    let mut seat = Seat::chat(&home, &server.agent(), &[], (80, 24));
    seat.keys("Count\r");
    server.go.send(()).unwrap();
    seat.shows("  one\n");
    seat.keys("/cost\r");
    seat.keys("half a draft");
    seat.shows("> half a draft");
    server.go.send(()).unwrap();
    seat.shows("  one\n  two\n");
    server.go.send(()).unwrap();
    seat.shows("At last");
    seat.shows("0 turns");
    let _last = server.go.send(());
    seat.shows("answered: ");
    let whole = seat.whole();
    assert!(whole.contains("  one\n  two\n  three\n"), "{whole}");
    seat.leave("\u{15}\u{4}");
}

#[test]
fn an_approval_names_the_command_that_would_run_and_its_words_are_there_to_edit() {
    let home = Home::new();
    let command = r#"run: [sh, -c, "echo {expression} > ran; echo 7"]"#;
    let slow = SLOW
        .lines()
        .map(|line| if line.contains("echo sum") { format!("      {command}") } else { line.to_owned() });
    let agent = slow.collect::<Vec<_>>().join("\n");
    home.write("agent.yaml", &format!("{agent}\nloop: {{ approve: [calculate] }}\n"));
    let mut seat = Seat::sized(&home, &["run", "agent.yaml", "What is 2 + 5?"], (100, 24));
    seat.shows("runs: sh -c 'echo 2 + 5 > ran; echo 7'");
    seat.shows("[y]es");
    seat.keys("e");
    seat.shows("> {\"expression\":\"2 + 5\"}");
    seat.shows("Esc goes back");
    seat.keys("\u{1b}");
    seat.shows("the arguments are as they were: [y]es");
    seat.keys("n");
    seat.shows("why not?");
    seat.keys("o, not today\r");
    seat.shows("✗ calculate {\"expression\":\"2 + 5\"} → denied: not today");
    assert_eq!(seat.code(), 0);
    assert!(!home.path("ran").exists());
}

#[test]
fn the_newest_conversation_goes_on_without_its_name() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let none = home.windlass(["run", "agent.yaml", "-c", "What is 2 + 3?"]);
    assert_eq!(none.code, 1, "{none:?}");
    assert!(none.stderr.contains("agent `plain` has led no conversation yet"), "{none:?}");
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let mut seat = Seat::sized(&home, &["chat", "agent.yaml", "-c"], (100, 24));
    seat.shows("> What is 2 + 3?\n\n2 + 3 is 5.");
    seat.leave(CTRL_D);
    let both = home.windlass(["chat", "agent.yaml", "-c", "--session", "x"]);
    assert_eq!(both.code, 2, "{both:?}");
    let mut here = Seat::sized(&home, &["chat"], (100, 24));
    here.shows("this folder has an agent of its own: `windlass chat .` talks with it");
    here.leave(CTRL_D);
}
