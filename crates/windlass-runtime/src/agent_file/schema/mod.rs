//! The published JSON Schema of the agent file. A test holds it to the reader, key by key.

mod loop_keys;
mod tools;

use serde_json::{Map, Value, json};

/// The JSON Schema (2020-12) of the agent file.
pub fn schema() -> Value {
    let mut properties = head();
    properties.extend(tail());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Windlass agent file",
        "description": "An agent: its models, instructions, tools and loop. Paths start from the file's folder. \
            ${NAME} is read from the environment in keys, headers, environment values and addresses only.",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "$defs": {
            "model": model(),
            "secret": {
                "type": "string",
                "description": "A secret, or a text with ${NAME} in it, which is read from the environment. Never logged."
            },
            "address": {
                "type": "string", "minLength": 1,
                "description": "A URL. ${NAME} in it is read from the environment."
            },
            "jsonSchema": { "type": "object", "description": "A JSON Schema (2020-12)." },
            "toolName": { "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" },
            "count": { "type": "integer", "minimum": 0 },
            "ms": { "type": "integer", "minimum": 1, "description": "Milliseconds." },
            "limit": loop_keys::limit(),
            "atLimit": loop_keys::at_limit(),
            "effect": tools::effect(),
            "builtin": tools::builtin_name(),
            "builtinOptions": tools::builtin_options(),
            "serviceOptions": tools::service_options(),
            "tool": tools::tool(),
            "mcp": tools::mcp(),
            "command": tools::command(),
            "delegate": delegate(),
            "loop": loop_keys::all(),
        }
    })
}

fn head() -> Map<String, Value> {
    object(json!({
        "name": {
            "type": "string", "minLength": 1,
            "description": "The agent's name. Default: the file's name without its ending."
        },
        "description": { "type": "string", "default": "", "description": "What the agent is for." },
        "model": {
            "description": "The model: provider/model, auto (the first that is set up) or tour (offline); with \
                settings; or a list: fallbacks in order.",
            "oneOf": [
                { "type": "string", "minLength": 1 },
                { "$ref": "#/$defs/model" },
                {
                    "type": "array", "minItems": 1,
                    "items": { "oneOf": [{ "type": "string", "minLength": 1 }, { "$ref": "#/$defs/model" }] }
                }
            ]
        },
        "instructions": {
            "description": "What the agent is told: a minijinja template in which the input is `input`.",
            "default": "",
            "oneOf": [
                { "type": "string" },
                closed(json!({ "file": { "type": "string", "minLength": 1, "description": "The template's file." } }),
                    &["file"], "Instructions from a file.")
            ]
        },
        "examples": {
            "type": "array",
            "description": "Worked examples, sent before the input. Small models need them.",
            "items": example()
        },
        "input": closed(json!({ "schema": { "$ref": "#/$defs/jsonSchema" } }), &["schema"], "A typed input."),
        "output": closed(json!({ "schema": { "$ref": "#/$defs/jsonSchema" } }), &["schema"],
            "A typed output. An agent with one and without a preset gets the preset `typed`."),
        "tools": { "type": "array", "description": "The tools.", "items": { "$ref": "#/$defs/tool" } }
    }))
}

fn tail() -> Map<String, Value> {
    object(json!({
        "agents": {
            "type": "array",
            "description": "Delegates: each is offered as a tool of its name with one argument `task`.",
            "items": { "$ref": "#/$defs/delegate" }
        },
        "loop": { "$ref": "#/$defs/loop" },
        "timeouts": timeouts(true),
        "retry": closed(json!({
            "retries": { "type": "integer", "minimum": 0, "default": 3,
                "description": "How often a failed request is sent again, for each model." },
            "wait_ms": { "type": "integer", "minimum": 0, "default": 500,
                "description": "The first wait, in milliseconds; it doubles each time." },
            "max_wait_ms": { "type": "integer", "minimum": 0, "default": 30000,
                "description": "The longest wait, in milliseconds." }
        }), &[], "Retries of the transport. They use up no model calls."),
        "code": closed(json!({
            "enabled": { "type": "boolean", "default": false, "description": "Whether the model may write code." },
            "seconds": { "type": "number", "minimum": 0, "default": 10,
                "description": "How long a step of code may run, in seconds." },
            "memory_mb": { "type": "integer", "minimum": 1, "default": 64,
                "description": "How much memory it may use, in MiB." },
            "calls": { "type": "integer", "minimum": 0, "default": 50,
                "description": "How many calls of tools it may make." }
        }), &[], "Code mode.")
    }))
}

