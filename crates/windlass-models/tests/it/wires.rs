//! What goes over the wire when all is well.

use std::sync::Arc;

use futures_util::StreamExt;
use windlass_core::Message;
use windlass_core::message::AssistantMessage;
use windlass_core::model::Usage;
use windlass_core::secret::Secret;
use windlass_error::Diagnostic as _;
use windlass_models::{
    Delta, HttpModel, HttpModelConfig, Model, ModelError, ModelSettings, assemble, resolve,
};

use crate::server::*;

#[tokio::test]
async fn e45_every_form_of_a_base_url_reaches_the_same_path() {
    let server = Server::start(json(HELLO_WHOLE)).await;
    for end in ["", "/", "/v1", "/v1/"] {
        ask(&adapter(&format!("{}{end}", server.url)), false).await.expect("a reply");
    }
    ask(&adapter(&format!("{}/api/paas/v4", server.url)), false).await.expect("a reply");
    let lines: Vec<_> = server.seen().into_iter().map(|seen| seen.line).collect();
    let usual = "POST /v1/chat/completions HTTP/1.1";
    assert_eq!(lines, [usual, usual, usual, usual, "POST /api/paas/v4/chat/completions HTTP/1.1"]);
    assert_eq!(server.connections(), 1, "all adapters of a process share their connections");
}

