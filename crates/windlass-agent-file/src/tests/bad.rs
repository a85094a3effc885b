use windlass_core::policy::DefaultLoop;

use super::rendered;

/// Bad files by name. Each is shown with its full error in one snapshot.
const BAD: &[(&str, &str)] = &[
    ("an empty file", ""),
    ("only a comment", "# nothing yet\n"),
    ("not a map", "- name: x\n"),
    ("a plain text", "hello\n"),
    ("tabs", "loop:\n\tpreset: chat\n"),
    ("no YAML at all", "name: [a, b\nmodel: x\n"),
    ("two documents", "name: a\n---\nname: b\n"),
    ("a key twice", "name: a\nmodel: auto\nname: b\n"),
    ("an unknown key with a near one", "name: x\nmodle: auto\n"),
    ("an unknown key without a near one", "name: x\nzzz: 1\n"),
    ("a wrong type", "name: x\ntools: calculate\n"),
    ("a list as a name", "name: [x]\n"),
    ("a model that is no provider/model", "model: gpt-5\n"),
    ("an empty list of models", "model: []\n"),
    ("a model without `use`", "model: { key: abc }\n"),
    ("a negative temperature", "model: { use: openai/m, temperature: -1 }\n"),
    ("a number as a key", "model: { use: openai/m, key: 123456 }\n"),
    ("a key and a command for it", "model: { use: openai/m, key: abc, key_command: print-key }\n"),
    ("a rate that limits nothing", "model:\n  use: openai/m\n  rate: { max_wait_ms: 5 }\n"),
    ("a rate of nothing", "model: { use: openai/m, rate: { requests_per_minute: 0 } }\n"),
    ("a rate per nothing known", "model:\n  use: openai/m\n  rate: { tokens_per_minute: 9, per: user }\n"),
    ("an empty command", "model:\n  use: openai/m\n  key_command: [\"\"]\n"),
    ("a hedge without another model", "model:\n  - openai/a\n  - { use: openai/b, hedge_ms: 500 }\n"),
    ("a hedge of no time", "model: [ { use: openai/a, hedge_ms: 0 }, openai/b ]\n"),
    ("a stall limit of a model", "model: { use: openai/m, timeouts: { child_stall_ms: 5 } }\n"),
    ("a missing environment variable", "model:\n  use: openai/m\n  key: ${NOT_SET}\n"),
    ("a bad placeholder", "model: { use: openai/m, key: \"${MY_KEY:-x}\" }\n"),
    ("an open placeholder", "model: { use: openai/m, base_url: \"http://${MY_KEY\" }\n"),
    ("an unknown preset", "loop:\n  preset: chta\n"),
    ("an unknown key in the loop", "loop:\n  preset: chat\n  limit: { model_calls: 1 }\n"),
    ("a negative limit", "loop:\n  limits:\n    model_calls: -1\n"),
    ("an unknown limit", "loop: { limits: { model_cals: 1 } }\n"),
    ("half a call", "loop: { limits: { tool_calls: 1.5 } }\n"),
    ("a bad at_limit", "loop:\n  limits: { tool_calls: { max: 1, at_limit: stop } }\n"),
    ("a bad grace", "loop:\n  grace_ms: soon\n"),
    ("a wire that comes later", "loop:\n  wire: xml\n"),
    ("no such builtin", "tools:\n  - builtin: [calculate, raed_file]\n"),
    ("no such builtin with options", "tools:\n  - builtin: { read: { folders: [.] } }\n"),
    ("an option of another builtin", "tools:\n  - builtin: { fetch: { folders: [.] } }\n"),
    ("a cache of no points", "loop:\n  cache: []\n"),
    ("a choice of tools for no turn", "loop: { tool_choice: { last: a } }\n"),
    ("a choice among no tools", "loop: { tool_choice: { first: [] } }\n"),
    ("a choice of tools that is a number", "loop: { tool_choice: 3 }\n"),
    ("a tool at every turn", "loop: { tool_choice: required }\n"),
    ("a tool at every turn but the first", "loop:\n  tool_choice: { first: auto, then: search }\n"),
    ("a choice of tools in a plan", "loop: { preset: plan, tool_choice: { first: search } }\n"),
    ("a cache with an unknown key", "loop: { cache: [ { location: message, rol: user } ] }\n"),
    ("a share of more than all", "model: { use: openai/m, top_p: 1.5 }\n"),
    ("a penalty out of range", "model: { use: openai/m, presence_penalty: 3 }\n"),
    ("a seed below zero", "model: { use: openai/m, seed: -1 }\n"),
    ("no token to draw from", "model: { use: openai/m, top_k: 0 }\n"),
    ("a penalty of frequency out of range", "model: { use: openai/m, frequency_penalty: 2.5 }\n"),
    ("an unknown verbosity", "model: { use: openai/m, verbosity: chatty }\n"),
    ("an empty class of service", "model: { use: openai/m, service_tier: \"\" }\n"),
    ("an extra that is no map", "model: { use: openai/m, extra: [seed] }\n"),
    ("an unknown way to reason", "model: { use: openai/m, reasoning: hard }\n"),
    ("a way to reason that is a number", "model: { use: openai/m, reasoning: 8000 }\n"),
    (
        "an effort and a budget",
        "model:\n  use: openai/m\n  reasoning: { effort: low, budget_tokens: 8000 }\n",
    ),
    ("a summary that is not shown", "model:\n  use: openai/m\n  reasoning: { summary: auto, show: false }\n"),
    ("an unknown summary", "model: { use: openai/m, reasoning: { summary: long } }\n"),
    ("a budget of nothing", "model: { use: openai/m, reasoning: { budget_tokens: 0 } }\n"),
    ("an unknown key of reasoning", "model: { use: openai/m, reasoning: { max_tokens: 9 } }\n"),
    ("safety without a threshold", "model: { use: openai/m, safety: [A] }\n"),
    ("no such service", "tools:\n  - service: [memory, sandbx]\n"),
    ("no such service with options", "tools:\n  - service:\n      memry: { path: a }\n"),
    ("an option of another service", "tools:\n  - service: { sandbox: { path: a } }\n"),
    ("a service of which nothing is taken", "tools:\n  - service: { memory: { tools: [] } }\n"),
    ("no such hosted tool", "tools:\n  - hosted: [web_search, bing]\n"),
    ("a hosted tool with a setting of ours", "tools:\n  - { hosted: web_search, approve: true }\n"),
    ("options of a hosted tool that are no map", "tools:\n  - hosted: { web_search: 3 }\n"),
    (
        "deferred tools that nothing finds",
        "tools:\n  - hosted: web_search\n  - builtin: { now: { defer: true } }\n",
    ),
    ("a hosted tool twice", "tools:\n  - hosted: [code, { code: {} }]\n"),
    ("an unknown way of discovery", "loop:\n  discovery: find\n"),
    ("a tool of no kind", "tools:\n  - timeout_ms: 5\n"),
    ("a tool of two kinds", "tools:\n  - { builtin: now, command: { name: a, run: [b] } }\n"),
    ("a misspelt kind of tool", "tools:\n  - comand: { name: a, run: [b] }\n"),
    ("a command without run", "tools:\n  - command: { name: wordcount }\n"),
    ("a command with an empty run", "tools:\n  - command: { name: wordcount, run: [] }\n"),
    (
        "a placeholder that is no argument",
        "tools:\n  - command:\n      name: wc\n      run: [wc, \"{pth}\"]\n      parameters: { type: object, properties: { path: {} } }\n",
    ),
    (
        "an argument that is required and not described",
        "tools:\n  - command:\n      name: wc\n      run: [wc, \"{file}\"]\n      parameters: { type: object, properties: { file: {} }, required: [path] }\n",
    ),
    (
        "an argument that chooses the program",
        "tools:\n  - command: { name: a, run: [\"{b}\"], parameters: { properties: { b: {} } } }\n",
    ),
    (
        "a check of what only reads",
        "tools:\n  - command: { name: a, run: [b], check: [c], effect: read_only }\n",
    ),
    (
        "parameters that are no schema",
        "tools:\n  - command: { name: a, run: [b], parameters: { type: objekt } }\n",
    ),
    ("a variable that a shell would drop", "tools:\n  - command: { name: a, run: [b], env: { A.B: c } }\n"),
    ("a tool's name with a space", "tools:\n  - command: { name: word count, run: [wc] }\n"),
    ("an MCP server without an address", "tools:\n  - mcp: { name: files }\n"),
    (
        "a key of an MCP server's tools that is none",
        "tools:\n  - mcp: { name: f, command: [a], tools: { onyl: [b] } }\n",
    ),
    (
        "an effect of a tool that is none",
        "tools:\n  - mcp: { name: f, command: [a], tools: { effects: { b: readonly } } }\n",
    ),
    (
        "a name for two tools",
        "tools:\n  - mcp: { name: f, command: [a], tools: { rename: { b: d, c: d } } }\n",
    ),
    (
        "a name that no tool may have",
        "tools:\n  - mcp: { name: f, command: [a], tools: { rename: { b: \"c d\" } } }\n",
    ),
    ("one tool in place of a list", "tools:\n  - mcp: { name: f, command: [a], tools: b }\n"),
    ("an MCP server with two addresses", "tools:\n  - mcp: { name: f, command: [a], url: \"http://b\" }\n"),
    (
        "an MCP server with headers for a child",
        "tools:\n  - mcp: { name: f, command: [a], headers: { A: b } }\n",
    ),
    ("a zero timeout", "timeouts: { idle_ms: 0 }\n"),
    ("an unknown effect", "tools:\n  - { builtin: now, effect: readonly }\n"),
    ("two tools of one name", "tools:\n  - builtin: [now]\n  - command: { name: now, run: [date] }\n"),
    (
        "a tool and a delegate of one name",
        "tools:\n  - builtin: [now]\nagents:\n  - { name: now, file: ./clock.yaml }\n",
    ),
    (
        "two servers of one name",
        "tools:\n  - mcp: { name: a, command: [x] }\n  - mcp: { name: a, command: [y] }\n",
    ),
    ("a bad template", "name: x\ninstructions: |\n  Hello.\n  {% if input %}\n  Bye {{ input.name }.\n"),
    ("a bad template in one line", "instructions: \"Hello {{ input \"\n"),
    ("instructions of a wrong type", "instructions: [a]\n"),
    ("a prompt file that is not there", "instructions: { file: nowhere.md }\n"),
    ("an unknown scaffold", "instructions: Look.\nprompt: raect\n"),
    ("a prompt of a wrong type", "prompt: [react]\n"),
    ("a prompt of nothing", "prompt: {}\n"),
    ("a prompt with an unknown key", "prompt: { use: react, instruction: [Be brief.] }\n"),
    ("an unknown scaffold with instructions", "prompt: { use: standard, instructions: [Be brief.] }\n"),
    ("a scaffold and a template", "prompt: { use: react, template: \"{{ objective }}\" }\n"),
    (
        "a template and more instructions",
        "prompt:\n  template: \"{{ objective }}\"\n  instructions: [Be brief.]\n",
    ),
    ("a prompt in two places", "prompt: { template: \"{{ objective }}\", file: prompt.md }\n"),
    ("a prompt whose file is not there", "prompt: { file: nowhere.md }\n"),
    ("an empty prompt", "prompt: { template: \"\" }\n"),
    (
        "a bad template as a prompt",
        "prompt:\n  template: |\n    Do this: {{ objective }}\n    {% for tool in tools %}\n",
    ),
    ("a prompt that doubles", "prompt: { template: \"{{ objective * 9 }}\" }\n"),
    ("an instruction that is no text", "prompt: { use: react, instructions: [[a]] }\n"),
    ("an instruction that is no template", "prompt: { use: react, instructions: [\"Be {{ brief\"] }\n"),
    ("instructions of a prompt that are no list", "prompt: { instructions: Be brief. }\n"),
    ("an example without an answer", "examples: [ { user: hi } ]\n"),
    ("a delegate of no kind", "agents: [ { name: x } ]\n"),
    ("a delegate of two kinds", "agents:\n  - { name: x, file: ./x.yaml, a2a: \"http://127.0.0.1:1\" }\n"),
    ("a delegate with another key for its file", "agents:\n  - { name: x, path: ./x.yaml }\n"),
    ("a delegate whose file is empty", "agents:\n  - { name: x, file: \"\" }\n"),
    ("a delegate whose name no model can call", "agents:\n  - { name: my helper, file: ./x.yaml }\n"),
    ("headers for a file", "agents:\n  - { file: ./x.yaml, headers: { A: b } }\n"),
    ("a remote delegate without a name", "agents:\n  - { a2a: \"http://127.0.0.1:1\" }\n"),
    ("a delegate that is a number", "agents: [ 5 ]\n"),
    ("an output that is no schema", "output: { schema: { type: 5 } }\n"),
    (
        "a schema that leads back to itself",
        "output:\n  schema:\n    $ref: \"#/$defs/a\"\n    $defs:\n      a: { allOf: [{ $ref: \"#/$defs/a\" }] }\n",
    ),
    (
        "a pattern that is none",
        "input:\n  schema:\n    type: object\n    properties:\n      name:\n        type: string\n        pattern: ^(a\n",
    ),
    ("an output without its schema", "output: { type: object }\n"),
    ("an infinite number", "code: { seconds: .inf }\n"),
    ("a tag", "name: !secret x\n"),
];

