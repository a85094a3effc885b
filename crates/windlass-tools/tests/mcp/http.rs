//! Servers at URLs: headers, refusals, ends, and the same calls as over stdio.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use windlass_error::Diagnostic as _;
use windlass_tools::mcp::{Lifecycle, McpConfig, McpServer, Restart};

use crate::peer::Evil;
use crate::support::*;

/// What the web server asks and sees.
#[derive(Clone, Default)]
struct Door {
    /// The `Authorization` that it wants.
    wants: Option<&'static str>,
    /// It answers this to all requests.
    refuses: Option<StatusCode>,
    /// Credentials have expired.
    expired: Arc<AtomicBool>,
    /// It is silent when it is asked what it speaks.
    ignores_the_probe: bool,
    /// The idempotency keys of all requests that had one.
    keys: Arc<Mutex<Vec<String>>>,
    /// The headers of the last request.
    seen: Arc<Mutex<BTreeMap<String, String>>>,
}

async fn guard(State(door): State<Door>, request: Request, next: Next) -> Response {
    let headers = request.headers().iter();
    let headers =
        headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()));
    let headers: BTreeMap<String, String> = headers.collect();
    let sent = headers.get("authorization").cloned();
    if door.ignores_the_probe && headers.get("mcp-method").is_some_and(|method| method == "server/discover") {
        return std::future::pending().await;
    }
    door.keys.lock().expect("no panic").extend(headers.get("idempotency-key").cloned());
    *door.seen.lock().expect("no panic") = headers;
    if let Some(status) = door.refuses {
        return (status, format!("go away with {}", sent.unwrap_or_default())).into_response();
    }
    if door.expired.load(Ordering::SeqCst) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    match door.wants {
        Some(wanted) if sent.as_deref() != Some(wanted) => StatusCode::UNAUTHORIZED.into_response(),
        _ => next.run(request).await,
    }
}

/// A web server on a runtime of its own, so that its end ends all its connections.
struct Web {
    address: SocketAddr,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Web {
    fn start(evil: Evil, door: Door, port: u16) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = std::net::TcpListener::bind(("127.0.0.1", port)).expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        let address = listener.local_addr().expect("an address");
        let service = StreamableHttpService::new(
            move || Ok(evil.clone()),
            Arc::new(LocalSessionManager::default()),
            StreamableHttpServerConfig::default(),
        );
        let app =
            Router::new().nest_service("/mcp", service).layer(middleware::from_fn_with_state(door, guard));
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            axum::serve(listener, app).await.expect("a server");
        });
        Self { address, runtime: Some(runtime) }
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(BOUND);
        }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        // A runtime may not be awaited inside another.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn at(web: &Web) -> McpConfig {
    let mut config = McpConfig::http("web", web.url());
    config.restart = Restart { first_ms: 1, max_ms: 10, tries: 1_000 };
    config
}

async fn open(config: McpConfig) -> McpServer {
    soon(McpServer::connect(config)).await.expect("a server")
}

