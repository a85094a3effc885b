//! Outputs whose schema is no plain object, on wires that hold replies to objects alone.

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::{Value, json};
use windlass_core::model::OutputBy;
use windlass_models::wires::{Dialect, WIRES};
use windlass_models::{Delta, HttpModel, HttpModelConfig, Model, assemble};

use crate::server::{Server, events, json as json_body, request};

/// A reply of this text, whole.
fn reply(wire: &str, text: &str) -> String {
    let body = match wire {
        "openai_chat" => json!({"choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": text}}]}),
        "openai_responses" => json!({"id": "r1", "status": "completed", "output": [
            {"type": "reasoning", "id": "rs1", "encrypted_content": "x", "summary": []},
            {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]}),
        "anthropic_messages" => {
            json!({"type": "message", "role": "assistant", "stop_reason": "end_turn", "content": [
            {"type": "thinking", "thinking": "Hm", "signature": "s"}, {"type": "text", "text": text}]})
        }
        "ollama" => {
            json!({"message": {"role": "assistant", "content": text}, "done": true, "done_reason": "stop"})
        }
        _ => json!({"candidates": [{"index": 0, "finishReason": "STOP",
            "content": {"role": "model", "parts": [{"text": text}]}}]}),
    };
    body.to_string()
}

/// The schema that was sent for the output.
fn sent(body: &Value) -> &Value {
    [
        "/response_format/json_schema/schema",
        "/text/format/schema",
        "/output_config/format/schema",
        "/format",
        "/generationConfig/responseJsonSchema",
    ]
    .iter()
    .find_map(|place| body.pointer(place))
    .expect("a schema")
}

