//! The face of a conversation at a terminal: what a real terminal would show, scrollback included.

mod load;
mod texts;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::hostile::steering;
use crate::kit::{Home, PLAIN, SLOW, until};
use crate::seat::Seat;
use crate::server::{Reply, Server};
use crate::talks::{CTRL_D, asking};
use crate::terminal::is_ignored;

const TEXT: &str = "\
# A plan

A **long** paragraph with *weights*, `code` and a [link](https://example.org/docs) that wraps over rows, so that no word is broken.

1. First `cargo build`
2. Then the tests:
   - unit tests
   - others, which take longer and whose text wraps at eighty columns, too

| Town | Inhabitants | Remark |
|:-----|------------:|--------|
| 東京 | 14000000 | a long remark that has to wrap in a narrow terminal |
| Bergen | 290000 | rain |

```rust
/* over
   lines */
fn main() {}
```

> quoted

That is all.
";

/// The text in pieces of that many bytes.
fn pieces(text: &'static str, size: usize) -> Vec<&'static str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let at = (size..rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        pieces.push(&rest[..at]);
        rest = &rest[at..];
    }
    pieces
}

/// A conversation with a server that gives these replies; all pieces come at once.
fn talk(home: &Home, replies: Vec<Reply>, more: &str, size: (u16, u16)) -> (Seat, Server) {
    let server = Server::start(replies);
    let seat = Seat::chat(home, &format!("{}{more}", server.agent()), &[], size);
    seat.shows("/help lists the commands");
    (seat, server)
}

/// The rows without those that differ from run to run.
fn stable(whole: &str) -> String {
    let mut summary = false;
    let kept = whole.lines().filter(|row| {
        // It ends before the next prompt.
        summary = row.starts_with("answered: ") || summary && !row.starts_with('>');
        !summary
    });
    // The time of a call stands at its end.
    let without_time = |row: &str| match row.rsplit_once("  ").filter(|_| row.starts_with('✓')) {
        Some((call, _)) => call.to_owned(),
        None => row.to_owned(),
    };
    kept.map(without_time).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_long_answer_with_tables_and_code_at_three_widths() {
    for columns in [40, 80, 200] {
        let home = Home::new();
        let all = pieces(TEXT, 7);
        let words = all.len();
        let (mut seat, server) = talk(&home, vec![Reply::Pieces(all)], "", (columns, 24));
        (0..words).for_each(|_| server.go.send(()).unwrap());
        seat.keys("Show it\r");
        seat.shows("answered: ");
        seat.shows("\n>\nopenai/m ");
        insta::assert_snapshot!(format!("answer_{columns}"), stable(&seat.whole()));
        seat.leave(CTRL_D);
    }
}

#[test]
fn a_resize_amid_the_stream_wraps_the_tail_and_repeats_nothing() {
    let home = Home::new();
    let all = pieces(TEXT, 40);
    let words = all.len();
    let (mut seat, server) = talk(&home, vec![Reply::Pieces(all)], "", (100, 30));
    seat.keys("Show it\r");
    for word in 0..words {
        if word == 4 {
            seat.shows("A long paragraph");
            seat.resize((60, 30));
        }
        if word == 8 {
            seat.shows("unit tests");
            seat.resize((120, 30));
        }
        let _last = server.go.send(());
    }
    seat.shows("answered: ");
    // Where the terminal wrapped anew is not known to this one; words are.
    let whole = seat.raw();
    assert!(whole.contains("\u{1b}[J"));
    let shown = seat.whole();
    assert_eq!(shown.matches("That is all.").count(), 1, "{shown}");
    assert_eq!(shown.matches("Bergen").count(), 1, "{shown}");
    seat.leave(CTRL_D);
}

#[test]
fn what_is_typed_meanwhile_stays_apart_and_steers() {
    let home = Home::new();
    let mut seat = Seat::working(&home, &[], (80, 24));
    seat.keys("be bri");
    seat.shows("> be bri");
    seat.shows("calculate {\"expression\":\"2 + 5\"}  1 s");
    seat.shows("> be bri");
    seat.keys("ef\r");
    seat.shows("steered: be brief");
    home.write("go", "");
    seat.shows("answered: ");
    let whole = seat.whole();
    let row = whole.lines().find(|row| row.contains("→")).unwrap();
    assert!(row.starts_with("✓ calculate {\"expression\":\"2 + 5\"} → 7"), "{row}");
    assert!(!whole.contains("> be bri\n2 + 5"), "{whole}");
    seat.keys("/quit\r");
    seat.expect("continues");
    assert_eq!(seat.code(), 0);
}

#[test]
fn messages_wait_for_the_end_of_the_turn_where_the_agent_says_so() {
    let home = Home::new();
    let mut seat = Seat::chat(&home, &format!("{SLOW}loop: {{ while_running: queue }}\n"), &[], (80, 24));
    seat.slow_sum(&home);
    seat.keys("What is 3 + 3?\r");
    seat.shows("1 message queued");
    home.write("go", "");
    seat.shows("2 + 5 is 7.");
    seat.shows("3 + 3 is 7.");
    assert!(!seat.whole().contains("steered"));
    seat.leave(CTRL_D);
}

#[test]
fn three_approvals_in_one_reply_are_answered_by_letters() {
    let home = Home::new();
    let sum = |number: u32| json!({ "expression": format!("{number} + 2") }).to_string();
    let replies =
        vec![Reply::Calls("calculate".into(), vec![sum(1), sum(2), sum(3)]), Reply::Pieces(vec!["Done."])];
    let more = "tools: [ { builtin: [calculate] } ]\nloop: { approve: [calculate] }\n";
    let (mut seat, _server) = talk(&home, replies, more, (80, 24));
    seat.keys("Add\r");
    seat.shows("q1 (1 of 3): May `calculate` run?");
    seat.shows("[y]es, [a]lways");
    seat.keys("x");
    seat.shows("`x` is no answer: [y]es");
    seat.keys("y");
    seat.shows("q2 (2 of 3)");
    seat.shows("expression: 2 + 2\n[y]es");
    seat.keys("n");
    seat.shows("why not?");
    seat.keys("not today\r");
    seat.shows("q3 (3 of 3)");
    seat.shows("expression: 3 + 2\n[y]es");
    seat.keys("?");
    seat.shows("it does not run; the model reads your reason");
    seat.keys("y");
    seat.shows("answered: ");
    insta::assert_snapshot!("approvals", stable(&seat.whole()));
    seat.leave(CTRL_D);
    assert_eq!(home.events("CallStarted"), 2);
}

#[test]
fn a_delegates_question_names_who_asks() {
    let home = Home::new();
    let child = asking(PLAIN).replace("name: plain", "name: sums");
    home.write("sums.yaml", &child);
    let ask = json!({ "task": "What is 2 + 3?" }).to_string();
    let replies = vec![Reply::Call("sums".into(), ask), Reply::Pieces(vec!["It is 5."])];
    let (mut seat, _server) = talk(&home, replies, "agents: [ ./sums.yaml ]\n", (80, 24));
    seat.keys("What is it?\r");
    seat.shows("q1 (`sums` asks): May `calculate` run?");
    seat.shows("expression: 2 + 3\n[y]es");
    seat.keys("y");
    seat.shows("It is 5.");
    seat.shows("✓ sums ");
    // The delegate's own call stands further in.
    seat.shows("✓   sums › calculate {\"expression\":\"2 + 3\"} → 5");
    seat.leave(CTRL_D);
}

#[test]
fn a_paste_of_300_lines_is_one_message() {
    let home = Home::new();
    let (mut seat, server) = talk(&home, vec![Reply::Pieces(vec!["Read."])], "", (80, 24));
    let paste: Vec<String> = (1..=300).map(|line| format!("line {line}")).collect();
    seat.keys(&format!("\u{1b}[200~{}\u{1b}[201~", paste.join("\r")));
    seat.shows("  line 300");
    assert!(!seat.whole().contains("line 200"), "only the end of a long message is shown");
    seat.keys("\r");
    seat.shows("Read.");
    let request = server.requests.recv().unwrap();
    let message =
        request["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    assert_eq!(message, paste.join("\n"));
    seat.leave(CTRL_D);
}

#[test]
fn several_lines_history_and_completion() {
    let home = Home::new();
    home.write("notes.md", "The number is 7.");
    let mut seat = Seat::chat(&home, PLAIN, &[], (80, 24));
    seat.keys("one\\\rtwo\nthree");
    seat.shows("> one\n  two\n  three");
    // Ctrl-U takes the line up to the cursor, or the line's end before it.
    seat.keys("\u{15}\u{15}\u{15}\u{15}\u{15}");
    seat.keys("/co");
    seat.shows("/context");
    seat.keys("\u{15}@no\t");
    seat.shows("> @notes.md");
    seat.keys("\u{15}What is 2 + 3?\r");
    seat.shows("2 + 3 is 5.");
    seat.shows("answered: ");
    seat.keys("\u{1b}[A");
    until("it comes back", || seat.whole().matches("> What is 2 + 3?").count() == 2);
    seat.keys("\u{15}/cost\r");
    seat.shows("1 turn, about ");
    seat.keys("/modle\r");
    seat.shows("did you mean /model?");
    seat.keys("/quit\r");
    seat.expect("continues");
    assert_eq!(seat.code(), 0);
    assert!(home.read("home/chat_history").contains("What is 2 + 3?"));
}

#[test]
fn a_message_is_taken_back_edited_and_sent_again_in_another_session() {
    let home = Home::new();
    let mut seat = Seat::chat(&home, PLAIN, &["--session", "sums"], (80, 40));
    seat.keys("What is 2 + 3?\r");
    seat.shows("2 + 3 is 5.");
    seat.shows("answered: ");
    seat.keys("What is 4 + 4?\r");
    seat.shows("4 + 4 is 8.");
    until("it has ended", || seat.whole().matches("answered: ").count() == 2);
    seat.keys("/edit\r");
    seat.shows("back to before: What is 4 + 4?");
    seat.shows("> What is 4 + 4?\ntour");
    seat.keys("\u{7f}\u{7f}5?\r");
    seat.shows("4 + 5 is 9.");
    until("it has ended", || seat.whole().matches("answered: ").count() == 3);
    seat.keys("/quit\r");
    seat.expect("continues");
    assert_eq!(seat.code(), 0);
    // The old session is as it was; the new one has the first turn, and not the second.
    let old = home.windlass(["sessions", "show", "sums"]).stdout;
    assert!(old.contains("4 + 4 is 8.") && !old.contains("4 + 5"), "{old}");
    let new = home.windlass(["runs", "show", "last"]).stdout;
    assert!(
        new.contains("4 + 5 is 9.") && new.contains("(4 messages earlier") && !new.contains("4 + 4"),
        "{new}"
    );
}

#[test]
fn ctrl_c_ends_the_turn_and_then_what_is_typed() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let mut seat = Seat::sized(&home, &["chat", "agent.yaml"], (80, 24));
    let interrupt = |seat: &Seat| kill_process(Pid::from_child(&seat.child), Signal::INT).unwrap();
    seat.shows("\n>");
    seat.keys("half");
    seat.shows("> half");
    interrupt(&seat);
    // Two signals that wait together are one.
    seat.shows("Up brings it back");
    assert!(!seat.whole().contains("half"), "{}", seat.whole());
    interrupt(&seat);
    let again = "Ctrl-C again, /quit or Ctrl-D leaves the conversation";
    seat.shows(again);
    seat.keys("x\u{7f}");
    seat.shows_that("no hint", |whole| !whole.contains(again));
    interrupt(&seat);
    // After another key it is the first one once more.
    seat.shows(again);
    seat.slow_sum(&home);
    interrupt(&seat);
    seat.shows("cancelled: ");
    seat.keys("/new other\r");
    seat.shows("session other");
    interrupt(&seat);
    seat.shows(again);
    interrupt(&seat);
    seat.ends_with(0);
}

#[test]
fn after_kill_9_the_same_command_goes_on() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let command = ["chat", "agent.yaml", "--session", "s"];
    let mut seat = Seat::begun(&home, &command, (80, 24), "\n>");
    seat.slow_sum(&home);
    seat.child.kill().unwrap();
    seat.child.wait().unwrap();
    home.write("go", "");
    let mut seat = Seat::begun(&home, &command, (80, 24), "which had not ended");
    seat.shows("2 + 5 is 7.");
    seat.shows("answered: ");
    seat.leave(CTRL_D);
    assert_eq!(home.events("RunStarted"), 1);
}

#[test]
fn a_terminal_that_closes_leaves_the_run_to_be_resumed() {
    let home = Home::new();
    let mut seat = Seat::working(&home, &[], (80, 24));
    // A terminal that closes says so; where that is ignored, a process is told to end in another way.
    let signal = if is_ignored(Signal::HUP) { Signal::TERM } else { Signal::HUP };
    kill_process(Pid::from_child(&seat.child), signal).unwrap();
    seat.ended();
    assert_eq!(home.events("RunEnded"), 0);
    home.write("go", "");
    assert_eq!(home.windlass(["runs", "resume", "last"]).stdout, "2 + 5 is 7.\n");
}

#[test]
fn a_signal_at_the_prompt_of_a_chat_leaves_the_terminal_as_it_was() {
    let leaving = [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::QUIT, 131)];
    for (signal, code) in leaving.into_iter().filter(|(signal, _)| !is_ignored(*signal)) {
        let home = Home::new();
        home.write("agent.yaml", PLAIN);
        let mut seat = Seat::sized(&home, &["chat", "agent.yaml"], (80, 24));
        until("the prompt reads keys", || seat.is_raw() && seat.raw().contains("> "));
        seat.keys("half a li");
        seat.expect("half a li");
        kill_process(Pid::from_child(&seat.child), signal).unwrap();
        assert_eq!(seat.ended(), code);
        seat.expect("ended by SIG");
        assert!(!seat.is_raw(), "{signal:?}");
        // Marked pastes, and changes that are shown together.
        for mode in ["2004", "2026"] {
            let raw = seat.raw();
            let last = |turn: char| raw.rfind(&format!("\u{1b}[?{mode}{turn}"));
            assert!(last('h').is_some() && last('h') < last('l'), "mode {mode}: {raw:?}");
        }
        let raw = seat.raw();
        assert!(raw.rfind("\u{1b}[?25h") > raw.rfind("\u{1b}[?25l"), "the cursor is hidden: {raw:?}");
    }
}

