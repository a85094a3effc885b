//! Providers in a file of the user's own, their keys and prices.

use serde_json::{Value, json};

use crate::kit::{Home, assert_end, end};
use crate::server::{Reply, Server};

/// A file with a provider at that address, whose key a command prints.
fn file(url: &str) -> String {
    format!(
        "providers:\n  mine:\n    base_url: {url}\n    key_command: [sh, -c, 'echo x >> runs; echo own-key-123456']\n    prices:\n      - {{ model: m, input: 1, output: 2 }}\n"
    )
}

#[test]
fn a_provider_of_the_user_s_own_file_answers_and_has_a_price() {
    let (home, server) =
        (Home::new(), Server::start(vec![Reply::Pieces(vec!["Hello."]), Reply::Pieces(vec!["Hi."])]));
    home.write("home/providers.yaml", &file(&server.url));
    home.write("agent.yaml", "name: x\nmodel: mine/m\nloop: { limits: { cost_usd: 1 } }\n");
    let said = home.windlass(["run", "-q", "agent.yaml", "hi"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "Hello.\n"), "{said:?}");
    assert_eq!(home.read("runs"), "x\n", "the command ran once");
    let whole = home.windlass(["runs", "show", "last", "--json", "--events"]).stdout;
    assert!(!whole.contains("own-key"), "the key is stored nowhere");
    let prices = home.windlass(["models", "list", "mine", "--prices", "--json"]).stdout;
    let price: Value = serde_json::from_str(&prices).unwrap();
    assert_eq!((&price["name"], &price["usd_per_million"]["output"]), (&json!("mine/m"), &json!(2.0)));
    // Another file in its place, by its variable.
    home.write("other.yaml", &file(&server.url).replace("mine", "theirs"));
    let mut there = home.command(["models", "list", "theirs", "--prices"]);
    let there = end(there.env("WINDLASS_PROVIDERS", "other.yaml").output().unwrap());
    assert_eq!(there.stdout, "theirs/m: input 1, output 2\n", "{there:?}");
    let mut gone = home.command(["models", "list", "mine", "--prices"]);
    assert_eq!(end(gone.env("WINDLASS_PROVIDERS", "other.yaml").output().unwrap()).code, 2);
}

#[test]
fn a_faulty_file_is_named_with_its_place() {
    let home = Home::new();
    home.write("home/providers.yaml", "providers:\n  mine:\n    base_ulr: https://llm.example/v1\n");
    let said = home.windlass(["models", "list"]);
    assert_eq!(said.code, 65, "{said:?}");
    assert!(
        said.stderr.contains("providers.yaml:3:5: Unknown key `base_ulr` in `providers.mine`"),
        "{said:?}"
    );
    assert!(said.stderr.contains("did you mean base_url"), "{said:?}");
    home.write("home/providers.yaml", "providers:\n  mine:\n    colour: blue\n");
    let said = home.windlass(["models", "list"]);
    assert_end!(home, said);
    // A file of providers is not an agent.
    assert!(!said.stderr.contains("windlass agents"), "{said:?}");
    home.write("home/providers.yaml", "cases: []\n");
    let said = home.windlass(["models", "list"]);
    assert!(said.code == 65 && !said.stderr.contains("windlass test"), "{said:?}");
    let mut missing = home.command(["models", "list"]);
    let missing = end(missing.env("WINDLASS_PROVIDERS", "nowhere.yaml").output().unwrap());
    assert!(!missing.stderr.contains("windlass agents"), "{missing:?}");
    assert_end!(home, missing);
}

#[test]
fn the_prices_that_are_known_have_a_day_and_a_source() {
    let home = Home::new();
    let all = home.windlass(["models", "list", "--prices", "--json"]);
    let prices: Vec<Value> = all.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(prices.len() > 5, "{all:?}");
    for price in prices {
        let known = |key: &str| price[key].as_str().is_some_and(|text| !text.is_empty());
        assert!(
            known("as_of") && known("source") && price["usd_per_million"]["input"].is_number(),
            "{price}"
        );
    }
    let shown = home.windlass(["models", "list", "claude", "--prices"]).stdout;
    let line =
        "anthropic/claude-haiku-4-5: input 1, output 5, cached 0.1, cache write 1.25 · 2026-11-25 · https://";
    assert!(shown.contains(line), "{shown}");
    let none = home.windlass(["models", "list", "ollama", "--prices"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""), "{none:?}");
}

#[test]
fn e62_a_key_command_of_an_agent_file_runs_when_the_model_is_called() {
    let (home, server) = (Home::new(), Server::start(vec![Reply::Pieces(vec!["Hello."])]));
    let model = |command: &str| {
        format!(
            "name: x\nmodel: {{ use: openai/m, base_url: \"{}\", key_command: {command} }}\nretry: {{ retries: 0 }}\n",
            server.url
        )
    };
    home.write("agent.yaml", &model("\"echo x >> runs; echo agent-key-123456\""));
    assert_eq!(home.windlass(["agents", "check", "agent.yaml"]).code, 0);
    assert_eq!(home.read("runs"), "", "checking runs nothing");
    assert_eq!(home.windlass(["run", "-q", "agent.yaml", "hi"]).stdout, "Hello.\n");
    assert_eq!(home.read("runs"), "x\n");
    // Paths start from the agent file's folder, wherever the command line stands.
    let (home, server) = (Home::new(), Server::start(vec![Reply::Pieces(vec!["Hello."])]));
    std::fs::create_dir(home.path("agents")).unwrap();
    home.write("agents/key.sh", "echo other-key-123456\n");
    let model_there = format!(
        "name: x\nmodel: {{ use: openai/m, base_url: \"{}\", key_command: [sh, key.sh] }}\n",
        server.url
    );
    home.write("agents/agent.yaml", &model_there);
    assert_eq!(home.windlass(["run", "-q", "agents/agent.yaml", "hi"]).stdout, "Hello.\n");
    assert!(server.heads.recv().unwrap().contains("bearer other-key-123456"));
    home.write("failing.yaml", &model("[sh, -c, 'echo please log in >&2; exit 4']"));
    let said = home.windlass(["run", "failing.yaml", "hi"]);
    assert_eq!(said.code, 75, "a person may log in: {said:?}");
    assert!(said.stderr.contains("the key command `sh` failed (exit status: 4): please log in"), "{said:?}");
}

/// Groq's `tool_use_failed`: the run goes on, and the model reads what was wrong with its call.
#[test]
fn a_malformed_call_that_a_server_reports_is_told_to_the_model() {
    let home = Home::new();
    let failed = r#"{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"{\"name\": \"calculate\", \"arguments\": {\"x\": 7}}"}"#;
    let server = Server::start(vec![Reply::Fails(400, failed), Reply::Pieces(vec!["Done."])]);
    let model = format!("model: {{ use: groq/m, base_url: \"{}\" }}", server.url);
    home.write("agent.yaml", &format!("name: x\n{model}\ntools: [ {{ builtin: [calculate] }} ]\n"));
    let said = home.windlass(["run", "-q", "agent.yaml", "hi"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "Done.\n"), "{said:?}");
    let _first = server.requests.recv().unwrap();
    let second = server.requests.recv().unwrap();
    let messages = second["messages"].as_array().unwrap();
    let result = messages.iter().rfind(|message| message["role"] == "tool").unwrap();
    assert!(result["content"].as_str().unwrap().contains("calculate"), "{result}");
}
