use serde_json::{Value, json};
use windlass_core::Message;
use windlass_core::model::ReasoningOptions;
use windlass_core::policy::{AtLimit, LimitKind, Preset};
use windlass_core::secret::mask;
use windlass_core::tool::{Effect, HostedTool};
use windlass_error::Diagnostic as _;
use windlass_tools::builtin::Now;

use windlass_tools::mcp::{McpTransport, ToolChoice};

use super::super::{DelegateEntry, Instructions, ToolEntry};
use super::{env, good, parse};
use crate::{AgentFile, ModelNames};
use windlass_core::policy::Merge;

/// The example of the design, key by key.
pub(super) const DESIGN: &str = r#"
name: librarian
description: Answers questions about a folder of documents.
model: { use: openai/NAME, base_url: "http://127.0.0.1:8181/v1", key: "${MY_KEY}", temperature: 0.2, max_tokens: 800,
         prices: { input: 0.25, output: 2.0, cached: 0.025 } }
instructions: |
  Use the files. Cite them.
examples:
  - user: What is 2 plus 5?
    calls: [ { name: add, args: { a: 2, b: 5 }, result: "7" } ]
    assistant: The sum is 7.
input: { schema: { type: object } }
output: { schema: { type: object, properties: { answer: { type: string } } } }
tools:
  - mcp: { name: files, command: [npx, -y, "@modelcontextprotocol/server-filesystem", ./docs], env: { A: b } }
  - mcp: { name: search, url: "http://127.0.0.1:9000/mcp", headers: { Authorization: "Bearer ${SEARCH_TOKEN}" } }
  - builtin: [calculate, now, read_file, list_files, ask]
  - builtin: { fetch: { hosts: [example.org] } }
    timeout_ms: 5000
  - command: { name: wordcount, run: [wc, -w, "{path}"], description: "Counts words.",
               parameters: { type: object, properties: { path: { type: string } } }, effect: read_only }
    approve: true
    retries: 2
agents:
  - ./writer.yaml
  - { name: reviewer, a2a: "http://127.0.0.1:8081" }
  - { name: deep_dive, branch: { instructions: "...", merge: end_result } }
loop:
  preset: chat
  limits: { model_calls: 10, tool_calls: 50, seconds: 300, cost_usd: 0.50 }
  at_limit: wrap_up
  approve: [ "files__write_*" ]
timeouts: { connect_ms: 10000, first_token_ms: 60000, idle_ms: 60000, total_ms: 600000, tool_ms: 300000 }
retry: { retries: 3, wait_ms: 500, max_wait_ms: 30000 }
code: { enabled: false, seconds: 10, memory_mb: 64, calls: 50 }
"#;

#[test]
fn the_design_s_example_is_read_whole() {
    let agent = good(DESIGN);
    assert_eq!(agent.name, "librarian");
    assert_eq!(agent.instructions, Instructions::Text("Use the files. Cite them.\n".to_owned()));
    assert_eq!(agent.tools.len(), 9);
    assert_eq!(agent.input_schema, Some(json!({ "type": "object" })));
    let names: Vec<_> = agent.delegate_names().into_iter().map(|named| named.name).collect();
    assert_eq!(names, ["writer", "reviewer", "deep_dive"]);
    assert!(
        matches!(&agent.agents[0], DelegateEntry::File { path, .. } if path.ends_with("agents/writer.yaml") && path.is_absolute())
    );
    assert!(matches!(&agent.agents[2], DelegateEntry::Branch { merge: Merge::EndResult, .. }));
    let names: Vec<_> = agent.tool_names().into_iter().map(|named| named.name).collect();
    assert_eq!(names, ["calculate", "now", "read_file", "list_files", "ask", "fetch", "wordcount"]);
}

