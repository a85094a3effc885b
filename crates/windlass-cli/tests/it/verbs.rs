//! The commands of a conversation at a terminal, and the letters that answer its questions.

use crate::kit::{Home, PLAIN, SLOW, until};
use crate::seat::Seat;
use crate::server::{Reply, Server};
use crate::talks::{CTRL_D, asking};

#[test]
fn commands_that_only_tell_something_do_so_while_the_agent_works() {
    let home = Home::new();
    let mut seat = Seat::working(&home, &[], (80, 30));
    for (command, told) in [
        ("/cost", "0 turns"),
        ("/tools", "calculate  "),
        ("/model", "(/model NAME goes on with another one)"),
        ("/raw", "there is no answer yet"),
        ("/context", "\ncontext 12\n"),
        ("/help", "//TEXT"),
    ] {
        seat.keys(&format!("{command}\r"));
        seat.shows(told);
    }
    seat.shows("leave; so do exit and Ctrl-D");
    seat.keys("/undo\r");
    seat.shows("/undo does nothing while the agent works");
    seat.keys("/cots\r");
    seat.shows("unknown command /cots; did you mean /cost?");
    home.write("go", "");
    seat.shows("answered: ");
    seat.leave(CTRL_D);
    assert_eq!(home.events("Steered"), 0);
}

#[test]
fn a_pause_is_answered_by_a_letter_and_words() {
    let home = Home::new();
    let mut seat = Seat::working(&home, &[], (80, 30));
    seat.keys("/pause a look\r");
    home.write("go", "");
    seat.shows("[r]esume, [l]ater, ? explains");
    seat.keys("?");
    seat.shows("r  the run goes on, with what you say to it");
    seat.keys("q");
    seat.shows("`q` is no answer: [r]esume");
    seat.keys("\r");
    seat.shows("say to it:");
    seat.keys("go on then\r");
    seat.shows("answered: ");
    let whole = home.windlass(["runs", "show", "last"]).stdout;
    assert!(whole.contains("go on then"), "{whole}");
    seat.leave(CTRL_D);
}

#[test]
fn enter_takes_the_completion_on_the_screen() {
    let home = Home::new();
    home.write("my file.txt", "The number is 7.");
    home.write("docs/planning.md", "A plan.");
    let mut seat = Seat::chat(&home, PLAIN, &[], (80, 40));
    seat.keys("/hel\r");
    seat.shows("leave; so do exit and Ctrl-D");
    seat.keys("/mod\r");
    seat.shows("\n> /model\n");
    seat.keys("\r");
    seat.shows("(/model NAME goes on with another one)");
    seat.keys("What is 2 + 3? @my");
    seat.shows("\"my file.txt\"");
    seat.keys("\rand");
    seat.shows("> What is 2 + 3? @\"my file.txt\" and");
    seat.keys("\r");
    seat.shows_that("the answer", |whole| whole.matches("answered: ").count() == 1);
    // A name that only might become a file goes as it is.
    seat.keys("What is 4 + 4, @ann");
    seat.shows("docs/planning.md");
    seat.keys("\r");
    seat.shows("4 + 4 is 8.");
    seat.shows_that("the answer", |whole| whole.matches("answered: ").count() == 2);
    assert!(seat.whole().contains("> What is 4 + 4, @ann\n"), "{}", seat.whole());
    seat.leave(CTRL_D);
    let begun = home.windlass(["runs", "show", "last"]).stdout;
    assert!(!begun.contains("planning"), "{begun}");
}

#[test]
fn two_slashes_begin_a_message_with_one() {
    let home = Home::new();
    let mut seat = Seat::chat(&home, PLAIN, &[], (80, 24));
    seat.keys("/2 + 3\r");
    seat.shows("// begins a message with a slash");
    seat.keys("//2 + 3\r");
    seat.shows("> /2 + 3");
    seat.shows("answered: ");
    seat.leave(CTRL_D);
    assert!(home.windlass(["runs", "show", "last"]).stdout.contains("/2 + 3"));
}

