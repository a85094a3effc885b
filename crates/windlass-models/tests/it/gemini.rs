//! The wire of Gemini against a server on 127.0.0.1 that speaks the published schema.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use windlass_core::message::{AssistantMessage, Content, Media, MediaSource, Part, ToolCall, ToolMessage};
use windlass_core::model::{FailureKind, ModelChoice, Purpose, ToolChoice, Usage};
use windlass_core::secret::Secret;
use windlass_core::{Message, ToolSpec};
use windlass_models::wires::gemini::{GEMINI, VERTEX};
use windlass_models::wires::{Dialect, Wire as _};
use windlass_models::{
    HttpModel, HttpModelConfig, Model, ModelRequest, PrefixCell, Reply, StopReason, assemble, conformance,
};

use crate::server::{Server, Step, chunk, json as json_steps, response, stream_end, stream_head};

pub mod schema;

const TEXT: &str = include_str!("../corpus/gemini/text.json");
const TEXT_STREAM: &str = include_str!("../corpus/gemini/text.sse");
const CALLS: &str = include_str!("../corpus/gemini/calls_stop.json");
const CALLS_STREAM: &str = include_str!("../corpus/gemini/calls_stop.sse");

fn config(base_url: &str) -> HttpModelConfig {
    let key = Some(Secret::from("key-of-gemini"));
    HttpModelConfig { allow_proxy: false, key, ..HttpModelConfig::new(&GEMINI, "google", base_url) }
}

fn adapter(base_url: &str) -> HttpModel {
    HttpModel::new(config(base_url)).expect("a good base URL")
}

/// A stream of events, a line at a time.
fn streamed(events: &str) -> Vec<Step> {
    let chunks = events.split_inclusive("\r\n").map(chunk);
    std::iter::once(stream_head()).chain(chunks).chain([stream_end()]).collect()
}

/// A server that streams where it is asked to.
async fn speaking(stream: &'static str, whole: &'static str) -> Server {
    Server::routes(move |path| {
        if path.contains(":streamGenerateContent?alt=sse") { streamed(stream) } else { json_steps(whole) }
    })
    .await
}

fn request(messages: Vec<Message>, stream: bool) -> ModelRequest {
    ModelRequest {
        model: ModelChoice { name: "google/gemini-3-flash".into(), ..ModelChoice::default() },
        purpose: Purpose::Act,
        prompt: Arc::new(vec![Arc::new(Message::system("Be brief."))]),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::default(),
        choice: ToolChoice::Auto,
        response_schema: None,
        cache: Vec::new(),
        stream,
        prefix: PrefixCell::default(),
    }
}

async fn ask(model: &HttpModel, request: ModelRequest) -> Result<Reply, windlass_models::ModelFailure> {
    let name = request.model.name.clone();
    assemble(model.call(request), name).await
}

#[tokio::test]
async fn the_gemini_adapter_conforms() {
    let server = speaking(TEXT_STREAM, TEXT).await;
    let request = conformance::request("google/gemini-3-flash", "Hi");
    conformance::live(&adapter(&server.url), &request).await.expect("it conforms");
    conformance::scripted(&adapter(&server.url), &request).await.expect("it conforms");
}

#[tokio::test]
async fn e45_paths_keys_and_bases_of_both_services() {
    let server = speaking(TEXT_STREAM, TEXT).await;
    for base in ["", "/", "/v1beta", "/v1beta/models"] {
        ask(&adapter(&format!("{}{base}", server.url)), request(vec![Message::user("Hi")], false))
            .await
            .expect("a reply");
    }
    ask(&adapter(&server.url), request(vec![Message::user("Hi")], true)).await.expect("a reply");
    let vertex = HttpModelConfig {
        wire: &VERTEX,
        ..config(&format!("{}/v1/projects/p/locations/l/publishers/google", server.url))
    };
    ask(&HttpModel::new(vertex).expect("good"), request(vec![Message::user("Hi")], true))
        .await
        .expect("a reply");
    // A header of the settings stands in for a key.
    let bearer = HttpModelConfig {
        key: None,
        headers: vec![("Authorization".to_owned(), Secret::from("Bearer token-of-vertex"))],
        ..config(&format!("{}/v1/projects/p/locations/l/publishers/google", server.url))
    };
    ask(&HttpModel::new(bearer).expect("good"), request(vec![Message::user("Hi")], true))
        .await
        .expect("a reply");
    let seen = server.seen();
    let lines: Vec<_> = seen.iter().map(|seen| seen.line.as_str()).collect();
    let usual = "POST /v1beta/models/gemini-3-flash:generateContent HTTP/1.1";
    let stream = "POST /v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse HTTP/1.1";
    let on_vertex = "POST /v1/projects/p/locations/l/publishers/google/models/gemini-3-flash:streamGenerateContent?alt=sse HTTP/1.1";
    assert_eq!(lines, [usual, usual, usual, usual, stream, on_vertex, on_vertex]);
    assert!(
        seen[0].head.contains("x-goog-api-key: key-of-gemini") && !seen[0].head.contains("Bearer"),
        "{}",
        seen[0].head
    );
    assert!(
        seen[5].head.contains("authorization: Bearer key-of-gemini")
            && !seen[5].head.contains("x-goog-api-key")
    );
    assert!(seen[6].head.contains("authorization: Bearer token-of-vertex"));
}