#[test]
fn a_delegate_of_a_file_may_have_a_name_and_a_description_of_its_own() {
    let agent = good(
        "agents:\n  - { name: a, file: ./x/agent.yaml, description: Finds. }\n  - { file: ./y/agent.yaml }\n  - ./z/agent.yaml",
    );
    let said: Vec<_> = agent
        .agents
        .iter()
        .map(|entry| match entry {
            DelegateEntry::File { path, name, description, place } => {
                assert!(path.ends_with("agent.yaml") && path.is_absolute());
                (name.as_deref(), description.as_deref(), place.line)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(said, [(Some("a"), Some("Finds."), 2), (None, None, 3), (None, None, 4)]);
}

#[test]
fn a_model_with_settings_becomes_what_core_and_models_need() {
    let agent = good(DESIGN);
    let model = &agent.models[0];
    let choice = model.choice();
    assert_eq!((&*choice.name, choice.temperature, choice.max_tokens), ("openai/NAME", Some(0.2), Some(800)));
    assert_eq!(choice.prices.map(|prices| prices.cached), Some(25_000));
    let hosted =
        "model: { use: a/b, prices: { input: 1, output: 1, hosted: { web_search: 10, mcp: 0.5 } } }\n";
    let prices = good(hosted).models[0].choice().prices.unwrap();
    let cost = |tool| prices.hosted_cost(tool, 1);
    assert_eq!(cost(HostedTool::WebSearch), Some(10_000_000_000), "a cent, in pico-dollars");
    assert_eq!((cost(HostedTool::Mcp), cost(HostedTool::Code)), (Some(500_000_000), None));
    let settings = model.settings(agent.timeouts());
    assert_eq!(settings.base_url.as_deref(), Some("http://127.0.0.1:8181/v1"));
    assert_eq!(settings.key.map(|key| key.expose().to_owned()).as_deref(), Some("sk-very-secret"));
}

#[test]
fn models_may_be_a_name_or_a_list_of_fallbacks_or_absent() {
    assert_eq!(good("model: auto").models[0].use_, "auto");
    let agent = good("model: [openai/a, { use: anthropic/b, stop: END, timeouts: { total_ms: 5 } }]");
    assert_eq!(agent.models.len(), 2);
    assert_eq!(agent.models[1].stop, ["END"]);
    assert_eq!(agent.models[1].settings(agent.timeouts()).timeouts.total_ms, 5);
    assert!(good("name: x").models.is_empty());
}

#[test]
fn plain_names_of_models_are_for_scripted_conversations_only() {
    let node = crate::yaml::parse("model: m1").unwrap();
    let file = std::path::Path::new("case.yaml");
    let agent = AgentFile::from_node(&node, file, &env, ModelNames::Plain).unwrap();
    assert_eq!((agent.models[0].use_.as_str(), agent.name.as_str()), ("m1", "agent"));
    assert!(AgentFile::from_node(&node, file, &env, ModelNames::Full).is_err());
}

#[test]
fn an_agent_without_a_name_has_its_file_s() {
    assert_eq!(good("description: x").name, "librarian");
}

#[test]
fn defaults_are_those_of_the_design() {
    let agent = good("name: x");
    assert_eq!((agent.retry.retries, agent.retry.wait_ms, agent.retry.max_wait_ms), (3, 500, 30_000));
    let timeouts = agent.timeouts();
    assert_eq!((timeouts.connect_ms, timeouts.first_token_ms, timeouts.idle_ms), (10_000, 60_000, 60_000));
    assert_eq!((timeouts.total_ms, agent.tool_ms()), (600_000, 300_000));
    let code = agent.code;
    assert_eq!((code.enabled, code.seconds, code.memory_mb, code.calls), (false, 10.0, 64, None));
}

#[test]
fn timeouts_follow_the_preset_s_column() {
    let of = |preset: &str| {
        let agent = parse(&format!("loop: {{ preset: {preset} }}")).unwrap();
        (agent.timeouts().total_ms, agent.tool_ms())
    };
    assert_eq!(of("text"), (60_000, 60_000));
    assert_eq!(of("kaos"), (60_000, 60_000));
    assert_eq!(of("typed"), (600_000, 300_000));
    assert_eq!(of("chat"), (600_000, 300_000));
}

#[test]
fn an_output_schema_without_a_preset_means_typed_and_none_means_chat() {
    assert_eq!(good("name: x").preset(), Preset::CHAT);
    assert_eq!(good("output: { schema: { type: object } }").preset(), Preset::TYPED);
    let agent = good("output: { schema: { type: object } }\nloop: { preset: swiftagent }");
    assert_eq!(agent.preset(), Preset::CHAT);
}

/// Decision 29 of the loops reference.
#[test]
fn s1_max_steps_is_a_limit_and_max_retries_the_tries_of_a_step() {
    for (text, steps, retries) in [
        ("loop: { preset: plan }", 3, 3),
        ("loop: { preset: session10, MAX_STEPS: 5, MAX_RETRIES: 0 }", 5, 0),
        ("loop: { preset: plan, limits: { MAX_STEPS: 1, MAX_RETRIES: 2 } }", 1, 2),
    ] {
        let policy = good(text).policy().unwrap();
        assert_eq!(policy.limit(LimitKind::PlanSteps), Some(steps), "{text}");
        assert_eq!(policy.calls.retries, retries, "{text}");
        assert_eq!(policy.limit(LimitKind::Retries), None, "{text}");
    }
    for text in [
        "loop: { MAX_RETRIES: 2 }",
        "loop: { preset: plan, MAX_RETRIES: -1 }",
        "loop: { preset: plan, MAX_RETRIES: { max: 1 } }",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn an_output_schema_with_tools_or_agents_means_ten_model_calls() {
    let calls = |more: &str| {
        let file = good(&format!("output: {{ schema: {{ type: object }} }}\n{more}"));
        (file.preset(), file.policy().unwrap().limit(LimitKind::ModelCalls))
    };
    assert_eq!(calls("tools: [ { builtin: [calculate] } ]"), (Preset::TYPED, Some(10)));
    assert_eq!(calls("agents: [ librarian.yaml ]"), (Preset::TYPED, Some(10)));
    assert_eq!(calls("tools: []\nagents: []"), (Preset::TYPED, None), "an empty list is no tool");
    let named = "tools: [ { builtin: [calculate] } ]\nloop: { preset: typed }";
    assert_eq!(calls(named), (Preset::TYPED, None), "acorn's single turn");
    let limited = "tools: [ { builtin: [calculate] } ]\nloop: { limits: { model_calls: 3 } }";
    assert_eq!(calls(limited), (Preset::TYPED, Some(3)));
}

#[test]
fn the_policy_holds_loop_timeouts_and_retries() {
    let agent = good(
        "loop: { limits: { model_calls: 4, seconds: 2.5 }, at_limit: fail, grace_ms: 100 }\n\
         timeouts: { tool_ms: 7000 }\nretry: { retries: 1 }",
    );
    let policy = agent.policy().unwrap();
    assert_eq!(policy.limit(LimitKind::ModelCalls), Some(4));
    assert_eq!(policy.limit(LimitKind::Seconds), Some(2_500));
    assert_eq!(policy.bounds.at_limit, AtLimit::Fail);
    assert_eq!((policy.calls.tool_ms, policy.bounds.grace_ms, policy.transport.retries), (7_000, 100, 1));
    assert_eq!(good("name: x").policy().unwrap().bounds.grace_ms, 2_000);
}

#[test]
fn secrets_are_masked_and_never_printed() {
    let agent = good(DESIGN);
    for secret in ["sk-very-secret", "token-also-secret", "Bearer token-also-secret"] {
        assert_eq!(mask(secret), "***");
    }
    let printed = format!("{agent:?}");
    assert!(!printed.contains("sk-very-secret") && !printed.contains("token-also-secret"), "{printed}");
}

#[test]
fn the_environment_is_read_in_secret_and_address_fields_only() {
    let agent = good("description: costs ${MY_KEY}\ninstructions: Say ${HOME_OF_NOBODY}.");
    assert_eq!(agent.description, "costs ${MY_KEY}");
    assert_eq!(agent.instructions.text(), "Say ${HOME_OF_NOBODY}.");
    let agent =
        good("tools: [ { command: { name: c, run: [echo, \"${MY_KEY}\"], env: { K: \"${MY_KEY}\" } } } ]");
    let ToolEntry::Command(command) = &agent.tools[0] else { panic!("{:?}", agent.tools) };
    assert_eq!(command.settings.run, ["echo", "${MY_KEY}"]);
    assert_eq!(command.env[0].1.expose(), "sk-very-secret");
}

#[test]
fn an_address_shows_its_variables_and_ports_are_no_secrets() {
    let agent = good("model: { use: openai/m, base_url: \"http://127.0.0.1:${PORT}/v1\" }");
    let url = agent.models[0].base_url.clone().unwrap();
    assert_eq!(url.expose(), "http://127.0.0.1:9000/v1");
    assert_eq!(url.to_string(), "http://127.0.0.1:${PORT}/v1");
    good("model: { use: openai/m, base_url: \"${HOST_WITH_LOGIN}/${PATH_TOKEN}/v1?key=query-token-1\" }");
    for text in ["http://ann:pass@127.0.0.1", "path-token-1", "query-token-1"] {
        assert_eq!(mask(text), "***", "{text}");
    }
    good("model: { use: openai/m, base_url: \"http://${HOST_ALONE}:${PORT}/v1\" }");
    assert_eq!(mask("http://models.local:9000/v1"), "http://models.local:9000/v1");
}

#[test]
fn settings_beside_secrets_stay_readable_and_short_secrets_are_told() {
    let agent = good(
        "tools: [ { command: { name: c, run: [echo], env: { LEVEL: verbose-setting, API_TOKEN: literal-token, \
         PLAIN: k3y4b5c6d7e8f9a0, PIN: \"${SHORT}\", NONE: \"${EMPTY}\", LANG: de } } } ]",
    );
    let masked =
        ["verbose-setting", "literal-token", "k3y4b5c6d7e8f9a0", "1234"].map(|text| mask(text).into_owned());
    assert_eq!(masked, ["verbose-setting", "***", "***", "1234"]);
    assert_eq!(
        agent.unmasked,
        [
            "secrets: `tools.0.command.env.PIN` has 4 bytes; secrets shorter than 6 bytes are not masked in output"
        ]
    );
}

#[test]
fn an_empty_variable_is_set() {
    let agent = good("model: { use: openai/m, key: \"${EMPTY}\" }");
    assert_eq!(agent.models[0].key.as_ref().map(|key| key.expose().len()), Some(0));
}

#[test]
fn tools_of_a_server_are_chosen_by_a_list_or_a_map() {
    let chosen = |tools: &str| {
        let text = format!("tools:\n  - mcp: {{ name: m, command: [x], tools: {tools} }}\n");
        let agent = good(&text);
        let ToolEntry::Mcp(mcp) = &agent.tools[0] else { panic!("{:?}", agent.tools) };
        mcp.config.tools.clone()
    };
    let only = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(chosen("[a, \"b*\"]"), ToolChoice { only: only(&["a", "b*"]), ..ToolChoice::default() });
    let all = chosen(
        "{ only: [\"r*\", w], without: [r_x], rename: { w: write }, effects: { r_a: once, \"r*\": read_only } }",
    );
    assert_eq!(
        all,
        ToolChoice {
            only: only(&["r*", "w"]),
            without: vec!["r_x".to_owned()],
            rename: [("w".to_owned(), "write".to_owned())].into(),
            effects: vec![("r_a".to_owned(), Effect::Once), ("r*".to_owned(), Effect::ReadOnly)],
        }
    );
    assert_eq!(chosen("{}"), ToolChoice::default());
}

#[test]
fn overrides_stand_beside_a_tool_or_inside_and_the_inner_one_wins() {
    let agent = good(
        "tools:\n  - { mcp: { name: m, url: \"http://h/\", retries: 1 }, retries: 5, effect: once, prefix: p }\n  \
         - { builtin: [ now, { fetch: { hosts: [a], timeout_ms: 3 } } ], timeout_ms: 9, approve: true }",
    );
    let ToolEntry::Mcp(mcp) = &agent.tools[0] else { panic!("{:?}", agent.tools) };
    let mcp = &mcp.config;
    assert_eq!((mcp.overrides.retries, mcp.overrides.effect), (Some(1), Some(Effect::Once)));
    assert_eq!((mcp.prefix.as_deref(), mcp.overrides.prefix.as_deref()), (Some("p"), None));
    let builtin = |at: usize| {
        let ToolEntry::Builtin(tool) = &agent.tools[at] else { panic!("{:?}", agent.tools[at]) };
        tool.clone()
    };
    assert_eq!((builtin(1).tool, builtin(1).overrides.timeout_ms), (Now::BUILTIN, Some(9)));
    assert_eq!((builtin(2).hosts, builtin(2).overrides.timeout_ms), (vec!["a".to_owned()], Some(3)));
    assert_eq!(builtin(2).overrides.approve, Some(true));
}

#[test]
fn hosted_tools_stand_apart_with_the_options_of_their_provider() {
    let agent = good(
        "tools:\n  - builtin: now\n  - hosted: web_search\n  - hosted: [url, { code: { container: { type: auto } } }]\n",
    );
    assert_eq!(agent.tools.len(), 1);
    let hosted: Vec<_> = agent.hosted.iter().map(|entry| (entry.hosted.tool, entry.place.line)).collect();
    let tools = [(HostedTool::WebSearch, 3), (HostedTool::Url, 4), (HostedTool::Code, 4)];
    assert_eq!(hosted, tools.map(|(tool, line)| (tool, line + agent.hosted[0].place.line - 3)));
    let options: Vec<_> =
        agent.hosted.iter().map(|entry| Value::from(entry.hosted.options.clone())).collect();
    assert_eq!(options, [json!({}), json!({}), json!({ "container": { "type": "auto" } })]);
}

#[test]
fn paths_and_programs_start_from_the_file_s_folder() {
    let agent = good(
        "tools:\n  - builtin: { read_file: { folders: [./docs, /srv] } }\n  \
         - mcp: { name: m, command: [./server, ./data] }\n  - mcp: { name: n, command: [npx] }",
    );
    let ToolEntry::Builtin(tool) = &agent.tools[0] else { panic!("{:?}", agent.tools) };
    assert_eq!(tool.folders[0], std::env::current_dir().unwrap().join("agents/docs"));
    assert_eq!(agent.folder, std::env::current_dir().unwrap().join("agents"));
    assert_eq!(tool.folders[1], std::path::Path::new("/srv"));
    let command = |at: usize| {
        let ToolEntry::Mcp(server) = &agent.tools[at] else { panic!("{:?}", agent.tools[at]) };
        let McpTransport::Stdio { command, folder, .. } = &server.config.transport else { panic!() };
        assert_eq!(folder.as_ref(), Some(&agent.folder));
        command.clone()
    };
    // Programs are looked for by the tools, from the folder.
    assert_eq!(command(1), ["./server", "./data"]);
    assert_eq!(command(2), ["npx"]);
}

#[test]
fn a_file_in_the_working_folder_has_a_folder_too() {
    let agent = AgentFile::parse("name: x", std::path::Path::new("x.yaml"), &env).unwrap();
    assert_eq!(agent.folder, std::env::current_dir().unwrap());
}

/// A plan's step keeps its five calls whatever else is set of its code.
#[test]
fn a_plan_s_step_makes_five_calls_unless_the_file_names_another_number() {
    for (code, expected) in [
        ("", 5),
        ("code: { seconds: 5 }", 5),
        ("code: { enabled: true }", 5),
        ("code: { memory_mb: 64 }", 5),
        ("code: { calls: 50 }", 50),
        ("code: { calls: 8, seconds: 10 }", 8),
    ] {
        let policy = good(&format!("loop: {{ preset: plan }}\n{code}\n")).policy().unwrap();
        assert_eq!(policy.calls.code.limits().unwrap().calls, expected, "{code}");
    }
    let limits = good("code: { enabled: true }").policy().unwrap().calls.code.limits().unwrap();
    assert_eq!((limits.calls, limits.seconds, limits.memory_mb), (50, 10.0, 64));
}

#[test]
fn a_command_becomes_what_the_tool_is_made_of() {
    let agent = good(
        "tools: [ { command: { name: pay, run: [pay, --to, \"{to}\"], check: [paid, \"{to}\"], dashes: true }, effect: once } ]",
    );
    let ToolEntry::Command(command) = &agent.tools[0] else { panic!("{:?}", agent.tools) };
    let settings = &command.settings;
    assert_eq!((settings.effect, settings.dashes, &settings.parameters), (Some(Effect::Once), true, &None));
    assert_eq!(settings.check.as_deref(), Some(&["paid".to_owned(), "{to}".to_owned()][..]));
}

#[test]
fn worked_examples_become_messages_with_calls_and_results() {
    let messages = good(DESIGN).example_messages();
    let roles: Vec<_> = messages.iter().map(Message::role).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    let (Message::Assistant(asks), Message::Tool(result)) = (&messages[1], &messages[2]) else { panic!() };
    assert_eq!(&*asks.calls[0].args, r#"{"a":2,"b":5}"#);
    assert_eq!(asks.calls[0].id, result.call);
    assert_eq!(result.content.text(), "7");
}

#[test]
fn a31_instructions_from_a_file_are_read_with_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("prompt.md"), "Hello {{ input.name }}.").unwrap();
    let text = "instructions: { file: prompt.md }\ninput: { schema: { type: object, properties: { name: { type: string } } } }";
    std::fs::write(folder.path().join("a.yaml"), text).unwrap();
    let agent = AgentFile::read(&folder.path().join("a.yaml"), &env).unwrap();
    assert_eq!(agent.instructions.text(), "Hello {{ input.name }}.");
    assert_eq!(agent.name, "a");
    std::fs::write(folder.path().join("prompt.md"), "one\n{% if %}").unwrap();
    let error = AgentFile::read(&folder.path().join("a.yaml"), &env).unwrap_err().to_string();
    assert!(error.contains("prompt.md:2:1: The instructions are not a valid template"), "{error}");
    std::fs::remove_file(folder.path().join("prompt.md")).unwrap();
    let error = AgentFile::read(&folder.path().join("a.yaml"), &env).unwrap_err();
    assert_eq!(error.code(), "agent.instructions");
}

#[cfg(unix)]
#[test]
fn a_file_that_never_ends_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for endless in [pipe.as_path(), std::path::Path::new("/dev/zero"), folder.path()] {
        let error = AgentFile::read(endless, &env).unwrap_err();
        assert_eq!(error.code(), "agent.read", "{}", endless.display());
        let text = format!("instructions: {{ file: {} }}", endless.display());
        std::fs::write(folder.path().join("a.yaml"), text).unwrap();
        let error = AgentFile::read(&folder.path().join("a.yaml"), &env).unwrap_err().to_string();
        assert!(error.contains("cannot be read: it is not a regular file"), "{error}");
    }
    std::fs::write(folder.path().join("big.yaml"), "# long\n".repeat(1024 * 1024)).unwrap();
    let error = AgentFile::read(&folder.path().join("big.yaml"), &env).unwrap_err();
    let source = std::error::Error::source(&error).map(ToString::to_string);
    assert_eq!(source.as_deref(), Some("it has more than 4194304 bytes"));
}

#[test]
fn a_file_that_is_not_there_or_no_text_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    assert_eq!(AgentFile::read(&path, &env).unwrap_err().code(), "agent.read");
    std::fs::write(&path, b"name: \xff").unwrap();
    let error = AgentFile::read(&path, &env).unwrap_err();
    assert_eq!(error.code(), "agent.not_text");
    assert!(error.to_string().contains("byte 6"), "{error}");
}

#[test]
fn what_comes_later_is_read_and_named() {
    let text = "name: x\nagents: [ { name: a, a2a: \"http://127.0.0.1:1\" } ]";
    let error = good(text).check_available().unwrap_err();
    assert_eq!(error.code(), "agent.later");
    assert!(error.to_string().contains("`agents: "), "{error}");
    assert_eq!(error.position().map(|place| place.line), Some(2), "{error}");
    assert!(good("model: auto").check_available().is_ok());
}

#[test]
fn e55_the_rate_of_a_model_reaches_its_adapter() {
    let agent = parse("model: { use: openai/m, rate: { requests_per_minute: 3, per: key } }").unwrap();
    let rate = agent.models[0].settings(agent.timeouts()).rate.expect("a rate");
    assert_eq!(rate.requests_per_minute.map(std::num::NonZeroU64::get), Some(3));
    assert_eq!((rate.tokens_per_minute, rate.max_wait_ms), (None, None));
    assert_eq!(rate.per, windlass_models::RateScope::Key);
    let agent = parse("model: openai/m").unwrap();
    assert_eq!(agent.models[0].settings(agent.timeouts()).rate, None);
}

#[test]
fn a41_further_settings_of_a_model_reach_its_runs() {
    let text = "model: { use: openai/m, top_p: 0.5, presence_penalty: -1, reasoning: true, stop: [END], max_tokens: 9, \
                metadata: { team: blue, n: 1 }, cache_control: true }";
    let agent = parse(text).unwrap();
    let choice = agent.models[0].choice();
    assert_eq!((choice.top_p, choice.presence_penalty, choice.max_tokens), (Some(0.5), Some(-1.0), Some(9)));
    assert_eq!((choice.reasoning.as_deref(), choice.stop.as_slice()), (Some("medium"), &["END".into()][..]));
    let metadata: Vec<(&str, &str)> = choice.metadata.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(metadata, [("n", "1"), ("team", "blue")]);
    assert_eq!(agent.models[0].settings(agent.timeouts()).cache_control, Some(true));
}

#[test]
fn the_way_in_which_a_model_reasons_is_an_effort_or_a_map() {
    let of = |reasoning: &str| {
        let choice =
            parse(&format!("model: {{ use: openai/m, reasoning: {reasoning} }}")).unwrap().models[0].choice();
        let set = choice.reasoning_options().cloned().unwrap_or_default();
        (choice.reasoning.map(|effort| effort.to_string()), set)
    };
    for effort in ["none", "minimal", "low", "medium", "high", "xhigh", "max"] {
        assert_eq!(of(effort), (Some(effort.to_owned()), ReasoningOptions::default()));
        assert_eq!(of(&format!("{{ effort: {effort} }}")), of(effort));
    }
    assert_eq!(of("false"), of("off"));
    assert_eq!(
        of("{ budget_tokens: 2000, show: false }"),
        (None, ReasoningOptions { budget_tokens: Some(2000), show: Some(false), summary: None })
    );
    assert_eq!(
        of("{ effort: true, summary: concise }"),
        (
            Some("medium".to_owned()),
            ReasoningOptions { summary: Some("concise".into()), ..ReasoningOptions::default() }
        )
    );
}

#[test]
fn options_of_a_model_reach_its_runs() {
    let text = "model: { use: openai/m, seed: 7, top_k: 40, frequency_penalty: -0.5, service_tier: flex, verbosity: low, user: u1, \
                cache_key: k1, extra: { logit_bias: { \"50256\": -100 }, n: [1, 2.5, null, yes] } }";
    let options = serde_json::to_value(parse(text).unwrap().models[0].choice().options).unwrap();
    assert_eq!(
        options,
        serde_json::json!({
            "seed": 7, "top_k": 40, "frequency_penalty": -0.5, "service_tier": "flex", "verbosity": "low", "user": "u1",
            "cache_key": "k1", "extra": { "logit_bias": { "50256": -100 }, "n": [1, 2.5, null, "yes"] },
        })
    );
    let safe = parse("model: { use: gemini/m, safety: { HARM_CATEGORY_HARASSMENT: BLOCK_NONE } }")
        .unwrap()
        .models[0]
        .choice();
    let safe = serde_json::to_value(safe.options).unwrap();
    assert_eq!(safe, serde_json::json!({ "safety": { "HARM_CATEGORY_HARASSMENT": "BLOCK_NONE" } }));
    for text in ["model: openai/m", "model: { use: openai/m, extra: {}, reasoning: { effort: low } }"] {
        assert_eq!(parse(text).unwrap().models[0].choice().options, None, "{text}");
    }
}

#[test]
fn a_key_that_stands_for_none_is_no_secret_too_short_to_mask() {
    for (key, told) in [("none", 0), ("null-key", 0), ("k3y", 1)] {
        let agent =
            good(&format!("model: {{ use: m, base_url: \"http://127.0.0.1:9/v1\", key: \"{key}\" }}"));
        assert_eq!(agent.unmasked.len(), told, "{key}: {:?}", agent.unmasked);
    }
}

#[test]
fn a_server_whose_tools_no_rule_touches_is_told() {
    let served = crate::ServedTools {
        names: ["files__read", "files__edit", "mail__send"].map(str::to_owned).to_vec(),
        unknown: vec!["late__".to_owned()],
    };
    let unguarded = |rules: &str, more: &str| {
        let server = |name: &str| format!("  - mcp: {{ name: {name}, command: [x]{more} }}\n");
        let servers: String = ["files", "mail", "late"].map(server).concat();
        let file = good(&format!("name: a\nloop: {{ {rules} }}\ntools:\n{servers}"));
        file.unguarded_servers(&served).join(" ")
    };
    assert_eq!(unguarded("", ""), "files mail late");
    assert_eq!(unguarded("approve: effects", ""), "");
    assert_eq!(unguarded("approve: [files__edit]", ""), "mail late");
    // A pattern of a tool that the server does not have touches nothing; of a server that is not connected, it may.
    assert_eq!(unguarded("approve: [files__write], deny: [\"late__*\"]", ""), "files mail");
    assert_eq!(unguarded("", ", trust: true"), "");
}
