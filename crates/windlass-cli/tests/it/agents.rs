//! `windlass agents`, `models`, `doctor`, `completions`.

use crate::kit::{Home, PLAIN, assert_end};

#[test]
fn a_new_agent_file_is_sound_and_runs() {
    let home = Home::new();
    assert_eq!(home.windlass(["agents", "init", "mine.yaml"]).code, 0);
    let again = home.windlass(["agents", "init", "mine.yaml"]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("already exists"), "{again:?}");
    assert_eq!(home.windlass(["agents", "init", "mine.yaml", "--force"]).code, 0);
    let check = home.windlass(["agents", "check", "mine.yaml"]);
    assert_eq!(
        (check.code, check.stdout.as_str()),
        (0, "ok mine.yaml: mine, model auto, 4 tools, prompt of about 26 tokens\n"),
        "{check:?}"
    );
    let end = home.windlass(["run", "mine.yaml", "-q", "What is 2 + 3?"]);
    assert_eq!(end.stdout, "2 + 3 is 5.\n", "{end:?}");
}

#[test]
fn a_check_names_every_file_that_cannot_be_used() {
    let home = Home::new();
    home.write("good.yaml", PLAIN);
    home.write("typo.yaml", "name: x\ntols: []\n");
    home.write("later.yaml", "name: x\noutput: { schema: { type: object } }\n");
    home.write(
        "clash.yaml",
        "name: x\nmodel: tour\ntools: [ { builtin: [now] }, { command: { name: now, run: [date] } } ]\n",
    );
    home.write("keyless.yaml", "name: x\nmodel: openai/gpt-5-mini\n");
    let end = home.windlass([
        "agents",
        "check",
        "good.yaml",
        "typo.yaml",
        "later.yaml",
        "clash.yaml",
        "keyless.yaml",
    ]);
    assert_end!(home, end);
}

#[test]
fn the_schema_is_a_json_schema() {
    let home = Home::new();
    let schema: serde_json::Value =
        serde_json::from_str(&home.windlass(["agents", "schema"]).stdout).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(schema["properties"]["loop"].is_object());
}

#[test]
fn models_are_listed_and_asked() {
    let home = Home::new();
    let list = home.windlass(["models", "list"]);
    assert_eq!(list.code, 0);
    assert!(list.stdout.contains("missing  openai") && list.stdout.contains("ok       tour"), "{list:?}");
    assert_eq!(home.windlass(["models", "list", "tour"]).stdout, "tour\n");
    assert_eq!(home.windlass(["models", "list", "nobody"]).code, 2);
    let tour = home.windlass(["models", "check", "tour"]);
    assert!(tour.code == 0 && tour.stdout.starts_with("tour answers: "), "{tour:?}");
    let rows: Vec<_> = tour.stdout.lines().skip(1).filter_map(|row| row.split_whitespace().nth(1)).collect();
    let abilities = ["stream", "tool_call", "parallel_calls", "schema", "image", "reasoning", "cache"];
    assert_eq!(rows, abilities, "{tour:?}");
    let json = home.windlass(["models", "check", "tour", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let probed: Vec<_> = json["probes"].as_array().unwrap().iter().map(|one| &one["probe"]).collect();
    assert_eq!(probed, abilities);
    assert_eq!(home.windlass(["models", "check", "ollama/x"]).code, 69);
    assert_eq!(home.windlass(["models", "check", "openai/x"]).code, 69);
    assert_eq!(home.windlass(["models", "check", "nobody/x"]).code, 65);
}

#[test]
fn the_doctor_says_what_is_there() {
    let home = Home::new();
    let fresh =
        home.command(["doctor"]).env_remove("OLLAMA_HOST").env_remove("LLAMA_BASE_URL").output().unwrap();
    let fresh = String::from_utf8(fresh.stdout).unwrap();
    assert!(fresh.contains("missing  openai        OPENAI_API_KEY is not set"), "{fresh}");
    assert!(!home.path("home").exists(), "looking makes nothing");
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let after = home.windlass(["doctor"]).stdout;
    assert!(after.contains("log.db: 1 run, "), "{after}");
    home.write("bad.db", "this is no database at all, and never was one");
    let bad = home.windlass(["doctor", "--log", "bad.db"]);
    assert_eq!(bad.code, 1, "{bad:?}");
    assert!(bad.stdout.contains("problem  log"), "{bad:?}");
    assert_eq!(home.windlass(["doctor", "--log", "nowhere.db"]).code, 1);
}

#[test]
fn completions_for_every_shell() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let end = home.windlass(["completions", shell]);
        assert_eq!(end.code, 0);
        assert!(end.stdout.contains("windlass") && end.stdout.contains("runs"), "{shell}");
    }
    assert_eq!(home.windlass(["completions", "nosuchshell"]).code, 2);
}

