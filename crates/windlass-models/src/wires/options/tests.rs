use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::model::{FailureKind, ModelChoice, ModelFailure, ModelOption, ModelOptions, ToolChoice};
use windlass_core::{Message, ToolSpec};

use crate::ModelRequest;
use crate::wires::{Dialect, Quirks, WIRES, Wire, testing, wire};

fn options(options: Value) -> Arc<ModelOptions> {
    serde_json::from_value(options).expect("options")
}

fn every_option() -> Value {
    json!({
        "seed": 7, "top_k": 40, "frequency_penalty": 0.5, "service_tier": "flex", "verbosity": "low", "user": "u1",
        "cache_key": "k1", "cache_lifetime": "1h", "cache_tools": true, "cache_automatic": true,
        "cached_content": "cachedContents/a", "conversation": "conv_1", "safety": { "HARM_CATEGORY_HARASSMENT": "BLOCK_NONE" },
        "logprobs": 3, "num_ctx": 8_192, "keep_alive": "10m",
        "reasoning": { "budget_tokens": 2_048, "summary": "auto", "show": true },
    })
}

fn asks(name: &str, set: Value) -> ModelRequest {
    let mut request = testing::request(name, vec![Message::user("Hi")]);
    request.model.options = Some(options(set));
    request
}

fn body(wire: &dyn Wire, request: &ModelRequest) -> Value {
    serde_json::from_slice(&wire.encode(&Dialect::default(), request).body).expect("JSON")
}

fn at<'v>(body: &'v Value, place: &str) -> &'v Value {
    place.split('.').fold(body, |value, key| &value[key])
}

fn refusal(wire: &dyn Wire, dialect: &Dialect, set: Value) -> Option<String> {
    wire.facts().options.refusal(dialect, &asks("x/m", set).model)
}

