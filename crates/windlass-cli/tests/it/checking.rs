//! `windlass agents check` sees what `windlass run` would refuse.

use serde_json::json;

use crate::kit::{Home, end};

/// Contents that a prompt of another tool may have, with a part of the message.
const FOREIGN: [(&str, &str); 14] = [
    ("Deploy with ${{ secrets.TOKEN }}.", "there is no value `secrets`"),
    ("You are {{ bot_name }}.", "there is no value `bot_name`"),
    ("See {#intro}.", "not a valid template"),
    ("{% if user %}Hello.{% endif %}", "there is no value `user`"),
    ("{% for turn in history %}{{ turn }}{% endfor %}", "there is no value `history`"),
    ("{{ input|tojson }}", "filter tojson is unknown"),
    ("{{ input|map(\"uper\")|list }}", "filter uper is unknown; did you mean upper"),
    ("{% if input is matching(\"a\") %}{% endif %}", "test matching is unknown"),
    ("{{#each items}}{{this}}{{/each}}", "not a valid template"),
    ("{{> partial }}", "not a valid template"),
    ("{{ user.name|default('you') }}", "there is no value `user`"),
    ("{{ a + 1 }}", "there is no value `a`"),
    ("{% set x = input %}{{ x }}{{ y }}", "there is no value `y`"),
    ("{{ not ready }}", "there is no value `ready`"),
];

#[test]
fn a_check_sees_what_a_run_would_refuse_of_instructions() {
    let home = Home::new();
    for (text, fault) in FOREIGN {
        home.write("prompt.md", text);
        for instructions in ["{ file: prompt.md }".to_owned(), serde_json::to_string(text).unwrap()] {
            home.write("a.yaml", &format!("name: a\nmodel: tour\ninstructions: {instructions}\n"));
            let check = home.windlass(["agents", "check", "a.yaml"]);
            assert_eq!(check.code, 65, "{text}: {check:?}");
            assert!(check.stderr.contains(fault), "{text}: {check:?}");
            assert!(check.stderr.contains("verbatim: true"), "{text}: {check:?}");
            assert_eq!(home.windlass(["run", "a.yaml", "-q", "Hello"]).code, 65, "{text}");
        }
        home.write("a.yaml", "name: a\nmodel: tour\ninstructions: { file: prompt.md, verbatim: true }\n");
        let check = home.windlass(["agents", "check", "a.yaml"]);
        assert_eq!(check.code, 0, "{text}: {check:?}");
        let run = home.windlass(["run", "a.yaml", "-q", "Hello"]);
        assert_eq!(run.code, 0, "{text}: {run:?}");
        let all = home.windlass(["runs", "show", "last", "--events", "--json"]).stdout;
        assert!(all.contains(&serde_json::to_string(text).unwrap()), "{text}: {all}");
    }
}

#[test]
fn a_setting_that_an_api_has_no_place_for_is_refused_before_anything_is_sent() {
    let home = Home::new();
    for (model, fault) in [
        ("anthropic/claude-sonnet-4-6, seed: 7", "`seed` has no place in its API"),
        ("openai/gpt-5.1, top_k: 3", "`top_k` has no place in its API"),
        ("openai/gpt-5.1, api: openai_responses, frequency_penalty: 1", "`frequency_penalty` has no place"),
        ("gemini/gemini-2.5-flash, user: u", "`user` has no place"),
        ("gemini/gemini-2.5-flash, parallel: false", "`parallel` has no place"),
        ("openai/gpt-5.1, reasoning: { budget_tokens: 2000 }", "`reasoning.budget_tokens` has no place"),
        (
            "anthropic/claude-opus-4-7, reasoning: { budget_tokens: 2000 }",
            "decides itself how much it thinks",
        ),
        (
            "anthropic/claude-opus-4-7, metadata: { team: blue }",
            "`metadata.team`: its API knows `user_id` alone",
        ),
        ("ollama/qwen3, strict: true", "`strict` has no place"),
        ("ollama/qwen3, extra: { options: { temperature: 1 } }", "`extra` sets `options.temperature`"),
        ("openai/gpt-5.1, extra: { messages: [] }", "`extra` sets `messages`"),
    ] {
        home.write("a.yaml", &format!("name: a\nmodel: {{ use: {model} }}\n"));
        let check = home.windlass(["agents", "check", "a.yaml"]);
        assert_eq!(check.code, 65, "{model}: {check:?}");
        assert!(check.stderr.contains(fault) && check.stderr.contains("a.yaml:2:"), "{model}: {check:?}");
        // The others are on other machines, which no test may reach.
        if model.starts_with("ollama") {
            let run = home.windlass(["run", "a.yaml", "-q", "Hello"]);
            assert!(run.code == 65 && run.stderr.contains(fault), "{model}: {run:?}");
        }
    }
    home.write(
        "a.yaml",
        "name: a\nmodel: { use: ollama/qwen3, seed: 7, num_ctx: 8192, keep_alive: 10m, extra: { options: { num_gpu: 1 } } }\n",
    );
    assert_eq!(home.windlass(["agents", "check", "a.yaml"]).code, 0);
}

