//! `windlass chat` without a terminal: each line of stdin is a turn.

use crate::kit::{Home, PLAIN};

#[test]
fn each_line_is_a_turn_of_one_conversation() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let said = "What is 2 + 3?\n\n/usage\n/nothing\nWhat is 4 + 3?";
    let end = home.windlass_with(["chat", "agent.yaml", "--quiet", "--session", "s"], said);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 3 is 5.\n4 + 3 is 7.\n"), "{end:?}");
    assert!(end.stderr.contains("1 turn, about "), "{end:?}");
    assert!(end.stderr.contains("unknown command /nothing"), "{end:?}");
    assert_eq!(home.last()["messages"].as_array().unwrap().len(), 8);
    let later = home.windlass_with(
        ["chat", "agent.yaml", "-q", "--session", "s"],
        "What is 1 + 1?\n/quit\nWhat is 2 + 2?\n",
    );
    assert_eq!((later.code, later.stdout.as_str()), (0, "1 + 1 is 2.\n"), "{later:?}");
    assert_eq!(home.last()["messages"].as_array().unwrap().len(), 12);
}

#[test]
fn e27_a_question_suspends_the_conversation_and_its_answer_lets_it_go_on() {
    let home = Home::new();
    home.write("agent.yaml", &format!("{PLAIN}loop: {{ approve: [calculate] }}\n"));
    let end =
        home.windlass_with(["chat", "agent.yaml", "--session", "s"], "What is 2 + 3?\nWhat is 3 + 3?\n");
    assert_eq!(end.code, 75, "{end:?}");
    assert_eq!(
        home.windlass(["runs", "list", "--json"]).stdout.lines().count(),
        1,
        "the next line was not said"
    );
    let busy = home.windlass(["run", "agent.yaml", "--session", "s", "hi"]);
    assert_eq!(busy.code, 1, "{busy:?}");
    assert!(busy.stderr.contains("session s is busy"), "{busy:?}");
    assert_eq!(home.windlass(["runs", "answer", "--leave", "last", "q1", "approve"]).code, 0);
    let end = home.windlass_with(["chat", "agent.yaml", "-q", "--session", "s"], "hello\n");
    assert!(end.stdout.starts_with("2 + 3 is 5.\n"), "what was left open comes first: {end:?}");
}

#[test]
fn no_input_is_no_conversation() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let end = home.windlass(["chat", "agent.yaml"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, ""), "{end:?}");
}