#[test]
fn a_session_begins_under_a_name_that_is_free_and_comes_back_as_it_was() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Pieces(vec!["A **weighty** answer."])]);
    home.write("agent.yaml", &server.agent());
    let chat = ["chat", "agent.yaml", "--session", "trip"];
    let mut seat = Seat::begun(&home, &chat, (80, 24), "session `trip` is new");
    seat.keys("Weigh it\r");
    server.go.send(()).unwrap();
    seat.shows("answered: ");
    seat.keys("/new tour\r");
    seat.shows("now in session `tour`");
    seat.keys("/raw\r");
    seat.shows("there is no answer yet");
    seat.keys("/new trip\r");
    seat.shows("session `trip` has begun already");
    seat.shows("/sessions trip goes on with it");
    seat.keys("/sessions trip\r");
    seat.shows("now in session `trip`");
    seat.shows_that("the turn once more", |whole| whole.matches("A weighty answer.").count() == 2);
    seat.leave(CTRL_D);
    let mut seat = Seat::begun(&home, &chat, (80, 24), "session `trip`: 2 messages");
    seat.shows("> Weigh it\n\nA weighty answer.\n");
    assert!(!seat.whole().contains("  you: "), "{}", seat.whole());
    seat.keys("/raw\r");
    seat.shows("A **weighty** answer.");
    seat.leave(CTRL_D);
}

#[test]
fn another_model_of_the_same_server_has_a_bare_name() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Pieces(vec!["It is me."])]);
    home.write("agent.yaml", &server.agent().replace("use: openai/m", "use: m"));
    let mut seat = Seat::begun(&home, &["chat", "agent.yaml"], (80, 24), "\nm");
    seat.keys("/model other\r");
    seat.shows("\nother");
    seat.keys("Who are you?\r");
    server.go.send(()).unwrap();
    seat.shows("answered: ");
    seat.leave(CTRL_D);
    assert_eq!(server.requests.recv().unwrap()["model"], "other");
}

#[test]
fn help_is_read_in_forty_columns() {
    let home = Home::new();
    let mut seat = Seat::chat(&home, PLAIN, &[], (40, 24));
    seat.keys("/help\r");
    seat.shows("Ctrl-L, Ctrl-Z");
    let whole = seat.whole();
    assert!(whole.contains("/model [NAME]\n  name the model"), "{whole}");
    assert!(whole.lines().all(|row| row.chars().count() <= 40), "{whole}");
    seat.leave(CTRL_D);
}

#[test]
fn words_that_are_no_answer_stay_to_be_mended() {
    let home = Home::new();
    home.write("agent.yaml", &asking(PLAIN));
    let mut seat = Seat::begun(&home, &["run", "agent.yaml", "What is 2 + 3?"], (80, 24), "[y]es");
    seat.keys("e");
    seat.shows("`EDITOR` is not set");
    seat.keys("\u{15}{\"expression\": \"4 + 4\"\r");
    seat.shows("EOF while parsing");
    seat.shows("> {\"expression\": \"4 + 4\"");
    seat.keys("}\r");
    seat.shows("✓ calculate {\"expression\":\"4 + 4\"} → 8");
    assert_eq!(seat.code(), 0);
}

#[test]
fn what_always_allows_is_listed_and_a_fork_asks_again() {
    let home = Home::new();
    let mut seat = Seat::chat(&home, &asking(PLAIN), &[], (100, 30));
    seat.keys("What is 2 + 3?\r");
    seat.shows("[a]lways");
    seat.keys("a");
    seat.shows("always: Enter lets");
    seat.keys("\r");
    seat.shows("2 + 3 is 5.");
    seat.shows("answered: ");
    seat.keys("/tools\r");
    seat.shows("(allowed in this session; /fork asks about it again)");
    seat.keys("/fork\r");
    seat.shows("the next message goes on from here");
    seat.keys("What is 4 + 4?\r");
    seat.shows("expression: 4 + 4\n[y]es");
    seat.keys("y");
    seat.shows("4 + 4 is 8.");
    seat.leave(CTRL_D);
}

