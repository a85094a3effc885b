//! Runs of a plan loop, as people see them.

use crate::kit::{Home, assert_end};
use crate::seat::Seat;
use crate::server::{Reply, Server};

const OPEN: &str = r#"{"original_goal_achieved": false, "local_goal_achieved": true, "reasoning": "Not yet.", "solution_summary": "nothing yet"}"#;
const LIST: &str = r#"{"plan_text": ["Step 0: list", "Step 1: answer"], "description": "list the files", "type": "CODE", "code": "return list_files('.')"}"#;
const USELESS: &str = r#"{"original_goal_achieved": false, "local_goal_achieved": false, "reasoning": "Of no use.", "solution_summary": "a list"}"#;
const OTHER: &str = r#"{"plan_text": ["Step 0: say it"], "description": "say it", "type": "CONCLUDE", "conclusion": "There is one file."}"#;
const BROKEN: &str =
    r#"{"plan_text": ["Step 0: break"], "description": "break it", "type": "CODE", "code": "return 1 / 0"}"#;
const DONE: &str =
    r#"{"original_goal_achieved": true, "local_goal_achieved": true, "solution_summary": "By hand: 42."}"#;

fn server(replies: &[&'static str]) -> Server {
    Server::start(replies.iter().map(|reply| Reply::Pieces(vec![reply])).collect())
}

fn agent(home: &Home, server: &Server, settings: &str) {
    let tools = "tools: [ { builtin: [list_files] } ]\n";
    home.write("agent.yaml", &format!("{}{tools}loop: {{ preset: plan, {settings} }}\n", server.agent()));
}

#[test]
fn s15_versions_are_lists_and_steps_have_kind_and_result() {
    let (home, server) = (Home::new(), server(&[OPEN, LIST, USELESS, OTHER, OPEN]));
    agent(&home, &server, "");
    let end = home.windlass(["run", "agent.yaml", "Which files are here?"]);
    assert!(!end.stderr.contains("original_goal") && !end.stderr.contains("plan_text"), "{end:?}");
    assert_end!(home, end);
}

#[test]
fn s15_a_terminal_shows_no_reply_of_a_planner() {
    let (home, server) = (Home::new(), server(&[OPEN, LIST, USELESS, OTHER, OPEN]));
    agent(&home, &server, "");
    let seat = Seat::start(&home, &["run", "agent.yaml", "Which files are here?"]);
    seat.expect("There is one file.");
    let seen = seat.seen();
    assert_eq!(seat.code(), 0);
    assert!(seen.contains("plan, version 1:\r\n") && seen.contains("  - Step 1: answer"), "{seen}");
    assert!(!seen.contains("original_goal") && !seen.contains("plan_text"), "{seen}");
}

#[test]
fn s19_a_person_gives_the_result_of_a_step_that_failed() {
    let (home, server) = (Home::new(), server(&[OPEN, BROKEN, DONE]));
    agent(&home, &server, "MAX_RETRIES: 0");
    let mut seat = Seat::start(&home, &["run", "agent.yaml", "Divide."]);
    seat.expect("q1: HUMAN-IN-LOOP: Tool Failure\r\nMax retries limit (0) reached at retry 0\r\n");
    seat.expect("> ");
    seat.keys("42\n");
    seat.expect("a person gave the result: 42");
    seat.expect("By hand: 42.");
    assert_eq!(seat.code(), 0);
}

#[test]
fn s7_the_first_suggestion_at_the_limit_concludes_with_what_there_is() {
    let (home, server) = (Home::new(), server(&[OPEN, LIST, OPEN]));
    agent(&home, &server, "MAX_STEPS: 1");
    let mut seat = Seat::start(&home, &["run", "agent.yaml", "Which files are here?"]);
    seat.expect("q1: HUMAN-IN-LOOP: Plan Failure\r\nMax steps limit (1) reached at step 1\r\n");
    seat.expect("1. Conclude with current results\r\n  2. Provide final answer");
    seat.expect("> ");
    seat.keys("1\n");
    seat.expect("nothing yet");
    assert_eq!(seat.code(), 0);
}

#[test]
fn s20_a_failed_plan_is_accepted_with_enter_or_ended_with_json() {
    for (keys, answer) in [
        ("\n", "There is one file."),
        ("j {\"final_answer\": \"None.\", \"confidence\": 0.9, \"original_goal_achieved\": true}\n", "None."),
    ] {
        let (home, server) = (Home::new(), server(&[OPEN, LIST, USELESS, OTHER, OPEN]));
        agent(&home, &server, "ask_on_replan: true");
        let mut seat = Seat::start(&home, &["run", "agent.yaml", "Which files are here?"]);
        seat.expect("q1: HUMAN-IN-LOOP: Plan Failure\r\nProposed plan:\r\nStep 0: say it");
        seat.expect("> ");
        seat.keys(keys);
        seat.expect(answer);
        assert_eq!(seat.code(), 0);
    }
}