#[tokio::test]
async fn the_models_of_a_server() {
    let list = r#"{"models":[{"name":"models/gemini-3-flash","supportedGenerationMethods":["generateContent"]},{"name":"models/a"}]}"#;
    let server = Server::start(json_steps(list)).await;
    assert_eq!(adapter(&server.url).list_models().await.expect("a list"), ["a", "gemini-3-flash"]);
    assert_eq!(server.seen()[0].path(), "/v1beta/models?pageSize=1000");
}

/// The next message of a conversation: what the core makes of a reply.
fn said(reply: &Reply) -> AssistantMessage {
    let calls = reply.calls.iter().enumerate().map(|(at, call)| ToolCall {
        id: format!("call_1_{}", at + 1).into(),
        name: call.name.clone(),
        args: call.args.clone().into(),
        ..ToolCall::default()
    });
    AssistantMessage {
        text: reply.text.clone(),
        reasoning: reply.reasoning.clone(),
        media: reply.media.clone().into(),
        calls: calls.collect(),
        annotations: reply.annotations.clone(),
    }
}

/// A server that judges each request by the published schema, and answers good ones: the first with calls, then with text.
async fn judging(stream: bool) -> Server {
    let called = AtomicBool::new(false);
    Server::answering(move |seen| {
        let body: Value = serde_json::from_str(&seen.body).expect("JSON");
        let signed = if seen.path().contains("gemini-2") { Ok(()) } else { schema::check_signed(&body) };
        if let Err(fault) = schema::check(&body).and(signed) {
            let error = json!({ "error": { "code": 400, "message": fault, "status": "INVALID_ARGUMENT" } });
            return response("400 Bad Request", "content-type: application/json\r\n", &error.to_string());
        }
        match (called.swap(true, Ordering::SeqCst), stream) {
            (false, true) => streamed(CALLS_STREAM),
            (false, false) => json_steps(CALLS),
            (true, true) => streamed(TEXT_STREAM),
            (true, false) => json_steps(TEXT),
        }
    })
    .await
}

#[tokio::test]
async fn a_loop_of_calls_and_results_in_both_ways() {
    for stream in [true, false] {
        let server = judging(stream).await;
        let model = adapter(&server.url);
        let mut turn = request(vec![Message::user("How is it?")], stream);
        turn.model.reasoning = Some("low".into());
        turn.model.stop = vec!["END".into()];
        turn.model.strict = true;
        let reply = ask(&model, turn.clone()).await.expect("calls");
        assert_eq!((reply.stop, reply.calls.len()), (StopReason::ToolCalls, 2));
        assert_eq!(reply.usage, Usage { input: 40, output: 55, reasoning: 35, ..Usage::default() });
        turn.messages.push(Arc::new(Message::Assistant(said(&reply))));
        for (at, found) in ["rain", "sun"].into_iter().enumerate() {
            let call = format!("call_1_{}", at + 1).into();
            let result =
                ToolMessage { call, name: "get_weather".into(), content: found.into(), failed: false };
            turn.messages.push(Arc::new(Message::Tool(result)));
        }
        let last = ask(&model, turn).await.expect("an answer");
        assert_eq!(last.stop, StopReason::Stop);
        let body: Value = serde_json::from_str(&server.seen()[1].body).expect("JSON");
        let whole: Value = serde_json::from_str(CALLS).expect("JSON");
        assert_eq!(body["contents"][1]["parts"], whole["candidates"][0]["content"]["parts"], "as they came");
        let answers = ["rain", "sun"].map(
            |found| json!({ "functionResponse": { "name": "get_weather", "response": { "output": found } } }),
        );
        assert_eq!(body["contents"][2], json!({ "role": "user", "parts": answers }));
    }
}