#[tokio::test]
async fn calls_work_over_http_in_both_lifecycles() {
    let door = Door::default();
    let keys = door.keys.clone();
    let web = Web::start(Evil::new(true), door, 0);
    for lifecycle in [Lifecycle::Auto, Lifecycle::Initialize, Lifecycle::Discover] {
        keys.lock().expect("no panic").clear();
        let mut config = at(&web);
        config.lifecycle = lifecycle;
        let server = open(config).await;
        assert_eq!(text(&server, "echo", json!({"text": "hi"})).await, "hi", "{lifecycle:?}");
        let meta = text(&server, "meta", json!({})).await;
        assert!(meta.contains(r#""windlass/idempotency_key":"key-9""#), "{meta}");
        assert_eq!(*keys.lock().expect("no panic"), [r#""key-9""#, r#""key-9""#], "one a call, and no other");
        let error = call(&server, "fail", json!({"text": "x"})).await.expect_err("it fails");
        assert_eq!(error.message.as_ref(), "no such file: x");
        soon(server.close()).await;
    }
}

#[tokio::test]
async fn e47_a_changed_list_is_followed_over_http() {
    for lifecycle in [Lifecycle::Initialize, Lifecycle::Discover] {
        let web = Web::start(Evil::new(true), Door::default(), 0);
        let mut config = at(&web);
        config.lifecycle = lifecycle;
        let server = open(config).await;
        let mut changes = server.changes();
        // The stream on which changes come is opened beside the calls: it may not be there yet.
        let grown = async {
            loop {
                call(&server, "grow", json!({})).await.expect("it grows");
                if tokio::time::timeout(std::time::Duration::from_millis(200), changes.changed())
                    .await
                    .is_ok()
                {
                    break;
                }
            }
        };
        soon(grown).await;
        assert_eq!(text(&server, "grown", json!({})).await, "I am new", "{lifecycle:?}");
    }
}

#[tokio::test]
async fn custom_headers_are_sent_and_their_values_are_shown_nowhere() {
    let door = Door { wants: Some("Bearer tok-12345678"), ..Door::default() };
    let web = Web::start(Evil::new(true), door.clone(), 0);
    let config = at(&web).header("Authorization", "Bearer tok-12345678").header("X-Team", "blue");
    let server = open(config).await;
    assert_eq!(text(&server, "echo", json!({"text": "hi"})).await, "hi");
    let seen = door.seen.lock().expect("no panic").clone();
    assert_eq!((seen["authorization"].as_str(), seen["x-team"].as_str()), ("Bearer tok-12345678", "blue"));
    assert!(!format!("{server:?}").contains("tok-12345678"));
    let error = call(&server, "fail", json!({"text": "tok-12345678"})).await.expect_err("it fails");
    assert_eq!(error.message.as_ref(), "no such file: ***");
}

#[tokio::test]
async fn refusals_name_the_url_and_hide_the_header() {
    for (status, code) in [
        (StatusCode::UNAUTHORIZED, 401),
        (StatusCode::FORBIDDEN, 403),
        (StatusCode::NOT_FOUND, 404),
        (StatusCode::BAD_GATEWAY, 502),
    ] {
        let web = Web::start(Evil::new(true), Door { refuses: Some(status), ..Door::default() }, 0);
        let config = at(&web).header("Authorization", "Bearer tok-12345678");
        let error = refusal(config).await;
        let start = format!("the MCP server `web` at {} answered HTTP {code}", web.url());
        assert!(error.to_string().starts_with(&start), "{error}");
        assert!(!format!("{error} {error:?}").contains("tok-12345678"), "{error:?}");
        assert_eq!(error.help().is_some(), code != 502);
    }
}

#[tokio::test]
async fn e62_expired_credentials_fail_the_call_and_leave_the_tool_known() {
    let door = Door::default();
    let web = Web::start(Evil::new(true), door.clone(), 0);
    let server = open(at(&web)).await;
    assert_eq!(text(&server, "echo", json!({"text": "hi"})).await, "hi");
    door.expired.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        let error = call(&server, "echo", json!({"text": "hi"})).await.expect_err("it is refused");
        assert!(!error.unknown_tool, "{error}");
        let says = ["HTTP 401", "check the server's `headers`: the credentials were refused"];
        assert!(says.iter().all(|words| error.message.contains(words)), "{error}");
    }
    door.expired.store(false, Ordering::SeqCst);
    assert_eq!(text(&server, "echo", json!({"text": "again"})).await, "again");
}

#[tokio::test]
async fn e46_a_web_server_silent_to_the_probe_is_spoken_to_without() {
    let web = Web::start(Evil::new(true), Door { ignores_the_probe: true, ..Door::default() }, 0);
    let server = open(at(&web)).await;
    assert_eq!(server.lifecycle(), Lifecycle::Initialize);
    assert_eq!(text(&server, "echo", json!({"text": "hi"})).await, "hi");
}

#[tokio::test]
async fn a_query_with_a_key_is_sent_and_not_shown() {
    let web =
        Web::start(Evil::new(true), Door { refuses: Some(StatusCode::NOT_FOUND), ..Door::default() }, 0);
    let config = McpConfig::http("web", format!("{}?key=very-secret", web.url()));
    let error = refusal(config).await;
    assert!(!format!("{error} {error:?}").contains("very-secret"), "{error:?}");
    let config = McpConfig::http("web", "http://127.0.0.1:1/mcp?key=very-secret");
    let error = refusal(config).await;
    assert_eq!(error.code(), "mcp_unreachable");
    assert!(error.to_string().contains("http://127.0.0.1:1/mcp cannot be reached"), "{error}");
    assert!(!format!("{error} {error:?}").contains("very-secret"), "{error:?}");
}

#[tokio::test]
async fn e46_a_web_server_that_ends_in_mid_call_fails_it_and_is_used_again_when_it_is_back() {
    for lifecycle in [Lifecycle::Initialize, Lifecycle::Discover] {
        let mut web = Web::start(Evil::new(true), Door::default(), 0);
        let mut config = at(&web);
        config.lifecycle = lifecycle;
        let server = open(config).await;
        let scratch = Scratch::new();
        let hang = tool(&server, "hang");
        let args = json!({"started": scratch.text("started"), "cancelled": scratch.text("cancelled")});
        let pending = hang.call(context(), args);
        let port = web.address.port();
        let stop = async {
            until("the call is there", || scratch.path("started").exists()).await;
            tokio::task::spawn_blocking(move || web.stop()).await.expect("it stops");
        };
        let (result, ()) = soon(futures_util::future::join(pending, stop)).await;
        let error = result.expect_err("the server is gone");
        assert!(error.message.contains(&format!("http://127.0.0.1:{port}/mcp")), "{lifecycle:?}: {error}");
        let error = call(&server, "echo", json!({"text": "hi"})).await.expect_err("nobody is there");
        assert!(error.message.contains("cannot be reached"), "{lifecycle:?}: {error}");
        let _back = Web::start(Evil::new(true), Door::default(), port);
        assert_eq!(text(&server, "echo", json!({"text": "back"})).await, "back", "{lifecycle:?}");
    }
}

#[tokio::test]
async fn e46_a_session_that_the_server_forgot_is_made_anew() {
    let mut web = Web::start(Evil::new(true), Door::default(), 0);
    let mut config = at(&web);
    config.lifecycle = Lifecycle::Initialize;
    let server = open(config).await;
    let port = web.address.port();
    tokio::task::spawn_blocking(move || web.stop()).await.expect("it stops");
    let _back = Web::start(Evil::new(true), Door::default(), port);
    let mut result = call(&server, "echo", json!({"text": "hi"})).await;
    if result.is_err() {
        // A connection that was kept may have been found dead first.
        result = call(&server, "echo", json!({"text": "hi"})).await;
    }
    assert_eq!(text_of(result), "hi");
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_over_http() {
    for lifecycle in [Lifecycle::Initialize, Lifecycle::Discover] {
        let web = Web::start(Evil::new(true), Door::default(), 0);
        let mut config = at(&web);
        config.lifecycle = lifecycle;
        let server = open(config).await;
        let scratch = Scratch::new();
        let args = json!({"started": scratch.text("started"), "cancelled": scratch.text("cancelled")});
        let hang = tool(&server, "hang");
        {
            let call = hang.call(context(), args);
            tokio::select! {
                result = call => panic!("{result:?}"),
                () = until("the call is there", || scratch.path("started").exists()) => {}
            }
        }
        until("the server knows", || scratch.path("cancelled").exists()).await;
    }
}
