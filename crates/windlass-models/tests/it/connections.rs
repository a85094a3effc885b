//! Which connections carry the calls, and when they end.

use std::sync::atomic::Ordering;

use tokio::runtime::{Builder, Runtime};
use windlass_core::model::FailureKind;
use windlass_http::{HttpClient, Reach};
use windlass_models::{HttpModel, HttpModelConfig};

use crate::server::*;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Lets the runtime look at its connections.
async fn look_around() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_whole_reply() {
    let server = Server::start(json(HELLO_WHOLE)).await;
    for _ in 0..3 {
        ask(&adapter(&server.url), false).await.expect("a reply");
    }
    assert_eq!((server.connections(), server.seen().len()), (1, 3));
}

#[tokio::test]
async fn e42_a_connection_that_its_server_closed_meanwhile_is_left() {
    let mut steps = json(HELLO_WHOLE);
    steps.push(Step::Close);
    let mut server = Server::start(steps).await;
    for _ in 0..3 {
        ask(&adapter(&server.url), false).await.expect("a reply");
        server.connection_gone().await;
        look_around().await;
    }
    assert_eq!((server.connections(), server.seen().len()), (3, 3), "each call is sent once");
}

#[tokio::test]
async fn a_server_that_wants_to_close_is_left() {
    let body = response("200 OK", "content-type: application/json\r\nconnection: close\r\n", HELLO_WHOLE);
    let mut server = Server::start(body).await;
    for _ in 0..2 {
        ask(&adapter(&server.url), false).await.expect("a reply");
        server.connection_gone().await;
    }
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn e19_a_reply_that_was_not_read_to_its_end_ends_its_connection() {
    let long = format!("{{\"choices\":[{{\"message\":{{\"content\":\"{}\"}}}}]}}", "x".repeat(1 << 20));
    let mut server = Server::start(json(&long)).await;
    let client = HttpClient::new(std::time::Duration::from_secs(10), Reach::Direct);
    let request =
        http::Request::get(format!("{}/x", server.url)).body(bytes::Bytes::new()).expect("a request");
    let answer = client.send(request, 100).await.expect("an answer");
    assert_eq!(answer.body().len(), 100);
    server.connection_gone().await;
}

#[test]
fn a_connection_is_used_by_its_own_runtime_only() {
    // A runtime that nobody drives does not read: another's call on its connection would hang.
    let (serving, one, two) = (Builder::new_multi_thread().enable_all().build(), runtime(), runtime());
    let serving = serving.expect("a runtime");
    let server = serving.block_on(Server::start(json(HELLO_WHOLE)));
    let connections = || server.connections.load(Ordering::SeqCst);
    for (runtime, expected) in [(&one, 1), (&two, 2), (&one, 2), (&two, 2)] {
        runtime.block_on(ask(&adapter(&server.url), false)).expect("a reply");
        assert_eq!(connections(), expected);
    }
    drop(one);
    two.block_on(ask(&adapter(&server.url), false)).expect("a reply");
    assert_eq!(connections(), 2);
}

#[tokio::test]
async fn an_idle_connection_ends_after_a_while() {
    let mut server = Server::start(json(HELLO_WHOLE)).await;
    ask(&adapter(&server.url), false).await.expect("a reply");
    // With a clock that runs by itself where nothing else is to be done.
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    server.connection_gone().await;
    assert_eq!(before.elapsed().as_secs(), 50);
    tokio::time::resume();
    ask(&adapter(&server.url), false).await.expect("a reply");
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_task_that_has_used_up_its_budget_misses_no_reply() {
    let (whole, streamed) = (Server::start(json(HELLO_WHOLE)).await, Server::start(events(&HELLO)).await);
    for left in 1..24 {
        for (server, stream) in [(&whole, false), (&streamed, true)] {
            let model = adapter(&server.url);
            let mut call = std::pin::pin!(ask(&model, stream));
            // Each poll begins with so many operations left of the 128 that tokio grants.
            let polled = std::future::poll_fn(|context| {
                for _ in left..128 {
                    if let std::task::Poll::Ready(used) = tokio::task::coop::poll_proceed(context) {
                        used.made_progress();
                    }
                }
                call.as_mut().poll(context)
            });
            polled.await.unwrap_or_else(|failure| panic!("{left} left, stream {stream}: {failure:?}"));
        }
    }
}

/// Run as a child of the test below, with proxies set.
#[tokio::test]
#[ignore = "only with proxies, from the test beside it"]
async fn child_behind_proxies() {
    let through = |url: &str| {
        HttpModel::new(HttpModelConfig { allow_proxy: true, ..config(url) }).expect("a good base URL")
    };
    let failure = ask(&through("https://model.invalid/v1"), false).await.expect_err("no tunnel");
    assert_eq!(failure.kind, FailureKind::Connect);
    let words = "no connection to model.invalid:443 through the proxy 127.0.0.1:";
    assert!(failure.message.starts_with(words), "{}", failure.message);
    ask(&through("http://model.invalid/v1"), false).await.expect("the proxy's reply");
    let server = Server::start(json(HELLO_WHOLE)).await;
    ask(&through(&server.url), false).await.expect("this host is asked directly");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn e45_https_goes_through_a_tunnel_and_logins_go_to_the_proxy_alone() {
    let proxy = Server::routes(|path| match path {
        "model.invalid:443" => response("403 Forbidden", "", ""),
        _ => json(HELLO_WHOLE),
    })
    .await;
    let url = proxy.url.replace("http://", "http://user:word@");
    let program = std::env::current_exe().expect("this test");
    let child = tokio::task::spawn_blocking(move || {
        let mut command = std::process::Command::new(program);
        command.args(["--exact", "connections::child_behind_proxies", "--ignored"]);
        for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"] {
            command.env(name, &url);
        }
        command.env_remove("NO_PROXY").env_remove("no_proxy").output()
    });
    let output = child.await.expect("no panic").expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    // Prompts and keys for models on this machine do not reach it.
    let seen = proxy.seen();
    let lines: Vec<_> = seen.iter().map(|seen| seen.line.as_str()).collect();
    let expected =
        ["CONNECT model.invalid:443 HTTP/1.1", "POST http://model.invalid/v1/chat/completions HTTP/1.1"];
    assert_eq!(lines, expected);
    for seen in &seen {
        let head = seen.head.to_lowercase();
        assert!(head.contains("proxy-authorization: basic dxnlcjp3b3jk"), "{head}");
        assert!(head.contains("user-agent: windlass/"), "{head}");
    }
}

#[tokio::test]
async fn an_address_that_cannot_be_asked_says_why() {
    let told = |address: &str| HttpClient::check(address).expect_err("refused").to_string();
    assert!(told("ftp://h/").contains("it must begin with http:// or https://"));
    assert!(told("h:4318").contains("invalid address"));
    let login = told("http://user:hunter2@h/");
    assert!(login.contains("it contains a login") && !login.contains("hunter2"), "{login}");
    HttpClient::check("http://127.0.0.1:4318").expect("an address");
}
