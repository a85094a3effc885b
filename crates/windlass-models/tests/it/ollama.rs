//! The wire of Ollama against a server on 127.0.0.1 that sends recorded bytes.

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::Value;
use windlass_core::model::{FailureKind, Refusal, StopReason};
use windlass_core::secret::Secret;
use windlass_core::{Message, ToolSpec};
use windlass_models::wires::ollama::Ollama;
use windlass_models::{Delta, HttpModel, HttpModelConfig, Model, ModelRequest, conformance};

use crate::server::*;

const TEXT: &str = include_str!("../corpus/ollama/text.jsonl");
const TEXT_WHOLE: &str = include_str!("../corpus/ollama/text.json");
const CALLS: &str = include_str!("../corpus/ollama/calls_with_ids.jsonl");

fn config(base_url: &str) -> HttpModelConfig {
    HttpModelConfig { allow_proxy: false, ..HttpModelConfig::new(&Ollama, "test", base_url) }
}

fn model(base_url: &str) -> HttpModel {
    HttpModel::new(config(base_url)).expect("a good base URL")
}

/// A stream of lines with this type, each line in a chunk of its own.
fn lines(kind: &str, body: &str) -> Vec<Step> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
    let chunks = body.split_inclusive('\n').map(chunk);
    std::iter::once(Step::Send(head.into_bytes())).chain(chunks).chain([stream_end()]).collect()
}

#[tokio::test]
async fn the_ollama_adapter_conforms() {
    let streaming = Server::start(lines("application/x-ndjson", TEXT)).await;
    conformance::live(&model(&streaming.url), &conformance::request("test/m", "Hi"))
        .await
        .expect("it conforms");
    let blocking = Server::start(json(TEXT_WHOLE)).await;
    conformance::scripted(&model(&blocking.url), &conformance::request("test/m", "Hi"))
        .await
        .expect("it conforms");
}

#[tokio::test]
async fn e15_streaming_and_blocking_give_the_same_reply_under_any_content_type() {
    let blocking =
        Server::start(response("200 OK", "content-type: application/json; charset=utf-8\r\n", TEXT_WHOLE))
            .await;
    let whole = ask(&model(&blocking.url), false).await.expect("a reply");
    assert_eq!((whole.text.as_deref(), whole.stop), (Some("The sky is blue, Zürich 🦀."), StopReason::Stop));
    for kind in ["application/x-ndjson", "application/jsonl; charset=utf-8", "text/plain", "application/json"]
    {
        let streaming = Server::start(lines(kind, TEXT)).await;
        for stream in [true, false] {
            let reply = ask(&model(&streaming.url), stream).await;
            assert_eq!(reply.as_ref(), Ok(&whole), "{kind}, stream {stream}");
        }
    }
}

#[tokio::test]
async fn pieces_come_as_the_lines_do() {
    let server = Server::start(lines("application/x-ndjson", TEXT)).await;
    let pieces: Vec<_> = model(&server.url).call(request(true)).collect().await;
    let texts = pieces.iter().filter(|piece| matches!(piece, Ok(Delta::Text(_)))).count();
    assert_eq!((texts, pieces.len()), (3, 5), "three texts, stop, usage");
    assert_eq!(server.seen()[0].line, "POST /api/chat HTTP/1.1");
    let asked: Value = serde_json::from_str(&server.seen()[0].body).expect("JSON");
    assert_eq!((&asked["model"], &asked["stream"]), (&"m1".into(), &true.into()));
}

