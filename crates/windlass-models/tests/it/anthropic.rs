//! Anthropic Messages against a server of recorded bytes: conformance, headers, errors.

use std::path::Path;

use windlass_core::model::{FailureKind, Reply, StopReason};
use windlass_models::wires::anthropic_messages::AnthropicMessages;
use windlass_models::{HttpModel, HttpModelConfig, assemble, conformance};

use crate::server::*;

/// A file of the corpus.
fn recorded(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/anthropic_messages");
    std::fs::read_to_string(folder.join(name)).expect("it is in the corpus")
}

/// A stream of recorded events, whole.
fn streamed(name: &str) -> Vec<Step> {
    vec![stream_head(), chunk(&recorded(name)), stream_end()]
}

fn model(server: &Server) -> HttpModel {
    let config = HttpModelConfig::new(&AnthropicMessages, "anthropic", server.url.clone());
    let config = HttpModelConfig { allow_proxy: false, key: Some("key-1".into()), ..config };
    HttpModel::new(config).expect("a good base URL")
}

async fn asked(steps: Vec<Step>, stream: bool) -> Result<Reply, windlass_core::model::ModelFailure> {
    use windlass_models::Model;
    let server = Server::start(steps).await;
    let mut request = conformance::request("anthropic/claude-opus-4-6", "Hi");
    request.stream = stream;
    assemble(model(&server).call(request), "anthropic/claude-opus-4-6").await
}

#[tokio::test]
async fn the_adapter_conforms() {
    let request = conformance::request("anthropic/claude-opus-4-6", "Hi");
    for name in ["text", "thinking_and_call", "web_search"] {
        let streaming = Server::start(streamed(&format!("{name}.sse"))).await;
        conformance::live(&model(&streaming), &request).await.expect("it conforms");
        let blocking = Server::start(json(&recorded(&format!("{name}.json")))).await;
        conformance::scripted(&model(&blocking), &request).await.expect("it conforms");
    }
}

#[tokio::test]
async fn e15_streaming_and_blocking_give_the_same_reply() {
    let streamed = asked(streamed("thinking_and_call.sse"), true).await.expect("a reply");
    let whole = asked(json(&recorded("thinking_and_call.json")), false).await.expect("a reply");
    assert_eq!(streamed, whole);
    assert_eq!((streamed.stop, streamed.calls.len()), (StopReason::ToolCalls, 1));
}

#[tokio::test]
async fn the_key_and_the_version_have_their_headers() {
    let server = Server::start(json(&recorded("text.json"))).await;
    conformance::fold_is_reply(&model(&server), &conformance::request("anthropic/claude-opus-4-6", "Hi"))
        .await
        .expect("a reply");
    let seen = server.seen().remove(0);
    assert_eq!(seen.line, "POST /v1/messages HTTP/1.1");
    let head = seen.head.to_lowercase();
    assert!(
        head.contains("\r\nx-api-key: key-1\r\n") && head.contains("\r\nanthropic-version: 2023-06-01\r\n")
    );
    assert!(!head.contains("authorization"), "{head}");
}

#[tokio::test]
async fn the_models_of_a_server_are_listed() {
    let list = r#"{"data":[{"type":"model","id":"claude-b","display_name":"B","created_at":"2026-02-04T00:00:00Z"},{"type":"model","id":"claude-a"}],"has_more":false,"first_id":"claude-b","last_id":"claude-a"}"#;
    let server = Server::start(json(list)).await;
    assert_eq!(model(&server).list_models().await.expect("a list"), ["claude-a", "claude-b"]);
    assert_eq!(server.seen()[0].line, "GET /v1/models?limit=1000 HTTP/1.1");
}

#[tokio::test]
async fn e42_errors_by_their_status() {
    let error = |kind: &str, message: &str| {
        format!(
            r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#
        )
    };
    for (status, kind, message, expected) in [
        ("400 Bad Request", "invalid_request_error", "max_tokens: Field required", FailureKind::BadRequest),
        (
            "400 Bad Request",
            "invalid_request_error",
            "prompt is too long: 215000 tokens > 200000 maximum",
            FailureKind::ContextLength,
        ),
        (
            "400 Bad Request",
            "invalid_request_error",
            "tools.0.custom.input_schema: JSON schema is invalid",
            FailureKind::BadRequest,
        ),
        ("401 Unauthorized", "authentication_error", "invalid x-api-key", FailureKind::Auth),
        ("403 Forbidden", "permission_error", "no access", FailureKind::Auth),
        ("404 Not Found", "not_found_error", "model: claude-nowhere", FailureKind::NotFound),
        (
            "413 Payload Too Large",
            "request_too_large",
            "Request exceeds the maximum size",
            FailureKind::BadRequest,
        ),
        ("429 Too Many Requests", "rate_limit_error", "slow down", FailureKind::RateLimited),
        ("500 Internal Server Error", "api_error", "Internal server error", FailureKind::Server),
        ("529 Overloaded", "overloaded_error", "Overloaded", FailureKind::Overloaded),
    ] {
        for stream in [false, true] {
            let body = error(kind, message);
            let steps = response(status, "content-type: application/json\r\nretry-after: 3\r\n", &body);
            let failure = asked(steps, stream).await.expect_err("an error");
            assert_eq!((failure.kind, failure.retry_after_ms), (expected, Some(3000)), "{status}");
            assert!(failure.message.starts_with(message), "{}", failure.message);
            assert_eq!(failure.refuses, None, "{message}");
        }
    }
}

#[tokio::test]
async fn an_error_amid_a_stream_keeps_what_was_counted() {
    let failure = asked(streamed("overloaded_midway.sse"), true).await.expect_err("an error");
    assert_eq!((failure.kind, failure.status), (FailureKind::Overloaded, Some(529)));
    assert_eq!((failure.usage.input, failure.usage.output), (25, 1));
    let at_once = asked(json(&recorded("overloaded.error.json")), true).await.expect_err("an error");
    assert_eq!((at_once.kind, &*at_once.message), (FailureKind::Overloaded, "Overloaded"));
}

#[tokio::test]
async fn a_stream_without_its_type_is_read_all_the_same() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let steps = vec![Step::Send(head.into()), chunk(&recorded("text.sse")), stream_end()];
    assert_eq!(asked(steps, true).await.expect("a reply").text.as_deref(), Some("Grüße 🦀\nende"));
}
