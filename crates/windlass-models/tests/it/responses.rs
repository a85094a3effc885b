//! The Responses API over HTTP: what is sent, what comes back, and what becomes of failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use windlass_core::message::{AssistantMessage, ToolCall, ToolMessage};
use windlass_core::model::{FailureKind, ModelFailure, Reply};
use windlass_core::{Message, ToolSpec};
use windlass_models::wires::Quirks;
use windlass_models::wires::openai_responses::OpenAiResponses;
use windlass_models::{HttpModel, HttpModelConfig, Model, ModelRequest, assemble, conformance};

use crate::server::{Server, Step, chunk, json as json_body, request, response, stream_end, stream_head};

const STREAM: &str = include_str!("../corpus/openai_responses/reasoning_summary.sse");
const WHOLE: &str = include_str!("../corpus/openai_responses/reasoning_summary.json");

fn model(url: &str, quirks: Quirks) -> HttpModel {
    let config =
        HttpModelConfig { allow_proxy: false, quirks, ..HttpModelConfig::new(&OpenAiResponses, "test", url) };
    HttpModel::new(config).expect("a good base URL")
}

fn streamed(body: &str) -> Vec<Step> {
    vec![stream_head(), chunk(body), stream_end()]
}

async fn ask(model: &HttpModel, request: ModelRequest) -> Result<Reply, ModelFailure> {
    assemble(model.call(request), "test/m1").await
}

fn body_of(server: &Server, at: usize) -> Value {
    let seen = server.seen();
    serde_json::from_str(&seen.get(at).expect("a request").body).expect("JSON")
}

#[tokio::test]
async fn the_responses_adapter_conforms() {
    let streaming = Server::start(streamed(STREAM)).await;
    let adapter = model(&streaming.url, Quirks::NONE);
    conformance::live(&adapter, &conformance::request("test/m", "Hi")).await.expect("it conforms");
    let blocking = Server::start(json_body(WHOLE)).await;
    let adapter = model(&blocking.url, Quirks::NONE);
    conformance::scripted(&adapter, &conformance::request("test/m", "Hi")).await.expect("it conforms");
    assert_eq!(streaming.seen()[0].path(), "/v1/responses");
}

#[tokio::test]
async fn e15_streaming_and_blocking_give_the_same_reply() {
    let streaming = Server::start(streamed(STREAM)).await;
    let blocking = Server::start(json_body(WHOLE)).await;
    let one = ask(&model(&streaming.url, Quirks::NONE), request(true)).await.expect("a reply");
    let other = ask(&model(&blocking.url, Quirks::NONE), request(false)).await.expect("a reply");
    assert_eq!(one, other);
    assert!(one.reasoning.is_some_and(|reasoning| reasoning.provider_metadata.is_some()));
    assert_eq!(body_of(&streaming, 0)["stream"], true);
    assert_eq!(body_of(&blocking, 0).get("stream"), None);
}

#[tokio::test]
async fn every_form_of_a_base_url_reaches_the_same_path() {
    let server = Server::start(json_body(WHOLE)).await;
    for end in ["", "/", "/v1", "/v1/", "/v1/responses"] {
        ask(&model(&format!("{}{end}", server.url), Quirks::NONE), request(false)).await.expect("a reply");
    }
    assert!(server.seen().iter().all(|seen| seen.path() == "/v1/responses"), "{:?}", server.seen());
}

#[tokio::test]
async fn errors_are_sorted_by_status_and_words() {
    let error = |code: &str, message: &str| {
        json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": code}})
            .to_string()
    };
    for (status, body, kind) in [
        ("401 Unauthorized", error("invalid_api_key", "Incorrect API key."), FailureKind::Auth),
        ("404 Not Found", error("model_not_found", "No such model."), FailureKind::NotFound),
        ("400 Bad Request", error("context_length_exceeded", "Too long."), FailureKind::ContextLength),
        (
            "400 Bad Request",
            error("unsupported_parameter", "Unknown parameter: 'stop'."),
            FailureKind::BadRequest,
        ),
        ("429 Too Many Requests", error("rate_limit_exceeded", "Slow down."), FailureKind::RateLimited),
        ("503 Service Unavailable", error("server_is_overloaded", "Later."), FailureKind::Overloaded),
        ("500 Internal Server Error", error("server_error", "An error."), FailureKind::Server),
        ("502 Bad Gateway", "<html>Bad Gateway</html>".to_owned(), FailureKind::Server),
        ("400 Bad Request", error("previous_response_not_found", "Gone."), FailureKind::Server),
        ("404 Not Found", error("", "Previous response with id 'resp_1' not found."), FailureKind::Server),
    ] {
        let server = Server::start(response(status, "", &body)).await;
        let failure = ask(&model(&server.url, Quirks::NONE), request(true)).await.expect_err("refused");
        assert_eq!(failure.kind, kind, "{status}: {body}");
        assert_eq!(failure.status, status.split(' ').next().and_then(|status| status.parse().ok()));
    }
}