#[test]
fn a_check_sees_schemas_without_a_strict_form() {
    let home = Home::new();
    let command = "tools: [ { command: { name: put, run: [cat], description: d, parameters: { type: object, \
        additionalProperties: { type: string } } } } ]\n";
    let output = "output: { schema: { type: object, properties: { a: { type: object, additionalProperties: true } } } }\n";
    for (model, extra, fault) in [
        ("openai/gpt-5-mini", command, "tool `put`: "),
        ("openai/gpt-5-mini", output, "no strict form at $.properties.a.additionalProperties"),
        ("openai/gpt-5-mini, api: openai_responses", command, "tool `put`: "),
    ] {
        let file = |strict: bool| format!("name: a\nmodel: {{ use: {model}, strict: {strict} }}\n{extra}");
        home.write("a.yaml", &file(true));
        let check = home.windlass(["agents", "check", "a.yaml"]);
        assert_eq!(check.code, 65, "{model} {extra}: {check:?}");
        assert!(check.stderr.contains(fault) && check.stderr.contains("a.yaml:2:"), "{check:?}");
        home.write("a.yaml", &file(false));
        let check = home.windlass(["agents", "check", "a.yaml"]);
        assert_eq!(check.code, 0, "{model} {extra}: {check:?}");
    }
    for (model, tool, fault) in [
        ("openai/gpt-5-mini", "strict: true", "tool `put`: the schema has no strict form"),
        ("gemini/gemini-2.5-flash", "strict: true", "tool `put`: its API holds all tools"),
        ("gemini/gemini-2.5-flash, strict: true", "strict: false", "tool `put`: its API holds all tools"),
        ("ollama/qwen3", "strict: true", "tool `put`: `strict` has no place"),
    ] {
        let tool = command.replace("name: put", &format!("name: put, {tool}"));
        home.write("a.yaml", &format!("name: a\nmodel: {{ use: {model} }}\n{tool}"));
        let check = home.windlass(["agents", "check", "a.yaml"]);
        assert_eq!(check.code, 65, "{model} {tool}: {check:?}");
        assert!(check.stderr.contains(fault) && check.stderr.contains("a.yaml:2:"), "{check:?}");
        home.write("a.yaml", &format!("name: a\nmodel: {{ use: {model} }}\n{command}"));
        assert_eq!(home.windlass(["agents", "check", "a.yaml"]).code, 0, "{model}");
    }
}

#[test]
fn a_check_tries_instructions_as_a_run_renders_them() {
    let home = Home::new();
    for text in [
        "{{ 1/0 }}",
        "{{ -'a' }}",
        "{{ 'a'|round }}",
        "{% for i in range(100000000) %}{{ i }}{% endfor %}",
        "{{ input + 1 }}",
        "{{ input[99] }}",
        "{{ 10 / input }}",
    ] {
        home.write("a.yaml", &format!("name: a\nmodel: tour\ninstructions: {}\n", json!(text)));
        let check = home.windlass(["agents", "check", "a.yaml"]);
        assert_eq!(check.code, 65, "{text}: {check:?}");
        assert!(
            check.stderr.contains("the instructions of agent `a` cannot be rendered"),
            "{text}: {check:?}"
        );
        assert_eq!(home.windlass(["run", "a.yaml", "-q", "Hello"]).code, 65, "{text}");
    }
    // Some inputs fit, or nobody knows which objects come.
    let warned = "the instructions of `a` cannot be rendered for the input \"\"";
    for (text, more, warns) in [
        ("{{ 10 / (input|length) }}", "", true),
        (
            "{{ 10 / input.share }}",
            "input: { schema: { type: object, properties: { share: { type: number } } } }\n",
            false,
        ),
    ] {
        home.write("a.yaml", &format!("name: a\nmodel: tour\n{more}instructions: {}\n", json!(text)));
        let check = home.windlass(["agents", "check", "a.yaml"]);
        assert_eq!((check.code, check.stderr.contains(warned)), (0, warns), "{text}: {check:?}");
    }
}