#[test]
fn another_model_is_taken_between_two_turns_and_brings_the_tools_that_the_file_has_now() {
    let home = Home::new();
    let agent = SLOW.to_owned() + "loop: { approve: [calculate] }\n";
    home.write("go", "");
    let mut seat = Seat::chat(&home, &agent, &[], (120, 24));
    seat.keys("What is 2 + 3?\r");
    seat.shows("echo sum >> sums");
    seat.shows("[y]es");
    seat.keys("l");
    seat.shows("your next message puts the question again first");
    seat.keys("/model tour\r");
    seat.shows("the turn that waits goes on with the model that began it");
    seat.keys("/stop\r");
    seat.shows("the run that waited is cancelled");
    home.write("agent.yaml", &agent.replace("echo sum >> sums", "echo other >> others"));
    seat.keys("/model tour\r");
    seat.shows("the next message goes to tour");
    seat.keys("What is 4 + 4?\r");
    seat.shows("runs: sh -c 'echo other >> others");
    seat.shows("[y]es");
    seat.keys("y");
    seat.shows("4 + 4 is 7.");
    seat.leave(CTRL_D);
    assert!(!home.path("sums").exists() && home.path("others").exists());
}

#[test]
fn words_at_an_approval_are_no_answer() {
    let home = Home::new();
    home.write("agent.yaml", &asking(PLAIN));
    let mut seat = Seat::begun(&home, &["run", "agent.yaml", "What is 2 + 3?"], (100, 24), "[y]es");
    seat.keys("y");
    seat.shows("[y]es: the call runs, this once (any other key takes it back)");
    seat.keys("\u{7f}");
    seat.shows("[l]ater, ? explains");
    for words in ["why", "wait a", "you should not", "also no", "stop", "/undo"] {
        seat.keys(words);
        if words.starts_with('/') {
            seat.shows("commands wait until the question is answered");
        }
        seat.keys("\r");
        seat.shows(&format!("`{words}` is no answer: [y]es"));
    }
    assert_eq!(home.events("CallStarted") + home.events("CallDecided"), 0);
    seat.keys("yes");
    seat.shows("2 + 3 is 5.");
    assert_eq!(seat.code(), 0);
}

#[test]
fn esc_at_an_approval_is_no() {
    let home = Home::new();
    let mut seat = Seat::chat(&home, &asking(PLAIN), &[], (100, 30));
    seat.keys("What is 2 + 3?\r");
    seat.shows("[y]es");
    seat.keys("?");
    seat.shows("Esc does the same");
    seat.keys("\u{1b}");
    seat.shows("why not?");
    seat.keys("\u{1b}");
    seat.shows_that("the question again", |whole| !whole.contains("why not?") && whole.contains("[y]es"));
    seat.keys("\u{1b}");
    seat.shows("why not?");
    seat.keys("\r");
    seat.shows("answered: ");
    seat.leave(CTRL_D);
    assert_eq!((home.events("CallDecided"), home.events("CallStarted")), (1, 0));
}

#[test]
fn esc_leaves_a_question_without_a_no_as_it_is() {
    let home = Home::new();
    let mut seat = Seat::working(&home, &[], (80, 30));
    seat.keys("/pause\r");
    home.write("go", "");
    seat.shows("[r]esume, [l]ater");
    seat.keys("\u{1b}");
    seat.shows("Ctrl-C leaves it: [r]esume");
    seat.keys("r");
    seat.shows("say to it:");
    seat.keys("\r");
    seat.shows("answered: ");
    seat.leave(CTRL_D);
}

