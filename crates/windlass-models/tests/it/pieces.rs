//! Pieces of a stream: those that are given out as they come, and streams that end before any came.

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::json;
use windlass_core::ToolSpec;
use windlass_core::model::FailureKind;
use windlass_models::http::Framing;
use windlass_models::wires::{WIRES, Wire};
use windlass_models::{Delta, HttpModel, HttpModelConfig, Model, ModelRequest};

use crate::server::*;

/// Beginnings of streams with a piece of text, by the wire.
const BEGINNINGS: [(&str, &str); 6] = [
    (
        "openai_chat",
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"{\\\"a\\\":\"}}]}\n\n",
    ),
    (
        "openai_responses",
        "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}}\n\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"{\\\"a\\\":\"}\n\n",
    ),
    (
        "anthropic_messages",
        "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"{\\\"a\\\":\"}}\n\n",
    ),
    ("gemini", GEMINI),
    ("gemini_vertex", GEMINI),
    ("ollama", "{\"message\":{\"role\":\"assistant\",\"content\":\"{\\\"a\\\":\"},\"done\":false}\n"),
];

const GEMINI: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"{\\\"a\\\":\"}],\"role\":\"model\"},\"index\":0}]}\n\n";

fn model(wire: &'static dyn Wire, url: &str) -> HttpModel {
    let config = HttpModelConfig { allow_proxy: false, ..HttpModelConfig::new(wire, "test", url) };
    HttpModel::new(config).expect("a good base URL")
}

/// A stream that consists of this and then breaks off.
fn broken(wire: &dyn Wire, body: &str) -> Vec<Step> {
    let kind = match wire.facts().framing {
        Framing::Events => "text/event-stream",
        Framing::Lines => "application/x-ndjson",
    };
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
    vec![Step::Send(head.into_bytes()), chunk(body), Step::Close]
}

fn strict() -> ModelRequest {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let mut asked = request(true);
    asked.model.strict = true;
    asked.tools = Arc::new(vec![ToolSpec::new("f", "", schema.clone())]);
    asked.response_schema = Some(("answer".into(), Arc::new(schema)));
    asked
}

#[tokio::test]
async fn pieces_wait_only_for_wires_that_send_another_form_of_a_schema() {
    // Ollama's API knows no strict schemas.
    for wire in WIRES.iter().copied().filter(|wire| wire.facts().name != "ollama") {
        let name = wire.facts().name;
        let (_, beginning) = BEGINNINGS.iter().find(|(of, _)| *of == name).expect("a beginning");
        let server = Server::start(broken(wire, beginning)).await;
        let all: Vec<_> = model(wire, &server.url).call(strict()).collect().await;
        let cut = all.last().is_some_and(|last| last.as_ref().is_err_and(|cut| cut.kind == FailureKind::Cut));
        assert!(cut, "{name}: {all:?}");
        let text = |delta: &Result<Delta, _>| matches!(delta, Ok(Delta::Text(text)) if text == "{\"a\":");
        let restores = matches!(name, "openai_chat" | "openai_responses");
        assert_eq!(all.iter().any(text), !restores, "{name}: {all:?}");
        let plain = ModelRequest { model: request(true).model, ..strict() };
        let server = Server::start(broken(wire, beginning)).await;
        let all: Vec<_> = model(wire, &server.url).call(plain).collect().await;
        assert!(all.iter().any(text), "{name} without strict schemas: {all:?}");
    }
}

#[tokio::test]
async fn e13_a_stream_that_ends_before_its_reply_began_was_cut() {
    for wire in WIRES.iter().copied() {
        let name = wire.facts().name;
        let blank = match wire.facts().framing {
            Framing::Events => {
                [": keep-alive\n\n: keep-alive\n\n", "event: message\nid: 7\nretry: 3\n\n", "dat"]
            }
            Framing::Lines => ["\n", "\r\n\r\n", " \n"],
        };
        for body in blank {
            for last in [stream_end(), Step::Close] {
                let mut steps = broken(wire, body);
                *steps.last_mut().expect("an end") = last;
                let server = Server::start(steps).await;
                let failure = ask(&model(wire, &server.url), true).await.expect_err("no reply");
                assert_eq!(failure.kind, FailureKind::Cut, "{name}, {body:?}: {failure}");
            }
        }
        for (kind, stream) in [
            ("text/event-stream", true),
            ("application/x-ndjson", true),
            ("application/json", true),
            ("text/plain", true),
            ("application/json", false),
        ] {
            let server = Server::start(response("200 OK", &format!("content-type: {kind}\r\n"), "")).await;
            let failure = ask(&model(wire, &server.url), stream).await.expect_err("no reply");
            assert_eq!(failure.kind, FailureKind::Cut, "{name}, nothing as {kind}: {failure}");
        }
    }
}

#[tokio::test]
async fn other_words_in_place_of_a_stream_are_no_cut() {
    for wire in WIRES.iter().copied() {
        let mut steps = broken(wire, "Welcome to the proxy\n\n");
        *steps.last_mut().expect("an end") = stream_end();
        let server = Server::start(steps).await;
        let failure = ask(&model(wire, &server.url), true).await.expect_err("no reply");
        assert_eq!(failure.kind, FailureKind::Protocol, "{}: {failure}", wire.facts().name);
    }
}