#[test]
fn every_command_helps_with_examples_or_words() {
    let home = Home::new();
    let top = home.windlass(["--help"]).stdout;
    assert!(top.contains("Exit codes:") && top.contains("  124  "), "{top}");
    for command in ["run", "chat", "runs", "tools", "agents", "models", "test", "doctor", "completions"] {
        assert!(top.contains(&format!("\n  {command} ")), "{command} in {top}");
        let help = home.windlass([command, "--help"]);
        assert_eq!(help.code, 0);
        assert!(help.stdout.contains("Usage: windlass"), "{help:?}");
        assert!(help.stdout.contains("Examples:") || command == "doctor", "{command}");
    }
}

#[test]
fn a_check_names_every_mistake_of_a_file() {
    let home = Home::new();
    home.write("a.yaml", "name: a\nmodle: tour\ninstruction: Be brief.\ntools:\n  - builtin: [calc]\n");
    let end = home.windlass(["agents", "check", "a.yaml"]);
    assert_eq!(end.code, 65, "{end:?}");
    for place in ["a.yaml:2:1: Unknown key `modle`", "a.yaml:3:1: Unknown key `instruction`", "a.yaml:5:15: "]
    {
        assert!(end.stderr.contains(place), "{place}: {}", end.stderr);
    }
    let json = home.windlass(["agents", "check", "a.yaml", "--json"]).stdout;
    let report: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(report["failures"].as_array().unwrap().len(), 3, "{report}");
}

#[test]
fn p24_a_check_estimates_the_tokens_of_the_prompt() {
    let home = Home::new();
    let plain = "name: x\nmodel: tour\ninstructions: Look at it twice.\ntools: [ { builtin: [ now ] } ]\n";
    home.write("plain.yaml", plain);
    home.write("react.yaml", &format!("{plain}prompt: react\n"));
    home.write(
        "needs.yaml",
        &format!("{plain}prompt: {{ template: \"{{{{ input.lang }}}} {{{{ objective }}}}\" }}\n"),
    );
    let tokens = |file: &str| -> u64 {
        let said = home.windlass(["agents", "check", file, "--json"]).stdout;
        serde_json::from_str::<serde_json::Value>(&said).unwrap()["prompt_tokens"].as_u64().unwrap()
    };
    assert_eq!(tokens("plain.yaml"), 4);
    let react = tokens("react.yaml");
    assert!(react > 100, "{react}");
    let said = home.windlass(["agents", "check", "react.yaml"]).stdout;
    assert_eq!(said, format!("ok react.yaml: x, model tour, 1 tool, prompt of about {react} tokens\n"));
    // What needs the input counts as it is written.
    assert!(tokens("needs.yaml") > 8);
    let run = home.windlass(["run", "needs.yaml", "-q", "Hello"]);
    assert!(run.code != 0 && run.stderr.contains("the prompt of agent `x` cannot be made"), "{run:?}");
    assert_eq!(home.windlass(["run", "react.yaml", "-q", "Hello"]).code, 0);
}
