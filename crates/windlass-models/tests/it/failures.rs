//! What goes wrong, and what it is called.

use futures_util::StreamExt;
use tokio::net::TcpListener;
use windlass_core::model::{FailureKind, MAX_REPLY_BYTES, StopReason, Usage};
use windlass_core::secret::Secret;
use windlass_models::http::KeyCommand;
use windlass_models::{Delta, HttpModel, HttpModelConfig, Model};

use crate::server::*;

#[tokio::test]
async fn e42_a_refused_connection_names_the_host() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let failure = ask(&adapter(&format!("http://{address}")), true).await.expect_err("nobody is there");
    assert_eq!((failure.kind, failure.status), (FailureKind::Connect, None));
    assert!(failure.message.starts_with(&format!("no connection to {address}: ")), "{}", failure.message);
    assert!(failure.message.contains("refused"), "{}", failure.message);
}

#[tokio::test]
async fn e45_a_tls_error_names_the_host() {
    let speak_plain = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let plain = speak_plain.local_addr().expect("an address");
    let answer = tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut stream, _) = speak_plain.accept().await.expect("a client");
        let mut hello = [0; 16];
        stream.read_exact(&mut hello).await.expect("a hello");
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.expect("sent");
    });
    let failure = ask(&adapter(&format!("https://{plain}")), true).await.expect_err("no TLS there");
    answer.await.expect("no panic");
    assert_eq!(failure.kind, FailureKind::Connect);
    assert!(failure.message.starts_with(&format!("no TLS connection to {plain}: ")), "{}", failure.message);
}

#[tokio::test]
async fn a_connection_closed_before_the_reply() {
    let server = Server::start(vec![Step::Close]).await;
    let failure = ask(&adapter(&server.url), false).await.expect_err("closed");
    assert_eq!(failure.kind, FailureKind::Connect);
    assert!(failure.message.starts_with("no reply from 127.0.0.1:"), "{}", failure.message);
}

#[tokio::test]
async fn e16_a_stream_that_breaks_is_cut_with_the_usage_so_far() {
    let counted =
        r#"{"choices":[{"delta":{"content":"lo"}}],"usage":{"prompt_tokens":7,"completion_tokens":2}}"#;
    let mut steps = events(&[HELLO[0], counted]);
    *steps.last_mut().expect("an end") = Step::Close;
    let server = Server::start(steps).await;
    let mut deltas = adapter(&server.url).call(request(true));
    assert_eq!(deltas.next().await, Some(Ok(Delta::Text("Hel".into()))));
    assert_eq!(deltas.next().await, Some(Ok(Delta::Text("lo".into()))));
    assert!(matches!(deltas.next().await, Some(Ok(Delta::Usage(_)))));
    let failure = deltas.next().await.expect("an end").expect_err("it broke");
    assert_eq!(failure.kind, FailureKind::Cut);
    assert_eq!(failure.usage, Usage { input: 7, output: 2, ..Usage::default() });
    assert!(deltas.next().await.is_none(), "nothing comes after a failure");
}

#[tokio::test]
async fn e13_a_stream_that_ends_too_soon_is_cut_and_a_finish_reason_makes_it_whole() {
    let early = Server::start(events(&HELLO[..1])).await;
    let failure = ask(&adapter(&early.url), true).await.expect_err("no finish reason");
    assert_eq!(failure.kind, FailureKind::Cut);
    let no_done = Server::start(events(&HELLO[..2])).await;
    assert_eq!(ask(&adapter(&no_done.url), true).await.expect("whole").text.as_deref(), Some("Hello"));
    let mut broken = events(&HELLO[..2]);
    *broken.last_mut().expect("an end") = Step::Close;
    let broken = Server::start(broken).await;
    assert_eq!(ask(&adapter(&broken.url), true).await.expect("whole").text.as_deref(), Some("Hello"));
}

