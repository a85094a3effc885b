//! Keys that other agent systems have for what stands elsewhere here, and values that stand in a shorter form there.

use windlass_tools::builtin::Builtin;

use crate::yaml::{Problem, YamlError};

/// The place here of a foreign key.
#[derive(Clone, Copy)]
enum Here {
    /// Another key of the same map.
    Key(&'static str),
    /// Something at another place.
    Advice(&'static str),
}

use Here::{Advice, Key};

const TURNS: &str = "turns are limited by `loop: { limits: { model_calls: N } }`";
const MODEL: &str =
    "settings of a model stand beside its name: `model: { use: PROVIDER/MODEL, temperature: 0.2 }`";
const LOOP: &str = "it is a key of the loop: write it under `loop:`";
const SECONDS: &str =
    "a run is limited by `loop: { limits: { seconds: N } }`; `timeouts:` has the limits of single waits";
const COST: &str = "a run's cost is limited by `loop: { limits: { cost_usd: N } }`";
const SERVERS: &str = "a tool server is a tool: `tools: [ { mcp: { name: files, command: [npx, ...] } } ]`";
const OUTPUT: &str = "a typed output is `output: { schema: { ... } }`";
const INPUT: &str = "a typed input is `input: { schema: { ... } }`";
const MEMORY: &str = "memory is a service: `tools: [ { service: memory } ]`";

/// Keys that limit turns, of an agent or of its loop.
const TURN_KEYS: &[&str] = &[
    "max_turns",
    "max_iterations",
    "max_iter",
    "max_iters",
    "max_steps",
    "max_loops",
    "max_rounds",
    "max_calls",
    "max_model_calls",
    "recursion_limit",
    "turn_limit",
];

/// Keys of an agent, in lower case with underscores.
const AGENT: &[(&[&str], Here)] = &[
    (
        &[
            "system_prompt",
            "system",
            "system_message",
            "system_instruction",
            "system_instructions",
            "sys_prompt",
            "prompt_template",
            "persona",
            "role",
            "backstory",
            "goal",
            "objective",
            "rules",
            "guidelines",
        ],
        Key("instructions"),
    ),
    (&["llm", "model_name", "model_id", "engine", "llm_model", "language_model"], Key("model")),
    (&["functions", "plugins", "actions", "toolkits", "toolsets", "commands"], Key("tools")),
    (
        &["sub_agents", "subagents", "handoffs", "delegates", "children", "team", "members", "workers"],
        Key("agents"),
    ),
    (&["few_shot", "few_shots", "shots", "few_shot_examples"], Key("examples")),
    (&["agent_name", "id", "title"], Key("name")),
    (&["summary", "about"], Key("description")),
    (TURN_KEYS, Advice(TURNS)),
    (&["max_llm_calls", "max_consecutive_auto_reply"], Advice(TURNS)),
    (
        &[
            "temperature",
            "top_p",
            "max_tokens",
            "max_output_tokens",
            "max_completion_tokens",
            "presence_penalty",
            "reasoning",
            "reasoning_effort",
            "effort",
            "api_key",
            "key",
            "base_url",
            "api_base",
            "model_settings",
            "model_config",
            "llm_config",
            "provider",
        ],
        Advice(MODEL),
    ),
    (
        &[
            "preset",
            "limits",
            "approve",
            "deny",
            "require",
            "verify",
            "context",
            "cache",
            "results",
            "talk",
            "discovery",
            "wire",
            "view",
            "share",
            "stop",
            "batch",
            "recall",
            "while_running",
            "wait_for_quota",
            "at_limit",
        ],
        Advice(LOOP),
    ),
    (
        &["timeout", "timeout_ms", "timeout_seconds", "max_execution_time", "max_seconds", "time_limit"],
        Advice(SECONDS),
    ),
    (&["budget", "max_cost", "max_cost_usd", "max_budget", "max_budget_usd", "cost_limit"], Advice(COST)),
    (&["mcp", "mcp_servers", "servers", "mcp_tools"], Advice(SERVERS)),
    (
        &[
            "output_schema",
            "response_format",
            "output_type",
            "result_type",
            "response_model",
            "output_format",
        ],
        Advice(OUTPUT),
    ),
    (&["input_schema", "input_type", "inputs", "parameters", "arguments"], Advice(INPUT)),
    (&["memory", "enable_memory"], Advice(MEMORY)),
];

const IN_LOOP: &str = "limits of a loop stand together: `limits: { model_calls: N }`";

const LOOP_KEYS: &[(&[&str], Here)] = &[
    (TURN_KEYS, Advice(IN_LOOP)),
    (
        &[
            "model_calls",
            "tool_calls",
            "iterations",
            "tool_rounds",
            "tokens",
            "seconds",
            "cost_usd",
            "max_tokens",
            "max_cost",
            "timeout",
            "max_seconds",
        ],
        Advice(IN_LOOP),
    ),
];

const LIMITS: &[(&[&str], Here)] = &[
    (
        &[
            "max_turns",
            "turns",
            "max_steps",
            "steps",
            "max_iterations",
            "max_iter",
            "rounds",
            "max_rounds",
            "calls",
            "max_calls",
            "max_model_calls",
            "requests",
            "llm_calls",
        ],
        Key("model_calls"),
    ),
    (&["tools", "max_tool_calls", "tool_uses"], Key("tool_calls")),
    (&["max_tokens", "total_tokens"], Key("tokens")),
    (&["cost", "usd", "budget", "max_cost", "max_cost_usd", "dollars"], Key("cost_usd")),
    (&["time", "timeout", "max_seconds", "duration", "wall_seconds", "max_time"], Key("seconds")),
];

const MODEL_KEYS: &[(&[&str], Here)] = &[
    (&["name", "model", "id", "model_name", "model_id"], Key("use")),
    (&["api_key", "apikey", "token", "auth_token"], Key("key")),
    (&["url", "api_base", "endpoint", "base", "host", "api_url"], Key("base_url")),
    (&["effort", "reasoning_effort", "thinking"], Key("reasoning")),
    (&["max_output_tokens", "max_completion_tokens", "num_predict"], Key("max_tokens")),
    (&["price", "pricing", "cost"], Key("prices")),
    (&["random_seed"], Key("seed")),
    (&["prompt_cache_key"], Key("cache_key")),
    (&["extra_body", "model_kwargs", "additional_kwargs"], Key("extra")),
];

/// The error of a foreign key with what it is here; other errors stay.
pub(crate) fn named(mut error: YamlError) -> YamlError {
    let Problem::UnknownKey { path, key, nearest, .. } = &mut *error.problem else { return error };
    let Some(here) = here(path, key) else { return error };
    match here {
        Key(name) => *nearest = vec![name.to_owned()],
        Advice(advice) => {
            let inside = if path.is_empty() { String::new() } else { format!(" in `{path}`") };
            let message = format!("Unknown key `{key}`{inside}");
            *error.problem =
                Problem::Other { code: "yaml.unknown_key", message, help: Some(advice.to_owned()) };
        }
    }
    error
}

fn here(path: &str, key: &str) -> Option<Here> {
    let last = path.rsplit('.').find(|step| step.parse::<usize>().is_err()).unwrap_or_default();
    let table = match last {
        "" | "branch" | "agent" => AGENT,
        "loop" => LOOP_KEYS,
        "limits" => LIMITS,
        "model" => MODEL_KEYS,
        _ => return None,
    };
    let key = plain(key);
    table.iter().find(|(keys, _)| keys.contains(&key.as_str())).map(|(_, here)| *here)
}

/// `maxTurns` and `max-turns` as `max_turns`.
fn plain(key: &str) -> String {
    let mut out = String::new();
    for letter in key.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
        out.push(if letter == '-' { '_' } else { letter.to_ascii_lowercase() });
    }
    out
}

/// Advice for values that stand in a shorter form elsewhere.
pub(super) fn help(error: &YamlError) -> Option<String> {
    match &*error.problem {
        Problem::WrongValue { path, expected, found } => {
            let mut steps = path.rsplit('.').filter(|step| step.parse::<usize>().is_err());
            if steps.next() == Some("tools") && [None, Some("branch"), Some("agent")].contains(&steps.next())
            {
                return Some(of_tool(found.trim_matches('"'), expected));
            }
            let meant = expected.contains("text") && found == "a map";
            meant.then(|| {
                "a text with `: ` in it is read as a map: quote it, or put it under `key: |`".to_owned()
            })
        }
        Problem::UnknownKey { path, nearest, .. }
            if nearest.is_empty() && path.rsplit('.').next() == Some("instructions") =>
        {
            Some(
                "a text with `: ` in it is read as a map: quote it, or put it under `instructions: |`"
                    .to_owned(),
            )
        }
        Problem::Syntax { .. }
        | Problem::TooLarge { .. }
        | Problem::Unsupported { .. }
        | Problem::DuplicateKey { .. }
        | Problem::MissingKey { .. }
        | Problem::UnknownKey { .. }
        | Problem::Other { .. } => None,
    }
}

fn of_tool(found: &str, expected: &str) -> String {
    let builtin = Builtin::NAMES.iter().any(|(name, _)| *name == found);
    let kind = match found {
        "memory" | "sandbox" => Some("service"),
        _ => builtin.then_some("builtin"),
    };
    match kind {
        Some(kind) if expected == "a list" => format!("write `tools: [ {{ {kind}: {found} }} ]`"),
        Some(kind) => format!("write `{{ {kind}: {found} }}`"),
        None => "a tool is `{ builtin: NAME }`, `{ service: NAME }`, `{ command: { name, run } }` or `{ mcp: { name, command } }`; `tools` is a list of these".to_owned(),
    }
}