#[test]
fn e12_hostile_text_steers_nothing_in_the_face() {
    let home = Home::new();
    let hostile = "begins \u{1b}]52;c;aGk=\u{7} \u{9b}2J \u{202e}gnp.exe\n\n| \u{1b}[2J |\n|--|\n| &#27;[31m |\n\n```\n\u{1b}]0;t\u{7}\n```\n";
    let call = json!({ "expression": "1 + \u{1b}[2J\u{202e}2" }).to_string();
    let replies = vec![
        Reply::Call("calculate".into(), call),
        Reply::Pieces(vec![hostile]),
        Reply::Pieces(vec!["End."]),
    ];
    let more = "tools: [ { builtin: [calculate] } ]\nloop: { approve: [calculate] }\n";
    let (mut seat, _server) = talk(&home, replies, more, (80, 30));
    seat.keys("\u{1b}[200~paste \u{1b}]0;x\u{7}\u{1b}[201~\r");
    seat.shows("[y]es");
    seat.keys("s");
    seat.shows_that("all of it above", |whole| whole.matches("expression: 1 + ").count() == 2);
    seat.keys("y");
    seat.shows("answered: ");
    seat.keys("\u{f}"); // Ctrl-O
    seat.keys("/raw\r");
    seat.shows("begins \\u{1b}]52");
    seat.leave(CTRL_D);
    // All that is left are the sequences of the face itself.
    let raw = seat.raw();
    for own in ["?2026h", "?2026l", "?25h", "?25l", "?2004h", "?2004l", "J", "K"] {
        assert!(own.len() > 1 || raw.contains(&format!("\u{1b}[{own}")));
    }
    let mut rest = raw.as_str();
    let mut cleaned = String::new();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        cleaned.push_str(before);
        let end = after.find(|char: char| char.is_ascii_alphabetic()).unwrap();
        let (sequence, behind) = after.split_at(end + 1);
        let is_own =
            matches!(sequence, "C" | "J" | "K" | "?2026h" | "?2026l" | "?25h" | "?25l" | "?2004h" | "?2004l")
                || sequence.ends_with(['A', 'C', 'm'])
                    && sequence[..end].chars().all(|c| c.is_ascii_digit() || c == ';');
        assert!(is_own, "{sequence:?}");
        rest = behind;
    }
    cleaned.push_str(rest);
    assert_eq!(steering(&cleaned.replace('\r', "")), "");
}

