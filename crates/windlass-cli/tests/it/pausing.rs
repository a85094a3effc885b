//! Pauses, messages of every kind, and pinned messages: what people say to a run from outside and in a chat.

use std::process::Child;

use crate::kit::{ASKING, Home, PATIENCE, SLOW, assert_end, finish, hinted, lines, until};
use crate::seat::Seat;
use crate::server::{Reply, Server};

/// A run of [`SLOW`] whose sum has begun.
fn adding(home: &Home) -> Child {
    home.write("agent.yaml", SLOW);
    let child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    child
}

/// A run of [`ASKING`] that waits for its approval, and that nobody drives.
fn asking(home: &Home) {
    home.write("agent.yaml", ASKING);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 75);
}

fn questions(home: &Home) -> Vec<String> {
    let last = home.last();
    let open = last["questions"].as_array().cloned().unwrap_or_default();
    open.iter().map(|open| open["kind"].as_str().unwrap().to_owned()).collect()
}

/// The texts of the people in the newest run.
fn said(home: &Home) -> Vec<(String, bool)> {
    let last = home.last();
    let said = last["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user");
    said.map(|message| (message["content"].as_str().unwrap().to_owned(), message["pinned"] == true)).collect()
}

#[test]
fn p21_e27_a_paused_run_ends_its_calls_is_suspended_and_says_how_it_goes_on() {
    let home = Home::new();
    let child = adding(&home);
    assert_end!(home, home.windlass(["runs", "pause", "last", "until", "lunch"]));
    until("the pause is durable", || home.events("InputRequested") == 1);
    assert_eq!(home.last()["status"], "running", "its call goes on");
    home.write("go", "");
    let paused = finish(child);
    assert_end!(home, paused);
    assert_eq!(home.events("CallFinished"), 1);
    assert!(home.windlass(["runs", "list", "--status", "suspended"]).stdout.contains("suspended"));
    let shown = home.windlass(["runs", "show", "last"]).stdout;
    let waits = format!("q1 (pause): until lunch\n  - resume\n  windlass runs resume {}\n", home.id());
    assert!(shown.ends_with(&waits), "{shown}");
    let done = hinted(&home, &paused, "agent.yaml");
    assert_end!(home, done);
    assert_eq!((home.events("CallStarted"), lines(&home.path("sums"))), (1, 1), "the call ran once");
}

#[test]
fn p21_the_answer_resume_ends_a_pause_with_a_message_or_without() {
    for (answer, heard) in [(&["resume"][..], 0), (&["resume", "in", "French"], 1)] {
        let home = Home::new();
        let child = adding(&home);
        assert_eq!(home.windlass(["runs", "pause", "last"]).code, 0);
        until("the pause is durable", || home.events("InputRequested") == 1);
        home.write("go", "");
        assert_eq!(finish(child).code, 75);
        let wrong = home.windlass(["runs", "answer", "last", "q1", "approve"]);
        assert_eq!(wrong.code, 2, "{wrong:?}");
        assert!(wrong.stderr.contains("expected resume [MESSAGE]"), "{wrong:?}");
        let args = ["runs", "answer", "last", "q1"].iter().chain(answer);
        let done = crate::kit::end(home.command(args).output().unwrap());
        assert_eq!(done.code, 0, "{done:?}");
        assert_eq!(
            done.stdout == "2 + 5 is 7.\n",
            heard == 0,
            "the tour answers what was said last: {done:?}"
        );
        assert_eq!(home.events("Steered"), heard);
    }
}

