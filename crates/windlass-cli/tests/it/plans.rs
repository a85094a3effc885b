//! Runs of a plan loop, as people see them.

use crate::kit::{Home, PATIENCE, assert_end};
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

#[test]
fn e2_s6_a_plan_that_a_limit_cut_goes_on_with_a_higher_one() {
    let (home, server) = (Home::new(), server(&[OPEN, LIST, OPEN, LIST, DONE, OPEN, OTHER, DONE]));
    agent(&home, &server, "MAX_STEPS: 1, at_limit: fail");
    let cut = home.windlass(["run", "agent.yaml", "--session", "s", "Which files are here?"]);
    assert_eq!(cut.code, 124, "{cut:?}");
    assert!(cut.stderr.contains("--limit plan_steps=2` continues it without repeating work"), "{cut:?}");
    let done = home.windlass(["runs", "resume", "last", "--limit", "plan_steps=2"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "By hand: 42.\n"), "{done:?}");
    let sent: Vec<_> = (0..5).map(|_| server.requests.recv_timeout(PATIENCE).unwrap()).collect();
    let decision = sent[3]["messages"].to_string();
    assert!(decision.contains("completed_steps") && decision.contains("list the files"), "{decision}");
    assert!(!decision.contains("\\\"plan_mode\\\": \\\"initial\\\""), "it goes on with the plan: {decision}");
    // The next run of the session has the agent's own limit and a plan of its own.
    let next = home.windlass(["run", "agent.yaml", "--session", "s", "And now?"]);
    assert_eq!((next.code, next.stdout.as_str()), (0, "There is one file.\n"), "{next:?}");
}

#[test]
fn s1_the_environment_has_the_limits_that_the_file_does_not_set() {
    let run = |file: &str, variable: (&str, &str)| {
        let (home, server) = (Home::new(), server(&[OPEN, LIST, OPEN]));
        agent(&home, &server, file);
        let mut command = home.command(["run", "agent.yaml", "Which files are here?"]);
        command.env(variable.0, variable.1);
        let end = crate::kit::end(command.output().unwrap());
        (end.code, end.stderr)
    };
    let (code, said) = run("at_limit: ask", ("MAX_STEPS", "1"));
    assert!(code == 75 && said.contains("Max steps limit (1) reached at step 1"), "{said}");
    let (code, said) = run("MAX_STEPS: 0", ("MAX_STEPS", "1"));
    assert!(code == 75 && said.contains("Max steps limit (0) reached at step 0"), "the file wins: {said}");
    let (code, said) = run("at_limit: ask", ("MAX_RETRIES", "some"));
    assert_eq!(code, 65, "{said}");
    assert_eq!(said, "error: MAX_RETRIES is `some`: expected a whole number from 0\n");
}

#[test]
fn s1_a_run_keeps_the_limits_that_the_environment_had() {
    let (home, server) = (Home::new(), server(&[OPEN, LIST, OPEN]));
    agent(&home, &server, "at_limit: ask");
    let mut command = home.command(["run", "agent.yaml", "Which files are here?"]);
    assert_eq!(crate::kit::end(command.env("MAX_STEPS", "1").output().unwrap()).code, 75);
    // Here the variable is not set, or set to something else.
    assert_eq!(home.windlass(["runs", "resume", "last"]).code, 75);
    let mut command = home.command(["runs", "answer", "last", "q1", "conclude", "enough"]);
    let end = crate::kit::end(command.env("MAX_STEPS", "7").output().unwrap());
    assert_eq!((end.code, end.stdout.as_str()), (0, "enough\n"), "{end:?}");
}