#[test]
fn what_a_template_sets_asks_about_or_replaces_is_no_fault() {
    let home = Home::new();
    for text in [
        "{% if user is defined %}{{ user }}{% endif %}Hello.",
        "{{ user|default('you') }}",
        "{{ user|d('you') }} {% raw %}{{ user }}{% endraw %}",
        "{% for i in range(2) %}{{ loop.index }}{{ i }}{% endfor %}",
        "{% set x = 1 %}{% with y = x %}{{ x }}{{ y }}{% endwith %}",
        "{% for a, b in [[1, 2]] %}{{ a }}{{ b }}{% endfor %} costs $5 or ${HOME}",
        "{{ input }}",
    ] {
        home.write("prompt.md", text);
        home.write("a.yaml", "name: a\nmodel: tour\ninstructions: { file: prompt.md }\n");
        let check = home.windlass(["agents", "check", "a.yaml"]);
        assert_eq!((check.code, &*check.stderr), (0, ""), "{text}: {check:?}");
        assert_eq!(home.windlass(["run", "a.yaml", "-q", "Hello"]).code, 0, "{text}");
    }
}

#[test]
fn a_check_looks_into_delegates_branches_and_prompts() {
    let home = Home::new();
    home.write("child.yaml", "name: child\nmodel: tour\ninstructions: \"{{ nobody }}\"\n");
    let folder = "tools: [{ builtin: { read_file: { folders: [nowhere] } } }]\n";
    home.write("tools.yaml", &format!("name: tools\nmodel: tour\n{folder}"));
    home.write("model.yaml", "name: model\nmodel: nobody/x\n");
    home.write(
        "clash.yaml",
        "name: clash\nmodel: tour\ntools: [{ builtin: [now] }]\nloop: { require: [nothing] }\n",
    );
    let branch =
        |body: &str| format!("agents: [{{ name: deep, branch: {{ instructions: Look., {body} }} }}]\n");
    for (text, fault) in [
        ("agents: [child.yaml]\n", "there is no value `nobody`"),
        ("agents: [tools.yaml]\n", "nowhere"),
        ("agents: [model.yaml]\n", "nobody"),
        ("agents: [clash.yaml]\n", "nothing"),
        (&*branch("prompt: { template: \"{{ objektive }}\" }"), "there is no value `objektive`"),
        (&*branch("model: nobody/x"), "nobody"),
        ("prompt: { instructions: [\"{{ lang }}\"] }\n", "there is no value `lang`"),
        ("loop: { context: { model: nobody/x } }\n", "nobody"),
        ("input: { schema: { type: object, properties: 5 } }\n", "properties"),
    ] {
        home.write("a.yaml", &format!("name: a\nmodel: tour\n{text}"));
        let run = home.windlass(["run", "a.yaml", "-q", "Hello"]);
        assert!(run.code != 0 && run.stderr.contains(fault), "{text}: {run:?}");
        let check = home.windlass(["agents", "check", "a.yaml"]);
        assert_eq!(check.code, run.code, "{text}: {check:?}");
        assert!(check.stderr.contains(fault), "{text}: {check:?}");
    }
}

