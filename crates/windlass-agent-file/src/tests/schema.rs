//! The published schema and the reader must know the same keys.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use windlass_core::policy::Preset;
use windlass_tools::builtin::Builtin;

use super::super::{AgentFileError, schema};
use super::good::DESIGN;
use super::parse;
use crate::schema::made;
use crate::yaml::Problem;

fn validator() -> jsonschema::Validator {
    jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&schema()).unwrap()
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/schema/agent.json");
    let wanted = made::schema();
    if std::env::var_os("WINDLASS_UPDATE").is_some() {
        std::fs::write(&path, serde_json::to_string(&wanted).unwrap() + "\n").unwrap();
    }
    let now = std::fs::read_to_string(&path).unwrap();
    // As text: the order of keys counts, too.
    assert!(
        now == serde_json::to_string(&wanted).unwrap() + "\n",
        "agent.json is old: WINDLASS_UPDATE=1 cargo nextest run -p windlass-agent-file published"
    );
}

#[test]
fn the_schema_is_a_valid_schema() {
    assert!(jsonschema::meta::is_valid(&schema()));
    drop(validator());
}

const GOOD: &[&str] = &[
    DESIGN,
    "name: x",
    "model: auto",
    "model: [openai/a, { use: anthropic/b, stop: [a, b] }]",
    "instructions: { file: ../Cargo.toml }",
    "{ instructions: x, prompt: react }",
    "prompt: { use: plain, instructions: [ a, \"{{ input }}\" ] }",
    "prompt: { instructions: [ a ] }",
    "prompt: { template: \"{{ objective }}\" }",
    "prompt: { file: ../Cargo.toml }",
    "tools: [ { builtin: now, poll: true }, { builtin: [ { read_file: } ] } ]",
    "tools: [ { service: memory }, { service: [ sandbox ], prefix: a }, { service: { memory: { path: m.db, tools: [save] } } } ]",
    "tools: [ { service: { sandbox: { kind: local, python: py, modules: [math], seconds: 5, memory_mb: 64 }, memory: } } ]",
    "loop: { discovery: search, cache: true }",
    "loop: { tool_choice: { first: [a, b], 3: none, then: auto } }",
    "loop: { tool_choice: search, preset: typed }",
    "loop: { cache: [ { location: message, role: system }, { location: message, index: -1 } ] }",
    "model: { use: a/b, top_p: 0.5, presence_penalty: -1.5, reasoning: high, metadata: { team: x, n: 1 }, cache_control: true }",
    "model: { use: a/b, reasoning: true }",
    "model: { use: a/b, reasoning: { effort: xhigh, summary: detailed, show: true }, safety: { A: B } }",
    "model: { use: a/b, reasoning: { budget_tokens: 1024 }, num_ctx: 8192, logprobs: 0, keep_alive: 10m }",
    "model: { use: a/b, seed: 7, top_k: 1, frequency_penalty: -2, service_tier: flex, verbosity: low, user: u, cache_key: k }",
    "model: { use: a/b, extra: { a: { b: [1, null] } } }",
    "model: { use: a/b, rate: { requests_per_minute: 3, tokens_per_minute: 9, max_wait_ms: 0, per: key } }",
    "loop: { preset: kaos, max_steps: 3, talk: { remind: 2 }, malformed: answer, batch: { concurrent: 3 } }",
    "loop: { limits: { tool_calls: { max: 0, at_limit: { text: \"{n}\" } } }, repetition: { note_at: 2 }, verify: off }",
    "examples: [ { user: hi, assistant: ho }, { user: { a: 1 }, calls: [ { name: f, result: [1] } ] } ]",
];

