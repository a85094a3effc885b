//! A command, server, folder or agent that changes between the question and the answer (E24).

use crate::kit::{End, Home, assert_end};
use crate::server::{Reply, Server};
use crate::tool_server::ToolServer;

/// An agent whose sums are done by a program, which must be allowed.
const KEEPER: &str = r#"
name: keeper
model: tour
tools:
  - command:
      name: calculate
      run: [./t.sh, "{expression}"]
      description: Works out a sum.
      parameters: { type: object, properties: { expression: { type: string } }, required: [expression] }
loop: { approve: [calculate] }
"#;

fn program(home: &Home, name: &str, leaves: &str) {
    home.program(name, &format!("#!/bin/sh\necho {leaves} >> ran\necho 5\n"));
}

fn ran(home: &Home) -> String {
    std::fs::read_to_string(home.path("ran")).unwrap_or_default()
}

/// A home in which a run waits with the question whether a sum may be done.
fn waiting(agent: &str) -> Home {
    let home = Home::new();
    program(&home, "t.sh", "good");
    program(&home, "evil.sh", "evil");
    home.write("agent.yaml", agent);
    let end = home.windlass(["run", "agent.yaml", "What is 2 + 3?"]);
    assert_eq!(end.code, 75, "{end:?}");
    home
}

fn approve(home: &Home) -> End {
    home.windlass(["runs", "answer", "last", "q1", "approve"])
}

/// The answer, for the agent as its file is now.
fn approve_with(home: &Home) -> End {
    home.windlass(["runs", "answer", "--with", "agent.yaml", "last", "q1", "approve"])
}

#[test]
fn e24_e71_an_answer_runs_the_command_that_was_asked_about_whatever_the_file_says_now() {
    let home = waiting(KEEPER);
    home.write("agent.yaml", &KEEPER.replace("./t.sh", "./evil.sh"));
    let end = approve(&home);
    assert_eq!((end.code, ran(&home).as_str()), (0, "good\n"), "{end:?}");
    // One that was left is no other.
    let home = waiting(KEEPER);
    assert_eq!(home.windlass(["runs", "answer", "--leave", "last", "q1", "approve"]).code, 0);
    home.write("agent.yaml", &KEEPER.replace("./t.sh", "./evil.sh"));
    let end = home.windlass(["runs", "resume", "--all"]);
    assert_eq!((end.code, ran(&home).as_str()), (0, "good\n"), "{end:?}");
}

#[test]
fn e24_an_answer_does_not_run_another_command_than_was_asked_about() {
    let home = waiting(KEEPER);
    home.write("agent.yaml", &KEEPER.replace("./t.sh", "./evil.sh"));
    // Whoever names the file is asked about what it says now.
    let again = approve_with(&home);
    assert_end!(home, again);
    assert_eq!((again.code, ran(&home).as_str()), (75, ""), "{again:?}");
    assert!(again.stderr.contains("this has changed since: command."), "{again:?}");
    // It is the run's agent from here on.
    let end = home.windlass(["runs", "answer", "last", "q2", "approve"]);
    assert_eq!((end.code, ran(&home).as_str()), (0, "evil\n"), "now it is allowed: {end:?}");
    assert_eq!(home.windlass(["runs", "replay", "last"]).code, 0);
}

#[test]
fn e24_an_answer_that_was_left_does_not_run_another_command_either() {
    let home = waiting(KEEPER);
    assert_eq!(home.windlass(["runs", "answer", "--leave", "last", "q1", "approve"]).code, 0);
    home.write("agent.yaml", &KEEPER.replace("./t.sh", "./evil.sh"));
    let again = home.windlass(["runs", "resume", "--with", "agent.yaml", "last"]);
    assert_eq!((again.code, ran(&home).as_str()), (75, ""), "{again:?}");
}

