//! Outputs whose schema is no plain object, on wires that hold replies to objects alone.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_models::wires::WIRES;
use windlass_models::{HttpModel, HttpModelConfig, Model, assemble};

use crate::server::{Server, json as json_body, request};

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
