use std::net::SocketAddr;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::builtin::tests::{call, context, error_of};

/// A server that answers each path with fixed bytes.
async fn server(answers: Vec<(&'static str, Vec<u8>)>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.unwrap();
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or("").to_owned();
            if let Some((_, answer)) = answers.iter().find(|(known, _)| *known == path) {
                stream.write_all(answer).await.ok();
            }
            stream.shutdown().await.ok();
        }
    });
    address
}

fn answer(head: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").into_bytes();
    answer.extend_from_slice(body.as_ref());
    answer
}

fn tool(hosts: &[&str]) -> Fetch {
    Fetch::new(&hosts.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
}

async fn kind_of(tool: &Fetch, url: &str) -> String {
    error_of(tool, json!({ "url": url })).await.kind.unwrap().to_string()
}

#[tokio::test]
async fn texts_are_given_and_html_is_reduced() {
    let at = server(vec![
        ("/plain", answer("200 OK\r\nContent-Type: text/plain", "grüße")),
        ("/json", answer("200 OK\r\nContent-Type: application/ld+json; charset=UTF-8", "{\"a\":1}")),
        ("/page", answer("200 OK\r\nContent-Type: text/html", "<p>One<p>Two &amp; three")),
        ("/latin", answer("200 OK\r\nContent-Type: text/plain; charset=\"ISO-8859-1\"", b"caf\xe9")),
        ("/untyped", answer("200 OK", "just text")),
        ("/empty", answer("200 OK\r\nContent-Type: text/plain", "")),
    ])
    .await;
    let tool = tool(&["127.0.0.1"]);
    for (path, expected) in [
        ("plain", "grüße"),
        ("json", "{\"a\":1}"),
        ("page", "One\n\nTwo & three"),
        ("latin", "café"),
        ("untyped", "just text"),
        ("empty", ""),
    ] {
        assert_eq!(call(&tool, json!({ "url": format!("http://{at}/{path}") })).await, expected, "{path}");
    }
}

#[tokio::test]
async fn what_is_no_text_or_no_success_is_told() {
    let at = server(vec![
        ("/image", answer("200 OK\r\nContent-Type: image/png", b"\x89PNG\0")),
        ("/lie", answer("200 OK\r\nContent-Type: text/plain", b"a\0b")),
        ("/utf16", answer("200 OK\r\nContent-Type: text/plain; charset=utf-16", "ab")),
        ("/gone", answer("404 Not Found\r\nContent-Type: text/html", "<h1>Not here</h1>")),
        ("/nowhere", answer("302 Found", "")),
        ("/silent", vec![]),
    ])
    .await;
    let tool = tool(&["127.0.0.1"]);
    for (path, kind) in [
        ("image", "NotText"),
        ("lie", "NotText"),
        ("utf16", "NotText"),
        ("gone", "HttpStatus"),
        ("nowhere", "BadRedirect"),
        ("silent", "Unreachable"),
    ] {
        assert_eq!(kind_of(&tool, &format!("http://{at}/{path}")).await, kind, "{path}");
    }
    let error = error_of(&tool, json!({ "url": format!("http://{at}/gone") })).await;
    assert_eq!(error.message.as_ref(), format!("`http://{at}/gone` answered 404 Not Found: # Not here"));
    assert_eq!(kind_of(&tool, "no url").await, "BadUrl");
}

#[tokio::test]
async fn redirects_are_followed_and_checked_each_time() {
    let other = server(vec![("/secret", answer("200 OK\r\nContent-Type: text/plain", "secret"))]).await;
    let to = |place: String| answer(&format!("302 Found\r\nLocation: {place}"), "");
    let at = server(vec![
        ("/a", to("/b".to_owned())),
        ("/b", to("c?x=1".to_owned())),
        ("/c?x=1", answer("200 OK\r\nContent-Type: text/plain", "here")),
        ("/loop", to("/loop".to_owned())),
        ("/other", to(format!("http://{other}/secret"))),
        ("/file", to("file:///etc/passwd".to_owned())),
        ("/name", to(format!("http://localhost:{}/c?x=1", other.port()))),
    ])
    .await;
    let listed = tool(&[&at.to_string()]);
    assert_eq!(call(&listed, json!({ "url": format!("http://{at}/a") })).await, "here");
    assert_eq!(kind_of(&listed, &format!("http://{at}/loop")).await, "TooManyRedirects");
    assert_eq!(kind_of(&listed, &format!("http://{at}/other")).await, "HostRefused");
    assert_eq!(kind_of(&listed, &format!("http://{at}/file")).await, "BadUrl");
    let all = tool(&["*", &at.to_string()]);
    assert_eq!(kind_of(&all, &format!("http://{at}/name")).await, "AddressRefused");
}

#[tokio::test]
async fn names_that_lead_to_this_machine_are_refused_unless_they_are_listed() {
    let at = server(vec![("/", answer("200 OK\r\nContent-Type: text/plain", "inside"))]).await;
    let url = format!("http://localhost:{}/", at.port());
    let error = error_of(&tool(&[]), json!({ "url": url })).await;
    assert_eq!(error.kind.as_deref(), Some("AddressRefused"), "{error}");
    assert!(error.message.contains("`localhost` has the address"), "{error}");
    assert_eq!(call(&tool(&["localhost"]), json!({ "url": url })).await, "inside");
}

#[tokio::test]
async fn a_listed_port_beside_a_wildcard_opens_no_other_port_of_this_machine() {
    let text = |text: &str| answer("200 OK\r\nContent-Type: text/plain", text);
    let inside = server(vec![("/", text("inside"))]).await;
    let to = |host: &str| answer(&format!("302 Found\r\nLocation: http://{host}:{}/", inside.port()), "");
    let open = server(vec![("/", text("open")), ("/ip", to("127.0.0.1")), ("/name", to("localhost"))]).await;
    let port = open.port();
    let tool = tool(&[&format!("127.0.0.1:{port}"), &format!("localhost:{port}"), "*"]);
    for host in ["127.0.0.1", "localhost"] {
        let here = format!("http://{host}:{port}");
        // The port that is open comes first and last: its connections must not serve others.
        assert_eq!(call(&tool, json!({ "url": format!("{here}/") })).await, "open", "{host}");
        let there = format!("http://{host}:{}/", inside.port());
        assert_eq!(kind_of(&tool, &there).await, "AddressRefused", "{there}");
        for path in ["ip", "name"] {
            let redirect = format!("{here}/{path}");
            assert_eq!(kind_of(&tool, &redirect).await, "AddressRefused", "{redirect}");
        }
        assert_eq!(call(&tool, json!({ "url": format!("{here}/") })).await, "open", "{host}");
    }
}

#[tokio::test]
async fn a_long_body_is_cut_with_a_note() {
    let at = server(vec![
        ("/fits", answer("200 OK\r\nContent-Type: text/plain", "x".repeat(MAX_BODY))),
        ("/long", answer("200 OK\r\nContent-Type: text/plain", "x".repeat(MAX_BODY + 1))),
    ])
    .await;
    let tool = tool(&["127.0.0.1"]);
    assert_eq!(call(&tool, json!({ "url": format!("http://{at}/fits") })).await, "x".repeat(MAX_BODY));
    let cut = call(&tool, json!({ "url": format!("http://{at}/long") })).await;
    assert_eq!(cut.strip_prefix(&"x".repeat(MAX_BODY)), Some("\n[cut at 1048576 bytes]"));
}

#[tokio::test]
async fn a_cancel_ends_the_call() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let tool = tool(&["127.0.0.1"]);
    let context = context();
    let call = tool.call(context.clone(), json!({ "url": url }));
    // The server takes the connection and never answers.
    let cancel = async {
        let taken = listener.accept().await.unwrap();
        context.cancelled.cancel();
        taken
    };
    let (result, _taken) = tokio::join!(call, cancel);
    assert_eq!(result.unwrap_err().kind.as_deref(), Some("Cancelled"));
}
