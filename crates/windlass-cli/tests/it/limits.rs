//! Runs that a limit cut: what is printed, shown and exported says the same, and only errors are called errors.

use crate::kit::{ASKING, Home, PLAIN, assert_end};
use crate::server::{Reply, Server};

#[test]
fn a_limit_of_seconds_says_so_everywhere() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_end!(home, home.windlass(["run", "agent.yaml", "--limit", "seconds=0", "What is 2 + 3?"]));
    let last = home.last();
    assert_eq!(last["text"], "Stopped at the limit: seconds = 0.");
    assert_eq!(last["limit"], serde_json::json!({ "limit": "seconds", "max": 0.0, "reached": 0.0 }));
    let shown = home.windlass(["runs", "show", "last"]).stdout;
    assert!(shown.contains("limit    0 seconds\n"), "{shown}");
    let resumed = home.windlass(["runs", "resume", "last"]);
    assert!(resumed.stderr.contains("stopped at its limit of 0 seconds\nhint: raise it: "), "{resumed:?}");
}

#[test]
fn tokens_that_were_used_are_told_beside_the_limit() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_end!(home, home.windlass(["run", "agent.yaml", "--limit", "tokens=1", "What is 2 + 3?"]));
    let last = home.last();
    let (max, reached) = (last["limit"]["max"].as_f64().unwrap(), last["limit"]["reached"].as_f64().unwrap());
    assert!((max - 1.0).abs() < f64::EPSILON && reached > max, "{last}");
    let shown = home.windlass(["runs", "show", "last"]).stdout;
    assert!(shown.contains(&format!("limit    1 token ({reached} used)\n")), "{shown}");
}

#[test]
fn a_run_with_an_answer_at_its_limit_is_no_error() {
    let home = Home::new();
    home.write(
        "agent.yaml",
        &format!("{PLAIN}loop: {{ limits: {{ model_calls: 1 }}, at_limit: wrap_up }}\n"),
    );
    let end = home.windlass(["run", "agent.yaml", "What is 2 + 3?"]);
    assert!(!end.stderr.contains("error:"), "{end:?}");
    assert_end!(home, end);
    let failing = home.windlass(["run", "agent.yaml", "--limit", "model_calls=0", "What is 2 + 3?"]);
    assert!(failing.stderr.contains("\nerror: run "), "it has no answer: {failing:?}");
}

#[test]
fn a_limit_without_a_number_is_not_to_be_raised() {
    let call = || Reply::Call("calculate".to_owned(), r#"{"expression":"1 + 1"}"#.to_owned());
    let (home, server) = (Home::new(), Server::start((0..8).map(|_| call()).collect()));
    home.write("agent.yaml", &format!("{}tools: [{{ builtin: [calculate] }}]\n", server.agent()));
    let end = home.windlass(["run", "agent.yaml", "--session", "s", "What is 1 + 1?"]);
    assert_eq!(end.code, 124, "{end:?}");
    for said in [end, home.windlass(["runs", "resume", "last"])] {
        assert!(said.stderr.contains("equal calls in a row\nhint: `windlass run "), "{said:?}");
        assert!(said.stderr.contains(" --session s 'go on'` continues the conversation"), "{said:?}");
        assert!(!said.stderr.contains("--limit"), "{said:?}");
    }
}

#[test]
fn a_run_that_waits_is_no_error() {
    let home = Home::new();
    home.write("agent.yaml", ASKING);
    let end = home.windlass(["run", "agent.yaml", "What is 2 + 3?"]);
    assert_eq!(end.code, 75, "{end:?}");
    assert!(end.stderr.contains("is suspended: it waits for an answer\n"), "{end:?}");
    assert!(!end.stderr.contains("error:"), "{end:?}");
}

#[test]
fn a_continued_run_counts_on_in_every_place() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "--limit", "model_calls=1", "What is 2 + 3?"]).code, 124);
    let end = home.windlass(["runs", "resume", "last", "--limit", "model_calls=2"]);
    assert!(end.stderr.contains("answered: 2 model calls, 1 tool call, "), "{end:?}");
    let watched = home.windlass(["runs", "watch", "last"]);
    assert!(watched.stderr.contains("answered: 2 model calls, 1 tool call, "), "{watched:?}");
    let shown = home.windlass(["runs", "show", "last"]).stdout;
    assert!(shown.contains("usage    2 model calls, 1 tool call, "), "{shown}");
    assert_eq!(home.last()["model_calls"], 2);
}

#[test]
fn watching_from_the_middle_counts_what_came_before() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    for from in ["1", "4", "7"] {
        let watched = home.windlass(["runs", "watch", "last", "--from", from]);
        assert!(watched.stderr.contains("answered: 2 model calls, 1 tool call, "), "{from}: {watched:?}");
        assert!(!watched.stderr.contains(" h "), "the run took no hours: {watched:?}");
    }
}
