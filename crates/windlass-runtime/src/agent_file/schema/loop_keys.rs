//! The `loop` section in the schema: the table of the loops reference.

use serde_json::{Map, Value, json};
use windlass_core::{LimitKind, Preset};

use super::{closed, object};

pub(super) fn all() -> Value {
    let mut keys = slots();
    keys.extend(bounds());
    // Names that the presets' own systems have for limits.
    for (preset, ..) in Preset::NAMES {
        for (alias, kind) in preset.limit_aliases() {
            let description = format!("`limits.{kind}`, as the preset `{preset}`'s own system calls it.");
            keys.insert((*alias).to_owned(), json!({ "$ref": "#/$defs/limit", "description": description }));
        }
    }
    closed(Value::Object(keys), &[], "The loop: a preset, and what differs from it.")
}

fn slots() -> Map<String, Value> {
    let presets: Vec<_> = Preset::NAMES.into_iter().flat_map(|(_, name, alias)| [name, alias]).collect();
    let one_key = |key: &str, schema: Value| closed(json!({ key: schema }), &[key], "");
    let count = || json!({ "$ref": "#/$defs/count" });
    object(json!({
        "preset": { "enum": presets,
            "description": "A full set of values. Default: typed for an agent with an output schema, else chat." },
        "wire": { "enum": ["auto", "native", "fenced", "xml"],
            "description": "How calls are read from a reply. auto: native calls, else text forms." },
        "view": { "enum": ["full", "progressive", "minimal", "kitchen_sink", "blackboard", "plan"],
            "description": "How much of the history a request holds." },
        "stop": { "enum": ["text", "finish_tool", "judge"], "description": "What ends the loop." },
        "talk": { "description": "What follows a turn without a call; each n bounds the prompts in a row.",
            "oneOf": [{ "const": "answer" }, one_key("remind", count()), one_key("clarify", count()),
                one_key("correct", count())] },
        "malformed": { "description": "What follows a call that cannot be understood.",
            "oneOf": [{ "enum": ["answer", "fail"] }, count(), one_key("feed_back", count())] },
        "batch": { "description": "How the calls of one turn run.",
            "oneOf": [{ "enum": ["concurrent", "first", "serial", "staged"] },
                one_key("concurrent", json!({ "type": "integer", "minimum": 1 }))] },
        "cache": { "description": "Which messages are marked for the provider's cache. true: the system message and the first.",
            "oneOf": [{ "type": ["boolean", "null"] }, { "type": "array", "minItems": 1, "items": closed(json!({
                "location": { "const": "message" },
                "role": { "type": "string", "description": "All messages of this role." },
                "index": { "type": "integer", "description": "The message at this place; below 0 from the end." }
            }), &["location"], "Messages that are marked.") }] },
        "discovery": { "enum": ["all", "search"], "default": "all",
            "description": "Which tools a request shows. search: only search_tools, which finds the others; all can be called." },
        "results": { "enum": ["plain", "announced", "acorn", "kaos"], "description": "How results are put to the model." },
        "retries": { "type": "integer", "minimum": 0,
            "description": "How often a failed call or code step is tried again, after the first try." },
        "retry_wait_ms": { "type": "integer", "minimum": 0, "default": 1000,
            "description": "The wait before each such try, in milliseconds." },
        "parse_retries": { "type": "integer", "minimum": 0, "default": 2,
            "description": "How often a reply that does not fit the output schema is sent back." },
        "another": { "enum": ["never", "always", "judge"],
            "description": "Whether another iteration follows an answer." },
        "verify": { "description": "Whether calls are checked before they run.",
            "oneOf": [{ "enum": ["off", false] },
                one_key("threshold", json!({ "type": "number", "minimum": 0, "maximum": 1, "default": 0.7 }))] },
        "strategy": { "enum": ["exploratory", "conservative"], "description": "How the plan loop plans." },
        "ask_on_replan": { "type": "boolean", "default": false,
            "description": "Whether a person is asked before a new plan version." },
    }))
}

