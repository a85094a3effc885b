//! Approvals at a terminal: what a person sees, and what they can answer.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::kit::{ASKING, Home, PLAIN, assert_end, until};
use crate::seat::Seat;
use crate::server::{Reply, Server};

/// A tool that keeps its arguments.
const WRITES: &str = "\
tools:
  - command:
      name: write_file
      description: Writes a file.
      run: [sh, -c, \"cat >> got.json\"]
      parameters: { type: object, properties: { path: { type: string }, content: { type: string } }, required: [path, content] }
      approve: true
";

/// A model that writes that text to `notes.txt`, and then is done.
fn writer(home: &Home, content: &str) -> Server {
    let args = json!({ "path": "notes.txt", "content": content }).to_string();
    let server = Server::start(vec![Reply::Call("write_file".into(), args), Reply::Pieces(vec!["Done."])]);
    home.write("agent.yaml", &format!("{}{WRITES}", server.agent()));
    server
}

/// Compares what a terminal has shown with a snapshot.
macro_rules! assert_seen {
    ($home:expr, $seat:expr) => {{
        let mut settings = insta::Settings::clone_current();
        settings.add_filter("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "RUN");
        settings.add_filter("[0-9]+ tokens in, [0-9]+ out", "TOKENS");
        settings.add_filter("[0-9.]+ (ms|s)\\b", "TIME");
        settings.set_omit_expression(true);
        let folder = $home.path("").display().to_string();
        let seen = $seat.seen().replace("\r\n", "\n").replace(folder.trim_end_matches('/'), "FOLDER");
        settings.bind(|| insta::assert_snapshot!(seen));
    }};
}

#[test]
fn a_write_to_a_file_shows_its_change_and_runs_once_it_is_allowed() {
    let home = Home::new();
    home.write("notes.txt", "Milk\nBread\nEggs \u{1b}[31mred\n");
    let _server = writer(&home, "Milk\nButter\nEggs \u{1b}[31mred\nSalt\n");
    let mut seat = Seat::start(&home, &["run", "agent.yaml", "Write it down."]);
    seat.expect("[l]ater\r\n> ");
    seat.keys("y please\n");
    seat.expect("expected nothing");
    seat.keys("y\n");
    seat.expect("1 effect: write_file notes.txt");
    assert_seen!(home, seat);
    assert_eq!(seat.code(), 0);
    let got: serde_json::Value = serde_json::from_str(&home.read("got.json")).unwrap();
    assert_eq!(got["content"], "Milk\nButter\nEggs \u{1b}[31mred\nSalt\n");
}

#[test]
fn a_text_of_many_lines_is_cut_and_shown_whole_on_demand() {
    let home = Home::new();
    let lines: Vec<String> = (1..=70).map(|line| format!("line {line}")).collect();
    let _server = writer(&home, &lines.join("\n"));
    let mut seat = Seat::start(&home, &["run", "agent.yaml", "Write it down."]);
    seat.expect("… 10 more lines: [s]how all");
    seat.expect("notes.txt: no such file here; the tool may write to another place)");
    seat.expect("[s]how all, [l]ater\r\n> ");
    let seen = seat.seen();
    assert!(seen.contains("| line 70"), "the end, too: {seen}");
    assert!(!seen.contains("| line 45"), "{seen}");
    seat.keys("s\n");
    seat.expect("| line 45");
    until("there is a prompt", || seat.seen().ends_with("[l]ater\r\n> "));
    seat.keys("n not that long\n");
    seat.expect("answered: ");
    assert_eq!(seat.code(), 0);
    assert_eq!(home.read("got.json"), "");
}

#[test]
fn questions_of_one_reply_have_a_frame_each_and_nothing_is_printed_into_it() {
    let home = Home::new();
    let calls = ["one", "two", "three"].map(|text| json!({ "path": text, "content": text }).to_string());
    let replies = vec![Reply::Calls("write_file".into(), calls.to_vec()), Reply::Pieces(vec!["Done."])];
    let server = Server::start(replies);
    home.write("agent.yaml", &format!("{}{WRITES}", server.agent()));
    let mut seat = Seat::start(&home, &["run", "agent.yaml", "Write it down."]);
    for (number, id) in [(1, "q1"), (2, "q2"), (3, "q3")] {
        seat.expect(&format!("{id} ({number} of 3): May `write_file` run?"));
        until("there is a prompt", || seat.seen().ends_with("[l]ater\r\n> "));
        seat.keys(if number == 2 { "n\n" } else { "y\n" });
    }
    seat.expect("answered: ");
    let seen = seat.seen().replace("\r\n", "\n");
    assert_eq!(seat.code(), 0);
    // Between a question and its answer stands the question alone.
    for (number, text) in [(1, "one"), (2, "two"), (3, "three")] {
        let from = seen.find(&format!("q{number} ({number} of 3)")).unwrap();
        let frame = &seen[from..from + seen[from..].find("\n> ").unwrap()];
        assert!(frame.contains(&format!("path: {text}")), "{seen}");
        assert!(!frame.contains("-> ") && !frame.contains("<- ") && !frame.contains("answer to"), "{seen}");
    }
    for line in ["answer to q1: approve", "answer to q2: deny", "answer to q3: approve"] {
        assert!(seen.contains(line), "{seen}");
    }
    let shown = home.windlass(["runs", "show", "last"]).stdout;
    assert!(
        shown.contains("approved (q1, at the terminal)") && shown.contains("denied (q2, at the terminal)"),
        "{shown}"
    );
}

/// An editor that replaces `Milk` with what its file `say` says, and keeps what it was given.
const EDITOR: &str = "cat \"$1\" >> given; sed -i \"s/Milk/$(cat say)/\" \"$1\"";

#[test]
fn the_persons_editor_gets_the_arguments_and_what_does_not_fit_is_told_and_offered_again() {
    let home = Home::new();
    let _server = writer(&home, "Milk");
    home.write("edit.sh", EDITOR);
    home.write("say", "Milk");
    let editor = [("EDITOR", "false"), ("VISUAL", "sh edit.sh")];
    let mut seat = Seat::start_with_env(&home, &["run", "agent.yaml", "Write it down."], &editor);
    seat.expect("[l]ater\r\n> ");
    seat.keys("e\n");
    seat.expect("the arguments were not changed\r\n");
    assert!(home.read("given").contains("\"content\": \"Milk\""), "{}", home.read("given"));
    home.write("say", "\", \"content\": 7, \"x\": \"Milk");
    until("there is a prompt", || seat.seen().ends_with("[l]ater\r\n> "));
    seat.keys("e\n");
    seat.expect("is not of type");
    until("there is a prompt", || seat.seen().ends_with("[l]ater\r\n> "));
    // The same text is there again.
    home.write(
        "edit.sh",
        "grep -q '\"x\": \"Milk\"' \"$1\" && echo '{\"path\": \"a\", \"content\": \"b\"}' > \"$1\"",
    );
    seat.keys("e\n");
    seat.expect("answered: ");
    assert!(seat.seen().contains("approved: write_file, with changed arguments"), "{}", seat.seen());
    assert_eq!(seat.code(), 0);
    assert_eq!(home.read("got.json"), r#"{"path":"a","content":"b"}"#);
}

#[test]
fn sigterm_while_the_editor_is_open_leaves_the_terminal_and_the_question_as_they_were() {
    let home = Home::new();
    let _server = writer(&home, "Milk");
    home.write("edit.sh", "stty raw -echo; echo > open; while [ -e open ]; do sleep 0.02; done");
    let run = ["run", "agent.yaml", "Write it down."];
    let mut seat = Seat::start_with_env(&home, &run, &[("EDITOR", "exec sh edit.sh")]);
    let before = format!("{:?}", seat.modes());
    seat.expect("[l]ater\r\n> ");
    seat.keys("e\n");
    until("the editor is open", || home.path("open").exists());
    assert!(seat.is_raw());
    kill_process(Pid::from_child(&seat.child), Signal::TERM).unwrap();
    assert_eq!(seat.ended(), 143, "{:?}", seat.seen());
    assert_eq!(format!("{:?}", seat.modes()), before);
    assert_eq!(home.windlass(["runs", "answer", "last", "q1", "approve"]).code, 0);
    assert!(home.read("got.json").contains("Milk"));
}

#[test]
fn an_editor_that_fails_changes_nothing_and_without_one_the_arguments_are_typed() {
    let home = Home::new();
    let _server = writer(&home, "Milk");
    let run = ["run", "agent.yaml", "Write it down."];
    let mut seat = Seat::start_with_env(&home, &run, &[("EDITOR", "false")]);
    seat.expect("[l]ater\r\n> ");
    seat.keys("e\n");
    seat.expect("the editor `false` failed (exit status: 1); the arguments were not changed");
    until("there is a prompt", || seat.seen().ends_with("[l]ater\r\n> "));
    seat.keys("l\n");
    seat.expect("is suspended");
    assert_eq!(seat.code(), 75);
    let mut seat = Seat::start(&home, &["runs", "resume", "last"]);
    seat.expect("[l]ater\r\n> ");
    seat.keys("e\n");
    seat.expect("arguments (JSON): ");
    seat.keys("{\"path\": \"c\"}\n");
    seat.expect("required property");
    until("there is a prompt", || seat.seen().ends_with("[l]ater\r\n> "));
    seat.keys("e {\"path\": \"c\", \"content\": \"d\"}\n");
    seat.expect("answered: ");
    assert_eq!(seat.code(), 0);
    assert_eq!(home.read("got.json"), r#"{"path":"c","content":"d"}"#);
}

/// Sums by a command, which a person must allow: commands are sealed under a salt of the process.
fn sums(command: &str) -> String {
    format!(
        "name: sums\nmodel: tour\ntools: [ {{ command: {{ name: calculate, run: [{command}], description: Sums., approve: true, \
         parameters: {{ type: object, properties: {{ expression: {{ type: string }} }} }} }} }} ]\n"
    )
}

#[test]
fn always_allows_a_tool_for_the_session_in_every_process_until_it_changes() {
    let home = Home::new();
    home.write("agent.yaml", &sums("echo, \"7\""));
    let run = |session: &str, input: &str| home.windlass(["run", "agent.yaml", "--session", session, input]);
    assert_eq!(run("trip", "What is 2 + 5?").code, 75);
    assert_end!(home, home.windlass(["runs", "answer", "last", "q1", "always"]));
    assert_end!(home, run("trip", "What is 3 + 4?"));
    let mut show = home.windlass(["runs", "show", "last"]);
    let digest = show.stdout.split_once("sums (").and_then(|(_, rest)| rest.get(..12)).unwrap().to_owned();
    show.stdout = show.stdout.replace(&digest, "DIGEST");
    assert_end!(home, show);
    // Another session, a fork and another command ask.
    assert_eq!(run("other", "What is 3 + 4?").code, 75);
    home.write("agent.yaml", &sums("echo, \"8\""));
    let end = run("trip", "What is 4 + 4?");
    assert_eq!(end.code, 75, "{end:?}");
    assert_eq!(home.windlass(["runs", "answer", "last", "q1", "approve"]).code, 0);
    // The rule was made for the command as it was, and is still there.
    home.write("agent.yaml", &sums("echo, \"7\""));
    assert_eq!(run("trip", "What is 5 + 2?").code, 0);
}

#[test]
fn always_at_the_prompt_of_a_chat_asks_no_more() {
    let home = Home::new();
    home.write("agent.yaml", ASKING);
    let mut seat = Seat::start(&home, &["chat", "--plain", "agent.yaml"]);
    seat.prompted_after("session: ");
    seat.keys("What is 2 + 3?\r");
    seat.expect("/quit\r\n> ");
    seat.keys("a\n");
    seat.expect("calculate needs no further approval in this session");
    seat.prompted_after("2 + 3 is 5.");
    seat.keys("What is 4 + 4?\r");
    seat.expect("approved for the session: calculate");
    seat.prompted_after("4 + 4 is 8.");
    seat.keys("/quit\r");
    seat.expect("continues this conversation");
    assert_eq!(seat.code(), 0);
}

#[test]
fn ctrl_c_at_a_question_leaves_the_question_and_not_the_turn() {
    let home = Home::new();
    home.write("agent.yaml", ASKING);
    let seat = Seat::start(&home, &["run", "agent.yaml", "What is 2 + 3?"]);
    seat.expect("[l]ater\r\n> ");
    kill_process(Pid::from_child(&seat.child), Signal::INT).unwrap();
    seat.expect("> \r\nrun ");
    seat.expect("is suspended: it waits for an answer");
    seat.expect("windlass runs answer ");
    assert_eq!(seat.code(), 75);
    assert_eq!(home.events("CancelRequested"), 0);
    assert_eq!(home.windlass(["runs", "answer", "last", "q1", "approve"]).stdout, "2 + 3 is 5.\n");
}

#[test]
fn in_a_chat_ctrl_c_at_a_question_goes_back_to_the_prompt_and_quit_leaves() {
    let home = Home::new();
    home.write("agent.yaml", ASKING);
    let mut seat = Seat::start(&home, &["chat", "--plain", "agent.yaml"]);
    seat.prompted_after("session: ");
    seat.keys("What is 2 + 3?\r");
    seat.expect("/quit\r\n> ");
    kill_process(Pid::from_child(&seat.child), Signal::INT).unwrap();
    seat.expect("is suspended: it waits for an answer");
    seat.prompted_after("why not'");
    seat.keys("And 4 + 4?\r");
    until("it is put again", || seat.seen().matches("q1: May `calculate` run?").count() == 2);
    until("there is a prompt", || seat.seen().ends_with("/quit\r\n> "));
    seat.keys("/quit\n");
    seat.expect("continues this conversation");
    assert_eq!(seat.code(), 75);
    assert_eq!(home.windlass(["runs", "answer", "last", "q1", "approve"]).stdout, "2 + 3 is 5.\n");
}

#[test]
fn a_delegates_call_is_shown_with_its_own_arguments() {
    let home = Home::new();
    let child = format!("{PLAIN}loop: {{ approve: [calculate] }}\n").replace("name: plain", "name: sums");
    home.write("sums.yaml", &child);
    let ask = json!({ "task": "What is 2 + 3?" }).to_string();
    let server = Server::start(vec![Reply::Call("sums".into(), ask), Reply::Pieces(vec!["It is 5."])]);
    home.write("agent.yaml", &format!("{}agents: [ ./sums.yaml ]\n", server.agent()));
    let mut seat = Seat::start(&home, &["run", "agent.yaml", "What is it?"]);
    seat.expect("q1 (`sums` asks): May `calculate` run? ");
    seat.expect("\r\n  expression: 2 + 3\r\n");
    seat.expect("[l]ater\r\n> ");
    seat.keys("e {\"expression\": \"1 + 4\"}\n");
    seat.expect("It is 5.");
    assert_eq!(seat.code(), 0);
}

/// An agent that hands a task to `sums`, whose sums must be approved.
fn lead(home: &Home) -> Server {
    let child = format!("{PLAIN}loop: {{ approve: [calculate] }}\n").replace("name: plain", "name: sums");
    home.write("sums.yaml", &child);
    let ask = json!({ "task": "What is 2 + 3?" }).to_string();
    let server = Server::start(vec![Reply::Call("sums".into(), ask), Reply::Pieces(vec!["It is 5."])]);
    home.write("agent.yaml", &format!("{}agents: [ ./sums.yaml ]\n", server.agent()));
    server
}

#[test]
fn a_delegates_question_names_the_delegate_wherever_it_is_told() {
    let home = Home::new();
    let _server = lead(&home);
    let run = home.windlass(["run", "agent.yaml", "What is it?"]);
    assert_eq!(run.code, 75, "{run:?}");
    let asks = "q1 (approval, `sums` asks): May `calculate` run";
    assert!(run.stderr.contains(asks), "{run:?}");
    let list = home.windlass(["runs", "list", "--status", "suspended", "--json"]).stdout;
    let runs: Vec<serde_json::Value> = list.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lead = runs.iter().find(|run| run["parent"].is_null()).unwrap()["run"].as_str().unwrap().to_owned();
    let shown = home.windlass(["runs", "show", &lead, "-e"]).stdout;
    assert!(shown.contains(asks), "{shown}");
    assert!(shown.contains("asked a person: `sums` asks: May"), "{shown}");
    let shown = home.windlass(["runs", "show", &lead, "--json"]).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["questions"][0]["asked_by"], "sums", "{shown}");
    home.write("own.yaml", ASKING);
    let own = home.windlass(["run", "own.yaml", "--json", "What is 2 + 3?"]).stdout;
    assert!(!own.contains("asked_by"), "its own question says no more than before: {own}");
}

#[test]
fn who_sits_at_a_question_is_told_that_somebody_else_answered_it() {
    let home = Home::new();
    home.write("agent.yaml", ASKING);
    let seat = Seat::start(&home, &["run", "agent.yaml", "What is 2 + 3?"]);
    seat.expect("[l]ater\r\n> ");
    assert_eq!(home.windlass(["runs", "answer", "--leave", "--by", "Ann", "last", "q1", "deny"]).code, 0);
    seat.expect("q1 was answered by Ann: deny");
    assert_eq!(seat.code(), 0);
}

/// It would be a part of the answer, and the run of another log would be answered.
#[test]
fn an_option_behind_an_answer_or_a_message_is_refused() {
    let home = Home::new();
    let ends = [
        home.windlass(["runs", "answer", "last", "q1", "deny", "not today", "--server=http://127.0.0.1:9"]),
        home.windlass(["runs", "answer", "last", "q1", "approve", "--log", "other.db"]),
        home.windlass(["runs", "answer", "last", "q1", "approve", "--leave"]),
        home.windlass(["runs", "steer", "last", "the year is 2025", "--server", "http://127.0.0.1:9"]),
    ];
    for end in ends {
        assert_eq!(end.code, 2, "{end:?}");
        assert!(end.stderr.contains("options stand before RUN"), "{end:?}");
    }
    let quoted = home.windlass(["runs", "answer", "last", "q1", "deny", "say --server no more"]);
    assert!(!quoted.stderr.contains("options stand"), "a text in quotes is no option: {quoted:?}");
}
