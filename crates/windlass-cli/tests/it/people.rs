//! Questions without a terminal: the run waits, and the answer comes from another process.

use crate::kit::{ASKING, BOTH, Home, PLAIN, SLOW, assert_end, finish, lines, until};
use crate::server::{Reply, Server};

fn suspended(home: &Home) {
    home.write("agent.yaml", ASKING);
    let end = home.windlass(["run", "agent.yaml", "What is 2 + 3?"]);
    assert_eq!(end.code, 75, "{end:?}");
}

#[test]
fn e27_without_a_terminal_the_run_is_suspended_and_says_how_to_answer() {
    let home = Home::new();
    home.write("agent.yaml", ASKING);
    assert_end!(home, home.windlass(["run", "agent.yaml", "What is 2 + 3?"]));
    assert!(home.windlass(["runs", "list", "--status", "suspended"]).stdout.contains("suspended"));
}

#[test]
fn e27_the_command_that_is_named_works_as_it_is() {
    let home = Home::new();
    home.write("agent.yaml", ASKING);
    let end = home.windlass(["run", "agent.yaml", "--log", "my log.db", "What is 2 + 3?"]);
    let command = end.stderr.lines().find_map(|line| line.strip_prefix("hint: windlass ")).unwrap();
    let binary = env!("CARGO_BIN_EXE_windlass");
    let script = format!("exec {binary} {command}");
    let out = home.command(["--version"]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).current_dir(home.path("")).env_clear();
    shell.envs(out.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let out = shell.stdin(std::process::Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8(out.stdout).unwrap(), "2 + 3 is 5.\n", "{script}");
    assert_eq!(out.status.code(), Some(0));
}

#[test]
fn a_denied_call_is_told_to_the_model() {
    let home = Home::new();
    suspended(&home);
    let end = home.windlass(["runs", "answer", "last", "q1", "deny", "not", "today"]);
    assert_eq!(end.code, 0, "{end:?}");
    assert!(end.stdout.contains("not today"), "{end:?}");
    assert_eq!(home.events("CallStarted"), 0);
}

#[test]
fn edited_arguments_run_in_place_of_the_models() {
    let home = Home::new();
    suspended(&home);
    let end = home.windlass(["runs", "answer", "last", "q1", "args", "{\"expression\": \"4 * 4\"}"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 3 is 16.\n"), "{end:?}");
    assert_end!(home, home.windlass(["runs", "show", "last"]));
    let approval = &home.last()["approvals"][0];
    assert_eq!(approval["question"], "q1", "{approval}");
    assert_eq!(approval["decision"]["edited"]["args"], "{\"expression\":\"4 * 4\"}", "{approval}");
}

/// A diff and a session's events have the arguments that ran, too.
#[test]
fn edited_arguments_are_the_calls_arguments_everywhere() {
    let home = Home::new();
    home.write("agent.yaml", ASKING);
    let end = home.windlass(["run", "agent.yaml", "--session", "sums", "What is 2 + 3?"]);
    assert_eq!(end.code, 75, "{end:?}");
    let one = home.id();
    let edited = ["runs", "answer", "last", "q1", "args", "{\"expression\": \"4 * 4\"}"];
    assert_eq!(home.windlass(edited).code, 0);
    let events = home.windlass(["sessions", "events", "sums"]).stdout;
    assert!(events.contains("4 * 4") && !events.contains("\"2 + 3\""), "{events}");
    suspended(&home);
    assert_eq!(home.windlass(["runs", "answer", "last", "q1", "approve"]).code, 0);
    let diff = home.windlass(["runs", "diff", &one, "last"]).stdout;
    assert!(diff.contains("4 * 4") && diff.contains("2 + 3"), "{diff}");
}

#[test]
fn approvals_and_refusals_appear_in_the_transcript() {
    let home = Home::new();
    suspended(&home);
    assert_eq!(home.windlass(["runs", "answer", "last", "q1", "approve"]).code, 0);
    assert_end!(home, home.windlass(["runs", "show", "last"]));
    suspended(&home);
    assert_eq!(home.windlass(["runs", "answer", "last", "q1", "deny", "not", "today"]).code, 0);
    assert_end!(home, home.windlass(["runs", "show", "last"]));
}

#[test]
fn e28_answers_that_do_not_fit_say_what_was_expected() {
    let home = Home::new();
    suspended(&home);
    assert_end!(home, home.windlass(["runs", "answer", "last", "q1", "maybe"]));
    let unknown = home.windlass(["runs", "answer", "last", "q2", "approve"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("question q2 is not open (open: q1)"), "{unknown:?}");
    let bad = home.windlass(["runs", "answer", "last", "q1", "args", "{\"expression\": 5}"]);
    assert_eq!(bad.code, 1);
    assert!(bad.stderr.contains("is not of type"), "{bad:?}");
    assert_eq!(home.windlass(["runs", "answer", "last", "q1", "approve"]).code, 0);
    let late = home.windlass(["runs", "answer", "last", "q1", "approve"]);
    assert_eq!(late.code, 1);
    assert!(late.stderr.contains("has ended (answered) and does not accept an answer"), "{late:?}");
}

#[test]
fn e71_a_changed_agent_is_given_to_a_run_only_where_it_is_named() {
    let home = Home::new();
    let changed = ASKING.replace("name: asking", "name: asking\ninstructions: Be brief.");
    for (with, switched) in [(false, 0), (true, 1)] {
        home.write("agent.yaml", ASKING);
        suspended(&home);
        home.write("agent.yaml", &changed);
        let end = if with {
            home.windlass(["runs", "answer", "--with", "agent.yaml", "last", "q1", "approve"])
        } else {
            home.windlass(["runs", "answer", "last", "q1", "approve"])
        };
        assert_eq!(end.code, 0, "{end:?}");
        let preview = "another agent: instructions, examples or other settings of its file";
        assert_eq!(end.stderr.contains(preview), with, "{end:?}");
        let shown = home.windlass(["runs", "export", "last"]);
        assert_eq!(shown.stdout.matches("\"switched\"").count(), switched);
    }
}

#[test]
fn the_agents_file_is_found_again_with_what_the_command_line_said_over_it() {
    let home = Home::new();
    home.write("sub/agent.yaml", &PLAIN.replace("model: tour", "model: openai/x"));
    let end =
        home.windlass(["run", "sub/agent.yaml", "--model", "tour", "--approve", "calc*", "What is 2 + 3?"]);
    assert_eq!(end.code, 75, "{end:?}");
    let end = home.windlass(["runs", "answer", "last", "q1", "approve"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 3 is 5.\n"), "{end:?}");
    assert_eq!(home.windlass(["run", "agent2.yaml", "x"]).code, 65);
}

#[test]
fn e75_an_answer_to_another_question_than_was_read_is_refused() {
    let home = Home::new();
    suspended(&home);
    let refused = home.windlass(["runs", "answer", "last", "q1@00000000", "approve"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.stderr.contains("question q1 of run") && refused.stderr.contains("calculate"),
        "{refused:?}"
    );
    let shown = home.windlass(["runs", "show", "--json", "last"]).stdout;
    let digest = shown
        .split("\"digest\":\"")
        .skip(1)
        .find_map(|rest| rest.split('"').next().filter(|text| text.len() == 8));
    let question = format!("q1@{}", digest.expect("a question has a digest"));
    assert_eq!(home.windlass(["runs", "answer", "last", &question, "approve"]).code, 0);
}

#[test]
fn an_answer_reaches_the_process_that_holds_the_run() {
    let home = Home::new();
    home.write("agent.yaml", &format!("{SLOW}loop: {{ approve: [list_files] }}\n"));
    let holder = home.start(["run", "agent.yaml", BOTH]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    until("the question is asked", || home.events("InputRequested") == 1);
    let end = home.windlass(["runs", "answer", "last", "q1", "approve"]);
    assert_eq!(end.code, 0, "{end:?}");
    assert!(end.stderr.contains("is stored for pid "), "{end:?}");
    until("the list has run", || lines(&home.path("lists")) == 1);
    home.write("go", "");
    let end = finish(holder);
    assert_eq!(end.code, 0, "{end:?}");
    assert!(end.stdout.contains("notes.txt"), "{end:?}");
}

#[test]
fn an_answer_may_be_left_for_later() {
    let home = Home::new();
    suspended(&home);
    let left = home.windlass(["runs", "answer", "--leave", "last", "q1", "approve"]);
    assert_eq!((left.code, left.stdout.as_str()), (0, ""), "{left:?}");
    let end = home.windlass(["runs", "resume", "last"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 3 is 5.\n"), "{end:?}");
}

#[test]
fn a_suspended_run_can_be_cancelled_without_its_agent() {
    let home = Home::new();
    suspended(&home);
    std::fs::remove_file(home.path("agent.yaml")).unwrap();
    let end = home.windlass(["runs", "cancel", "last"]);
    assert_eq!(end.code, 0, "{end:?}");
    assert!(end.stderr.ends_with(": cancelled\n"), "{end:?}");
    assert_eq!(home.last()["status"], "cancelled");
    assert_eq!(home.windlass(["runs", "cancel", "last"]).code, 1, "it has ended already");
}

#[test]
fn a_call_is_shown_with_the_value_that_runs_and_not_with_the_models_text() {
    let args = "{\"p\":\"good\", \"\\u0070\":\"EVIL\u{115f}\"}";
    let server = Server::start(vec![Reply::Call("say".into(), args.into()), Reply::Pieces(vec!["Done."])]);
    let home = Home::new();
    let tools = "tools: [ { command: { name: say, description: d, run: [echo, \"{p}\"] } } ]\nloop: { approve: [say] }\n";
    home.write("agent.yaml", &format!("{}{tools}", server.agent()));
    let asked = home.windlass(["run", "agent.yaml", "Go on."]);
    assert_eq!(asked.code, 75, "{asked:?}");
    let value = r#"{"p":"EVIL\u115f"}"#;
    let end = home.windlass(["runs", "answer", "last", "q1", "approve"]);
    assert!(end.code == 0 && end.stderr.contains(&format!("-> say {value}\n")), "{end:?}");
    for args in [["runs", "show", "last"], ["runs", "effects", "last"]] {
        let shown = home.windlass(args).stdout;
        assert!(shown.contains(&format!("say {value}\n")) && !shown.contains("good"), "{args:?}: {shown}");
    }
}

#[test]
fn an_answer_says_who_gave_it_and_a_second_answerer_reads_that() {
    let home = Home::new();
    suspended(&home);
    let first = ["runs", "answer", "--leave", "--by", "Ann\u{1b}[31m", "last", "q1", "approve"];
    assert_eq!(home.windlass(first).code, 0);
    let waits = home.windlass(["runs", "answer", "--by", "Bob", "last", "q1", "deny"]);
    assert!(
        waits.code == 1
            && waits.stderr.contains("has an answer that waits for the run: approve (Ann")
            && waits.stderr.contains(", by a command, ")
            && waits.stderr.contains("hint: windlass runs resume "),
        "{waits:?}"
    );
    assert!(!waits.stderr.contains('\u{1b}'), "a name is no command to the terminal: {waits:?}");
    assert_eq!(home.windlass(["runs", "resume", "last"]).code, 0);
    let late = home.windlass(["runs", "answer", "--by", "Bob", "last", "q1", "deny"]);
    assert!(
        late.code == 1 && late.stderr.contains("q1 was answered before: approve (Ann"),
        "after the run has ended, too: {late:?}"
    );
    let shown = home.windlass(["runs", "show", "last"]);
    assert!(shown.stdout.contains("approved (q1, Ann") && !shown.stdout.contains('\u{1b}'), "{shown:?}");
    let json = home.windlass(["runs", "show", "last", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let by = json["approvals"][0]["by"].clone();
    assert_eq!(by, serde_json::json!({ "from": "command", "name": "Ann\u{1b}[31m" }), "{json}");
}