#[tokio::test]
async fn an_error_in_place_of_a_stream_and_within_one() {
    let body = include_str!("../corpus/openai_responses/unauthorized.error.json");
    let server = Server::start(json_body(body)).await;
    let failure = ask(&model(&server.url, Quirks::NONE), request(true)).await.expect_err("an error");
    assert_eq!(failure.kind, FailureKind::Auth);
    let body = include_str!("../corpus/openai_responses/failed_in_mid_stream.sse");
    let server = Server::start(streamed(body)).await;
    let failure = ask(&model(&server.url, Quirks::NONE), request(true)).await.expect_err("an error");
    assert_eq!((failure.kind, failure.usage.input, failure.usage.output), (FailureKind::Server, 40, 3));
}

#[tokio::test]
async fn a_stream_without_a_type_is_read() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let steps = vec![Step::Send(head.into()), chunk(STREAM), stream_end()];
    let server = Server::start(steps).await;
    ask(&model(&server.url, Quirks::NONE), request(true)).await.expect("a reply");
}

#[tokio::test]
async fn a_schema_without_a_strict_form_is_refused_before_anything_is_sent() {
    let server = Server::start(json_body(WHOLE)).await;
    let open = json!({"type": "object", "properties": {"any": {}}});
    let mut asked = request(false);
    asked.model.strict = true;
    asked.tools = Arc::new(vec![ToolSpec::new("f", "", open)]);
    let failure = ask(&model(&server.url, Quirks::NONE), asked).await.expect_err("refused");
    assert_eq!(failure.kind, FailureKind::BadRequest);
    assert!(
        failure.message.contains("tool `f`") && failure.message.contains("$.properties.any"),
        "{failure}"
    );
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn chat_completions_bring_calls_of_strict_schemas_back_as_well() {
    let whole = r#"{"choices":[{"message":{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{\"a\":null}"}}]},"finish_reason":"tool_calls"}]}"#;
    let server = Server::start(json_body(whole)).await;
    let config =
        HttpModelConfig { allow_proxy: false, ..HttpModelConfig::openai_chat("test", server.url.as_str()) };
    let mut asked = request(false);
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    asked.tools = Arc::new(vec![ToolSpec::new("f", "", schema)]);
    asked.model.strict = true;
    let reply = ask(&HttpModel::new(config).expect("a good base URL"), asked).await.expect("a reply");
    assert_eq!(reply.calls.first().map(|call| &*call.args), Some("{}"));
    let sent = &body_of(&server, 0)["tools"][0]["function"]["parameters"];
    assert_eq!(sent["properties"]["a"]["type"], json!(["string", "null"]));
}

#[tokio::test]
async fn null_for_what_may_be_left_out_comes_back_as_left_out() {
    let whole = json!({"status": "completed", "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "{\"a\":null}"}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\":null,\"b\":1}"},
        {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{\"a\":null}"}]});
    let event = json!({"type": "response.completed", "response": whole});
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}});
    let mut asked = request(false);
    asked.tools = Arc::new(vec![ToolSpec::new("f", "", schema.clone())]);
    asked.response_schema = Some(("answer".into(), Arc::new(schema)));
    for strict in [true, false] {
        for steps in [json_body(&whole.to_string()), streamed(&format!("data: {event}\n\n"))] {
            let server = Server::start(steps).await;
            let mut asked = asked.clone();
            asked.model.strict = strict;
            let reply = ask(&model(&server.url, Quirks::NONE), asked).await.expect("a reply");
            let args: Vec<_> = reply.calls.iter().map(|call| &*call.args).collect();
            let (text, f) =
                if strict { ("{}", "{\"b\":1}") } else { ("{\"a\":null}", "{\"a\":null,\"b\":1}") };
            assert_eq!(
                (reply.text.as_deref(), args),
                (Some(text), vec![f, "{\"a\":null}"]),
                "strict {strict}"
            );
        }
    }
}

#[tokio::test]
async fn only_calls_of_strict_tools_are_brought_back() {
    let whole = json!({"status": "completed", "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "{\"a\":null}"}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\":null}"},
        {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{\"a\":null}"}]});
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    for strict in [true, false] {
        let server = Server::start(json_body(&whole.to_string())).await;
        let mut asked = request(false);
        let mut other = ToolSpec::new("f", "", schema.clone());
        other.strict = Some(!strict);
        asked.tools = Arc::new(vec![other, ToolSpec::new("g", "", schema.clone())]);
        asked.response_schema = Some(("answer".into(), Arc::new(schema.clone())));
        asked.model.strict = strict;
        let reply = ask(&model(&server.url, Quirks::NONE), asked).await.expect("a reply");
        let args: Vec<_> = reply.calls.iter().map(|call| &*call.args).collect();
        let (null, none) = ("{\"a\":null}", "{}");
        let expected = if strict { (none, [null, none]) } else { (null, [none, null]) };
        assert_eq!((reply.text.as_deref().unwrap_or_default(), args), (expected.0, expected.1.to_vec()));
    }
}

