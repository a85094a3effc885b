//! `windlass test` with a person's own agent files: changes, tools that really run, and every mistake on the way.

use crate::kit::{End, Home, assert_end, sums};

/// An agent with commands that really do something: one reads, one keeps a book under its idempotency key.
const RESEARCH: &str = r#"
description: Looks into notes.
model: openai/gpt-5-mini
instructions: You look into the notes.
tools:
  - command: { name: wordcount, run: [./count.sh, "{path}"], description: Counts words., effect: read_only }
  - command: { name: pay, run: [./pay.sh, "{order}"], description: Pays an order., env: { TOKEN: "${PAY_TOKEN}" } }
  - builtin: [read_file, calculate]
  - mcp: { name: files, command: [no-such-program] }
loop: { approve: [pay] }
"#;

const COUNT: &str = "#!/bin/sh\nwc -w < \"$1\" | tr -d ' \\n'\n";
/// Appends its key: who pays twice under one key is found out.
const PAY: &str = "#!/bin/sh\necho \"$WINDLASS_IDEMPOTENCY_KEY\" >> paid.txt\necho \"paid $1 with $TOKEN\"\n";

fn research() -> Home {
    let home = Home::new();
    home.write("research.yaml", RESEARCH);
    home.write("notes.txt", "seven words stand in this very file\n");
    home.program("count.sh", COUNT);
    home.program("pay.sh", PAY);
    home
}

/// A case for the agent, with these lines.
fn case(home: &Home, lines: &str) {
    home.write("tests/research.yaml", &format!("name: own\nagent: ../research.yaml\n{lines}\n"));
}

fn passes(end: &End) {
    assert_eq!((end.code, sums(end)), (0, Some("1 passed, 0 failed")), "{end:?}");
}

const COUNTS: &str = "
real_tools: [wordcount]
model:
  - calls: [ { name: wordcount, args: { path: notes.txt }, id: c1 } ]
  - text: It has seven words.