#[test]
fn after_an_undo_the_chat_names_the_session_that_has_the_messages() {
    let home = Home::new();
    let mut seat = Seat::chat(&home, PLAIN, &["--session", "trip"], (100, 24));
    for sum in ["2 + 3", "4 + 4"] {
        seat.keys(&format!("What is {sum}?\r"));
        seat.shows(&format!("{sum} is "));
    }
    seat.shows_that("both turns", |whole| whole.matches("answered: ").count() == 2);
    seat.keys("/undo\r");
    seat.shows("back to before: What is 4 + 4?");
    seat.keys("/fork side\r");
    seat.shows("now in session `side`");
    seat.keys("\u{4}");
    seat.shows("--session trip` continues this conversation, from its last message on");
    assert_eq!(seat.code(), 0);
}

#[test]
fn a_session_that_no_message_has_begun_has_the_messages_that_it_goes_on_from() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let mut seat = Seat::sized(&home, &["chat", "agent.yaml", "--session", "trip"], (100, 30));
    seat.shows("\n>");
    for (turn, sum) in ["2 + 3", "4 + 4", "5 + 4"].into_iter().enumerate() {
        seat.keys(&format!("What is {sum}?\r"));
        seat.shows_that("the turn", |whole| whole.matches("answered: ").count() == turn + 1);
    }
    seat.keys("/undo\r");
    seat.shows("back to before: What is 5 + 4?");
    seat.keys("/undo\r");
    seat.shows("back to before: What is 4 + 4?");
    seat.shows("session trip-2 · context ");
    seat.keys("/save talk.md\r");
    seat.shows("written to talk.md");
    let kept = std::fs::read_to_string(home.path("talk.md")).unwrap();
    assert!(kept.contains("2 + 3 is 5.") && !kept.contains("4 + 4"), "{kept}");
    seat.keys("What is 1 + 1?\r");
    seat.shows("1 + 1 is 2.");
    seat.shows_that("the turn", |whole| whole.matches("answered: ").count() == 4);
    assert_eq!(seat.whole().matches("now in session").count(), 1, "{}", seat.whole());
    seat.keys("\u{4}");
    seat.shows("--session trip-2` continues this conversation");
    assert!(!seat.whole().contains("from its last message on"), "{}", seat.whole());
    assert_eq!(seat.code(), 0);
}

#[test]
fn a_chat_is_left_amid_a_call_by_a_second_key_and_gives_back_what_was_not_heard() {
    let home = Home::new();
    let mut seat = Seat::working(&home, &[], (80, 30));
    seat.keys("be brief\r");
    seat.shows("steered: be brief");
    seat.keys("\u{4}");
    seat.shows("calculate is running: Ctrl-D again leaves it in doubt");
    seat.keys("\u{1b}");
    seat.shows("cancelled: ");
    seat.shows("\n> be brief");
    seat.leave("\u{15}\u{4}");
}

#[test]
fn a_lower_window_keeps_the_line_of_status() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let mut seat = Seat::begun(&home, &["chat", "agent.yaml"], (80, 24), "\n>\ntour");
    let drawn = seat.raw().matches("tour").count();
    seat.resize((80, 12));
    until("the line is written once more", || seat.raw().matches("tour").count() > drawn);
    seat.leave(CTRL_D);
}

#[test]
fn a_second_terminal_in_a_session_is_told_which_process_works_there_and_how_to_reach_it() {
    let home = Home::new();
    let first = Seat::working(&home, &["--session", "trip"], (80, 24));
    let again = ["chat", "agent.yaml", "--session", "trip"];
    let mut second = Seat::begun(&home, &again, (300, 24), "error: another process works on run ");
    second.ends_with(1);
    let id = home.id();
    second.shows(&format!("works on run {id}: it is held by pid {}\n", first.child.id()));
    second.shows(&format!("hint: wait until it ends; meanwhile `windlass runs watch {id}` follows it"));
}