#[test]
fn p21_e29_a_kill_while_a_run_is_paused_loses_neither_pause_nor_call() {
    let home = Home::new();
    let mut child = adding(&home);
    assert_eq!(home.windlass(["runs", "pause", "last"]).code, 0);
    until("the pause is durable", || home.events("InputRequested") == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    home.write("go", "");
    let all = home.windlass(["runs", "resume", "--all"]);
    assert_eq!(all.code, 0, "{all:?}");
    assert_eq!(questions(&home), ["pause"], "{all:?}");
    assert_eq!((home.events("CallFinished"), home.events("TurnStarted")), (1, 1), "the model is not asked");
    let done = home.windlass(["runs", "resume", "last", "--say", "in French"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(said(&home), [("What is 2 + 5?".to_owned(), false), ("in French".to_owned(), false)]);
    assert_eq!((home.events("InputReceived"), home.events("CallFinished")), (1, 1));
}

/// The pause lies in the inbox: no process is there to take it.
#[test]
fn p21_a_pause_of_a_run_that_nobody_drives_is_over_once_the_run_is_resumed() {
    let home = Home::new();
    asking(&home);
    assert_end!(home, home.windlass(["runs", "pause", "last", "until", "lunch"]));
    assert_eq!(home.windlass(["runs", "answer", "--leave", "last", "q1", "approve"]).code, 0);
    let done = home.windlass(["runs", "resume", "last"]);
    assert_end!(home, done);
    assert_eq!((home.events("InputRequested"), home.events("InputReceived")), (2, 2), "it is on record");

    // A word goes with it, and an approval is still waited for.
    asking(&home);
    assert_eq!(home.windlass(["runs", "pause", "last"]).code, 0);
    let waits = home.windlass(["runs", "resume", "last", "--say", "in French"]);
    assert_eq!(waits.code, 75, "{waits:?}");
    assert_eq!(questions(&home), ["approval"]);
    let done = home.windlass(["runs", "answer", "last", "q1", "approve"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(home.events("CallFinished"), 1);
    assert_eq!(said(&home).last().unwrap().0, "in French");
}

#[test]
fn p21_a_pause_of_a_run_that_nobody_drives_outlasts_an_approval_and_a_supervisor() {
    let home = Home::new();
    asking(&home);
    assert_eq!(home.windlass(["runs", "pause", "last", "until", "lunch"]).code, 0);
    let held = home.windlass(["runs", "answer", "last", "q1", "approve"]);
    assert_end!(home, held);
    assert_eq!((home.events("CallFinished"), home.events("TurnStarted")), (1, 1), "the model is not asked");
    assert_eq!(home.windlass(["runs", "resume", "--all"]).code, 0);
    assert_eq!(questions(&home), ["pause"], "nothing but a person ends it");
    let done = hinted(&home, &held, "agent.yaml");
    assert_eq!((done.code, done.stdout.as_str()), (0, "2 + 3 is 5.\n"), "{done:?}");
}

#[test]
fn p21_a_pause_is_said_in_json_and_json_resumes() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let child = home.start(["run", "agent.yaml", "--json", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    assert_eq!(home.windlass(["runs", "pause", "last", "until", "lunch"]).code, 0);
    until("the pause is durable", || home.events("InputRequested") == 1);
    home.write("go", "");
    let paused = finish(child);
    assert_eq!(paused.code, 75, "{paused:?}");
    let last: serde_json::Value = serde_json::from_str(paused.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["status"], "suspended", "{last}");
    assert_eq!(last["questions"][0]["kind"], "pause", "{last}");
    let hint = format!("windlass runs resume {}", home.id());
    assert_eq!(last["failure"]["hints"], serde_json::json!([hint]), "{last}");
    let shown = home.last();
    assert_eq!(shown["status"], "suspended", "{shown}");
    assert_eq!(shown["questions"][0]["kind"], "pause", "{shown}");
    assert_eq!(shown["questions"][0]["text"], "until lunch", "{shown}");
    let done = home.windlass(["runs", "resume", "last", "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stdout.contains("InputReceived") && done.stdout.contains("2 + 5 is 7."), "{done:?}");
}

#[test]
fn e28_words_and_pauses_that_nobody_can_take_are_refused() {
    let home = Home::new();
    asking(&home);
    assert_end!(home, home.windlass(["runs", "steer", "--kind", "order", "last", "hurry"]));
    assert_end!(home, home.windlass(["runs", "steer", "nobody", "hurry"]));
    assert_end!(home, home.windlass(["runs", "pause", "00000000-0000-7000-8000-000000000000"]));
    assert_end!(home, home.windlass(["runs", "resume", "last", "--say", "hurry"]));
    assert_eq!(home.windlass(["runs", "steer", "last"]).code, 2, "a message is needed");
    assert_eq!(home.windlass(["runs", "answer", "last", "q1", "approve"]).code, 0);
    assert_end!(home, home.windlass(["runs", "pause", "last"]));
    assert_end!(home, home.windlass(["runs", "steer", "--kind", "correction", "last", "the", "year"]));
}

#[test]
fn e28_a_second_pause_is_refused() {
    let home = Home::new();
    let child = adding(&home);
    assert_eq!(home.windlass(["runs", "pause", "last"]).code, 0);
    until("the pause is durable", || home.events("InputRequested") == 1);
    assert_end!(home, home.windlass(["runs", "pause", "last", "again"]));
    home.write("go", "");
    assert_eq!(finish(child).code, 75);
}

#[test]
fn p21_p36_each_kind_of_message_reaches_the_run_in_its_own_words() {
    let home = Home::new();
    let child = adding(&home);
    assert_end!(home, home.windlass(["runs", "steer", "last", "mind", "the", "date"]));
    assert_eq!(home.windlass(["runs", "steer", "--kind", "correction", "last", "it is 2026"]).code, 0);
    assert_eq!(
        home.windlass(["runs", "steer", "--kind", "clarification", "--pin", "last", "in days"]).code,
        0
    );
    assert_eq!(home.windlass(["runs", "steer", "--kind", "objective", "last", "--pin is text"]).code, 0);
    until("all of it is durable", || home.events("Steered") == 4);
    home.write("go", "");
    assert_eq!(finish(child).code, 0);
    let own = |text: &str| (text.to_owned(), false);
    assert_eq!(
        said(&home),
        [
            own("What is 2 + 5?"),
            own("mind the date"),
            own("[Correction]: it is 2026"),
            ("[Clarification]: in days".to_owned(), true),
            own("[The objective is now]: --pin is text"),
        ]
    );
}

/// The view of `refine` shows the last round: a pinned message of an earlier run stays.
#[test]
fn p21_e63_a_pinned_input_is_in_every_later_request_of_its_session() {
    let home = Home::new();
    let server = Server::start(["One.", "Two.", "Three."].map(|text| Reply::Pieces(vec![text])).into());
    home.write("agent.yaml", &format!("{}instructions: Tell.\nloop: {{ preset: refine }}\n", server.agent()));
    for args in [
        &["run", "agent.yaml", "--session", "s", "--pin", "Name no captain."][..],
        &["run", "agent.yaml", "--session", "s", "Who sails?"],
        &["run", "agent.yaml", "--session", "s", "And who else?"],
    ] {
        let end = crate::kit::end(home.command(args).output().unwrap());
        assert_eq!(end.code, 0, "{end:?}");
    }
    let sent = || {
        let request = server.requests.recv_timeout(PATIENCE).unwrap();
        let messages = request["messages"].as_array().unwrap().clone();
        let users = messages.into_iter().filter(|message| message["role"] == "user");
        users.map(|message| message["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(sent(), ["Name no captain."]);
    assert_eq!(sent(), ["Name no captain.", "The initial input for this step is: Who sails?"]);
    assert_eq!(sent(), ["Name no captain.", "The initial input for this step is: And who else?"]);
}

#[test]
fn p21_a_chat_is_paused_and_goes_on_at_the_terminal() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let mut seat = Seat::start(&home, &["chat", "--plain", "agent.yaml"]);
    seat.expect("> ");
    seat.keys("/pause\r");
    seat.expect("the agent is not working");
    seat.prompted_after("the agent is not working");
    seat.keys("What is 2 + 5?\r");
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    seat.keys("/pause until lunch\n");
    until("the pause is durable", || home.events("InputRequested") == 1);
    home.write("go", "");
    seat.expect("q1: until lunch");
    seat.expect("[r]esume, [r]esume MESSAGE, [l]ater, /quit");
    seat.keys("r\n");
    seat.expect("2 + 5 is 7.");
    seat.prompted_after("2 + 5 is 7.");
    seat.keys("\u{4}");
    assert_eq!(seat.code(), 0);
    assert_eq!((home.events("RunPaused"), home.events("CallStarted")), (1, 1));
}

#[test]
fn a_message_that_a_run_ended_without_hearing_is_told_with_its_beginning() {
    let home = Home::new();
    let child = adding(&home);
    assert_eq!(home.windlass(["runs", "steer", "last", "mind", "the", "date"]).code, 0);
    until("it is durable", || home.events("Steered") == 1);
    assert_eq!(home.windlass(["runs", "cancel", "last"]).code, 0);
    home.write("go", "");
    let ended = finish(child);
    let words = "could hear what was said last: \"mind the date\"";
    assert!(ended.stderr.contains(words), "{ended:?}");
    let shown = home.windlass(["runs", "show", "last"]).stdout;
    assert!(shown.contains(words), "{shown}");
}

#[test]
fn a_message_to_a_session_whose_process_died_says_that_nobody_drives_its_run() {
    let home = Home::new();
    home.write("agent.yaml", &format!("{SLOW}loop: {{ while_running: steer }}\n"));
    let mut child = home.start(["run", "agent.yaml", "--session", "st", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let said = home.windlass(["run", "agent.yaml", "--session", "st", "in French"]);
    let resume = format!("has no driver now; the message enters after `windlass runs resume {}`", home.id());
    assert!(said.stderr.contains(&resume), "{said:?}");
}