#[test]
fn e24_whatever_decides_what_a_command_does_is_noticed() {
    let other = |from: &str, to: &str| KEEPER.replace(from, to);
    let last = "required: [expression] }";
    for (change, what) in [
        (other("\"{expression}\"]", "-x, \"{expression}\"]"), "command of tool `calculate`"),
        (other(last, &format!("{last}\n      check: [./evil.sh]")), "check of tool `calculate`"),
        (other(last, &format!("{last}\n      env: {{ MODE: evil }}")), "variable MODE of tool `calculate`"),
        (other(last, &format!("{last}\n      dashes: true")), "dashes of tool `calculate`"),
        (other(last, &format!("{last}\n      effect: idempotent")), "settings of tool `calculate`"),
        (other(last, &format!("{last}\n      timeout_ms: 5")), "settings of tool `calculate`"),
    ] {
        let home = waiting(KEEPER);
        home.write("agent.yaml", &change);
        let end = approve_with(&home);
        assert!(end.stderr.contains(what), "the preview names it: {what}: {end:?}");
        if !change.contains("timeout_ms") {
            assert_eq!((end.code, ran(&home).as_str()), (75, ""), "{what}: {end:?}");
        }
    }
    let home = waiting(KEEPER);
    home.write("agent.yaml", &other("[calculate]", "[other]"));
    let end = approve_with(&home);
    assert!(end.stderr.contains("loop settings"), "{end:?}");
    assert_eq!((end.code, ran(&home).as_str()), (0, "good\n"), "a run keeps its policy: {end:?}");
}

#[test]
fn e24_a_value_that_stands_in_the_file_is_noticed_though_no_digest_shows_it() {
    let agent =
        KEEPER.replace("required: [expression] }", "required: [expression] }\n      env: { MODE: good }");
    let home = waiting(&agent);
    home.write("agent.yaml", &agent.replace("MODE: good", "MODE: evil"));
    let end = approve_with(&home);
    assert_eq!((end.code, ran(&home).as_str()), (75, ""), "{end:?}");
    assert!(end.stderr.contains("this has changed since: variable MODE."), "{end:?}");
}

/// Files with a secret in them are not kept, and the one on the disk must be the agent that the run began with.
#[test]
fn e24_e71_a_file_with_a_secret_in_it_that_has_changed_is_refused() {
    let with = |token: &str| {
        let env = format!("required: [expression] }}\n      env: {{ API_TOKEN: {token} }}");
        KEEPER.replace("required: [expression] }", &env)
    };
    let home = waiting(&with("sk-literal-secret-one"));
    let (log, one) = (std::fs::read(home.path("home/log.db")).unwrap(), b"sk-literal-secret-one");
    assert!(!log.windows(one.len()).any(|bytes| bytes == one), "the log does not hold it");
    home.write("agent.yaml", &with("sk-literal-secret-two"));
    let end = approve(&home);
    assert_eq!((end.code, ran(&home).as_str()), (65, ""), "{end:?}");
    assert!(end.stderr.contains("variable API_TOKEN of tool `calculate`"), "{end:?}");
    assert_eq!(home.windlass(["runs", "resume", "--all"]).code, 0, "nothing is due");
    home.write("agent.yaml", &with("sk-literal-secret-one"));
    let end = approve(&home);
    assert_eq!((end.code, ran(&home).as_str()), (0, "good\n"), "as it was: {end:?}");
}

#[test]
fn e24_a_variable_of_the_environment_asks_anew_and_a_models_key_does_not() {
    let env = "required: [expression] }\n      env: { TOKEN: \"${SUM_TOKEN}\" }";
    let agent = KEEPER.replace("required: [expression] }", env);
    let home = Home::new();
    program(&home, "t.sh", "good");
    home.write("agent.yaml", &agent);
    let windlass = |args: &[&str], token: &str, key: &str| {
        let mut command = home.command(args);
        crate::kit::end(command.env("SUM_TOKEN", token).env("OPENAI_API_KEY", key).output().unwrap())
    };
    assert_eq!(windlass(&["run", "agent.yaml", "What is 2 + 3?"], "token-one", "key-one").code, 75);
    assert_eq!(windlass(&["run", "agent.yaml", "What is 2 + 3?"], "token-one", "key-one").code, 75);
    // The agent is the same one, but what its command is given is not.
    let end = windlass(&["runs", "answer", "last", "q1", "approve"], "token-two", "key-one");
    assert_eq!((end.code, ran(&home).as_str()), (75, ""), "{end:?}");
    assert!(end.stderr.contains("this has changed since: variable TOKEN."), "{end:?}");
    let end = windlass(&["runs", "answer", "last", "q2", "approve"], "token-two", "key-two");
    assert_eq!((end.code, ran(&home).as_str()), (0, "good\n"), "{end:?}");
    let export = home.windlass(["runs", "export", "last"]).stdout;
    assert!(!export.contains("token-"), "no value of it is in the log");
}