fn bounds() -> Map<String, Value> {
    let limits: Map<String, Value> = LimitKind::SETTABLE
        .into_iter()
        .chain(
            Preset::NAMES
                .into_iter()
                .flat_map(|(preset, ..)| preset.limit_aliases().iter().map(|(_, kind)| *kind)),
        )
        .map(|kind| (kind.name().to_owned(), json!({ "$ref": "#/$defs/limit" })))
        .chain(Preset::NAMES.into_iter().flat_map(|(preset, ..)| {
            preset
                .limit_aliases()
                .iter()
                .map(|(alias, _)| ((*alias).to_owned(), json!({ "$ref": "#/$defs/limit" })))
        }))
        .collect();
    let patterns =
        |what: &str| json!({ "type": "array", "items": { "type": "string" }, "description": what });
    object(json!({
        "repetition": { "description": "Equal calls in a row: a note at the one, a stop at the other.",
            "oneOf": [{ "enum": ["off", "on", true, false] }, closed(json!({
                "note_at": { "type": "integer", "minimum": 2, "default": 3, "description": "A note follows this one." },
                "stop_at": { "type": "integer", "minimum": 2, "default": 6, "description": "This one does not run." }
            }), &[], "")] },
        "limits": closed(Value::Object(limits), &[],
            "Limits, each exact; 0 is a limit like any other. Times in seconds, cost in USD."),
        "at_limit": { "$ref": "#/$defs/atLimit" },
        "approve": patterns("Tools that a person must allow: patterns with * and ?."),
        "deny": patterns("Tools that must not run: patterns with * and ?."),
        "context": { "description": "The context budget.", "oneOf": [{ "enum": ["off", false] }, closed(json!({
            "max_tokens": { "type": "integer", "minimum": 0, "description": "The most tokens of a request." },
            "warn_at": { "type": "number", "minimum": 0, "default": 1.0,
                "description": "The share of max_tokens at which a warning is logged." },
            "compact": { "enum": ["off", false, "drop_results", "summarise"], "default": "off",
                "description": "What is done about a history that is too long." },
            "at": { "type": "number", "minimum": 0, "default": 0.7,
                "description": "The share of max_tokens at which it is done." },
            "keep_last": { "type": "integer", "minimum": 0, "default": 2,
                "description": "How many of the last messages stay as they are." },
            "spill_bytes": { "type": "integer", "minimum": 0, "default": 65536,
                "description": "Results above this many bytes are stored once and read by ranges." }
        }), &[], "")] },
        "memory": { "anyOf": [ { "enum": ["off", false] }, closed(json!({
            "context_limit": { "type": "integer", "minimum": 0, "default": 6,
                "description": "How many messages go with a delegation." },
            "max_sessions": { "type": "integer", "minimum": 0, "default": 1000,
                "description": "How many sessions are kept." },
            "max_session_events": { "type": "integer", "minimum": 0, "default": 500,
                "description": "How many events are kept of each." }
        }), &[], "") ], "description": "Session memory: what is shown of past conversations. Off: runs belong to none." },
        "grace_ms": { "type": "integer", "minimum": 0, "default": 2000,
            "description": "How long a stopped action has to end by itself, in milliseconds." },
    }))
}

pub(super) fn limit() -> Value {
    let max = json!({ "type": "number", "minimum": 0 });
    json!({
        "oneOf": [max, closed(json!({ "max": max, "at_limit": { "$ref": "#/$defs/atLimit" } }), &["max"],
            "A limit with what follows when it is reached.")]
    })
}

pub(super) fn at_limit() -> Value {
    let text =
        |key: &str, what: &str| closed(json!({ key: { "type": "string", "description": what } }), &[key], "");
    json!({
        "description": "What follows when a limit is reached. The run's status is limit in every case.",
        "oneOf": [
            { "enum": ["last_text", "wrap_up", "force_finish", "ask", "fail", "none"] },
            text("text", "This text; {n} is the limit."),
            text("last_text", "The model's last text, else this one.")
        ]
    })
}