#[tokio::test]
async fn e15_streaming_and_blocking_give_the_same_reply() {
    let streaming = Server::start(events(&HELLO)).await;
    let blocking = Server::start(json(HELLO_WHOLE)).await;
    let streamed = ask(&adapter(&streaming.url), true).await.expect("a reply");
    let whole = ask(&adapter(&blocking.url), false).await.expect("a reply");
    assert_eq!(streamed, whole);
    assert_eq!(whole.text.as_deref(), Some("Hello"));
    assert_eq!(whole.usage, Usage { input: 7, output: 2, ..Usage::default() });
    assert_eq!(&*whole.model, "test/m1", "by the name that was asked for");
    let asked = |server: &Server| server.seen().remove(0).body;
    assert_eq!(
        asked(&streaming),
        r#"{"model":"m1","messages":[{"role":"user","content":"Hi"}],"stream":true,"stream_options":{"include_usage":true}}"#
    );
    assert_eq!(asked(&blocking), r#"{"model":"m1","messages":[{"role":"user","content":"Hi"}]}"#);
}

#[tokio::test]
async fn pieces_come_one_by_one_and_whole_replies_at_once() {
    let streaming = Server::start(events(&HELLO)).await;
    let pieces: Vec<_> = adapter(&streaming.url).call(request(true)).collect().await;
    assert_eq!(pieces[0], Ok(Delta::Text("Hel".into())));
    assert_eq!(pieces[1], Ok(Delta::Text("lo".into())));
    assert_eq!(pieces.len(), 4, "text, text, stop, usage");
    let blocking = Server::start(json(HELLO_WHOLE)).await;
    let whole: Vec<_> = adapter(&blocking.url).call(request(false)).collect().await;
    assert!(matches!(whole.as_slice(), [Ok(Delta::Whole(_))]), "{whole:?}");
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let server = Server::start(json(HELLO_WHOLE)).await;
    let pieces: Vec<_> = adapter(&server.url).call(request(true)).collect().await;
    assert!(matches!(pieces.as_slice(), [Ok(Delta::Whole(_))]), "{pieces:?}");
}

#[tokio::test]
async fn a_server_that_streams_unasked_is_understood() {
    let server = Server::start(events(&HELLO)).await;
    assert_eq!(ask(&adapter(&server.url), false).await.expect("a reply").text.as_deref(), Some("Hello"));
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_stream() {
    let server = Server::start(events(&HELLO)).await;
    let model = adapter(&server.url);
    for _ in 0..3 {
        ask(&model, true).await.expect("a reply");
    }
    assert_eq!((server.connections(), server.seen().len()), (1, 3));
}

#[tokio::test]
async fn a_server_that_stays_open_after_the_end_is_left() {
    let mut steps = events(&HELLO);
    steps.pop();
    steps.push(Step::Hang);
    let mut server = Server::start(steps).await;
    assert_eq!(ask(&adapter(&server.url), true).await.expect("a reply").text.as_deref(), Some("Hello"));
    server.connection_gone().await;
}

#[tokio::test]
async fn e19_dropping_the_stream_ends_the_call() {
    let mut server =
        Server::start(vec![stream_head(), chunk(&format!("data: {}\n\n", HELLO[0])), Step::Hang]).await;
    let mut deltas = adapter(&server.url).call(request(true));
    assert_eq!(deltas.next().await, Some(Ok(Delta::Text("Hel".into()))));
    drop(deltas);
    server.connection_gone().await;
}

#[tokio::test]
async fn e19_dropping_a_call_that_waits_for_its_head_ends_it() {
    let mut server = Server::start(vec![Step::Hang]).await;
    let mut deltas = adapter(&server.url).call(request(false));
    assert!(futures_util::poll!(deltas.next()).is_pending());
    while server.seen().is_empty() {
        assert!(futures_util::poll!(deltas.next()).is_pending());
        tokio::task::yield_now().await;
    }
    drop(deltas);
    server.connection_gone().await;
}

#[tokio::test]
async fn a32_e43_keys_and_headers_reach_only_their_own_server() {
    let (one, two) = (Server::start(json(HELLO_WHOLE)).await, Server::start(json(HELLO_WHOLE)).await);
    let model = |server: &Server, key: &str, header: (&str, &str)| {
        let headers = vec![(header.0.to_owned(), Secret::from(header.1))];
        HttpModel::new(HttpModelConfig { key: Some(key.into()), headers, ..config(&server.url) })
            .expect("good")
    };
    let first = model(&one, "key-of-one", ("X-Team", "team-of-one"));
    let second = model(&two, "key-of-two", ("api-key", "other-of-two"));
    for _ in 0..2 {
        ask(&first, false).await.expect("a reply");
        ask(&second, false).await.expect("a reply");
    }
    for (server, has, lacks) in [
        (&one, ["authorization: Bearer key-of-one", "x-team: team-of-one"], ["of-two", "api-key"]),
        (&two, ["authorization: Bearer key-of-two", "api-key: other-of-two"], ["of-one", "x-team"]),
    ] {
        for seen in server.seen() {
            assert!(has.iter().all(|words| seen.head.contains(words)), "{}", seen.head);
            assert!(!lacks.iter().any(|words| seen.head.contains(words)), "{}", seen.head);
        }
    }
}

#[tokio::test]
async fn e43_a_redirect_is_not_followed_with_the_key() {
    let other = Server::start(json(HELLO_WHOLE)).await;
    let location = format!("location: {}/v1/chat/completions\r\n", other.url);
    let server = Server::start(response("307 Temporary Redirect", &location, "")).await;
    let model =
        HttpModel::new(HttpModelConfig { key: Some("the-key".into()), ..config(&server.url) }).expect("good");
    let failure = ask(&model, false).await.expect_err("a redirect");
    assert!(failure.message.contains(&other.url), "{}", failure.message);
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn a_header_named_authorization_stands_in_for_the_key() {
    let server = Server::start(json(HELLO_WHOLE)).await;
    let headers = vec![("Authorization".to_owned(), Secret::from("Basic abc"))];
    let own = HttpModelConfig { key: Some("the-key".into()), headers, ..config(&server.url) };
    ask(&HttpModel::new(own).expect("good"), false).await.expect("a reply");
    let head = server.seen().remove(0).head;
    assert!(head.contains("authorization: Basic abc") && !head.contains("the-key"), "{head}");
}

#[test]
fn headers_that_cannot_be_sent_are_refused_without_their_value() {
    for (name, value) in [("a b", "x"), ("fine", "line\nbreak-of-secret")] {
        let headers = vec![(name.to_owned(), Secret::from(value))];
        let error = HttpModel::new(HttpModelConfig { headers, ..config("http://h") }).expect_err("refused");
        assert!(matches!(&error, ModelError::BadHeader { name: bad } if bad == name), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
    let key = Some(Secret::from("new\nline"));
    assert!(HttpModel::new(HttpModelConfig { key, ..config("http://h") }).is_err());
}

#[test]
fn e53_debug_shows_no_secret() {
    let headers = vec![("x-key".to_owned(), Secret::from("secret-two"))];
    let config = HttpModelConfig { key: Some("secret-one".into()), headers, ..config("http://127.0.0.1:1") };
    let shown = format!("{config:?} {:?}", HttpModel::new(config.clone()).expect("good"));
    assert!(!shown.contains("secret-one") && !shown.contains("secret-two"), "{shown}");
}

#[tokio::test]
async fn the_models_of_a_server_are_listed() {
    let server =
        Server::start(json(r#"{"object":"list","data":[{"id":"b"},{"id":"a","owned_by":"x"}]}"#)).await;
    assert_eq!(adapter(&server.url).list_models().await.expect("a list"), ["a", "b"]);
    assert_eq!(server.seen()[0].line, "GET /v1/models HTTP/1.1");
    let refusing = Server::start(response("401 Unauthorized", "", r#"{"error":{"message":"no key"}}"#)).await;
    let error = adapter(&refusing.url).list_models().await.expect_err("refused");
    assert_eq!((error.code(), error.to_string().as_str()), ("model_failed", "no key (401)"));
}

/// Run as a child of the test below, with HTTP_PROXY set.
#[tokio::test]
#[ignore = "only with HTTP_PROXY, from the test beside it"]
async fn child_with_a_proxy() {
    let through = HttpModelConfig { allow_proxy: true, ..config("http://model.invalid/v1") };
    ask(&HttpModel::new(through).expect("good"), false).await.expect("the proxy's reply");
    let past = ask(&adapter("http://model.invalid/v1"), false).await;
    assert!(past.is_err(), "without allow_proxy nobody answers for .invalid");
}

#[tokio::test]
async fn e45_a_proxy_is_asked_where_the_variables_say_so() {
    let proxy = Server::start(json(HELLO_WHOLE)).await;
    let (url, program) = (proxy.url.clone(), std::env::current_exe().expect("this test"));
    let child = tokio::task::spawn_blocking(move || {
        std::process::Command::new(program)
            .args(["--exact", "wires::child_with_a_proxy", "--ignored"])
            .env("HTTP_PROXY", &url)
            .env("http_proxy", url)
            .env_remove("NO_PROXY")
            .env_remove("no_proxy")
            .output()
    });
    let output = child.await.expect("no panic").expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let lines: Vec<_> = proxy.seen().into_iter().map(|seen| seen.line).collect();
    assert_eq!(lines, ["POST http://model.invalid/v1/chat/completions HTTP/1.1"]);
}

/// The dialects' files: a stream and the whole reply of one name are the same reply, over HTTP.
#[tokio::test]
async fn the_files_of_the_chat_dialects_are_the_same_reply_streamed_and_whole() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/openai_chat");
    let mut both = 0;
    for entry in std::fs::read_dir(&folder).expect("the corpus") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".sse") else { continue };
        let Ok(body) = std::fs::read_to_string(folder.join(format!("{stem}.json"))) else { continue };
        let stream = std::fs::read_to_string(&path).expect("a stream");
        let returns = name.contains(".return.");
        let read = async |kind: &str, body: &str, stream: bool| {
            let server = Server::start(response("200 OK", &format!("content-type: {kind}\r\n"), body)).await;
            let own = HttpModelConfig { return_reasoning: Some(returns), ..config(&server.url) };
            ask(&HttpModel::new(own).expect("good"), stream).await.expect("a reply")
        };
        let whole = read("application/json", &body, false).await;
        assert_eq!(read("text/event-stream", &stream, true).await, whole, "{stem}");
        both += 1;
    }
    assert!(both >= 8, "{both} files");
}

/// The key of an agent file, from the settings to the bytes of the next request.
#[tokio::test]
async fn e44_reasoning_goes_back_where_the_settings_say_so() {
    let thought = r#"{"choices":[{"message":{"role":"assistant","content":"Four.","reasoning_content":"Two and two."},"finish_reason":"stop"}]}"#;
    let server = Server::start(json(thought)).await;
    for (returned, sent) in [(Some(true), true), (Some(false), false), (None, false)] {
        let settings = ModelSettings {
            base_url: Some(server.url.clone()),
            return_reasoning: returned,
            ..ModelSettings::named("test/m1")
        };
        let model = resolve(&settings, &|_| None).expect("it resolves");
        let first = assemble(model.call(request(false)), "test/m1").await.expect("a reply");
        let said =
            AssistantMessage { text: first.text, reasoning: first.reasoning, ..AssistantMessage::default() };
        let mut next = request(false);
        next.messages = [Message::user("Hi"), Message::Assistant(said), Message::user("And?")]
            .into_iter()
            .map(Arc::new)
            .collect();
        assemble(model.call(next), "test/m1").await.expect("a reply");
        let body = server.seen().pop().expect("a request").body;
        assert_eq!(body.contains(r#""reasoning_content":"Two and two.""#), sent, "{returned:?}: {body}");
    }
}

#[test]
fn k54_a_model_tells_before_it_is_asked_which_settings_it_does_not_take() {
    let wire = windlass_models::wires::wire("anthropic_messages").expect("a wire");
    let model = HttpModel::new(HttpModelConfig { wire, ..config("http://127.0.0.1:1") }).expect("good");
    let choice = |temperature: f64| windlass_core::model::ModelChoice {
        name: "test/claude-haiku-4-5".into(),
        temperature: Some(temperature),
        ..Default::default()
    };
    assert!(model.unsent(&choice(0.5)).is_empty());
    let said = "model test/claude-haiku-4-5: temperature: the nearest value from 0 to 1 is sent, because the API takes no other";
    assert_eq!(model.unsent(&choice(1.5)), [said]);
    assert_eq!(model.unsent(&choice(1.5)), [said], "each agent is told");
}
