//! Tool entries in the schema.

use serde_json::{Map, Value, json};

use super::{closed, object};
use crate::agent_file::{services, tools::Builtin};

pub(super) fn effect() -> Value {
    json!({
        "enum": ["read_only", "idempotent", "once"],
        "description": "What running a call twice would do: nothing; nothing more, with the same idempotency key; or \
            something each time. Decides what happens to a call that had started when the process died."
    })
}

/// What any tool entry takes, beside `mcp`, `builtin`, `command` or `service`, or within.
fn overrides() -> Map<String, Value> {
    object(json!({
        "timeout_ms": { "$ref": "#/$defs/ms",
            "description": "How long one try may take, in milliseconds. Default: the agent's timeouts.tool_ms." },
        "effect": { "$ref": "#/$defs/effect" },
        "approve": { "type": "boolean", "description": "Whether a person must allow each call." },
        "retries": { "$ref": "#/$defs/count",
            "description": "How often a failed call is tried again. Default: the loop's retries." },
        "poll": { "type": "boolean", "description": "Whether equal calls in a row are legitimate." },
        "prefix": { "type": "string",
            "description": "Put before the tool's name. For an MCP server: put before its tools' names, with __ between; \
                default: the server's name." }
    }))
}

fn with_overrides(keys: Value) -> Value {
    let mut keys = object(keys);
    keys.extend(overrides());
    Value::Object(keys)
}

pub(super) fn tool() -> Value {
    let kind = |name: &str, schema: Value| {
        let keys = with_overrides(json!({ name: schema }));
        closed(keys, &[name], "A tool entry.")
    };
    let builtin = json!({
        "description": "Built-in tools: a list of names, or a map of names with their options.",
        "oneOf": [
            { "$ref": "#/$defs/builtin" },
            { "type": "array",
                "items": { "oneOf": [{ "$ref": "#/$defs/builtin" }, { "$ref": "#/$defs/builtinOptions" }] } },
            { "$ref": "#/$defs/builtinOptions" }
        ]
    });
    json!({
        "description": "A tool, or the tools of a server.",
        "oneOf": [
            kind("mcp", json!({ "$ref": "#/$defs/mcp" })),
            kind("builtin", builtin),
            kind("command", json!({ "$ref": "#/$defs/command" })),
            kind("service", service())
        ]
    })
}

/// Services: a name, a map of names with their options, or a list of such.
fn service() -> Value {
    let (name, options) = (json!({ "enum": services::NAMES }), json!({ "$ref": "#/$defs/serviceOptions" }));
    json!({
        "description": "Built-in tools that share something, set up and torn down around runs.",
        "oneOf": [name, options, { "type": "array", "items": { "oneOf": [name, options] } }]
    })
}

pub(super) fn service_options() -> Value {
    let texts = |what: &str| json!({ "type": "array", "items": { "type": "string" }, "description": what });
    let pick = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1,
        "description": "The tools that are taken, under their own names. Default: all, with the service's name before theirs." });
    let with = |keys: Value, what: &str| {
        let options = closed(with_overrides(keys), &[], what);
        json!({ "oneOf": [{ "type": "null" }, options], "description": what })
    };
    let memory = json!({ "tools": pick, "path": { "type": "string", "minLength": 1,
        "description": "Its SQLite file. Default: memory/NAME.db in WINDLASS_HOME, with the agent's name." } });
    let sandbox = json!({
        "tools": pick,
        "kind": { "enum": ["process", "local"], "default": "process",
            "description": "Only the tools' names differ: process_sandbox__execute or local_sandbox__execute." },
        "python": { "type": "string", "minLength": 1, "default": "python3", "description": "The interpreter." },
        "modules": texts("What code may import. Default: nothing."),
        "builtins": texts("Built-in functions of Python beyond the harmless ones."),
        "seconds": { "type": "integer", "minimum": 1, "maximum": 3600, "default": 30,
            "description": "How long one execution may take; then the interpreter is started anew." },
        "memory_mb": { "type": "integer", "minimum": 16, "maximum": 1_048_576, "default": 256,
            "description": "How much address space the interpreter may take, in MiB." }
    });
    closed(
        json!({ "memory": with(memory, "Entries that outlive runs: save, search, delete, list_all."),
            "sandbox": with(sandbox, "An interpreter of Python in a child process: execute, reset.") }),
        &[],
        "Services with their options.",
    )
}

