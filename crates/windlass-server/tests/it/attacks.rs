//! E49: bad requests, slow ones and half ones get a clear error and hurt nobody.

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use windlass_server::{Requests, Settings};
use windlass_store::MemoryLog;

use crate::client::SOON;
use crate::ground::{Ground, settings};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// The paths that take a body, with a run in them.
fn posts(run: &str) -> Vec<String> {
    let document = windlass_server::openapi();
    let paths = document["paths"].as_object().unwrap();
    let posts = paths.iter().filter(|(_, methods)| methods.get("post").is_some());
    posts.map(|(path, _)| path.replace("{run}", run)).collect()
}

#[tokio::test]
async fn e49_a_body_that_does_not_fit_is_refused_on_every_route() {
    let ground = Ground::new().await;
    let run = ground.run("hi").await;
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_field = format!(r#"{{"agent":"clerk","input":{deep}}}"#);
    let bodies = [
        "{",
        "nonsense",
        "[]",
        "7",
        "null",
        "\"text\"",
        r#"{"unknown":1}"#,
        "{\"agent\":\"\u{0}\"}",
        &deep,
        &deep_field,
        r#"{"agent":7,"input":{}}"#,
        r#"{"at":-1}"#,
        r#"{"at":1e400}"#,
        r#"{"seen":99999999999999999999999}"#,
        r#"{"question":[],"answer":7}"#,
        r#"{"message":{}}"#,
    ];
    for path in posts(&run) {
        for body in bodies {
            let reply = ground.client.send("POST", &path, &JSON, body).await;
            let (status, _) = reply.refusal();
            assert!((400..500).contains(&status), "{path}: {status} for {}", &body[..body.len().min(60)]);
        }
        let reply = ground.client.send("POST", &path, &[("content-type", "text/xml")], "<a/>").await;
        assert_eq!(reply.refusal(), (415, "request.media_type".to_owned()), "{path}");
        for method in ["PUT", "DELETE", "PATCH"] {
            let reply = ground.client.send(method, &path, &[], "").await;
            assert_eq!(reply.refusal(), (405, "request.method".to_owned()), "{method} {path}");
            assert!(reply.headers["allow"].to_str().unwrap().contains("POST"));
        }
    }
}

#[tokio::test]
async fn e49_paths_queries_and_headers_that_do_not_fit_are_refused() {
    let ground = Ground::new().await;
    let run = ground.run("hi").await;
    for path in [
        "/v1/runs/nonsense",
        "/v1/runs/%ff",
        "/v1/runs/%00",
        "/v1/runs?limit=x",
        "/v1/runs?limit=-1",
        "/v1/runs?unknown=1",
    ] {
        let (status, _) = ground.client.get(path).await.refusal();
        assert_eq!(status, 400, "{path}");
    }
    for path in ["/", "/v1", "/v1/", "/v1/nothing", "//v1/runs", "/v1/runs/"] {
        assert_eq!(ground.client.get(path).await.refusal(), (404, "request.path".to_owned()), "{path}");
    }
    for key in ["", " ", &"k".repeat(257)] {
        let headers = [JSON[0], ("idempotency-key", key)];
        let reply = ground.client.send("POST", &format!("/v1/runs/{run}/cancel"), &headers, "{}").await;
        assert_eq!(reply.refusal(), (400, "request.value".to_owned()), "{key:?}");
    }
}

#[tokio::test]
async fn e49_a_body_that_is_too_large_is_refused_whether_or_not_it_says_so() {
    let requests = Requests { body_bytes: 1_000, ..Requests::default() };
    let ground = Ground::with(Settings { requests, ..settings() }, Arc::new(MemoryLog::new())).await;
    let big = format!(r#"{{"agent":"clerk","input":"{}"}}"#, "x".repeat(2_000));
    let reply = ground.client.send("POST", "/v1/runs", &JSON, &big).await;
    assert_eq!(reply.refusal(), (413, "request.too_large".to_owned()));
    let token = ground.client.token.clone().unwrap();
    let head = format!(
        "POST /v1/runs HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n"
    );
    let chunk = format!("400\r\n{}\r\n", "x".repeat(0x400));
    let reply = ground.client.raw(format!("{head}{chunk}{chunk}0\r\n\r\n").as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 413 ") && reply.contains("request.too_large"), "{reply}");
}

/// The body of the last reply in a text.
fn error_of(reply: &str) -> Value {
    let body = reply.rsplit("\r\n\r\n").next().unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {reply:?}"))
}

#[tokio::test]
async fn e49_who_is_slow_is_told_so() {
    let requests = Requests { head_ms: 150, body_ms: 150, ..Requests::default() };
    let ground = Ground::with(Settings { requests, ..settings() }, Arc::new(MemoryLog::new())).await;
    let reply = ground.client.raw(b"GET /health HTTP/1.1\r\nhost: localh").await;
    assert!(reply.starts_with("HTTP/1.1 408 "), "{reply:?}");
    assert_eq!(error_of(&reply)["error"]["code"], "request.slow");
    let token = ground.client.token.clone().unwrap();
    let head = format!(
        "POST /v1/runs HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         content-length: 40\r\n\r\n{{\"agent\":"
    );
    let reply = ground.client.raw(head.as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 408 ") && reply.contains("connection: close"), "{reply:?}");
    assert_eq!(error_of(&reply)["error"]["code"], "request.slow");
    // Nothing was asked: the connection ends without a word.
    assert_eq!(ground.client.raw(b"").await, "");
    ground.client.get("/v1/runs").await.good();
}

#[tokio::test]
async fn e49_what_is_no_request_is_refused() {
    let ground = Ground::new().await;
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01"[..],
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET  / HTTP/1.1\r\n\r\n",
    ] {
        let reply = ground.client.raw(garbage).await;
        assert!(reply.starts_with("HTTP/1.1 4"), "{garbage:?}: {reply:?}");
        assert_eq!(error_of(&reply)["error"]["code"], "request.head", "{garbage:?}");
    }
    let reply = ground.client.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(reply.starts_with("HTTP/1.1 505 ") && reply.contains("request.version"), "{reply:?}");
    // Behind a good request.
    let reply = ground.client.raw(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\nnonsense\r\n\r\n").await;
    assert!(reply.starts_with("HTTP/1.1 200 ") && reply.contains("HTTP/1.1 400 "), "{reply:?}");
    let path = format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "x".repeat(70_000));
    assert_eq!(error_of(&ground.client.raw(path.as_bytes()).await)["error"]["code"], "request.path_too_long");
    let many = (0..1_000).map(|number| format!("x-{number}: 1\r\n")).collect::<Vec<_>>().concat();
    let reply =
        ground.client.raw(format!("GET /health HTTP/1.1\r\nhost: localhost\r\n{many}\r\n").as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 431 "), "{reply:?}");
    assert_eq!(error_of(&reply)["error"]["code"], "request.head_too_large");
    let long = format!("GET /health HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(1 << 20));
    assert!(ground.client.raw(long.as_bytes()).await.starts_with("HTTP/1.1 431 "));
    ground.client.get("/v1/runs").await.good();
}

#[tokio::test]
async fn e50_one_connection_too_many_is_told_so() {
    let requests = Requests { connections: 1, ..Requests::default() };
    let ground = Ground::with(Settings { requests, ..settings() }, Arc::new(MemoryLog::new())).await;
    let mut first = TcpStream::connect(ground.client.address).await.unwrap();
    first.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut buffer = [0; 1_000];
    let read = tokio::time::timeout(SOON, first.read(&mut buffer)).await.unwrap().unwrap();
    assert!(buffer[..read].starts_with(b"HTTP/1.1 200 "));
    let reply = ground.client.raw(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(reply.starts_with("HTTP/1.1 503 ") && reply.contains("retry-after"), "{reply:?}");
    assert_eq!(error_of(&reply)["error"]["code"], "server.connections");
}

/// A reader that takes nothing is cut, and holds nothing up.
#[tokio::test]
async fn e50_a_reader_that_takes_nothing_is_cut() {
    let requests = Requests { send_ms: 200, ..Requests::default() };
    let ground =
        Ground::with(Settings { requests, heartbeat_ms: 100, ..settings() }, Arc::new(MemoryLog::new()))
            .await;
    let run = ground.run(&"x".repeat(8 << 20)).await;
    crate::ground::until(&ground.client, &run, "answered").await;
    let token = ground.client.token.clone().unwrap();
    let mut stuck = TcpStream::connect(ground.client.address).await.unwrap();
    let request = format!(
        "GET /v1/runs/{run}/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    stuck.write_all(request.as_bytes()).await.unwrap();
    // It is gone from the streams that are open, although it never reads.
    loop {
        let metrics = ground.client.get("/metrics").await.good();
        let text = String::from_utf8_lossy(&metrics.body).into_owned();
        let opened = text.contains(r#"path="/v1/runs/{run}/stream",status="200"} 1"#);
        if opened && text.contains("windlass_streams 0") {
            break;
        }
    }
}
