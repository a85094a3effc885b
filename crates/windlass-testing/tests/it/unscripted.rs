//! Calls of an agent's own tools that a case says nothing about.

use std::path::Path;

use windlass_testing::fixture::FixtureFile;
use windlass_testing::{RunnerOptions, run_case};

const SERVER: &str = "tools: [ { mcp: { name: files, command: [ nothing ] } } ]";
const PAY: &str = "tools: [ { command: { name: pay, run: [ 'true' ] } } ]";
const DEEP: &str = "agents: [ { name: deep, description: d, branch: { instructions: y } } ]";
const TASK: &str = "{ calls: [ { name: branch, args: { name: deep, input: dig } } ] }";

/// What falls short in a case that only has an agent, peers or tools, and a model.
fn shown(case: &str) -> String {
    super::with_code();
    let text = format!("name: c\ninput: q\nexpect: {{ status: answered }}\n{case}");
    let file = FixtureFile::parse(&text, Path::new("a.yaml")).unwrap();
    let case = file.cases.into_iter().map(Result::unwrap).next().unwrap();
    let report = run_case(&case, RunnerOptions::default());
    report.failures.first().map(ToString::to_string).unwrap_or_default()
}

fn lacks(tool: &str, case: &str) {
    let shown = shown(case);
    assert!(shown.contains(&format!("`{tool}` was called")), "{case}\n{shown}");
    let allowed = format!("unknown: true\n{case}");
    assert_eq!(self::shown(&allowed), "", "{allowed}");
}

fn holds(case: &str) {
    assert_eq!(shown(case), "", "{case}");
}

/// A plan whose one step is this code.
fn plan(agent: &str, code: &str) -> String {
    let decided = serde_json::json!({
        "plan_text": ["a"], "step_index": 0, "description": "d", "type": "CODE", "code": code
    });
    let decided = serde_json::to_string(&decided.to_string()).unwrap();
    let done = r#"{ for: perceive, text: '{"original_goal_achieved": true, "solution_summary": "ok"}' }"#;
    format!(
        "agent: {{ instructions: x, loop: {{ preset: plan, retries: 0 }}, {agent} }}\n\
         model: [ {{ for: perceive, text: '{{}}' }}, {{ for: decide, text: {decided} }}, {done} ]"
    )
}

#[test]
fn code_that_calls_a_tool_of_a_server_without_an_entry_fails_the_case() {
    let caught = |call: &str| format!("try:\n  return {call}\nexcept Exception as e:\n  return str(e)");
    lacks("files__read", &plan(SERVER, &caught("files__read(1)")));
    lacks("files__read", &plan(SERVER, &caught("parallel((\"files__read\", 1))")));
    let human = "\nhuman: [ { asked: result, answer: hand } ]";
    lacks("files__read", &(plan(SERVER, "return files__read(1)") + human));
    let run = |code: &str| {
        format!(
            "agent: {{ instructions: x, code: {{ enabled: true }}, {SERVER} }}\n\
             model: [ {{ calls: [ {{ name: run_code, args: {{ code: {code:?} }} }} ] }}, {{ text: ok }} ]"
        )
    };
    lacks("files__read", &run("return files__read(1)"));
    // What is only written there, is another object's, or never ran.
    holds(&run("return 'files__read(1)' # files__read()"));
    holds(&run("files__read = len\nreturn 1"));
    holds(&run("files__read(1"));
    let six = "return [files__read(1), files__read(2), files__read(3), files__read(4), files__read(5), files__read(6)]";
    holds(&(plan(SERVER, six) + human));
    holds(&(plan(SERVER, "return files__read()") + "\ntools: { files__read: { does: [ { reply: x } ] } }"));
}

#[test]
fn a_tool_of_a_childs_own_server_needs_an_entry_of_the_child() {
    let child = |tools: &str| {
        format!(
            "agent: {{ instructions: x }}\n\
             peers: {{ w: {{ agent: {{ description: d, instructions: y, {SERVER} }}, {tools} \
                       model: [ {{ calls: [ {{ name: files__read, args: {{}} }} ] }}, {{ text: child }} ] }} }}\n\
             model: [ {{ calls: [ {{ name: w, args: {{ task: do }} }} ] }}, {{ text: ok }} ]"
        )
    };
    lacks("files__read", &child(""));
    assert!(shown(&child("")).contains("by the agent `w`"));
    holds(&child("tools: { files__read: { does: [ { reply: x } ] } },"));
}

#[test]
fn a_tool_of_a_branch_and_one_of_the_agent_above_need_entries() {
    let model = |call: &str| {
        format!("model: [ {TASK}, {{ calls: [ {call} ] }}, {{ text: f }}, {{ text: s }}, {{ text: ok }} ]")
    };
    let branch =
        format!("agents: [ {{ name: deep, description: d, branch: {{ instructions: y, {SERVER} }} }} ]");
    let read = model("{ name: files__read, args: {} }");
    lacks("files__read", &format!("agent: {{ instructions: x, {branch} }}\n{read}"));
    // It is not the branch's own.
    holds(&format!("agent: {{ instructions: x, {DEEP}, {SERVER} }}\n{read}"));
    let above = model("{ name: call_parent_tool, args: { name: files__read } }");
    lacks("files__read", &format!("agent: {{ instructions: x, {DEEP}, {SERVER} }}\n{above}"));
    let odd = model("{ name: call_parent_tool, args: { name: pay, arguments: {} } }");
    lacks("pay", &format!("agent: {{ instructions: x, {DEEP}, {PAY} }}\n{odd}"));
    holds(&format!("agent: {{ instructions: x, {DEEP} }}\n{above}"));
}

#[test]
fn a_server_without_a_prefix_has_the_tools_that_its_entry_names() {
    let case = |tools: &str, call: &str| {
        format!(
            "agent: {{ instructions: x, tools: [ {{ mcp: {{ name: files, command: [ nothing ], prefix: '', tools: {tools} }} }} ] }}\n\
             model: [ {{ calls: [ {{ name: {call}, args: {{}} }} ] }}, {{ text: ok }} ]"
        )
    };
    lacks("read", &case("[ read ]", "read"));
    lacks("read_all", &case("[ 'read_*' ]", "read_all"));
    lacks("lesen", &case("{ rename: { read: lesen } }", "lesen"));
    holds(&case("[ read ]", "write"));
    holds(&case("[ '*' ]", "write"));
    holds(&case("{ only: [ read ], rename: { read: lesen } }", "read"));
}

#[test]
fn a_call_with_broken_arguments_needs_an_entry_as_a_sound_one_does() {
    let call = |args: &str| format!("model: [ {{ calls: [ {{ name: pay, {args} }} ] }}, {{ text: ok }} ]");
    lacks("pay", &format!("agent: {{ instructions: x, {PAY} }}\n{}", call("raw_args: '{\"a'")));
    lacks("pay", &format!("agent: {{ instructions: x, {PAY} }}\n{}", call("args: { no: 1 }")));
    let entry = "tools: { pay: { parameters: { type: object, additionalProperties: false }, does: [ { reply: x } ] } }\n";
    holds(&format!("agent: {{ instructions: x, {PAY} }}\n{entry}{}", call("args: { no: 1 }")));
    let own = "agent: { instructions: x, tools: [ { builtin: [ calculate ] } ] }\n\
               model: [ { calls: [ { name: calculate, raw_args: '{\"a' } ] }, { text: ok } ]";
    holds(own);
}