#[test]
fn good_files_fit_the_schema_and_bad_ones_do_not() {
    let validator = validator();
    for text in GOOD {
        // The file of instructions is not looked for here.
        if !text.contains("file:") {
            parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        }
        let json = crate::yaml::parse(text).unwrap().to_json();
        let errors: Vec<_> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{text}\n{errors:#?}");
    }
    for text in [
        "modle: auto",
        "model: []",
        "tools: [ { builtin: nwo } ]",
        "tools: [ { command: { name: a } } ]",
        "loop: { preset: chta }",
        "loop: { limits: { model_calls: -1 } }",
        "timeouts: { idle_ms: 0 }",
        "examples: [ { user: hi } ]",
    ] {
        let json = crate::yaml::parse(text).unwrap().to_json();
        assert!(!validator.is_valid(&json), "the schema lets this through: {text}");
        assert!(parse(text).is_err(), "the reader lets this through: {text}");
    }
}

/// For each map of the file: a file with the unknown key `ZZZ` in it, and the map's place in the schema.
const MAPS: &[(&str, &[&str])] = &[
    ("ZZZ: 1", &["#"]),
    ("model: { use: a/b, ZZZ: 1 }", &["#/$defs/model"]),
    ("model: { use: a/b, prices: { input: 1, output: 1, ZZZ: 1 } }", &["#/$defs/model/properties/prices"]),
    (
        "model: { use: a/b, prices: { input: 1, output: 1, hosted: { web_search: 1, ZZZ: 1 } } }",
        &["#/$defs/hostedPrices"],
    ),
    ("model: { use: a/b, rate: { requests_per_minute: 1, ZZZ: 1 } }", &["#/$defs/model/properties/rate"]),
    ("model: { use: a/b, reasoning: { ZZZ: 1 } }", &["#/$defs/reasoning"]),
    ("model: { use: a/b, timeouts: { ZZZ: 1 } }", &["#/$defs/model/properties/timeouts"]),
    ("instructions: { file: x, ZZZ: 1 }", &["#/properties/instructions/oneOf/1"]),
    ("prompt: { use: react, ZZZ: 1 }", &["#/$defs/prompt"]),
    ("skills: { folders: x, ZZZ: 1 }", &["#/$defs/skills"]),
    ("examples: [ { user: a, assistant: b, ZZZ: 1 } ]", &["#/$defs/example"]),
    (
        "examples: [ { user: a, calls: [ { name: a, result: b, ZZZ: 1 } ] } ]",
        &["#/$defs/example/properties/calls/items"],
    ),
    ("input: { schema: {}, ZZZ: 1 }", &["#/properties/input"]),
    ("output: { schema: {}, ZZZ: 1 }", &["#/properties/output"]),
    ("tools: [ { builtin: now, ZZZ: 1 } ]", &["#/$defs/tool"]),
    ("tools: [ { service: { memory: { ZZZ: 1 } } } ]", &["#/$defs/serviceOptions/properties/memory/oneOf/1"]),
    (
        "tools: [ { service: { sandbox: { ZZZ: 1 } } } ]",
        &["#/$defs/serviceOptions/properties/sandbox/oneOf/1"],
    ),
    ("tools: [ { mcp: { name: a, command: [b], ZZZ: 1 } } ]", &["#/$defs/mcp"]),
    ("tools: [ { mcp: { name: a, url: b, ZZZ: 1 } } ]", &["#/$defs/mcp"]),
    ("tools: [ { mcp: { name: a, url: b, tools: { ZZZ: 1 } } } ]", &["#/$defs/mcpTools"]),
    ("tools: [ { command: { name: a, run: [b], ZZZ: 1 } } ]", &["#/$defs/command"]),
    ("agents: [ { file: b, ZZZ: 1 } ]", &["#/$defs/delegate"]),
    ("agents: [ { name: a, a2a: b, ZZZ: 1 } ]", &["#/$defs/delegate"]),
    ("agents: [ { name: a, branch: { instructions: b }, ZZZ: 1 } ]", &["#/$defs/delegate"]),
    ("agents: [ { name: a, branch: { instructions: b, ZZZ: 1 } } ]", &["#/$defs/branch"]),
    ("timeouts: { ZZZ: 1 }", &["#/properties/timeouts"]),
    ("retry: { ZZZ: 1 }", &["#/properties/retry"]),
    ("code: { ZZZ: 1 }", &["#/properties/code"]),
];

/// These, the options of built-in tools, and the maps of a branch, which has the keys of a file.
fn maps() -> Vec<(String, Vec<String>)> {
    let own = |place: &&&str| place.starts_with("#/properties/");
    let in_branch =
        MAPS.iter().filter(|(_, places)| places.iter().any(|place| own(&place))).map(|(text, places)| {
            let needed = if text.starts_with("instructions:") { "" } else { "instructions: b, " };
            let places = places.iter().filter(own).map(|place| format!("#/$defs/branch{}", &place[1..]));
            (format!("agents: [ {{ name: a, branch: {{ {needed}{text} }} }} ]"), places.collect())
        });
    let in_file = MAPS
        .iter()
        .map(|(text, places)| ((*text).to_owned(), places.iter().map(ToString::to_string).collect()));
    let builtins = Builtin::NAMES.iter().map(|(name, _)| {
        let place = format!("#/$defs/builtinOptions/properties/{name}/oneOf/1");
        (format!("tools: [ {{ builtin: {{ {name}: {{ ZZZ: 1 }} }} }} ]"), vec![place])
    });
    in_file.chain(in_branch).chain(builtins).collect()
}

#[test]
fn the_schema_and_the_reader_know_the_same_keys() {
    let schema = schema();
    for (text, places) in &maps() {
        let known = known_keys(text);
        let mut published = BTreeSet::new();
        for place in places {
            let found = schema.pointer(&place[1..]).unwrap_or_else(|| panic!("no {place} in the schema"));
            let keys = found["properties"].as_object().unwrap_or_else(|| panic!("{place} has no properties"));
            published.extend(keys.keys().cloned());
        }
        // A file of instructions is only looked at after its keys.
        assert_eq!(known, published, "{text} and {places:?}");
    }
}

#[test]
fn every_closed_map_of_the_schema_is_held_to_the_reader() {
    let mut closed = BTreeSet::new();
    closed_maps(&schema(), "#", &mut closed);
    let held: BTreeSet<_> = maps().into_iter().flat_map(|(_, places)| places).collect();
    let others: Vec<_> = closed
        .iter()
        .filter(|place| !held.contains(*place))
        // The keys of these are names; and see the next test.
        .filter(|place| !place.ends_with("Options") && !place.starts_with("#/$defs/loop"))
        .filter(|place| !place.starts_with("#/$defs/limit") && !place.starts_with("#/$defs/cachePoint"))
        .collect();
    assert!(others.is_empty(), "nobody checks {others:?}");
}

#[test]
fn every_key_of_the_loop_is_known_to_the_reader() {
    let schema = schema();
    let keys = |place: &str| -> Vec<String> {
        schema.pointer(place).and_then(Value::as_object).unwrap().keys().cloned().collect()
    };
    let preset = |key: &str| {
        let named = |preset: &&Preset| preset.aliases.iter().any(|(alias, _)| *alias == key);
        Preset::ALL.iter().find(named).map_or("chat", |preset| preset.name)
    };
    let sections = keys("/$defs/loop/properties").into_iter().map(|key| {
        let settings = json!({ "preset": preset(&key), key: { "ZZZ": 1 } });
        ("loop", settings)
    });
    let limits = keys("/$defs/limits/properties").into_iter().map(|key| {
        let settings = json!({ "preset": preset(&key), "limits": { key: { "ZZZ": 1 } } });
        ("loop.limits", settings)
    });
    for (map, settings) in sections.chain(limits) {
        let text = json!({ "loop": settings }).to_string();
        let unknown = match parse(&text) {
            Err(AgentFileError::Invalid(error)) => {
                matches!(&*error.problem, Problem::UnknownKey { path, .. } if path == map)
            }
            _ => false,
        };
        assert!(!unknown, "{text}");
    }
    for limit in windlass_core::policy::LimitKind::SETTABLE {
        assert!(keys("/$defs/limits/properties").contains(&limit.name().to_owned()), "{limit}");
    }
}

/// The keys that the reader knows where `ZZZ` stands.
fn known_keys(text: &str) -> BTreeSet<String> {
    let parsed = parse(text);
    let Err(AgentFileError::Invalid(error)) = parsed else { panic!("{text}: {parsed:?}") };
    if let Problem::UnknownKey { key, known, .. } = &*error.problem
        && key == "ZZZ"
    {
        known.iter().cloned().collect()
    } else {
        panic!("{text}: {}", error.problem)
    }
}

fn closed_maps(schema: &Value, place: &str, found: &mut BTreeSet<String>) {
    if schema["additionalProperties"] == false {
        found.insert(place.to_owned());
    }
    let steps: Vec<(String, &Value)> = match schema {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (step, value) in steps {
        closed_maps(value, &format!("{place}/{step}"), found);
    }
}
