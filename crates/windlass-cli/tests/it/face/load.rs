//! Much text: the face keeps no rows of an answer, and of the output of a tool it shows a line and keeps nothing of the rest.

use super::talk;
use crate::kit::Home;
use crate::seat::Seat;
use crate::server::{Reply, Server};
use crate::talks::CTRL_D;

/// Ten thousand lines of 400 bytes, and one line of ten megabytes.
const TOOLS: &str = r#"
tools:
  - command:
      name: lines
      run: [sh, -c, "seq -f \"line %g of $(head -c 400 /dev/zero | tr '\\0' x)\" 10000"]
      effect: read_only
      parameters: { type: object }
  - command:
      name: line
      run: [sh, -c, "printf 'line 1 of '; head -c 10000000 /dev/zero | tr '\\0' x"]
      effect: read_only
      parameters: { type: object }
"#;
/// More than a peak differs by itself, and less than all but one of the results take: 16 MiB.
const NOISE: u64 = 16 * 1024;
const MANY: usize = 6;
/// Bytes of an answer: 8 MiB.
const TEXT: usize = 8 * 1024 * 1024;

/// The most memory that the process has had, in KiB.
fn peak(seat: &Seat) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", seat.child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The peak of a command whose model calls the tool so often, and what the terminal shows at the end.
fn after(command: &[&str], tool: &str, calls: usize) -> (u64, String) {
    let home = Home::new();
    // Equal calls in a row would end the run.
    let call = |number: usize| Reply::Call(tool.into(), format!("{{\"number\":{number}}}"));
    let mut replies: Vec<_> = (0..calls).map(call).collect();
    replies.push(Reply::Pieces(vec!["Read", "."]));
    let server = Server::start(replies);
    home.write("agent.yaml", &format!("{}{TOOLS}", server.agent()));
    let mut seat = Seat::sized(&home, command, (80, 24));
    let chats = command[0] == "chat";
    if chats {
        seat.shows("\n>");
        seat.keys("Go\r");
    }
    seat.shows("Read");
    let peak = peak(&seat);
    server.go.send(()).unwrap();
    seat.shows("answered: ");
    if chats {
        seat.keys("\u{4}");
    }
    assert_eq!(seat.ended(), 0);
    (peak, seat.whole())
}

#[test]
fn ten_thousand_lines_and_a_line_of_ten_megabytes_of_a_tool_are_a_row_and_no_memory() {
    for command in [&["chat", "agent.yaml"][..], &["run", "agent.yaml", "Go"]] {
        for tool in ["lines", "line"] {
            let (once, _) = after(command, tool, 1);
            let (often, whole) = after(command, tool, MANY);
            assert!(
                often < once + NOISE,
                "{command:?} {tool}: {once} KiB, and after {MANY} calls {often} KiB"
            );
            let rows: Vec<&str> = whole.lines().filter(|row| row.starts_with("✓ ")).collect();
            assert_eq!(rows.len(), MANY, "{whole}");
            let is_whole = |row: &&str| row.contains(tool) && row.contains(" bytes) line 1 of x");
            assert!(rows.iter().all(is_whole), "{whole}");
            assert!(!whole.contains("line 2 of"), "{whole}");
        }
    }
}

/// The peak of a chat that is answered by a text of eight megabytes, whose pieces come faster than they are shown.
fn answered(more: &[&str]) -> u64 {
    let home = Home::new();
    let paragraph = "One line of an answer with `code` and **weight**, and with more words.\n\n";
    let pieces = vec![paragraph; TEXT / paragraph.len()];
    let rest = pieces.len() - 1;
    let server = Server::start(vec![Reply::Pieces(pieces)]);
    (0..rest).for_each(|_| server.go.send(()).unwrap());
    let mut seat = Seat::chat(&home, &server.agent(), more, (80, 24));
    seat.keys("Go\r");
    seat.shows_at_end("answered: ");
    let peak = peak(&seat);
    seat.leave(CTRL_D);
    peak
}

#[test]
fn an_answer_of_eight_megabytes_takes_little_more_memory_in_the_face_than_in_lines() {
    let (shown, lines) = (answered(&[]), answered(&["--plain"]));
    // Rows of all of it would take eighteen times its room.
    let few = 4 * TEXT as u64 / 1024;
    assert!(shown < lines + few, "{shown} KiB in the face, {lines} KiB in lines");
}

#[test]
fn of_a_long_result_ctrl_o_shows_both_ends_and_the_command_that_writes_all_of_it() {
    let home = Home::new();
    let (mut seat, _server) = talk(
        &home,
        vec![Reply::Call("lines".into(), "{}".into()), Reply::Pieces(vec!["Read."])],
        TOOLS,
        (500, 40),
    );
    seat.keys("Go\r");
    seat.shows("answered: ");
    seat.keys("\u{f}");
    seat.shows("line 10000 of x");
    let whole = seat.whole();
    let (_, command) = whole.split_once(" more bytes: `windlass ").unwrap();
    let (command, _) = command.split_once(" FILE` writes all of it to a file").unwrap();
    seat.leave(CTRL_D);
    let written = home.command(command.split(' ').chain(["all.txt"])).output().unwrap();
    assert!(written.status.success(), "{written:?}");
    assert_eq!(home.read("all.txt").lines().count(), 10_000);
}