#[tokio::test]
async fn k47_a_union_goes_out_under_a_property_and_comes_back_alone() {
    let union = json!({"anyOf": [
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false},
        {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"], "additionalProperties": false}]});
    for wire in WIRES.iter().copied() {
        let name = wire.facts().name;
        let objects = matches!(name, "openai_chat" | "openai_responses" | "anthropic_messages");
        let said = if objects { "{\"output\": {\"a\": 1}}" } else { "{\"a\": 1}" };
        for (strict, stream) in [(false, false), (true, false), (false, true)] {
            let server = Server::start(json_body(&reply(name, said))).await;
            let config = HttpModelConfig {
                allow_proxy: false,
                ..HttpModelConfig::new(wire, "test", server.url.as_str())
            };
            let mut asked = request(stream);
            // Ollama's API knows no strict schemas.
            asked.model.strict = strict && name != "ollama";
            asked.response_schema = Some(("output".into(), Arc::new(union.clone())));
            let reply = assemble(HttpModel::new(config).expect("a good base URL").call(asked), "test/m")
                .await
                .expect("a reply");
            assert_eq!(reply.text.as_deref(), Some("{\"a\": 1}"), "{name}");
            let seen = server.seen();
            let body = serde_json::from_str(&seen.first().expect("a request").body).expect("JSON");
            let schema = sent(&body);
            assert_eq!(
                schema["type"] == "object" && schema.get("anyOf").is_none(),
                objects,
                "{name}: {schema}"
            );
            if let Some(sealed) = reply.reasoning.and_then(|reasoning| reasoning.provider_metadata) {
                assert!(sealed.data.contains("\"n\":8"), "what goes back fits the text: {}", sealed.data);
            } else {
                assert!(
                    !matches!(name, "openai_responses" | "anthropic_messages"),
                    "{name} lost its thoughts"
                );
            }
        }
    }
}

/// The place of the form in which each API holds a reply to any object, with its value; `None`: it has none.
fn any_object(wire: &str) -> Option<(&'static str, Value)> {
    match wire {
        "openai_chat" => Some(("/response_format", json!({ "type": "json_object" }))),
        "openai_responses" => Some(("/text/format", json!({ "type": "json_object" }))),
        "ollama" => Some(("/format", json!("json"))),
        "gemini" | "gemini_vertex" => {
            Some(("/generationConfig", json!({ "responseMimeType": "application/json" })))
        }
        _ => None,
    }
}

#[test]
fn issue_27_any_json_object_is_asked_for_in_the_apis_own_form_or_refused_by_name() {
    for wire in WIRES {
        let name = wire.facts().name;
        let mut asked = request(false);
        asked.response_schema = Some(("output".into(), Arc::new(json!({ "type": "object" }))));
        // A strict model asks for no strict form of it.
        asked.model.strict = name != "ollama";
        let refused = wire.refuses(&Dialect::default(), &asked);
        let Some((place, form)) = any_object(name) else {
            let words = refused.expect("a refusal");
            assert!(words.contains("json: true") && words.contains("mode: prompt"), "{words}");
            continue;
        };
        assert_eq!(refused, None, "{name}");
        let body: Value =
            serde_json::from_slice(&wire.encode(&Dialect::default(), &asked).body).expect("JSON");
        assert_eq!(body.pointer(place), Some(&form), "{name}: {body}");
    }
}

/// A schema whose strict form differs only in that it takes no other properties, and one that may lack a property.
fn schemas() -> [Value; 2] {
    let title = json!({ "title": { "type": "string" } });
    let both = json!({ "title": { "type": "string" }, "year": { "type": "integer" } });
    [title, both].map(|all| json!({ "type": "object", "properties": all, "required": ["title"] }))
}

#[tokio::test]
async fn issue_27_a_model_that_answers_with_the_output_is_held_to_its_strict_form() {
    for wire in WIRES.iter().copied() {
        let name = wire.facts().name;
        let strict = matches!(name, "openai_chat" | "openai_responses");
        for (schema, said, wanted) in schemas()
            .into_iter()
            .zip([r#"{"title":"A"}"#, r#"{"title":"A","year":null}"#])
            .map(|(schema, said)| {
                let wanted = if strict { r#"{"title":"A"}"# } else { said };
                (schema, said, wanted)
            })
        {
            let server = Server::start(json_body(&reply(name, said))).await;
            let config = HttpModelConfig {
                allow_proxy: false,
                ..HttpModelConfig::new(wire, "test", server.url.as_str())
            };
            let mut asked = request(false);
            asked.model.output = Some(OutputBy::Native);
            asked.response_schema = Some(("output".into(), Arc::new(schema)));
            let deltas = HttpModel::new(config).expect("a good base URL").call(asked);
            let reply = assemble(deltas, "test/m").await.expect("a reply");
            assert_eq!(reply.text.as_deref(), Some(wanted), "{name}");
            let seen = server.seen();
            let body: Value = serde_json::from_str(&seen.first().expect("a request").body).expect("JSON");
            let form = sent(&body);
            assert_eq!(
                form["additionalProperties"] == false,
                strict || name == "anthropic_messages",
                "{name}: {body}"
            );
            let flag =
                body.pointer("/response_format/json_schema/strict").or(body.pointer("/text/format/strict"));
            assert_eq!(flag, strict.then_some(&Value::Bool(true)), "{name}");
        }
    }
}

#[tokio::test]
async fn issue_27_an_output_that_needs_no_way_back_is_given_out_as_it_comes() {
    let piece = |text: &str| json!({"choices": [{"index": 0, "delta": {"content": text}}]}).to_string();
    let stop = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}).to_string();
    let stream =
        [&piece("{\"title\":"), &piece("\"A\"}"), &stop, "[DONE]"].map(|event: &str| event.to_owned());
    let stream = stream.each_ref().map(String::as_str);
    for (schema, pieces) in schemas().into_iter().zip([2, 1]) {
        let server = Server::start(events(&stream)).await;
        let wire = WIRES.iter().copied().find(|wire| wire.facts().name == "openai_chat").expect("Chat");
        let config =
            HttpModelConfig { allow_proxy: false, ..HttpModelConfig::new(wire, "test", server.url.as_str()) };
        let mut asked = request(true);
        asked.model.output = Some(OutputBy::Native);
        asked.response_schema = Some(("output".into(), Arc::new(schema)));
        let deltas: Vec<_> = HttpModel::new(config).expect("a good base URL").call(asked).collect().await;
        let texts = deltas.iter().filter(|delta| matches!(delta, Ok(Delta::Text(_)))).count();
        assert_eq!(texts, pieces);
    }
}
