//! Habits that people bring to a conversation from other programs.

use crate::kit::{Home, PLAIN, SLOW, lines, until};
use crate::seat::Seat;
use crate::talks::CTRL_D;

const SIZE: (u16, u16) = (120, 40);

/// Asks for sums, one turn after another.
fn sums(seat: &mut Seat, sums: &[&str]) {
    let before = seat.whole().matches("answered: ").count();
    for (turn, sum) in (1..).zip(sums) {
        seat.keys(&format!("What is {sum}?\r"));
        seat.shows_that("the turn", |whole| whole.matches("answered: ").count() == before + turn);
    }
}

#[test]
fn a_word_as_in_a_shell_leaves() {
    let home = Home::new();
    let mut seat = Seat::chat(&home, PLAIN, &[], SIZE);
    seat.leave("exit\r");
    assert_eq!(home.events("RunStarted"), 0);
}

#[test]
fn messages_that_waited_for_a_turn_that_was_stopped_are_given_back() {
    let home = Home::new();
    let mut seat = Seat::working(&home, &[], SIZE);
    seat.keys("/queue What is 3 + 3?\r");
    seat.shows("1 message queued");
    seat.keys("\u{1b}");
    seat.shows("cancelled: ");
    seat.shows("\n> What is 3 + 3?");
    seat.shows_that("nothing queued", |whole| !whole.contains("queued"));
    let runs = home.windlass(["runs", "list"]).stdout;
    assert!(runs.contains("What is 2 + 5?") && !runs.contains("What is 3 + 3?"), "{runs}");
    home.write("go", "");
    seat.keys("\r");
    seat.shows("3 + 3 is 7.");
    seat.leave(CTRL_D);
}

#[test]
fn files_of_a_message_stand_below_it_and_steering_takes_none() {
    let home = Home::new();
    home.write("notes.md", "owls");
    let mut seat = Seat::chat(&home, SLOW, &[], SIZE);
    seat.keys("Look at @notes.md, please\r");
    seat.shows("> Look at @notes.md, please\n  + notes.md\n");
    seat.shows("answered: ");
    seat.slow_sum(&home);
    seat.keys("and at @notes.md \r");
    seat.shows("notes.md goes as text: what is typed while the agent works takes no files");
    home.write("go", "");
    seat.shows_that("both turns", |whole| whole.matches("answered: ").count() == 2);
    seat.leave(CTRL_D);
}

#[test]
fn sessions_are_listed_by_number_named_or_not_and_show_their_last_turns() {
    let home = Home::new();
    let mut seat = Seat::chat(&home, PLAIN, &[], SIZE);
    sums(&mut seat, &["1 + 1", "2 + 1", "3 + 1", "4 + 1"]);
    seat.keys("/new trip\r");
    seat.shows("session trip");
    sums(&mut seat, &["5 + 1"]);
    seat.keys("/sessions\r");
    seat.shows(" 1  trip  2");
    seat.shows("1 run   this one: What is 5 + 1?\n 2        2");
    seat.shows("4 runs  What is 1 + 1?");
    seat.keys("/sessions 3\r");
    seat.shows("there is no session `3`");
    seat.keys("\u{15}/sessions 2\r");
    seat.shows("1 message before these (/save FILE writes all)");
    seat.shows("> What is 2 + 1?\n\n2 + 1 is 3.\n\n> What is 3 + 1?");
    seat.shows("4 + 1 is 5.\n");
    sums(&mut seat, &["6 + 1"]);
    seat.keys("/undo 3\r");
    seat.shows("/undo takes no words");
    seat.leave(CTRL_D);
}

#[test]
fn a_conversation_of_another_agent_is_neither_listed_nor_taken_over() {
    let home = Home::new();
    let mut seat = Seat::chat(&home, PLAIN, &["--session", "trip"], SIZE);
    sums(&mut seat, &["1 + 1"]);
    seat.leave(CTRL_D);
    home.write("other.yaml", &PLAIN.replace("name: plain", "name: other"));
    let mut seat = Seat::begun(&home, &["chat", "other.yaml"], SIZE, "\n>");
    seat.keys("/sessions\r");
    seat.shows("the agent has no session yet");
    seat.keys("/sessions trip\r");
    seat.shows("session `trip` was led by agent `plain`, but this agent is `other`");
    sums(&mut seat, &["2 + 1"]);
    seat.leave(CTRL_D);
    let mut seat = Seat::begun(&home, &["chat", "agent.yaml", "-c"], SIZE, "1 + 1 is 2.");
    seat.leave(CTRL_D);
}

#[test]
fn a_conversation_that_goes_on_names_the_files_of_its_messages_and_says_that_a_turn_was_cancelled() {
    let home = Home::new();
    home.write("notes.txt", "many words\n");
    let mut seat = Seat::chat(&home, SLOW, &["--session", "trip"], SIZE);
    seat.keys("What is 2 + 5? @notes.txt\r");
    seat.shows("  + notes.txt");
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    seat.keys("\u{1b}");
    seat.shows("cancelled: ");
    seat.leave(CTRL_D);
    let chat = ["chat", "agent.yaml", "--session", "trip"];
    let mut seat = Seat::begun(&home, &chat, SIZE, "that turn was cancelled");
    seat.shows("  + notes.txt");
    assert!(!seat.whole().contains("many words"), "{}", seat.whole());
    seat.leave(CTRL_D);
}

#[test]
fn a_chat_tells_of_one_of_its_agent_that_was_interrupted() {
    let home = Home::new();
    let mut seat = Seat::working(&home, &[], SIZE);
    seat.child.kill().unwrap();
    let _code = seat.ended();
    let mut seat = Seat::begun(
        &home,
        &["chat", "agent.yaml"],
        SIZE,
        "the last conversation was interrupted (What is 2 + 5?): `windlass chat agent.yaml -c` goes on with it",
    );
    seat.leave(CTRL_D);
    home.write("go", "");
    let mut seat = Seat::sized(&home, &["chat", "agent.yaml", "-c"], SIZE);
    seat.shows("2 + 5 is 7.");
    seat.shows("answered: ");
    seat.leave(CTRL_D);
    let mut seat = Seat::begun(&home, &["chat", "agent.yaml"], SIZE, "\n>");
    until("the prompt", || seat.whole().contains("\n>"));
    assert!(!seat.whole().contains("interrupted"), "{}", seat.whole());
    seat.leave(CTRL_D);
}