/// Messages of all kinds, in the orders that a run may have them in.
fn histories() -> Vec<Vec<Message>> {
    let call = |id: &str, args: &str| ToolCall {
        id: id.into(),
        name: "look".into(),
        args: args.into(),
        ..ToolCall::default()
    };
    let calling = |text: Option<&str>, calls: Vec<ToolCall>| {
        Message::Assistant(AssistantMessage {
            text: text.map(Into::into),
            calls,
            ..AssistantMessage::default()
        })
    };
    let result = |id: &str, content: Content, failed: bool| {
        Message::Tool(ToolMessage { call: id.into(), name: "look".into(), content, failed })
    };
    let medium = |kind: &str, source: MediaSource| Media { media_type: kind.into(), name: None, source };
    let image = || Part::Image(medium("image/png", MediaSource::Base64("QUJD".into())));
    let zip = Part::File(medium("application/zip", MediaSource::Base64("QUJD".into())));
    let film = Part::File(medium("video/mp4", MediaSource::Url("https://example.com/a.mp4".into())));
    let shown = || Content::Parts(vec![Part::Text { text: "see".into() }, image(), zip.clone()]);
    let answered = |text: Option<&str>| {
        vec![
            calling(text, vec![call("toolu_1", "{\"q\":[1]}"), call("toolu_2", "oops")]),
            result("toolu_1", shown(), false),
            result("toolu_2", "no".into(), true),
        ]
    };
    let user = |content| Message::User { content, pinned: false };
    let made = AssistantMessage {
        media: [medium("image/png", MediaSource::Base64("QUJD".into()))].into(),
        ..AssistantMessage::default()
    };
    vec![
        Vec::new(),
        vec![Message::user("a")],
        vec![Message::user(""), user(Content::Parts(vec![image(), film, zip.clone()]))],
        answered(None),
        [vec![Message::user("a")], answered(Some("I look.")), vec![Message::user("b")]].concat(),
        [
            vec![Message::user("a")],
            answered(None),
            answered(None),
            vec![Message::assistant("done"), Message::user("x")],
        ]
        .concat(),
        [
            vec![Message::user("a"), Message::assistant("b")],
            answered(Some("")),
            vec![Message::system("s"), Message::user("c")],
        ]
        .concat(),
        [
            vec![Message::assistant("Hello"), Message::assistant("there"), Message::system("s")],
            answered(None),
        ]
        .concat(),
        vec![Message::user("draw"), Message::Assistant(made), Message::assistant(""), Message::user("more")],
    ]
}

#[tokio::test]
async fn e58_any_history_is_one_that_the_schema_allows() {
    let server = judging(false).await;
    let look = json!({ "name": "look", "description": "", "parameters": { "type": "object", "properties": { "q": {} } } });
    let ping = json!({ "name": "ping", "description": "Pings.", "parameters": { "type": "object" } });
    let tools: Vec<ToolSpec> = serde_json::from_value(json!([look, ping])).expect("tools");
    let choices =
        [ToolChoice::Auto, ToolChoice::None, ToolChoice::Required, ToolChoice::Named("look".into())];
    for (number, history) in histories().into_iter().enumerate() {
        for name in ["google/gemini-2.5-flash", "google/gemini-3-pro", "google/gemini-flash-latest"] {
            for choice in choices.clone() {
                let mut asked = request(history.clone(), false);
                asked.model = ModelChoice {
                    name: name.into(),
                    temperature: Some(0.5),
                    top_p: Some(0.9),
                    max_tokens: Some(50),
                    reasoning: Some("high".into()),
                    strict: number % 2 == 0,
                    ..ModelChoice::default()
                };
                asked.response_schema = Some(("answer".into(), Arc::new(json!({ "type": "object" }))));
                (asked.tools, asked.choice) = (Arc::new(tools.clone()), choice);
                ask(&adapter(&server.url), asked)
                    .await
                    .unwrap_or_else(|failure| panic!("history {number}, {name}: {failure}"));
            }
        }
    }
    // `tests/oracles/gemini.py` lets Google's library judge them, too.
    if let Some(file) = std::env::var_os("WINDLASS_ORACLE") {
        let bodies: Vec<_> = server.seen().into_iter().map(|seen| seen.body).collect();
        std::fs::write(file, bodies.join("\n")).expect("a writable file");
    }
}

#[tokio::test]
async fn json_in_place_of_events_whatever_the_content_type_says() {
    let list = include_str!("../corpus/gemini/json_list.json");
    for kind in ["text/event-stream", "application/json", "text/plain", "application/octet-stream"] {
        for body in [list, TEXT] {
            let server = Server::start(response("200 OK", &format!("content-type: {kind}\r\n"), body)).await;
            let asked = request(vec![Message::user("Hi")], true);
            let reply = ask(&adapter(&server.url), asked)
                .await
                .unwrap_or_else(|failure| panic!("{kind}: {failure:?}"));
            assert!(reply.text.is_some() && reply.stop == StopReason::Stop, "{kind}: {reply:?}");
        }
    }
    let server = Server::start(response("200 OK", "", list)).await;
    let reply =
        ask(&adapter(&server.url), request(vec![Message::user("Hi")], true)).await.expect("no type at all");
    assert_eq!(reply.text.as_deref(), Some("one two"));
}

