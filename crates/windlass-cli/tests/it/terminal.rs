//! At a terminal: a pseudo-terminal stands in for one.

use rustix::process::{Pid, Signal, kill_process};

use crate::hostile::steering;
use crate::kit::{Home, PLAIN, until};
use crate::seat::Seat;
use crate::server::{Reply, Server};
use crate::talks;

fn asking(home: &Home) {
    home.write("agent.yaml", &talks::asking(PLAIN));
}

/// A server that answers nothing until the file `go` is there, and ends then.
const SLOW_SERVER: &str = r#"
name: slow
model: tour
tools: [ { mcp: { name: files, start_ms: 50000, command: [sh, -c, "while [ ! -e go ]; do sleep 0.02; done; exit 3"] } } ]
"#;

#[test]
fn a_slow_start_of_a_tool_server_says_what_it_waits_for() {
    let home = Home::new();
    home.write("agent.yaml", SLOW_SERVER);
    for args in
        [&["run", "agent.yaml", "hello"][..], &["chat", "agent.yaml"], &["tools", "list", "agent.yaml"]]
    {
        let seat = Seat::sized(&home, args, (80, 24));
        seat.shows("waiting for tool server `files` (limit 50.0 s) to start: 1 s");
        home.write("go", "");
        seat.shows("exit code 3");
        assert_eq!(seat.code(), 69);
        std::fs::remove_file(home.path("go")).unwrap();
    }
}

#[test]
fn a_question_is_asked_and_answered() {
    let home = Home::new();
    asking(&home);
    let mut seat = Seat::start(&home, &["run", "agent.yaml", "What is 2 + 3?"]);
    seat.expect("q1: May `calculate` run? (call call_1_1)\r\n  expression: 2 + 3\r\n[y]es, ");
    seat.expect("> ");
    seat.keys("what?\n");
    until("the choices are said again", || seat.seen().matches("[y]es, [a]lways").count() == 2);
    seat.keys("e {\"expression\": 5}\n");
    seat.expect("is not of type");
    until("there is a prompt", || seat.seen().ends_with("> "));
    seat.keys("y\n");
    seat.expect("2 + 3 is 5.");
    assert_eq!(seat.code(), 0);
}

#[test]
fn deleting_asks_and_no_deletes_nothing() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let prune = ["runs", "prune", "--older-than", "0d"];
    for no in ["\n", "n\n", "\u{4}"] {
        let mut seat = Seat::start(&home, &prune);
        seat.expect("What is 2 + 3?");
        seat.expect("Delete 1 run for good? [y/N] ");
        seat.keys(no);
        seat.expect("nothing was deleted");
        assert_eq!(seat.code(), 1);
    }
    assert!(!home.windlass(["runs", "list"]).stdout.is_empty());
    let mut seat = Seat::start(&home, &prune);
    seat.expect("[y/N] ");
    seat.keys("y\n");
    seat.expect("1 run deleted");
    assert_eq!(seat.code(), 0);
    assert_eq!(home.windlass(["runs", "list"]).stdout, "");
}

#[test]
fn e27_the_end_of_input_leaves_the_question_for_later() {
    let home = Home::new();
    asking(&home);
    let mut seat = Seat::start(&home, &["run", "agent.yaml", "What is 2 + 3?"]);
    seat.expect("> ");
    seat.keys("\u{4}");
    seat.expect("is suspended: it waits for an answer");
    assert_eq!(seat.code(), 75);
    let end = home.windlass(["runs", "answer", "last", "q1", "approve"]);
    assert_eq!(end.stdout, "2 + 3 is 5.\n");
}

#[test]
fn a_question_that_was_left_is_put_again_before_the_next_turn() {
    let home = Home::new();
    asking(&home);
    let mut seat = Seat::start(&home, &["chat", "--plain", "agent.yaml"]);
    seat.expect("> ");
    seat.keys("What is 2 + 3?\r");
    seat.expect("/quit\r\n> ");
    seat.keys("l\n");
    seat.expect("is suspended: it waits for an answer");
    seat.expect("why not'");
    seat.prompted_after("why not'");
    seat.keys("What is 4 + 4?\r");
    until("it is put again", || {
        seat.seen().matches("(call call_1_1)\r\n  expression: 2 + 3\r\n[y]es").count() == 2
    });
    seat.keys("y\n");
    seat.expect("2 + 3 is 5.");
    until("the next turn's question is put", || seat.seen().contains("  expression: 4 + 4\r\n[y]es"));
    seat.keys("y\n");
    seat.expect("4 + 4 is 8.");
    seat.prompted_after("4 + 4 is 8.");
    seat.keys("\u{4}");
    seat.expect("continues this conversation");
    assert_eq!(seat.code(), 0);
}

#[test]
fn what_a_model_or_tool_says_does_not_steer_the_terminal() {
    let home = Home::new();
    home.write(
        "agent.yaml",
        "name: x\nmodel: tour\ntools: [ { command: { name: calculate, run: [printf, '\\033]0;title\\007red'], description: Sums., \
         parameters: { type: object, properties: { expression: { type: string } } }, effect: read_only } } ]\n",
    );
    let seat = Seat::start(&home, &["run", "agent.yaml", "What is 2 + 3?"]);
    seat.expect("red");
    seat.expect("answered: ");
    assert!(!seat.seen().contains('\u{1b}'), "{:?}", seat.seen());
    assert_eq!(seat.code(), 0);
}