fn model() -> Value {
    closed(
        json!({
            "use": { "type": "string", "minLength": 1,
                "description": "provider/model, auto or tour; with a base_url any name." },
            "base_url": { "$ref": "#/$defs/address",
                "description": "Where the API is, with or without a trailing slash or /v1." },
            "key": { "$ref": "#/$defs/secret", "description": "The key, instead of the provider's usual variable." },
            "headers": { "type": "object", "additionalProperties": { "$ref": "#/$defs/secret" },
                "description": "More headers for every request." },
            "temperature": { "type": "number", "minimum": 0, "description": "Default: the provider's." },
            "max_tokens": { "type": "integer", "minimum": 1,
                "description": "The most tokens of a reply. Default: the provider's." },
            "max_reply_bytes": { "type": "integer", "minimum": 1, "maximum": 1_073_741_824, "default": 16_777_216,
                "description": "The most bytes of a reply: text, reasoning and arguments together. A longer one fails." },
            "stop": { "description": "Texts that end a reply.",
                "oneOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] },
            "top_p": { "type": "number", "minimum": 0, "maximum": 1, "description": "Default: the provider's." },
            "presence_penalty": { "type": "number", "minimum": -2, "maximum": 2,
                "description": "Default: the provider's." },
            "reasoning": { "enum": [true, "low", "medium", "high"],
                "description": "How much the model is to reason; true is medium. Default: the provider's." },
            "metadata": { "type": "object", "maxProperties": 16,
                "additionalProperties": { "type": ["string", "number", "boolean"] },
                "description": "What the provider is to keep with each request." },
            "cache_control": { "type": "boolean",
                "description": "Whether the marks of loop.cache are sent. Default: to OpenRouter only." },
            "prices": closed(json!({
                "input": { "type": "number", "minimum": 0, "description": "USD per million tokens of requests." },
                "output": { "type": "number", "minimum": 0, "description": "USD per million tokens of replies." },
                "cached": { "type": "number", "minimum": 0,
                    "description": "USD per million cached tokens of requests. Default: as `input`." }
            }), &["input", "output"], "List prices. A limit on cost needs them."),
            "timeouts": timeouts(false),
        }),
        &["use"],
        "A model with settings.",
    )
}

fn timeouts(with_tools: bool) -> Value {
    let mut keys = object(json!({
        "connect_ms": { "type": "integer", "minimum": 1, "default": 10000,
            "description": "To connect, in milliseconds." },
        "first_token_ms": { "type": "integer", "minimum": 1, "default": 60000,
            "description": "From the call to its first token, in milliseconds." },
        "idle_ms": { "type": "integer", "minimum": 1, "default": 60000,
            "description": "Between two tokens, in milliseconds." },
        "total_ms": { "type": "integer", "minimum": 1,
            "description": "A whole model call, in milliseconds. Default: 600000; text 60000, refine 120000." },
    }));
    if with_tools {
        let tool_ms = json!({ "type": "integer", "minimum": 1,
            "description": "One try of a tool, in milliseconds. Default: 300000; text 60000, refine 120000, plan 500000."
        });
        keys.insert("tool_ms".to_owned(), tool_ms);
    }
    closed(Value::Object(keys), &[], "How long things may take.")
}

fn example() -> Value {
    let call = closed(
        json!({
            "name": { "type": "string", "minLength": 1, "description": "The tool." },
            "args": { "type": "object", "default": {}, "description": "Its arguments." },
            "result": { "description": "Its result: text, or JSON." }
        }),
        &["name", "result"],
        "A call with its result.",
    );
    let mut example = closed(
        json!({
            "user": { "description": "What the user says: text, or JSON." },
            "calls": { "type": "array", "items": call, "description": "The calls that follow, in one turn." },
            "assistant": { "type": ["string", "number", "boolean"], "description": "The answer." }
        }),
        &["user"],
        "A worked example.",
    );
    if let Some(example) = example.as_object_mut() {
        let either = json!([
            { "required": ["assistant"] },
            { "required": ["calls"], "properties": { "calls": { "minItems": 1 } } }
        ]);
        example.insert("anyOf".to_owned(), either);
    }
    example
}

fn delegate() -> Value {
    let name = json!({ "$ref": "#/$defs/toolName", "description": "The name that the model calls it by." });
    let description = json!({ "type": "string", "description": "What the model is told of it." });
    let own = head().into_iter().chain(tail()).filter(|(key, _)| key != "name");
    let same = |key: String| (key.clone(), json!({ "$ref": format!("#/properties/{key}") }));
    let mut keys: Map<String, Value> = own.map(|(key, _)| same(key)).collect();
    let merge = json!({ "enum": ["end_result", "summarize"], "default": "end_result",
        "description": "How its end comes back: its output, or a summary of what it did. Without an output: a summary." });
    keys.insert("merge".to_owned(), merge);
    let branch = closed(
        Value::Object(keys),
        &["instructions"],
        "A branch: begins with this agent's conversation and may call its tools. It has the keys of an agent file.",
    );
    json!({
        "description": "Another agent: the path of its file, a remote one, or a branch.",
        "oneOf": [
            { "type": "string", "minLength": 1 },
            closed(json!({
                "name": name, "description": description,
                "a2a": { "$ref": "#/$defs/address", "description": "Where the remote agent is." },
                "headers": { "type": "object", "additionalProperties": { "$ref": "#/$defs/secret" },
                    "description": "More headers for every request." }
            }), &["name", "a2a"], "A remote agent that speaks A2A."),
            closed(json!({ "name": name, "description": description, "branch": branch }), &["name", "branch"],
                "A branch of this agent.")
        ]
    })
}

/// An object with these keys and no others.
fn closed(properties: Value, required: &[&str], description: &str) -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    if !description.is_empty() {
        schema.insert("description".to_owned(), json!(description));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema.insert("properties".to_owned(), properties);
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    Value::Object(schema)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
