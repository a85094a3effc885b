//! `windlass agents`, `models`, `doctor`, `completions`.

use crate::kit::{Home, PLAIN, assert_end, end};
use crate::seat::Seat;

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
    // What can be used comes first; the home's own servers are set up and do not answer.
    let lines: Vec<&str> = list.stdout.lines().collect();
    assert_eq!(lines[..2], ["usable", "  tour  built in, no language model"], "{list:?}");
    assert!(lines[2].starts_with("`auto` is tour ("), "{list:?}");
    assert_eq!(lines[3], "set up, and not usable", "{list:?}");
    assert!(lines[4].starts_with("  ollama: ") && lines[4].contains("`unset OLLAMA_HOST`"), "{list:?}");
    let servers = lines.iter().position(|line| *line == "usable once its server runs here").unwrap();
    assert_eq!(lines[servers + 1], "  lmstudio  lms server start", "{list:?}");
    let keys = lines.iter().position(|line| *line == "usable once a variable is set").unwrap();
    assert!(keys > servers && lines[keys + 1].starts_with("  openai "), "{list:?}");
    assert!(lines[keys + 1..].iter().all(|line| line.len() < 80 && line.starts_with("  ")), "{list:?}");
    assert!(lines.contains(&"  gemini       GEMINI_API_KEY or GOOGLE_API_KEY"), "{list:?}");
    let json = home.windlass(["models", "list", "--json"]).stdout;
    let json: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&json[0]["what"], &json[0]["usable"]), (&"tour".into(), &true.into()), "{json:?}");
    let (auto, others) = json[1..].split_last().unwrap();
    assert!(others.iter().all(|one| one["usable"] == false && one["todo"].is_string()), "{json:?}");
    assert_eq!((&auto["type"], &auto["name"]), (&"auto".into(), &"tour".into()), "{auto}");
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
fn the_table_of_models_fits_a_narrow_terminal() {
    let home = Home::new();
    for columns in [40, 80] {
        let seat = Seat::sized(&home, &["models", "list"], (columns, 40));
        seat.shows("GOOGLE_CLOUD_PROJECT");
        let table = seat.seen().replace('\r', "");
        assert!(table.lines().all(|line| line.chars().count() <= usize::from(columns)), "{table}");
        assert!(table.contains("\n  openai       OPENAI_API_KEY\n"), "{table}");
        // The second line of a cell stands below its first one.
        let broken = "\n  azure        AZURE_OPENAI_API_KEY or\n               AZURE_API_KEY\n";
        assert_eq!(table.contains(broken), columns == 40, "{table}");
        assert_eq!(seat.code(), 0);
    }
}

#[test]
fn the_doctor_says_what_is_there() {
    let home = Home::new();
    let fresh = |args: &[&str]| {
        let mut command = home.command(args);
        let servers = ["OLLAMA_HOST", "LLAMA_BASE_URL", "VLLM_BASE_URL"];
        servers.iter().fold(&mut command, |command, server| command.env_remove(server));
        end(command.output().unwrap())
    };
    let all = fresh(&["doctor", "--all"]);
    assert!(all.stdout.contains("missing  openai        OPENAI_API_KEY is not set"), "{all:?}");
    let short = fresh(&["doctor"]);
    assert_eq!(short.code, 0, "a key that nobody uses is not missed: {short:?}");
    let lines: Vec<&str> = short.stdout.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, "everything that a run needs is there"), "{short:?}");
    assert!(
        lines[1].starts_with("models: ") && lines[1].contains("`export OPENAI_API_KEY=...`"),
        "{short:?}"
    );
    assert!(short.stderr.contains("`windlass doctor --all`"), "{short:?}");
    assert!(!home.path("home").exists(), "looking makes nothing");
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let after = home.windlass(["doctor", "--all"]).stdout;
    assert!(after.contains("log.db: 1 run, "), "{after}");
    home.write("bad.db", "this is no database at all, and never was one");
    let bad = home.windlass(["doctor", "--log", "bad.db", "--all"]);
    assert_eq!(bad.code, 1, "{bad:?}");
    assert!(bad.stdout.contains("problem  log") && bad.stderr.contains("there are 4 problems"), "{bad:?}");
    assert_eq!(home.windlass(["doctor", "--log", "nowhere.db"]).code, 1);
}

#[test]
fn the_doctor_begins_with_what_is_wrong_and_says_what_mends_it() {
    let home = Home::new();
    home.write("bad.db", "this is no database at all, and never was one");
    home.write("helper.yaml", "name: helper\nmodel: openai/gpt-5-mini\n");
    assert_eq!(home.windlass(["agents", "default", "helper.yaml"]).code, 0);
    let wrong = home.windlass(["doctor", "--log", "bad.db"]);
    assert_eq!(wrong.code, 1, "{wrong:?}");
    let lines: Vec<&str> = wrong.stdout.lines().collect();
    assert_eq!(lines[0], "5 things are wrong", "{wrong:?}");
    // What stops every run comes first; the home's three servers do not answer.
    let parts = ["log: cannot use the log ", "default agent: ", "ollama: ", "llama: ", "vllm: ", "models: "];
    for (line, part) in lines[1..].iter().zip(parts) {
        assert!(line.starts_with(part), "{line}: {wrong:?}");
    }
    assert_eq!(lines.len(), 1 + parts.len(), "{wrong:?}");
    assert!(lines[1].contains("bad.db: the file is not a Windlass log · check that "), "{wrong:?}");
    assert!(
        lines[2].contains("OPENAI_API_KEY is not set · `export OPENAI_API_KEY=...`; or `windlass "),
        "{wrong:?}"
    );
    assert!(
        lines[3].ends_with("start it: `ollama serve`; or `unset OLLAMA_HOST`, if it is not used"),
        "{wrong:?}"
    );
    assert_eq!(wrong.stderr, "`windlass doctor --all --log bad.db` has the rest\n");
    assert_eq!(home.windlass(["agents", "default", "--unset"]).code, 0);
    let key =
        |args: &[&str]| end(home.command(args).env("OPENAI_API_KEY", "sk-a-key-of-nobody").output().unwrap());
    let offline = key(&["doctor"]);
    assert!(
        offline.stdout.contains("openai: ") && offline.stdout.contains("`unset WINDLASS_OFFLINE`"),
        "{offline:?}"
    );
    let json = home.windlass(["doctor", "--log", "bad.db", "--json"]);
    let all: Vec<serde_json::Value> =
        json.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(json.code == 1 && all.len() > 20, "all that was looked at: {json:?}");
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
    for command in
        ["init", "run", "chat", "runs", "tools", "agents", "models", "test", "doctor", "completions"]
    {
        assert!(top.contains(&format!("\n  {command} ")), "{command} in {top}");
        let help = home.windlass([command, "--help"]);
        assert_eq!(help.code, 0);
        assert!(help.stdout.contains("Usage: windlass"), "{help:?}");
        assert!(help.stdout.contains("Examples:"), "{command}");
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