#[tokio::test]
async fn a_body_cut_short_is_cut() {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"choices\":";
    let server = Server::start(vec![Step::Send(head.into()), Step::Close]).await;
    assert_eq!(ask(&adapter(&server.url), false).await.expect_err("cut").kind, FailureKind::Cut);
}

#[tokio::test]
async fn a_200_that_is_no_reply_is_a_protocol_failure() {
    for stream in [false, true] {
        for body in ["<html>Welcome</html>", "{\"ok\":true}", "not json"] {
            for kind in ["text/html", "application/json", "text/plain", "text/event-stream"] {
                let server =
                    Server::start(response("200 OK", &format!("content-type: {kind}\r\n"), body)).await;
                let failure = ask(&adapter(&server.url), stream).await.expect_err("no reply");
                assert_eq!(failure.kind, FailureKind::Protocol, "{body} as {kind}, stream {stream}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_no_http_at_all() {
    let server = Server::start(vec![Step::Send(b"\x00\x01garbage\r\n\r\n".to_vec()), Step::Close]).await;
    let failure = ask(&adapter(&server.url), false).await.expect_err("garbage");
    assert!(failure.message.starts_with("no reply from 127.0.0.1:"), "{}", failure.message);
}

#[tokio::test]
async fn a_body_beyond_the_bound_is_refused() {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        MAX_REPLY_BYTES * 4
    );
    let server = Server::start(vec![Step::Send(head.into()), Step::Flood(vec![b' '; 1 << 20])]).await;
    let failure = ask(&adapter(&server.url), false).await.expect_err("too long");
    assert_eq!(failure.kind, FailureKind::TooLarge);
    let words =
        "the body of the reply is longer than 51380224 bytes (the model's max_reply_bytes is 16777216)";
    assert_eq!(&*failure.message, words);
}

#[tokio::test]
async fn an_event_beyond_the_bound_is_refused() {
    let server = Server::start(vec![stream_head(), Step::Flood(chunk_bytes(&"x".repeat(1 << 20)))]).await;
    let failure = ask(&adapter(&server.url), true).await.expect_err("too long");
    assert_eq!(failure.kind, FailureKind::TooLarge);
    assert!(failure.message.contains("longer than 51380224 bytes"), "{}", failure.message);
}

#[tokio::test]
async fn e42_errors_with_their_status_words_and_wait() {
    let refused =
        r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#;
    for stream in [false, true] {
        let server = Server::start(response("429 Too Many Requests", "Retry-After: 2\r\n", refused)).await;
        let failure = ask(&adapter(&server.url), stream).await.expect_err("refused");
        assert_eq!((failure.kind, failure.status), (FailureKind::RateLimited, Some(429)));
        assert_eq!((&*failure.message, failure.retry_after_ms), ("Rate limit reached (429)", Some(2000)));
        assert_eq!(&*failure.model, "test/m1");
        assert_eq!(server.seen().len(), 1, "one request a call: retries are the core's");
    }
    // Times that do not exist or cannot be read name no wait, and that there is one all the same.
    for odd in [
        "Fri, 31 Feb 2026 10:00:00 GMT",
        "Mon, 00 Jan 0000 00:00:00 GMT",
        "Fri, 26 Nov 9999 10:00:00",
        "-5",
        "",
        "soon",
    ] {
        let head = format!("Retry-After: {odd}\r\n");
        let server = Server::start(response("429 Too Many Requests", &head, refused)).await;
        let failure = ask(&adapter(&server.url), true).await.expect_err("refused");
        assert_eq!((failure.kind, failure.retry_after_ms), (FailureKind::RateLimited, Some(1_000)), "{odd}");
    }
    let date = Server::start(response("503 x", "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n", "")).await;
    let failure = ask(&adapter(&date.url), true).await.expect_err("refused");
    assert_eq!((failure.kind, failure.retry_after_ms), (FailureKind::Overloaded, Some(3_024_000_000)));
    assert_eq!(&*failure.message, "Service Unavailable (503)");
}

#[tokio::test]
async fn a_404_names_model_and_address() {
    let server =
        Server::start(response("404 Not Found", "", r#"{"error":{"message":"no such model"}}"#)).await;
    let failure = ask(&adapter(&server.url), true).await.expect_err("not found");
    assert_eq!(failure.kind, FailureKind::NotFound);
    let expected = format!("no such model (404) (model `test/m1` at {}/v1/chat/completions)", server.url);
    assert_eq!(&*failure.message, expected);
}

#[tokio::test]
async fn an_error_body_without_end_is_read_in_part() {
    let head = b"HTTP/1.1 500 Internal Server Error\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let mut server =
        Server::start(vec![Step::Send(head), Step::Flood(chunk_bytes(&"no ".repeat(10_000)))]).await;
    let failure = ask(&adapter(&server.url), true).await.expect_err("an error");
    assert_eq!((failure.kind, failure.status), (FailureKind::Server, Some(500)));
    assert!(failure.message.starts_with("no no ") && failure.message.len() < 3000);
    server.connection_gone().await;
}

#[tokio::test]
async fn an_error_inside_a_200_is_a_failure() {
    let body = r#"{"error":{"message":"the model is overloaded","code":503}}"#;
    for steps in [json(body), events(&[HELLO[0], body])] {
        let server = Server::start(steps).await;
        let failure = ask(&adapter(&server.url), true).await.expect_err("an error");
        assert_eq!((failure.kind, failure.status), (FailureKind::Overloaded, Some(503)));
        assert_eq!(&*failure.message, "the model is overloaded");
    }
}

#[tokio::test]
async fn e53_a_provider_that_repeats_the_key_does_not_give_it_away() {
    let echo = r#"{"error":{"message":"Incorrect API key provided: sk-secret-1. Header was hdr-secret-2"}}"#;
    for steps in [response("401 Unauthorized", "", echo), json(echo), json("sk-secret-1 hdr-secret-2")] {
        let server = Server::start(steps).await;
        let headers = vec![("x-extra".to_owned(), Secret::from("hdr-secret-2"))];
        let own = HttpModelConfig { key: Some("sk-secret-1".into()), headers, ..config(&server.url) };
        let failure = ask(&HttpModel::new(own).expect("good"), false).await.expect_err("an error");
        let shown = format!("{failure:?}");
        assert!(shown.contains("***") && !shown.contains("secret"), "{shown}");
    }
}

/// Groq's 400 for a malformed call is a reply with that call, so that the model is told of it.
#[tokio::test]
async fn a_malformed_call_behind_a_400_is_a_reply() {
    let error = r#"{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"{\"name\":\"f\",\"arguments\":{\"x\":"}}"#;
    let server = Server::start(response("400 Bad Request", "", error)).await;
    for stream in [false, true] {
        let reply = ask(&adapter(&server.url), stream).await.expect("a reply");
        assert_eq!(reply.stop, StopReason::ToolCalls);
        assert_eq!(&*reply.calls[0].args, r#"{"name":"f","arguments":{"x":"#, "as the model wrote it");
        assert!(reply.usage.estimated);
    }
}

/// The first byte tells JSON from events, whatever the type says.
#[tokio::test]
async fn a_reply_with_no_or_a_wrong_content_type_decodes() {
    let stream = HELLO.map(|event| format!("data: {event}\n\n")).concat();
    for kind in [
        "",
        "content-type: text/plain\r\n",
        "content-type: text/event-stream\r\n",
        "content-type: application/json\r\n",
    ] {
        for asked in [false, true] {
            for body in [HELLO_WHOLE, &format!("\n {HELLO_WHOLE}"), &stream, &format!(": hi\n\n{stream}")] {
                let server = Server::start(response("200 OK", kind, body)).await;
                let reply = ask(&adapter(&server.url), asked).await;
                let reply = reply.unwrap_or_else(|failure| panic!("{kind:?} {asked} {body}: {failure}"));
                assert_eq!(
                    (reply.text.as_deref(), reply.usage.input),
                    (Some("Hello"), 7),
                    "{kind:?} {asked} {body}"
                );
            }
        }
    }
}

/// A script that prints another key each time, and notes each run in a file.
fn counting(name: &str) -> (std::path::PathBuf, Vec<String>) {
    let file = std::env::temp_dir().join(format!("windlass-{name}-{}", std::process::id()));
    std::fs::remove_file(&file).ok();
    let line = format!("echo x >> {0}; echo command-key-$(wc -l < {0})", file.display());
    (file, vec![line])
}

fn runs(file: &std::path::Path) -> usize {
    std::fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

#[tokio::test]
async fn e62_a_command_s_key_is_kept_until_a_server_refuses_it() {
    let (file, words) = counting("kept");
    let server = Server::start(json(HELLO_WHOLE)).await;
    let command =
        HttpModelConfig { key_command: Some(KeyCommand::shared(&words, None)), ..config(&server.url) };
    let model = HttpModel::new(command.clone()).expect("good");
    assert_eq!(runs(&file), 0, "it runs when the model is called");
    ask(&model, false).await.expect("a reply");
    ask(&HttpModel::new(command.clone()).expect("good"), true).await.expect("a reply");
    assert_eq!(runs(&file), 1, "one key for all adapters");
    let keys: Vec<bool> =
        server.seen().iter().map(|seen| seen.head.contains("Bearer command-key-1\r\n")).collect();
    assert_eq!(keys, [true, true], "{:?}", server.seen());
    assert_eq!(windlass_core::secret::mask("it is command-key-1"), "it is ***", "it is masked from then on");
    // Refused: the command runs once more, and the call is made once more.
    let closed = Server::start(response("401 Unauthorized", "", r#"{"error":{"message":"expired"}}"#)).await;
    let refused = HttpModel::new(HttpModelConfig { base_url: closed.url.clone(), ..command }).expect("good");
    let failure = ask(&refused, false).await.expect_err("refused");
    assert_eq!((failure.kind, &*failure.message), (FailureKind::Auth, "expired (401)"));
    assert_eq!((runs(&file), closed.seen().len()), (2, 2));
    // The new key was refused, too: the next call makes one, and does not ask twice.
    ask(&refused, false).await.expect_err("refused");
    assert_eq!((runs(&file), closed.seen().len()), (3, 3));
    std::fs::remove_file(&file).ok();
}

#[tokio::test]
async fn e42_a_401_on_a_static_key_fails_at_once() {
    let server = Server::start(response("401 Unauthorized", "", r#"{"error":{"message":"no"}}"#)).await;
    let own = HttpModelConfig {
        key: Some("static-key".into()),
        key_command: Some(KeyCommand::shared(&["true".into()], None)),
        ..config(&server.url)
    };
    let failure = ask(&HttpModel::new(own).expect("good"), true).await.expect_err("refused");
    assert_eq!((failure.kind, server.seen().len()), (FailureKind::Auth, 1));
    assert!(!failure.kind.retryable());
}

#[tokio::test]
async fn e62_a_command_that_fails_is_an_auth_failure_without_a_request() {
    let server = Server::start(json(HELLO_WHOLE)).await;
    let command = KeyCommand::shared(&["echo please log in >&2; false".into()], None);
    let own = HttpModelConfig { key_command: Some(command), ..config(&server.url) };
    let model = HttpModel::new(own).expect("good");
    let failure = ask(&model, true).await.expect_err("no key");
    assert_eq!((failure.kind, &*failure.model), (FailureKind::Auth, "test/m1"));
    assert!(failure.message.ends_with(": please log in"), "{}", failure.message);
    assert!(model.list_models().await.is_err());
    assert!(server.seen().is_empty());
}
