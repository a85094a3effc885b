//! Limits on cost hold whatever fails and however often the process is killed.

use std::process::Child;
use std::time::Duration;

use serde_json::Value;

use crate::kit::{End, Home, assert_end, finish, until};
use crate::server::{Reply, Server};

/// A reply that begins, and ends only when the test says so.
fn held() -> Reply {
    Reply::Pieces(vec!["Hello", " there."])
}

/// An agent file that asks this server, with a key of its own in each line of `models` and a limit on cost.
fn agent(server: &Server, models: &[(&str, &str)], limit: &str) -> String {
    let entry = |(name, settings): &(&str, &str)| {
        format!("  - {{ use: openai/{name}, base_url: \"{}\", {settings} }}\n", server.url)
    };
    let models: String = models.iter().map(entry).collect();
    format!(
        "name: x\nmodel:\n{models}retry: {{ retries: 3, wait_ms: 1, max_wait_ms: 2 }}\nloop: {{ limits: {{ {limit} }} }}\n"
    )
}

/// Starts a command and kills it once the server has its request.
fn killed<const N: usize>(home: &Home, server: &Server, args: [&str; N]) {
    let child = home.start(args);
    kill(child, server);
}

fn kill(mut child: Child, server: &Server) {
    let asked = server.requests.recv_timeout(Duration::from_mins(1));
    assert!(asked.is_ok(), "the model is asked");
    child.kill().unwrap();
    child.wait().unwrap();
    server.go.send(()).unwrap();
}

fn said(end: &End) -> Value {
    assert_eq!(end.stdout.lines().count(), 1, "{end:?}");
    serde_json::from_str(&end.stdout).unwrap()
}

#[test]
fn a_run_whose_reply_kills_the_process_is_passed_over_after_five_attempts() {
    let home = Home::new();
    let server = Server::start((0..7).map(|_| held()).collect());
    home.write("agent.yaml", &server.agent());
    killed(&home, &server, ["run", "agent.yaml", "Hi"]);
    for _ in 0..4 {
        killed(&home, &server, ["runs", "resume", "--all"]);
    }
    assert_eq!(home.events("TurnStarted"), 5, "each attempt is on record");
    let list = home.windlass(["runs", "list"]).stdout;
    assert!(list.contains("interrupted"), "{list}");
    let passed = home.windlass(["runs", "resume", "--all"]);
    assert_end!(home, passed);
    let told = said(&home.windlass(["runs", "resume", "--all", "--json"]));
    assert_eq!((&told["resumed"], &told["lost_attempts"]), (&false.into(), &5.into()));
    assert_eq!(told["lost_in"], told["run"]);
    assert!(server.requests.try_recv().is_err(), "nobody is asked");
    // By hand it may be tried five times more, and then by itself again.
    killed(&home, &server, ["runs", "resume", "last"]);
    let child = home.start(["runs", "resume", "--all"]);
    assert!(server.requests.recv_timeout(Duration::from_mins(1)).is_ok());
    server.go.send(()).unwrap();
    let end = finish(child);
    assert_eq!(end.code, 0, "{end:?}");
    let last = home.last();
    assert_eq!(last["status"], "answered");
    assert_eq!(home.events("TurnStarted"), 7);
    assert_eq!(home.events("TurnCompleted"), 1);
}

#[test]
fn e40_kills_reserve_what_they_may_have_cost_and_the_run_ends_at_its_limit() {
    let home = Home::new();
    let server = Server::start((0..3).map(|_| held()).collect());
    let model = [("m", "max_tokens: 300000, prices: { input: 1, output: 1 }")];
    home.write("agent.yaml", &agent(&server, &model, "cost_usd: 1"));
    killed(&home, &server, ["run", "agent.yaml", "Hi"]);
    killed(&home, &server, ["runs", "resume", "last"]);
    killed(&home, &server, ["runs", "resume", "--all"]);
    let end = home.windlass(["runs", "resume", "last"]);
    assert_end!(home, end);
    let last = home.last();
    assert_eq!(last["status"], "limit(cost_usd)");
    assert_eq!(last["cost_usd"], 0.0, "a reservation is no cost");
    assert_eq!(home.events("TurnStarted"), 3, "the fourth call is not made");
}

#[test]
fn e40_an_overshoot_is_reported() {
    let home = Home::new();
    let server = Server::start(vec![held()]);
    server.go.send(()).unwrap();
    home.write("agent.yaml", &agent(&server, &[("m", "prices: { input: 1, output: 1 }")], "tokens: 2"));
    let end = home.windlass(["run", "agent.yaml", "Hi"]);
    assert_end!(home, end);
    assert!(end.stderr.contains("A limit was overshot: "), "{end:?}");
    let shown = home.windlass(["runs", "show", "last"]).stdout;
    assert!(shown.contains(" tokens of 2 are used: a running call went beyond the limit"), "{shown}");
    let last = home.last();
    assert_eq!(
        (&last["overshoots"][0]["limit"], &last["overshoots"][0]["max"]),
        (&"tokens".into(), &2.0.into())
    );
}

#[test]
fn e40_a_run_that_is_cancelled_after_a_kill_asks_nobody() {
    let home = Home::new();
    let server = Server::start(vec![held(), held()]);
    home.write("agent.yaml", &server.agent());
    killed(&home, &server, ["run", "agent.yaml", "Hi"]);
    let end = home.windlass(["runs", "cancel", "last"]);
    assert_eq!(end.code, 0, "{end:?}");
    assert_eq!(home.last()["status"], "cancelled");
    assert!(server.requests.try_recv().is_err(), "nobody is asked");
}

#[test]
fn e43_a_dear_fallback_behind_a_cheap_model_does_not_fit_into_the_limit() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Refuses(404, "no such model"), held()]);
    let models = [
        ("cheap", "max_tokens: 100, prices: { input: 0.1, output: 0.1 }"),
        ("dear", "max_tokens: 40000, prices: { input: 1, output: 1000 }"),
    ];
    home.write("agent.yaml", &agent(&server, &models, "cost_usd: 1"));
    let end = home.windlass(["run", "agent.yaml", "Hi"]);
    let end = End { stderr: end.stderr.replace(&server.url, "SERVER"), ..end };
    assert_end!(home, end);
    assert_eq!(server.requests.iter().take(1).count(), 1);
    assert!(server.requests.try_recv().is_err(), "the dear one is not asked");
}

#[test]
fn e41_a_broken_reply_that_used_up_the_limit_is_not_asked_for_again() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Cut("A whole sentence of tokens."), held()]);
    let model = [("m", "prices: { input: 1000000, output: 1000000 }")];
    home.write("agent.yaml", &agent(&server, &model, "cost_usd: 1"));
    let end = home.windlass(["run", "agent.yaml", "Hi"]);
    assert_eq!(end.code, 124, "{end:?}");
    until("the run has ended", || home.last()["status"] == "limit(cost_usd)");
    assert_eq!((home.events("TurnStarted"), home.events("TurnFailed")), (1, 1));
}