/// Adds a reply and the results of its calls, as the core does.
fn go_on(request: &mut ModelRequest, reply: &Reply) {
    let calls = reply.calls.iter().map(|call| ToolCall {
        id: call.id.as_deref().expect("an id").into(),
        name: call.name.clone(),
        args: (&*call.args).into(),
        ..ToolCall::default()
    });
    let said = AssistantMessage {
        text: reply.text.clone(),
        reasoning: reply.reasoning.clone(),
        media: Box::default(),
        calls: calls.collect(),
        annotations: reply.annotations.clone(),
    };
    let results: Vec<_> = said
        .calls
        .iter()
        .map(|call| ToolMessage {
            call: call.id.clone(),
            name: call.name.clone(),
            content: "7".into(),
            failed: false,
        })
        .collect();
    request.messages.push(Arc::new(Message::Assistant(said)));
    for result in results {
        request.messages.push(Arc::new(Message::Tool(result)));
    }
}

#[tokio::test]
async fn a_forgotten_response_is_a_failure_whose_retry_sends_everything() {
    let count = AtomicUsize::new(0);
    let server = Server::routes(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        1 => response(
            "400 Bad Request",
            "",
            r#"{"error":{"message":"Previous response with id 'resp_01' not found.","type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}"#,
        ),
        _ => json_body(WHOLE),
    })
    .await;
    let adapter = model(&server.url, Quirks { stored_replies: true, ..Quirks::NONE });
    let mut run = request(false);
    let first = ask(&adapter, run.clone()).await.expect("a reply");
    go_on(&mut run, &first);
    let failure = ask(&adapter, run.clone()).await.expect_err("it is gone");
    assert!(failure.kind.retryable(), "{failure:?}");
    let second = ask(&adapter, run.clone()).await.expect("a reply");
    go_on(&mut run, &second);
    ask(&adapter, run).await.expect("a reply");
    let sent = |at| {
        let body = body_of(&server, at);
        let previous = body.get("previous_response_id").and_then(Value::as_str).map(str::to_owned);
        (previous, body["input"].as_array().map(Vec::len))
    };
    assert_eq!(sent(0), (None, Some(1)));
    assert_eq!(sent(1), (Some("resp_01".into()), Some(1)));
    assert_eq!(sent(2), (None, Some(4)), "the whole input: question, reasoning, call and result");
    assert_eq!(sent(3), (Some("resp_01".into()), Some(1)));
}

#[tokio::test]
async fn the_models_of_a_server_are_listed() {
    let server = Server::start(json_body(r#"{"object":"list","data":[{"id":"b"},{"id":"a"}]}"#)).await;
    assert_eq!(model(&server.url, Quirks::NONE).list_models().await.expect("a list"), ["a", "b"]);
}

/// The key of an agent file, from the settings to the bytes of the next request.
#[tokio::test]
async fn stored_replies_are_gone_on_from_where_the_settings_say_so() {
    const REPLY: &str = r#"{"id":"resp_7","status":"completed","output":[{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Four.","annotations":[]}]}]}"#;
    let server = Server::start(crate::server::json(REPLY)).await;
    for stored in [Some(true), Some(false), None] {
        let settings = windlass_models::ModelSettings {
            base_url: Some(server.url.clone()),
            api: Some("openai_responses"),
            stored_replies: stored,
            ..windlass_models::ModelSettings::named("test/m1")
        };
        let model = windlass_models::resolve(&settings, &|_| None).expect("it resolves");
        let mut turn = conformance::request("test/m1", "Two and two?");
        let first = assemble(model.call(turn.clone()), "test/m1").await.expect("a reply");
        let said =
            AssistantMessage { text: first.text, reasoning: first.reasoning, ..AssistantMessage::default() };
        turn.messages.push(Arc::new(Message::Assistant(said)));
        turn.messages.push(Arc::new(Message::user("And?")));
        assemble(model.call(turn), "test/m1").await.expect("a reply");
        let body: Value = serde_json::from_str(&server.seen().pop().expect("a request").body).expect("JSON");
        let (on, items) = (stored == Some(true), body["input"].as_array().expect("a list").len());
        assert_eq!(body["store"], on, "{stored:?}: {body}");
        assert_eq!(body.get("previous_response_id").is_some(), on, "{stored:?}: {body}");
        assert_eq!(items, if on { 1 } else { 3 }, "{stored:?}: {body}");
    }
}