#[test]
fn e24_another_address_of_a_tool_server_is_noticed() {
    let (one, other) = (ToolServer::start(), ToolServer::start());
    let agent = |url: &str| {
        format!(
            "name: far\nmodel: tour\ntools:\n  - mcp: {{ name: echo, url: \"{url}/mcp\" }}\n\
             \x20 - builtin: [calculate]\nloop: {{ approve: [calculate] }}\n"
        )
    };
    let home = waiting(&agent(&one.url));
    home.write("agent.yaml", &agent(&other.url));
    let end = approve_with(&home);
    assert!(end.stderr.contains("URL of tool `echo__echo`"), "{end:?}");
}

#[test]
fn e24_folders_and_hosts_of_built_in_tools_are_noticed() {
    let agent = |folder: &str, host: &str| {
        format!(
            "name: reader\nmodel: tour\ntools:\n  - builtin: {{ read_file: {{ folders: [{folder}] }}, fetch: \
             {{ hosts: [{host}] }}, calculate: }}\nloop: {{ approve: [calculate] }}\n"
        )
    };
    for (folder, host, what) in [
        ("other", "example.org", "folders of tool `read_file`"),
        ("one", "example.com", "hosts of tool `fetch`"),
    ] {
        let home = Home::new();
        home.write("one/a.txt", "a");
        home.write("other/a.txt", "a");
        home.write("agent.yaml", &agent("one", "example.org"));
        assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 75);
        home.write("agent.yaml", &agent(folder, host));
        let end = approve_with(&home);
        assert!(end.stderr.contains(what), "{end:?}");
    }
}

#[test]
fn e24_a_delegates_file_is_noticed() {
    let boss = "name: boss\nmodel: tour\nagents: [./keeper.yaml]\ntools: [ { builtin: [calculate] } ]\n\
                loop: { approve: [calculate] }\n";
    let home = Home::new();
    program(&home, "t.sh", "good");
    home.write("keeper.yaml", KEEPER);
    home.write("agent.yaml", boss);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 75);
    home.write("keeper.yaml", &KEEPER.replace("./t.sh", "./evil.sh"));
    let end = approve_with(&home);
    assert!(end.stderr.contains("agent of tool `keeper`"), "{end:?}");
}

/// The answer to the question whether a task may be done; the model that does it stands under `agents` of the root.
fn answered(agents: &str, call: (&str, &str), asked: [&str; 2], given: [&str; 2]) -> End {
    let calls = Reply::Call(call.0.into(), call.1.into());
    let root = Server::start(vec![calls, Reply::Pieces(vec!["It is done."])]);
    let home = Home::new();
    let far = "name: far\ndescription: d\nmodel: { use: openai/m, base_url: \"${FAR}\", key: \"${KEY}\" }\n";
    home.write("far.yaml", far);
    home.write("below.yaml", "name: below\ndescription: d\nmodel: tour\nagents: [./far.yaml]\n");
    home.write(
        "agent.yaml",
        &format!("{}agents: {agents}\nloop: {{ approve: [{}] }}\n", root.agent(), call.0),
    );
    let windlass = |args: &[&str], [url, key]: [&str; 2]| {
        crate::kit::end(home.command(args).env("FAR", url).env("KEY", key).output().unwrap())
    };
    let end = windlass(&["run", "agent.yaml", "Go on."], asked);
    assert_eq!(end.code, 75, "{end:?}");
    windlass(&["runs", "answer", "last", "q1", "approve"], given)
}