#[test]
fn every_bad_file_says_what_is_wrong_and_where() {
    let shown: Vec<_> = BAD
        .iter()
        .map(|(name, text)| {
            let written: Vec<_> = text.lines().map(|line| format!("    {line}\n")).collect();
            format!("## {name}\n{}{}\n", written.concat(), rendered(text))
        })
        .collect();
    insta::assert_snapshot!("bad_agent_files", shown.join("\n"));
}

/// Mistakes that people make most, with the message and the advice.
const COMMON: [(&str, &str, &str); 38] = [
    (
        "instructions: Be brief: always.\n",
        "1:23: Invalid YAML: the text of `instructions` holds a colon",
        "quote it",
    ),
    ("tools:\n  - command: { name: a, run: [b], description: Say: hi }\n", "2:", "quote texts that hold"),
    ("instructions: Do this\n  Note: that\n", "2:7: Invalid YAML: this line stands further in", "`key: |`"),
    ("name: x\n  model: tour\n", "2:8: Invalid YAML: this line stands further in than line 1", "align keys"),
    ("name:x\nmodel: tour\n", "`name:` in line 1 is followed by no space", "`name: value`"),
    ("name: x\nmodel:tour\n", "`model:` in line 2 is followed by no space", "`model: value`"),
    ("instructions:\n  Note: be brief\n", "Unknown key `Note` in `instructions`", "read as a map: quote it"),
    ("description:\n  Note: be brief\n", "`description` is a map", "read as a map: quote it"),
    ("instructions: {{ input }} is it\n", "a text cannot begin with `{`", "`key: |`"),
    ("instructions: \"say \"hi\" now\"\n", "the quoted text has ended", "for a quote within the text"),
    ("instructions: 'it's'\n", "the quoted text has ended", "write `''`"),
    ("instructions: @home\n", "a text cannot begin with `@`", "\"@...\""),
    ("instructions: *bold* text\n", "a text cannot begin with `*`", "\"*...\""),
    ("instructions: !important x\n", "a text cannot begin with `!`", "\"!...\""),
    ("instructions: - a\n", "a list cannot begin in the line of its key", "next line"),
    ("instructions: |\nbe brief\n", "this line has no key", "further in than the key"),
    ("tools:\n  - builtin: now\n - builtin: now\n", "3:2: Invalid YAML: the indentation", "exactly below"),
    ("system_prompt: hi\n", "Unknown key `system_prompt`; did you mean instructions?", ""),
    ("systemPrompt: hi\n", "Unknown key `systemPrompt`; did you mean instructions?", ""),
    ("llm: tour\n", "Unknown key `llm`; did you mean model?", ""),
    ("sub-agents: []\n", "did you mean agents?", ""),
    ("max_turns: 3\n", "Unknown key `max_turns`", "`loop: { limits: { model_calls: N } }`"),
    ("maxIterations: 3\n", "Unknown key `maxIterations`", "model_calls"),
    ("loop: { max_turns: 3 }\n", "Unknown key `max_turns` in `loop`", "`limits: { model_calls: N }`"),
    ("loop: { limits: { max_turns: 3 } }\n", "in `loop.limits`; did you mean model_calls?", ""),
    ("temperature: 0.5\n", "Unknown key `temperature`", "model: { use:"),
    ("model: { name: tour }\n", "Unknown key `name` in `model`; did you mean use?", ""),
    ("model: { use: openai/m, api_key: x }\n", "did you mean key?", ""),
    ("mcpServers: { a: { command: npx } }\n", "Unknown key `mcpServers`", "tools: [ { mcp:"),
    ("approve: [pay]\n", "Unknown key `approve`", "under `loop:`"),
    ("output_schema: {}\n", "Unknown key `output_schema`", "output: { schema:"),
    ("timeout: 5\n", "Unknown key `timeout`", "seconds: N"),
    ("tools: [calculate]\n", "`tools.0` is \"calculate\"", "write `{ builtin: calculate }`"),
    ("tools: calculate\n", "`tools` is \"calculate\"", "write `tools: [ { builtin: calculate } ]`"),
    ("tools:\n  - memory\n", "`tools.0` is \"memory\"", "write `{ service: memory }`"),
    ("tools: [zzz]\n", "`tools.0` is \"zzz\"", "a tool is `{ builtin: NAME }`"),
    ("tools: { builtin: now }\n", "`tools` is a map", "`tools` is a list of these"),
    (
        "agents: [ { name: a, branch: { instructions: b, system_prompt: c } } ]\n",
        "did you mean instructions?",
        "",
    ),
];

