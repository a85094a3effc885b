use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_core::model::{ModelChoice, ModelOption, ModelOptions, ToolChoice};
use windlass_core::{Message, ToolSpec};

use crate::ModelRequest;
use crate::wires::{Dialect, Quirks, WIRES, Wire, testing, wire};

fn options(options: Value) -> Arc<ModelOptions> {
    serde_json::from_value(options).expect("options")
}

fn every_option() -> Value {
    json!({
        "seed": 7, "top_k": 40, "frequency_penalty": 0.5, "service_tier": "flex", "verbosity": "low", "user": "u1",
        "cache_key": "k1",
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
            let value = &set[option.key()];
            let mut one = Map::new();
            one.insert(option.key().to_owned(), value.clone());
            let place = wire.facts().options.places.iter().find(|(known, _)| known == option);
            let refused = refusal(*wire, &Dialect::default(), one.clone().into());
            match place {
                Some((_, place)) => {
                    let body = body(*wire, &asks("x/m", one.into()));
                    assert_eq!((at(&body, place), refused), (value, None), "{name} {option:?}");
                }
                None => {
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
        for reasoning in ["high", "off", "low/auto"] {
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
        let inner = [("generationConfig", "x"), ("options", "num_ctx"), ("text", "x"), ("metadata", "x")];
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