#[test]
fn e24_a_task_goes_to_no_other_address_than_was_asked_about_however_deep_its_agent_stands() {
    let branch = "[{ name: near, description: d, branch: { instructions: x, agents: [./far.yaml] } }]";
    for (agents, name, args) in [
        ("[./far.yaml]", "far", r#"{"task": "t"}"#),
        ("[./below.yaml]", "below", r#"{"task": "t"}"#),
        (branch, "branch", r#"{"name": "near"}"#),
    ] {
        let (good, evil) = (Server::start(vec![Reply::Cut("")]), Server::start(vec![Reply::Cut("")]));
        let end = answered(agents, (name, args), [&good.url, "key-one"], [&evil.url, "key-one"]);
        assert_eq!(end.code, 75, "{name}: {end:?}");
        assert!(end.stderr.contains("this has changed since: agent."), "{name}: {end:?}");
        assert!(good.requests.try_recv().is_err() && evil.requests.try_recv().is_err(), "{name}");
    }
}

#[test]
fn e24_a_delegates_rotated_key_asks_nobody_again() {
    let far = Server::start(vec![Reply::Pieces(vec!["Done."])]);
    let task = ("far", r#"{"task": "t"}"#);
    let end = answered("[./far.yaml]", task, [&far.url, "key-one"], [&far.url, "key-two"]);
    assert_eq!((end.code, end.stdout.trim()), (0, "It is done."), "{end:?}");
    assert!(far.heads.recv().unwrap().contains("key-two"));
}

#[test]
fn e24_a_branch_is_asked_about_again_when_a_tool_that_it_may_call_has_changed() {
    let root = Server::start(vec![Reply::Call("branch".into(), r#"{"name": "near"}"#.into())]);
    let agent = |program: &str| {
        format!(
            "{}tools: [ {{ command: {{ name: sum, description: d, run: [{program}] }} }} ]\n\
             agents: [ {{ name: near, description: d, branch: {{ instructions: x }} }} ]\nloop: {{ approve: [branch] }}\n",
            root.agent()
        )
    };
    let home = Home::new();
    home.write("agent.yaml", &agent("./t.sh"));
    assert_eq!(home.windlass(["run", "agent.yaml", "Go on."]).code, 75);
    home.write("agent.yaml", &agent("./evil.sh"));
    let end = home.windlass(["runs", "answer", "--with", "agent.yaml", "last", "q1", "approve"]);
    assert_eq!(end.code, 75, "{end:?}");
    assert!(end.stderr.contains("this has changed since: tools of the agent above."), "{end:?}");
}

#[test]
fn e24_a_folder_that_leads_elsewhere_is_asked_about_again() {
    let read = || Reply::Call("read_file".into(), r#"{"path": "a.txt"}"#.into());
    let root = Server::start(vec![read(), Reply::Pieces(vec!["It is read."])]);
    let home = Home::new();
    home.write("one/a.txt", "a");
    home.write("other/a.txt", "the other");
    let tools = "tools: [ { builtin: { read_file: { folders: [one] } } } ]\nloop: { approve: [read_file] }\n";
    home.write("agent.yaml", &format!("{}{tools}", root.agent()));
    assert_eq!(home.windlass(["run", "agent.yaml", "Go on."]).code, 75);
    std::fs::rename(home.path("one"), home.path("before")).unwrap();
    std::os::unix::fs::symlink(home.path("other"), home.path("one")).unwrap();
    let end = approve(&home);
    assert_eq!(end.code, 75, "{end:?}");
    assert!(end.stderr.contains("this has changed since: folders."), "{end:?}");
    let end = home.windlass(["runs", "answer", "last", "q2", "approve"]);
    assert_eq!(end.code, 0, "now it is allowed: {end:?}");
}