#[test]
fn the_commonest_mistakes_get_their_own_words() {
    for (text, message, help) in COMMON {
        let shown = rendered(text);
        let (said, advice) = shown.split_once("\nhint: ").unwrap_or((&shown, ""));
        assert!(said.contains(message), "{text}{shown}");
        assert!(advice.contains(help), "{text}{shown}");
    }
}

#[test]
fn each_fault_of_a_schema_has_its_place() {
    let text = "\
output:
  schema:
    type: objekt
    properties:
      a: { type: str }
      b: { minimum: x, items: 5 }
      c: { type: [string, nul] }
      d: { $ref: \"#/$defs/nope\" }
      e: { items: { $ref: other.json }, default: { $ref: data } }
      $ref: { $ref: \"#/$defs/nope\" }
    required: a
";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    std::fs::write(&path, text).unwrap();
    let faults = crate::AgentFile::faults(&path, &super::env);
    let shown: Vec<String> =
        faults.iter().map(|fault| format!("{}:{} {}", fault.line, fault.column, fault.problem)).collect();
    assert_eq!(
        shown,
        [
            "3:5 `output.schema.type` is not a valid JSON Schema: there is no type \"objekt\"; did you mean object?",
            "5:12 `output.schema.properties.a.type` is not a valid JSON Schema: there is no type \"str\"; did you mean string?",
            "6:12 `output.schema.properties.b.minimum` is not a valid JSON Schema: \"x\" is not of type \"number\"",
            "6:24 `output.schema.properties.b.items` is not a valid JSON Schema: 5 is not of types \"boolean\", \"object\"",
            "7:12 `output.schema.properties.c.type` is not a valid JSON Schema: there is no type \"nul\"; did you mean null?",
            "8:12 `output.schema.properties.d.$ref` cannot be used: the reference `#/$defs/nope` has no target within the schema",
            "9:21 `output.schema.properties.e.items.$ref` cannot be used: the reference `other.json` has no target within the schema",
            "10:15 `output.schema.properties.$ref.$ref` cannot be used: the reference `#/$defs/nope` has no target within the schema",
            "11:5 `output.schema.required` is not a valid JSON Schema: \"a\" is not of type \"array\"",
        ]
    );
}

#[test]
fn e53_a_secret_is_in_no_error() {
    let error = rendered("model: { use: openai/m, key: [sk-live-1] }");
    assert!(!error.contains("sk-live-1"), "{error}");
    let error = rendered("model: { use: openai/m, headers: { A: { b: sk-live-1 } } }");
    assert!(!error.contains("sk-live-1"), "{error}");
}

/// Sections that do not fit, as JSON, which is YAML.
const BAD_LOOPS: &[&str] = &[
    r#"{ "preset": "chatty" }"#,
    r#"{ "preset": "zzz" }"#,
    r#"{ "preset": 3 }"#,
    r#"{ "wires": "auto" }"#,
    r#"{ "zzz": 1 }"#,
    r#"{ "wire": "smoke" }"#,
    r#"{ "wire": "xml" }"#,
    r#"{ "view": "transcript" }"#,
    r#"{ "talk": "reply" }"#,
    r#"{ "talk": "remind" }"#,
    r#"{ "talk": { "remind": -1 } }"#,
    r#"{ "talk": { "remind": 1.5 } }"#,
    r#"{ "talk": { "reminds": 1 } }"#,
    r#"{ "talk": { "remind": 1, "clarify": 1 } }"#,
    r#"{ "malformed": "ignore" }"#,
    r#"{ "malformed": { "feed_back": "often" } }"#,
    r#"{ "batch": "parallel" }"#,
    r#"{ "batch": { "concurrent": 0 } }"#,
    r#"{ "batch": { "serial": 2 } }"#,
    r#"{ "results": "loud" }"#,
    r#"{ "retries": -1 }"#,
    r#"{ "retry_wait_ms": "1s" }"#,
    r#"{ "parse_retries": null }"#,
    r#"{ "repetition": { "note_at": 1 } }"#,
    r#"{ "repetition": { "stop": 3 } }"#,
    r#"{ "repetition": 3 }"#,
    r#"{ "limits": 10 }"#,
    r#"{ "limits": { "model_call": 10 } }"#,
    r#"{ "limits": { "model_calls": -1 } }"#,
    r#"{ "limits": { "model_calls": 1.5 } }"#,
    r#"{ "limits": { "model_calls": "ten" } }"#,
    r#"{ "limits": { "model_calls": { "at_limit": "fail" } } }"#,
    r#"{ "limits": { "model_calls": { "max": 1, "most": 2 } } }"#,
    r#"{ "limits": { "model_calls": { "max": 1.5 } } }"#,
    r#"{ "limits": { "model_calls": { "max": 1, "at_limit": "stop" } } }"#,
    r#"{ "limits": { "max_steps": 1 } }"#,
    r#"{ "preset": "text", "max_steps": -1 }"#,
    r#"{ "limits": { "repetition": 1 } }"#,
    r#"{ "at_limit": "stop" }"#,
    r#"{ "at_limit": { "text": 3 } }"#,
    r#"{ "at_limit": { "words": "x" } }"#,
    r#"{ "share": "all" }"#,
    r#"{ "share": { "fixed": 0 } }"#,
    r#"{ "share": { "fixed": 1.5 } }"#,
    r#"{ "share": { "fix": 0.2 } }"#,
    r#"{ "approve": "pay" }"#,
    r#"{ "deny": [1] }"#,
    r#"{ "context": { "max_tokens": 0 } }"#,
    r#"{ "context": { "compact": "summary" } }"#,
    r#"{ "context": { "at": 1.5 } }"#,
    r#"{ "verify": { "threshold": 0 } }"#,
    r#"{ "verify": { "threshhold": 0.5 } }"#,
    r#"{ "context": 5 }"#,
    r#"{ "memory": { "sessions": 5 } }"#,
    "5",
];

#[test]
fn every_fault_of_a_loop_names_its_place_and_what_fits() {
    let shown: Vec<String> =
        BAD_LOOPS.iter().map(|text| format!("{text}\n  {}", rendered(&format!("loop: {text}")))).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn settings_of_a_program_name_their_path_without_a_place() {
    let settings = serde_json::json!({ "limits": { "model_calls": -1 } });
    let error = crate::LoopSection::from_json(&settings, DefaultLoop::Chat).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`loop.limits.model_calls` is -1, expected a number from 0, or { max, at_limit }"
    );
}