#[test]
fn missing_variables_are_warnings_of_a_check() {
    let home = Home::new();
    for text in [
        "model: { use: openai/gpt-5-mini, key: \"${MY_NEW_KEY}\" }\n",
        "model: { use: x, base_url: \"${MY_URL}/v1\" }\n",
        "model: { use: x, base_url: \"http://${MY_HOST}:8080/v1\", key: none }\n",
        "model: tour\ntools: [{ mcp: { name: s, command: [x], env: { A: \"${MY_A}\", B: \"${MY_B}\" } } }]\n",
        "model: tour\nagents: [child.yaml]\n",
    ] {
        home.write("child.yaml", "name: child\nmodel: { use: openai/gpt-5-mini, key: \"${MY_CHILD}\" }\n");
        home.write("a.yaml", &format!("name: a\n{text}"));
        let online = home.command(["agents", "check", "a.yaml"]).env_remove("WINDLASS_OFFLINE").output();
        let check = end(online.unwrap());
        assert_eq!(check.code, 0, "{text}: {check:?}");
        assert!(check.stderr.contains("the environment variable MY_"), "{text}: {check:?}");
        let run = home.windlass(["run", "a.yaml", "-q", "Hello"]);
        assert!(run.code == 65 && run.stderr.contains("MY_"), "{text}: {run:?}");
    }
    home.write("a.yaml", "name: a\nmodel: { use: openai/gpt-5-mini, key: \"${MY_KEY}\" }\ntols: []\n");
    let check = home.windlass(["agents", "check", "a.yaml"]);
    assert_eq!(check.code, 65);
    assert!(check.stderr.contains("`tols`") && !check.stderr.contains("stand"), "{check:?}");
    // A part of the input that no text has.
    home.write("a.yaml", "name: a\nmodel: tour\ninstructions: \"In {{ input.lang }}.\"\n");
    let check = home.windlass(["agents", "check", "a.yaml"]);
    assert_eq!(check.code, 65);
    assert!(check.stderr.contains("read `input.lang`"), "{check:?}");
    home.write(
        "a.yaml",
        "name: a\nmodel: tour\ninstructions: \"In {{ input.lang }}.\"\ninput: { schema: { type: object, properties: { lang: { type: string } } } }\n",
    );
    assert_eq!(home.windlass(["agents", "check", "a.yaml"]).stderr, "");
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_text() {
    let home = Home::new();
    home.write("prompt.md", "\u{feff}Be brief.");
    home.write("a.yaml", "\u{feff}name: a\nmodel: tour\ninstructions: { file: prompt.md }\n");
    let check = home.windlass(["agents", "check", "a.yaml"]);
    assert_eq!((check.code, &*check.stderr), (0, ""), "{check:?}");
    assert_eq!(home.windlass(["run", "a.yaml", "-q", "Hello"]).code, 0);
    let all = home.windlass(["runs", "show", "last", "--events", "--json"]).stdout;
    assert!(all.contains("\"Be brief.\""), "{all}");
    home.write("prompt.md", "\u{feff}{{ x }}");
    home.write("a.yaml", "\u{feff}name: a\nmodel: tour\ninstructions: { file: prompt.md, verbatim: true }\n");
    assert_eq!(home.windlass(["run", "a.yaml", "-q", "Hello"]).code, 0);
    let all = home.windlass(["runs", "show", "last", "--events", "--json"]).stdout;
    assert!(all.contains("\"{{ x }}\""), "{all}");
}

#[test]
fn a_check_refuses_with_their_lines_what_no_run_takes() {
    let home = Home::new();
    let long = format!("{}# Heading {{#id}}\n{}", "line\n".repeat(6), "line\n".repeat(50));
    home.write("long.md", &long);
    home.write("part.md", "You are here.\n\nAbout {{ input.a.b }}.\n");
    for (rest, fault) in [
        ("instructions: { file: long.md }", "long.md:7:1: "),
        ("instructions: { file: part.md }", "part.md:3:1: The instructions read `input.a`"),
        ("instructions: |\n  x\n  {{ input.q }}", "a.yaml:5:1: The instructions read `input.q`"),
        ("input: { schema: { type: string } }", "`input.schema` takes no object"),
        ("input: { schema: { type: [array, 'null'] } }", "`input.schema` takes no object"),
        ("tools: [ { mcp: { name: f, url: 'ftp://x' } } ]", "`tools.0.mcp.url` is not an http or https URL"),
        ("tools: [ { mcp: { name: f, url: 'localhost:9000/mcp' } } ]", "is not an http or https URL"),
    ] {
        home.write("a.yaml", &format!("name: a\nmodel: tour\n{rest}\n"));
        for command in [&["agents", "check", "a.yaml"][..], &["run", "a.yaml", "Hello"]] {
            let end = end(home.command(command).output().unwrap());
            assert_eq!(end.code, 65, "{rest}: {end:?}");
            assert!(end.stderr.contains(fault), "{rest}: {end:?}");
        }
    }
    for rest in [
        "instructions: \"{{ input.q|default('x') }}{% if input.a is defined %}{{ input.a }}{% endif %}\"",
        "instructions: \"{{ input.q }}\"\ninput: { schema: { type: [object, 'null'], properties: { q: {} } } }",
        "instructions: \"{# one #} {{ input }} {# two #}\"",
    ] {
        home.write("a.yaml", &format!("name: a\nmodel: tour\n{rest}\n"));
        assert_eq!(home.windlass(["agents", "check", "a.yaml"]).code, 0, "{rest}");
    }
}

/// An agent in the folder `sub` with tools whose programs are not there, and with some that are there or of which nobody can tell.
fn with_programs(home: &Home) -> Vec<String> {
    home.write("sub/there.sh", "exit 0");
    home.program("sub/runs.sh", "#!/bin/sh\necho done\n");
    std::fs::create_dir_all(home.path("elsewhere")).unwrap();
    home.program("elsewhere/own", "#!/bin/sh\necho own\n");
    let path = home.path("elsewhere").display().to_string();
    let tool = |name: &str, run: &str, more: &str| {
        format!("  - command: {{ name: {name}, run: {run}, description: x{more} }}\n")
    };
    vec![
        "name: a\nmodel: tour\ntools:\n".to_owned(),
        tool("absent", "[./absent.sh, x]", ""),
        tool("locked", "[./there.sh]", ""),
        tool("unknown", "[no-such-program]", ""),
        tool("beside", "[there.sh]", ""),
        tool("folder", "[../sub]", ""),
        tool("checked", "[./runs.sh]", ", check: [./gone.sh]"),
        tool("fine", "[./runs.sh]", ""),
        tool("shell", "[sh, -c, \"./absent.sh; no-such-program\"]", ""),
        tool("own", "[own]", &format!(", env: {{ PATH: {path} }}")),
        "  - mcp: { name: files, command: [./server.py, .] }\n".to_owned(),
        "  - mcp: { name: node, command: [no-such-npx, -y, x] }\n".to_owned(),
        "  - mcp: { name: url, url: \"http://127.0.0.1:9/mcp\" }\n".to_owned(),
    ]
}

#[test]
fn a_program_that_is_not_there_is_a_warning_with_its_place_and_what_to_do() {
    let home = Home::new();
    let tools = with_programs(&home);
    home.write("sub/a.yaml", &tools.concat());
    let check = home.windlass(["agents", "check", "sub/a.yaml"]);
    assert_eq!(check.code, 0, "no error: {check:?}");
    let lines: Vec<&str> = check.stderr.lines().collect();
    let expected = [
        (1, "the tool `absent`", "`./absent.sh` does not exist in "),
        (2, "the tool `locked`", "`./there.sh` may not be run; `chmod +x ./there.sh` in "),
        (3, "the tool `unknown`", "`no-such-program` is not in PATH; install it, or mend `run`"),
        (4, "the tool `beside`", "`there.sh` is not in PATH; `./there.sh` is the file beside the agent file"),
        (5, "the tool `folder`", "`../sub` in "),
        (6, "the check of the tool `checked`", "`./gone.sh` does not exist in "),
        (10, "the tool server `files`", "`./server.py` does not exist in "),
        (11, "the tool server `node`", "`no-such-npx` is not in PATH; install it, or mend `command`"),
    ];
    assert_eq!(lines.len(), expected.len(), "{check:?}");
    for (line, (at, whose, fault)) in lines.iter().zip(expected) {
        // Three lines stand before the tools. The place is that of the command line.
        let (row, column) = (at + 3, tools[at].find(": [").unwrap() + 3);
        let place = format!("{whose} cannot start (sub/a.yaml:{row}:{column}): ");
        assert!(line.contains(&place) && line.contains(fault), "{place}{fault}\n{line}");
    }
    let json = home.windlass(["agents", "check", "sub/a.yaml", "--json"]).stdout;
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["warnings"].as_array().unwrap().len(), expected.len(), "{report}");
    // That of a delegate is told, too, with its file.
    home.write("lead.yaml", "name: lead\nmodel: tour\nagents: [./sub/a.yaml]\n");
    let lead = home.windlass(["agents", "check", "lead.yaml"]);
    assert!(lead.code == 0 && lead.stderr.contains("sub/a.yaml:4:"), "{lead:?}");
}

#[test]
fn a_check_finds_the_programs_that_the_tools_find() {
    let home = Home::new();
    let tools = with_programs(&home);
    // No call waits for servers that are not there.
    home.write("sub/a.yaml", &tools[..10].concat());
    let warned = home.windlass(["agents", "check", "sub/a.yaml"]).stderr;
    for tool in ["absent", "locked", "unknown", "beside", "folder", "fine", "own"] {
        let call = home.windlass(["tools", "call", "sub/a.yaml", tool, "{}"]);
        assert_eq!(call.code != 0, warned.contains(&format!("the tool `{tool}` cannot start")), "{call:?}");
    }
    assert!(!warned.contains("`shell`") && warned.contains("`absent`"), "{warned}");
}