pub(super) fn builtin_name() -> Value {
    json!({
        "enum": Builtin::NAMES.map(|(name, _)| name),
        "description": "A built-in tool. `ask` puts a question to a person."
    })
}

pub(super) fn builtin_options() -> Value {
    let plain = |what: &str| json!({ "oneOf": [{ "type": "null" }, closed(with_overrides(json!({})), &[], what)], "description": what });
    let with = |key: &str, list: Value, what: &str| {
        let options = closed(with_overrides(json!({ key: list })), &[], what);
        json!({ "oneOf": [{ "type": "null" }, options], "description": what })
    };
    let folders = json!({ "type": "array", "items": { "type": "string", "minLength": 1 },
        "description": "The folders that it may look into." });
    let hosts = json!({ "type": "array", "items": { "type": "string" },
        "description": "The hosts that it may call: example.org, *.example.org, * or 127.0.0.1:8080. \
            No wildcard covers private, loopback or link-local addresses; an entry with a port opens that port alone." });
    closed(
        json!({
            "calculate": plain("Calculates."),
            "now": plain("Tells the time."),
            "read_file": with("folders", folders.clone(), "Reads a file."),
            "list_files": with("folders", folders, "Lists files."),
            "fetch": with("hosts", hosts, "Fetches a URL."),
            "ask": plain("Puts a question to a person."),
        }),
        &[],
        "Built-in tools with their options.",
    )
}

pub(super) fn mcp() -> Value {
    let child = with_overrides(json!({
        "name": { "$ref": "#/$defs/toolName", "description": "The server's name." },
        "command": { "type": "array", "items": { "type": "string" }, "minItems": 1,
            "description": "The program and its arguments; it starts in the file's folder." },
        "optional": optional(),
        "trust": trust(),
        "env": { "type": "object", "additionalProperties": { "$ref": "#/$defs/secret" },
            "description": "All that its environment holds beside PATH and HOME." }
    }));
    let remote = with_overrides(json!({
        "name": { "$ref": "#/$defs/toolName", "description": "The server's name." },
        "url": { "$ref": "#/$defs/address", "description": "Its streamable HTTP endpoint." },
        "optional": optional(),
        "trust": trust(),
        "headers": { "type": "object", "additionalProperties": { "$ref": "#/$defs/secret" },
            "description": "Headers for every request." }
    }));
    json!({
        "description": "An MCP server.",
        "oneOf": [
            closed(child, &["name", "command"], "A child process that speaks over stdin and stdout."),
            closed(remote, &["name", "url"], "A server at a URL.")
        ]
    })
}

fn optional() -> Value {
    json!({ "type": "boolean", "default": false,
        "description": "Whether the agent goes on without it where it is not there; each run looks for it again." })
}

fn trust() -> Value {
    json!({ "type": "boolean", "default": false,
        "description": "Whether the server's hints (readOnlyHint, idempotentHint) decide the effect of its tools; \
            without it each tool is `once`. An explicit `effect` beats both." })
}

pub(super) fn command() -> Value {
    closed(
        with_overrides(json!({
            "name": { "$ref": "#/$defs/toolName", "description": "The tool's name." },
            "run": { "type": "array", "items": { "type": "string" }, "minItems": 1,
                "description": "The program and its arguments, never through a shell. {arg} becomes that argument, as \
                    one item or within one; {{ is a brace. All arguments come as JSON on stdin." },
            "description": { "type": "string", "default": "", "description": "What the model is told." },
            "check": { "type": "array", "items": { "type": "string" }, "minItems": 1,
                "description": "A program that says, after a crash, whether a call happened: exit code 0 for yes, with \
                    the result on stdout, 1 for no." },
            "parameters": { "$ref": "#/$defs/jsonSchema",
                "description": "JSON Schema of the arguments: an object. Default: a text for each {arg} of `run`." },
            "dashes": { "type": "boolean", "default": false,
                "description": "Whether an argument may start with \"-\"." },
            "env": { "type": "object", "additionalProperties": { "$ref": "#/$defs/secret" },
                "description": "What the program's environment holds beside PATH, HOME, WINDLASS_RUN, WINDLASS_CALL \
                    and WINDLASS_IDEMPOTENCY_KEY." }
        })),
        &["name", "run"],
        "A program that is a tool: stdout is the result, a non-zero exit an error with stderr's end.",
    )
}
