//! E55, E62: runs that wait for a quota or a renewed key, on the command line and at a terminal.

use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{Home, hinted, until};
use crate::seat::Seat;
use crate::server::{Reply, Server};

const HOUR: Reply = Reply::Status(429, "retry-after: 3600\r\n");

/// An agent that asks this server, and waits for its quota.
fn agent(home: &Home, server: &Server, wait: bool) {
    let agent = format!("{}loop: {{ wait_for_quota: {wait} }}\n", server.agent());
    home.write("agent.yaml", &agent);
}

#[test]
fn e55_a_run_without_quota_leaves_with_its_time_and_the_command_that_goes_on() {
    let (home, server) = (Home::new(), Server::start(vec![HOUR, Reply::Pieces(vec!["Hello."])]));
    agent(&home, &server, true);
    let said = home.windlass(["run", "agent.yaml", "hi"]);
    assert_eq!((said.code, said.stdout.as_str()), (75, ""), "{said:?}");
    assert!(
        said.stderr.contains("is suspended: it waits for the quota of model openai/m until 20"),
        "{said:?}"
    );
    let listed = home.windlass(["runs", "list", "--json"]).stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&listed["status"], &listed["holder"]), (&"suspended".into(), &serde_json::Value::Null));
    assert!(listed["wakes_at"].is_u64(), "{listed}");
    assert_eq!(home.last()["quota_wait"]["until"], listed["wakes_at"]);
    let shown = home.windlass(["runs", "show", "last"]).stdout;
    assert!(shown.contains("waits for the quota of model openai/m until 20"), "{shown}");
    let all = home.windlass(["runs", "resume", "--all"]);
    assert!(all.stderr.contains("0 runs resumed"), "it is not due: {all:?}");
    // A person who resumes it knows more.
    let resumed = hinted(&home, &said, "agent.yaml");
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "Hello.\n"), "{resumed:?}");
}

#[test]
fn e55_a_run_that_was_told_nothing_fails_as_ever_and_one_without_time_says_why() {
    let (home, server) = (Home::new(), Server::start(vec![HOUR, HOUR]));
    agent(&home, &server, false);
    let said = home.windlass(["run", "agent.yaml", "hi"]);
    assert_eq!(said.code, 69, "{said:?}");
    agent(&home, &server, true);
    let said = home.windlass(["run", "agent.yaml", "--limit", "seconds=60", "hi"]);
    assert_eq!(said.code, 69, "{said:?}");
    let why = "the quota of model openai/m opens in 3600 s, after the run's limit of 60 seconds";
    assert!(said.stderr.contains(why), "{said:?}");
}

#[test]
fn e55_what_is_due_goes_on_by_itself() {
    let soon = Reply::Status(429, "retry-after-ms: 300\r\n");
    let (home, server) = (Home::new(), Server::start(vec![soon, Reply::Pieces(vec!["Hello."])]));
    agent(&home, &server, true);
    assert_eq!(home.windlass(["run", "agent.yaml", "hi"]).code, 75);
    let mut watch = home.start(["runs", "resume", "--all", "--wait"]);
    until("the run has ended", || home.last()["status"] == "answered");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn e55_at_a_terminal_a_run_waits_and_goes_on() {
    let soon = Reply::Status(429, "retry-after-ms: 1500\r\n");
    let (home, server) = (Home::new(), Server::start(vec![soon, Reply::Pieces(vec!["Hello."])]));
    agent(&home, &server, true);
    let seat = Seat::sized(&home, &["run", "agent.yaml", "hi"], (80, 24));
    seat.shows("the quota of model openai/m (next try in ");
    seat.shows("Hello.");
    assert_eq!(seat.code(), 0);
}

#[test]
fn e55_ctrl_c_leaves_a_run_that_waits_for_its_quota() {
    let (home, server) = (Home::new(), Server::start(vec![HOUR, Reply::Pieces(vec!["Hello."])]));
    agent(&home, &server, true);
    let seat = Seat::sized(&home, &["run", "agent.yaml", "hi"], (120, 24));
    seat.shows("the quota of model openai/m (next try in ");
    kill_process(Pid::from_child(&seat.child), Signal::INT).unwrap();
    seat.shows("is suspended: it waits for the quota of model openai/m until ");
    assert_eq!(seat.code(), 75);
    assert_eq!((home.last()["status"].clone(), home.events("CancelRequested")), ("suspended".into(), 0));
    assert!(home.last()["quota_wait"]["until"].is_u64());
    let ended = home.windlass(["runs", "cancel", "last"]);
    assert_eq!((ended.code, home.last()["status"].clone()), (0, "cancelled".into()), "{ended:?}");
}

/// An agent whose key a command prints, which fails as long as nobody has logged in.
fn logged_out(home: &Home, server: &Server) {
    let command = "[sh, -c, 'test -e login || { echo please log in >&2; exit 4; }; echo own-key-123456']";
    let model = format!("model: {{ use: openai/m, base_url: \"{}\", key_command: {command} }}", server.url);
    home.write("agent.yaml", &format!("name: x\n{model}\nretry: {{ retries: 0 }}\n"));
}

#[test]
fn e62_a_key_that_has_to_be_renewed_is_a_question() {
    let (home, server) = (Home::new(), Server::start(vec![Reply::Pieces(vec!["Hello."])]));
    logged_out(&home, &server);
    let said = home.windlass(["run", "agent.yaml", "hi"]);
    assert_eq!(said.code, 75, "{said:?}");
    let question = "q1 (auth): The key of model openai/m, which `sh` prints, has to be renewed: the key command `sh` \
                    failed (exit status: 4): please log in";
    assert!(said.stderr.contains(question), "{said:?}");
    let again = home.windlass(["runs", "answer", "last", "q1", "retry"]);
    assert_eq!(again.code, 75, "nobody has logged in: {again:?}");
    assert!(again.stderr.contains("q2 (auth): "), "{again:?}");
    home.write("login", "");
    assert_eq!(home.windlass(["runs", "answer", "last", "q2", "yes"]).code, 2);
    let done = hinted(&home, &again, "agent.yaml");
    assert_eq!((done.code, done.stdout.as_str()), (0, "Hello.\n"), "{done:?}");
}

#[test]
fn e62_at_a_terminal_the_question_is_put_and_enter_tries_again() {
    let (home, server) = (Home::new(), Server::start(vec![Reply::Pieces(vec!["Hello."])]));
    logged_out(&home, &server);
    let mut seat = Seat::start(&home, &["run", "agent.yaml", "hi"]);
    seat.expect("has to be renewed");
    seat.expect("renew the key, then Enter or [r]etry");
    home.write("login", "");
    seat.expect("> ");
    seat.keys("\n");
    seat.expect("Hello.");
    assert_eq!(seat.code(), 0);
}