#[test]
fn each_option_is_written_at_its_place_or_refused_by_name() {
    let set = every_option();
    for wire in WIRES {
        let name = wire.facts().name;
        for option in ModelOption::ALL {
            let value = at(&set, option.key());
            let one = nested(option.key(), value.clone());
            let of = |places: &[(ModelOption, &'static str)]| {
                places.iter().find(|(known, _)| known == option).map(|(_, place)| *place)
            };
            let options = wire.facts().options;
            let refused = refusal(*wire, &Dialect::default(), one.clone());
            match (of(options.places), of(options.formed)) {
                (Some(place), _) => {
                    let body = body(*wire, &asks("x/m", one));
                    assert_eq!((at(&body, place), refused), (value, None), "{name} {option:?}");
                }
                // Marks need something to mark: the wire's own tests.
                (None, Some(_)) if matches!(option, ModelOption::CacheTools | ModelOption::CacheLifetime) => {
                    assert_eq!(refused, None);
                }
                (None, Some(place)) => {
                    let body = body(*wire, &asks("x/m", one));
                    assert!(!at(&body, place).is_null() && refused.is_none(), "{name} {option:?}: {body}");
                }
                (None, None) => {
                    assert_eq!(
                        refused,
                        Some(format!("`{}` has no place in its API", option.key())),
                        "{name}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_an_api_has_no_place_for_is_refused_by_name() {
    let set = [
        ("stop", json!(["x"])),
        ("presence_penalty", json!(0.5)),
        ("parallel", json!(true)),
        ("strict", json!(true)),
        ("metadata", json!({ "user_id": "u" })),
    ];
    for wire in WIRES {
        let refused: Vec<_> = set
            .iter()
            .filter(|(key, value)| {
                let choice = serde_json::from_value(json!({ "name": "x/m", *key: value })).expect("a choice");
                let words = wire.facts().options.refusal(&Dialect::default(), &choice);
                assert!(
                    words.as_ref().is_none_or(|words| words.starts_with(&format!("`{key}` has no place")))
                );
                words.is_some()
            })
            .map(|(key, _)| *key)
            .collect();
        let expected: &[_] = match wire.facts().name {
            "openai_chat" => &[],
            "openai_responses" => &["stop", "presence_penalty"],
            "anthropic_messages" => &["presence_penalty"],
            "gemini" | "gemini_vertex" => &["parallel", "metadata"],
            "ollama" => &["parallel", "strict", "metadata"],
            other => panic!("{other}"),
        };
        assert_eq!(refused, expected, "{}", wire.facts().name);
    }
    let anthropic = wire("anthropic_messages").expect("a wire");
    let mut asked = asks("claude-sonnet-4-5", json!({}));
    asked.model.metadata = [("team".into(), "blue".into())].into();
    let words = anthropic.refuses(&Dialect::default(), &asked);
    assert_eq!(words.as_deref(), Some("`metadata.team`: its API knows `user_id` alone"));
}

#[test]
fn several_choices_are_refused_with_the_reason() {
    for wire in WIRES {
        for extra in [
            json!({ "n": 2 }),
            json!({ "best_of": 3 }),
            json!({ "generationConfig": { "candidateCount": 2 } }),
        ] {
            let words = refusal(*wire, &Dialect::default(), json!({ "extra": extra })).unwrap_or_default();
            assert!(words.contains("a run goes on with one reply"), "{}: {words}", wire.facts().name);
        }
        let one = json!({ "extra": { "n": 1, "generationConfig": { "candidateCount": 1 } } });
        assert_eq!(refusal(*wire, &Dialect::default(), one), None, "{}", wire.facts().name);
    }
}

#[test]
fn servers_differ_in_options() {
    let chat = wire("openai_chat").expect("a wire");
    let of = |quirks| Dialect { label: "x".into(), quirks };
    let openai = of(Quirks { no_top_k: true, ..Quirks::NONE });
    assert!(refusal(chat, &openai, json!({ "top_k": 3 })).is_some_and(|words| words.contains("top_k")));
    let mistral = of(Quirks { random_seed: true, ..Quirks::NONE });
    let body = chat.encode(&mistral, &asks("x/m", json!({ "seed": 7 }))).body;
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!((&body["random_seed"], body.get("seed")), (&json!(7), None));
    assert!(refusal(chat, &mistral, json!({ "extra": { "random_seed": 1 } })).is_some());
}

#[test]
fn how_a_model_reasons_is_said_as_its_server_says_it() {
    let sent = |api: &str, dialect: &Dialect, name: &str, effort: Option<&str>, set: Value| {
        let mut asked = asks(name, json!({ "reasoning": set }));
        asked.model.reasoning = effort.map(Into::into);
        let wire = wire(api).expect("a wire");
        assert_eq!(wire.facts().options.refusal(dialect, &asked.model), None, "{api} {set}");
        serde_json::from_slice::<Value>(&wire.encode(dialect, &asked).body).expect("JSON")
    };
    let plain = Dialect::default();
    let responses = |effort, set| sent("openai_responses", &plain, "o3", effort, set)["reasoning"].clone();
    assert_eq!(
        responses(Some("high"), json!({ "summary": "detailed" })),
        json!({ "effort": "high", "summary": "detailed" })
    );
    assert_eq!(responses(None, json!({ "show": true })), json!({ "summary": "auto" }));
    assert_eq!(responses(Some("max"), json!({ "show": false })), json!({ "effort": "max" }));

    let open =
        Dialect { label: "openrouter".into(), quirks: Quirks { reasoning_object: true, ..Quirks::NONE } };
    let routed = |effort, set| sent("openai_chat", &open, "openrouter/x/y", effort, set)["reasoning"].clone();
    assert_eq!(routed(None, json!({ "budget_tokens": 2_000 })), json!({ "max_tokens": 2_000 }));
    assert_eq!(
        routed(Some("xhigh"), json!({ "show": false })),
        json!({ "effort": "xhigh", "exclude": true })
    );
    let chat = wire("openai_chat").expect("a wire");
    let taken = |dialect, path: &str| refusal(chat, dialect, json!({ "extra": nested(path, json!("high")) }));
    assert!(taken(&open, "reasoning.effort").is_some() && taken(&plain, "reasoning.effort").is_none());
    assert_eq!(taken(&open, "reasoning.enabled"), None);

    let gemini = |name, effort, set| {
        sent("gemini", &plain, name, effort, set)["generationConfig"]["thinkingConfig"].clone()
    };
    assert_eq!(
        gemini("gemini-2.5-flash", None, json!({ "budget_tokens": 512, "show": false })),
        json!({ "includeThoughts": false, "thinkingBudget": 512 })
    );
    assert_eq!(gemini("gemini-3-pro", None, json!({ "show": true })), json!({ "includeThoughts": true }));
    assert_eq!(
        gemini("gemini-3-pro", Some("low"), json!({ "show": false })),
        json!({ "includeThoughts": false, "thinkingLevel": "LOW" })
    );

    let claude = |name, effort, set| {
        let body = sent("anthropic_messages", &plain, name, effort, set);
        (body["thinking"].clone(), body["output_config"]["effort"].clone())
    };
    assert_eq!(
        claude("claude-sonnet-4-5", None, json!({ "budget_tokens": 5_000 })),
        (json!({ "type": "enabled", "budget_tokens": 5_000 }), Value::Null)
    );
    assert_eq!(
        claude("claude-opus-4-6", Some("max"), json!({ "show": false })),
        (json!({ "type": "adaptive", "display": "omitted" }), json!("max"))
    );
    assert_eq!(
        claude("claude-opus-4-7", None, json!({ "show": true })),
        (json!({ "type": "adaptive", "display": "summarized" }), Value::Null)
    );
}

#[test]
fn a_claude_refuses_a_budget_that_it_cannot_think_with() {
    let anthropic = wire("anthropic_messages").expect("a wire");
    let refused = |name: &str, max_tokens: Option<u64>, set: Value| {
        let mut asked = asks(name, json!({ "reasoning": set }));
        asked.model.max_tokens = max_tokens;
        anthropic.refuses(&Dialect::default(), &asked).unwrap_or_default()
    };
    let budget = |tokens: u64| json!({ "budget_tokens": tokens });
    assert_eq!(refused("claude-sonnet-4-5", None, budget(31_999)), "");
    assert_eq!(refused("claude-opus-4-6", Some(2_000), budget(1_024)), "", "old, but taken");
    assert!(refused("claude-sonnet-4-5", None, budget(32_000)).contains("less than the 32000 tokens"));
    assert!(refused("claude-sonnet-4-5", Some(1_024), budget(1_024)).contains("less than the 1024 tokens"));
    assert!(refused("claude-sonnet-4-5", None, budget(1_023)).contains("the least budget is 1024"));
    assert!(refused("claude-opus-4-7", None, budget(2_048)).contains("led by `effort`"));
    assert!(refused("claude-sonnet-4-5", None, json!({ "show": true })).contains("does not think without"));
}

#[test]
fn a_claude_takes_top_k_where_it_samples_freely() {
    let anthropic = wire("anthropic_messages").expect("a wire");
    let refused = |name: &str, reasoning: Option<&str>| {
        let mut asked = asks(name, json!({ "top_k": 3 }));
        asked.model.reasoning = reasoning.map(Into::into);
        anthropic.refuses(&Dialect::default(), &asked)
    };
    assert_eq!(refused("claude-sonnet-4-5", None), None);
    assert_eq!(refused("claude-sonnet-4-5", Some("off")), None);
    assert!(refused("claude-sonnet-4-5", Some("low")).is_some_and(|words| words.contains("reasoning")));
    assert!(refused("claude-opus-4-7", None).is_some_and(|words| words.contains("no sampling")));
}

/// All paths of a body that end in something else than an object with content.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value.as_object().filter(|object| !object.is_empty()) {
        Some(object) => {
            for (key, value) in object {
                leaves(value, &if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, found);
            }
        }
        None => found.push(path.to_owned()),
    }
}

fn nested(path: &str, value: Value) -> Value {
    path.rsplit('.').fold(value, |value, key| json!({ key: value }))
}

#[test]
fn no_key_that_a_wire_writes_may_stand_in_extra() {
    for wire in WIRES {
        for reasoning in ["high", "off"] {
            let mut request = testing::request("x/m", vec![Message::system("S"), Message::user("Hi")]);
            request.tools = Arc::new(vec![ToolSpec::new("t", "", json!({ "type": "object" }))]);
            request.choice = ToolChoice::Required;
            request.response_schema = Some(("out".into(), Arc::new(json!({ "type": "object" }))));
            request.stream = true;
            request.model = ModelChoice {
                temperature: Some(0.5),
                top_p: Some(0.5),
                presence_penalty: Some(0.5),
                max_tokens: Some(30_000),
                reasoning: Some(reasoning.into()),
                parallel: Some(true),
                stop: vec!["x".into()],
                metadata: [("user_id".into(), "blue".into())].into(),
                options: Some(options(every_option())),
                ..request.model
            };
            let mut paths = Vec::new();
            leaves(&body(*wire, &request), "", &mut paths);
            assert!(paths.len() > 6, "{paths:?}");
            for path in paths {
                let refused =
                    refusal(*wire, &Dialect::default(), json!({ "extra": nested(&path, json!(1)) }));
                assert!(refused.is_some(), "{} {path}", wire.facts().name);
                let top = path.split('.').next().unwrap_or_default();
                let refused = refusal(*wire, &Dialect::default(), json!({ "extra": { top: 1 } }));
                assert!(refused.is_some(), "{} {top} as a whole", wire.facts().name);
            }
        }
    }
}

#[test]
fn extra_is_merged_key_by_key_and_leaves_the_rest_as_it_is() {
    for wire in WIRES {
        let settings = json!({ "seed": 7, "verbosity": "low", "user": "u1" });
        let mut plain = asks("x/m", settings.clone());
        plain.model.temperature = Some(0.5);
        let mut with = plain.clone();
        // An object that some of them write, and one that none does.
        let inner = [("generationConfig", "x"), ("options", "num_gpu"), ("text", "x"), ("metadata", "x")];
        let mut extra = json!({ "unheard_of": { "a": [1, { "b": null }] } });
        for (object, key) in inner {
            extra[object] = json!({ key: 8_192 });
        }
        let mut set = settings;
        set["extra"] = extra.clone();
        with.model.options = Some(options(set));
        let (mut plain, with) = (body(*wire, &plain), body(*wire, &with));
        assert_eq!(with["unheard_of"], extra["unheard_of"]);
        for (object, key) in inner {
            assert_eq!(with[object][key], 8_192, "{} {object}", wire.facts().name);
            plain[object][key] = json!(8_192);
        }
        plain["unheard_of"] = extra["unheard_of"].clone();
        assert_eq!(with, plain, "{}", wire.facts().name);
    }
}

#[test]
fn without_extra_no_byte_changes() {
    for wire in WIRES {
        let plain = testing::request("x/m", vec![Message::user("Hi")]);
        let bytes = |request: &ModelRequest| wire.encode(&Dialect::default(), request).body;
        let mut with = plain.clone();
        with.model.options = Some(options(json!({})));
        assert_eq!(bytes(&with), bytes(&plain), "{}", wire.facts().name);
    }
}

#[test]
fn issue_27_the_setting_that_a_server_refuses_is_named_by_its_key() {
    let set = |settings: Value| -> ModelChoice {
        let mut choice = settings;
        choice["name"] = json!("x/m");
        serde_json::from_value(choice).expect("a choice")
    };
    let refused = |name: &str, choice: &ModelChoice, words: &str| {
        let failure =
            ModelFailure { status: Some(400), ..ModelFailure::new(FailureKind::BadRequest, words, "x/m") };
        wire(name).expect("a wire").facts().options.refused(&Dialect::default(), choice, &failure)
    };
    let (top_k, retention) =
        (json!({ "options": { "top_k": 4 } }), json!({ "options": { "cache_lifetime": "24h" } }));
    for (name, settings, words, key) in [
        ("openai_chat", top_k.clone(), "Unrecognized request argument supplied: top_k", Some("top_k")),
        ("openai_chat", retention, "Unsupported parameter: 'prompt_cache_retention'", Some("cache_lifetime")),
        (
            "openai_chat",
            json!({ "temperature": 0.2 }),
            "Unsupported value: 'temperature' does not support 0.2 with this model.",
            Some("temperature"),
        ),
        (
            "openai_chat",
            json!({ "reasoning": "low" }),
            "Unrecognized request argument supplied: reasoning_effort",
            Some("reasoning"),
        ),
        (
            "openai_chat",
            json!({ "parallel": false }),
            "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.",
            Some("parallel"),
        ),
        (
            "openai_responses",
            json!({ "options": { "verbosity": "low" } }),
            "Unsupported parameter: 'text.verbosity' is not supported with this model.",
            Some("verbosity"),
        ),
        (
            "anthropic_messages",
            json!({ "temperature": 1.0, "top_p": 0.9 }),
            "`top_p` cannot be specified beside `x`. Please use only one.",
            Some("top_p"),
        ),
        ("anthropic_messages", top_k.clone(), "top_k: Extra inputs are not permitted", Some("top_k")),
        (
            "gemini",
            top_k.clone(),
            "Invalid JSON payload received. Unknown name \"topK\" at 'generation_config': Cannot find field.",
            Some("top_k"),
        ),
        ("ollama", json!({ "reasoning": "low" }), "\"qwen\" does not support thinking", Some("reasoning")),
        // It is not set, its name is a part of another one, or the words refuse nothing.
        ("openai_chat", json!({}), "Unsupported parameter: 'top_p'", None),
        ("openai_chat", top_k.clone(), "Unsupported parameter: 'top_k_list'", None),
        ("openai_chat", top_k, "top_k is 4", None),
    ] {
        assert_eq!(refused(name, &set(settings), words), key, "{name}: {words}");
    }
    let choice = set(json!({ "temperature": 0.2 }));
    let busy = ModelFailure::new(FailureKind::Server, "temperature is unsupported", "x/m");
    let options = wire("openai_chat").expect("a wire").facts().options;
    assert_eq!(options.refused(&Dialect::default(), &choice, &busy), None, "only a refused request");
}