#[tokio::test]
async fn e58_the_calls_of_a_reply_go_back_with_their_results() {
    let server = Server::start(lines("application/x-ndjson", CALLS)).await;
    let asked = ModelRequest {
        tools: Arc::new(vec![ToolSpec::new(
            "get_temperature",
            "Says it.",
            serde_json::json!({"type": "object"}),
        )]),
        ..request(true)
    };
    let reply =
        windlass_models::assemble(model(&server.url).call(asked.clone()), "test/m1").await.expect("a reply");
    let ids: Vec<_> = reply.calls.iter().map(|call| call.id.as_deref().unwrap_or_default()).collect();
    assert_eq!((ids, reply.stop), (vec!["call_1a2b", "call_3c4d"], StopReason::ToolCalls));
    assert_eq!(&*reply.calls[1].args, r#"{"city":"London","unit":"°C","days":[1,2.5,null,true]}"#);
    let body = &server.seen()[0].body;
    assert!(body.contains(r#""tools":[{"type":"function","function":{"name":"get_temperature","#), "{body}");
}

#[tokio::test]
async fn a_key_is_sent_only_if_there_is_one() {
    let server = Server::start(json(TEXT_WHOLE)).await;
    ask(&model(&server.url), false).await.expect("a reply");
    let keyed = HttpModelConfig { key: Some(Secret::from("the-key")), ..config(&server.url) };
    ask(&HttpModel::new(keyed).expect("good"), false).await.expect("a reply");
    let heads: Vec<_> = server.seen().into_iter().map(|seen| seen.head.to_lowercase()).collect();
    assert!(!heads[0].contains("authorization"), "{}", heads[0]);
    assert!(heads[1].contains("authorization: bearer the-key"), "{}", heads[1]);
}

#[tokio::test]
async fn the_models_of_a_server_are_listed() {
    let list = r#"{"models":[{"name":"qwen3:4b","model":"qwen3:4b","size":2}, {"model":"gemma3:1b"}, {}]}"#;
    let server = Server::routes(move |path| if path == "/api/tags" { json(list) } else { Vec::new() }).await;
    assert_eq!(model(&server.url).list_models().await.expect("a list"), ["gemma3:1b", "qwen3:4b"]);
}

#[tokio::test]
async fn errors_by_status_and_words() {
    let refused = [
        (
            "400 Bad Request",
            "registry.ollama.ai/library/gemma:2b does not support tools",
            FailureKind::Unsupported,
        ),
        ("400 Bad Request", "\\\"gemma3\\\" does not support thinking", FailureKind::BadRequest),
        ("400 Bad Request", "invalid think value: \\\"x\\\"", FailureKind::BadRequest),
        (
            "400 Bad Request",
            "the prompt is longer than the context length currently available to the model",
            FailureKind::ContextLength,
        ),
        ("401 Unauthorized", "unauthorized", FailureKind::Auth),
        ("404 Not Found", "model \\\"qwen9\\\" not found, try pulling it first", FailureKind::NotFound),
        ("429 Too Many Requests", "you have reached your usage limit", FailureKind::RateLimited),
        (
            "500 Internal Server Error",
            "the request exceeds the available context size",
            FailureKind::ContextLength,
        ),
        ("500 Internal Server Error", "model runner has unexpectedly stopped", FailureKind::Server),
        ("502 Bad Gateway", "cloud model cannot be reached", FailureKind::Server),
        (
            "503 Service Unavailable",
            "server busy, please try again.  maximum pending requests exceeded",
            FailureKind::Overloaded,
        ),
    ];
    for (status, words, kind) in refused {
        let body = format!("{{\"error\":\"{words}\"}}");
        let server = Server::start(response(status, "content-type: application/json\r\n", &body)).await;
        for stream in [true, false] {
            let failure = ask(&model(&server.url), stream).await.expect_err("refused");
            assert_eq!(failure.kind, kind, "{words}");
            assert!(failure.message.starts_with(&words.replace('\\', "")), "{}", failure.message);
            let tools = kind == FailureKind::Unsupported;
            assert_eq!(failure.refuses, tools.then_some(Refusal::Tools), "{words}");
        }
    }
}

#[tokio::test]
async fn errors_after_a_200_are_failures_with_what_was_paid() {
    let late = "{\"message\":{\"content\":\"Half\"},\"done\":false}\n{\"error\":\"model runner has unexpectedly stopped\"}\n";
    let server = Server::start(lines("application/x-ndjson", late)).await;
    let failure = ask(&model(&server.url), true).await.expect_err("an error");
    assert_eq!(
        (failure.kind, &*failure.message),
        (FailureKind::Server, "model runner has unexpectedly stopped")
    );
    assert!(failure.usage.estimated && failure.usage.output == 1, "{:?}", failure.usage);
    let server = Server::start(json(r#"{"error":"the model failed to generate a response"}"#)).await;
    assert_eq!(ask(&model(&server.url), true).await.expect_err("an error").kind, FailureKind::Server);
}

#[tokio::test]
async fn a_body_without_its_end_is_a_cut() {
    let (half, _) = TEXT.rsplit_once("{\"model\"").expect("a last line");
    for body in [half.to_owned(), format!("{half}{{\"model\":\"qw")] {
        let server = Server::start(lines("application/x-ndjson", &body)).await;
        let failure = ask(&model(&server.url), true).await.expect_err("cut");
        assert_eq!(failure.kind, FailureKind::Cut, "{failure:?}");
        assert!(failure.usage.estimated, "{failure:?}");
    }
    // The last line's end does not matter.
    let server = Server::start(lines("application/x-ndjson", TEXT.trim_end())).await;
    ask(&model(&server.url), true).await.expect("a reply");
}

#[tokio::test]
async fn a_server_that_is_no_ollama_is_told_from_one() {
    let server = Server::start(json(r#"{"choices":[{"message":{"content":"Hello"}}]}"#)).await;
    let failure = ask(&model(&server.url), false).await.expect_err("another API");
    assert_eq!(failure.kind, FailureKind::Protocol);
    assert!(failure.message.contains("choices"), "{}", failure.message);
}

#[tokio::test]
async fn e57_a_longer_conversation_begins_with_the_same_bytes() {
    let server = Server::start(json(TEXT_WHOLE)).await;
    let model = model(&server.url);
    let mut asked = request(false);
    let ask = async |asked: &ModelRequest| {
        windlass_models::assemble(model.call(asked.clone()), "test/m1").await.expect("a reply");
    };
    ask(&asked).await;
    asked.messages.push(Arc::new(Message::assistant("Yes.")));
    asked.messages.push(Arc::new(Message::user("And?")));
    ask(&asked).await;
    let bodies: Vec<_> = server.seen().into_iter().map(|seen| seen.body).collect();
    let (first, _) = bodies[0].split_once("],\"truncate\"").expect("the messages");
    assert!(bodies[1].starts_with(first), "{bodies:?}");
}
