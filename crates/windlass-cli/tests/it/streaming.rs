//! The answer streams to stdout as it comes.

use std::io::Read;

use crate::kit::{Home, finish};
use crate::server::{Reply, Server};

#[test]
fn each_piece_is_shown_before_the_next_one_comes() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Pieces(vec!["Grüße ", "aus ", "Köln."])]);
    home.write("agent.yaml", &server.agent());
    let mut child = home.start(["run", "agent.yaml", "-q", "hi"]);
    let mut stdout = child.stdout.take().unwrap();
    for piece in ["Grüße ", "aus ", "Köln."] {
        let mut bytes = vec![0; piece.len()];
        stdout.read_exact(&mut bytes).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), piece);
        // The next piece is sent only now. After the last one nobody waits for a word.
        let _last = server.go.send(());
    }
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "\n");
    assert_eq!(finish(child).code, 0);
    assert_eq!(server.requests.recv().unwrap()["stream"], true);
}

#[test]
fn e16_a_reply_that_breaks_off_is_void_and_begins_again() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Cut("Half an ans"), Reply::Pieces(vec!["The whole answer."])]);
    home.write("agent.yaml", &server.agent());
    let end = home.windlass(["run", "agent.yaml", "hi"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "Half an ans\nThe whole answer.\n"), "{end:?}");
    assert!(end.stderr.contains("the reply broke off; ignore the part shown above"), "{end:?}");
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
