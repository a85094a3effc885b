//! Reading from a log, and the words about it.

use crate::kit::{Home, PLAIN, end, until};
use crate::tool_server::{ToolServer, echo};

#[test]
fn a_named_log_that_is_not_there_is_an_error_where_it_is_read() {
    let home = Home::without_log();
    home.write("agent.yaml", PLAIN);
    let commands = [
        &["runs", "list"][..],
        &["runs", "stats"],
        &["runs", "effects", "--all"],
        &["sessions", "list"],
        &["sessions", "stats"],
    ];
    for command in commands {
        let fresh = end(home.command(command).output().unwrap());
        assert_eq!(fresh.code, 0, "the usual log is made by the first run: {command:?} {fresh:?}");
        let named = end(home.command(command.iter().chain(&["--log", "nowhere.db"])).output().unwrap());
        assert_eq!(named.code, 1, "{command:?} {named:?}");
        assert!(named.stderr.contains("the log nowhere.db does not exist"), "{named:?}");
        let moved = home.command(command).env("WINDLASS_HOME", home.path("nowhere")).output();
        let moved = end(moved.unwrap());
        assert_eq!(moved.code, 1, "{command:?} {moved:?}");
        assert!(moved.stderr.contains("nowhere does not exist (WINDLASS_HOME)"), "{moved:?}");
        home.write("taken", "");
        let taken = end(home.command(command).env("WINDLASS_HOME", home.path("taken")).output().unwrap());
        assert!(taken.code != 0 && taken.stderr.contains("taken is no folder (WINDLASS_HOME)"), "{taken:?}");
    }
    assert!(!home.path("nowhere").exists() && !home.path("nowhere.db").exists(), "reading makes nothing");
    assert_eq!(home.windlass(["run", "agent.yaml", "--log", "nowhere.db", "-q", "What is 2 + 3?"]).code, 0);
    assert_eq!(home.windlass(["runs", "list", "--log", "nowhere.db"]).code, 0);
}

#[test]
fn an_interrupted_run_prints_the_command_that_continues_it() {
    let home = Home::new();
    let tool = "tools:\n  - command: { name: calculate, run: [sh, -c, \"echo x >> begun; while [ ! -e go ]; do sleep 0.02; done; echo 5\"], description: Sums., parameters: { type: object, properties: { expression: { type: string } }, required: [expression] }, effect: idempotent }\n";
    home.write("agent.yaml", &format!("name: slow\nmodel: tour\n{tool}"));
    let mut child = home.start(["run", "agent.yaml", "What is 2 + 3?"]);
    until("the run is at its tool", || home.path("begun").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    home.write("go", "");
    let command = format!("`windlass runs resume {}` continues", home.id());
    for args in [&["runs", "list"][..], &["runs", "show", "last"]] {
        let said = end(home.command(args).output().unwrap());
        assert!(said.stderr.contains(&command), "{args:?}: {said:?}");
    }
    assert_eq!(home.windlass(["runs", "resume", "last", "-q"]).code, 0);
    for args in [&["runs", "list"][..], &["runs", "show", "last"]] {
        let said = end(home.command(args).output().unwrap());
        assert!(!said.stderr.contains("resume"), "{args:?}: {said:?}");
    }
}

#[test]
fn a_read_is_no_effect_in_what_is_shown() {
    let home = Home::new();
    let server = ToolServer::start();
    let replies =
        r#"["```tool_call\n{\"tool\": \"s__echo\", \"arguments\": {\"text\": \"hi\"}}\n```", "Done."]"#;
    let agent = |more: &str| {
        format!(
            "name: a\nloop: {{ preset: text }}\ntools: [{{ mcp: {{ name: s, url: \"{}/mcp\"{more} }} }}]\n",
            server.url
        )
    };
    for (more, shown) in [("", false), (", effect: once", true)] {
        home.write("a.yaml", &agent(more));
        let run = home.command(["run", "a.yaml", "Go."]).env("DEBUG_MOCK_RESPONSES", replies).output();
        let run = end(run.unwrap());
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(run.stderr.contains("1 effect: s__echo hi"), shown, "{run:?}");
        let last = home.last();
        let receipt = &last["receipts"][0];
        assert_eq!(receipt["tool"], "s__echo", "{receipt}");
        assert_eq!(receipt["reads"] == true, !shown, "{receipt}");
        assert_eq!(receipt["result_from"], "tool");
        assert_eq!(receipt["hashed"]["args"], "the arguments as JSON text, as the tool was given them");
    }
    assert_eq!(echo()["annotations"]["readOnlyHint"], true);
}

#[test]
fn an_export_takes_delegates_along() {
    let (here, there) = (Home::new(), Home::new());
    here.write(
        "lead.yaml",
        "name: lead\ninstructions: You lead.\nloop: { preset: text }\nagents: [ ./sums.yaml ]\n",
    );
    here.write(
        "sums.yaml",
        "name: sums\ndescription: Does sums.\nmodel: tour\ntools: [ { builtin: [calculate] } ]\n",
    );
    let asks =
        r#"["```delegate\n{\"agent\": \"sums\", \"task\": \"What is 17% of 2350?\"}\n```", "It is 399.5."]"#;
    let run = here.command(["run", "lead.yaml", "17%?"]).env("DEBUG_MOCK_RESPONSES", asks).output().unwrap();
    assert_eq!(end(run).code, 0);
    let export = here.windlass(["runs", "export", "last"]).stdout;
    let runs = |text: &str| text.lines().filter(|line| line.starts_with("{\"type\":\"run\"")).count();
    assert_eq!(runs(&export), 2, "{export}");
    there.write("run.jsonl", &export);
    let import = there.windlass(["runs", "import", "run.jsonl"]);
    assert_eq!((import.code, import.stdout.lines().count()), (0, 2), "{import:?}");
    let all = there.windlass(["runs", "list", "--json"]).stdout;
    assert!(all.contains("\"agent\":\"sums\""), "{all}");
    assert_eq!(there.windlass(["runs", "export", "last"]).stdout.lines().count(), export.lines().count());
    let child = all.lines().find(|line| line.contains("\"agent\":\"sums\"")).unwrap();
    let child: serde_json::Value = serde_json::from_str(child).unwrap();
    let shown = there.windlass(["runs", "show", child["run"].as_str().unwrap()]);
    assert!(shown.code == 0 && shown.stdout.contains("399.5"), "{shown:?}");
}