#[tokio::test]
async fn e42_errors_with_their_words_status_and_wait() {
    let quota = include_str!("../corpus/gemini/quota.error.json");
    let quota_list = include_str!("../corpus/gemini/quota_list.error.json");
    for body in [quota, quota_list] {
        let server = Server::start(response("429 Too Many Requests", "", body)).await;
        let failure =
            ask(&adapter(&server.url), request(vec![Message::user("a")], true)).await.expect_err("refused");
        assert_eq!(
            (failure.kind, failure.status, failure.retry_after_ms),
            (FailureKind::RateLimited, Some(429), Some(7000))
        );
        assert_eq!(&*failure.message, "You exceeded your current quota. (429)");
    }
    for (status, code, words, word, kind) in [
        (
            "400 x",
            400,
            "API key not valid. Please pass a valid API key.",
            "INVALID_ARGUMENT",
            FailureKind::Auth,
        ),
        (
            "400 x",
            400,
            "The input token count (9) exceeds the maximum number of tokens allowed (1).",
            "INVALID_ARGUMENT",
            FailureKind::ContextLength,
        ),
        (
            "400 x",
            400,
            "Function calling is not enabled for models/gemma-3-27b-it",
            "INVALID_ARGUMENT",
            FailureKind::Unsupported,
        ),
        (
            "400 x",
            400,
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.",
            "INVALID_ARGUMENT",
            FailureKind::BadRequest,
        ),
        (
            "400 x",
            400,
            "User location is not supported for the API use.",
            "FAILED_PRECONDITION",
            FailureKind::BadRequest,
        ),
        ("403 x", 403, "Permission denied.", "PERMISSION_DENIED", FailureKind::Auth),
        ("404 x", 404, "models/x is not found for API version v1beta", "NOT_FOUND", FailureKind::NotFound),
        ("500 x", 500, "An internal error has occurred.", "INTERNAL", FailureKind::Server),
        ("503 x", 503, "The model is overloaded.", "UNAVAILABLE", FailureKind::Overloaded),
        ("504 x", 504, "Deadline expired.", "DEADLINE_EXCEEDED", FailureKind::Server),
    ] {
        let body = json!({ "error": { "code": code, "message": words, "status": word } }).to_string();
        let server = Server::start(response(status, "content-type: application/json\r\n", &body)).await;
        let failure =
            ask(&adapter(&server.url), request(vec![Message::user("a")], false)).await.expect_err("refused");
        assert_eq!(failure.kind, kind, "{words}");
        assert!(failure.message.starts_with(words), "{}", failure.message);
        assert_eq!(failure.refuses.is_some(), kind == FailureKind::Unsupported, "{words}");
    }
}

#[tokio::test]
async fn errors_and_ends_within_a_stream_have_the_usage_so_far() {
    for (stream, kind, usage) in [
        (include_str!("../corpus/gemini/error_in_stream.sse"), FailureKind::Overloaded, (5, 2)),
        (include_str!("../corpus/gemini/end_unexpected_tool_call.sse"), FailureKind::Server, (50, 30)),
    ] {
        let server = Server::start(streamed(stream)).await;
        let failure =
            ask(&adapter(&server.url), request(vec![Message::user("a")], true)).await.expect_err("it failed");
        assert_eq!((failure.kind, failure.usage.input, failure.usage.output), (kind, usage.0, usage.1));
    }
}

#[test]
fn issue_27_cached_content_goes_out_alone() {
    let wire = GEMINI;
    let set = json!({ "name": "gemini/gemini-2.5-pro", "options": { "cached_content": "cachedContents/a" } });
    let choice: ModelChoice = serde_json::from_value(set).expect("a choice");
    let asked = |messages: Vec<Message>| ModelRequest::new(choice.clone(), messages);
    let dialect = Dialect::default();
    let alone = asked(vec![Message::user("Hi")]);
    assert_eq!(wire.refuses(&dialect, &alone), None);
    let body: Value = serde_json::from_slice(&wire.encode(&dialect, &alone).body).expect("JSON");
    assert_eq!(body["cachedContent"], "cachedContents/a");
    let mut with_tool = alone.clone();
    with_tool.tools = Arc::new(vec![ToolSpec::new("f", "", json!({}))]);
    let instructed = asked(vec![Message::system("S"), Message::user("Hi")]);
    for refused in [with_tool, instructed] {
        assert!(wire.refuses(&dialect, &refused).expect("a refusal").contains("`cached_content`"));
    }
}