/// Lines one after another get whole words: what is typed while they come stands between two of them.
#[test]
fn plain_text_comes_in_whole_words() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Pieces(vec!["Half a wo", "rd and mo", "re"])]);
    home.write("agent.yaml", &server.agent());
    let mut seat = Seat::start(&home, &["run", "--plain", "agent.yaml", "hi"]);
    seat.expect("Half a ");
    seat.keys("typed");
    seat.expect("Half a typed");
    server.go.send(()).unwrap();
    seat.expect("typedword and ");
    server.go.send(()).unwrap();
    seat.expect("and more");
    assert_eq!(seat.code(), 0);
}

#[test]
fn e12_pieces_of_an_answer_do_not_steer_the_terminal() {
    let home = Home::new();
    let pieces = vec!["begins \u{1b}", "]52;c;aGk=\u{7} \u{9b}2J", "\u{202e}gnp.exe\rdone"];
    let server = Server::start(vec![Reply::Pieces(pieces)]);
    home.write("agent.yaml", &server.agent());
    let seat = Seat::start(&home, &["run", "agent.yaml", "hi"]);
    // A word is shown once it is whole.
    for words in ["begins ", "\\u{1b}]52;c;aGk=\\u{7} ", "\\u{9b}2J\\u{202e}gnp.exe\\u{d}done"] {
        seat.expect(words);
        // After the last one nobody waits for a word.
        let _last = server.go.send(());
    }
    seat.expect("answered: ");
    assert_eq!(steering(&seat.seen()), "");
    assert_eq!(seat.code(), 0);
    // JSON at a terminal means the same and steers nothing either.
    let seat = Seat::start(&home, &["runs", "export", "last"]);
    seat.expect("\\u202egnp.exe");
    seat.expect("\"RunEnded\"");
    assert_eq!(steering(&seat.seen()), "");
    assert_eq!(seat.code(), 0);
}

/// Signals that end a process and leave its run, and the exit codes.
const LEAVING: [(Signal, i32); 3] = [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::QUIT, 131)];

/// Whether the tests were started to ignore it: then the command does so, too.
pub(crate) fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << (signal.as_raw() - 1)) != 0
}

#[test]
fn a_signal_at_a_question_leaves_the_terminal_and_the_question_as_they_were() {
    for (signal, code) in LEAVING.into_iter().filter(|(signal, _)| !is_ignored(*signal)) {
        let home = Home::new();
        asking(&home);
        let mut seat = Seat::start(&home, &["run", "agent.yaml", "What is 2 + 3?"]);
        let before = format!("{:?}", seat.modes());
        seat.expect("[l]ater\r\n> ");
        kill_process(Pid::from_child(&seat.child), signal).unwrap();
        assert_eq!(seat.ended(), code, "{:?}", seat.seen());
        seat.expect("> \r\nrun ");
        assert_eq!(format!("{:?}", seat.modes()), before, "{signal:?}");
        for mode in ["2004", "25"] {
            assert!(!seat.seen().contains(&format!("\u{1b}[?{mode}")), "{:?}", seat.seen());
        }
        assert_eq!(home.windlass(["runs", "answer", "last", "q1", "approve"]).stdout, "2 + 3 is 5.\n");
    }
}

#[test]
fn sigterm_at_a_question_in_a_chat_ends_the_chat() {
    let home = Home::new();
    asking(&home);
    let mut seat = Seat::start(&home, &["chat", "--plain", "agent.yaml"]);
    seat.expect("> ");
    seat.keys("What is 2 + 3?\r");
    seat.expect("/quit\r\n> ");
    kill_process(Pid::from_child(&seat.child), Signal::TERM).unwrap();
    assert_eq!(seat.ended(), 143, "{:?}", seat.seen());
    assert!(!seat.is_raw() && !seat.is_on("2004"), "{:?}", seat.seen());
}

#[test]
fn each_piece_is_shown_before_the_next_one_comes_and_the_answer_is_not_shown_again() {
    let home = Home::new();
    let pieces = ["Grüße ", "aus ", "Köln."];
    let server = Server::start(vec![Reply::Pieces(pieces.to_vec())]);
    home.write("agent.yaml", &server.agent());
    let seat = Seat::start(&home, &["run", "agent.yaml", "hi"]);
    for piece in pieces {
        seat.expect(piece);
        // The next piece is sent only now. After the last one nobody waits for a word.
        let _last = server.go.send(());
    }
    seat.expect("answered: ");
    assert_eq!(seat.seen().matches("Grüße aus Köln.").count(), 1, "{}", seat.seen());
    assert_eq!(server.requests.recv().unwrap()["stream"], true);
    assert_eq!(seat.code(), 0);
}

#[test]
fn text_that_loses_its_calls_and_an_output_in_text_are_shown_once() {
    let home = Home::new();
    let call = "I will add. {\"name\": \"calculate\", \"arguments\": {\"expression\": \"2 + 3\"}}";
    let fenced = "I will add.\n```tool_call\n{\"tool\": \"calculate\", \"arguments\": {\"expression\": \"2 + 3\"}}\n```";
    for (preset, call) in [("chat", call), ("text", fenced)] {
        let server = Server::start(vec![Reply::Pieces(vec![call]), Reply::Pieces(vec!["It is 5."])]);
        let more = format!("tools: [ {{ builtin: [calculate] }} ]\nloop: {{ preset: {preset} }}\n");
        home.write("agent.yaml", &format!("{}{more}", server.agent()));
        let seat = Seat::start(&home, &["run", "agent.yaml", "hi"]);
        seat.expect("answered: ");
        let seen = seat.seen();
        assert_eq!(seen.matches("I will add.").count(), 1, "{seen}");
        assert_eq!(seat.code(), 0);
    }
}
