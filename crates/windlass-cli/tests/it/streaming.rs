//! Replies that come piece by piece, where stdout is no terminal: it gets the final answer only.

use crate::kit::{Home, assert_end};
use crate::server::{Reply, Server};

#[test]
fn e16_a_reply_that_breaks_off_is_void_and_begins_again() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Cut("Half an ans"), Reply::Pieces(vec!["The whole answer."])]);
    home.write("agent.yaml", &server.agent());
    let end = home.windlass(["run", "agent.yaml", "hi"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "The whole answer.\n"), "{end:?}");
    assert!(!end.stderr.contains("ignore the part shown above"), "nothing was shown: {end:?}");
    assert!(end.stderr.contains("; again in "), "{end:?}");
}

#[test]
fn e42_a_busy_provider_is_asked_again_and_that_is_said() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Status(429, "retry-after: 0\r\n"), Reply::Pieces(vec!["Hello."])]);
    home.write("agent.yaml", &server.agent());
    let end = home.windlass(["run", "agent.yaml", "hi"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "Hello.\n"), "{end:?}");
    assert!(end.stderr.contains("slow down (429); again in "), "{end:?}");
    assert!(end.stderr.contains("1 model call, 12 tokens in, 3 out"), "{end:?}");
}

#[test]
fn a_call_in_text_form_is_no_answer() {
    let home = Home::new();
    let call = r#"{"name": "calculate", "arguments": {"expression": "2 + 3"}}"#;
    let server = Server::start(vec![Reply::Pieces(vec![call]), Reply::Pieces(vec!["It is 5."])]);
    home.write("agent.yaml", &format!("{}tools: [ {{ builtin: [calculate] }} ]\n", server.agent()));
    let end = home.windlass(["run", "agent.yaml", "hi"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "It is 5.\n"), "{end:?}");
    assert!(end.stderr.contains("-> calculate"), "{end:?}");
}

#[test]
fn an_answer_that_only_looks_like_a_call_is_shown_whole() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Pieces(vec!["[1] is a footnote."])]);
    home.write("agent.yaml", &server.agent());
    let end = home.windlass(["run", "agent.yaml", "-q", "hi"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "[1] is a footnote.\n"), "{end:?}");
}

#[test]
fn what_a_provider_says_about_a_bad_key_is_passed_on() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Status(401, "")]);
    home.write("agent.yaml", &server.agent());
    let end = home.windlass(["run", "agent.yaml", "hi"]);
    assert_eq!(end.code, 69, "{end:?}");
    assert!(end.stderr.contains("slow down"), "the provider's own words: {end:?}");
    assert_eq!(server.requests.iter().count(), 1, "it is not asked again");
}

const NUMBERS: &str =
    "output: { schema: { type: object, properties: { n: { type: integer } }, required: [n] } }\n";

#[test]
fn elsewhere_than_at_a_terminal_stdout_has_the_final_answer_only() {
    let home = Home::new();
    let server = Server::start(vec![
        Reply::Pieces(vec!["I will not call it."]),
        Reply::Call("__finish__".into(), r#"{"n": "many"}"#.into()),
        Reply::Call("__finish__".into(), r#"{"n": 4}"#.into()),
    ]);
    home.write("agent.yaml", &format!("{}{NUMBERS}", server.agent()));
    let end = home.windlass(["run", "agent.yaml", "How many?"]);
    let output: serde_json::Value = serde_json::from_str(&end.stdout).expect("`| jq` reads it");
    assert_eq!((end.code, output), (0, serde_json::json!({ "n": 4 })), "{end:?}");
}

#[test]
fn a_failed_run_leaves_stdout_empty_and_its_sentence_goes_to_stderr() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Pieces(vec!["Hm."]), Reply::Pieces(vec!["Hm."])]);
    let talk = "loop: { talk: { remind: 1 } }\n";
    home.write("agent.yaml", &format!("{}{NUMBERS}{talk}", server.agent()));
    assert_end!(home, home.windlass(["run", "agent.yaml", "-q", "How many?"]));
}

#[test]
fn a_run_at_its_limit_leaves_stdout_empty() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Call("calculate".into(), r#"{"expression": "2 + 3"}"#.into())]);
    let more = "tools: [ { builtin: [calculate] } ]\nloop: { limits: { model_calls: 1 } }\n";
    home.write("agent.yaml", &format!("{}{more}", server.agent()));
    let end = home.windlass(["run", "agent.yaml", "How many?"]);
    assert_eq!((end.code, end.stdout.as_str()), (124, ""), "{end:?}");
    assert!(end.stderr.contains("at the end: "), "{end:?}");
}
