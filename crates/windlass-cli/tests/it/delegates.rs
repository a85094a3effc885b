//! Agents that hand tasks to other agents, agents from the environment, and what a session tells of it.

use crate::kit::{Home, assert_end, end};
use crate::server::{Reply, Server};

const LEAD: &str = "name: lead\ninstructions: You lead.\nloop: { preset: text }\n";
const SUMS: &str = "name: sums\ndescription: Does sums.\nmodel: tour\ntools: [ { builtin: [calculate] } ]\n";
const ASKS: &str =
    r#"["```delegate\n{\"agent\": \"sums\", \"task\": \"What is 17% of 2350?\"}\n```", "It is 399.5."]"#;

fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn column(events: &[serde_json::Value], key: &str) -> Vec<String> {
    events.iter().map(|event| event[key].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn k10_k12_k13_an_agent_file_hands_a_task_to_another_and_the_session_tells_of_it() {
    let home = Home::new();
    home.write("lead.yaml", &format!("{LEAD}agents: [ ./sums.yaml ]\n"));
    home.write("sums.yaml", SUMS);
    let run = home
        .command(["run", "lead.yaml", "--session", "s1", "17% of 2350?"])
        .env("DEBUG_MOCK_RESPONSES", ASKS)
        .output()
        .unwrap();
    let run = end(run);
    assert_eq!((run.code, run.stdout.trim()), (0, "It is 399.5."), "{run:?}");
    let events = json_lines(&home.windlass(["sessions", "events", "s1", "--json"]).stdout);
    let kinds = column(&events, "event_type");
    assert_eq!(kinds, ["user_message", "delegation_request", "delegation_response", "agent_response"]);
    assert_eq!(events[1]["content"]["agent"], "sums");
    assert_eq!(events[1]["content"]["task"], "What is 17% of 2350?");
    assert!(events[2]["content"]["response"].as_str().unwrap().contains("399.5"), "{events:?}");
    let last = json_lines(&home.windlass(["sessions", "events", "s1", "--json", "--limit", "1"]).stdout);
    assert_eq!(last, events[3..]);
    let sessions = json_lines(&home.windlass(["sessions", "list", "--json"]).stdout);
    assert_eq!((sessions.len(), &sessions[0]["session_id"]), (1, &"s1".into()), "{sessions:?}");
}

#[test]
fn reports_of_a_lead_take_its_delegates_along() {
    let home = Home::new();
    home.write("lead.yaml", &format!("{LEAD}agents: [ ./sums.yaml ]\n"));
    home.write("sums.yaml", SUMS);
    let run = home
        .command(["run", "lead.yaml", "17% of 2350?"])
        .env("DEBUG_MOCK_RESPONSES", ASKS)
        .output()
        .unwrap();
    assert_eq!(end(run).code, 0);
    let lines = json_lines(&home.windlass(["runs", "export", "last", "--as", "jsonl"]).stdout);
    let (lead, below) = lines.split_at(lines.iter().position(|line| line["agent"] == "sums").unwrap());
    for (events, agent) in [(lead, "lead"), (below, "sums")] {
        assert!(events.iter().all(|line| line["agent"] == agent), "{lines:?}");
        let seqs: Vec<_> = events.iter().filter_map(|line| line["seq"].as_u64()).collect();
        assert!(seqs.iter().copied().eq(1..=seqs.len() as u64), "{seqs:?}");
        assert_eq!(events.last().unwrap()["event"], "RunEnded");
    }
    let effects = home.windlass(["runs", "effects", "last"]);
    assert!(effects.stdout.contains("of the agent `sums`\n"), "{effects:?}");
    assert!(effects.stdout.contains("calculate") && effects.stderr.is_empty(), "{effects:?}");
    let effects = json_lines(&home.windlass(["runs", "effects", "last", "--json"]).stdout);
    assert_eq!((effects.len(), &effects[0]["run"]), (1, &below[0]["run"]), "{effects:?}");
    let session = home.windlass(["runs", "export", "last", "--as", "session10"]);
    assert!(session.stderr.contains("no place for 1 delegate's run"), "{session:?}");
    assert_eq!(json_lines(&session.stdout)[0]["session_id"], lead[0]["run"]);
}

#[test]
fn k11_tool_calls_are_told_and_shown_a_line_each() {
    let home = Home::new();
    home.write("sums.yaml", SUMS);
    assert_eq!(home.windlass(["run", "sums.yaml", "--session", "s", "What is 2 + 3?"]).code, 0);
    let events = json_lines(&home.windlass(["sessions", "events", "s", "--json"]).stdout);
    assert_eq!(column(&events, "event_type"), ["user_message", "tool_call", "tool_result", "agent_response"]);
    assert_eq!(events[1]["content"]["tool"], "calculate");
    assert!(events.iter().all(|event| event["event_id"].as_str().unwrap().len() == "event_".len() + 8));
    let lines = home.windlass(["sessions", "events", "s"]).stdout;
    assert_eq!(lines.lines().count(), 4, "{lines}");
}

#[test]
fn k25_a_session_keeps_no_more_events_than_its_loop_says() {
    let home = Home::new();
    home.write("a.yaml", "name: a\nmodel: tour\nloop: { preset: text, memory: { max_session_events: 3 } }\n");
    for input in ["one", "two"] {
        assert_eq!(home.windlass(["run", "a.yaml", "--session", "s", input]).code, 0);
    }
    let events = json_lines(&home.windlass(["sessions", "events", "s", "--json"]).stdout);
    assert_eq!(column(&events, "event_type"), ["agent_response", "user_message", "agent_response"]);
}

#[test]
fn a_delegate_from_the_command_line_has_the_name_that_it_is_given() {
    let home = Home::new();
    home.write("lead.yaml", LEAD);
    home.write("other.yaml", SUMS);
    let run = home
        .command(["run", "lead.yaml", "--agent", "sums=other.yaml", "17% of 2350?"])
        .env("DEBUG_MOCK_RESPONSES", ASKS)
        .output()
        .unwrap();
    let run = end(run);
    assert_eq!((run.code, run.stdout.trim()), (0, "It is 399.5."), "{run:?}");
}

#[test]
fn k14_mock_replies_that_are_used_up_are_an_error_that_says_so() {
    let home = Home::new();
    home.write("lead.yaml", LEAD);
    let run = home.command(["run", "lead.yaml", "go"]).env("DEBUG_MOCK_RESPONSES", "[]").output().unwrap();
    let run = end(run);
    assert_eq!(run.code, 69, "{run:?}");
    assert!(run.stderr.contains("DEBUG_MOCK_RESPONSES is used up: it has 0 replies"), "{run:?}");
}

#[test]
fn k30_an_agent_from_the_environment() {
    let home = Home::new();
    let run = home
        .command(["run", "--from-env", "Say hello"])
        .env("AGENT_NAME", "greeter")
        .env("AGENT_INSTRUCTIONS", "Greet {{ name }}.")
        .env("AGENTIC_LOOP_MAX_STEPS", "2")
        .env("DEBUG_MOCK_RESPONSES", r#"["Hello."]"#)
        .output()
        .unwrap();
    let run = end(run);
    assert_eq!((run.code, run.stdout.trim()), (0, "Hello."), "{run:?}");
    let shown = home.windlass(["runs", "show", "last"]).stdout;
    assert!(shown.contains("greeter"), "{shown}");
}

#[test]
fn k30_an_environment_that_lacks_something_says_what() {
    let home = Home::new();
    assert_end!(home, home.windlass(["run", "--from-env", "Say hello"]));
}

#[test]
fn a_delegate_of_a_file_has_the_name_and_the_description_that_it_is_given() {
    let (home, server) = (Home::new(), lead());
    home.write(
        "lead.yaml",
        &format!(
            "{}agents: [ {{ name: sums, file: agents/other.yaml, description: Adds. }} ]\n",
            server.agent()
        ),
    );
    home.write("agents/other.yaml", &SUMS.replace("name: sums", "name: other"));
    let end = home.windlass(["run", "lead.yaml", "Add."]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "All done.\n"), "{end:?}");
    let request = server.requests.recv().unwrap();
    let tool = &request["tools"][0]["function"];
    assert_eq!((&tool["name"], &tool["description"]), (&"sums".into(), &"Adds.".into()), "{request}");
}

#[test]
fn what_is_wrong_with_a_delegate_is_told_at_its_entry() {
    let home = Home::new();
    home.write("sums.yaml", SUMS);
    home.write("bad.yaml", "name: bad\ntols: []\n");
    home.write("cases.yaml", "cases: [ { name: a, input: x } ]\n");
    home.write("spaces.yaml", "name: my sums\nmodel: tour\n");
    let mistakes = [
        ("missing", "./smus.yaml"),
        ("nowhere", "{ name: x, file: ./nowhere/else.yaml }"),
        ("typo", "{ name: x, file: ./bad.yaml }"),
        ("no-agent", "./cases.yaml"),
        ("spaced", "./spaces.yaml"),
        ("itself", "./itself.yaml"),
        ("twice", "{ file: ./sums.yaml }\n  - ./sums.yaml"),
        ("tool", "{ name: now, file: ./sums.yaml }"),
        ("path", "{ name: x, path: ./sums.yaml }"),
    ];
    for (name, entry) in mistakes {
        let text =
            format!("name: {name}\nmodel: tour\ntools: [ {{ builtin: [now] }} ]\nagents:\n  - {entry}\n");
        home.write(&format!("{name}.yaml"), &text);
    }
    let files = mistakes.map(|(name, _)| format!("{name}.yaml"));
    let args = ["agents", "check"].into_iter().chain(files.iter().map(String::as_str));
    assert_end!(home, end(home.command(args).output().unwrap()));
}

#[test]
fn agents_in_a_circle_are_refused() {
    let home = Home::new();
    home.write("a.yaml", "name: a\nmodel: tour\nagents: [ ./b.yaml ]\n");
    home.write("b.yaml", "name: b\nmodel: tour\nagents: [ ./a.yaml ]\n");
    let run = home.windlass(["run", "a.yaml", "go"]);
    assert_eq!(run.code, 65, "{run:?}");
    assert!(run.stderr.contains("in a cycle") && run.stderr.contains("hint:"), "{run:?}");
    assert_eq!(home.windlass(["agents", "check", "a.yaml"]).code, 65);
}

/// A lead above 15 agents, each of them above the same 16, and above so many more.
fn family(home: &Home, more: usize) {
    let list =
        |names: Vec<String>| names.iter().map(|name| format!("./{name}.yaml")).collect::<Vec<_>>().join(", ");
    let numbered = |what: &str, most: usize| (1..=most).map(|nth| format!("{what}{nth}")).collect::<Vec<_>>();
    for leaf in numbered("leaf", 16) {
        home.write(&format!("{leaf}.yaml"), &format!("name: {leaf}\nmodel: tour\n"));
    }
    let below = list(numbered("leaf", 16));
    for group in numbered("group", 15) {
        home.write(&format!("{group}.yaml"), &format!("name: {group}\nmodel: tour\nagents: [ {below} ]\n"));
    }
    let all = list(numbered("group", 15).into_iter().chain(numbered("leaf", more)).collect());
    home.write("lead.yaml", &format!("name: lead\nmodel: tour\nagents: [ {all} ]\n"));
}

#[test]
fn more_than_256_agents_under_one_are_refused() {
    let home = Home::new();
    family(&home, 1);
    let check = home.windlass(["agents", "check", "lead.yaml"]);
    assert_eq!(check.code, 0, "256 agents: {check:?}");
    family(&home, 2);
    assert_end!(home, home.windlass(["run", "lead.yaml", "go"]));
    assert_eq!(home.windlass(["agents", "check", "lead.yaml"]).code, 65);
}

#[test]
fn e10_a_delegate_with_the_name_of_a_tool_is_refused() {
    let home = Home::new();
    home.write("a.yaml", "name: a\nmodel: tour\ntools: [ { builtin: [now] } ]\nagents: [ ./b.yaml ]\n");
    home.write("b.yaml", "name: now\nmodel: tour\n");
    let run = home.windlass(["run", "a.yaml", "go"]);
    assert!(run.code != 0 && run.stderr.contains("Duplicate tool name: now"), "{run:?}");
}

#[test]
fn an_unknown_session_is_said() {
    let home = Home::without_log();
    assert_end!(home, home.windlass(["sessions", "events", "nobody"]));
}

/// A lead whose delegate waits for a person, and the id of the delegate's run.
fn waiting(home: &Home, server: &Server) -> String {
    home.write("lead.yaml", &format!("{}agents: [ ./sums.yaml ]\n", server.agent()));
    home.write("sums.yaml", &format!("{SUMS}loop: {{ approve: [calculate] }}\n"));
    let end = home.windlass(["run", "lead.yaml", "Add."]);
    assert_eq!((end.code, end.stdout.as_str()), (75, ""), "{end:?}");
    let runs = json_lines(&home.windlass(["runs", "list", "--json"]).stdout);
    let child = runs.iter().find(|run| run["agent"] == "sums").unwrap();
    child["run"].as_str().unwrap().to_owned()
}

fn lead() -> Server {
    Server::start(vec![
        Reply::Call("sums".into(), r#"{"task": "What is 2 + 3?"}"#.into()),
        Reply::Pieces(vec!["All done."]),
    ])
}

#[test]
fn e26_a_question_of_a_delegate_is_shown_and_answered_at_the_root() {
    let (home, server) = (Home::new(), lead());
    let child = waiting(&home, &server);
    let root = home.last()["run"].as_str().unwrap().to_owned();
    assert_ne!(root, child, "`last` is the lead's run");
    let shown = home.windlass(["runs", "show", &child]);
    assert!(shown.stdout.contains(&format!("windlass runs answer {root} q1 approve")), "{shown:?}");
    let end = home.windlass(["runs", "answer", "--by", "Ann", "last", "q1", "approve"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "All done.\n"), "{end:?}");
    let shown = home.windlass(["runs", "show", &child]);
    assert!(shown.stdout.contains("approved (q1, Ann, by a command)"), "{shown:?}");
}

#[test]
fn e26_an_answer_at_the_delegates_run_frees_the_whole_chain() {
    let (home, server) = (Home::new(), lead());
    let child = waiting(&home, &server);
    let end = home.windlass(["runs", "answer", &child, "q1", "approve"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "All done.\n"), "{end:?}");
    assert!(home.windlass(["runs", "list", "--status", "suspended"]).stdout.is_empty());
}

#[test]
fn e26_a_delegates_run_is_resumed_with_its_lead() {
    let (home, server) = (Home::new(), lead());
    let child = waiting(&home, &server);
    let end = home.windlass(["runs", "resume", &child]);
    assert_eq!(end.code, 75, "{end:?}");
    assert!(end.stderr.contains(&format!("run {child} does a task of run ")), "{end:?}");
}

#[test]
fn e59_a_lead_whose_delegate_was_cancelled_goes_on() {
    let (home, server) = (Home::new(), lead());
    let child = waiting(&home, &server);
    assert_eq!(home.windlass(["runs", "cancel", &child]).code, 0);
    let end = home.windlass(["runs", "resume", "--all"]);
    assert_eq!(end.code, 0, "{end:?}");
    assert_eq!(home.last()["status"], "answered", "{end:?}");
}