input: How long are my notes?
expect:
  status: answered
  executions: { wordcount: 1 }
  executed: { wordcount: [ { path: notes.txt } ] }
  requests: { 1: { model: openai/gpt-5-mini, tools: { contains: [pay] } }, 2: { last: { role: tool, text: \"7\" } } }
  virtual_ms: 0
";

#[test]
fn an_own_agents_command_really_runs_in_no_time_and_with_a_restart_anywhere() {
    let home = research();
    case(&home, COUNTS);
    passes(&home.windlass(["test", "tests"]));
    passes(&home.windlass(["test", "tests", "--crash", "--seeds", "5"]));
}

#[test]
fn tools_that_no_case_names_stay_scripted() {
    let home = research();
    case(&home, &COUNTS.replace("[wordcount]", "[]"));
    let end = home.windlass(["test", "tests", "--blocking"]);
    assert_eq!(end.code, 1, "{end:?}");
    assert!(
        end.stdout.contains("needs an entry under `tools:` of the case, or its name in `real_tools`"),
        "{end:?}"
    );
    // Patterns leave a scripted tool alone.
    case(
        &home,
        &format!(
            "{}tools: {{ wordcount: {{ does: [ {{ reply: '7' }} ] }} }}\n",
            COUNTS.replace("[wordcount]", "['read_*', 'word*']")
        ),
    );
    home.write("notes.txt", "one");
    passes(&home.windlass(["test", "tests"]));
}

#[test]
fn what_happens_once_is_paid_once_whatever_crashes() {
    let home = research();
    case(
        &home,
        "real_tools: [pay]
env: { PAY_TOKEN: sesame }
model:
  - calls: [ { name: pay, args: { order: A7 }, id: c1 } ]
  - text: A7 is paid.
human: [ { asked: approval, answer: approve } ]
input: Pay A7.
expect: { status: answered, executions: { pay: 1 }, requests: { 2: { last: { text: paid A7 with *** } } } }",
    );
    passes(&home.windlass(["test", "tests", "--crash", "--seeds", "10"]));
    let paid = home.read("paid.txt");
    let mut keys: Vec<&str> = paid.lines().collect();
    let all = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert!(all > 10 && keys.len() == all, "each pass has a key of its own and pays once: {paid}");
}

#[test]
fn a_doubt_after_a_crash_of_the_case_is_a_persons() {
    let home = research();
    home.write(
        "case.yaml",
        "name: it dies before the call begins
agent: { file: ./research.yaml, with: { loop: { approve: [] } } }
real_tools: [pay]
env: { PAY_TOKEN: sesame }
model:
  - calls: [ { name: pay, args: { order: A7 }, id: c1 } ]
  - text: A7 is paid.
crash: { after_event: 4 }
human: [ { asked: outcome, answer: run_again } ]
input: Pay A7.
expect: { status: answered, executions: { pay: 1 }, asked: [ { kind: outcome, tool: pay } ] }
",
    );
    passes(&home.windlass(["test", "case.yaml"]));
    // A check settles it: nobody is asked. Exit code 1 says that the call did not happen.
    let text = home.read("research.yaml").replace(
        "description: Pays an order.",
        "effect: once, check: [test, -e, nothing], description: Pays.",
    );
    home.write("research.yaml", &text);
    let text = home.read("case.yaml").replace("human: [ { asked: outcome, answer: run_again } ]\n", "");
    home.write("case.yaml", &text.replace("asked: [ { kind: outcome, tool: pay } ]", "asked: []"));
    passes(&home.windlass(["test", "case.yaml"]));
}

#[test]
fn a_tool_that_hangs_is_timed_out() {
    let home = research();
    home.program("count.sh", "#!/bin/sh\nexec sleep 1000\n");
    home.write(
        "case.yaml",
        "name: hangs
agent: { file: research.yaml, with: { timeouts: { tool_ms: 200 }, loop: { retries: 0 } } }
real_tools: [wordcount]
model: [ { calls: [ { name: wordcount, args: { path: notes.txt } } ] }, { text: It takes too long. } ]
input: How long are my notes?
expect: { status: answered, virtual_ms: 200, requests: { 2: { last: { role: tool, text: { contains: timed out } } } } }",
    );
    passes(&home.windlass(["test", "case.yaml"]));
}

#[test]
fn changes_are_made_to_maps_key_by_key() {
    let home = research();
    home.write(
        "case.yaml",
        "name: changed
agent: { file: ./research.yaml, with: { model: m1, description: null, loop: { limits: { model_calls: 1 }, at_limit: none } } }
tools: { pay: { does: [ { reply: paid } ] } }
model: [ { calls: [ { name: pay, args: { order: A7 } } ] } ]
human: [ { asked: approval, answer: approve } ]
input: Pay A7.
expect: { status: limit, limit: model_calls, requests: { 1: { model: m1, messages: { contains: [ { role: system, text: { contains: into the notes } } ] } } }, asked: [ { kind: approval } ] }",
    );
    passes(&home.windlass(["test", "case.yaml"]));
}

#[test]
fn errors_name_the_file_in_which_they_stand() {
    let home = research();
    home.write("research.yaml", &RESEARCH.replace("instructions:", "instuctions:"));
    home.write(
        "case.yaml",
        "cases:
  - name: a mistake in the agent file, and others in the case
    agent: ./research.yaml
    modle: []
    input: Hi
    expect: { stats: answered, model_calls: many }
  - name: a mistake in the changes
    agent:
      file: ./research.yaml
      with: { loop: { presett: chat, limits: { model_calls: many } } }
    input: Hi
  - name: no such file
    agent: ./reserach.yaml
    input: Hi
  - name: a file of cases
    agent: ./case.yaml
    input: Hi
",
    );
    assert_end!(home, home.windlass(["test", "case.yaml"]));
}

#[test]
fn tools_that_cannot_really_run_are_told() {
    let home = research();
    home.write(
        "case.yaml",
        "name: unknown
agent: ./research.yaml
real_tools: [wordcuont, files__read, pay, 'x*', calculate, read_file]
tools: { read_file: {} }
input: Hi
",
    );
    assert_end!(home, home.windlass(["test", "case.yaml"]));
}

#[test]
fn all_expectations_that_fall_short_are_told() {
    let home = Home::new();
    home.write(
        "case.yaml",
        "name: short
model: [ { text: Hello. } ]
input: Say hello
expect: { status: limit, text: Good day., model_calls: 2, requests: { 1: { model: m2, last: { text: Bye } } } }
",
    );
    assert_end!(home, home.windlass(["test", "case.yaml", "--blocking"]));
}

#[test]
fn a_folder_of_agents_is_no_folder_of_cases() {
    let home = research();
    assert_end!(home, home.windlass(["test", "."]));
}

#[test]
fn an_agent_file_is_no_file_of_cases() {
    let home = research();
    assert_end!(home, home.windlass(["test", "research.yaml"]));
}

#[test]
fn a_file_of_cases_is_no_agent_file() {
    let home = research();
    home.write("case.yaml", "cases: [ { name: a, input: x } ]\n");
    let end = home.windlass(["run", "case.yaml", "Hi"]);
    assert_eq!(end.code, 65, "{end:?}");
    assert!(
        end.stderr.contains("hint: the file seems to hold test cases: `windlass test FILE` runs them"),
        "{end:?}"
    );
}

#[test]
fn scripts_get_every_error_and_every_difference() {
    let home = Home::new();
    home.write("a.yaml", "name: a\ninput: x\nmodle: []\nexpect: { stats: answered }\n");
    home.write("b.yaml", "name: b\ninput: x\nmodel: [ { text: hi } ]\nexpect: { text: ho, turns: 2 }\n");
    let end = home.windlass(["test", "a.yaml", "b.yaml", "--json", "--blocking"]);
    let lines: Vec<serde_json::Value> =
        end.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["errors"].as_array().unwrap().len(), 2, "{end:?}");
    assert_eq!((&lines[0]["line"], &lines[0]["errors"][1]["line"]), (&3.into(), &4.into()), "{end:?}");
    assert_eq!(lines[1]["failures"][0]["differences"].as_array().unwrap().len(), 2, "{end:?}");
}

#[test]
fn agent_files_beside_cases_are_left_out() {
    let home = research();
    case(&home, COUNTS);
    passes(&home.windlass(["test", "."]));
}

#[test]
fn a_family_is_tested_from_its_files() {
    let home = Home::new();
    home.write("agents/lead.yaml", "instructions: You lead.\nagents: [ ./look.yaml, { name: scribe, file: ./write.yaml, description: Writes well. } ]\n");
    home.write("agents/look.yaml", "name: researcher\ninstructions: You look.\ntools: [ { command: { name: date, run: [echo, today], effect: read_only } } ]\n");
    home.write("agents/write.yaml", "instructions: You write.\nloop: { approve: [save] }\ntools: [ { command: { name: save, run: [./save], description: Saves. } } ]\n");
    home.write(
        "tests/lead.yaml",
        "name: two delegates, one asks
agent: ../agents/lead.yaml
peers:
  researcher:
    real_tools: [date]
    model: [ { calls: [ { name: date, args: {} } ] }, { text: It is today. } ]
  scribe:
    tools: { save: { effect: once, does: [ { reply: saved } ] } }
    model: [ { calls: [ { name: save, args: {} } ] }, { text: It is written. } ]
model:
  - calls: [ { name: researcher, args: { task: Which day is it? } }, { name: scribe, args: { task: Write it down. } } ]
  - text: Done.
human: [ { asked: approval, answer: approve } ]
input: Note the day.
expect:
  status: answered
  asked: [ { kind: approval, tool: save } ]
  executions: { date: 1, save: 1 }
  requests: { 1: { tools: [researcher, scribe] }, 2: { last: { role: tool, name: scribe, text: It is written. } } }
  peers: { researcher: { 1: { last: { text: Which day is it? } } } }
",
    );
    passes(&home.windlass(["test", "tests", "--crash"]));
    let misspelt = home.read("tests/lead.yaml").replace("\n  scribe:", "\n  scrbe:");
    home.write("tests/other.yaml", &misspelt);
    let end = home.windlass(["test", "tests/other.yaml"]);
    assert!(end.stdout.contains("which has `scrbe`; did you mean scribe?"), "{end:?}");
    std::fs::remove_file(home.path("tests/other.yaml")).unwrap();
    let text = home.read("tests/lead.yaml").replace("  scribe:\n    tools: { save: { effect: once, does: [ { reply: saved } ] } }\n    model: [ { calls: [ { name: save, args: {} } ] }, { text: It is written. } ]\n", "");
    home.write("tests/lead.yaml", &text);
    assert_end!(home, home.windlass(["test", "tests", "--blocking"]));
}