#[test]
fn without_a_capable_terminal_lines_are_read_as_the_terminal_edits_them() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    for (arguments, term) in
        [(&["chat", "--plain", "agent.yaml"][..], "xterm"), (&["chat", "agent.yaml"], "dumb")]
    {
        let mut seat = Seat::start_with(&home, arguments, term);
        seat.prompted_after("session: ");
        assert!(!seat.is_raw());
        seat.keys("What is 2 + 3?\n");
        seat.prompted_after("answered: ");
        assert!(!seat.raw().contains('\u{1b}'), "{:?}", seat.raw());
        seat.keys("/help\n");
        seat.prompted_after("/retry");
        seat.leave(CTRL_D);
    }
}

#[test]
fn an_answer_of_ten_megabytes_is_shown_once_and_whole() {
    let home = Home::new();
    let pieces: Vec<&'static str> = (0..10_000)
        .map(|number| {
            &*Box::leak(format!("{}\n\n- item {number}.\n\n", "word ".repeat(195)).into_boxed_str())
        })
        .collect();
    let (mut seat, server) = talk(&home, vec![Reply::Pieces(pieces)], "", (80, 24));
    (0..10_000).for_each(|_| server.go.send(()).unwrap());
    seat.keys("Tell\r");
    seat.shows_at_end("answered: ");
    seat.leave(CTRL_D);
    // Pieces may be drawn in the tail before they are finished: what stays is followed by the end of its row.
    let raw = seat.raw();
    for number in [0, 1, 777, 5_000, 9_998, 9_999] {
        let shown = raw.matches(&format!("• item {number}.\r\r\n")).count();
        assert!((1..=3).contains(&shown), "item {number} is shown {shown} times");
    }
}

#[test]
fn ctrl_z_gives_the_terminal_back_until_the_chat_goes_on() {
    let home = Home::new();
    let mut seat = Seat::chat(&home, PLAIN, &[], (80, 24));
    seat.keys("half");
    seat.shows("> half");
    let process = Pid::from_child(&seat.child);
    kill_process(process, Signal::TSTP).unwrap();
    let stat = format!("/proc/{}/stat", seat.child.id());
    until("it has stopped", || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") T ")));
    assert!(!seat.is_raw());
    // The bytes may still be on their way.
    seat.shows_that("the tail is taken away", |whole| !whole.contains("half"));
    kill_process(process, Signal::CONT).unwrap();
    seat.shows("> half");
    seat.keys(" and more");
    seat.shows("> half and more");
    seat.leave("\u{15}\u{4}");
}
